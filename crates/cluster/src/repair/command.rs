//! The repairs that this node leads: their numbers, their lines, and how they ended.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use runtime::sync::{Notify, Semaphore};
use runtime::{Elapsed, Group, Instant};

use super::error::RepairRefused;
use super::leader::{Leader, RepairedTable};
use super::ranges::{RepairChoice, Shared};
use crate::plan::{Placement, Replication};
use crate::replica::Shards;
use crate::streaming::{CopyFigures, Shown};

/// Commands that are remembered.
const REMEMBERED: usize = 100;
/// Commands that run, or wait for their turn.
const RUNNING_MAX: usize = 16;
/// Ranges that one line names.
const RANGES_SHOWN: usize = 32;

/// The state of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandState {
    /// It runs, or waits for its turn.
    Running,
    /// All of it is done.
    Successful,
    /// Some of it is not, for this reason.
    Failed(String),
}

/// A repair as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairStatus {
    /// Its state.
    pub state: CommandState,
    /// The lines from the one asked for on, each with the wall clock, microseconds since 1970.
    pub lines: Vec<(i64, String)>,
    /// Figures of the copies on all participants.
    pub figures: CopyFigures,
}

/// The repairs that this node leads; used on shard 0.
pub struct Repairs {
    leader: Leader,
    commands: RefCell<BTreeMap<u32, Rc<Command>>>,
    last: Cell<u32>,
    /// One command is at work.
    turn: Semaphore,
}

struct Command {
    number: u32,
    keyspace: String,
    state: RefCell<CommandState>,
    lines: RefCell<Vec<(i64, String)>>,
    /// Of the sessions that have ended, and of the present one.
    figures: Cell<CopyFigures>,
    changed: Notify,
}

impl Repairs {
    pub(crate) fn new(shards: &Rc<Shards>, placement: &Rc<Placement>) -> Rc<Repairs> {
        let leader = Leader { shards: Rc::clone(shards), placement: Rc::clone(placement) };
        Rc::new(Repairs { leader, commands: RefCell::default(), last: Cell::default(), turn: Semaphore::new(1) })
    }

    /// Begins to repair tables of a keyspace. Gives the command's number; `None`: no range has another replica.
    pub fn begin(
        self: &Rc<Self>,
        keyspace: &str,
        tables: Vec<RepairedTable>,
        replication: &Rc<Replication>,
        choice: &RepairChoice,
    ) -> Result<Option<u32>, RepairRefused> {
        let sessions = choice.of(keyspace, replication)?;
        if sessions.is_empty() || tables.is_empty() {
            return Ok(None);
        }
        let running = self.commands.borrow().values().filter(|command| command.is_running()).count();
        if running >= RUNNING_MAX {
            return Err(RepairRefused::TooMany { running });
        }
        let number = self.last.get() + 1;
        self.last.set(number);
        let command = Rc::new(Command {
            number,
            keyspace: keyspace.to_owned(),
            state: RefCell::new(CommandState::Running),
            lines: RefCell::default(),
            figures: Cell::default(),
            changed: Notify::new(),
        });
        self.remember(&command);
        let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
        let ranges: usize = sessions.iter().map(|session| session.ranges.len()).sum();
        self.say(&command, format!(
            "Starting repair command #{number}, repairing keyspace {keyspace} with repair options (parallelism: parallel, primary range: {}, incremental: false, job threads: 1, ColumnFamilies: [{}], dataCenters: [{}], hosts: [{}], # of ranges: {ranges})",
            choice.is_primary, names.join(", "), choice.datacenters.join(", "), listed(&choice.hosts),
        ));
        let (repairs, replication) = (Rc::clone(self), Rc::clone(replication));
        drop(self.leader.shards.runtime.spawn(Group::Maintenance, async move {
            repairs.run(&command, &sessions, &tables, &replication).await;
        }));
        Ok(Some(number))
    }

    /// The state of a command, and its lines from `from` on. `None`: there is none of the number, or it is forgotten.
    pub fn status(&self, number: u32, from: usize) -> Option<RepairStatus> {
        self.commands.borrow().get(&number).map(|command| command.status(from))
    }

    /// The same when there is a line from `from` on or the command has ended, or after a time.
    pub async fn wait(&self, number: u32, from: usize, time: Duration) -> Option<RepairStatus> {
        let command = self.commands.borrow().get(&number).cloned()?;
        let waiting = async {
            while command.is_running() && command.lines.borrow().len() <= from {
                command.changed.notified().await;
            }
        };
        let (Ok(()) | Err(Elapsed)) = self.leader.shards.runtime.timeout(time, waiting).await;
        Some(command.status(from))
    }

