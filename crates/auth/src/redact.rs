//! Redaction of passwords in statement texts, before a text leaves: for logs, slow statements, traces, audit, messages.
//!
//! A lexer of its own, since texts that no parser accepts have passwords too: what follows the word PASSWORD is hidden, in quotes of any kind, and up to the
//! end where a quote is not closed. Of a text that is cut only the beginning may be redacted: of another piece no function knows that it is in a password.

use std::borrow::Cow;
use std::ops::Range;

/// The text in place of a password.
const HIDDEN: &str = "'*******'";
const STARS: &str = "*******";
const WORD: &str = "password";

/// The text with each password hidden.
pub fn redact(text: &str) -> Cow<'_, str> {
    let secrets = secrets(text);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut end) = (String::new(), 0);
    for secret in secrets {
        out.push_str(&text[end..secret.start]);
        out.push_str(HIDDEN);
        end = secret.end;
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// A message about a statement, such as a syntax error, without the statement's passwords.
pub fn redact_message(message: &str, statement: &str) -> String {
    let mut message = redact(message).into_owned();
    for secret in secrets(statement) {
        let written = &statement[secret];
        for form in [written, content(written)] {
            // A password in quotes that are empty would be everywhere.
            if !form.is_empty() {
                message = message.replace(form, STARS);
            }
        }
    }
    message
}

/// The places of what follows the word PASSWORD. Where a quote or comment is not closed, it may be the quotes before that are wrong: then the word counts
/// wherever it stands.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let mut lexer = Lexer { text, at: 0, is_open: false };
    while let Some(token) = lexer.next() {
        if text[token].eq_ignore_ascii_case(WORD) {
            secrets.extend(lexer.secret());
        }
    }
    if !lexer.is_open {
        return secrets;
    }
    secrets.clear();
    lexer.at = 0;
    while let Some(length) = find_word(&text[lexer.at..]) {
        lexer.at += length + WORD.len();
        secrets.extend(lexer.secret());
    }
    secrets
}

/// The place of the word PASSWORD, in letters of either case.
fn find_word(text: &str) -> Option<usize> {
    text.as_bytes().windows(WORD.len()).position(|window| window.eq_ignore_ascii_case(WORD.as_bytes()))
}

/// The content of a quoted text, its closing quote missing perhaps.
fn content(written: &str) -> &str {
    if let Some(inner) = written.strip_prefix("$$") {
        return inner.strip_suffix("$$").unwrap_or(inner);
    }
    let Some(quote) = written.chars().next().filter(|first| matches!(first, '\'' | '"')) else { return written };
    let inner = &written[1..];
    inner.strip_suffix(quote).unwrap_or(inner)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// True after a quote or a comment that is not closed.
    is_open: bool,
}

