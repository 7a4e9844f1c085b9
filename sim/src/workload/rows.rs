//! Rows with unique values in one table: single ones, registers that are written over, batches of one partition, logged
//! batches over partitions, and now and then a TRUNCATE. A client has one request under way at a time; after an answer it
//! reads back, now and then, what it must find.

use std::time::Duration;

use cql_protocol::BatchKind;
use runtime::{Group, Runtime};

use super::counts::{Adder, Place, read_one};
use super::history::{Batched, Key, Shared, Truncate, padding};
use crate::checker::counts::may_be_lost;
use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::NODE;

const INSERT: &str = "INSERT INTO sim.rows (p, c, v, pad) VALUES (?, ?, ?, ?)";
const SELECT_ONE: &str = "SELECT v, pad FROM sim.rows WHERE p = ? AND c = ?";
/// All rows, for the checker.
pub const SELECT_ALL: &str = "SELECT p, c, v, pad FROM sim.rows";

/// The longest that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest pause before a client connects anew.
const REST_MICROS: u64 = 20_000;

/// What clients do, in parts of a thousand; the rest are single rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowsOptions {
    /// Clients.
    pub clients: u16,
    /// Requests of each.
    pub requests: u32,
    /// Partitions that rows are spread over.
    pub partitions: u32,
    /// Batches of one partition.
    pub unlogged_per_mille: u32,
    /// Logged batches over partitions.
    pub logged_per_mille: u32,
    /// TRUNCATEs.
    pub truncate_per_mille: u32,
    /// Registers.
    pub register_per_mille: u32,
    /// Amounts added to counters.
    pub count_per_mille: u32,
    /// The longest pause between two requests.
    pub pause_micros: u64,
    /// Rows of a batch at most, at least two.
    pub batch_rows_max: u64,
}

impl Default for RowsOptions {
    fn default() -> Self {
        RowsOptions {
            clients: 3,
            requests: 60,
            partitions: 12,
            unlogged_per_mille: 150,
            logged_per_mille: 100,
            truncate_per_mille: 5,
            register_per_mille: 200,
            count_per_mille: 0,
            pause_micros: 2_000,
            batch_rows_max: 7,
        }
    }
}

/// Makes the table, trying until it is there.
pub async fn prepare(runtime: Runtime) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, NODE).await?;
    let keyspace = "CREATE KEYSPACE IF NOT EXISTS sim WITH replication = \
                    {'class': 'SimpleStrategy', 'replication_factor': 1}";
    client.execute(keyspace).await?;
    client
        .execute(
            "CREATE TABLE IF NOT EXISTS sim.rows (p int, c bigint, v bigint, pad blob, PRIMARY KEY (p, c)) \
                  WITH compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': '2'} \
                  AND caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'}",
        )
        .await?;
    Ok(())
}

