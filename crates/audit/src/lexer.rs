//! Words and names of a statement's text, as far as an entry needs them.
//!
//! A lexer of its own: texts are cut, or no parser accepts them, and their names are found all the same.

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// A keyword, a name or a number.
    Word(&'a str),
    /// A name in quotes, with them taken off; a doubled quote in it stands for one.
    Quoted(&'a str),
    /// A text in quotes.
    Text,
    /// Any other sign.
    Sign(char),
}

/// The pieces of a text, one after the other, without space and comments.
#[derive(Debug, Clone)]
pub(crate) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text }
    }

    /// The next piece if it is this keyword, which is passed then.
    pub(crate) fn pass(&mut self, keyword: &str) -> bool {
        let mut ahead = self.clone();
        let is_next = matches!(ahead.next(), Some(Token::Word(word)) if word.eq_ignore_ascii_case(keyword));
        if is_next {
            *self = ahead;
        }
        is_next
    }

    /// Passes all up to this keyword and the keyword itself; false if it is not there.
    pub(crate) fn pass_up_to(&mut self, keyword: &str) -> bool {
        self.any(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case(keyword)))
    }

    /// A name: as written in quotes, in small letters without.
    pub(crate) fn name(&mut self) -> Option<String> {
        let mut ahead = self.clone();
        let name = match ahead.next()? {
            Token::Word(word) => word.to_lowercase(),
            Token::Quoted(name) => name.replace("\"\"", "\""),
            Token::Text | Token::Sign(_) => return None,
        };
        *self = ahead;
        Some(name)
    }

    /// A name, and the keyspace before it if it has one.
    pub(crate) fn qualified(&mut self) -> Option<(Option<String>, String)> {
        let first = self.name()?;
        let mut ahead = self.clone();
        if ahead.next() == Some(Token::Sign('.'))
            && let Some(second) = ahead.name()
        {
            *self = ahead;
            return Some((Some(first), second));
        }
        Some((None, first))
    }

    fn skip_gap(&mut self) {
        loop {
            let trimmed = self.rest.trim_start();
            self.rest = if trimmed.starts_with("--") || trimmed.starts_with("//") {
                trimmed.find(['\n', '\r']).and_then(|end| trimmed.get(end..)).unwrap_or_default()
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                comment.find("*/").and_then(|end| comment.get(end + 2..)).unwrap_or_default()
            } else {
                self.rest = trimmed;
                return;
            };
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_gap();
        let rest = self.rest;
        let first = rest.chars().next()?;
        let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let (token, length) = match first {
            '\'' => (Token::Text, closed(rest, '\'').unwrap_or(rest.len())),
            '"' => match closed(rest, '"') {
                Some(length) => (Token::Quoted(rest.get(1..length - 1).unwrap_or_default()), length),
                None => (Token::Text, rest.len()),
            },
            '$' if rest.starts_with("$$") => {
                let end = rest.get(2..).and_then(|inner| inner.find("$$"));
                (Token::Text, end.map_or(rest.len(), |end| end + 4))
            }
            _ if is_of_word(first) => {
                let length = rest.find(|letter| !is_of_word(letter)).unwrap_or(rest.len());
                (Token::Word(rest.get(..length).unwrap_or_default()), length)
            }
            _ => (Token::Sign(first), first.len_utf8()),
        };
        self.rest = rest.get(length..).unwrap_or_default();
        Some(token)
    }
}

/// The length of a text in quotes, in which a doubled quote stands for one; `None` if none closes it.
fn closed(text: &str, quote: char) -> Option<usize> {
    let mut at = 1;
    loop {
        at += text.get(at..)?.find(quote)? + 1;
        if !text.get(at..)?.starts_with(quote) {
            return Some(at);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_comments_hide_what_is_in_them() {
        let tokens: Vec<_> = Tokens::of("a -- b\n/* c */\"d \"\"e\" 'f''g' $$h$$ . $ // i").collect();
        use Token::{Quoted, Sign, Text, Word};
        assert_eq!(tokens, [Word("a"), Quoted("d \"\"e"), Text, Text, Sign('.'), Sign('$')]);
        for open in ["'x", "\"x", "$$x", "/* x", "-- x"] {
            assert!(Tokens::of(open).count() <= 1, "{open}");
        }
    }

    #[test]
    fn names_are_as_the_schema_has_them() {
        assert_eq!(Tokens::of("Ks.\"T\"").qualified(), Some((Some("ks".into()), "T".into())));
        assert_eq!(Tokens::of("T (a)").qualified(), Some((None, "t".into())));
        assert_eq!(Tokens::of("'t'").qualified(), None);
        assert_eq!(Tokens::of("\"a\"\"b\"").name(), Some("a\"b".into()));
    }
}
