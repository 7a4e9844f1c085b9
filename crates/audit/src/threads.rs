//! The thread that writes: it names what entries are about, filters by keyspace, and has the files.
// Not on a shard: it reads the wall clock and blocks as it likes, and no simulated node has it.
#![cfg_attr(not(test), allow(clippy::disallowed_methods))]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use runtime::{Choice, Companion, Instant, WorkbenchSeat, Worker, workbench};

use crate::desk::{Desk, Done, Settings, Work};
use crate::entry::Entry;
use crate::folder::{Folder, Limits, Lines, Written};
use crate::kind::Category;
use crate::line;
use crate::options::Options;
use crate::statement::{self, Target};

/// Time from a failed write to the next try.
const REST: Duration = Duration::from_secs(1);
/// Time between two lines about failures, and between two about entries that were dropped.
const BETWEEN_LINES: Duration = Duration::from_secs(60);
/// Words under way to a shard: one at most is.
const WORDS_MAX: usize = 4;

/// A shard's place, on its way to the shard's thread.
pub struct Seat(pub(crate) WorkbenchSeat<Desk, ()>);

/// The thread that is to be.
pub struct Thread(Worker<Desk, ()>);

/// A seat for each shard, and the thread that writes for them, to be made before the shards run.
pub fn seats(shards: u16, options: Options) -> (Thread, Vec<Seat>) {
    let (worker, seats) = workbench(shards, Desk::new(shards, options), WORDS_MAX);
    (Thread(worker), seats.into_iter().map(Seat).collect())
}

/// The thread, for [`runtime::run_beside`]. It ends when all shards have, after the entries that wait.
pub fn companion(thread: Thread) -> Companion {
    // Not in the background: where shards use all processor time, clients would wait for its turns.
    Companion { name: "audit", is_background: false, body: Box::new(move || Writer::new().run(&thread.0)) }
}

/// The next step.
enum Next {
    Work(Work),
    /// Lines that could not be written are tried again.
    Again(Option<Settings>),
}

struct Writer {
    settings: Option<Settings>,
    folder: Option<Folder>,
    /// Lines of the work under way that are not written yet, and its weight.
    lines: Lines,
    weight: usize,
    /// The next try; `None`: nothing has failed.
    retry: Option<Instant>,
    told_of_failure: Option<Instant>,
    told_of_drops: Option<Instant>,
    drops_told: u64,
}

impl Writer {
    fn new() -> Writer {
        Writer {
            settings: None,
            folder: None,
            lines: Lines::default(),
            weight: 0,
            retry: None,
            told_of_failure: None,
            told_of_drops: None,
            drops_told: 0,
        }
    }

    fn run(mut self, worker: &Worker<Desk, ()>) {
        loop {
            let retry = self.retry;
            let next = worker.take(|desk, now| {
                // The desk is left as it is while work is under way.
                match retry {
                    Some(at) if now < at => Choice::WaitUntil(at),
                    Some(_) => Choice::Take((Next::Again(desk.take_settings()), now, 0)),
                    None => match desk.take(now) {
                        Choice::Take(work) => Choice::Take((Next::Work(work), now, desk.figures().dropped)),
                        Choice::Wait => Choice::Wait,
                        Choice::WaitUntil(until) => Choice::WaitUntil(until),
                    },
                }
            });
            let Some((next, now, dropped)) = next else { break };
            match next {
                Next::Work(work) => {
                    self.tell_of_drops(dropped, now);
                    self.begin(work);
                }
                Next::Again(settings) => settings.into_iter().for_each(|settings| self.use_settings(settings)),
            }
            let done = self.write(now);
            worker.finish(|desk, _| desk.finish(done));
        }
        self.end(worker);
    }

    /// Takes work: its entries become lines.
    fn begin(&mut self, work: Work) {
        let Work { entries, settings } = work;
        if let Some(settings) = settings {
            self.use_settings(settings);
        }
        let Some(settings) = &self.settings else { return };
        for entry in &entries {
            self.weight += entry.weight();
            if let Some(line) = line_of(entry, settings) {
                self.lines.push(line);
            }
        }
    }

    /// Takes settings over. Another folder begins with a whole line.
    fn use_settings(&mut self, settings: Settings) {
        if self.folder.as_ref().is_some_and(|folder| folder.dir() != settings.options.dir) {
            self.leave_folder();
            self.lines.rewind();
        }
        if self.settings.as_ref().is_none_or(|before| before.is_on != settings.is_on) && settings.is_on {
            tracing::info!(folder = %settings.options.dir.display(), "audit log enabled");
        } else if self.settings.as_ref().is_some_and(|before| before.is_on) && !settings.is_on {
            tracing::info!("audit log disabled");
        }
        self.settings = Some(settings);
    }

    /// Syncs the file that is written to, and leaves it. Where that fails, its lines are in the kernel's hands.
    fn leave_folder(&mut self) {
        if let Some(Err(error)) = self.folder.take().map(|mut folder| folder.close()) {
            tracing::error!(%error, "cannot sync the audit log's last file");
        }
    }

    /// Writes what is to be written.
    fn write(&mut self, now: Instant) -> Done {
        let mut written = Written::default();
        let result = self.try_write(&mut written);
        let mut done = Done { written: written.lines, bytes: written.bytes, ..Done::default() };
        match result {
            Ok(()) => {
                if self.retry.take().is_some() {
                    self.told_of_failure = None;
                    tracing::info!("the audit log is written again");
                }
                done.weight = std::mem::take(&mut self.weight);
                if self.settings.as_ref().is_none_or(|settings| !settings.is_on) {
                    self.leave_folder();
                }
            }
            Err(error) => {
                self.retry = Some(now + REST);
                done.failures = 1;
                if self.told_of_failure.is_none_or(|told| now.saturating_since(told) >= BETWEEN_LINES) {
                    self.told_of_failure = Some(now);
                    tracing::error!(%error, "cannot write the audit log; its entries wait, and writing is tried each second");
                }
            }
        }
        done
    }

