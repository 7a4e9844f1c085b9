//! Steps that sequences have in common: nodes are started and ended, changed and looked at, and what they log is kept.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use admin::{Answer, Question};
use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::{Ended, HostId, Keep, Link, Started, World};
use runtime::{Instant, Runtime};
use tracing_subscriber::fmt::MakeWriter;

use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::NodeOptions;
use crate::fault::any_keep;
use crate::group_site::GroupSite;
use crate::site::Site;

/// The longest until a node is ready in a cluster in which nothing is wrong.
const READY_AT_MOST: Duration = Duration::from_secs(120);
/// The longest that one question may take: a node gives a change up after 10 s, and waits 10 s for others to apply one.
const ANSWER_AT_MOST: Duration = Duration::from_secs(40);
/// Between two looks.
const AGAIN: Duration = Duration::from_millis(200);
/// Time in which the nodes of a small cluster all become voters.
const VOTERS_CHANGE: Duration = Duration::from_secs(5);
const PAGE_ROWS: i32 = 500;

/// The answer to a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// Done.
    Done,
    /// Refused, with the promise that nothing was changed.
    NothingDone(String),
    /// None, or one that promises nothing.
    Unknown(String),
}

/// A question on its way.
pub(super) type Asking<T> = Started<T>;

/// A cluster on the course of a sequence.
pub(super) struct Course {
    pub(super) site: GroupSite,
    pub(super) violations: Vec<String>,
    random: u64,
    lines: Lines,
}

/// Runs a course, and keeps what its nodes log.
pub(super) fn run(
    (seed, planted): (u64, Planted),
    shape: &[usize],
    steps: impl FnOnce(&mut Course) -> Result<(), String>,
) -> Result<Vec<String>, String> {
    run_with(seed, NodeOptions { planted, ..NodeOptions::default() }, shape, steps)
}

/// [`run`], of nodes with these options.
pub(super) fn run_with(
    seed: u64,
    options: NodeOptions,
    shape: &[usize],
    steps: impl FnOnce(&mut Course) -> Result<(), String>,
) -> Result<Vec<String>, String> {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .with_ansi(false)
        .without_time()
        .with_writer(lines.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let site = GroupSite::new(seed, shape, 1, options);
        let mut course = Course { site, violations: Vec::new(), random: seed, lines };
        steps(&mut course)?;
        Ok(course.violations)
    })
}

