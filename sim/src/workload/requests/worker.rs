//! Clients that send the requests of a run, and judge each answer as it comes.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{BatchKind, Consistency, ErrorCode};
use histories::Answer;
use histories::cas_register::CasRegister;
use histories::counter::amount;
use histories::list_append::ListAppend;
use histories::wr_register::WrRegister;
use runtime::{Group, Runtime};

use super::serial::Kept;
use super::serial_answers::{note_end, note_refusal};
use super::serial_levels::{home_of, serial_level, set_levels};
use super::sums::{OPEN_IN_TROUBLES_MAX, OPEN_MAX, Place};
use super::tables::{
    DELETE_ENTRY, DELETE_PARTITION, DELETE_PIECE, DELETE_RANGE, DELETE_ROW, INSERT, INSERT_PIECE, LIMIT, MAPS_FROM,
    PIECE_ROWS, PIECES_FROM, SELECT_BACKWARDS, SELECT_COUNT, SELECT_LIMITED, SELECT_MAP, SELECT_PARTITION,
    SELECT_PIECE, SELECT_SOME, UPDATE, insert, read_map, timestamp,
};
use super::target::Target;
use super::{Act, Change, CountSeen, Effect, Extent, Reach, Seen, SharedRequests, TruncateEnd, Truncation, Work};
use crate::checker::requests::{judge, judge_count, judge_piece};
use crate::client::{Client, ClientError, Row, Statement};
use crate::workload::{Key, read_count, read_row};

/// Clustering keys of other partitions.
const CLUSTERINGS: u64 = 12;
/// Counters of a partition.
const COUNTERS: u64 = 2;
/// The longest that a client waits for an answer: longer than the nodes try.
const PATIENCE: Duration = Duration::from_secs(8);
/// The same of a TRUNCATE: a node gives a change up after 10 s, and waits 10 s for others to apply one.
const TRUNCATE_PATIENCE: Duration = Duration::from_secs(30);
/// By then nothing that a node was asked for is under way: a read with its repair, and frames that were late.
const QUIET: Duration = Duration::from_secs(10);
/// Between two looks of a client that waits for others.
const AGAIN: Duration = Duration::from_millis(50);
/// The longest pause before a client connects again, microseconds.
const REST_MICROS: u64 = 200_000;

