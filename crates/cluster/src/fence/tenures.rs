//! Tenures: under which id a node counts.
//!
//! A node that loses a range and gains it again may have nothing of it any more, while others have its part of each counter. Under its old id it would begin at zero with
//! a later clock, and overwrite that part. So what it counts in another tenure is another part. More tenures than needed make counters longer, and are right.

use std::cell::Cell;

use mutation::CounterId;
use planted::Bug;
use schema::{Schema, TableId};
use topology::{HostId, murmur3};

use super::Fence;

/// The ids of one node's parts of counters.
#[derive(Debug)]
pub(super) struct Tenures {
    host_id: HostId,
    /// True if some keyspace is not of its first tenure.
    has_later: Cell<bool>,
}

impl Tenures {
    pub(super) fn new(host_id: HostId) -> Tenures {
        Tenures { host_id, has_later: Cell::new(false) }
    }

    /// The shard has another schema.
    pub(super) fn follow(&self, schema: &Schema) {
        let has_later = schema.keyspaces().values().any(|keyspace| keyspace.def.tenure > 0);
        self.has_later.set(self.has_later.get() || has_later);
    }
}

impl Fence {
    /// The id of this node's parts of a table's counters: its host id in a keyspace's first tenure.
    #[inline]
    pub(crate) fn counter_id(&self, table: TableId) -> CounterId {
        match self.tenures.has_later.get() {
            false => CounterId(self.tenures.host_id.0),
            true => self.later_counter_id(table),
        }
    }

    #[cold]
    fn later_counter_id(&self, table: TableId) -> CounterId {
        let tenure = self.tables.borrow().get(&table).map_or(0, |known| known.keyspace.def.tenure);
        match tenure {
            0 => CounterId(self.tenures.host_id.0),
            _ if self.planted.is(Bug::TenureKept) => CounterId(self.tenures.host_id.0),
            tenure => of_tenure(self.tenures.host_id, tenure),
        }
    }
}

/// The id of a node's parts in a later tenure.
fn of_tenure(host_id: HostId, tenure: u64) -> CounterId {
    let mut bytes = [0; 24];
    bytes[..16].copy_from_slice(&host_id.0);
    bytes[16..].copy_from_slice(&tenure.to_be_bytes());
    let [high, low] = murmur3::hash_both(&bytes).map(i64::to_be_bytes);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high);
    id[8..].copy_from_slice(&low);
    CounterId(id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_node_has_another_id_in_each_tenure() {
        let ids = |host: u8| (1..100).map(move |tenure| of_tenure(HostId([host; 16]), tenure));
        let all: BTreeSet<CounterId> = (0..20).flat_map(ids).collect();
        assert_eq!(all.len(), 20 * 99);
    }
}
