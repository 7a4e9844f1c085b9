//! The host as the checks see it: files below a root folder, and what the kernel answered to the calls that no file stands for.
//!
//! All that the doctor learns of the outside world it learns here. On a real host the root is `/`; a faked one is a folder with
//! `proc`, `sys` and `etc` in it, and a text file of [`Answers`]. Files are hostile until parsed: each is read up to a bound, a folder is
//! listed up to a bound, and no link leads out of the root.

mod answers;
mod disk;
mod files;
mod kernel;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use answers::Answers;

/// Why something of the host is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NotKnown {
    /// The kernel does not have it, or the sandbox hides it.
    #[error("{path} does not exist")]
    Absent { path: String },
    /// It is there and is not shown to us.
    #[error("cannot read {path}: {reason}")]
    Unreadable { path: String, reason: String },
    /// It is longer than any honest one.
    #[error("{path} is longer than {bytes_max} bytes")]
    TooLong { path: String, bytes_max: u64 },
    /// It does not say what such a file says.
    #[error("{path} has the unexpected content '{text}'")]
    Unexpected { path: String, text: String },
    /// It follows from something else that it cannot be known.
    #[error("{reason}")]
    Reason { reason: String },
}

impl NotKnown {
    /// For a sentence of its own.
    pub(crate) fn because(reason: impl Into<String>) -> NotKnown {
        NotKnown::Reason { reason: reason.into() }
    }

    /// For a file that does not say what it should.
    pub(crate) fn unexpected(path: &str, text: &str) -> NotKnown {
        NotKnown::Unexpected { path: path.to_owned(), text: shown(text) }
    }
}

/// A host to examine.
#[derive(Debug, Clone)]
pub struct Host {
    root: PathBuf,
    /// What the kernel answered.
    pub(crate) answers: Answers,
}

impl Host {
    /// This host, for a node whose data is in `data_folder`. The folder need not be there yet: the nearest one above it that is counts.
    pub fn this(data_folder: &Path) -> Host {
        Host { root: PathBuf::from("/"), answers: Answers::ask(data_folder) }
    }

    /// A host that is a folder.
    pub fn faked(root: &Path, answers: Answers) -> Host {
        Host { root: root.to_owned(), answers }
    }
}

/// What the kernel said, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Text of a file as it may be shown: short, and without anything that a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let text = text.trim();
    let mut out: String = text.chars().take(SHOWN_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_tame() {
        assert_eq!(shown(" performance\n"), "performance");
        assert_eq!(shown("\u{1b}[2Jgone"), "\\u{1b}[2Jgone");
        assert_eq!(shown(&"x".repeat(1_000_000)).chars().count(), 61);
    }
}