    fn try_write(&mut self, written: &mut Written) -> std::io::Result<()> {
        let Some(Settings { options, .. }) = self.settings.as_ref().filter(|_| self.lines.len() > 0) else {
            return Ok(());
        };
        let limits = Limits {
            cycle: options.roll_cycle,
            file_bytes_max: options.file_bytes_max(),
            log_bytes_max: options.max_log_size,
        };
        let folder = self.folder.get_or_insert_with(|| Folder::new(&options.dir));
        folder.write(&mut self.lines, limits, wall_ms(), written)
    }

    /// Says how many entries were dropped, once a minute at most.
    fn tell_of_drops(&mut self, dropped: u64, now: Instant) {
        let is_time = self.told_of_drops.is_none_or(|told| now.saturating_since(told) >= BETWEEN_LINES);
        if dropped > self.drops_told && is_time {
            let entries = dropped - self.drops_told;
            tracing::warn!(entries, "audit log entries dropped: the queue is full, and block is false");
            (self.drops_told, self.told_of_drops) = (dropped, Some(now));
        }
    }

    /// The shards have ended: writes what is left, and syncs it.
    fn end(mut self, worker: &Worker<Desk, ()>) {
        let mut lost = 0;
        loop {
            let mut written = Written::default();
            if let Err(error) = self.try_write(&mut written) {
                lost += self.lines.len() as u64;
                tracing::error!(%error, "cannot write the audit log at the node's end");
                self.lines = Lines::default();
            }
            let done = Done {
                weight: std::mem::take(&mut self.weight),
                written: written.lines,
                bytes: written.bytes,
                ..Done::default()
            };
            let mut next = None;
            worker.finish(|desk, _| {
                let told = desk.finish(done);
                next = desk.take_now();
                told
            });
            let Some(work) = next else { break };
            self.begin(work);
        }
        if lost > 0 {
            tracing::error!(entries = lost, "audit log entries lost");
        }
        self.leave_folder();
    }
}

/// An entry's line; `None`: its keyspace is not audited.
fn line_of(entry: &Entry, settings: &Settings) -> Option<String> {
    let Target { keyspace, scope, is_of_session } = match entry.operation.is_statement {
        true => statement::target(&entry.operation.text),
        false => Target::default(),
    };
    let keyspace = keyspace.or_else(|| entry.keyspace.clone().filter(|_| is_of_session));
    // What has no keyspace is not left out for one: a login, a role, a batch, a text that is no statement.
    let is_free = matches!(entry.kind.category(), Category::Dcl) || keyspace.is_none();
    let is_audited = is_free || keyspace.as_ref().is_some_and(|keyspace| settings.options.keyspaces.passes(keyspace));
    is_audited.then(|| line::of(entry, &settings.host, keyspace.as_deref(), scope.as_deref()))
}

/// The wall clock, milliseconds since 1970.
fn wall_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use planted::Planted;

    use super::*;
    use crate::entry::Operation;
    use crate::kind::EntryType;

    fn passes(text: Option<&str>, session: Option<&str>, set: &[(&str, &str)]) -> bool {
        let mut options = Options::new(PathBuf::from("audit"));
        set.iter().for_each(|(name, value)| options.set(name, value).expect("it is right"));
        let entry = Entry {
            kind: EntryType::RequestFailure,
            user: "ada".to_owned(),
            source: None,
            timestamp_ms: 0,
            keyspace: session.map(str::to_owned),
            operation: text
                .map_or_else(|| Operation::told("LOGIN FAILURE"), |text| Operation::statement(text, Planted::NONE)),
            batch: None,
            prepared: None,
            error: None,
        };
        line_of(&entry, &Settings { options, is_on: true, host: String::new() }).is_some()
    }

    #[test]
    fn keyspaces_are_those_of_the_text_before_those_of_the_session() {
        let system = &[][..];
        assert!(!passes(Some("SELECT * FROM t"), Some("system"), system));
        assert!(!passes(Some("SELECT * FROM system.local"), Some("shop"), system));
        assert!(passes(Some("SELECT * FROM shop.t"), Some("system"), system));
        let shop = &[("included_keyspaces", "shop")][..];
        assert!(passes(Some("INSERT INTO t (k) VALUES (1)"), Some("shop"), shop));
        assert!(!passes(Some("INSERT INTO t (k) VALUES (1)"), Some("other"), shop));
        assert!(!passes(Some("INSERT INTO other.t (k) VALUES (1)"), Some("shop"), shop));
    }

    /// A USE of a keyspace that is left out hides nothing that is not in it.
    #[test]
    fn what_has_no_keyspace_is_written_whatever_the_session_has() {
        for text in
            ["CREATE ROLE r", "SELEC", "GRANT r TO q", "BEGIN BATCH INSERT INTO shop.t (k) VALUES (1) APPLY BATCH"]
        {
            assert!(passes(Some(text), Some("system"), &[]), "{text}");
            assert!(passes(Some(text), None, &[("included_keyspaces", "shop")]), "{text}");
        }
        assert!(passes(None, Some("system"), &[("included_keyspaces", "shop")]));
    }
}
