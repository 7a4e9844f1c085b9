//! The forms of DESCRIBE. The server does it, and would say of a wrong form where its own syntax ends; cqlsh has forms of its own and asks nothing that is none of them.

use super::Described;
use super::words::Words;

/// The layout of what is asked for after DESCRIBE; none if nothing is asked for in this form.
pub(super) fn parse(words: Words<'_>) -> Option<Described> {
    // A keyspace may be named after the word of a form: `DESCRIBE types.t`.
    whole(words, form).or_else(|| whole(words, |words| words.path().map(|()| Described::Statements)))
}

/// The outcome of `take`, if nothing follows but WITH INTERNALS.
fn whole(mut words: Words<'_>, take: impl FnOnce(&mut Words<'_>) -> Option<Described>) -> Option<Described> {
    let described = take(&mut words)?;
    if words.word("with").is_some() {
        words.word("internals")?;
    }
    words.ended(described)
}

fn form(words: &mut Words<'_>) -> Option<Described> {
    match words.any()?.to_ascii_lowercase().as_str() {
        "keyspaces" => return Some(Described::Keyspaces),
        "tables" | "columnfamilies" | "types" | "functions" | "aggregates" => return Some(Described::Names),
        "cluster" => return Some(Described::Cluster),
        "schema" => {}
        "full" => words.word("schema")?,
        "keyspace" => keyspace(words),
        "only" => {
            words.word("keyspace")?;
            keyspace(words);
        }
        "table" | "columnfamily" | "index" | "type" | "function" | "aggregate" => words.path()?,
        "materialized" => {
            words.word("view")?;
            words.path()?;
        }
        _ => return None,
    }
    Some(Described::Statements)
}

/// A keyspace's name, or none: the one in use.
fn keyspace(words: &mut Words<'_>) {
    let mut named = *words;
    if named.unreserved_name().is_some() {
        *words = named;
    }
}
