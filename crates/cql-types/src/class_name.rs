//! The Java classes by which Cassandra, its drivers and its files name types, both ways.
//!
//! Source of the grammar: Cassandra's `TypeParser` and the `toString` of each `AbstractType`. What is frozen is said once,
//! by the outermost `FrozenType(…)`; within it nothing says so again. Tuples never do. A class that no type of CQL stands
//! for is kept as [`CqlType::Custom`].

mod parser;

pub use parser::ClassError;

use crate::by_class::{ByClass, Component};
use crate::{CqlType, Field};
use parser::Parser;

/// The package of all of them.
pub const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// Text that names no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' names no type: {reason}")]
pub struct UnknownType {
    /// The text, or its beginning.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// The type that a class name stands for, as files and results have it. A class that no type of CQL stands for is a [`CqlType::Custom`].
pub fn parse(text: &str) -> Result<CqlType, UnknownType> {
    let mut parser = Parser::new(text, true);
    let unknown = |reason: String| UnknownType { text: text.chars().take(200).collect(), reason };
    if text.trim().is_empty() {
        return Err(unknown("a class is missing".to_owned()));
    }
    let ty = parser.class().map_err(|error| unknown(error.to_string()))?.ty;
    if parser.is_at_end() { Ok(ty) } else { Err(unknown("text follows the type".to_owned())) }
}

/// The types that class names with commas between them stand for.
pub fn parse_list(text: &str) -> Result<Vec<CqlType>, UnknownType> {
    let unknown = |reason: String| UnknownType { text: text.chars().take(200).collect(), reason };
    let listed = format!("({text})");
    let mut parser = Parser::new(&listed, true);
    let types = parser.types().map_err(|error| unknown(error.to_string()))?;
    if !parser.is_at_end() || types.is_empty() {
        return Err(unknown("no list of types".to_owned()));
    }
    Ok(types.into_iter().map(|component| component.ty).collect())
}

/// The type that a class name in a statement stands for, and whether it is reversed, with all that Cassandra's parser lets through: what
/// follows the first class is not looked at, and of nothing at all it makes a blob.
pub fn of_statement(text: &str) -> Result<(CqlType, bool), ClassError> {
    let component = component(text)?;
    Ok((component.ty, component.is_reversed))
}

/// The same of the type of a composite's component.
pub(crate) fn component(text: &str) -> Result<Component, ClassError> {
    let mut parser = Parser::new(text, false);
    if parser.begins_with_class() { parser.class() } else { Ok(Component::new(CqlType::Blob, false)) }
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
        CqlType::ByClass(class) => write_by_class(class, out),
        CqlType::Empty => out.push_str("EmptyType"),
        native => out.push_str(native.class().expect("every native type has a class")),
    }
    if says_so {
        out.push(')');
    }
}

/// Appends the name with its parameters, the packages of these included, but not its own.
fn write_by_class(class: &ByClass, out: &mut String) {
    out.push_str(class.simple_name());
    match class {
        ByClass::LexicalUuid => {}
        ByClass::Composite(components) => {
            let names: Vec<String> = components.iter().map(Component::class_name).collect();
            out.push_str(&format!("({})", names.join(",")));
        }
        ByClass::DynamicComposite(aliases) => {
            let name =
                |(alias, component): &(u8, Component)| format!("{}=>{}", char::from(*alias), component.class_name());
            let names: Vec<String> = aliases.iter().map(name).collect();
            out.push_str(&format!("({})", names.join(",")));
        }
    }
}

impl Component {
    /// The name of its class, with packages.
    pub fn class_name(&self) -> String {
        let name = match self.alias_class {
            Some(class) => format!("{PACKAGE}{class}"),
            None => class_name(&self.ty),
        };
        if self.is_reversed { format!("{PACKAGE}ReversedType({name})") } else { name }
    }

    /// The names of classes by which components of different types are ordered: all but the last are `ReversedType`. Without packages and
    /// parameters.
    pub fn simple_class_name(&self) -> String {
        let name = self.alias_class.map_or_else(|| class_name(&self.ty), str::to_owned);
        let name = name.strip_prefix(PACKAGE).unwrap_or(&name);
        // What is frozen has the class of what it is.
        let name = name.strip_prefix("FrozenType(").and_then(|name| name.strip_prefix(PACKAGE)).unwrap_or(name);
        name.split('(').next().unwrap_or_default().to_owned()
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
