//! DESCRIBE, answered by the server as Cassandra has done since 4.0: cqlsh prints what it gets. (Source: Cassandra's
//! `DescribeStatement`, which gives the results' columns.)

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use cluster::coordinator::Replication;
use cql_protocol::response::{ColumnSpec, RowsHead, Specs};
use cql_protocol::{FrameHeader, QueryParams, RowsWriter};
use cql_syntax::{Describe, DescribeKind, DescribeTarget, quote_identifier};
use cql_types::CqlType;
use mutation::Position;
use schema::user_type::in_order_of_use;
use schema::{Keyspace, Table, TableId, UserType, describe, system_keyspaces};
use topology::{NodeIndex, token_of};

use crate::NodeInfo;
use crate::catalog::Catalog;
use crate::error::{QueryError, invalid};
use crate::paging::{InvalidPagingState, PagingKey, PagingState};
use crate::prepared::StatementId;
use crate::system::value;

/// A result: the columns' names, and rows of values.
struct Description {
    columns: &'static [&'static str],
    rows: Vec<Row>,
}

/// Values in the native protocol's form: texts, but for [`RANGE_OWNERSHIP`].
type Row = Vec<Vec<u8>>;

const LIST_COLUMNS: [&str; 3] = ["keyspace_name", "type", "name"];
const ELEMENT_COLUMNS: [&str; 4] = ["keyspace_name", "type", "name", "create_statement"];
const CLUSTER_COLUMNS: [&str; 4] = ["cluster", "partitioner", "snitch", RANGE_OWNERSHIP];

/// The column that is a map from a range's end to the addresses of those who hold it.
const RANGE_OWNERSHIP: &str = "range_ownership";

/// Which part of the answer is wanted.
pub(crate) struct Page<'a> {
    /// The statement's id, to which the paging state belongs.
    pub(crate) id: StatementId,
    /// What the request says of pages.
    pub(crate) params: &'a QueryParams<'a>,
}

/// A page's rows, and the paging state if there may be more.
type Rows<'d> = (&'d [Row], Option<Vec<u8>>);

/// Where a page begins: behind so many rows of a description, which must be what it was.
struct Place {
    rows_count: u32,
    description: u32,
}

impl Page<'_> {
    /// The key of its paging states. A description belongs to no table.
    fn key(&self) -> PagingKey {
        PagingKey::new(self.id, TableId([0; 16]), std::iter::empty())
    }

    /// The rows of the page, and the state of the next one.
    fn of<'d>(&self, description: &'d Description) -> Result<Rows<'d>, QueryError> {
        let digest = description.digest();
        let start = match self.params.paging_state {
            None | Some([]) => 0,
            Some(bytes) => {
                let state = PagingState::decode(bytes, &self.key())?;
                let place = Place::read(&state.position.key).ok_or(InvalidPagingState)?;
                if place.description != digest {
                    return Err(invalid(
                        "The schema has changed since the previous page of the DESCRIBE statement result. Please retry the DESCRIBE statement.",
                    ));
                }
                place.rows_count as usize
            }
        };
        let rest = description.rows.get(start..).ok_or(InvalidPagingState)?;
        let size = self.params.page_size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        let Some(rows) = rest.get(..size) else { return Ok((rest, None)) };
        let rows_count = u32::try_from(start + size).unwrap_or(u32::MAX);
        let key = Place { rows_count, description: digest }.write();
        let position = Position { token: token_of(&key), key, row: None };
        let state = PagingState { position, rows_left: u32::MAX, rows_left_in_partition: 0 };
        Ok((rows, Some(state.encode(&self.key()))))
    }
}

impl Place {
    fn write(&self) -> Vec<u8> {
        [self.rows_count.to_be_bytes(), self.description.to_be_bytes()].concat()
    }

    fn read(bytes: &[u8]) -> Option<Place> {
        let (rows_count, description) = bytes.split_first_chunk::<4>()?;
        let description = u32::from_be_bytes(description.try_into().ok()?);
        Some(Place { rows_count: u32::from_be_bytes(*rows_count), description })
    }
}

impl Description {
    /// A CRC-32 of all of it.
    fn digest(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for value in self.rows.iter().flatten() {
            hasher.update(value);
            hasher.update(&[0]);
        }
        hasher.finalize()
    }
}

/// Appends the answer to a DESCRIBE.
pub(crate) fn write(
    statement: &Describe,
    keyspace: Option<&str>,
    catalog: &Catalog,
    node: &NodeInfo,
    page: Page<'_>,
    header: &FrameHeader,
    out: &mut Vec<u8>,
) -> Result<(), QueryError> {
    let describer = Describer { catalog, keyspace, with_internals: statement.with_internals };
    let description = describer.describe(&statement.target, node)?;
    let owners = range_ownership_type();
    let spec = |&name: &&'static str| {
        let ty = if name == RANGE_OWNERSHIP { &owners } else { &CqlType::Text };
        ColumnSpec { keyspace: "system", table: "describe", name, ty }
    };
    let specs: Vec<ColumnSpec<'_>> = description.columns.iter().map(spec).collect();
    let (rows, next) = page.of(&description)?;
    let head = RowsHead { columns: Specs::Columns(&specs), new_metadata_id: None };
    let mut writer = RowsWriter::begin(out, header.version, header.stream, &head);
    for row in rows {
        for value in row {
            writer.value(out, Some(value));
        }
        writer.end_row();
    }
    writer.finish(out, next.as_deref());
    Ok(())
}

