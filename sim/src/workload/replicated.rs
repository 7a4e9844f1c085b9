//! Rows on a ring whose nodes are all replicas: written, deleted one by one, by range and by partition, at ALL and at ONE, through
//! any node; and read at ALL and ONE, with limits, pages and backwards. Every answer is judged as it comes.

use std::time::Duration;

use cql_protocol::{BatchKind, Consistency, ErrorCode};
use runtime::{Group, Runtime};

use super::history::{Key, padding};
use super::replicated_history::{Effect, Extent, Seen, SharedReplicated};
use super::rows::RowsOptions;
use crate::checker::replicated::judge;
use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::native_address;

const INSERT: &str = "INSERT INTO ring.rows (p, c, v, pad) VALUES (?, ?, ?, ?)";
const DELETE_ROW: &str = "DELETE FROM ring.rows WHERE p = ? AND c = ?";
const DELETE_RANGE: &str = "DELETE FROM ring.rows WHERE p = ? AND c >= ? AND c < ?";
const DELETE_PARTITION: &str = "DELETE FROM ring.rows WHERE p = ?";
/// All rows of a partition.
pub const SELECT_PARTITION: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ?";
const SELECT_BACKWARDS: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ? ORDER BY c DESC";
const SELECT_LIMITED: &str = "SELECT p, c, v, pad FROM ring.rows WHERE p = ? LIMIT 5";
const SELECT_SOME: &str = "SELECT p, c, v, pad FROM ring.rows";
/// Rows that [`SELECT_LIMITED`] gives at most.
const LIMIT: usize = 5;

/// The longest that a client waits for an answer: longer than the nodes try.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest pause before a client connects anew.
const REST_MICROS: u64 = 200_000;
/// Clustering keys of a partition.
const CLUSTERINGS: u64 = 24;

/// Makes the table on a node. Each node is told, and the table's id, since nodes do not tell each other.
pub async fn prepare_replicated(runtime: Runtime, index: usize) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, native_address(index)).await?;
    let keyspace = "CREATE KEYSPACE IF NOT EXISTS ring WITH replication = \
                    {'class': 'SimpleStrategy', 'replication_factor': 2}";
    client.execute(keyspace).await?;
    let table = "CREATE TABLE IF NOT EXISTS ring.rows (p int, c bigint, v bigint, pad blob, PRIMARY KEY (p, c)) \
                 WITH id = 6f2b1c90-0000-11f0-8000-0000000000aa \
                 AND compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'N'} \
                 AND caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'}";
    client.execute(table).await?;
    Ok(())
}

