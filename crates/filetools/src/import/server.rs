//! The server's table, as its system tables tell it.

use std::collections::BTreeMap;
use std::path::Path;

use cql_types::{CqlType, Field};
use schema::{Column, ColumnId, ColumnKind, Order, Table, TableId, TableOptions};
use sstable::Header;
use sstable::data::{UnknownColumn, check_types};
use stdx::Reader;

use crate::error::ToolError;
use crate::import::connection::Connection;

/// User-defined types within such types, at most: a server has no circles of them.
const TYPES_DEPTH_MAX: usize = 32;

/// The table as the server describes it.
pub(super) struct Server {
    name: String,
    columns: BTreeMap<String, Known>,
}

/// A column of the server's table.
struct Known {
    kind: String,
    position: i32,
    /// `None`: its type is none that is known here, and whether values are of it is the server's to say.
    ty: Option<CqlType>,
}

impl Server {
    /// Asks for the table's columns, and for the types that they may be of.
    pub(super) async fn ask(connection: &mut Connection, keyspace: &str, table: &str) -> Result<Server, ToolError> {
        let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
        let text = format!(
            "SELECT type_name, field_names, field_types FROM system_schema.types WHERE keyspace_name = {}",
            quoted(keyspace)
        );
        let mut types = BTreeMap::new();
        for row in connection.rows(&text).await? {
            let [Some(name), Some(fields), Some(of)] = &row[..] else { continue };
            let fields: Vec<(String, String)> = texts(fields).into_iter().zip(texts(of)).collect();
            types.insert(text_of(name), fields);
        }
        let text = format!(
            "SELECT column_name, kind, position, type FROM system_schema.columns WHERE keyspace_name = {} AND table_name = {}",
            quoted(keyspace),
            quoted(table)
        );
        let mut columns = BTreeMap::new();
        for row in connection.rows(&text).await? {
            let [Some(name), Some(kind), Some(position), Some(ty)] = &row[..] else { continue };
            let position = position.as_slice().try_into().map_or(0, i32::from_be_bytes);
            let ty = CqlType::parse(&text_of(ty)).ok().and_then(|ty| resolved(ty, &types, 0));
            columns.insert(text_of(name), Known { kind: text_of(kind), position, ty });
        }
        let name = format!("{keyspace}.{table}");
        if columns.is_empty() { Err(ToolError::NoTable { name }) } else { Ok(Server { name, columns }) }
    }

    /// True if the table has a column of that name.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    /// The files' table with the server's names of its key.
    pub(super) fn named(&self, of_header: &Table, path: &Path) -> Result<Table, ToolError> {
        let mut columns = of_header.columns().to_vec();
        self.join_composite_key(&mut columns);
        for column in columns.iter_mut().filter(|column| column.kind.is_key()) {
            let kind = column.kind.name();
            let place = i32::from(column.position);
            let found = self.columns.iter().find(|(_, known)| (known.kind.as_str(), known.position) == (kind, place));
            let (name, _) = found.ok_or_else(|| ToolError::OtherKey { path: path.into(), name: self.name.clone() })?;
            column.name.clone_from(name);
        }
        Ok(super::table_with(columns))
    }

    /// A header does not tell a key of one column that is a composite from one of several columns: the server does.
    fn join_composite_key(&self, columns: &mut Vec<Column>) {
        let mut key = self.columns.values().filter(|known| known.kind == ColumnKind::PartitionKey.name());
        if let (Some(Known { ty: Some(ty @ CqlType::ByClass(_)), .. }), None) = (key.next(), key.next()) {
            columns.retain(|column| column.kind != ColumnKind::PartitionKey || column.position == 0);
            columns.iter_mut().filter(|column| column.kind == ColumnKind::PartitionKey).for_each(|column| {
                column.ty = ty.clone();
            });
        }
    }

