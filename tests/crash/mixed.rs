//! A load of writes, deletions, rows that expire and reads over tables of each compaction strategy, on a server with so little memory that it
//! flushes and compacts all the time, cut by SIGKILL again and again. `gc_grace_seconds` is 0: what a compaction drops too early comes back.
//!
//! Each key is written by one task alone, with rising versions; what a version does to its row follows from its number. So a row must be what
//! the last acknowledged version left, or one of those that were under way when the server was killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use helenus_tests::{Builder, Random, Server, configurations, http, pick, resident_bytes};
use scylla::client::session::Session;
use scylla::statement::prepared::PreparedStatement;

use super::load::connect;

const TASKS: i32 = 20;
const KEYS: i32 = 100;
const FILLING_BYTES: usize = 1000;
const TTL_SECONDS: u64 = 1;
/// A table's name, its strategy, and its key.
const TABLES: [(&str, &str, &str); 4] = [
    ("tiered", "SizeTieredCompactionStrategy", "task, key"),
    ("leveled", "LeveledCompactionStrategy", "(task, key)"),
    ("windows", "TimeWindowCompactionStrategy", "task, key"),
    ("unified", "UnifiedCompactionStrategy", "(task, key)"),
];
/// Little memory, and a short log.
const CONFIGURATION: &str = "memtable_heap_space: 16MiB\ncommitlog_total_space: 64MiB\ncommitlog_segment_size: 8MiB\n";
const MEMORY: &str = "256M";
/// What the process may hold beyond that: code, stacks, the kernel's buffers.
const RESIDENT_MAX: u64 = (256 + 96) << 20;
/// What lies on the disk: 8 MiB of rows, what compactions have not merged yet, and the log, twice over.
const DISK_BYTES_MAX: u64 = 512 << 20;
const FILES_MAX: usize = 4000;
const SETTLE_MAX: Duration = Duration::from_secs(60);

/// What a version does to its row.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Insert,
    /// An INSERT that lives for [`TTL_SECONDS`].
    Expiring,
    Delete,
}

fn kind(task: i32, key: i32, version: i64) -> Kind {
    let seed = (i64::from(task) << 40) ^ (i64::from(key) << 24) ^ version;
    match Random::new(seed.cast_unsigned()).below(100) {
        0..15 => Kind::Delete,
        15..25 => Kind::Expiring,
        _ => Kind::Insert,
    }
}

fn filling(task: i32, key: i32, version: i64) -> Vec<u8> {
    let mut bytes = Random::new((i64::from(task) << 32 ^ i64::from(key) ^ version << 8).cast_unsigned()).bytes(64);
    bytes.resize(FILLING_BYTES, version.to_le_bytes()[0]);
    bytes
}

/// The versions of one key.
#[derive(Clone, Copy, Debug, Default)]
struct Versions {
    acknowledged: i64,
    sent: i64,
}

impl Versions {
    /// Whether a row may have this version, or be missing.
    fn allow(self, (task, key): (i32, i32), found: Option<i64>) -> bool {
        (self.acknowledged..=self.sent).any(|version| match (version, kind(task, key, version)) {
            (0, _) | (_, Kind::Delete) => found.is_none(),
            (_, Kind::Insert) => found == Some(version),
            (_, Kind::Expiring) => found.is_none() || found == Some(version),
        })
    }
}

/// What one task knows of its keys in one table.
type Known = BTreeMap<(i32, i32), Versions>;

/// What a task asks.
struct Statements {
    insert: PreparedStatement,
    expiring: PreparedStatement,
    delete: PreparedStatement,
    select: PreparedStatement,
}

