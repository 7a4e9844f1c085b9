//! The type of a statement and what it is about, from its text.

use crate::kind::EntryType;
use crate::lexer::{Token, Tokens};

/// The object of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The keyspace that the text names.
    pub(crate) keyspace: Option<String>,
    /// The table, or another thing of a keyspace.
    pub(crate) scope: Option<String>,
    /// True if the thing is of the session's keyspace: the text names none.
    pub(crate) is_of_session: bool,
}

/// The type of a statement, by its first words; `None` if they are no statement's.
pub fn kind_of(text: &str) -> Option<EntryType> {
    opened(text).map(|(kind, _)| kind)
}

/// The type, and what comes after the words that say it.
fn opened(text: &str) -> Option<(EntryType, Tokens<'_>)> {
    /// Objects of CREATE, ALTER and DROP. `None`: there is no such statement.
    type Makes = (&'static str, [Option<EntryType>; 3]);
    use EntryType::*;
    const OBJECTS: [Makes; 13] = [
        ("KEYSPACE", [Some(CreateKeyspace), Some(AlterKeyspace), Some(DropKeyspace)]),
        ("SCHEMA", [Some(CreateKeyspace), Some(AlterKeyspace), Some(DropKeyspace)]),
        ("TABLE", [Some(CreateTable), Some(AlterTable), Some(DropTable)]),
        ("COLUMNFAMILY", [Some(CreateTable), Some(AlterTable), Some(DropTable)]),
        ("TYPE", [Some(CreateType), Some(AlterType), Some(DropType)]),
        ("VIEW", [Some(CreateView), Some(AlterView), Some(DropView)]),
        ("INDEX", [Some(CreateIndex), None, Some(DropIndex)]),
        ("FUNCTION", [Some(CreateFunction), None, Some(DropFunction)]),
        ("AGGREGATE", [Some(CreateAggregate), None, Some(DropAggregate)]),
        ("TRIGGER", [Some(CreateTrigger), None, Some(DropTrigger)]),
        ("ROLE", [Some(CreateRole), Some(AlterRole), Some(DropRole)]),
        ("USER", [Some(CreateRole), Some(AlterRole), Some(DropRole)]),
        ("IDENTITY", [None, None, Some(DropIdentity)]),
    ];
    let mut tokens = Tokens::of(text);
    let Some(Token::Word(first)) = tokens.next() else { return None };
    let is = |word: &str| first.eq_ignore_ascii_case(word);
    let made = ["CREATE", "ALTER", "DROP"].iter().position(|word| is(word));
    if let Some(made) = made {
        let _ = tokens.pass("OR") && tokens.pass("REPLACE");
        let _ = tokens.pass("MATERIALIZED") || tokens.pass("CUSTOM");
        let (_, kinds) = OBJECTS.iter().find(|(word, _)| tokens.pass(word))?;
        return Some((kinds[made]?, tokens));
    }
    let kind = match () {
        () if is("SELECT") => Select,
        () if is("INSERT") || is("UPDATE") => Update,
        () if is("DELETE") => Delete,
        () if is("BEGIN") => Batch,
        () if is("TRUNCATE") => Truncate,
        () if is("USE") => UseKeyspace,
        () if is("GRANT") => Grant,
        () if is("REVOKE") => Revoke,
        () if is("DESCRIBE") || is("DESC") => Describe,
        () if is("ADD") && tokens.pass("IDENTITY") => CreateIdentity,
        () if is("LIST") && (tokens.pass("ROLES") || tokens.pass("SUPERUSERS")) => ListRoles,
        () if is("LIST") && tokens.pass("USERS") => ListUsers,
        () if is("LIST") => ListPermissions,
        () => return None,
    };
    if is("INSERT") {
        tokens.pass("INTO");
    }
    Some((kind, tokens))
}

/// The object of a statement. Nothing for those that are about roles, for a batch, and for a text that is none.
pub(crate) fn target(text: &str) -> Target {
    use EntryType::*;
    let Some((kind, mut tokens)) = opened(text) else { return Target::default() };
    match kind {
        Select | Delete => {
            if !tokens.pass_up_to("FROM") {
                // The text is cut before it: the session's keyspace, or that of the prepared statement, is what is known.
                return Target { is_of_session: true, ..Target::default() };
            }
        }
        Truncate => {
            let _ = tokens.pass("TABLE") || tokens.pass("COLUMNFAMILY");
        }
        UseKeyspace => return Target { keyspace: tokens.name(), ..Target::default() },
        _ if kind.category() != crate::Category::Ddl && kind != Update => return Target::default(),
        _ => {
            if tokens.pass("IF") {
                tokens.pass("NOT");
                tokens.pass("EXISTS");
            }
        }
    }
    if matches!(kind, CreateKeyspace | AlterKeyspace | DropKeyspace) {
        return Target { keyspace: tokens.name(), ..Target::default() };
    }
    if matches!(kind, CreateIndex | CreateTrigger | DropTrigger) {
        // Named first, or not at all; it is of the keyspace of the table that follows ON.
        let name = if tokens.pass("ON") { None } else { tokens.name() };
        if name.is_some() {
            tokens.pass_up_to("ON");
        }
        let keyspace = tokens.qualified().and_then(|(keyspace, _)| keyspace);
        return Target { is_of_session: keyspace.is_none(), keyspace, scope: name };
    }
    let (keyspace, scope) = tokens.qualified().map_or((None, None), |(keyspace, name)| (keyspace, Some(name)));
    Target { is_of_session: keyspace.is_none(), keyspace, scope }
}

#[cfg(test)]
mod tests;
