//! The next act of a client: acts with weights, and levels to choose from.

use cql_protocol::Consistency;

/// One act of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// INSERT of one row.
    Write,
    /// DELETE of one row.
    DeleteRow,
    /// DELETE of a range of clustering keys.
    DeleteRange,
    /// DELETE of a partition.
    DeletePartition,
    /// A read of a partition: whole, by pages, backwards, or its beginning.
    Read,
    /// A scan of all rows, page by page.
    Scan,
    /// A logged batch over several partitions, of two tables where there are maps.
    LoggedBatch,
    /// A batch of all rows of one partition, logged or not.
    WritePiece,
    /// DELETE of such a partition.
    DeletePiece,
    /// A read of such a partition.
    ReadPiece,
    /// A new value of an entry of a map.
    PutEntry,
    /// DELETE of an entry of a map.
    DeleteEntry,
    /// A read of a map.
    ReadMap,
    /// An addition to a counter, or several in a counter batch.
    Add,
    /// A read of a counter.
    Count,
    /// TRUNCATE.
    Truncate,
    /// A request of the workload *cas-register*.
    CasRegister,
    /// A request of the workload *list-append*.
    ListAppend,
    /// A request of the workload *wr-register*.
    WrRegister,
}

impl Act {
    /// True if it is a conditional statement, or a read at a serial level.
    pub fn is_serial(self) -> bool {
        matches!(self, Act::CasRegister | Act::ListAppend | Act::WrRegister)
    }
}

/// The work of the clients of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Clients.
    pub clients: usize,
    /// The longest pause of a client between two requests, microseconds.
    pub pause_micros: u64,
    /// Partitions of rows, of pieces, and of counters.
    pub partitions: u64,
    /// Acts, each with its weight.
    pub acts: &'static [(Act, u64)],
    /// Levels of changes, of which that of a conditional statement is that of its commit; one that stands here twice is twice as likely.
    pub writes: &'static [Consistency],
    /// Levels of reads.
    pub reads: &'static [Consistency],
    /// True if nothing else is under way while a client truncates.
    pub gates_truncate: bool,
    /// True if scans write what they show to the replicas that answered, as reads of a partition do.
    pub scans_repair: bool,
}

impl Work {
    /// The act of a random number.
    pub fn act(&self, random: u64) -> Act {
        let sum: u64 = self.acts.iter().map(|(_, weight)| weight).sum();
        let mut left = random % sum.max(1);
        for (act, weight) in self.acts {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return *act,
            }
        }
        unreachable!("the number is less than the sum of the weights, of which there is one")
    }

    /// True if the act is one of the work.
    pub fn has(&self, act: Act) -> bool {
        self.acts.iter().any(|(of, _)| *of == act)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_come_by_their_weights() {
        let work = Work {
            clients: 1,
            pause_micros: 1,
            partitions: 1,
            acts: &[(Act::Write, 3), (Act::Read, 1), (Act::Scan, 2)],
            writes: &[Consistency::One],
            reads: &[Consistency::One],
            gates_truncate: false,
            scans_repair: false,
        };
        let acts: Vec<Act> = (6..12).map(|random| work.act(random)).collect();
        assert_eq!(acts, [Act::Write, Act::Write, Act::Write, Act::Read, Act::Scan, Act::Scan]);
        assert!(work.has(Act::Scan) && !work.has(Act::Truncate));
    }
}