/// All clients do all their requests, on a ring of so many nodes.
pub async fn work_replicated(runtime: Runtime, options: RowsOptions, nodes: usize, history: SharedReplicated) {
    let client = |_| {
        let connections = (0..nodes).map(|_| None).collect();
        Worker { runtime: runtime.clone(), options, history: history.clone(), connections }.run()
    };
    let clients: Vec<_> = (0..options.clients).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

/// One client.
struct Worker {
    runtime: Runtime,
    options: RowsOptions,
    history: SharedReplicated,
    /// By node.
    connections: Vec<Option<Client>>,
}

impl Worker {
    async fn run(mut self) {
        for _ in 0..self.options.requests {
            if self.options.pause_micros > 0 {
                let pause = self.below(self.options.pause_micros);
                self.runtime.sleep(Duration::from_micros(pause)).await;
            }
            self.request().await;
        }
    }

    async fn request(&mut self) {
        let at_all = self.below(2) == 0;
        let choice = self.below(1000) as u32;
        let RowsOptions { logged_per_mille, unlogged_per_mille, .. } = self.options;
        match choice {
            0..300 => self.read(at_all).await,
            300..320 => self.scan(at_all).await,
            320..380 => {
                let key = self.key();
                let values = vec![key.partition.to_be_bytes().to_vec(), key.clustering.to_be_bytes().to_vec()];
                self.delete(Extent::Row(key), Statement { text: DELETE_ROW, values }, at_all).await;
            }
            380..420 => {
                let Key { partition, clustering } = self.key();
                let end = clustering + 1 + self.below(CLUSTERINGS / 2) as i64;
                let bounds = [clustering.to_be_bytes().to_vec(), end.to_be_bytes().to_vec()];
                let values = [partition.to_be_bytes().to_vec()].into_iter().chain(bounds).collect();
                let statement = Statement { text: DELETE_RANGE, values };
                self.delete(Extent::Range(partition, clustering, end), statement, at_all).await;
            }
            420..435 => {
                let partition = self.key().partition;
                let statement = Statement { text: DELETE_PARTITION, values: vec![partition.to_be_bytes().to_vec()] };
                self.delete(Extent::Partition(partition), statement, at_all).await;
            }
            _ if choice < 435 + logged_per_mille => self.batch(BatchKind::Logged, at_all).await,
            _ if choice < 435 + logged_per_mille + unlogged_per_mille => {
                self.batch(BatchKind::Unlogged, at_all).await;
            }
            _ => {
                let key = self.key();
                let (number, statement) = self.insert(key, at_all, None);
                let ask = async |client: &mut Client| client.run(&statement, Some(timestamp(number))).await.map(drop);
                self.change(&[number], at_all, ask).await;
            }
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn now(&self) -> u64 {
        self.runtime.now().as_nanos()
    }

    fn key(&self) -> Key {
        let partition = self.below(u64::from(self.options.partitions)) as i32;
        Key { partition, clustering: self.below(CLUSTERINGS) as i64 }
    }

    fn insert(&self, key: Key, at_all: bool, batch: Option<u64>) -> (u64, Statement) {
        let start = self.now();
        let number = self.history.borrow_mut().begin(Extent::Row(key), Effect::Write, at_all, start, batch);
        let values = vec![
            key.partition.to_be_bytes().to_vec(),
            key.clustering.to_be_bytes().to_vec(),
            number.to_be_bytes().to_vec(),
            padding(number),
        ];
        (number, Statement { text: INSERT, values })
    }

    async fn delete(&mut self, extent: Extent, statement: Statement, at_all: bool) {
        let start = self.now();
        let number = self.history.borrow_mut().begin(extent, Effect::Delete, at_all, start, None);
        let ask = async |client: &mut Client| client.run(&statement, Some(timestamp(number))).await.map(drop);
        self.change(&[number], at_all, ask).await;
    }

    /// Rows of several partitions or of one, none twice.
    async fn batch(&mut self, kind: BatchKind, at_all: bool) {
        let count = 2 + self.below(5);
        let partition = self.key().partition;
        let mut keys = std::collections::BTreeSet::new();
        for _ in 0..count {
            let key = self.key();
            keys.insert(if kind == BatchKind::Logged { key } else { Key { partition, ..key } });
        }
        let number = {
            let mut history = self.history.borrow_mut();
            history.batches += u64::from(kind == BatchKind::Logged);
            history.batches
        };
        // One partition's part of an unlogged batch is one mutation, and whole too; but a replica may miss it.
        let batch = (kind == BatchKind::Logged).then_some(number);
        let (numbers, statements): (Vec<u64>, Vec<Statement>) =
            keys.into_iter().map(|key| self.insert(key, at_all, batch)).unzip();
        // A batch has one timestamp: nothing else is numbered between its first row and its last.
        let at = timestamp(numbers[0]);
        let ask = async |client: &mut Client| client.batch(kind, &statements, Some(at)).await;
        self.change(&numbers, at_all, ask).await;
    }

    async fn change(
        &mut self,
        numbers: &[u64],
        at_all: bool,
        request: impl AsyncFnOnce(&mut Client) -> Result<(), ClientError>,
    ) {
        let index = self.below(self.connections.len() as u64) as usize;
        let Some(mut client) = self.client(index, at_all).await else {
            // Never sent.
            self.history.borrow_mut().void(numbers);
            return;
        };
        let answer = self.runtime.timeout(PATIENCE, request(&mut client)).await;
        let now = self.now();
        let mut history = self.history.borrow_mut();
        match answer {
            Ok(Ok(())) => {
                history.acknowledge(numbers, now);
                drop(history);
                self.connections[index] = Some(client);
            }
            Ok(Err(error)) => {
                drop(history);
                if let ClientError::Refused(body) = &error
                    && body.code() == ErrorCode::Unavailable
                {
                    self.history.borrow_mut().void(numbers);
                }
                self.failed(index, client, error);
            }
            Err(_) => history.unknown += 1,
        }
    }

    fn failed(&mut self, index: usize, client: Client, error: ClientError) {
        let mut history = self.history.borrow_mut();
        match error {
            ClientError::Refused(error) => {
                *history.refused.entry(format!("{:?}", error.code())).or_default() += 1;
                drop(history);
                self.connections[index] = Some(client);
            }
            ClientError::Malformed(what) => history.violations.push(what),
            ClientError::Connection(_) | ClientError::Closed => history.unknown += 1,
        }
    }

    /// Reads a partition: whole, by pages, backwards, or its beginning.
    async fn read(&mut self, at_all: bool) {
        let partition = self.key().partition;
        let kind = self.below(4);
        let text = [SELECT_PARTITION, SELECT_PARTITION, SELECT_BACKWARDS, SELECT_LIMITED][kind as usize];
        let page = if kind == 0 { 1000 } else { 1 + self.below(6) as i32 };
        let statement = Statement { text, values: vec![partition.to_be_bytes().to_vec()] };
        let Some((rows, seen)) = self.ask_rows(&statement, page, at_all).await else { return };
        let mut history = self.history.borrow_mut();
        // What lies behind the last row of a limited read was not asked for.
        let last = rows.last().filter(|_| text == SELECT_LIMITED && rows.len() >= LIMIT);
        let last = last.map_or(i64::MAX, |(key, _)| key.clustering);
        if text == SELECT_LIMITED && rows.len() > LIMIT {
            history.violations.push(format!("{} rows, where {LIMIT} were asked for", rows.len()));
        }
        let is_in_order = rows.windows(2).all(|pair| match text {
            SELECT_BACKWARDS => pair[0].0 > pair[1].0,
            _ => pair[0].0 < pair[1].0,
        });
        if !is_in_order || rows.iter().any(|(key, _)| key.partition != partition) {
            history.violations.push(format!("partition {partition}: {text} gave {rows:?}"));
        }
        let asked = |key: Key| key.partition == partition && key.clustering <= last;
        judge(&mut history, &seen, asked, at_all);
    }

    /// Reads everything, page by page. Such a read repairs nothing.
    async fn scan(&mut self, at_all: bool) {
        let statement = Statement { text: SELECT_SOME, values: Vec::new() };
        let page = 1 + self.below(40) as i32;
        let Some((rows, seen)) = self.ask_rows(&statement, page, at_all).await else { return };
        let mut history = self.history.borrow_mut();
        if rows.len() != seen.rows.len() {
            history.violations.push(format!("a scan gave {} rows, of which some twice", rows.len()));
        }
        judge(&mut history, &seen, |_| true, false);
    }

    async fn ask_rows(&mut self, statement: &Statement, page: i32, at_all: bool) -> Option<(Vec<(Key, u64)>, Seen)> {
        let index = self.below(self.connections.len() as u64) as usize;
        let mut client = self.client(index, at_all).await?;
        let (start, ends) = (self.now(), self.history.borrow().ends);
        let answer = self.runtime.timeout(PATIENCE, client.pages(statement, page)).await;
        let end = self.now();
        match answer {
            Ok(Ok(rows)) => {
                self.connections[index] = Some(client);
                match rows.iter().map(read_row).collect::<Result<Vec<_>, _>>() {
                    Ok(rows) => {
                        let by_key = rows.iter().copied().collect();
                        Some((rows, Seen { start, end, at_all, ends, rows: by_key }))
                    }
                    Err(what) => {
                        self.history.borrow_mut().violations.push(what);
                        None
                    }
                }
            }
            Ok(Err(error)) => {
                self.failed(index, client, error);
                None
            }
            Err(_) => {
                self.history.borrow_mut().unknown += 1;
                None
            }
        }
    }

    /// The connection to a node, or a new one; none if it does not answer now.
    async fn client(&mut self, index: usize, at_all: bool) -> Option<Client> {
        let client = match self.connections[index].take() {
            Some(client) => Some(client),
            None => {
                let connecting = Client::connect(&self.runtime, native_address(index));
                self.runtime.timeout(PATIENCE, connecting).await.ok().and_then(Result::ok)
            }
        };
        match client {
            Some(mut client) => {
                client.consistency = if at_all { Consistency::All } else { Consistency::One };
                Some(client)
            }
            None => {
                let rest = self.below(REST_MICROS);
                self.runtime.sleep(Duration::from_micros(rest)).await;
                None
            }
        }
    }
}

/// Later changes have later timestamps, and none is before the epoch.
fn timestamp(number: u64) -> i64 {
    1_700_000_000_000_000 + number as i64
}

/// A row's key and value.
pub fn read_row(row: &Row) -> Result<(Key, u64), String> {
    let field = |place: usize| row.get(place).cloned().flatten();
    let (Some(partition), Some(clustering), Some(value)) = (field(0), field(1), field(2)) else {
        return Err(format!("a row without key or value: {row:?}"));
    };
    let (Ok(partition), Ok(clustering), Ok(value)) = (partition.try_into(), clustering.try_into(), value.try_into())
    else {
        return Err(format!("a row whose key or value has another length: {row:?}"));
    };
    let (partition, clustering) = (i32::from_be_bytes(partition), i64::from_be_bytes(clustering));
    let (key, value) = (Key { partition, clustering }, u64::from_be_bytes(value));
    if field(3).as_deref() != Some(&padding(value)[..]) {
        return Err(format!("{key:?}: {value} has bytes that nobody wrote"));
    }
    Ok((key, value))
}
