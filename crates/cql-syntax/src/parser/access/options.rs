//! The options of CREATE ROLE and ALTER ROLE.

use cql_types::Literal;

use super::super::{Parser, Result};
use super::{password_option, string};
use crate::ast::{Restriction, RoleOptions, RolePassword, Term};
use crate::error::Failure;

/// `WITH option AND option …`, if it stands there.
pub(super) fn role_options(parser: &mut Parser<'_>) -> Result<RoleOptions> {
    let mut options = RoleOptions::default();
    let mut passwords = Vec::new();
    if parser.take_keyword("WITH")? {
        role_option(parser, &mut options, &mut passwords)?;
        while parser.take_keyword("AND")? {
            role_option(parser, &mut options, &mut passwords)?;
        }
    }
    ensure_one(&passwords)?;
    options.password = passwords.pop();
    Ok(options)
}

fn role_option(parser: &mut Parser<'_>, options: &mut RoleOptions, passwords: &mut Vec<RolePassword>) -> Result<()> {
    if let Some(password) = password_option(parser, |parser| parser.expect_symbol("="))? {
        let is_same = |known: &RolePassword| option_of(known) == option_of(&password);
        ensure_new(option_of(&password).0, passwords.iter().any(is_same))?;
        passwords.push(password);
    } else if parser.take_keyword("SUPERUSER")? {
        let value = boolean(parser)?;
        ensure_new("SUPERUSER", options.superuser.replace(value).is_some())?;
    } else if parser.take_keyword("LOGIN")? {
        let value = boolean(parser)?;
        ensure_new("LOGIN", options.login.replace(value).is_some())?;
    } else if parser.take_keyword("OPTIONS")? {
        parser.expect_symbol("=")?;
        let entries = role_manager_options(parser)?;
        ensure_new("OPTIONS", options.options.replace(entries).is_some())?;
    } else if parser.take_keyword("ACCESS")? {
        if parser.take_keyword("TO")? {
            restriction(parser, "DATACENTERS", "DCs", &mut options.datacenters)?;
        } else if parser.take_keyword("FROM")? {
            restriction(parser, "CIDRS", "CIDR Groups", &mut options.cidr_groups)?;
        } else {
            return Err(parser.unexpected());
        }
    } else {
        return Err(parser.unexpected());
    }
    Ok(())
}

/// `= true` or `= false`.
fn boolean(parser: &mut Parser<'_>) -> Result<bool> {
    parser.expect_symbol("=")?;
    if parser.take_keyword("TRUE")? {
        return Ok(true);
    }
    if parser.take_keyword("FALSE")? {
        return Ok(false);
    }
    Err(parser.mismatch("BOOLEAN"))
}

/// `{'name': value, …}`
fn role_manager_options(parser: &mut Parser<'_>) -> Result<Vec<(Literal, Literal)>> {
    parser.expect_symbol("{")?;
    let mut entries: Vec<(Literal, Literal)> = Vec::new();
    if parser.take_symbol("}")? {
        return Ok(entries);
    }
    loop {
        parser.count_items(2)?;
        let name = parser.term()?;
        parser.expect_symbol(":")?;
        let value = parser.term()?;
        let name = constant(name, |name| format!("Invalid property name: {name}"))?;
        let value = constant(value, |value| format!("Invalid property value: {value} for property: {name}"))?;
        entries.push((name, value));
        if !parser.take_symbol(",")? {
            break;
        }
    }
    parser.expect_symbol("}")?;
    ensure_distinct(&entries)?;
    Ok(entries)
}

/// `ALL things` or `things {'a', 'b'}`. Cassandra refuses both of them together, and unites lists.
fn restriction(
    parser: &mut Parser<'_>,
    things: &str,
    named: &str,
    restriction: &mut Option<Restriction>,
) -> Result<()> {
    if parser.token.is_keyword("ALL") {
        parser.advance()?;
        parser.expect_keyword(things)?;
        if matches!(restriction, Some(Restriction::Only(_))) {
            return Err(Failure::without_place(format!("{named} have already been set")));
        }
        *restriction = Some(Restriction::All);
        return Ok(());
    }
    if !parser.take_keyword(things)? {
        return Err(parser.unexpected());
    }
    parser.expect_symbol("{")?;
    let names = parser.comma_separated(string)?;
    parser.expect_symbol("}")?;
    match restriction.get_or_insert_with(|| Restriction::Only(Vec::new())) {
        Restriction::Only(known) => known.extend(names),
        Restriction::All => return Err(Failure::without_place("All has been set")),
    }
    Ok(())
}

fn ensure_new(option: &str, is_known: bool) -> Result<()> {
    match is_known {
        true => Err(Failure::without_place(format!("Multiple definition for property '{option}'"))),
        false => Ok(()),
    }
}

/// The name of the option, and that of the sentence about two of them.
fn option_of(password: &RolePassword) -> (&'static str, &'static str) {
    match password {
        RolePassword::Plain(_) => ("PASSWORD", "password"),
        RolePassword::Hashed(_) => ("HASHED_PASSWORD", "hashed password"),
        RolePassword::Generated => ("GENERATED_PASSWORD", "generated password"),
    }
}

/// Refuses two kinds of passwords.
fn ensure_one(passwords: &[RolePassword]) -> Result<()> {
    let is_given = |option: &str| passwords.iter().any(|password| option_of(password).1 == option);
    let given: Vec<_> =
        ["password", "hashed password", "generated password"].into_iter().filter(|option| is_given(option)).collect();
    match given[..] {
        [first, second, ..] => {
            Err(Failure::without_place(format!("Options '{first}' and '{second}' are mutually exclusive")))
        }
        _ => Ok(()),
    }
}

/// The constant, which alone an option may be.
fn constant(term: Term, words: impl FnOnce(String) -> String) -> Result<Literal> {
    let (shown, note) = match term {
        Term::Literal(literal) => return Ok(literal),
        Term::Marker(marker) => (marker.to_string(), " (bind variables are not supported in DDL queries)"),
        Term::Null => ("NULL".to_owned(), ""),
        other => (other.to_string(), ""),
    };
    let shown = shown.chars().take(100).collect();
    Err(Failure::without_place(format!("{}{note}", words(shown))))
}

/// Refuses a name that is given twice.
fn ensure_distinct(entries: &[(Literal, Literal)]) -> Result<()> {
    let mut names: Vec<&str> = entries.iter().map(|(name, _)| name.text.as_str()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::without_place(format!("Multiple definition for property {}", pair[0]))),
        None => Ok(()),
    }
}
