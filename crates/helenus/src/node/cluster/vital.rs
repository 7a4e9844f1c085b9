//! Facts that nodes tell of themselves in heartbeats, for operators. By their clocks the low bound of conditional statements is asked for, and nothing else is decided by them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use metadata::group::Vitals;
use runtime::{Instant, Runtime};
use topology::HostId;
use topology::nodes::Registry;

/// A clock that was heard of this long ago says nothing of a node that is down by now.
const OF_LATE: Duration = Duration::from_secs(10);

/// The facts of all nodes.
#[derive(Debug)]
pub(super) struct Vital {
    own: Cell<Vitals>,
    /// Rounds of heartbeats that this node has sent.
    rounds: Cell<u64>,
    /// With the time at which each was heard.
    others: RefCell<BTreeMap<HostId, (Vitals, Instant)>>,
}

impl Vital {
    /// The node has just started.
    pub(super) fn new(runtime: &Runtime) -> Vital {
        let generation = wall_micros(runtime) / 1_000_000;
        Vital {
            own: Cell::new(Vitals { generation, ..Vitals::default() }),
            rounds: Cell::new(0),
            others: RefCell::default(),
        }
    }

    /// Forgets the nodes that left.
    pub(super) fn follow(&self, registry: &Registry) {
        self.others.borrow_mut().retain(|host_id, _| registry.node(*host_id).is_some());
    }

    /// This node's word about itself, now.
    pub(super) fn own(&self, runtime: &Runtime) -> Vitals {
        Vitals { wall_micros: wall_micros(runtime), ..self.own.get() }
    }

    /// Takes note of the version of its schema.
    pub(super) fn note_schema(&self, schema_version: [u8; 16]) {
        self.own.set(Vitals { schema_version, ..self.own.get() });
    }

    /// Keeps another node's word about itself.
    pub(super) fn hear(&self, from: HostId, vitals: Vitals, now: Instant) {
        self.others.borrow_mut().insert(from, (vitals, now));
    }

    /// Counts a round of heartbeats.
    pub(super) fn note_round(&self) {
        self.rounds.set(self.rounds.get() + 1);
    }

    /// Rounds of heartbeats so far.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds.get()
    }

    /// Takes note of the bytes on its disk.
    pub(super) fn note_disk(&self, disk_bytes: u64) {
        self.own.set(Vitals { disk_bytes, ..self.own.get() });
    }

    /// The earliest wall clock of this node and those that it has heard of of late, as of now, microseconds since 1970. `None`: it has heard of none.
    pub(super) fn earliest_clock(&self, runtime: &Runtime) -> Option<u64> {
        let (others, now) = (self.others.borrow(), runtime.now());
        let recent = others.values().map(|(vitals, at)| (vitals.wall_micros, now - *at));
        let recent = recent.filter(|(micros, age)| *micros > 0 && *age < OF_LATE);
        let clocks = recent.map(|(micros, age)| micros.saturating_add(u64::try_from(age.as_micros()).unwrap_or(0)));
        clocks.min().map(|earliest| earliest.min(wall_micros(runtime)))
    }

    /// The last word of another node about itself.
    pub(super) fn of(&self, host_id: HostId) -> Option<Vitals> {
        self.others.borrow().get(&host_id).map(|(vitals, _)| *vitals)
    }
}

fn wall_micros(runtime: &Runtime) -> u64 {
    u64::try_from(runtime.wall_clock_micros()).unwrap_or(0)
}