/// All clients send requests until the history is over.
pub async fn work_requests(runtime: Runtime, work: Work, targets: Vec<Target>, history: SharedRequests) {
    let client = |_| {
        let connections = targets.iter().map(|_| None).collect();
        let (runtime, history, targets) = (runtime.clone(), history.clone(), targets.clone());
        Worker { runtime, work, targets, history, connections }.run()
    };
    let clients: Vec<_> = (0..work.clients).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

/// One client.
struct Worker {
    runtime: Runtime,
    work: Work,
    targets: Vec<Target>,
    history: SharedRequests,
    /// By node.
    connections: Vec<Option<Client>>,
}

/// A connection for one request.
struct Connected {
    client: Client,
    node: usize,
    level: Consistency,
    reach: Reach,
}

/// The end of a request.
enum Answered<T> {
    /// With a result.
    Done(T),
    /// With the promise that nothing was done.
    Nothing,
    /// With another error.
    Failed,
    /// Not at all.
    Never,
}

impl Worker {
    async fn run(mut self) {
        while !self.history.borrow().is_over {
            let pause = self.below(self.work.pause_micros.max(1));
            self.runtime.sleep(Duration::from_micros(pause)).await;
            match self.work.act(self.runtime.random_u64()) {
                _ if self.history.borrow().is_gated => self.runtime.sleep(AGAIN).await,
                Act::Truncate => self.truncate().await,
                act => {
                    self.history.borrow_mut().in_flight += 1;
                    self.request(act).await;
                    self.history.borrow_mut().in_flight -= 1;
                }
            }
        }
    }

    async fn request(&mut self, act: Act) {
        match act {
            Act::Write => {
                let key = self.key();
                self.insert(INSERT, vec![key], None).await;
            }
            Act::LoggedBatch => self.write_logged().await,
            Act::WritePiece => {
                let partition = self.piece();
                let rows = (0..PIECE_ROWS).map(|clustering| Key { partition, clustering }).collect();
                let kind = if self.below(2) == 0 { BatchKind::Logged } else { BatchKind::Unlogged };
                self.insert(INSERT_PIECE, rows, Some(kind)).await;
            }
            Act::DeleteRow => {
                let key = self.key();
                let values = vec![key.partition.to_be_bytes().to_vec(), key.clustering.to_be_bytes().to_vec()];
                self.delete(Extent::Rows(Rc::new([key])), Statement { text: DELETE_ROW, values }).await;
            }
            Act::DeleteRange => {
                let Key { partition, clustering } = self.key();
                let end = clustering + 1 + self.below(CLUSTERINGS / 2) as i64;
                let bounds = [clustering.to_be_bytes().to_vec(), end.to_be_bytes().to_vec()];
                let values = [partition.to_be_bytes().to_vec()].into_iter().chain(bounds).collect();
                let statement = Statement { text: DELETE_RANGE, values };
                self.delete(Extent::Range(partition, clustering, end), statement).await;
            }
            Act::DeletePartition | Act::DeletePiece => {
                let of_rows = act == Act::DeletePartition;
                let partition = if of_rows { self.key().partition } else { self.piece() };
                let text = if of_rows { DELETE_PARTITION } else { DELETE_PIECE };
                let statement = Statement { text, values: vec![partition.to_be_bytes().to_vec()] };
                self.delete(Extent::Partition(partition), statement).await;
            }
            Act::PutEntry => {
                let key = self.entry();
                self.insert(INSERT, vec![key], None).await;
            }
            Act::DeleteEntry => {
                let key = self.entry();
                let values = vec![key.clustering.to_be_bytes().to_vec(), key.partition.to_be_bytes().to_vec()];
                self.delete(Extent::Rows(Rc::new([key])), Statement { text: DELETE_ENTRY, values }).await;
            }
            Act::ReadMap => self.read_map().await,
            Act::Read => self.read().await,
            Act::ReadPiece => self.read_piece().await,
            Act::Scan => self.scan().await,
            Act::Add => self.add().await,
            Act::Count => self.count().await,
            Act::CasRegister => self.serial::<CasRegister>().await,
            Act::ListAppend => self.serial::<ListAppend>().await,
            Act::WrRegister => self.serial::<WrRegister>().await,
            Act::Truncate => unreachable!("it is no request beside others"),
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn now(&self) -> u64 {
        self.runtime.now().as_nanos()
    }

    fn key(&self) -> Key {
        Key { partition: self.below(self.work.partitions) as i32, clustering: self.below(CLUSTERINGS) as i64 }
    }

    /// The place of an entry of a map.
    fn entry(&self) -> Key {
        let Key { partition, clustering } = self.key();
        Key { partition: MAPS_FROM + partition, clustering }
    }

    fn piece(&self) -> i32 {
        PIECES_FROM + self.below(self.work.partitions) as i32
    }

    /// Writes rows with the number of the change: one by a statement of its own, several by a batch.
    async fn insert(&mut self, text: &'static str, rows: Vec<Key>, kind: Option<BatchKind>) {
        let partitions: BTreeSet<i32> = rows.iter().map(|key| key.partition).collect();
        let is_logged = kind == Some(BatchKind::Logged) && partitions.len() > 1;
        let extent = Extent::Rows(rows.clone().into());
        let send = async |client: &mut Client, number: u64| {
            let statements: Vec<Statement> = rows.iter().map(|key| insert(text, *key, number)).collect();
            match (statements.as_slice(), kind) {
                ([one], None) => client.run(one, Some(timestamp(number))).await.map(drop),
                (several, kind) => {
                    let kind = kind.unwrap_or(BatchKind::Unlogged);
                    client.batch(kind, several, Some(timestamp(number))).await
                }
            }
        };
        self.change(extent, Effect::Write, is_logged, send).await;
    }

    /// Rows of several partitions, none of them twice.
    async fn write_logged(&mut self) {
        let count = 2 + self.below(4);
        let has_maps = self.work.has(Act::PutEntry);
        let any = |_| if has_maps && self.below(2) == 0 { self.entry() } else { self.key() };
        let rows: BTreeMap<i32, Key> = (0..count).map(any).map(|key| (key.partition, key)).collect();
        self.insert(INSERT, rows.into_values().collect(), Some(BatchKind::Logged)).await;
    }

    async fn delete(&mut self, extent: Extent, statement: Statement) {
        let send =
            async |client: &mut Client, number: u64| client.run(&statement, Some(timestamp(number))).await.map(drop);
        self.change(extent, Effect::Delete, false, send).await;
    }

    async fn change(
        &mut self,
        extent: Extent,
        effect: Effect,
        is_logged: bool,
        send: impl AsyncFnOnce(&mut Client, u64) -> Result<(), ClientError>,
    ) {
        let Some(mut connected) = self.connect(self.work.writes).await else { return };
        let change = Change::of(extent, effect, connected.reach.clone(), connected.node, self.now());
        let number = self.history.borrow_mut().begin(Change { is_logged, ..change });
        let answer = self.runtime.timeout(PATIENCE, send(&mut connected.client, number)).await;
        let answer = self.answered(answer.ok(), connected);
        let now = self.now();
        let change = &mut self.history.borrow_mut().changes[number as usize];
        match answer {
            Answered::Done(()) => (change.acknowledged, change.ended) = (Some(now), Some(now)),
            Answered::Nothing => (change.is_void, change.ended) = (true, Some(now)),
            Answered::Failed => change.ended = Some(now),
            Answered::Never => {}
        }
    }

    /// Takes note of an answer, and keeps the connection if it is good for more.
    fn answered<T>(&mut self, answer: Option<Result<T, ClientError>>, connected: Connected) -> Answered<T> {
        let mut history = self.history.borrow_mut();
        let (node, client) = (connected.node, connected.client);
        let (name, ended) = match answer {
            Some(Ok(result)) => {
                self.connections[node] = Some(client);
                return Answered::Done(result);
            }
            Some(Err(ClientError::Refused(error))) => {
                self.connections[node] = Some(client);
                let is_nothing = error.code() == ErrorCode::Unavailable || promises_nothing(&error.message);
                let ended = if is_nothing { Answered::Nothing } else { Answered::Failed };
                (format!("{:?}", error.code()), ended)
            }
            Some(Err(ClientError::Malformed(what))) => {
                history.violations.push(what);
                return Answered::Never;
            }
            Some(Err(ClientError::Connection(_) | ClientError::Closed)) => {
                ("connection ended".to_owned(), Answered::Never)
            }
            None => ("no answer".to_owned(), Answered::Never),
        };
        *history.refused.entry(name).or_default() += 1;
        ended
    }

    /// Reads a partition: whole, by pages, backwards, or its beginning.
    async fn read(&mut self) {
        let partition = self.key().partition;
        let kind = self.below(4);
        let text = [SELECT_PARTITION, SELECT_PARTITION, SELECT_BACKWARDS, SELECT_LIMITED][kind as usize];
        let page = if kind == 0 { 1000 } else { 1 + self.below(6) as i32 };
        let statement = Statement { text, values: vec![partition.to_be_bytes().to_vec()] };
        let Some((rows, seen)) = self.ask_rows(&statement, page).await else { return };
        let mut history = self.history.borrow_mut();
        // The rows after the last one of a limited read were not asked for.
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
        let repaired = seen.reach.clone();
        judge(&mut history, &seen, |key| key.partition == partition && key.clustering <= last, Some(repaired));
    }

    /// Reads everything but pieces, page by page. Without a repair one replica has what it shows.
    async fn scan(&mut self) {
        let statement = Statement { text: SELECT_SOME, values: Vec::new() };
        let page = 1 + self.below(40) as i32;
        let Some((rows, seen)) = self.ask_rows(&statement, page).await else { return };
        let mut history = self.history.borrow_mut();
        if rows.len() != seen.rows.len() {
            history.violations.push(format!("a scan gave {} rows, of which some twice", rows.len()));
        }
        let repaired = match self.work.scans_repair {
            true => Some(seen.reach.clone()),
            false => history.reach_without_repair(),
        };
        judge(&mut history, &seen, |key| key.partition < PIECES_FROM, repaired);
    }

    async fn read_piece(&mut self) {
        let partition = self.piece();
        let statement = Statement { text: SELECT_PIECE, values: vec![partition.to_be_bytes().to_vec()] };
        let Some((_, seen)) = self.ask_rows(&statement, 1000).await else { return };
        let mut history = self.history.borrow_mut();
        judge_piece(&mut history, &seen, partition);
        let repaired = history.reach_without_repair();
        judge(&mut history, &seen, |key| key.partition == partition, repaired);
    }

    async fn read_map(&mut self) {
        let partition = self.entry().partition;
        let statement = Statement { text: SELECT_MAP, values: vec![partition.to_be_bytes().to_vec()] };
        let Some((_, seen)) = self.ask(&statement, 1, |rows| read_map(partition, rows)).await else { return };
        let mut history = self.history.borrow_mut();
        let repaired = seen.reach.clone();
        judge(&mut history, &seen, |key| key.partition == partition, Some(repaired));
    }

    async fn ask_rows(&mut self, statement: &Statement, page: i32) -> Option<(Vec<(Key, u64)>, Seen)> {
        self.ask(statement, page, |rows| rows.iter().map(read_row).collect()).await
    }

    async fn ask(
        &mut self,
        statement: &Statement,
        page: i32,
        read: impl Fn(&[Row]) -> Result<Vec<(Key, u64)>, String>,
    ) -> Option<(Vec<(Key, u64)>, Seen)> {
        let mut connected = self.connect(self.work.reads).await?;
        let (start, reach, level) = (self.now(), connected.reach.clone(), format!("{:?}", connected.level));
        let answer = self.runtime.timeout(PATIENCE, connected.client.pages(statement, page)).await;
        let end = self.now();
        let Answered::Done(rows) = self.answered(answer.ok(), connected) else { return None };
        match read(&rows) {
            Ok(rows) => {
                let by_key = rows.iter().copied().collect();
                Some((rows, Seen { start, end, reach, level, rows: by_key }))
            }
            Err(what) => {
                self.history.borrow_mut().violations.push(what);
                None
            }
        }
    }

    /// Adds to one counter, or to several by a counter batch, perhaps to one of them twice.
    async fn add(&mut self) {
        let count = if self.below(4) == 0 { 2 + self.below(3) } else { 1 };
        let Some(mut connected) = self.connect(self.work.writes).await else { return };
        let (mut numbers, mut statements) = (Vec::new(), Vec::new());
        let start = self.now();
        let open_max = if self.history.borrow().healed.is_some() { OPEN_MAX } else { OPEN_IN_TROUBLES_MAX };
        for _ in 0..count {
            let place = self.place();
            let amount = amount(&mut |bound| self.below(bound));
            let begun = self.history.borrow_mut().sums.begin(place, amount, connected.reach.clone(), start, open_max);
            let Some(number) = begun else { continue };
            numbers.push(number);
            let (partition, row) = place;
            let values =
                vec![amount.to_be_bytes().to_vec(), partition.to_be_bytes().to_vec(), row.to_be_bytes().to_vec()];
            statements.push(Statement { text: UPDATE, values });
        }
        if statements.is_empty() {
            self.connections[connected.node] = Some(connected.client);
            return;
        }
        let send = async |client: &mut Client| match statements.as_slice() {
            [one] => client.run(one, None).await.map(drop),
            several => client.batch(BatchKind::Counter, several, None).await,
        };
        let answer = self.runtime.timeout(PATIENCE, send(&mut connected.client)).await;
        let answer = self.answered(answer.ok(), connected);
        let now = self.now();
        let sums = &mut self.history.borrow_mut().sums.all;
        for number in numbers {
            match answer {
                Answered::Done(()) => sums[number].acknowledged = Some(now),
                Answered::Nothing => sums[number].is_void = true,
                Answered::Failed | Answered::Never => {}
            }
        }
    }

    fn place(&self) -> Place {
        (self.below(self.work.partitions) as i32, self.below(COUNTERS) as i32)
    }

    async fn count(&mut self) {
        let place = self.place();
        let Some(mut connected) = self.connect(self.work.reads).await else { return };
        let (start, reach) = (self.now(), connected.reach.clone());
        let values = vec![place.0.to_be_bytes().to_vec(), place.1.to_be_bytes().to_vec()];
        let statement = Statement { text: SELECT_COUNT, values };
        let answer = self.runtime.timeout(PATIENCE, connected.client.run(&statement, None)).await;
        let end = self.now();
        let Answered::Done(rows) = self.answered(answer.ok(), connected) else { return };
        let mut history = self.history.borrow_mut();
        match rows.first().map(read_count).transpose() {
            Ok(found) => {
                let count = found.map_or(0, |(_, count)| count);
                judge_count(&mut history, &CountSeen { place, start, end, reach, count });
            }
            Err(what) => history.violations.push(what),
        }
    }

    /// A conditional statement, or a read at a serial level.
    async fn serial<W: Kept>(&mut self) {
        let partition = self.below(self.work.partitions) as i32;
        let datacenters = self.history.borrow().factors.len();
        let home = home_of(partition, datacenters);
        let Some(mut connected) = self.connect_within(self.work.writes, home).await else { return };
        let asked = self.history.borrow_mut().serial.choose::<W>(partition, &mut |bound| self.below(bound));
        let serial = serial_level(partition, datacenters, self.runtime.random_u64());
        set_levels(&mut connected.client, W::is_read(&asked), serial, connected.level);
        let start = self.now();
        let ticket = W::of(&mut self.history.borrow_mut().serial).history.begin(partition, asked.clone(), start);
        let request = W::request(&asked, partition);
        let running = connected.client.run(&request.statement, None);
        let answer = self.runtime.timeout(PATIENCE, running).await.ok();
        let end = self.now();
        if let Some(Err(error)) = &answer {
            note_refusal(&mut self.history.borrow_mut(), error);
        }
        let rows = match self.answered(answer, connected) {
            Answered::Done(rows) => Answer::Told(end, rows),
            Answered::Nothing => Answer::Void,
            Answered::Failed | Answered::Never => Answer::Unknown,
        };
        note_end::<W>(&mut self.history.borrow_mut(), (ticket, partition, &asked), &rows);
    }

    /// Truncates; alone, if the work says so.
    async fn truncate(&mut self) {
        if self.work.gates_truncate {
            self.history.borrow_mut().is_gated = true;
            while self.history.borrow().in_flight > 0 {
                self.runtime.sleep(AGAIN).await;
            }
            self.runtime.sleep(QUIET).await;
        }
        if let Some(mut connected) = self.connect(&[Consistency::One]).await {
            let number = {
                let truncations = &mut self.history.borrow_mut().truncations;
                truncations.push(Truncation { start: self.now(), end: TruncateEnd::Open });
                truncations.len() - 1
            };
            let truncating = connected.client.change("TRUNCATE ring.rows");
            let answer = self.runtime.timeout(TRUNCATE_PATIENCE, truncating).await;
            let answer = self.answered(answer.ok(), connected);
            let now = self.now();
            self.history.borrow_mut().truncations[number].end = match answer {
                Answered::Done(_) => TruncateEnd::Done(now),
                Answered::Nothing => TruncateEnd::Void,
                Answered::Failed | Answered::Never => TruncateEnd::Unknown(now),
            };
        }
        self.history.borrow_mut().is_gated = false;
    }

    /// A connection to any node, at one of these levels; none if it does not answer now.
    async fn connect(&mut self, levels: &[Consistency]) -> Option<Connected> {
        self.connect_within(levels, None).await
    }

    /// The same to any node of a datacenter.
    async fn connect_within(&mut self, levels: &[Consistency], datacenter: Option<usize>) -> Option<Connected> {
        let is_there = |node: &usize| datacenter.is_none_or(|of| self.targets[*node].datacenter == of);
        let is_asked = |node: &usize| !self.history.borrow().without.contains(node);
        let nodes: Vec<usize> = (0..self.targets.len()).filter(is_there).filter(is_asked).collect();
        let node = nodes[self.below(nodes.len() as u64) as usize];
        let level = levels[self.below(levels.len() as u64) as usize];
        let target = self.targets[node];
        let client = match self.connections[node].take() {
            Some(client) => Some(client),
            None => {
                let connecting = Client::connect(&self.runtime, target.address);
                self.runtime.timeout(PATIENCE, connecting).await.ok().and_then(Result::ok)
            }
        };
        let Some(mut client) = client else {
            let rest = self.below(REST_MICROS);
            self.runtime.sleep(Duration::from_micros(rest)).await;
            return None;
        };
        (client.consistency, client.serial_consistency) = (level, None);
        let reach = Reach::of(level, target.datacenter, &self.history.borrow().factors);
        Some(Connected { client, node, level, reach })
    }
}

/// True of the words of a TRUNCATE or a change of the schema that was refused before anything was done.
fn promises_nothing(message: &str) -> bool {
    ["nothing was", "Cannot achieve consistency level ALL"].iter().any(|words| message.contains(words))
}