/// All clients do all their requests.
pub async fn work(runtime: Runtime, options: RowsOptions, history: Shared) {
    let client = |number| Rows::new(runtime.clone(), options, history.clone(), number).run();
    let clients: Vec<_> = (0..options.clients).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

/// One client.
struct Rows {
    runtime: Runtime,
    options: RowsOptions,
    history: Shared,
    /// This client's number.
    number: u16,
    connection: Option<Client>,
    last_timestamp: i64,
    /// The register's last acknowledged value, and none other was sent after it.
    settled: Option<u64>,
}

enum Told {
    Acknowledged,
    Maybe,
}

impl Rows {
    /// A client that has done nothing yet.
    fn new(runtime: Runtime, options: RowsOptions, history: Shared, number: u16) -> Rows {
        Rows { runtime, options, history, number, connection: None, last_timestamp: 0, settled: None }
    }

    /// Does all its requests.
    async fn run(mut self) {
        for _ in 0..self.options.requests {
            if self.options.pause_micros > 0 {
                let pause = self.runtime.random_u64() % self.options.pause_micros;
                self.runtime.sleep(Duration::from_micros(pause)).await;
            }
            self.request().await;
        }
    }

    async fn request(&mut self) {
        let RowsOptions { unlogged_per_mille, logged_per_mille, truncate_per_mille, register_per_mille, .. } =
            self.options;
        let count_per_mille = self.options.count_per_mille;
        let mut choice = (self.runtime.random_u64() % 1000) as u32;
        let mut is = |per_mille: u32| {
            let is = choice < per_mille;
            choice = choice.wrapping_sub(per_mille);
            is
        };
        if is(truncate_per_mille) {
            self.truncate().await;
        } else if is(unlogged_per_mille) {
            self.batch(BatchKind::Unlogged).await;
        } else if is(logged_per_mille) {
            self.batch(BatchKind::Logged).await;
        } else if is(register_per_mille) {
            self.register().await;
        } else if is(count_per_mille) {
            self.count().await;
        } else {
            let partition = self.partition();
            self.single(Key { partition, clustering: 0 }).await;
        }
    }

    fn partition(&self) -> i32 {
        (self.runtime.random_u64() % u64::from(self.options.partitions)) as i32
    }

    fn now(&self) -> u64 {
        self.runtime.now().as_nanos()
    }

    /// Strictly greater than the one before, so that a request that arrives late does not win over a later one.
    fn timestamp(&mut self) -> i64 {
        self.last_timestamp = self.runtime.wall_clock_micros().max(self.last_timestamp + 1);
        self.last_timestamp
    }

    /// The statement that writes a fresh value; a clustering key of 0 stands for a fresh one.
    fn insert(&self, mut key: Key, batch: Option<Batched>) -> (u64, Statement) {
        let start = self.now();
        let mut history = self.history.borrow_mut();
        if key.clustering == 0 {
            key.clustering = history.writes.len() as i64 + 1;
        }
        let value = history.begin(key, start, batch);
        let values = vec![
            key.partition.to_be_bytes().to_vec(),
            key.clustering.to_be_bytes().to_vec(),
            value.to_be_bytes().to_vec(),
            padding(value),
        ];
        (value, Statement { text: INSERT, values })
    }

    async fn single(&mut self, key: Key) -> Option<u64> {
        let (value, statement) = self.insert(key, None);
        let timestamp = self.timestamp();
        let told = self.ask(async |client| client.run(&statement, Some(timestamp)).await.map(drop)).await;
        if let Told::Maybe = told {
            return None;
        }
        let now = self.now();
        self.history.borrow_mut().acknowledge(&[value], now);
        let key = self.history.borrow().writes[value as usize].key;
        if self.runtime.random_u64().is_multiple_of(8) {
            self.read_back(key, value).await;
        }
        Some(value)
    }

    async fn register(&mut self) {
        let key = Key { partition: i32::from(self.number), clustering: -1 - i64::from(self.number) };
        if let (Some(value), true) = (self.settled, self.runtime.random_u64().is_multiple_of(4)) {
            self.read_back(key, value).await;
        }
        self.settled = None;
        self.settled = self.single(key).await;
    }

    async fn batch(&mut self, kind: BatchKind) {
        let count = 2 + self.runtime.random_u64() % (self.options.batch_rows_max - 1);
        let is_one_partition = kind == BatchKind::Unlogged;
        let partition = self.partition();
        let number = {
            let mut history = self.history.borrow_mut();
            history.batches += 1;
            history.batches
        };
        let (mut values, mut statements) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let partition = if is_one_partition { partition } else { self.partition() };
            let batch = Some(Batched { number, is_one_partition });
            let (value, statement) = self.insert(Key { partition, clustering: 0 }, batch);
            values.push(value);
            statements.push(statement);
        }
        let timestamp = self.timestamp();
        let told = self.ask(async |client| client.batch(kind, &statements, Some(timestamp)).await).await;
        if let Told::Acknowledged = told {
            let now = self.now();
            self.history.borrow_mut().acknowledge(&values, now);
        }
    }

    async fn count(&mut self) {
        let start = self.now();
        let adder = Adder::new(&self.runtime, self.options.partitions, start, &mut self.history.borrow_mut().counts);
        let Some(adder) = adder else { return };
        let told = self.ask(async |client| adder.ask(client).await).await;
        let now = self.now();
        let place = {
            let adds = &mut self.history.borrow_mut().counts.adds;
            if let Told::Acknowledged = told {
                adder.indexes.iter().for_each(|&index| adds[index].acknowledged = Some(now));
            }
            adds[adder.indexes[0]].place
        };
        if self.runtime.random_u64().is_multiple_of(4) {
            self.read_count(place).await;
        }
    }

    /// A count has all that was acknowledged before it was asked for, and nothing twice.
    async fn read_count(&mut self, place: Place) {
        let Some(mut client) = self.client().await else { return };
        let from = self.now();
        let Ok(Ok(count)) = self.runtime.timeout(PATIENCE, read_one(&mut client, place)).await else { return };
        self.connection = Some(client);
        let until = self.now();
        let mut history = self.history.borrow_mut();
        let judged = history.counts.judge(place, count.unwrap_or(0), (from, until), |add| may_be_lost(&history, add));
        if let Err(what) = judged {
            history.violations.push(format!("read back: {what}"));
        }
    }

    async fn truncate(&mut self) {
        let start = self.now();
        let place = {
            let mut history = self.history.borrow_mut();
            history.truncates.push(Truncate { start, acknowledged: None });
            history.truncates.len() - 1
        };
        let told = self.ask(async |client| client.execute("TRUNCATE sim.rows").await.map(drop)).await;
        if let Told::Acknowledged = told {
            let now = self.now();
            self.history.borrow_mut().truncates[place].acknowledged = Some(now);
        }
    }

    /// What was acknowledged is read back: it must be there, unless a TRUNCATE may have come between.
    async fn read_back(&mut self, key: Key, value: u64) {
        let values = vec![key.partition.to_be_bytes().to_vec(), key.clustering.to_be_bytes().to_vec()];
        let statement = Statement { text: SELECT_ONE, values };
        let Some(mut client) = self.client().await else { return };
        let Ok(Ok(rows)) = self.runtime.timeout(PATIENCE, client.run(&statement, None)).await else { return };
        self.connection = Some(client);
        let now = self.now();
        let mut history = self.history.borrow_mut();
        let expected: Row = vec![Some(value.to_be_bytes().to_vec()), Some(padding(value))];
        let may_be_gone = history.may_be_truncated(history.writes[value as usize].start, now);
        let is_lost = history.may_be_lost(&history.writes[value as usize]);
        let is_right = rows == [expected] || (rows.is_empty() && may_be_gone) || is_lost;
        if !is_right {
            let found: Vec<_> = rows.iter().map(|row| row.first().cloned()).collect();
            history.violations.push(format!("{key:?}: {value} was acknowledged, and then {found:?} was read"));
        }
    }

    /// Has the node do something. Whether it said that it did.
    async fn ask(&mut self, request: impl AsyncFnOnce(&mut Client) -> Result<(), ClientError>) -> Told {
        let Some(mut client) = self.client().await else { return Told::Maybe };
        let answer = self.runtime.timeout(PATIENCE, request(&mut client)).await;
        let mut history = self.history.borrow_mut();
        match answer {
            Ok(Ok(())) => {
                self.connection = Some(client);
                return Told::Acknowledged;
            }
            Ok(Err(ClientError::Refused(error))) => {
                self.connection = Some(client);
                let name = format!("{:?}", error.code());
                *history.refused.entry(name).or_default() += 1;
            }
            Ok(Err(ClientError::Malformed(what))) => history.violations.push(what),
            Ok(Err(ClientError::Connection(_) | ClientError::Closed)) | Err(_) => history.unknown += 1,
        }
        Told::Maybe
    }

    /// The connection, or a new one; none if nobody answers now.
    async fn client(&mut self) -> Option<Client> {
        if let Some(client) = self.connection.take() {
            return Some(client);
        }
        match self.runtime.timeout(PATIENCE, Client::connect(&self.runtime, NODE)).await {
            Ok(Ok(client)) => Some(client),
            _ => {
                let rest = self.runtime.random_u64() % REST_MICROS;
                self.runtime.sleep(Duration::from_micros(rest)).await;
                None
            }
        }
    }
}
