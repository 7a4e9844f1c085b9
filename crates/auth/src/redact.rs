//! Redaction of passwords and of roles' options in statement texts, before a text leaves: for logs, slow statements, traces, audit, messages.
//!
//! A lexer of its own, since texts that no parser accepts have passwords too: what follows the word PASSWORD is hidden, in quotes of any kind, and up to the
//! end where a quote is not closed. Of OPTIONS all is hidden, keys too: which of them names a secret is the affair of whoever reads them. Of a text that is cut
//! only the beginning may be redacted: of another piece no function knows that it is in a password.

use std::borrow::Cow;
use std::ops::Range;

/// The text in place of a password.
const HIDDEN: &str = "'*******'";
const STARS: &str = "*******";
const PASSWORD: &str = "password";
const OPTIONS: &str = "options";
/// The fewest bytes of a piece of options that a message is searched for: shorter ones are in words that have nothing to do with it.
const PIECE_BYTES_MIN: usize = 3;

/// The text with each password, and the options of each role, hidden.
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

/// A message about a statement, such as a syntax error, without the statement's passwords and options.
pub fn redact_message(message: &str, statement: &str) -> String {
    let mut message = redact(message).into_owned();
    for secret in secrets(statement) {
        let written = &statement[secret];
        // A password in quotes that are empty would be everywhere.
        for form in [written, content(written)].into_iter().filter(|form| !form.is_empty()) {
            message = message.replace(form, STARS);
        }
        let mut lexer = Lexer::new(written);
        while let Some(token) = lexer.next() {
            let piece = content(&written[token]);
            if piece.len() >= PIECE_BYTES_MIN {
                message = message.replace(piece, STARS);
            }
        }
    }
    message
}

/// The places of what follows the words PASSWORD and, about a role, OPTIONS. Where a quote or comment is not closed, it may be the quotes before that are wrong:
/// then the words count wherever they stand.
fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut secrets = Vec::new();
    let mut lexer = Lexer::new(text);
    let mut words = Vec::new();
    while let Some(token) = lexer.next() {
        let token = &text[token];
        if token.eq_ignore_ascii_case(PASSWORD) {
            secrets.extend(lexer.secret(Lexer::value));
        } else if token.eq_ignore_ascii_case(OPTIONS) && may_be_of_role(&words) {
            secrets.extend(lexer.secret(Lexer::options));
        } else if token == ";" {
            words.clear();
        } else if words.len() < 3 && token.starts_with(is_of_word) {
            words.push(token);
        }
    }
    if !lexer.is_open {
        return secrets;
    }
    secrets.clear();
    lexer.at = 0;
    while let Some((length, word)) = find_word(&text[lexer.at..]) {
        lexer.at += length + word.len();
        let end = text.len();
        match word {
            PASSWORD => secrets.extend(lexer.secret(Lexer::value)),
            // Where they end is not known.
            _ => secrets.extend(lexer.secret(|lexer| lexer.options().map(|options| options.start..end))),
        }
        lexer.at = secrets.last().map_or(lexer.at, |secret| secret.end.max(lexer.at));
    }
    secrets
}

/// False for statements that begin as others than those about roles do: their columns are named `options` too, and an index has options of its own. What is
/// no statement may be one about a role with a slip in it.
fn may_be_of_role(words: &[&str]) -> bool {
    const OTHERS: [&str; 6] = ["select", "insert", "update", "delete", "begin", "apply"];
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let is_index = is(0, "create") && (is(1, "index") || is(2, "index"));
    !is_index && !OTHERS.iter().any(|other| is(0, other))
}

