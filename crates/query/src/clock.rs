//! Timestamps for writes that bring none, and what is made of time and chance: UUIDs.

use std::cell::Cell;

use cluster::paxos::Ballot;
use runtime::Runtime;

/// The shard's source of write timestamps: the wall clock in microseconds, but each later than the one before, whatever
/// the wall clock does. Two writes of one client that the same shard takes are ordered as they came.
pub(crate) struct TimestampClock {
    runtime: Runtime,
    last: Cell<i64>,
    /// The last ballot that followed a clock that is ahead.
    last_ahead: Cell<i64>,
    last_uuid: Cell<u64>,
    /// The clock sequence and node of time-based UUIDs: of the shard and of this start of the process, so that no two
    /// sources share them.
    uuid_tail: [u8; 8],
}

/// 100 ns steps from 1582-10-15, where the time of UUIDs begins, to 1970.
const UUID_EPOCH_STEPS: u64 = 0x01b2_1dd2_1381_4000;

impl TimestampClock {
    pub(crate) fn new(runtime: Runtime, boot: u64) -> Self {
        let shard = u64::from(runtime.shard().0);
        // Fourteen bits of clock sequence tell shards and starts apart; the node is random with the multicast bit, as the
        // standard has it for nodes that are no hardware address.
        let sequence = (shard ^ (boot << 6)) & 0x3fff;
        let node = (runtime.random_u64() & 0xffff_ffff_ffff) | 0x0100_0000_0000;
        let uuid_tail = ((0b10 << 62) | (sequence << 48) | node).to_be_bytes();
        TimestampClock { runtime, last: Cell::new(0), last_ahead: Cell::new(0), last_uuid: Cell::new(0), uuid_tail }
    }

    /// A timestamp, microseconds since 1970, greater than all given before. `now` is the wall clock's time, which the
    /// caller has at hand.
    #[inline]
    pub(crate) fn next(&self, now: i64) -> i64 {
        let timestamp = now.max(self.last.get() + 1);
        self.last.set(timestamp);
        timestamp
    }

    /// The wall clock, microseconds since 1970.
    #[inline]
    pub(crate) fn wall_micros(&self) -> i64 {
        self.runtime.wall_clock_micros()
    }

    /// A ballot, later than `latest`, which may be of another start, shard or node, with a timestamp later than all that were given
    /// before. The next timestamps are later than its own, unless `latest` is of a clock that is ahead: plain writes do not follow that one
    /// (CASSANDRA-7801).
    pub(crate) fn ballot(&self, latest: Option<Ballot>) -> Ballot {
        let after = latest.map_or(i64::MIN, |latest| latest.micros().saturating_add(1));
        let wall = self.wall_micros();
        let steps = |micros: i64| u64::try_from(micros).unwrap_or(0) * 10 + UUID_EPOCH_STEPS;
        if after <= wall.max(self.last.get() + 1) {
            return Ballot(self.uuid_of(steps(self.next(wall))));
        }
        // Of its own row, whose ballots have another step within the microsecond: none is given twice, whenever the wall clock gets there.
        let micros = after.max(self.last_ahead.get() + 1);
        self.last_ahead.set(micros);
        Ballot(self.uuid_of(steps(micros) + 1))
    }

    /// A version 1 UUID, later than all that were given before.
    pub(crate) fn time_uuid(&self) -> [u8; 16] {
        let now = u64::try_from(self.wall_micros()).unwrap_or(0) * 10 + UUID_EPOCH_STEPS;
        let steps = now.max(self.last_uuid.get() + 1);
        self.last_uuid.set(steps);
        self.uuid_of(steps)
    }

    /// A version 1 UUID of a time, microseconds since 1970, that is later than `last`, which becomes it. The same times give the same ones.
    pub(crate) fn uuid_after(&self, micros: i64, last: &mut u64) -> [u8; 16] {
        let steps = u64::try_from(micros).unwrap_or(0) * 10 + UUID_EPOCH_STEPS;
        *last = steps.max(*last + 1);
        self.uuid_of(*last)
    }

    fn uuid_of(&self, steps: u64) -> [u8; 16] {
        let low = (steps & 0xffff_ffff) as u32;
        let middle = ((steps >> 32) & 0xffff) as u16;
        let high = 0x1000 | ((steps >> 48) & 0x0fff) as u16;
        let mut uuid = [0; 16];
        uuid[..4].copy_from_slice(&low.to_be_bytes());
        uuid[4..6].copy_from_slice(&middle.to_be_bytes());
        uuid[6..8].copy_from_slice(&high.to_be_bytes());
        uuid[8..].copy_from_slice(&self.uuid_tail);
        uuid
    }

    /// A version 4 UUID.
    pub(crate) fn random_uuid(&self) -> [u8; 16] {
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&self.runtime.random_u64().to_be_bytes());
        uuid[8..].copy_from_slice(&self.runtime.random_u64().to_be_bytes());
        uuid[6] = (uuid[6] & 0x0f) | 0x40;
        uuid[8] = (uuid[8] & 0x3f) | 0x80;
        uuid
    }
}