impl Statements {
    /// An error if the server is gone.
    async fn prepare(session: &Session, table: &str) -> Option<Statements> {
        let prepare = async |text: String| session.prepare(text).await.ok();
        let insert = format!("INSERT INTO mixed.{table} (task, key, version, filling) VALUES (?, ?, ?, ?)");
        Some(Statements {
            expiring: prepare(format!("{insert} USING TTL {TTL_SECONDS}")).await?,
            insert: prepare(insert).await?,
            delete: prepare(format!("DELETE FROM mixed.{table} WHERE task = ? AND key = ?")).await?,
            select: prepare(format!("SELECT version, filling FROM mixed.{table} WHERE task = ? AND key = ?")).await?,
        })
    }
}

/// One task's load on one table, until `over`.
async fn load(
    session: Arc<Session>,
    table: usize,
    task: i32,
    mut known: Known,
    over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
) -> Known {
    let Some(ask) = Statements::prepare(&session, TABLES[table].0).await else { return known };
    let mut random = Random::new(done.load(Ordering::Relaxed) << 16 | task.cast_unsigned() as u64);
    while !over.load(Ordering::Relaxed) {
        let key = i32::try_from(random.below(KEYS as usize)).expect("few");
        let versions = known.entry((task, key)).or_default();
        versions.sent += 1;
        let filled = (task, key, versions.sent, filling(task, key, versions.sent));
        let answer = match kind(task, key, versions.sent) {
            Kind::Insert => session.execute_unpaged(&ask.insert, filled).await,
            Kind::Expiring => session.execute_unpaged(&ask.expiring, filled).await,
            Kind::Delete => session.execute_unpaged(&ask.delete, (task, key)).await,
        };
        // An error is no answer: the version may or may not be there.
        if answer.is_ok() {
            versions.acknowledged = versions.sent;
            done.fetch_add(1, Ordering::Relaxed);
        }
        if random.below(4) == 0 {
            let versions = *versions;
            let Ok(answer) = session.execute_unpaged(&ask.select, (task, key)).await else { continue };
            let rows = answer.into_rows_result().expect("rows");
            let row = rows.maybe_first_row::<(i64, Vec<u8>)>().expect("typed");
            judge(TABLES[table].0, (task, key), versions, row);
        }
    }
    known
}

fn judge(table: &str, (task, key): (i32, i32), versions: Versions, row: Option<(i64, Vec<u8>)>) {
    let found = row.as_ref().map(|(version, _)| *version);
    assert!(versions.allow((task, key), found), "{table}: row {task}, {key} has {found:?} after {versions:?}");
    if let Some((version, bytes)) = row {
        assert!(
            bytes == filling(task, key, version),
            "{table}: row {task}, {key} has another filling than {version}'s"
        );
    }
}

/// Compares all rows of a table with what its tasks know.
async fn check(session: &Session, table: usize, known: &[Known]) {
    let name = TABLES[table].0;
    let text = format!("SELECT task, key, version, filling FROM mixed.{name}");
    let statement = scylla::statement::Statement::new(text).with_page_size(1000);
    let mut found: BTreeMap<(i32, i32), (i64, Vec<u8>)> = BTreeMap::new();
    let mut state = scylla::response::PagingState::start();
    loop {
        let (page, next) = session.query_single_page(statement.clone(), &[], state).await.expect("a page");
        for row in page.into_rows_result().expect("rows").rows::<(i32, i32, i64, Vec<u8>)>().expect("typed") {
            let (task, key, version, bytes) = row.expect("a row");
            assert!(found.insert((task, key), (version, bytes)).is_none(), "{name}: row {task}, {key} came twice");
        }
        match next.into_paging_control_flow() {
            std::ops::ControlFlow::Continue(next) => state = next,
            std::ops::ControlFlow::Break(()) => break,
        }
    }
    for (&place, &versions) in known.iter().flatten() {
        judge(name, place, versions, found.remove(&place));
    }
    assert!(found.is_empty(), "{name}: rows that nobody wrote: {:?}", found.keys());
}

