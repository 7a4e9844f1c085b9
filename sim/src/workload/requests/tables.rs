//! The tables of the workload, and the statements about them.

use std::net::SocketAddr;

use histories::Workload;
use histories::cas_register::CasRegister;
use histories::list_append::ListAppend;
use histories::map::{Map, entries};
use histories::wr_register::WrRegister;
use runtime::Runtime;

use crate::client::{Client, ClientError, Row, Statement};
use crate::workload::{Key, padding};

/// Partitions from this one on are pieces: all rows of one are written at once.
pub const PIECES_FROM: i32 = 1000;
/// Partitions from this one on are maps, whose entries are what rows are elsewhere.
pub const MAPS_FROM: i32 = 2000;
/// Rows of a piece.
pub const PIECE_ROWS: i64 = 4;

pub(super) const INSERT: &str = "INSERT INTO ring.rows (p, c, v, pad) VALUES (?, ?, ?, ?)";
pub(super) const DELETE_ROW: &str = "DELETE FROM ring.rows WHERE p = ? AND c = ?";
pub(super) const DELETE_RANGE: &str = "DELETE FROM ring.rows WHERE p = ? AND c >= ? AND c < ?";
pub(super) const DELETE_PARTITION: &str = "DELETE FROM ring.rows WHERE p = ?";
/// All rows of a partition.
pub const SELECT_PARTITION: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ?";
pub(super) const SELECT_BACKWARDS: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ? ORDER BY c DESC";
pub(super) const SELECT_LIMITED: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ? LIMIT 5";
/// Rows that it gives at most.
pub(super) const LIMIT: usize = 5;
pub(super) const SELECT_SOME: &str = "SELECT p, c, v, pad FROM ring.rows";
pub(super) const INSERT_PIECE: &str = "INSERT INTO ring.pieces (p, c, v, pad) VALUES (?, ?, ?, ?)";
pub(super) const DELETE_PIECE: &str = "DELETE FROM ring.pieces WHERE p = ?";
/// All rows of a piece.
pub const SELECT_PIECE: &str = "SELECT p, c, v, pad FROM ring.pieces WHERE p = ?";
pub(super) const DELETE_ENTRY: &str = "DELETE m[?] FROM ring.maps WHERE p = ?";
const PUT: &str = "UPDATE ring.maps SET m[?] = ? WHERE p = ?";
/// A map.
pub const SELECT_MAP: &str = "SELECT m FROM ring.maps WHERE p = ?";
pub(super) const UPDATE: &str = "UPDATE ring.counts SET n = n + ? WHERE p = ? AND c = ?";
/// One counter.
pub const SELECT_COUNT: &str = "SELECT p, c, n FROM ring.counts WHERE p = ? AND c = ?";

/// Makes the tables, through a node. It may be sent again.
pub async fn prepare_tables(runtime: Runtime, address: SocketAddr, factors: Vec<u32>) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, address).await?;
    let of_each = factors.iter().enumerate().map(|(number, factor)| format!("'datacenter{number}': {factor}"));
    let replicas = of_each.collect::<Vec<_>>().join(", ");
    let small_files = "compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'N'} \
                       AND caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'}";
    let rows = "(p int, c bigint, v bigint, pad blob, PRIMARY KEY (p, c))";
    let statements = [
        format!(
            "CREATE KEYSPACE IF NOT EXISTS ring WITH replication = {{'class': 'NetworkTopologyStrategy', {replicas}}}"
        ),
        format!("CREATE TABLE IF NOT EXISTS ring.rows {rows} WITH {small_files}"),
        // Read repair of single rows would part what was written at once.
        format!("CREATE TABLE IF NOT EXISTS ring.pieces {rows} WITH {small_files} AND read_repair = 'NONE'"),
        format!(
            "CREATE TABLE IF NOT EXISTS ring.counts (p int, c int, n counter, PRIMARY KEY (p, c)) WITH {small_files}"
        ),
    ];
    let maps = format!("{} WITH {small_files}", Map::TABLES[0]);
    let of_serial = [CasRegister::TABLES, ListAppend::TABLES, WrRegister::TABLES].concat();
    let of_serial = of_serial.into_iter().map(|table| format!("{table} WITH {small_files}"));
    for statement in statements.into_iter().chain([maps]).chain(of_serial) {
        client.change(&statement).await?;
    }
    Ok(())
}

/// True if all rows of that partition are written at once.
pub fn is_piece(partition: i32) -> bool {
    (PIECES_FROM..MAPS_FROM).contains(&partition)
}

/// The entries of a map that was read, as rows.
pub fn read_map(partition: i32, rows: &[Row]) -> Result<Vec<(Key, u64)>, String> {
    let row = |(clustering, value): (u64, u64)| (Key { partition, clustering: clustering.cast_signed() }, value);
    entries(rows).map(|entries| entries.into_iter().map(row).collect())
}

/// Writes a row, or an entry of a map, with the number of its change.
pub(super) fn insert(text: &'static str, key: Key, number: u64) -> Statement {
    if key.partition >= MAPS_FROM {
        let values = [key.clustering.to_be_bytes().to_vec(), number.to_be_bytes().to_vec()];
        let values = values.into_iter().chain([key.partition.to_be_bytes().to_vec()]).collect();
        return Statement { text: PUT, values };
    }
    let values = vec![
        key.partition.to_be_bytes().to_vec(),
        key.clustering.to_be_bytes().to_vec(),
        number.to_be_bytes().to_vec(),
        padding(number),
    ];
    Statement { text, values }
}

/// Later changes have later timestamps, and none is before the epoch.
pub(super) fn timestamp(number: u64) -> i64 {
    1_700_000_000_000_000 + number as i64
}