    /// Compares the types of a file's columns with the table's. Columns that the table does not have are left out when rows are sent.
    pub(super) fn check_types(&self, mut header: Header) -> Result<(), UnknownColumn> {
        let is_known = |name: &str| self.columns.get(name).is_some_and(|known| known.ty.is_some());
        header.statics.retain(|column| is_known(&column.name));
        header.regulars.retain(|column| is_known(&column.name));
        let kinds = [ColumnKind::PartitionKey, ColumnKind::Clustering, ColumnKind::Static, ColumnKind::Regular];
        let mut columns = Vec::new();
        for (name, known) in &self.columns {
            let Some(kind) = kinds.into_iter().find(|kind| kind.name() == known.kind) else { continue };
            let Some(ty) = known.ty.clone() else {
                // Without the type of a part of the key nothing can be compared.
                if kind.is_key() {
                    return Ok(());
                }
                continue;
            };
            let position = u16::try_from(known.position).unwrap_or(0);
            columns.push(Column {
                id: ColumnId(0),
                name: name.clone(),
                ty,
                kind,
                position,
                order: Order::Asc,
                mask: None,
            });
        }
        let named = super::table_with(columns);
        let table = Table::new(TableId([0; 16]), "", &self.name, named.columns().to_vec(), TableOptions::default());
        check_types(&header, &table)
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The texts of a list of them.
fn texts(list: &[u8]) -> Vec<String> {
    let mut reader = Reader::new(list);
    let Ok(count) = reader.u32() else { return Vec::new() };
    let mut one = || {
        let length = reader.u32().ok()?;
        reader.bytes(length as usize).ok().map(text_of)
    };
    (0..count).map_while(|_| one()).collect()
}

/// The type with the fields of the user-defined types in it; `None`: one of them is not there.
fn resolved(ty: CqlType, types: &BTreeMap<String, Vec<(String, String)>>, depth: usize) -> Option<CqlType> {
    let inner = |ty: Box<CqlType>| resolved(*ty, types, depth + 1).map(Box::new);
    if depth > TYPES_DEPTH_MAX {
        return None;
    }
    Some(match ty {
        CqlType::List { element, frozen } => CqlType::List { element: inner(element)?, frozen },
        CqlType::Set { element, frozen } => CqlType::Set { element: inner(element)?, frozen },
        CqlType::Map { key, value, frozen } => CqlType::Map { key: inner(key)?, value: inner(value)?, frozen },
        CqlType::Vector { element, dimension } => CqlType::Vector { element: inner(element)?, dimension },
        CqlType::Tuple(of) => {
            CqlType::Tuple(of.into_iter().map(|ty| resolved(ty, types, depth + 1)).collect::<Option<_>>()?)
        }
        CqlType::Udt { keyspace, name, frozen, .. } => {
            let field = |(name, ty): &(String, String)| {
                let ty = resolved(CqlType::parse(ty).ok()?, types, depth + 1)?;
                Some(Field { name: name.clone(), ty })
            };
            let fields = types.get(&name)?.iter().map(field).collect::<Option<_>>()?;
            CqlType::Udt { keyspace, name, fields, frozen }
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use sstable::{EncodingStats, HeaderColumn};

    use super::*;

    fn server() -> Server {
        let types = BTreeMap::from([("u".to_owned(), vec![("x".to_owned(), "int".to_owned())])]);
        let known = |kind: &str, ty: &str| Known {
            kind: kind.to_owned(),
            position: if kind == "regular" { -1 } else { 0 },
            ty: resolved(CqlType::parse(ty).expect("a type"), &types, 0),
        };
        let columns = [
            ("k", known("partition_key", "int")),
            ("c", known("clustering", "text")),
            ("v", known("regular", "text")),
            ("u", known("regular", "frozen<u>")),
        ];
        let columns = columns.into_iter().map(|(name, known)| (name.to_owned(), known)).collect();
        Server { name: "ks.t".to_owned(), columns }
    }

    fn header(key: &str, columns: &[(&str, CqlType)]) -> Header {
        let ty = |text: &str| CqlType::parse(text).expect("a type");
        let clustering = vec![sstable::marshal::ClusteringType { ty: ty("text"), is_reversed: true }];
        let column = |(name, ty): &(&str, CqlType)| HeaderColumn { name: (*name).to_owned(), ty: ty.clone() };
        let regulars = columns.iter().map(column).collect();
        Header {
            encoding: EncodingStats::EPOCH,
            partition_key: vec![ty(key)],
            clustering,
            statics: Vec::new(),
            regulars,
        }
    }

    #[test]
    fn types_are_compared_with_those_of_the_server() {
        let server = server();
        let check = |key, columns: &[(&str, CqlType)]| server.check_types(header(key, columns));
        check("int", &[("v", CqlType::Ascii), ("gone", CqlType::Int)]).expect("unknown columns are left out");
        let error = check("int", &[("v", CqlType::Int)]).expect_err("another type");
        let expected = "column v of table ks.t is of type regular int, which does not fit regular text";
        assert_eq!(error.to_string(), expected);
        check("text", &[]).expect_err("another key");
        let udt = |ty: CqlType| CqlType::Udt {
            keyspace: "other".to_owned(),
            name: "u".to_owned(),
            fields: vec![Field { name: "x".to_owned(), ty }],
            frozen: true,
        };
        check("int", &[("u", udt(CqlType::Int))]).expect("it is of the same fields");
        check("int", &[("u", udt(CqlType::Text))]).expect_err("it is of another field");
    }
}
