//! Text to a tree. As Jackson reads it by default: what stands behind the value is not looked at.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::Json;

/// How deep a text may nest: the reading recurses.
const DEPTH_MAX: usize = 256;
/// The most characters of a number. (Source: Jackson's `StreamReadConstraints`.)
const NUMBER_LENGTH_MAX: usize = 1000;

/// Text that is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{message}\n at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: {line}, column: {column}]"
)]
pub struct JsonError {
    /// Jackson's class for it, without its package.
    kind: &'static str,
    /// What is wrong.
    message: String,
    line: usize,
    column: usize,
}

impl JsonError {
    /// With the name of the Java class before it, as Cassandra shows an exception that it does not expect.
    pub fn with_class(&self) -> String {
        format!("com.fasterxml.jackson.{}: {self}", self.kind)
    }
}

const PARSE: &str = "core.JsonParseException";
const MISMATCH: &str = "databind.exc.MismatchedInputException";

/// The value that a text begins with.
pub fn parse(text: &str) -> Result<Json, JsonError> {
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    if parser.at == text.len() {
        return Err(parser.error(MISMATCH, "No content to map due to end-of-input", 0));
    }
    parser.value(0)
}

/// The entries of the object that a text begins with, their names folded; `None`: it is `null`.
pub fn parse_object(text: &str) -> Result<Option<Vec<(String, Json)>>, JsonError> {
    let start = text.len() - text.trim_start_matches([' ', '\t', '\n', '\r']).len();
    let mismatch = |message: String| {
        let parser = Parser { text, at: start };
        parser.error(MISMATCH, message, 0)
    };
    let no_constructor = |class: &str, what: String| {
        mismatch(format!(
            "Cannot construct instance of `java.util.LinkedHashMap` (although at least one Creator exists): no {class} constructor/factory method to deserialize from {what}"
        ))
    };
    match parse(text)? {
        Json::Null => Ok(None),
        Json::Map(mut entries) => {
            super::fold_names(&mut entries);
            Ok(Some(entries))
        }
        Json::List(_) => Err(mismatch(
            "Cannot deserialize value of type `java.util.LinkedHashMap<java.lang.Object,java.lang.Object>` from Array value (token `JsonToken.START_ARRAY`)".to_owned(),
        )),
        Json::String(text) => Err(no_constructor("String-argument", format!("String value ('{text}')"))),
        Json::Integer(number) => Err(no_constructor("int/Int-argument", format!("Number value ({number})"))),
        number @ Json::Double(_) => {
            Err(no_constructor("double/Double-argument", format!("Number value ({number})")))
        }
        Json::Boolean(value) => {
            Err(no_constructor("boolean/Boolean-argument", format!("boolean value ({value})")))
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, kind: &'static str, message: impl Into<String>, ahead: usize) -> JsonError {
        let mut at = (self.at + ahead).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at += 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        JsonError {
            kind,
            message: message.into(),
            line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
            column: before[line_start..].encode_utf16().count() + 1,
        }
    }

    fn fail<T>(&self, message: impl Into<String>) -> Result<T, JsonError> {
        Err(self.error(PARSE, message, 0))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn unexpected<T>(&self, expected: &str) -> Result<T, JsonError> {
        match self.text[self.at..].chars().next() {
            Some(character) => {
                let code = u32::from(character);
                self.fail(format!("Unexpected character ('{character}' (code {code})): {expected}"))
            }
            None => Err(self.error("core.io.JsonEOFException", "Unexpected end-of-input", 0)),
        }
    }

    fn end_inside<T>(&self, what: &str) -> Result<T, JsonError> {
        let message = format!("Unexpected end-of-input{what}");
        Err(self.error("core.io.JsonEOFException", message, 0))
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_MAX {
            let message = format!("Document nesting depth ({depth}) exceeds the maximum allowed ({DEPTH_MAX})");
            return Err(self.error("core.exc.StreamConstraintsException", message, 0));
        }
        match self.peek() {
            None => self.end_inside(""),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut entries: Vec<(String, Json)> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Map(entries));
        }
        loop {
            self.skip_space();
            match self.peek() {
                Some(b'"') => {}
                None => return self.end_inside(": expected close marker for Object"),
                Some(_) => return self.unexpected("was expecting double-quote to start field name"),
            }
            let name = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.unexpected("was expecting a colon to separate field name and value");
            }
            self.at += 1;
            self.skip_space();
            let value = self.value(depth + 1)?;
            // Of a name that stands twice the last value stays, in the place of the first.
            match places.get(&name) {
                Some(&place) => entries[place].1 = value,
                None => {
                    places.insert(name.clone(), entries.len());
                    entries.push((name, value));
                }
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                None => return self.end_inside(": expected close marker for Object"),
                Some(_) => return self.unexpected("was expecting comma to separate Object entries"),
            }
        }
        self.at += 1;
        Ok(Json::Map(entries))
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::List(items));
        }
        loop {
            self.skip_space();
            items.push(self.value(depth + 1)?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                None => return self.end_inside(": expected close marker for Array"),
                Some(_) => return self.unexpected("was expecting comma to separate Array entries"),
            }
        }
        self.at += 1;
        Ok(Json::List(items))
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        let rest = &self.text[self.at..];
        let length = rest.find(|character: char| !character.is_alphanumeric() && character != '_' && character != '$');
        let word = &rest[..length.unwrap_or(rest.len())];
        let value = match word {
            "null" => Json::Null,
            "true" => Json::Boolean(true),
            "false" => Json::Boolean(false),
            "" => {
                return self.unexpected(
                    "expected a valid value (JSON String, Number, Array, Object or token 'null', 'true' or 'false')",
                );
            }
            word => {
                let shown: String = word.chars().take(256).collect();
                let message = format!(
                    "Unrecognized token '{shown}': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
                );
                return Err(self.error(PARSE, message, word.len()));
            }
        };
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        let digits = |parser: &mut Self| {
            let from = parser.at;
            while parser.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                parser.at += 1;
            }
            parser.at - from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = self.at;
        if digits(self) == 0 {
            return self.unexpected("expected digit (0-9) to follow minus sign, for valid numeric value");
        }
        if self.at - whole > 1 && self.text.as_bytes()[whole] == b'0' {
            return self.fail("Invalid numeric value: Leading zeroes not allowed");
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            self.at += 1;
            is_integer = false;
            if digits(self) == 0 {
                return self.unexpected("Decimal point not followed by a digit");
            }
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            is_integer = false;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            if digits(self) == 0 {
                return self.unexpected("Exponent indicator not followed by a digit");
            }
        }
        let number = &self.text[start..self.at];
        if number.len() > NUMBER_LENGTH_MAX {
            let message = format!(
                "Number value length ({}) exceeds the maximum allowed ({NUMBER_LENGTH_MAX}, from `StreamReadConstraints.getMaxNumberLength()`)",
                number.len()
            );
            return Err(self.error("core.exc.StreamConstraintsException", message, 0));
        }
        Ok(match is_integer {
            true => Json::Integer(number.parse::<BigInt>().expect("digits are a number")),
            false => Json::Double(number.parse().expect("it has a number's form")),
        })
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut out = String::new();
        let mut start = self.at;
        loop {
            match self.peek() {
                None => return self.end_inside(" in VALUE_STRING"),
                Some(b'"') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    out.push_str(&self.text[start..self.at]);
                    self.at += 1;
                    let escaped = self.escape()?;
                    out.push(escaped);
                    start = self.at;
                }
                Some(byte @ ..=0x1f) => {
                    return self.fail(format!(
                        "Illegal unquoted character ((CTRL-CHAR, code {byte})): has to be escaped using backslash to be included in string value"
                    ));
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// What stands for a character behind a backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(byte) = self.peek() else { return self.end_inside(" in character escape sequence") };
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.unit()?;
                let is_pair = (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u");
                if !is_pair {
                    // Half of a pair is no character: Java writes a question mark for it.
                    return Ok(char::from_u32(high).unwrap_or('?'));
                }
                let back = self.at;
                self.at += 2;
                let low = self.unit()?;
                if !(0xdc00..0xe000).contains(&low) {
                    self.at = back;
                    return Ok('?');
                }
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)).expect("a pair is a character")
            }
            _ => {
                self.at -= 1;
                let character = self.text[self.at..].chars().next().expect("a byte is there");
                let code = u32::from(character);
                return self.fail(format!("Unrecognized character escape '{character}' (code {code})"));
            }
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.unexpected("expected a hex-digit for character escape sequence");
            };
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }
}
