//! Commands of the shell, told from statements, and their words. Pure.

mod copy;
mod describe;
mod words;

use cql_protocol::Consistency;

use crate::input::Statement;
pub(crate) use copy::{Copy, Direction};
use words::Words;

/// A statement or a command, with its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// The server does it.
    Statement,
    /// The server describes it, and the shell lays it out.
    Describe(Described),
    /// The level of requests: shown, or set.
    Consistency(Option<Consistency>),
    /// The level of conditional statements' serial phase: shown, or set.
    SerialConsistency(Option<Consistency>),
    Show(Show),
    Source(String),
    Capture(Capture),
    Login {
        username: String,
        password: Option<String>,
    },
    Tracing(Option<bool>),
    Expand(Option<bool>),
    Paging(Option<Paging>),
    Copy(Box<Copy>),
    /// Topics; none: a list of them.
    Help(Vec<String>),
    /// How many lines are shown from now on.
    History(Option<usize>),
    Clear,
    Exit,
}

/// The layout of an answer to DESCRIBE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Described {
    /// Names of keyspaces.
    Keyspaces,
    /// Names of tables, types, functions or aggregates, by keyspace.
    Names,
    /// The cluster.
    Cluster,
    /// Statements that make it.
    Statements,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Show {
    Version,
    Host,
    Session([u8; 16]),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Capture {
    /// Where the output goes.
    Shown,
    Off,
    To(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paging {
    On,
    Off,
    /// On, with so many rows of a page.
    Rows(i32),
}

/// A command that is none in this form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Improper {word} command.")]
pub(crate) struct Improper {
    /// Its first word as written.
    pub(crate) word: String,
}

/// Tells what a statement of `text` is.
///
/// # Errors
/// A command of the shell with words that it does not have.
pub(crate) fn parse(text: &str, statement: &Statement) -> Result<Command, Improper> {
    let mut words = Words::new(text, statement.words());
    let Some(first) = words.any() else { return Ok(Command::Statement) };
    let parsed = match first.to_ascii_lowercase().as_str() {
        "describe" | "desc" => describe::parse(words).map(Command::Describe),
        "consistency" => words.optional(Words::level).map(Command::Consistency),
        "serial" => serial(&mut words),
        "show" => show(&mut words).map(Command::Show),
        "source" => words.string().map(Command::Source),
        "capture" => capture(&mut words).map(Command::Capture),
        "login" => login(&mut words),
        "tracing" => words.optional(Words::switch).map(Command::Tracing),
        "expand" => words.optional(Words::switch).map(Command::Expand),
        "paging" => words.optional(paging).map(Command::Paging),
        "copy" => copy::parse(&mut words).map(|copy| Command::Copy(Box::new(copy))),
        // The server does it, but cqlsh asks it for a name only.
        "use" => words.unreserved_name().and_then(|()| words.ended(Command::Statement)),
        "help" | "?" => Some(Command::Help(words.all())),
        "history" => words.optional(|words| words.any()?.parse().ok()).map(Command::History),
        "clear" | "cls" => words.ended(Command::Clear),
        "exit" | "quit" => words.ended(Command::Exit),
        _ => return Ok(Command::Statement),
    };
    parsed.ok_or_else(|| Improper { word: first.to_owned() })
}

fn serial(words: &mut Words<'_>) -> Option<Command> {
    words.word("consistency")?;
    let level = words.optional(|words| words.level().filter(|level| level.is_serial()))?;
    Some(Command::SerialConsistency(level))
}

fn show(words: &mut Words<'_>) -> Option<Show> {
    let shown = match words.any()?.to_ascii_lowercase().as_str() {
        "version" => Show::Version,
        "host" => Show::Host,
        "session" => Show::Session(stdx::parse_uuid(&words.rest().to_ascii_lowercase())?),
        _ => return None,
    };
    words.ended(shown)
}

fn capture(words: &mut Words<'_>) -> Option<Capture> {
    if words.is_at_end() {
        return Some(Capture::Shown);
    }
    if words.word("off").is_some() {
        return words.ended(Capture::Off);
    }
    let file = words.string()?;
    words.ended(Capture::To(file))
}

fn login(words: &mut Words<'_>) -> Option<Command> {
    let username = words.role()?;
    let password = words.optional(Words::string)?;
    Some(Command::Login { username, password })
}

fn paging(words: &mut Words<'_>) -> Option<Paging> {
    let word = words.any()?;
    match word.parse() {
        Ok(rows) => Some(Paging::Rows(rows)),
        Err(_) if word.eq_ignore_ascii_case("on") => Some(Paging::On),
        Err(_) if word.eq_ignore_ascii_case("off") => Some(Paging::Off),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