struct Describer<'a> {
    catalog: &'a Catalog,
    keyspace: Option<&'a str>,
    with_internals: bool,
}

impl Describer<'_> {
    fn describe(&self, target: &DescribeTarget, node: &NodeInfo) -> Result<Description, QueryError> {
        match target {
            DescribeTarget::Cluster => Ok(self.cluster(node)),
            DescribeTarget::List(kind) => self.list(*kind),
            DescribeTarget::Schema { full } => {
                let keyspaces = self.keyspaces().into_iter();
                let keyspaces = keyspaces.filter(|one| *full || !system_keyspaces::is_system(one.name()));
                Ok(elements(keyspaces.flat_map(|keyspace| self.whole_keyspace(&keyspace)).collect()))
            }
            DescribeTarget::OnlyKeyspace(name) => {
                let keyspace = self.keyspace_called(name.as_deref())?;
                Ok(elements(vec![keyspace_row(&keyspace)]))
            }
            DescribeTarget::Element { kind: DescribeKind::Keyspace, name, .. } => {
                let keyspace = self.keyspace_called(name.as_deref())?;
                Ok(elements(self.whole_keyspace(&keyspace)))
            }
            DescribeTarget::Element { kind, keyspace, name } => {
                let name = name.as_deref().unwrap_or_default();
                self.element(*kind, keyspace.as_deref(), name)
            }
            DescribeTarget::Any { keyspace, name } => self.any(keyspace.as_deref(), name),
        }
    }

    /// The cluster and, in a user's keyspace, who holds its data.
    fn cluster(&self, node: &NodeInfo) -> Description {
        let texts = [node.cluster_name.as_str(), "Murmur3Partitioner", "DynamicEndpointSnitch"];
        let mut row: Row = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        let replication = self.keyspace.and_then(|keyspace| self.catalog.replication(keyspace));
        row.extend(replication.map(|replication| range_ownership(replication)));
        Description { columns: &CLUSTER_COLUMNS[..row.len()], rows: vec![row] }
    }

    /// All keyspaces by name, the server's own among them.
    fn keyspaces(&self) -> Vec<Rc<Keyspace>> {
        let system = self.catalog.system.schema().keyspaces().values();
        let mut keyspaces: Vec<Rc<Keyspace>> =
            self.catalog.schema.keyspaces().values().chain(system).cloned().collect();
        keyspaces.sort_by_cached_key(|keyspace| keyspace.name().to_lowercase());
        keyspaces
    }

    /// Its tables by name, capitals beside small letters as Cassandra lists them.
    fn tables(keyspace: &Keyspace) -> Vec<&Rc<Table>> {
        let mut tables: Vec<_> = keyspace.tables.values().collect();
        tables.sort_by_cached_key(|table| table.name.to_lowercase());
        tables
    }

    fn find(&self, name: &str) -> Option<Rc<Keyspace>> {
        let user = self.catalog.schema.keyspace(name);
        user.or_else(|| self.catalog.system.schema().keyspace(name)).cloned()
    }

    /// The keyspace called `name`, or the session's.
    fn keyspace_called(&self, name: Option<&str>) -> Result<Rc<Keyspace>, QueryError> {
        let name = name.or(self.keyspace);
        let name = name.ok_or_else(|| invalid("No keyspace specified and no current keyspace"))?;
        self.find(name).ok_or_else(|| invalid(format!("'{name}' not found in keyspaces")))
    }

    fn list(&self, kind: DescribeKind) -> Result<Description, QueryError> {
        let keyspaces = match (kind, self.keyspace) {
            (DescribeKind::Keyspace, _) | (_, None) => self.keyspaces(),
            (_, Some(_)) => vec![self.keyspace_called(None)?],
        };
        let mut rows = Vec::new();
        for keyspace in &keyspaces {
            match kind {
                DescribeKind::Keyspace => rows.push(list_row(keyspace.name(), "keyspace", keyspace.name())),
                DescribeKind::Table => {
                    let tables = Self::tables(keyspace).into_iter();
                    rows.extend(tables.map(|table| list_row(keyspace.name(), "table", &table.name)));
                }
                DescribeKind::Type => {
                    let mut names: Vec<&String> = keyspace.types.keys().collect();
                    names.sort_by_cached_key(|name| name.to_lowercase());
                    rows.extend(names.into_iter().map(|name| list_row(keyspace.name(), "type", name)));
                }
                // There are none of these yet.
                _ => {}
            }
        }
        Ok(Description { columns: &LIST_COLUMNS, rows })
    }

    fn element(&self, kind: DescribeKind, keyspace: Option<&str>, name: &str) -> Result<Description, QueryError> {
        let keyspace = self.keyspace_called(keyspace)?;
        let missing = match kind {
            DescribeKind::Keyspace | DescribeKind::Table => format!("Table '{name}' not found in keyspace"),
            DescribeKind::Type => format!("User defined type '{name}' not found in"),
            DescribeKind::Function => format!("User defined function '{name}' not found in"),
            DescribeKind::Aggregate => format!("User defined aggregate '{name}' not found in"),
            DescribeKind::Index => format!("Table for existing index '{name}' not found in"),
            DescribeKind::MaterializedView => format!("Materialized view '{name}' not found in"),
        };
        match (keyspace.table(name), keyspace.types.get(name)) {
            (Some(table), _) if kind == DescribeKind::Table => Ok(elements(vec![self.table_row(table)])),
            (_, Some(ty)) if kind == DescribeKind::Type => Ok(elements(vec![type_row(ty)])),
            _ => Err(invalid(format!("{missing} '{}'", keyspace.name()))),
        }
    }

    /// A bare name: a keyspace, else something in the keyspace that was given or is in use.
    fn any(&self, keyspace: Option<&str>, name: &str) -> Result<Description, QueryError> {
        if keyspace.is_none()
            && let Some(keyspace) = self.find(name)
        {
            return Ok(elements(self.whole_keyspace(&keyspace)));
        }
        if keyspace.is_none() && self.keyspace.is_none() {
            return Err(invalid(format!("'{name}' not found in keyspaces")));
        }
        let keyspace = self.keyspace_called(keyspace)?;
        match (keyspace.table(name), keyspace.types.get(name)) {
            (Some(table), _) => Ok(elements(vec![self.table_row(table)])),
            (None, Some(ty)) => Ok(elements(vec![type_row(ty)])),
            (None, None) => Err(invalid(format!("'{name}' not found in keyspace '{}'", keyspace.name()))),
        }
    }

    fn whole_keyspace(&self, keyspace: &Keyspace) -> Vec<Row> {
        let tables = Self::tables(keyspace).into_iter().map(|table| self.table_row(table));
        let types = in_order_of_use(&keyspace.types).into_iter().map(type_row);
        std::iter::once(keyspace_row(keyspace)).chain(types).chain(tables).collect()
    }

    fn table_row(&self, table: &Table) -> Row {
        let text = match self.with_internals {
            true => describe::table_with_internals(table),
            false => describe::table(table),
        };
        element_row(&table.keyspace, "table", &table.name, text)
    }
}

