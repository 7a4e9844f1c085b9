//! COPY's words.

use super::words::Words;

/// COPY: which table and columns, which way, which file, which options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    /// `None`: the session's.
    pub(crate) keyspace: Option<String>,
    pub(crate) table: String,
    /// Empty: all.
    pub(crate) columns: Vec<String>,
    pub(crate) direction: Direction,
    /// `None`: standard input or output.
    pub(crate) file: Option<String>,
    /// Names in lower case, and their values.
    pub(crate) options: Vec<(String, String)>,
}

/// Which way the rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From a file to the server.
    From,
    /// From the server to a file.
    To,
}

pub(super) fn parse(words: &mut Words<'_>) -> Option<Copy> {
    let mut keyspace = None;
    let mut table = words.name()?;
    if words.symbol(".").is_some() {
        keyspace = Some(std::mem::replace(&mut table, words.name()?));
    }
    let mut columns = Vec::new();
    if words.symbol("(").is_some() {
        loop {
            columns.push(words.name()?);
            if words.symbol(")").is_some() {
                break;
            }
            words.symbol(",")?;
        }
    }
    let (direction, stream) = match words.any()?.to_ascii_lowercase().as_str() {
        "from" => (Direction::From, "stdin"),
        "to" => (Direction::To, "stdout"),
        _ => return None,
    };
    let file = match words.word(stream) {
        Some(()) => None,
        None => Some(words.string()?),
    };
    let mut options = Vec::new();
    if words.word("with").is_some() {
        loop {
            let name = words.any()?.to_ascii_lowercase();
            words.symbol("=")?;
            options.push((name, words.option_value()?));
            if words.is_at_end() {
                break;
            }
            words.word("and")?;
        }
    }
    words.ended(Copy { keyspace, table, columns, direction, file, options })
}
