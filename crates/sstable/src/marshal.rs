//! The names of Java classes by which SSTables call the types of keys; those of single types are `cql_types::class_name`'s.

use cql_types::class_name::PACKAGE;
pub use cql_types::class_name::{UnknownType, class_name, parse};
use cql_types::{ByClass, Component, CqlType};
use schema::Column;

/// The type of a clustering column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusteringType {
    /// The type of its values.
    pub ty: CqlType,
    /// Whether the greatest comes first.
    pub is_reversed: bool,
}

/// A clustering column's type.
pub fn parse_clustering(text: &str) -> Result<ClusteringType, UnknownType> {
    match inside(text, "ReversedType") {
        Some(inner) => Ok(ClusteringType { ty: parse(inner)?, is_reversed: true }),
        None => Ok(ClusteringType { ty: parse(text)?, is_reversed: false }),
    }
}

/// The types of a partition key's columns. A key of one column that is a composite looks like one of several columns.
pub fn parse_partition_key(text: &str) -> Result<Vec<CqlType>, UnknownType> {
    let ty = parse(text)?;
    Ok(match components_of(&ty) {
        Some(components) => components.iter().map(|component| component.ty.clone()).collect(),
        None => vec![ty],
    })
}

/// The types that a header must have for the key of a table with these columns in it; `count`: as many as it has. They are those of the components
/// if [`parse_partition_key`] took a column that is a composite for several.
pub fn partition_key_types(columns: &[Column], count: usize) -> Vec<&CqlType> {
    match columns {
        [single]
            if count > 1
                && let Some(components) = components_of(&single.ty) =>
        {
            components.iter().map(|component| &component.ty).collect()
        }
        columns => columns.iter().map(|column| &column.ty).collect(),
    }
}

/// The components of a composite that could be a key of several columns.
fn components_of(ty: &CqlType) -> Option<&[Component]> {
    match ty {
        CqlType::ByClass(class) => match &**class {
            ByClass::Composite(components) if components.len() > 1 => Some(components),
            _ => None,
        },
        _ => None,
    }
}

/// What stands in the parentheses of `class(…)`.
fn inside<'t>(text: &'t str, class: &str) -> Option<&'t str> {
    let text = text.trim();
    let text = text.strip_prefix(PACKAGE).unwrap_or(text);
    text.strip_prefix(class)?.trim_start().strip_prefix('(')?.strip_suffix(')')
}

/// The class name of a clustering column's type.
pub fn clustering_class_name(of: &ClusteringType) -> String {
    let inner = class_name(&of.ty);
    if of.is_reversed { format!("{PACKAGE}ReversedType({inner})") } else { inner }
}

/// The class name of a partition key's type.
pub fn partition_key_class_name(types: &[CqlType]) -> String {
    match types {
        [single] => class_name(single),
        several => {
            let names: Vec<String> = several.iter().map(class_name).collect();
            format!("{PACKAGE}CompositeType({})", names.join(","))
        }
    }
}

/// How many bytes each value takes that is not empty; `None`: its length stands before it. (Source: Cassandra's
/// `AbstractType.valueLengthIfFixed`, which calls fewer types fixed than are.)
pub fn fixed_length(ty: &CqlType) -> Option<usize> {
    ty.vector_element_len()
}

#[cfg(test)]
mod tests {
    use cql_types::samples::full_class_name as full;

    use super::*;

    #[test]
    fn keys_and_orders_are_read_and_written() {
        let key = full("CompositeType(UTF8Type,Int32Type)");
        assert_eq!(parse_partition_key(&key), Ok(vec![CqlType::Text, CqlType::Int]));
        assert_eq!(partition_key_class_name(&[CqlType::Text, CqlType::Int]), key);
        assert_eq!(partition_key_class_name(&parse_partition_key("UUIDType").unwrap()), full("UUIDType"));
        let composite = |class: &str| {
            let ty = parse(class).unwrap();
            Column::new(schema::ColumnKind::PartitionKey, schema::ColumnId(0), "k", ty)
        };
        for class in
            ["CompositeType(UTF8Type,Int32Type)", "CompositeType(UTF8Type)", "CompositeType()", "LexicalUUIDType"]
        {
            let read = parse_partition_key(&full(class)).expect(class);
            let columns = [composite(class)];
            assert_eq!(partition_key_types(&columns, read.len()), read.iter().collect::<Vec<_>>(), "{class}");
            assert_eq!(partition_key_class_name(&[columns[0].ty.clone()]), full(class));
            assert_eq!(partition_key_types(&columns, 1), [&columns[0].ty], "of a header that is to be written");
        }
        let reversed = full("ReversedType(LongType)");
        let of = parse_clustering(&reversed).unwrap();
        assert_eq!((&of.ty, of.is_reversed), (&CqlType::Bigint, true));
        assert_eq!(clustering_class_name(&of), reversed);
    }

    #[test]
    fn lengths_are_those_that_cassandra_holds_for_fixed() {
        for (class, length) in [
            ("Int32Type", Some(4)),
            ("ShortType", None),
            ("SimpleDateType", None),
            ("TimestampType", Some(8)),
            ("LexicalUUIDType", Some(16)),
            ("EmptyType", Some(0)),
            ("VectorType(FloatType , 3)", Some(12)),
            ("VectorType(ShortType , 3)", None),
        ] {
            assert_eq!(fixed_length(&parse(&full(class)).expect(class)), length, "{class}");
        }
    }
}
