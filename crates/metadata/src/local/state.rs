//! This node's facts, as all records of a log together state them.

use std::collections::{BTreeMap, BTreeSet};

use topology::HostId;

use super::fact::Fact;
use super::position::Position;
use super::truncation::{Mark, TableKey, Truncation};

/// All facts of a log. Later ones replace earlier ones: of starts the last counts, of truncations the last of each shard for each table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalState {
    /// The node's identity; `None` in a new log.
    pub host_id: Option<HostId>,
    /// Number of the last start; `None` in a new log.
    pub boot: Option<u64>,
    truncations: BTreeMap<TableKey, LastTruncation>,
    /// Tables truncated after the last entry of the cluster's log.
    truncated_last: BTreeSet<TableKey>,
}

/// The last truncation of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LastTruncation {
    mark: Option<Mark>,
    /// By shard.
    positions: BTreeMap<u16, Position>,
}

impl LocalState {
    /// The last truncations, by table, with one position per shard.
    pub fn truncations(&self) -> impl Iterator<Item = Truncation> + '_ {
        self.truncations.iter().map(|(table, LastTruncation { mark, positions })| Truncation {
            table: *table,
            positions: positions.values().copied().collect(),
            mark: *mark,
        })
    }

    /// The mark of a table's last truncation on this node.
    pub fn mark(&self, table: TableKey) -> Option<Mark> {
        self.truncations.get(&table).and_then(|last| last.mark)
    }

    /// Takes the next record's fact.
    pub(crate) fn push(&mut self, fact: Fact) {
        match fact {
            Fact::HostId(id) => self.host_id = Some(id),
            Fact::Boot(number) => self.boot = Some(number),
            Fact::Truncated(Truncation { table, positions, mark }) => {
                self.truncated_last.insert(table);
                let last = self.truncations.entry(table).or_default();
                last.mark = mark.or(last.mark);
                last.positions.extend(positions.iter().map(|position| (position.shard, *position)));
            }
        }
    }

    /// Notes that the next record is an entry of the cluster's log.
    pub(crate) fn pass_entry(&mut self) {
        self.truncated_last.clear();
    }

    /// The fewest facts with the same outcome. Of tables, those in `live` count. In logs of earlier versions a table whose id is used again is truncated
    /// first, and the entry that makes it may follow: truncations after the last entry stay.
    pub(crate) fn compacted(&self, live: &BTreeSet<TableKey>) -> (Vec<Fact>, Vec<Fact>) {
        let who = self.host_id.map(Fact::HostId).into_iter().chain(self.boot.map(Fact::Boot)).collect();
        let counts = |table: &TableKey| live.contains(table) || self.truncated_last.contains(table);
        let truncations = self.truncations().filter(|truncation| counts(&truncation.table));
        (who, truncations.map(Fact::Truncated).collect())
    }
}
