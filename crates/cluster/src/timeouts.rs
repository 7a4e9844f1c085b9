//! The time that a request waits for other nodes, by its kind: settings of Cassandra's names, which operators change while the node runs.
//!
//! A request looks its time up once, when it begins, and its frames carry what is left of it to the replicas. What a request waits for on this
//! node alone (its disk, room in memory) has no time here.

use std::cell::Cell;
use std::time::Duration;

use internode::LocalNode;

/// A kind of request with a time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// A read of a partition: `read_request_timeout`.
    Read,
    /// A scan, each of its token ranges: `range_request_timeout`.
    Range,
    /// A write, a copy of a logged batch, a read repair: `write_request_timeout`.
    Write,
    /// An update of counters: `counter_write_request_timeout`.
    CounterWrite,
    /// A conditional statement's turn at its partition: `cas_contention_timeout`.
    CasContention,
    /// A TRUNCATE: `truncate_request_timeout`.
    Truncate,
    /// A change of the schema: `request_timeout`.
    Other,
    /// A connection to another node, with its greeting: `internode_tcp_connect_timeout`.
    Connect,
}

/// The times of all kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutOptions {
    /// Of [`TimeoutKind::Read`].
    pub read: Duration,
    /// Of [`TimeoutKind::Range`].
    pub range: Duration,
    /// Of [`TimeoutKind::Write`].
    pub write: Duration,
    /// Of [`TimeoutKind::CounterWrite`].
    pub counter_write: Duration,
    /// Of [`TimeoutKind::CasContention`].
    pub cas_contention: Duration,
    /// Of [`TimeoutKind::Truncate`].
    pub truncate: Duration,
    /// Of [`TimeoutKind::Other`].
    pub other: Duration,
    /// Of [`TimeoutKind::Connect`].
    pub connect: Duration,
}

impl Default for TimeoutOptions {
    /// Cassandra's.
    fn default() -> Self {
        TimeoutOptions {
            read: Duration::from_secs(5),
            range: Duration::from_secs(10),
            write: Duration::from_secs(2),
            counter_write: Duration::from_secs(5),
            cas_contention: Duration::from_millis(1800),
            truncate: Duration::from_secs(60),
            other: Duration::from_secs(10),
            connect: Duration::from_secs(2),
        }
    }
}

impl TimeoutOptions {
    /// The time of a kind.
    pub fn get(&self, kind: TimeoutKind) -> Duration {
        match kind {
            TimeoutKind::Read => self.read,
            TimeoutKind::Range => self.range,
            TimeoutKind::Write => self.write,
            TimeoutKind::CounterWrite => self.counter_write,
            TimeoutKind::CasContention => self.cas_contention,
            TimeoutKind::Truncate => self.truncate,
            TimeoutKind::Other => self.other,
            TimeoutKind::Connect => self.connect,
        }
    }

    /// The place of a kind's time.
    pub fn get_mut(&mut self, kind: TimeoutKind) -> &mut Duration {
        match kind {
            TimeoutKind::Read => &mut self.read,
            TimeoutKind::Range => &mut self.range,
            TimeoutKind::Write => &mut self.write,
            TimeoutKind::CounterWrite => &mut self.counter_write,
            TimeoutKind::CasContention => &mut self.cas_contention,
            TimeoutKind::Truncate => &mut self.truncate,
            TimeoutKind::Other => &mut self.other,
            TimeoutKind::Connect => &mut self.connect,
        }
    }
}

/// The times that hold on one shard now.
#[derive(Debug)]
pub struct Timeouts {
    present: Cell<TimeoutOptions>,
    /// This node as its connections know it.
    local: Option<LocalNode>,
}

impl Timeouts {
    /// As configured. Without `local` the node dials no other.
    pub(crate) fn new(options: TimeoutOptions, local: Option<LocalNode>) -> Timeouts {
        local.iter().for_each(|local| local.set_connect_time(options.connect));
        Timeouts { present: Cell::new(options), local }
    }

    /// The time of a kind.
    pub fn get(&self, kind: TimeoutKind) -> Duration {
        self.present.get().get(kind)
    }

    /// Changes the time of a kind, of the requests and connections that begin from now on.
    pub fn set(&self, kind: TimeoutKind, time: Duration) {
        let mut options = self.present.get();
        *options.get_mut(kind) = time;
        self.present.set(options);
        if kind == TimeoutKind::Connect {
            self.local.iter().for_each(|local| local.set_connect_time(time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own() {
        let kinds = [
            (TimeoutKind::Read, 5_000),
            (TimeoutKind::Range, 10_000),
            (TimeoutKind::Write, 2_000),
            (TimeoutKind::CounterWrite, 5_000),
            (TimeoutKind::CasContention, 1_800),
            (TimeoutKind::Truncate, 60_000),
            (TimeoutKind::Other, 10_000),
            (TimeoutKind::Connect, 2_000),
        ];
        let timeouts = Timeouts::new(TimeoutOptions::default(), None);
        for (changed, (kind, _)) in kinds.iter().enumerate() {
            timeouts.set(*kind, Duration::from_millis(changed as u64));
            for (index, (kind, default)) in kinds.iter().enumerate() {
                let expected = if index <= changed { index as u64 } else { *default };
                assert_eq!(timeouts.get(*kind), Duration::from_millis(expected), "{kind:?}");
            }
        }
    }
}
