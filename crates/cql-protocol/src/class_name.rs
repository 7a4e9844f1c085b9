//! The Java classes by which Cassandra, and so drivers, name types that have no code.

use cql_types::CqlType;
use cql_types::class_name::{PACKAGE, class_name};

/// The class of a type, with its parameters.
pub(crate) fn of(ty: &CqlType) -> String {
    class_name(ty)
}

/// The type of a class, with its package: a native one, or a vector of native ones. Any other stays [`CqlType::Custom`].
pub(crate) fn parse(class: &str) -> CqlType {
    let known = class.starts_with(PACKAGE).then(|| cql_types::class_name::parse(class).ok()).flatten();
    let known = known.filter(|ty| match ty {
        CqlType::Vector { element, .. } => element.is_native(),
        ty => ty.is_native(),
    });
    known.unwrap_or_else(|| CqlType::Custom(class.to_owned()))
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