fn elements(rows: Vec<Row>) -> Description {
    Description { columns: &ELEMENT_COLUMNS, rows }
}

fn keyspace_row(keyspace: &Keyspace) -> Row {
    element_row(keyspace.name(), "keyspace", keyspace.name(), describe::keyspace(keyspace))
}

fn type_row(ty: &UserType) -> Row {
    element_row(&ty.keyspace, "type", &ty.name, describe::user_type(ty))
}

fn list_row(keyspace: &str, kind: &str, name: &str) -> Row {
    [&*quote_identifier(keyspace), kind, &*quote_identifier(name)].map(|text| text.as_bytes().to_vec()).to_vec()
}

fn element_row(keyspace: &str, kind: &str, name: &str, text: String) -> Row {
    let mut row = list_row(keyspace, kind, name);
    row.push(text.into_bytes());
    row
}

fn range_ownership_type() -> CqlType {
    let list = CqlType::List { element: Box::new(CqlType::Text), frozen: false };
    CqlType::Map { key: Box::new(CqlType::Text), value: Box::new(list), frozen: false }
}

/// The ends of the ring's ranges as text, in the order of texts, each with the addresses of those who hold its data.
fn range_ownership(replication: &Replication) -> Vec<u8> {
    let ring = replication.ring();
    let holders = |nodes: &[NodeIndex]| {
        let shown: Vec<String> = nodes.iter().map(|&index| storage_address(ring.node(index).internode)).collect();
        value::texts(shown.iter().map(String::as_str)).unwrap_or_default()
    };
    let ends = ring.owners().iter().map(|&(end, _)| (end.to_string(), holders(replication.replicas(end))));
    let ends: BTreeMap<String, Vec<u8>> = ends.collect();
    value::blob_map(ends.iter().map(|(end, holders)| (end.as_str(), holders.as_slice()))).unwrap_or_default()
}

/// A node's address for other nodes as Cassandra shows it: one that no name was looked up for, and in Java's form.
fn storage_address(address: SocketAddr) -> String {
    let port = address.port();
    match address.ip() {
        IpAddr::V4(address) => format!("/{address}:{port}"),
        IpAddr::V6(address) => {
            let groups = address.segments().map(|group| format!("{group:x}"));
            format!("/[{}]:{port}", groups.join(":"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_in_javas_form() {
        let shown = |text: &str| storage_address(text.parse().expect("an address"));
        assert_eq!(shown("127.0.0.1:7000"), "/127.0.0.1:7000");
        assert_eq!(shown("[::1]:7000"), "/[0:0:0:0:0:0:0:1]:7000");
    }
}
