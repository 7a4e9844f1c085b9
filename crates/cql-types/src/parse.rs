//! Types from text.

use crate::class_name;
use crate::{CqlType, DIMENSION_MAX, NESTING_DEPTH_MAX, TypeError};

impl CqlType {
    /// The type that `text` names, written as CQL writes types: `map<text, frozen<list<int>>>`. A name that is no native
    /// type's is a user-defined type, whose keyspace and fields the schema fills in.
    pub fn parse(text: &str) -> Result<CqlType, TypeError> {
        let mut parser = Parser { text, rest: text };
        let ty = parser.ty(0)?;
        parser.skip_space();
        if parser.rest.is_empty() { Ok(ty) } else { Err(parser.malformed("text follows the type")) }
    }
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn malformed(&self, reason: &'static str) -> TypeError {
        TypeError::Malformed { text: self.text.chars().take(200).collect(), reason }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn expect(&mut self, symbol: char, reason: &'static str) -> Result<(), TypeError> {
        self.skip_space();
        self.rest = self.rest.strip_prefix(symbol).ok_or_else(|| self.malformed(reason))?;
        Ok(())
    }

    fn ty(&mut self, depth: usize) -> Result<CqlType, TypeError> {
        if depth > NESTING_DEPTH_MAX {
            return Err(TypeError::TooDeep);
        }
        self.skip_space();
        if self.rest.starts_with('\'') {
            let class = self.quoted('\'')?;
            return Ok(class_name::parse(&class).unwrap_or(CqlType::Custom(class)));
        }
        let quoted = self.rest.starts_with('"');
        let name = self.name()?;
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            let keyspace = if quoted { name } else { name.to_ascii_lowercase() };
            let quoted = self.rest.starts_with('"');
            let name = self.name()?;
            return Ok(user_type(keyspace, if quoted { name } else { name.to_ascii_lowercase() }));
        }
        if quoted {
            return Ok(user_type(String::new(), name));
        }
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "frozen" => {
                let mut inner = self.parameters(1, depth)?;
                Ok(inner.remove(0).into_frozen())
            }
            "list" => {
                let element = Box::new(self.parameters(1, depth)?.remove(0));
                Ok(CqlType::List { element, frozen: false })
            }
            "set" => {
                let element = Box::new(self.parameters(1, depth)?.remove(0));
                Ok(CqlType::Set { element, frozen: false })
            }
            "map" => {
                let mut both = self.parameters(2, depth)?;
                let key = Box::new(both.remove(0));
                Ok(CqlType::Map { key, value: Box::new(both.remove(0)), frozen: false })
            }
            "tuple" => Ok(CqlType::Tuple(self.parameters(0, depth)?)),
            "vector" => self.vector(depth),
            _ => Ok(CqlType::native(&lower).unwrap_or_else(|| user_type(String::new(), lower))),
        }
    }

    /// `<a, b, …>`: exactly `count` types, or one and more when `count` is 0.
    fn parameters(&mut self, count: usize, depth: usize) -> Result<Vec<CqlType>, TypeError> {
        self.expect('<', "a '<' is missing")?;
        let mut types = vec![self.ty(depth + 1)?];
        loop {
            self.skip_space();
            match self.rest.strip_prefix(',') {
                Some(rest) => {
                    self.rest = rest;
                    types.push(self.ty(depth + 1)?);
                }
                None => break,
            }
        }
        self.expect('>', "a '>' is missing")?;
        if count != 0 && types.len() != count {
            return Err(self.malformed("it takes another number of parameters"));
        }
        Ok(types)
    }

    fn vector(&mut self, depth: usize) -> Result<CqlType, TypeError> {
        self.expect('<', "a '<' is missing")?;
        let element = Box::new(self.ty(depth + 1)?);
        self.expect(',', "a vector's dimension is missing")?;
        self.skip_space();
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let dimension = self.rest[..digits].parse().ok().filter(|dimension| (1..=DIMENSION_MAX).contains(dimension));
        let dimension = dimension.ok_or_else(|| self.malformed("a vector's dimension is from 1 to 2147483647"))?;
        self.rest = &self.rest[digits..];
        self.expect('>', "a '>' is missing")?;
        Ok(CqlType::Vector { element, dimension })
    }

    /// Text between two of `quote`, in which a doubled one stands for one.
    fn quoted(&mut self, quote: char) -> Result<String, TypeError> {
        let mut characters = self.rest.char_indices().skip(1).peekable();
        let mut text = String::new();
        while let Some((at, c)) = characters.next() {
            if c != quote {
                text.push(c);
            } else if characters.next_if(|&(_, next)| next == quote).is_some() {
                text.push(quote);
            } else {
                self.rest = &self.rest[at + 1..];
                return Ok(text);
            }
        }
        Err(self.malformed("a quote is not closed"))
    }

    fn name(&mut self) -> Result<String, TypeError> {
        if self.rest.starts_with('"') {
            return self.quoted('"');
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.malformed("a name is missing"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(name.to_owned())
    }
}

fn user_type(keyspace: String, name: String) -> CqlType {
    CqlType::Udt { keyspace, name, fields: Vec::new(), frozen: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_round_trip() {
        for text in [
            "map<text, frozen<list<int>>>",
            "frozen<tuple<int, text>>",
            "set<frozen<address>>",
            "vector<float, 3>",
            "frozen<\"Odd \"\"Name\">",
            "'org.example.Odd'",
            "'it''s'",
            "\"int\"",
            "list<'org.apache.cassandra.db.marshal.LexicalUUIDType'>",
        ] {
            assert_eq!(CqlType::parse(text).unwrap().to_string(), text);
        }
        let empty = CqlType::Tuple(vec![CqlType::Empty]);
        assert_eq!(empty.to_string(), "frozen<tuple<empty>>");
        let text = format!("{empty:#}");
        assert_eq!(text, "frozen<tuple<'org.apache.cassandra.db.marshal.EmptyType'>>");
        assert_eq!(CqlType::parse(&text), Ok(empty));
        assert!(matches!(CqlType::parse("empty"), Ok(CqlType::Udt { .. })));
        assert_eq!(CqlType::parse("VarChar"), Ok(CqlType::Text));
        let udt = CqlType::parse("Ks.\"Address\"").unwrap();
        assert!(matches!(udt, CqlType::Udt { keyspace, name, .. } if keyspace == "ks" && name == "Address"));
    }

    #[test]
    fn odd_text_is_refused() {
        for text in ["", "list", "list<>", "list<int", "map<int>", "list<int>>", "\"a", "vector<int, 0>", "é"] {
            assert!(CqlType::parse(text).is_err(), "{text}");
        }
        let deep = "list<".repeat(100_000);
        assert_eq!(CqlType::parse(&deep), Err(TypeError::TooDeep));
    }
}