impl Lexer<'_> {
    /// The next word, quoted text or symbol.
    fn next(&mut self) -> Option<Range<usize>> {
        self.skip_gap();
        let (start, rest) = (self.at, &self.text[self.at..]);
        let first = rest.chars().next()?;
        let length = match first {
            '\'' | '"' => self.closed(quoted(rest, first)),
            '$' if rest.starts_with("$$") => self.closed(rest[2..].find("$$").map(|end| end + 4)),
            _ if is_of_word(first) => rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        self.at += length;
        Some(start..self.at)
    }

    /// The length, or all that is left where nothing closes it.
    fn closed(&mut self, length: Option<usize>) -> usize {
        self.is_open |= length.is_none();
        length.unwrap_or(self.text.len() - self.at)
    }

    /// The place of the password after the word, which the lexer passes; without one it stays.
    fn secret(&mut self) -> Option<Range<usize>> {
        let after = self.at;
        let secret = self.value();
        if secret.is_none() {
            self.at = after;
        }
        secret
    }

    /// The value after PASSWORD and any `=`, `:` or IS, whatever brackets and signs no parser accepts there. A bare word is one only after such a symbol: PASSWORD may be
    /// a column's name.
    fn value(&mut self) -> Option<Range<usize>> {
        let mut is_assigned = false;
        loop {
            let token = self.next()?;
            match self.text.as_bytes()[token.start] {
                b'=' | b':' => is_assigned = true,
                b'\'' | b'"' => return Some(self.with_joined(token)),
                b'$' if self.text[token.clone()].len() > 1 => return Some(self.with_joined(token)),
                b'(' | b'[' | b'{' | b'-' | b'+' if is_assigned => {}
                _ if !is_assigned && self.text[token.clone()].eq_ignore_ascii_case("is") => is_assigned = true,
                _ if is_assigned && self.text[token.clone()].starts_with(is_of_word) => {
                    // A bare word goes on to the next space: its symbols are a part of the password.
                    let rest = &self.text[token.end..];
                    let more = rest.find(|letter: char| letter.is_whitespace() || letter == ';');
                    self.at = token.end + more.unwrap_or(rest.len());
                    return Some(token.start..self.at);
                }
                _ => return None,
            }
        }
    }

    /// A quoted text with all that is joined to it by `||` or `+`.
    fn with_joined(&mut self, first: Range<usize>) -> Range<usize> {
        let mut whole = first;
        loop {
            let (mut next, mut is_joined) = (self.next(), false);
            while let Some(token) = next.clone().filter(|token| matches!(&self.text[token.clone()], "|" | "+")) {
                (next, is_joined) = (self.next(), !token.is_empty());
            }
            let quoted = next.filter(|token| is_joined && self.text[token.clone()].starts_with(['\'', '"', '$']));
            match quoted {
                Some(token) => whole.end = token.end,
                None => {
                    self.at = whole.end;
                    return whole;
                }
            }
        }
    }

    /// Skips space and comments.
    fn skip_gap(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            let length = if trimmed.starts_with("--") || trimmed.starts_with("//") {
                trimmed.find(['\n', '\r']).unwrap_or(trimmed.len())
            } else if trimmed.starts_with("/*") {
                let end = trimmed.find("*/").map(|end| end + 2);
                self.closed(end)
            } else {
                return;
            };
            self.at += length;
        }
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The length of a text in quotes, in which a doubled quote stands for one; `None` if none closes it.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text[at..].find(quote)? + 1;
        if !text[at..].starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_are_hidden_in_texts_of_all_kinds() {
        let create = "CREATE ROLE r WITH PASSWORD = '*******' AND LOGIN = true";
        for (text, redacted) in [
            ("CREATE ROLE r WITH PASSWORD = 'se''cret' AND LOGIN = true", create),
            ("CREATE ROLE r WITH PASSWORD = $$se'cret$$ AND LOGIN = true", create),
            ("CREATE ROLE r WITH PASSWORD = \"secret\" AND LOGIN = true", create),
            ("CREATE ROLE r WITH PASSWORD = secret!x AND LOGIN = true", create),
            ("CREATE USER u WITH PASSWORD 'secret' SUPERUSER", "CREATE USER u WITH PASSWORD '*******' SUPERUSER"),
            ("alter role r with hashed password='$2a$10$x';", "alter role r with hashed password='*******';"),
            (
                "ALTER ROLE r WITH PASSWORD /* x */ = -- y\n 'a'",
                "ALTER ROLE r WITH PASSWORD /* x */ = -- y\n '*******'",
            ),
            ("ALTER ROLE r WITH PASSWORD = 'never closed AND LOGIN", "ALTER ROLE r WITH PASSWORD = '*******'"),
            ("ALTER ROLE r WITH PASSWORD = $$never closed", "ALTER ROLE r WITH PASSWORD = '*******'"),
            ("PASSWORD = 'a' AND PASSWORD = 'b'", "PASSWORD = '*******' AND PASSWORD = '*******'"),
            ("SELECT * FROM t WHERE password = 'x'", "SELECT * FROM t WHERE password = '*******'"),
            // What no parser accepts.
            ("ALTER ROLE r WITH PASSWORD = ('x')", "ALTER ROLE r WITH PASSWORD = ('*******')"),
            ("ALTER ROLE r WITH PASSWORD = {'x'}", "ALTER ROLE r WITH PASSWORD = {'*******'}"),
            ("ALTER ROLE r WITH PASSWORD = - 'x'", "ALTER ROLE r WITH PASSWORD = - '*******'"),
            ("ALTER ROLE r WITH PASSWORD IS 'x'", "ALTER ROLE r WITH PASSWORD IS '*******'"),
            (
                "ALTER ROLE r WITH PASSWORD = 'a' || 'b' + $$c$$ AND LOGIN = true",
                "ALTER ROLE r WITH PASSWORD = '*******' AND LOGIN = true",
            ),
        ] {
            assert_eq!(redact(text), redacted);
        }
        for text in [
            "",
            "SELECT password FROM t",
            "SELECT password, name FROM t WHERE k = 'x'",
            "INSERT INTO t (k, v) VALUES ('password', 'x')",
            "-- password = 'x'\nSELECT * FROM t",
            "SELECT passwords FROM t WHERE my_password_hint = 'x'",
            "ALTER ROLE r WITH PASSWORD",
        ] {
            assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn messages_about_a_statement_do_not_have_its_password() {
        let statement = "CREATE ROLE r WITH PASSWORD = 'tiger' AND AND";
        let message = "line 1:30 no viable alternative at input 'AND' (...PASSWORD = ['tiger'] AND)";
        assert!(!redact_message(message, statement).contains("tiger"));
        assert_eq!(redact_message("at input tiger", statement), "at input *******");
        assert_eq!(redact_message("nothing of it", statement), "nothing of it");
        assert_eq!(redact_message("an empty one", "ALTER ROLE r WITH PASSWORD = ''"), "an empty one");
    }

    #[test]
    fn a_quote_that_is_open_before_a_password_does_not_show_it() {
        for before in ["name = 'x ", "\"x ", "$$ ", "/* ", "'it''s ", "' \" '"] {
            let redacted = redact(&format!("ALTER ROLE r WITH {before}PASSWORD = 'tiger' AND x = 'y'")).into_owned();
            assert!(!redacted.contains("tiger"), "{redacted}");
        }
    }

    proptest! {
        #[test]
        fn no_password_is_left(before in "[a-z ='\"$/*-]{0,12}", password in "[A-Z0-9]{6,12}('')?[A-Z0-9]{0,4}") {
            let text = format!("{before}\n*/ WITH PASSWORD = '{password}' AND LOGIN = true");
            let redacted = redact(&text).into_owned();
            prop_assert!(!redacted.contains(&password), "{}", redacted);
        }

        #[test]
        fn no_text_panics(text in "(password|=|'|\"|\\$\\$|/\\*|\\*/|--|\n| |é|x){0,14}") {
            let once = redact(&text).into_owned();
            let _ = redact(&once);
            let _ = redact_message(&text, &once);
        }
    }
}