/// All that lies below a folder: files, and their bytes.
fn measure(folder: &Path) -> (usize, u64) {
    let mut sum = (0, 0);
    // What a compaction removes meanwhile is not there.
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                let (files, bytes) = measure(&entry.path());
                sum = (sum.0 + files, sum.1 + bytes);
            }
            Ok(metadata) => sum = (sum.0 + 1, sum.1 + metadata.len()),
            Err(_) => {}
        }
    }
    sum
}

/// Waits until compactions have ended, and until no table's folder has more files of data than the table has, nor parts of others.
fn assert_no_orphans(server: &Server, data: &Path) {
    let ask = |method: &str, path: &str| {
        let answer = http(server.api_port, method, path).expect("the server answers operators");
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.body
    };
    ask("POST", "/storage_service/flush");
    let began = Instant::now();
    loop {
        let is_busy = ask("GET", "/compaction_manager/metrics/pending_tasks").trim() != "0"
            || ask("GET", "/compaction_manager/compactions").trim() != "[]";
        let differing: Vec<String> = TABLES
            .iter()
            .filter_map(|(table, ..)| {
                let live = ask("GET", &format!("/column_family/metrics/live_ss_table_count/mixed:{table}"));
                let (files, strays) = generations(data, table);
                let is_right = live.trim() == files.to_string() && strays.is_empty();
                (!is_right).then(|| format!("{table}: {live} live, {files} on the disk, parts of others: {strays:?}"))
            })
            .collect();
        if !is_busy && differing.is_empty() {
            return;
        }
        assert!(began.elapsed() < SETTLE_MAX, "after {SETTLE_MAX:?}, busy: {is_busy}, files: {differing:#?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// How many SSTables a table's folder has, and the files that belong to none of them.
fn generations(data: &Path, table: &str) -> (usize, Vec<String>) {
    let mut names = Vec::new();
    for folder in std::fs::read_dir(data.join("data/mixed")).expect("the keyspace has a folder").flatten() {
        if folder.file_name().to_string_lossy().starts_with(&format!("{table}-")) {
            let files = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
            let files = files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
            names.extend(files.map(|file| file.file_name().to_string_lossy().into_owned()));
        }
    }
    let whole: Vec<String> = names.iter().filter_map(|name| name.strip_suffix("Data.db")).map(str::to_owned).collect();
    let is_stray = |name: &String| !whole.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let strays = names.iter().filter(|name| is_stray(name)).cloned().collect();
    (whole.len(), strays)
}

/// How many compactions have ended since the start, on all shards.
fn compactions(server: &Server) -> u64 {
    let metrics = http(server.api_port, "GET", "/metrics").expect("the server tells metrics").body;
    let of_shards = metrics.lines().filter_map(|line| {
        line.strip_prefix("helenus_compaction_manager_completed_compactions_total{")?
            .split(' ')
            .nth(1)?
            .parse::<f64>()
            .ok()
    });
    of_shards.sum::<f64>() as u64
}

/// The longest wait for a compaction.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a server was like at the end of a round.
struct Seen {
    resident: u64,
    compactions: u64,
}

/// All that is known, by table and task.
type AllKnown = Vec<Vec<Known>>;

async fn create(session: &Session) {
    let keyspace = "CREATE KEYSPACE mixed WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.query_unpaged(keyspace, ()).await.expect("the keyspace is made");
    for (table, strategy, key) in TABLES {
        let text = format!(
            "CREATE TABLE mixed.{table} (task int, key int, version bigint, filling blob, PRIMARY KEY ({key})) \
             WITH gc_grace_seconds = 0 AND compaction = {{'class': '{strategy}'}}"
        );
        session.query_unpaged(text, ()).await.expect("the table is made");
    }
}

/// Ends the tasks of a load when the round ends, also when it fails: else the test would never end.
struct Ending(Arc<AtomicBool>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// All is as it must be; then a load that a kill cuts.
async fn round(
    server: Server,
    known: AllKnown,
    number: usize,
    time: Duration,
    until_compacted: bool,
    done: &Arc<AtomicU64>,
) -> (AllKnown, Seen) {
    let session = connect(&server).await;
    if number == 0 {
        create(&session).await;
    }
    for (table, known) in known.iter().enumerate() {
        check(&session, table, known).await;
    }
    let over = Arc::new(AtomicBool::new(false));
    let ending = Ending(Arc::clone(&over));
    let mut tasks = Vec::new();
    for (table, known) in known.into_iter().enumerate() {
        for (task, known) in (0..).zip(known) {
            let (session, over, done) = (Arc::clone(&session), Arc::clone(&over), Arc::clone(done));
            tasks.push((table, tokio::spawn(load(session, table, task, known, over, done))));
        }
    }
    tokio::time::sleep(time).await;
    let patience = Instant::now() + PATIENCE;
    while until_compacted && compactions(&server) == 0 && Instant::now() < patience {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let seen = Seen { resident: resident_bytes(server.pid()), compactions: compactions(&server) };
    server.kill();
    drop(ending);
    let mut kept = vec![Vec::new(); TABLES.len()];
    for (table, task) in tasks {
        kept[table].push(task.await.expect("what a task read was right"));
    }
    (kept, seen)
}

/// `HELENUS_KILLS` and `HELENUS_ROUND_MILLIS` are other settings.
fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_server_that_compacts_keeps_what_it_acknowledged() {
    let kills = setting("HELENUS_KILLS", pick(6, 500)) as usize;
    // A soak of 500 kills takes two hours.
    let longest = setting("HELENUS_ROUND_MILLIS", pick(1500, 26_000)) as usize;
    let mut random = Random::from_environment(1);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let builder = Builder::new("uring", 1).configured(CONFIGURATION).with(&["--memory", MEMORY]).for_operators();
    let done = Arc::new(AtomicU64::new(0));
    let mut known: AllKnown = vec![vec![Known::new(); TASKS as usize]; TABLES.len()];
    let (mut resident_most, mut files_most, mut bytes_most, mut compactions) = (0, 0, 0, 0);
    for number in 0..kills {
        let (reactor, shards) = *random.choose(&configurations());
        let server = builder.clone().dealt_to(reactor, shards).start();
        let ready = server.ready_after.as_millis();
        let time = Duration::from_millis(100 + random.below(longest) as u64);
        let seen;
        // A slow machine compacts nothing in so short a time: then the last load goes on until it has.
        let until_compacted = number + 1 == kills && compactions == 0;
        (known, seen) = runtime.block_on(round(server, known, number, time, until_compacted, &done));
        let resident = seen.resident;
        compactions += seen.compactions;
        let (files, bytes) = measure(&builder.data());
        (resident_most, files_most) = (resident.max(resident_most), files.max(files_most));
        bytes_most = bytes.max(bytes_most);
        println!(
            "kill {number}: {reactor}, {shards} shards, ready after {ready} ms, {} writes so far, {} MiB resident, {files} files of {} MiB",
            done.load(Ordering::Relaxed),
            resident >> 20,
            bytes >> 20
        );
        assert!(resident <= RESIDENT_MAX, "{resident} bytes are resident");
        assert!(files <= FILES_MAX && bytes <= DISK_BYTES_MAX, "{files} files of {bytes} bytes");
    }
    let server = builder.start();
    runtime.block_on(async {
        let session = connect(&server).await;
        for (table, known) in known.iter().enumerate() {
            check(&session, table, known).await;
        }
    });
    assert_no_orphans(&server, &builder.data());
    println!(
        "{} acknowledged writes, {compactions} compactions and {kills} kills: all there; at most {} MiB resident, {files_most} files, {} MiB",
        done.load(Ordering::Relaxed),
        resident_most >> 20,
        bytes_most >> 20
    );
    assert!(compactions > 0, "nothing was compacted");
    assert!(done.load(Ordering::Relaxed) > 1000, "the load was too small to prove anything");
    server.stop();
}
