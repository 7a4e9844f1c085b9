//! The Java classes by which Cassandra, its drivers and its files name types, both ways.
//!
//! Source of the grammar: Cassandra's `TypeParser` and the `toString` of each `AbstractType`. What is frozen is said once,
//! by the outermost `FrozenType(…)`; within it nothing says so again. Tuples never do. A class that no type of CQL stands
//! for is kept as [`CqlType::Custom`].

use crate::{CqlType, DIMENSION_MAX, Field, NESTING_DEPTH_MAX};

/// The package of all of them.
pub const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// Text that names no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' names no type: {reason}")]
pub struct UnknownType {
    /// The text, or its beginning.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The type that a class name stands for.
pub fn parse(text: &str) -> Result<CqlType, UnknownType> {
    let mut parser = Parser { text, rest: text };
    let ty = parser.ty(0)?;
    parser.end()?;
    Ok(ty)
}

/// The types that class names with commas between them stand for.
pub fn parse_list(text: &str) -> Result<Vec<CqlType>, UnknownType> {
    let mut parser = Parser { text, rest: text };
    let types = parser.list(0, Parser::ty)?;
    parser.end()?;
    Ok(types)
}

/// The class name of a type.
pub fn class_name(ty: &CqlType) -> String {
    let mut out = String::new();
    write(ty, false, &mut out);
    out
}

/// Appends a type's class name; `is_inside_frozen`: it goes without saying that it is frozen.
fn write(ty: &CqlType, is_inside_frozen: bool, out: &mut String) {
    let frozen = match ty {
        CqlType::List { frozen, .. }
        | CqlType::Set { frozen, .. }
        | CqlType::Map { frozen, .. }
        | CqlType::Udt { frozen, .. } => *frozen,
        _ => false,
    };
    let says_so = frozen && !is_inside_frozen;
    if says_so {
        out.push_str(PACKAGE);
        out.push_str("FrozenType(");
    }
    let is_inside_frozen = is_inside_frozen || frozen;
    if !matches!(ty, CqlType::Custom(_)) {
        out.push_str(PACKAGE);
    }
    match ty {
        CqlType::List { element, .. } => write_list("ListType", &[element], is_inside_frozen, out),
        CqlType::Set { element, .. } => write_list("SetType", &[element], is_inside_frozen, out),
        CqlType::Map { key, value, .. } => write_list("MapType", &[key, value], is_inside_frozen, out),
        CqlType::Tuple(elements) => {
            let elements: Vec<&CqlType> = elements.iter().collect();
            write_list("TupleType", &elements, true, out);
        }
        CqlType::Udt { keyspace, name, fields, .. } => {
            out.push_str("UserType(");
            out.push_str(keyspace);
            out.push(',');
            write_hex(name, out);
            for field in fields {
                out.push(',');
                write_hex(&field.name, out);
                out.push(':');
                write(&field.ty, is_inside_frozen, out);
            }
            out.push(')');
        }
        CqlType::Vector { element, dimension } => {
            out.push_str("VectorType(");
            write(element, is_inside_frozen, out);
            out.push_str(&format!(" , {dimension})"));
        }
        CqlType::Custom(class) => out.push_str(class),
        native => out.push_str(native.class().expect("every native type has a class")),
    }
    if says_so {
        out.push(')');
    }
}

fn write_list(class: &str, of: &[&CqlType], is_inside_frozen: bool, out: &mut String) {
    out.push_str(class);
    out.push('(');
    for (place, ty) in of.iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(ty, is_inside_frozen, out);
    }
    out.push(')');
}

fn write_hex(text: &str, out: &mut String) {
    for byte in text.bytes() {
        out.push_str(&format!("{byte:02x}"));
    }
}

fn from_hex(text: &str) -> Option<String> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    String::from_utf8(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()).ok()
}

/// The type with all that can be frozen in it frozen, itself too.
fn freeze(ty: CqlType) -> CqlType {
    match ty.into_frozen() {
        CqlType::List { element, frozen } => CqlType::List { element: Box::new(freeze(*element)), frozen },
        CqlType::Set { element, frozen } => CqlType::Set { element: Box::new(freeze(*element)), frozen },
        CqlType::Map { key, value, frozen } => {
            CqlType::Map { key: Box::new(freeze(*key)), value: Box::new(freeze(*value)), frozen }
        }
        CqlType::Tuple(elements) => CqlType::Tuple(elements.into_iter().map(freeze).collect()),
        CqlType::Udt { keyspace, name, fields, frozen } => {
            let fields = fields.into_iter().map(|field| Field { name: field.name, ty: freeze(field.ty) }).collect();
            CqlType::Udt { keyspace, name, fields, frozen }
        }
        other => other,
    }
}

struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Parser<'t> {
    fn unknown(&self, reason: &'static str) -> UnknownType {
        UnknownType { text: self.text.chars().take(200).collect(), reason }
    }

    fn end(&mut self) -> Result<(), UnknownType> {
        if self.rest.trim().is_empty() { Ok(()) } else { Err(self.unknown("text follows the type")) }
    }

    fn skip_symbol(&mut self, symbol: char) -> bool {
        match self.rest.trim_start().strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char, reason: &'static str) -> Result<(), UnknownType> {
        if self.skip_symbol(symbol) { Ok(()) } else { Err(self.unknown(reason)) }
    }

    /// Letters up to the next symbol.
    fn word(&mut self) -> &'t str {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| "(),: =>".contains(c)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        word
    }

    /// One or more things with commas between them.
    fn list<T>(
        &mut self,
        depth: usize,
        one: impl Fn(&mut Self, usize) -> Result<T, UnknownType>,
    ) -> Result<Vec<T>, UnknownType> {
        let mut items = vec![one(self, depth)?];
        while self.skip_symbol(',') {
            items.push(one(self, depth)?);
        }
        Ok(items)
    }

    fn parameters<const N: usize>(&mut self, depth: usize) -> Result<[Box<CqlType>; N], UnknownType> {
        self.expect('(', "a '(' is missing")?;
        let types = self.list(depth + 1, |parser, depth| parser.ty(depth).map(Box::new))?;
        self.expect(')', "a ')' is missing")?;
        types.try_into().map_err(|_| self.unknown("it takes another number of parameters"))
    }

    fn ty(&mut self, depth: usize) -> Result<CqlType, UnknownType> {
        if depth > NESTING_DEPTH_MAX {
            return Err(self.unknown("it nests too deeply"));
        }
        let start = self.rest.trim_start();
        let word = self.word();
        if word.is_empty() {
            return Err(self.unknown("a class is missing"));
        }
        let class = word.strip_prefix(PACKAGE).unwrap_or(word);
        if let Some(ty) = CqlType::of_class(class) {
            return Ok(ty);
        }
        match class {
            "DateType" => Ok(CqlType::Timestamp),
            "FrozenType" => self.parameters(depth).map(|[inner]| freeze(*inner)),
            "ListType" => self.parameters(depth).map(|[element]| CqlType::List { element, frozen: false }),
            "SetType" => self.parameters(depth).map(|[element]| CqlType::Set { element, frozen: false }),
            "MapType" => self.parameters(depth).map(|[key, value]| CqlType::Map { key, value, frozen: false }),
            "TupleType" => {
                self.expect('(', "a '(' is missing")?;
                let elements = self.list(depth + 1, |parser, depth| parser.ty(depth).map(freeze))?;
                self.expect(')', "a ')' is missing")?;
                Ok(CqlType::Tuple(elements))
            }
            "UserType" => self.user_type(depth),
            "VectorType" => self.vector(depth),
            _ => {
                self.skip_parameters()?;
                let length = start.len() - self.rest.len();
                Ok(CqlType::Custom(start[..length].to_owned()))
            }
        }
    }

    fn user_type(&mut self, depth: usize) -> Result<CqlType, UnknownType> {
        self.expect('(', "a '(' is missing")?;
        let keyspace = self.word().to_owned();
        self.expect(',', "a user-defined type's name is missing")?;
        let name = from_hex(self.word()).ok_or_else(|| self.unknown("a name is not written in hexadecimal digits"))?;
        let mut fields = Vec::new();
        while self.skip_symbol(',') {
            let name =
                from_hex(self.word()).ok_or_else(|| self.unknown("a name is not written in hexadecimal digits"))?;
            self.expect(':', "a field's type is missing")?;
            fields.push(Field { name, ty: self.ty(depth + 1)? });
        }
        self.expect(')', "a ')' is missing")?;
        Ok(CqlType::Udt { keyspace, name, fields, frozen: false })
    }

    fn vector(&mut self, depth: usize) -> Result<CqlType, UnknownType> {
        self.expect('(', "a '(' is missing")?;
        let element = Box::new(self.ty(depth + 1)?);
        self.expect(',', "a vector's dimension is missing")?;
        let dimension = self.word().parse().ok().filter(|dimension| (1..=DIMENSION_MAX).contains(dimension));
        let dimension = dimension.ok_or_else(|| self.unknown("a vector's dimension is from 1 to 2147483647"))?;
        self.expect(')', "a ')' is missing")?;
        Ok(CqlType::Vector { element, dimension })
    }

    /// Goes past `(…)` with whatever stands in it.
    fn skip_parameters(&mut self) -> Result<(), UnknownType> {
        if !self.rest.starts_with('(') {
            return Ok(());
        }
        let mut open = 0_usize;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.rest = &self.rest[at + 1..];
                return Ok(());
            }
        }
        Err(self.unknown("a ')' is missing"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::full_class_name as full;

    #[test]
    fn names_round_trip() {
        for (cql, class) in [
            ("int", "Int32Type"),
            ("list<int>", "ListType(Int32Type)"),
            ("frozen<list<int>>", "FrozenType(ListType(Int32Type))"),
            ("map<text, frozen<list<int>>>", "MapType(UTF8Type,FrozenType(ListType(Int32Type)))"),
            ("tuple<int, text>", "TupleType(Int32Type,UTF8Type)"),
            ("vector<float, 3>", "VectorType(FloatType , 3)"),
        ] {
            let ty = CqlType::parse(cql).expect(cql);
            assert_eq!(class_name(&ty), full(class));
            assert_eq!(parse(&full(class)), Ok(ty));
        }
        for class in [
            "FrozenType(MapType(UTF8Type,SetType(TupleType(Int32Type,ListType(LongType)))))",
            "UserType(ks,61646472,6e616d65:UTF8Type,6c697374:FrozenType(ListType(Int32Type)))",
            "FrozenType(UserType(ks,61646472,6c697374:ListType(Int32Type)))",
            "OddType(x=>y,(z))",
        ] {
            assert_eq!(class_name(&parse(&full(class)).expect(class)), full(class));
        }
    }

    #[test]
    fn odd_text_is_refused() {
        for text in [
            "",
            "ListType",
            "ListType(",
            "ListType()",
            "ListType(Int32Type",
            "MapType(Int32Type)",
            "Int32Type)",
            "UserType(ks,6)",
            "VectorType(Int32Type,0)",
            "é(",
            "Odd(",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"ListType(".repeat(100_000)).is_err());
        assert!(parse(&"Odd(".repeat(100_000)).is_err());
    }
}