/// The place of the first of the words PASSWORD and OPTIONS, in letters of either case.
fn find_word(text: &str) -> Option<(usize, &'static str)> {
    let is = |at: usize, word: &str| {
        let found = text.as_bytes().get(at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..text.len()).find_map(|at| [PASSWORD, OPTIONS].into_iter().find(|word| is(at, word)).map(|word| (at, word)))
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

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, is_open: false }
    }

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

    /// The place of the secret after the word, which the lexer passes; without one it stays.
    fn secret(&mut self, find: impl FnOnce(&mut Self) -> Option<Range<usize>>) -> Option<Range<usize>> {
        let after = self.at;
        let secret = find(self);
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

    /// The value after OPTIONS and any `=`, `:` or IS: in quotes or brackets, or whatever else comes after such a symbol, with all that follows up to AND, `;` or the
    /// end outside of brackets.
    fn options(&mut self) -> Option<Range<usize>> {
        let mut is_assigned = false;
        let start = loop {
            let token = self.next()?;
            let text = &self.text[token.clone()];
            match text {
                "=" | ":" => is_assigned = true,
                _ if !is_assigned && text.eq_ignore_ascii_case("is") => is_assigned = true,
                "{" | "[" | "(" => break token.start,
                ";" => return None,
                _ if is_assigned || text.starts_with(['\'', '"']) || text.starts_with("$$") => break token.start,
                _ => return None,
            }
        };
        self.at = start;
        let (mut depth, mut end) = (0_usize, start);
        while let Some(token) = self.next() {
            let text = &self.text[token.clone()];
            match text {
                "{" | "[" | "(" => depth += 1,
                "}" | "]" | ")" => depth = depth.saturating_sub(1),
                _ if depth == 0 && (text == ";" || text.eq_ignore_ascii_case("and")) => break,
                _ => {}
            }
            end = token.end;
        }
        self.at = end;
        (end > start).then_some(start..end)
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
            (
                "ALTER ROLE r WITH OPTIONS = {'password': 'x', 'n': 1} AND LOGIN = true",
                "ALTER ROLE r WITH OPTIONS = '*******' AND LOGIN = true",
            ),
            ("create role r with options={'a':{'AND':[1]}};", "create role r with options='*******';"),
            (
                "SELECT * FROM t; CREATE USER u WITH PASSWORD = 'a' AND OPTIONS = {'pin': 4711}",
                "SELECT * FROM t; CREATE USER u WITH PASSWORD = '*******' AND OPTIONS = '*******'",
            ),
            // What no parser accepts.
            ("ALTER ROLE r WITH OPTIONS = {'password': 'x'", "ALTER ROLE r WITH OPTIONS = '*******'"),
            ("ALTER ROLE r WITH OPTIONS = {'password': 'x", "ALTER ROLE r WITH OPTIONS = '*******'"),
            ("ALTER ROL r WITH OPTIONS {'password' = 'x'}", "ALTER ROL r WITH OPTIONS '*******'"),
            ("ALTER ROLE r OPTIONS = {'a'}, 'password': x AND LOGIN", "ALTER ROLE r OPTIONS = '*******' AND LOGIN"),
            ("ALTER ROLE r WITH OPTIONS IS secret", "ALTER ROLE r WITH OPTIONS IS '*******'"),
            ("OPTIONS 'password:x'", "OPTIONS '*******'"),
            (
                "ALTER ROLE r WITH x = 'y AND OPTIONS = {'password': 'x'}",
                "ALTER ROLE r WITH x = 'y AND OPTIONS = '*******'",
            ),
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
            "ALTER ROLE r WITH OPTIONS AND LOGIN = true",
            "CREATE TABLE t (k int PRIMARY KEY, options map<text, text>)",
            "CREATE CUSTOM INDEX i ON t (v) USING 'sai' WITH OPTIONS = {'case_sensitive': 'false'}",
            "BEGIN BATCH UPDATE t SET options = {'a': 'b'} WHERE k = 1; DELETE FROM t WHERE k = 1 IF options = 'x'; APPLY BATCH",
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
        let statement = "ALTER ROLE r WITH OPTIONS = {'key': 'tiger', 'pin': 4711} LOGIN";
        let message = "line 1:59 mismatched input 'LOGIN' (...'tiger', 'pin': [4711]}...) of an option";
        let redacted = redact_message(message, statement);
        assert!(!redacted.contains("tiger") && !redacted.contains("4711"), "{redacted}");
        assert!(redacted.starts_with("line 1:59 mismatched") && redacted.ends_with("of an option"), "{redacted}");
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
        fn no_option_is_left(before in "[a-z ='\"$/*-]{0,12}", value in "[A-Z0-9]{6,12}('')?[A-Z0-9]{0,4}", close in "[}\\])]?") {
            let text = format!("{before}\n*/ WITH OPTIONS = {{'password': '{value}', 'n': {{}}{close} AND LOGIN = true");
            let redacted = redact(&text).into_owned();
            prop_assert!(!redacted.contains(&value), "{}", redacted);
        }

        #[test]
        fn no_text_panics(text in "(password|options|and|\\{|\\}|;|=|'|\"|\\$\\$|/\\*|\\*/|--|\n| |é|x){0,14}") {
            let once = redact(&text).into_owned();
            let _ = redact(&once);
            let _ = redact_message(&text, &once);
        }
    }
}
