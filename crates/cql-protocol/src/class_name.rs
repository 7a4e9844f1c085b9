//! The Java classes by which Cassandra, and so drivers, name types that have no code. (Source: the class names in
//! Cassandra's `db/marshal`, as its `AbstractType.toString` puts them together.)

use std::fmt::Write;

use cql_types::CqlType;

const PACKAGE: &str = "org.apache.cassandra.db.marshal.";

/// The native types and their classes.
const NATIVES: [(CqlType, &str); 20] = [
    (CqlType::Ascii, "AsciiType"),
    (CqlType::Bigint, "LongType"),
    (CqlType::Blob, "BytesType"),
    (CqlType::Boolean, "BooleanType"),
    (CqlType::Counter, "CounterColumnType"),
    (CqlType::Date, "SimpleDateType"),
    (CqlType::Decimal, "DecimalType"),
    (CqlType::Double, "DoubleType"),
    (CqlType::Duration, "DurationType"),
    (CqlType::Float, "FloatType"),
    (CqlType::Inet, "InetAddressType"),
    (CqlType::Int, "Int32Type"),
    (CqlType::Smallint, "ShortType"),
    (CqlType::Text, "UTF8Type"),
    (CqlType::Time, "TimeType"),
    (CqlType::Timestamp, "TimestampType"),
    (CqlType::Timeuuid, "TimeUUIDType"),
    (CqlType::Tinyint, "ByteType"),
    (CqlType::Uuid, "UUIDType"),
    (CqlType::Varint, "IntegerType"),
];

/// The class of a type, with its parameters.
pub(crate) fn of(ty: &CqlType) -> String {
    let mut out = String::new();
    append(&mut out, ty, false);
    out
}

/// Within a frozen type the others are too, and Cassandra does not say so again.
fn append(out: &mut String, ty: &CqlType, in_frozen: bool) {
    match ty {
        CqlType::Custom(class) => out.push_str(class),
        CqlType::List { element, frozen } => append_frozen(out, "ListType", &[element], *frozen, in_frozen),
        CqlType::Set { element, frozen } => append_frozen(out, "SetType", &[element], *frozen, in_frozen),
        CqlType::Map { key, value, frozen } => append_frozen(out, "MapType", &[key, value], *frozen, in_frozen),
        CqlType::Tuple(elements) => {
            let elements: Vec<&CqlType> = elements.iter().collect();
            append_class(out, "TupleType", &elements, true);
        }
        CqlType::Vector { element, dimension } => {
            out.push_str(PACKAGE);
            out.push_str("VectorType(");
            append(out, element, in_frozen);
            // Writing to a String cannot fail.
            let _ = write!(out, " , {dimension})");
        }
        CqlType::Udt { keyspace, name, fields, frozen } => {
            let wrapped = *frozen && !in_frozen;
            if wrapped {
                out.push_str(PACKAGE);
                out.push_str("FrozenType(");
            }
            let _ = write!(out, "{PACKAGE}UserType({keyspace},");
            append_hex(out, name);
            for field in fields {
                out.push(',');
                append_hex(out, &field.name);
                out.push(':');
                append(out, &field.ty, true);
            }
            out.push_str(if wrapped { "))" } else { ")" });
        }
        native => {
            let class = NATIVES.iter().find(|(ty, _)| ty == native).map_or("BytesType", |(_, class)| class);
            out.push_str(PACKAGE);
            out.push_str(class);
        }
    }
}

fn append_frozen(out: &mut String, class: &str, parameters: &[&CqlType], frozen: bool, in_frozen: bool) {
    let wrapped = frozen && !in_frozen;
    if wrapped {
        out.push_str(PACKAGE);
        out.push_str("FrozenType(");
    }
    append_class(out, class, parameters, in_frozen || frozen);
    if wrapped {
        out.push(')');
    }
}

fn append_class(out: &mut String, class: &str, parameters: &[&CqlType], in_frozen: bool) {
    out.push_str(PACKAGE);
    out.push_str(class);
    out.push('(');
    for (index, parameter) in parameters.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        append(out, parameter, in_frozen);
    }
    out.push(')');
}

fn append_hex(out: &mut String, text: &str) {
    for byte in text.bytes() {
        let _ = write!(out, "{byte:02x}");
    }
}

/// The type of a class: a native one, or a vector of native ones. Any other stays [`CqlType::Custom`].
pub(crate) fn parse(class: &str) -> CqlType {
    native(class).or_else(|| vector(class)).unwrap_or_else(|| CqlType::Custom(class.to_owned()))
}

fn native(class: &str) -> Option<CqlType> {
    let name = class.strip_prefix(PACKAGE)?;
    NATIVES.iter().find(|(_, known)| *known == name).map(|(ty, _)| ty.clone())
}

fn vector(class: &str) -> Option<CqlType> {
    let parameters = class.strip_prefix(PACKAGE)?.strip_prefix("VectorType(")?.strip_suffix(')')?;
    let (element, dimension) = parameters.rsplit_once(',')?;
    let element = Box::new(native(element.trim())?);
    Some(CqlType::Vector { element, dimension: dimension.trim().parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_cassandras() {
        let class = |text: &str| of(&CqlType::parse(text).unwrap()).replace(PACKAGE, "");
        assert_eq!(class("vector<float, 3>"), "VectorType(FloatType , 3)");
        assert_eq!(class("frozen<list<frozen<set<int>>>>"), "FrozenType(ListType(SetType(Int32Type)))");
        assert_eq!(class("map<text, frozen<list<int>>>"), "MapType(UTF8Type,FrozenType(ListType(Int32Type)))");
        assert_eq!(class("tuple<int, frozen<list<int>>>"), "TupleType(Int32Type,ListType(Int32Type))");
    }

    #[test]
    fn native_types_and_vectors_of_them_are_known_again() {
        for text in ["vector<float, 3>", "vector<text, 65535>", "duration", "int"] {
            let ty = CqlType::parse(text).unwrap();
            assert_eq!(parse(&of(&ty)), ty);
        }
        for odd in ["", "org.example.Odd", "org.apache.cassandra.db.marshal.VectorType(x , 3)"] {
            assert_eq!(parse(odd), CqlType::Custom(odd.to_owned()));
        }
    }
}
