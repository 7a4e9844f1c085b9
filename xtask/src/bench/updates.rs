//! `cargo xtask bench --updates [COUNT] [--only NAME,NAME]`: random updates of a tenth as many rows, with deletions and values that expire, under each
//! compaction strategy, and beside them Cassandra under two. The rows at the end are compared with a model's, and told are the bytes written
//! for each byte of an update, the bytes on the disk for each byte of a row that is left, and reads of the disk for each row.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::{device_reads, settle, written_bytes};
use super::load;
use super::subject::{Server, serve};
use crate::peers::cassandra::{Cassandra, Purpose};
use crate::workspace;

const UPDATES: u64 = 20_000_000;
const UPDATES_PER_ROW: u64 = 10;
/// Of 1000 updates so many delete, and so many expire.
const DELETES: u64 = 50;
const EXPIRING: u64 = 100;
const TTL_SECONDS: u64 = 5;
/// A key and five values.
const ROW_BYTES: f64 = 310.0;
/// Little, so that files are flushed all the time.
const MEMORY: &str = "512M";
const CASSANDRA_PORT: u16 = 9142;
const TABLE: &str = "updated";

/// What a line of the table tells.
const HEAD: &str = "updates/s | bytes written ÷ of updates | bytes on disk ÷ of rows (most) | files | disk reads per row | s to settle";

/// What is measured, in this order, by its name behind `--only`.
const SUBJECTS: [(&str, bool, &str); 6] = [
    ("ucs", false, "UnifiedCompactionStrategy"),
    ("cassandra-ucs", true, "UnifiedCompactionStrategy"),
    ("stcs", false, "SizeTieredCompactionStrategy"),
    ("cassandra-stcs", true, "SizeTieredCompactionStrategy"),
    ("lcs", false, "LeveledCompactionStrategy"),
    ("twcs", false, "TimeWindowCompactionStrategy"),
];

/// Runs it for the subjects that are wanted by their names; an error if a row at the end is not as the model says.
pub fn run(updates: Option<u64>, is_wanted: &dyn Fn(&str) -> bool) -> Result<(), String> {
    let updates = updates.unwrap_or(UPDATES);
    println!("| | {HEAD} |\n|---|---|---|---|---|---|---|");
    for (name, is_cassandra, strategy) in SUBJECTS {
        if !is_wanted(name) {
            continue;
        }
        let subject = if is_cassandra { Running::cassandra()? } else { Running::helenus()? };
        let system = if is_cassandra { "Cassandra" } else { "Helenus" };
        println!("| {system} {strategy} | {} |", subject.measure(strategy, updates)?);
    }
    Ok(())
}

/// A server under test.
struct Running {
    address: String,
    pid: u32,
    folder: PathBuf,
    _process: Process,
}

/// Ended when it is dropped.
enum Process {
    Helenus { _server: Server },
    Cassandra { _server: Cassandra },
}

impl Running {
    fn helenus() -> Result<Running, String> {
        let folder = workspace::scratch("updates")?;
        let mut command = serve(2);
        command.args(["--memory", MEMORY, "--data-dir"]).arg(folder.join("data"));
        let server = Server::start(&mut command)?;
        let (address, pid) = (server.address.clone(), server.child.id());
        Ok(Running { address, pid, folder, _process: Process::Helenus { _server: server } })
    }

    fn cassandra() -> Result<Running, String> {
        let server = Cassandra::start(Purpose::Speed, CASSANDRA_PORT, None)?;
        let (address, pid, folder) = (format!("127.0.0.1:{}", server.port), server.pid(), server.folder.clone());
        Ok(Running { address, pid, folder, _process: Process::Cassandra { _server: server } })
    }

    /// The cells of a line of the table.
    fn measure(&self, strategy: &str, updates: u64) -> Result<String, String> {
        let rows = (updates / UPDATES_PER_ROW).max(1);
        let with = format!("compaction = {{'class': '{strategy}'}} AND gc_grace_seconds = 0");
        let (rows_text, updates_text) = (rows.to_string(), updates.to_string());
        let (deletes, expiring, ttl) = (DELETES.to_string(), EXPIRING.to_string(), TTL_SECONDS.to_string());
        let mut common = vec!["--table", TABLE, "--rows", &rows_text, "--connections", "2", "--depth", "64"];
        common.extend(["--deletes", &deletes, "--expiring", &expiring, "--ttl", &ttl, "--with", &with]);
        let before = written_bytes(self.pid)?;
        let arguments = [&["update", "--operations", &updates_text], &common[..]].concat();
        let update = load::generate(&self.address, self.pid, &arguments)?;
        // What expires has.
        std::thread::sleep(Duration::from_secs(TTL_SECONDS));
        let settled = settle(&self.folder, &is_of_table)?;
        let written = written_bytes(self.pid)? - before;
        let reads = device_reads(&self.folder)?;
        let arguments = [&["check", "--updates", &updates_text], &common[..]].concat();
        load::generate(&self.address, self.pid, &arguments)?;
        let reads = device_reads(&self.folder)? - reads;
        let share = |per_mille: u64| per_mille as f64 / 1000.0;
        let of_updates = updates as f64 * (1.0 - share(DELETES)) * ROW_BYTES;
        let of_rows = rows as f64 * (1.0 - share(DELETES) - share(EXPIRING)) * ROW_BYTES;
        Ok(format!(
            "{:.0} | {:.2} | {:.2} ({:.2}) | {} | {:.2} | {:.0}",
            update.per_second,
            written as f64 / of_updates,
            settled.bytes as f64 / of_rows,
            settled.bytes_most as f64 / of_rows,
            settled.files,
            reads as f64 / rows as f64,
            settled.time.as_secs_f64(),
        ))
    }
}

/// Whether a file is of the table, not of the server's own.
fn is_of_table(path: &Path) -> bool {
    path.to_string_lossy().contains(&format!("/{TABLE}-"))
}
