//! Lines of the history, made of texts that were typed. Pure.

use crate::input::{TokenKind, tokens};

/// Lines that HISTORY shows where nothing else is asked for.
pub(crate) const LINES_SHOWN: usize = 50;

/// The line of the history for a text; `None`: it has a password, or may have one, and is not remembered.
///
/// A text of several statements is remembered whole or not at all, on one line.
pub(crate) fn line(text: &str) -> Option<String> {
    if has_secret(text) {
        return None;
    }
    let line = text.split('\n').map(str::trim_end).collect::<Vec<_>>().join(" ");
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// True if LOGIN or the word PASSWORD is in the text, outside of strings and quoted names. What cannot be cut into tokens may have anything.
fn has_secret(text: &str) -> bool {
    let Ok(tokens) = tokens(text) else { return true };
    tokens
        .iter()
        .any(|token| token.kind == TokenKind::Unclosed || token.is(text, "login") || token.is(text, "password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_remembered() {
        for text in [
            "LOGIN ada 'secret'\n",
            "CREATE ROLE ada WITH PASSWORD = 'secret' AND LOGIN = true;",
            "alter user ada with password 'secret';",
            "CREATE ROLE ada WITH HASHED\nPASSWORD = 'secret';",
            "SELECT 1; LOGIN ada 'secret'\n",
            "LOGIN ada 'secret",
            "CREATE ROLE ada WITH PASSWORD = 'secret' @",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }

    #[test]
    fn other_statements_are_one_line() {
        assert_eq!(line("SELECT k\n  FROM t;\n").as_deref(), Some("SELECT k   FROM t;"));
        assert_eq!(line("SELECT 'password' FROM \"login\";").as_deref(), Some("SELECT 'password' FROM \"login\";"));
        assert_eq!(line("\n"), None);
    }
}