impl Course {
    /// A number of the seed below `bound`: SplitMix64.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    pub(super) fn host(&self, node: usize) -> HostId {
        self.site.nodes()[node]
    }

    pub(super) fn now(&mut self) -> Instant {
        self.site.world().now()
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        self.site.world().run_for(time);
    }

    /// Lines of all nodes so far that have all these words.
    pub(super) fn said(&self, words: &[&str]) -> Vec<String> {
        let bytes = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&bytes);
        let has_all = |line: &&str| words.iter().all(|word| line.contains(word));
        text.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Runs until a node says these words from now on. False if none does in time.
    pub(super) fn run_until_said(&mut self, words: &str, at_most: Duration) -> bool {
        let lines = self.lines.clone();
        let length = || lines.0.lock().unwrap_or_else(PoisonError::into_inner).len();
        let mut looked = length();
        let is_said = |_: &mut World<'static>| {
            let from = std::mem::replace(&mut looked, length());
            let bytes = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
            from < bytes.len() && String::from_utf8_lossy(&bytes[from..]).contains(words)
        };
        self.site.world().run_until(is_said, at_most) == Ended::Condition
    }

    /// Notes a violation unless it is so.
    pub(super) fn must(&mut self, is_so: bool, what: impl FnOnce() -> String) {
        if !is_so {
            self.violations.push(what());
        }
    }

    pub(super) fn start(&mut self, nodes: &[usize]) {
        nodes.iter().for_each(|node| self.site.begin_start(*node));
    }

    /// Cuts the power of a node, which stays off.
    pub(super) fn cut_power(&mut self, node: usize) {
        let (host, keep): (HostId, Keep) = (self.host(node), any_keep(self.below(u64::MAX)));
        self.site.world().crash(host, keep);
    }

    /// Waits until all of them are ready.
    pub(super) fn ready(&mut self, nodes: &[usize], when: &str) -> Result<(), String> {
        let deadline = self.now() + READY_AT_MOST;
        while let Some(late) = nodes.iter().copied().find(|node| !self.site.is_ready(*node)) {
            if let Some(sentence) = self.site.take_refusal(late) {
                return Err(format!("{when} node {late} has ended by itself: {sentence}"));
            }
            if self.now() >= deadline {
                return Err(format!("{when} node {late} is not ready within {READY_AT_MOST:?}"));
            }
            self.run_for(AGAIN);
        }
        Ok(())
    }

    /// The sentence with which a node ends by itself within that time.
    pub(super) fn refusal(&mut self, node: usize, within: Duration) -> Option<String> {
        let deadline = self.now() + within;
        while self.now() < deadline && !self.site.is_ready(node) {
            if let Some(sentence) = self.site.take_refusal(node) {
                return Some(sentence);
            }
            self.run_for(AGAIN);
        }
        None
    }

    /// Starts all nodes as one cluster, which the first one founds and leads, and in which up to five nodes vote.
    pub(super) fn form(&mut self) -> Result<(), String> {
        let all: Vec<usize> = (0..self.site.nodes().len()).collect();
        self.form_of(&all)
    }

    /// The same of some nodes, the first of which is the first.
    pub(super) fn form_of(&mut self, nodes: &[usize]) -> Result<(), String> {
        nodes.iter().for_each(|node| self.site.set_seeds(*node, &[0]));
        self.start(nodes);
        self.ready(nodes, "at the beginning")?;
        self.run_for(VOTERS_CHANGE);
        Ok(())
    }

    /// Starts a node that joins by these members.
    pub(super) fn join(&mut self, node: usize, seeds: &[usize]) {
        self.site.set_seeds(node, seeds);
        self.start(&[node]);
    }

    /// Waits until these nodes know of no operation.
    pub(super) fn rest(&mut self, nodes: &[usize]) -> Result<(), String> {
        let deadline = self.now() + READY_AT_MOST;
        for node in nodes {
            loop {
                let answer = self.site.ask(*node, Question::Operations, ANSWER_AT_MOST);
                match answer {
                    Some(Answer::Operations(facts)) if facts.operations.is_empty() => break,
                    answer if self.now() >= deadline => {
                        return Err(format!("node {node} is not at rest: {answer:?}"));
                    }
                    _ => self.run_for(AGAIN),
                }
            }
        }
        Ok(())
    }

    /// Sets the links between two sets of nodes, in both directions.
    pub(super) fn link(&mut self, some: &[usize], others: &[usize], link: Link) {
        let pairs = some.iter().flat_map(|one| others.iter().map(move |other| (*one, *other)));
        for (one, other) in pairs.filter(|(one, other)| one != other) {
            self.link_to(one, other, link);
            self.link_to(other, one, link);
        }
    }

    /// Sets the link from one node to another.
    pub(super) fn link_to(&mut self, from: usize, to: usize, link: Link) {
        let (from, to) = (self.host(from), self.host(to));
        self.site.world().set_link(from, to, link);
    }

    /// Begins a question of a client.
    pub(super) fn begin<T: 'static, Fut: Future<Output = T> + 'static>(
        &mut self,
        main: impl FnOnce(Runtime) -> Fut,
    ) -> Asking<T> {
        let clients = self.site.clients();
        self.site.world().start(clients, false, vec![main])
    }

    /// The answer to a question; `None` if it takes too long.
    pub(super) fn answer<T>(&mut self, asking: &Asking<T>) -> Option<T> {
        self.site.world().run_until(|_| asking.is_over(), ANSWER_AT_MOST);
        asking.take_outputs().and_then(|mut outputs| outputs.pop())
    }

    /// Begins a change through a node.
    pub(super) fn begin_change(&mut self, node: usize, text: &str) -> Asking<Result<(), ClientError>> {
        let (address, text) = (self.site.native_address(node), text.to_owned());
        self.begin(async move |runtime: Runtime| {
            Client::connect(&runtime, address).await?.change(&text).await.map(drop)
        })
    }

    /// The meaning of the answer to a change.
    pub(super) fn told(&mut self, asking: &Asking<Result<(), ClientError>>) -> Told {
        match self.answer(asking) {
            Some(Ok(())) => Told::Done,
            Some(Err(ClientError::Refused(error))) => {
                let promises = ["nothing was", "Cannot achieve consistency level ALL"];
                let sentence = format!("{:?}: {}", error.code(), error.message);
                match promises.iter().any(|words| sentence.contains(words)) {
                    true => Told::NothingDone(sentence),
                    false => Told::Unknown(sentence),
                }
            }
            Some(Err(error)) => Told::Unknown(error.to_string()),
            None => Told::Unknown("no answer".to_owned()),
        }
    }

    /// Makes a change through a node.
    pub(super) fn change(&mut self, node: usize, text: &str) -> Told {
        let asking = self.begin_change(node, text);
        self.told(&asking)
    }

    /// Makes a change that must work, in some tries: a leader may have to be elected first. It may be made twice.
    pub(super) fn change_works(&mut self, node: usize, text: &str, when: &str) -> Result<(), String> {
        let deadline = self.now() + READY_AT_MOST;
        loop {
            match self.change(node, text) {
                Told::Done => return Ok(()),
                told if self.now() >= deadline => {
                    return Err(format!("{when} node {node} does not do {text}: {told:?}"));
                }
                _ => self.run_for(AGAIN),
            }
        }
    }

    /// The first column of a node's answer, as text or as a number.
    pub(super) fn names(&mut self, node: usize, text: &'static str) -> Result<BTreeSet<String>, String> {
        let address = self.site.native_address(node);
        let asking = self.begin(async move |runtime: Runtime| -> Result<Vec<Row>, ClientError> {
            Client::connect(&runtime, address).await?.rows(text, PAGE_ROWS).await
        });
        let rows = match self.answer(&asking) {
            Some(Ok(rows)) => rows,
            Some(Err(error)) => return Err(format!("node {node} does not answer {text}: {error}")),
            None => return Err(format!("node {node} does not answer {text} in time")),
        };
        let first = |row: Row| row.into_iter().next().flatten().unwrap_or_default();
        Ok(rows.into_iter().map(first).map(|bytes| shown(&bytes)).collect())
    }

    /// Writes rows with these keys through a node, at that level. In some tries: connections of a node that has just started have to be made first.
    pub(super) fn write(&mut self, node: usize, level: Consistency, keys: &[i32]) -> Result<(), String> {
        let statements: Vec<Statement> = keys.iter().map(|key| insert(*key)).collect();
        self.run_at(node, level, &statements)
    }

    /// Runs statements through a node, at that level, in some tries.
    pub(super) fn run_at(&mut self, node: usize, level: Consistency, statements: &[Statement]) -> Result<(), String> {
        let deadline = self.now() + READY_AT_MOST;
        loop {
            let (address, statements) = (self.site.native_address(node), statements.to_vec());
            let asking = self.begin(async move |runtime: Runtime| -> Result<(), ClientError> {
                let mut client = Client::connect(&runtime, address).await?;
                client.consistency = level;
                for statement in statements {
                    client.run(&statement, None).await?;
                }
                Ok(())
            });
            match self.answer(&asking) {
                Some(Ok(())) => return Ok(()),
                answer if self.now() >= deadline => {
                    return Err(format!("node {node} does not write at {level:?}: {answer:?}"));
                }
                _ => self.run_for(AGAIN),
            }
        }
    }

    /// The rows that a node gives at a level, in some tries.
    pub(super) fn rows_at(&mut self, node: usize, level: Consistency, text: &'static str) -> Result<Vec<Row>, String> {
        let deadline = self.now() + READY_AT_MOST;
        loop {
            let address = self.site.native_address(node);
            let asking = self.begin(async move |runtime: Runtime| -> Result<Vec<Row>, ClientError> {
                let mut client = Client::connect(&runtime, address).await?;
                client.consistency = level;
                client.execute(text).await
            });
            match self.answer(&asking) {
                Some(Ok(rows)) => return Ok(rows),
                answer if self.now() >= deadline => {
                    return Err(format!("node {node} does not answer {text} at {level:?}: {answer:?}"));
                }
                _ => self.run_for(AGAIN),
            }
        }
    }

    /// Waits until each of the nodes gives these names. Otherwise that is a violation.
    pub(super) fn all_give(&mut self, nodes: &[usize], text: &'static str, names: &BTreeSet<String>, when: &str) {
        let deadline = self.now() + READY_AT_MOST;
        for node in nodes {
            loop {
                let given = self.names(*node, text);
                if given.as_ref() == Ok(names) {
                    break;
                }
                if self.now() >= deadline {
                    self.violations.push(format!("{when} node {node} gives {given:?} to {text}, not {names:?}"));
                    break;
                }
                self.run_for(AGAIN);
            }
        }
    }
}