    /// The numbers of those that run.
    pub fn running(&self) -> Vec<u32> {
        let commands = self.commands.borrow();
        commands.values().filter(|command| command.is_running()).map(|command| command.number).collect()
    }

    fn remember(&self, command: &Rc<Command>) {
        let mut commands = self.commands.borrow_mut();
        let ended = |commands: &BTreeMap<u32, Rc<Command>>| {
            commands.values().find(|command| !command.is_running()).map(|command| command.number)
        };
        while commands.len() >= REMEMBERED
            && let Some(oldest) = ended(&commands)
        {
            commands.remove(&oldest);
        }
        commands.insert(command.number, Rc::clone(command));
    }

    fn say(&self, command: &Command, line: String) {
        let runtime = &self.leader.shards.runtime;
        tracing::info!(command = command.number, "{line}");
        command.lines.borrow_mut().push((runtime.wall_clock_micros(), line));
        command.changed.notify_all();
    }

    async fn run(&self, command: &Command, sessions: &[Shared], tables: &[RepairedTable], replication: &Replication) {
        let _turn = self.turn.acquire().await;
        let began = self.leader.shards.runtime.now();
        let mut failed = None;
        for (done, session) in (1..).zip(sessions) {
            let before = command.figures.get();
            let note = |figures: CopyFigures| {
                let mut all = before;
                all.add(figures);
                command.figures.set(all);
            };
            let outcome = self.leader.session(session, (&command.keyspace, tables), replication, &note).await;
            let (ranges, progress) = (ranges_shown(session), done * 100 / sessions.len());
            match outcome {
                Ok(()) => {
                    self.say(
                        command,
                        format!("Repair session {done} for range {ranges} finished (progress: {progress}%)"),
                    );
                }
                Err(error) => {
                    self.say(
                        command,
                        format!(
                            "Repair session {done} for range {ranges} failed with error {error} (progress: {progress}%)"
                        ),
                    );
                    failed.get_or_insert(error.to_string());
                }
            }
        }
        let time = shown_time(self.leader.shards.runtime.now(), began);
        let number = command.number;
        match failed {
            None => {
                self.say(command, "Repair completed successfully".to_owned());
                self.say(command, format!("Repair command #{number} finished in {time}"));
                command.end(CommandState::Successful);
            }
            Some(error) => {
                let words = format!("Repair command #{number} failed with error {error}");
                self.say(command, words.clone());
                self.say(command, format!("Repair command #{number} finished with error"));
                command.end(CommandState::Failed(words));
            }
        }
    }
}

impl Command {
    fn is_running(&self) -> bool {
        *self.state.borrow() == CommandState::Running
    }

    fn end(&self, state: CommandState) {
        let before = self.state.replace(state);
        assert_eq!(before, CommandState::Running, "a command ends once");
        self.changed.notify_all();
    }

    fn status(&self, from: usize) -> RepairStatus {
        let lines = self.lines.borrow().get(from..).map(<[_]>::to_vec).unwrap_or_default();
        RepairStatus { state: self.state.borrow().clone(), lines, figures: self.figures.get() }
    }
}

/// As Cassandra prints a list of ranges, cut after some.
fn ranges_shown(session: &Shared) -> String {
    let ranges = &session.ranges;
    let mut shown: Vec<String> = ranges.iter().take(RANGES_SHOWN).map(|range| Shown(*range).to_string()).collect();
    if ranges.len() > RANGES_SHOWN {
        shown.push(format!("and {} more", ranges.len() - RANGES_SHOWN));
    }
    format!("[{}]", shown.join(", "))
}

fn listed(hosts: &[std::net::IpAddr]) -> String {
    hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A time as Cassandra prints it: in words, with seconds as the smallest unit.
fn shown_time(now: Instant, began: Instant) -> String {
    let seconds = (now - began).as_secs();
    let unit = |count: u64, name: &str| format!("{count} {name}{}", if count == 1 { "" } else { "s" });
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => unit(seconds, "second"),
        (0, minutes, seconds) => format!("{} {}", unit(minutes, "minute"), unit(seconds, "second")),
        (hours, minutes, seconds) => {
            format!("{} {} {}", unit(hours, "hour"), unit(minutes, "minute"), unit(seconds, "second"))
        }
    }
}
