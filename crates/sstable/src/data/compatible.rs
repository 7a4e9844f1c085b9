//! The types of a header against those of a table, before an SSTable that another program or another table wrote is read as the table's.
//!
//! A reader needs no more than that cells have the form of their columns, and an open file stays readable as it is. So this is asked
//! once, of a file that is imported: read as `text`, the bytes of an `int` would be rows that no client can decode and that order differently in every
//! other file. Compatible is what Cassandra's `AbstractType.isValueCompatibleWith` accepts, and for what rows are ordered by, `isCompatibleWith`: as
//! long as types could be altered, files kept the older one. Of user-defined types only the fields' types count: fields may have been added and
//! renamed since, and the keyspace may be another.

use cql_types::CqlType;
use schema::{ColumnKind, Table};

use crate::data::columns::{UnknownColumn, unfit_key};
use crate::header::{Header, HeaderColumn};
use crate::marshal;

/// Compares the types of all columns of `header` with those of `table`. Columns that were dropped may be of any type: their cells are read over.
pub fn check_types(header: &Header, table: &Table) -> Result<(), UnknownColumn> {
    let key_types = marshal::partition_key_types(table.partition_key(), header.partition_key.len());
    let partition_key = header.partition_key.iter().zip(&key_types);
    let clustering = header.clustering.iter().zip(table.clustering());
    let fits = header.partition_key.len() == key_types.len()
        && header.clustering.len() == table.clustering().len()
        && partition_key.into_iter().all(|(written, ty)| takes(ty, written))
        && clustering.into_iter().all(|(written, column)| orders_alike(&column.ty, &written.ty));
    if !fits {
        return Err(unfit_key(header, table));
    }
    let statics = header.statics.iter().map(|column| (column, ColumnKind::Static));
    let regulars = header.regulars.iter().map(|column| (column, ColumnKind::Regular));
    statics.chain(regulars).try_for_each(|(column, kind)| check_column(column, kind, table))
}

fn check_column(column: &HeaderColumn, kind: ColumnKind, table: &Table) -> Result<(), UnknownColumn> {
    if table.dropped.contains_key(&column.name) {
        return Ok(());
    }
    match table.column(&column.name) {
        Some(known) if known.kind == kind && takes(&known.ty, &column.ty) => Ok(()),
        Some(known) => Err(UnknownColumn::unfit(column, kind, known, table)),
        None => Err(UnknownColumn::Missing { table: table.name.clone(), column: column.name.clone() }),
    }
}

/// True if each value of the type `written` is one of `ty`.
pub(super) fn takes(ty: &CqlType, written: &CqlType) -> bool {
    use CqlType as T;
    match (ty, written) {
        (T::List { element, .. }, T::List { element: of, .. }) => takes(element, of),
        (T::Set { element, .. }, T::Set { element: of, .. }) => orders_alike(element, of),
        (T::Map { key, value, .. }, T::Map { key: of, value: of_value, .. }) => {
            orders_alike(key, of) && takes(value, of_value)
        }
        (T::Vector { element, dimension }, T::Vector { element: of, dimension: count }) => {
            dimension == count && element.vector_element_len() == of.vector_element_len() && takes(element, of)
        }
        _ => parts_fit(ty, written, takes).unwrap_or_else(|| ty.takes_values_of(written)),
    }
}

/// The same, and in the same order.
fn orders_alike(ty: &CqlType, written: &CqlType) -> bool {
    use CqlType as T;
    match (ty, written) {
        (T::Blob, T::Ascii | T::Text) | (T::Text, T::Ascii) => true,
        (T::List { element, .. }, T::List { element: of, .. })
        | (T::Set { element, .. }, T::Set { element: of, .. }) => orders_alike(element, of),
        (T::Map { key, value, .. }, T::Map { key: of, value: of_value, .. }) => {
            orders_alike(key, of) && orders_alike(value, of_value)
        }
        _ => parts_fit(ty, written, orders_alike).unwrap_or_else(|| ty == written),
    }
}

/// Of two tuples, or two user-defined types: true if each part of `written` fits that of `ty`, which may have more.
fn parts_fit(ty: &CqlType, written: &CqlType, fits: fn(&CqlType, &CqlType) -> bool) -> Option<bool> {
    match (ty, written) {
        (CqlType::Tuple(types), CqlType::Tuple(of)) => {
            Some(types.len() >= of.len() && types.iter().zip(of).all(|(ty, of)| fits(ty, of)))
        }
        (CqlType::Udt { fields, .. }, CqlType::Udt { fields: of, .. }) => {
            let all = || fields.iter().zip(of).all(|(field, of)| fits(&field.ty, &of.ty));
            Some(fields.len() >= of.len() && all())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> CqlType {
        CqlType::parse(text).expect(text)
    }

    #[test]
    fn values_are_taken_as_cassandra_takes_them() {
        for (table, written, is_taken) in [
            ("text", "ascii", true),
            ("ascii", "text", false),
            ("text", "int", false),
            ("int", "text", false),
            ("blob", "int", true),
            ("varint", "int", true),
            ("int", "varint", false),
            ("bigint", "int", false),
            ("bigint", "timestamp", true),
            ("uuid", "timeuuid", true),
            ("list<text>", "list<ascii>", true),
            ("list<text>", "list<int>", false),
            ("set<text>", "set<ascii>", true),
            ("set<varint>", "set<int>", false),
            ("map<text, varint>", "map<ascii, int>", true),
            ("map<varint, int>", "map<int, int>", false),
            ("tuple<int, text>", "tuple<int>", true),
            ("tuple<int>", "tuple<int, text>", false),
            ("vector<float, 3>", "vector<float, 3>", true),
            ("vector<float, 3>", "vector<float, 4>", false),
            ("vector<float, 3>", "vector<int, 3>", false),
        ] {
            assert_eq!(takes(&ty(table), &ty(written)), is_taken, "{table} of {written}");
        }
    }

    #[test]
    fn what_rows_are_ordered_by_must_order_alike() {
        for (table, written, is_alike) in
            [("blob", "text", true), ("blob", "int", false), ("varint", "int", false), ("uuid", "timeuuid", false)]
        {
            assert_eq!(orders_alike(&ty(table), &ty(written)), is_alike, "{table} of {written}");
        }
    }

    #[test]
    fn a_user_defined_type_may_have_grown_and_be_of_another_keyspace() {
        let udt = |keyspace: &str, types: &[(&str, &str)]| {
            let field = |(name, of): &(&str, &str)| cql_types::Field { name: (*name).to_owned(), ty: ty(of) };
            let fields = types.iter().map(field).collect();
            CqlType::Udt { keyspace: keyspace.to_owned(), name: "u".to_owned(), fields, frozen: true }
        };
        let (small, large) = (udt("a", &[("x", "int")]), udt("b", &[("renamed", "int"), ("y", "text")]));
        assert!(takes(&large, &small) && !takes(&small, &large));
        assert!(!takes(&udt("a", &[("x", "text")]), &small));
    }
}