/// A row of the table that sequences write to.
pub(super) fn insert(key: i32) -> Statement {
    Statement { text: "INSERT INTO s.t (k, v) VALUES (?, 0)", values: vec![key.to_be_bytes().to_vec()] }
}

/// Keys of that table.
pub(super) const KEYS: &str = "SELECT k FROM s.t";
/// Tables of its keyspace.
pub(super) const TABLES: &str = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 's'";
/// All keyspaces.
pub(super) const KEYSPACES: &str = "SELECT keyspace_name FROM system_schema.keyspaces";

/// CREATE KEYSPACE, which may be sent again.
pub(super) fn create_keyspace(name: &str, replicas: usize) -> String {
    format!(
        "CREATE KEYSPACE IF NOT EXISTS {name} WITH replication = \
         {{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    )
}

/// CREATE TABLE in the keyspace of sequences, which may be sent again.
pub(super) fn create_table(name: &str) -> String {
    format!("CREATE TABLE IF NOT EXISTS s.{name} (k int PRIMARY KEY, v int)")
}

/// Keys as [`Course::names`] gives them.
pub(super) fn keys(all: impl IntoIterator<Item = i32>) -> BTreeSet<String> {
    all.into_iter().map(|key| shown(&key.to_be_bytes())).collect()
}

/// Names as it gives them.
pub(super) fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

fn shown(bytes: &[u8]) -> String {
    match bytes {
        _ if !bytes.is_empty() && bytes.iter().all(|byte| (32..127).contains(byte)) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        [a, b, c, d] => i32::from_be_bytes([*a, *b, *c, *d]).to_string(),
        _ => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

/// The lines of all nodes.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        self.clone()
    }
}
