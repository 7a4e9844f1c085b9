//! The Rust `scylla` driver on a ring of three nodes that get into troubles. `python/troubles.py` runs the ring, and says when a trouble begins.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::speculative_execution::SimpleSpeculativeExecutionPolicy;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;
use tokio::runtime::Runtime;

use crate::ring::addresses;

const CLIENT: &str = "Rust scylla";
const WORKERS: i32 = 8;
const LANES: i32 = 16;
/// Each worker writes and reads so often at most.
const PERIOD: Duration = Duration::from_millis(80);
const SPECULATION: Duration = Duration::from_millis(50);

/// A row: its lane and its number.
type Key = (i32, i32);

/// Sums and longest times since the last trouble began.
struct Seen {
    requests: u64,
    failures: u64,
    gap: Duration,
    slowest: Duration,
    last: Instant,
    /// Failed requests and acknowledged rows that were not read, of all troubles.
    wrong: Vec<String>,
}

impl Seen {
    fn note(&mut self, began: Instant, error: Option<String>) {
        let now = Instant::now();
        self.requests += 1;
        self.slowest = self.slowest.max(now - began);
        if let Some(error) = error {
            self.failures += 1;
            self.wrong.push(error);
            return;
        }
        self.gap = self.gap.max(now - self.last);
        self.last = now;
    }

    /// Ends one trouble's row, and begins another.
    fn turn(&mut self) -> String {
        let gap = self.gap.max(self.last.elapsed());
        let millis = |time: Duration| time.as_secs_f64() * 1000.0;
        let row = format!("{} {} {:.2} {:.2}", self.requests, self.failures, millis(gap), millis(self.slowest));
        let wrong = std::mem::take(&mut self.wrong);
        *self = Seen { wrong, ..Seen::default() };
        row
    }
}

impl Default for Seen {
    fn default() -> Seen {
        let (gap, slowest) = (Duration::ZERO, Duration::ZERO);
        Seen { requests: 0, failures: 0, gap, slowest, last: Instant::now(), wrong: Vec::new() }
    }
}

/// A session, its statements, and the figures of its workers.
struct Client {
    session: Session,
    write: PreparedStatement,
    read: PreparedStatement,
    lane: PreparedStatement,
    seen: Mutex<Seen>,
    is_over: AtomicBool,
}

impl Client {
    async fn connect() -> Client {
        let speculation = SimpleSpeculativeExecutionPolicy { max_retry_count: 1, retry_interval: SPECULATION };
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::Quorum)
            .request_timeout(Some(Duration::from_secs(30)))
            .speculative_execution_policy(Some(Arc::new(speculation)))
            .build();
        let known = SessionBuilder::new().known_nodes_addr(addresses());
        let session = known.default_execution_profile_handle(profile.into_handle()).build().await.expect("all are up");
        let prepare = async |text: &str| {
            let mut statement = session.prepare(text).await.unwrap_or_else(|error| panic!("{text}: {error}"));
            statement.set_is_idempotent(true);
            statement
        };
        let write = prepare("INSERT INTO troubles.kept (client, lane, number) VALUES (?, ?, ?)").await;
        let read = prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ? AND number = ?").await;
        let lane = prepare("SELECT number FROM troubles.kept WHERE client = ? AND lane = ?").await;
        Client { session, write, read, lane, seen: Mutex::default(), is_over: AtomicBool::new(false) }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().expect("no worker panics")
    }

    /// The count of rows; `None` where the request failed.
    async fn ask(&self, statement: &PreparedStatement, (lane, number): Key) -> Option<usize> {
        let began = Instant::now();
        let answer = self.session.execute_unpaged(statement, (CLIENT, lane, number)).await;
        self.seen().note(began, answer.as_ref().err().map(ToString::to_string));
        Some(answer.ok()?.into_rows_result().map_or(0, |rows| rows.rows_num()))
    }

    /// Writes rows and reads earlier ones until it is over. The rows that were acknowledged.
    async fn work(&self, worker: i32) -> Vec<Key> {
        let mut kept = Vec::new();
        for number in 0.. {
            if self.is_over.load(Ordering::Acquire) {
                break;
            }
            let next = Instant::now() + PERIOD;
            let key = (worker * LANES + number % LANES, number);
            if self.ask(&self.write, key).await.is_some() {
                kept.push(key);
            }
            if let Some(earlier) = kept.get(number as usize % kept.len().max(1))
                && self.ask(&self.read, *earlier).await == Some(0)
            {
                self.seen().wrong.push(format!("row {earlier:?} was acknowledged and is not read"));
            }
            tokio::time::sleep_until(next.into()).await;
        }
        kept
    }

    /// The rows that QUORUM reads.
    async fn read_all(&self) -> BTreeSet<Key> {
        let mut there = BTreeSet::new();
        for lane in 0..WORKERS * LANES {
            let answer = self.session.execute_unpaged(&self.lane, (CLIENT, lane)).await.expect("all are up");
            let rows = answer.into_rows_result().expect("rows");
            there.extend(rows.rows::<(i32,)>().expect("numbers").map(|row| (lane, row.expect("a number").0)));
        }
        there
    }
}

#[test]
#[ignore = "needs a ring of three nodes in troubles, which `cargo xtask drivers` starts"]
fn no_idempotent_request_fails() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let client = Arc::new(runtime.block_on(Client::connect()));
    let address = std::env::var("HELENUS_RING_COMMANDS").expect("`cargo xtask drivers` names it");
    let mut ring = UnixStream::connect(address).expect("the ring runs");
    writeln!(ring, "join {CLIENT}").expect("the ring runs");
    let kept = work_through_troubles(&runtime, &client, &ring);
    let there = runtime.block_on(client.read_all());
    let lost: Vec<_> = kept.iter().filter(|key| !there.contains(*key)).collect();
    let verdict = if lost.is_empty() { format!("kept {}", kept.len()) } else { format!("lost {}", lost.len()) };
    writeln!(ring, "{verdict}").expect("the ring runs");
    assert!(lost.is_empty(), "{} of {} acknowledged rows are lost: {lost:?}", lost.len(), kept.len());
    let wrong = std::mem::take(&mut client.seen().wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Runs the workers from the first line of the ring to its last; the rows that were acknowledged.
fn work_through_troubles(runtime: &Runtime, client: &Arc<Client>, mut ring: &UnixStream) -> Vec<Key> {
    let (mut trouble, mut workers) = (None, Vec::new());
    for line in BufReader::new(ring).lines() {
        let line = line.expect("the ring runs");
        let row = client.seen().turn();
        match trouble {
            None => workers.extend((0..WORKERS).map(|worker| {
                let client = Arc::clone(client);
                runtime.spawn(async move { client.work(worker).await })
            })),
            Some(trouble) => writeln!(ring, "row {trouble} {row}").expect("the ring runs"),
        }
        if line == "end" {
            break;
        }
        trouble = line.strip_prefix("begin ").map(str::to_owned);
    }
    client.is_over.store(true, Ordering::Release);
    workers.into_iter().flat_map(|worker| runtime.block_on(worker).expect("no worker panics")).collect()
}
