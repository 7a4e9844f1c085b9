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
    /// True if some keyspace is not of its first tenure, or the node is not.
    has_later: Cell<bool>,
    /// The last operation by which the node gained ranges while it had some; 0: none did.
    of_operations: Cell<u64>,
}

impl Tenures {
    pub(super) fn new(host_id: HostId) -> Tenures {
        Tenures { host_id, has_later: Cell::new(false), of_operations: Cell::new(0) }
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
        match (tenure, self.tenures.of_operations.get()) {
            (0, 0) => CounterId(self.tenures.host_id.0),
            _ if self.planted.is(Bug::TenureKept) => CounterId(self.tenures.host_id.0),
            tenure => of_tenure(self.tenures.host_id, tenure),
        }
    }

    /// The node is in this tenure, as operations count, from now on: 0 is the first. Called before the shard plans by the ring on which the node has gained ranges.
    pub fn begin_tenure(&self, tenure: u64) {
        assert!(tenure >= self.tenures.of_operations.get(), "tenures rise");
        self.tenures.of_operations.set(tenure);
        self.tenures.has_later.set(self.tenures.has_later.get() || tenure > 0);
    }
}

/// The id of a node's parts in a later tenure: of the keyspace, and of the node as operations count.
fn of_tenure(host_id: HostId, (keyspace, node): (u64, u64)) -> CounterId {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&host_id.0);
    bytes[16..24].copy_from_slice(&keyspace.to_be_bytes());
    bytes[24..].copy_from_slice(&node.to_be_bytes());
    // In the node's first tenure they are as before there were operations.
    let bytes = if node == 0 { &bytes[..24] } else { &bytes[..] };
    let [high, low] = murmur3::hash_both(bytes).map(i64::to_be_bytes);
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
        let tenures = || (0..20).flat_map(|keyspace| (0..20).map(move |node| (keyspace, node))).skip(1);
        let ids = |host: u8| tenures().map(move |tenure| of_tenure(HostId([host; 16]), tenure));
        let all: BTreeSet<CounterId> = (0..20).flat_map(ids).collect();
        assert_eq!(all.len(), 20 * 399);
    }
}
