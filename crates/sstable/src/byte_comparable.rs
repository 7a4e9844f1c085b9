//! Cassandra's byte-comparable forms, by which its tries are ordered: `memcmp` of two forms is the order of what they stand for, and none is a
//! prefix of another. They are other bytes than `cql_types::comparable`, which is ours. (Source: Cassandra 5.0's
//! `ByteComparable.md`, version OSS50.)

use cql_types::CqlType;
use mutation::{Bound, ClusteringRef};
use schema::Column;
use topology::Token;

/// Which place among rows a clustering's first components name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The row of the whole clustering.
    Row,
    /// Before all rows that begin with it.
    Before,
    /// Behind all rows that begin with it.
    After,
}

/// Appends the form of a partition key with its token.
pub fn key(_token: Token, _key: &[u8], _out: &mut Vec<u8>) {
    todo!()
}

/// Appends the form of a place among rows: of `clustering`'s components, of the types and orders of `columns`.
pub fn clustering(_columns: &[Column], _clustering: ClusteringRef<'_>, _place: Place, _out: &mut Vec<u8>) {
    todo!()
}

/// Appends the form of one end of a slice, whose components are in our own comparable form.
pub fn bound(_columns: &[Column], _bound: Bound<'_>, _is_start: bool, _out: &mut Vec<u8>) {
    todo!()
}

/// Appends the form of one value; `false`: it is empty, and its type has no form for that.
pub fn value(_ty: &CqlType, _value: &[u8], _out: &mut Vec<u8>) -> bool {
    todo!()
}
