//! Sequences of events that break careless versions of the metadata group and of requests on a ring, each a scenario by its name. All are of whole nodes on simulated machines.
//!
//! | name | sequence | what must hold |
//! |---|---|---|
//! | `commit-index` | a voter whose log ends in an uncommitted TRUNCATE restarts without a majority | it truncates nothing and keeps the committed schema; later all nodes agree |
//! | `truncate-crash` | power of all nodes is cut while a TRUNCATE is applied beside writes | what was written after the table was seen empty is there |
//! | `truncate-with-one-down` | a TRUNCATE while a node is down, and one during which a node goes away | it is refused with nothing done, or answered with an error; that node truncates when it is back |
//! | `two-founders` | two nodes, one of them wiped, start at once beside a third one that answers late | one group; a wiped member is refused |
//! | `two-recoveries` | two halves of a cluster are recovered, each by an operator of its own | they never merge, and both say so |
//! | `all-peers-restart` | a node comes back on an image of its disk after all others have restarted | it is found out, and follows without a vote |
//! | `recovery-cut-short` | power of the recovering node is cut at any moment of its recovery | the same command begins it again, and others follow |
//! | `recovery-from-the-shorter` | a node begins the group again while one with a later log is started to follow it | it is refused |
//! | `held-frame` | a write is held by a link until its row is deleted and the tombstone purged | it does not apply |
//! | `counter-clock-back` | a leader loses an addition that others have been repaired with, and its clock goes back | what it counts later is not lost |
//! | `serial-read` | a conditional statement is answered as applied while its commit is on its way | a SERIAL read through another node shows it |
//! | `truncate-late-write` | an acknowledged write reaches its last replica after an acknowledged TRUNCATE | it does not apply |
//! | `truncate-revoked` | a role's MODIFY is revoked, and the role truncates through a node that has not heard of it | the leader refuses it, in the words of that node's own check |
//! | `rf2-join` | of two replicas one is dead for good, and a third node joins | the operation ends, and the new node has all rows |
//! | `created-between` | a table is created while a node joins, and written at ALL | its rows are on the joined node |
//!
//! A scenario gives its violations. A step that does not work at all ends it early, with an error.

pub(crate) mod all_peers_restart;
mod commit_index;
pub(crate) mod counter_clock;
mod course;
mod created_between;
mod founders;
mod held_frame;
mod late_write;
mod recoveries;
mod rf2_join;
pub(crate) mod serial_read;
mod truncate_crash;
pub(crate) mod truncate_down;
pub(crate) mod truncate_revoked;

use planted::Planted;

use crate::requests::{LANDED, Part};

/// A sequence as a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Sequence {
    /// The name.
    pub name: &'static str,
    /// The part of the product without which it does not hold.
    pub needs: Option<Part>,
    run: fn(u64, Planted) -> Result<Vec<String>, String>,
}

impl Sequence {
    /// Runs one seed: sentences about what does not hold. An error says which step did not work.
    pub fn run(&self, seed: u64, planted: Planted) -> Result<Vec<String>, String> {
        (self.run)(seed, planted)
    }

    /// True if the product has what it needs.
    pub fn is_due(&self) -> bool {
        self.needs.is_none_or(|part| LANDED.contains(&part))
    }

    /// The sequence of that name.
    pub fn named(name: &str) -> Option<Sequence> {
        SEQUENCES.into_iter().find(|sequence| sequence.name == name)
    }
}

/// All of them.
pub const SEQUENCES: [Sequence; 15] = [
    Sequence { name: "all-peers-restart", needs: None, run: all_peers_restart::run },
    Sequence { name: "commit-index", needs: None, run: commit_index::run },
    Sequence { name: "truncate-crash", needs: None, run: truncate_crash::run },
    Sequence { name: "truncate-revoked", needs: None, run: truncate_revoked::run },
    Sequence { name: "truncate-with-one-down", needs: None, run: truncate_down::run },
    Sequence { name: "two-founders", needs: None, run: founders::run },
    Sequence { name: "two-recoveries", needs: None, run: recoveries::halves },
    Sequence { name: "recovery-cut-short", needs: None, run: recoveries::cut_short },
    Sequence { name: "recovery-from-the-shorter", needs: None, run: recoveries::from_the_shorter },
    Sequence { name: "held-frame", needs: None, run: held_frame::run },
    Sequence { name: "counter-clock-back", needs: Some(Part::SyncedCounters), run: counter_clock::run },
    Sequence { name: "serial-read", needs: None, run: serial_read::run },
    Sequence { name: "rf2-join", needs: None, run: rf2_join::run },
    Sequence { name: "created-between", needs: None, run: created_between::run },
    Sequence { name: "truncate-late-write", needs: Some(Part::Fence), run: late_write::run },
];
