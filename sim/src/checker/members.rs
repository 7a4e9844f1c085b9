//! Judgement of what nodes say of each other: events against each other and against the end, offsets of clocks against the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use admin::LifeFacts;
use cql_protocol::Event;
use cql_protocol::response::{StatusChange, TopologyChange};

use crate::workload::NodeEvents;

/// Microseconds by which an offset may be wrong beside its error: a clock is read in whole ones, and jumps that are less than the errors of two answers are
/// not seen.
const TOLERANCE_MICROS: i64 = 2_000;

/// A node as another one judges it.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// It is up.
    pub is_up: bool,
    /// It accepts clients.
    pub is_ready: bool,
    /// The judgement's name.
    pub verdict: &'static str,
    /// Time since the judgement changed, on the judge's clock.
    pub since: Duration,
    /// The offset of its clock and the error of that, microseconds.
    pub offset: Option<(i64, i64)>,
}

impl Seen {
    /// The judgement that a node tells its operators.
    pub fn of(is_up: bool, life: &LifeFacts) -> Seen {
        Seen {
            is_up,
            is_ready: life.is_ready,
            verdict: life.verdict,
            since: Duration::from_millis(life.since_ms),
            offset: life.clock_offset_micros,
        }
    }

    /// True if clients should know of it as up.
    pub fn is_usable(&self) -> bool {
        self.is_up && self.is_ready
    }
}

/// True if the offset is not that of the truth, within its error.
pub fn clock_is_wrong(seen: &Seen, truth_micros: i64) -> bool {
    let Some((offset, error)) = seen.offset else { return true };
    (offset - truth_micros).abs() > 3 * error + TOLERANCE_MICROS
}

/// Nodes that have left.
pub struct Departed<'a> {
    /// Their addresses for clients.
    pub addresses: &'a BTreeSet<SocketAddr>,
    /// The last connection of the clients was there before the first of them left.
    pub heard_all: bool,
}

/// Judges the events of one node's clients: `is_up` are the other nodes at the end, by their addresses for clients, and `peers` the addresses in
/// `system.peers`.
pub fn judge_events(
    events: &NodeEvents,
    is_up: &BTreeMap<SocketAddr, bool>,
    departed: &Departed<'_>,
    peers: &BTreeSet<Vec<u8>>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let bytes = |address: &SocketAddr| match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let others: BTreeSet<Vec<u8>> = is_up.keys().map(bytes).collect();
    if *peers != others {
        wrong.push(format!("system.peers has {peers:?}, not {others:?}"));
    }
    for (number, connection) in events.connections.iter().enumerate() {
        let is_last = number + 1 == events.connections.len();
        let (mut last, mut removed) = (BTreeMap::<SocketAddr, bool>::new(), BTreeSet::new());
        for event in connection {
            match event {
                Event::Status { change, address } => {
                    let is_up = *change == StatusChange::Up;
                    if last.insert(*address, is_up) == Some(is_up) {
                        wrong.push(format!("connection {number} got {event:?} twice in a row"));
                    }
                    if removed.contains(address) {
                        wrong.push(format!("connection {number} got {event:?} of a node that is removed"));
                    }
                    if !others.contains(&bytes(address)) && !departed.addresses.contains(address) {
                        wrong.push(format!("connection {number} got {event:?} of no other node"));
                    }
                }
                Event::Topology { change: TopologyChange::RemovedNode, address } => {
                    last.remove(address);
                    if !departed.addresses.contains(address) || !removed.insert(*address) {
                        wrong.push(format!("connection {number} got {event:?}, and none left, or twice"));
                    }
                }
                // No node joins.
                Event::Topology { change: TopologyChange::NewNode, .. } => {
                    wrong.push(format!("connection {number} got {event:?}, and none joined"));
                }
                Event::Schema(_) => wrong.push(format!("connection {number} got {event:?}, which it did not ask for")),
            }
        }
        if is_last && departed.heard_all && removed != *departed.addresses {
            wrong.push(format!("connection {number} heard of removals {removed:?}, not of {:?}", departed.addresses));
        }
        if is_last {
            for (address, said) in last {
                if is_up.get(&address) != Some(&said) {
                    wrong.push(format!("the last event of {address} says up: {said}, and the judgement is another"));
                }
            }
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 1, 0, number], 9042))
    }

    fn status(number: u8, is_up: bool) -> Event {
        let change = if is_up { StatusChange::Up } else { StatusChange::Down };
        Event::Status { change, address: address(number) }
    }

    fn judged(connections: &[&[Event]]) -> Vec<String> {
        judged_with(connections, &BTreeSet::new())
    }

    fn judged_with(connections: &[&[Event]], gone: &BTreeSet<SocketAddr>) -> Vec<String> {
        let events = NodeEvents { connections: connections.iter().map(|events| events.to_vec()).collect() };
        let is_up = [(address(2), true), (address(3), false)].into();
        let departed = Departed { addresses: gone, heard_all: true };
        judge_events(&events, &is_up, &departed, &[vec![10, 1, 0, 2], vec![10, 1, 0, 3]].into())
    }

    #[test]
    fn a_node_that_leaves_is_removed_once_and_is_not_heard_of_again() {
        let gone = BTreeSet::from([address(4)]);
        let removed = |number| Event::Topology { change: TopologyChange::RemovedNode, address: address(number) };
        assert_eq!(judged_with(&[&[status(4, false), removed(4)]], &gone), Vec::<String>::new());
        for (events, words) in [
            (vec![], "heard of removals {}"),
            (vec![removed(4), removed(4)], "or twice"),
            (vec![removed(4), removed(3)], "none left"),
            (vec![removed(4), status(4, false)], "of a node that is removed"),
        ] {
            let wrong = judged_with(&[&events], &gone);
            assert!(wrong.iter().any(|what| what.contains(words)), "{words}: {wrong:?}");
        }
    }

    #[test]
    fn events_alternate_and_agree_with_the_end() {
        assert_eq!(judged(&[&[]]), Vec::<String>::new());
        assert_eq!(
            judged(&[&[status(2, true)], &[status(2, false), status(3, false), status(2, true)]]),
            Vec::<String>::new()
        );
        for (connections, words) in [
            (vec![vec![status(2, true), status(2, true)]], "twice in a row"),
            (vec![vec![status(3, true)]], "the judgement is another"),
            (vec![vec![status(4, false), status(4, true)], vec![]], "of no other node"),
            (vec![vec![Event::Topology { change: TopologyChange::NewNode, address: address(2) }]], "none joined"),
        ] {
            let connections: Vec<&[Event]> = connections.iter().map(Vec::as_slice).collect();
            let wrong = judged(&connections);
            assert!(wrong.iter().any(|what| what.contains(words)), "{words}: {wrong:?}");
        }
    }

    #[test]
    fn offsets_are_right_within_their_error() {
        let seen = |offset| Seen { is_up: true, is_ready: true, verdict: "up", since: Duration::ZERO, offset };
        assert!(clock_is_wrong(&seen(None), 0));
        assert!(!clock_is_wrong(&seen(Some((1_000_000, 100))), 1_001_000));
        assert!(clock_is_wrong(&seen(Some((1_000_000, 100))), 1_100_000));
    }
}
