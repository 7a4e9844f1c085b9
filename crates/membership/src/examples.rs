//! Nodes for tests: node *n* has host id *n*, address 10.0.0.*n* and the tokens 10 *n* and 10 *n* + 1.

use std::rc::Rc;

use topology::nodes::{Address, Boot, Features, NodeChange, Registry, Release, Start};
use topology::{HostId, Token};

use crate::Registration;

pub(crate) fn host(number: u8) -> HostId {
    HostId([number; 16])
}

pub(crate) fn address(number: u8) -> Address {
    Address::new([10, 0, 0, number].into(), 7000)
}

pub(crate) fn start(number: u8, boot: Boot) -> Start {
    Start {
        boot,
        internode: address(number),
        native: Address::new([10, 0, 0, number].into(), 9042),
        shard_count: 2,
        release: Release { major: 0, minor: 1, patch: 0 },
        features: Features(1),
    }
}

pub(crate) fn registration(number: u8, boot: Boot) -> Registration {
    Registration {
        host_id: host(number),
        datacenter: "datacenter1".to_owned(),
        rack: "rack1".to_owned(),
        tokens: vec![Token(i64::from(number) * 10 + 1), Token(i64::from(number) * 10)],
        has_given_tokens: false,
        is_without_copy: false,
        replaces: None,
        start: start(number, boot),
    }
}

pub(crate) fn put(number: u8, boot: Boot) -> NodeChange {
    NodeChange::Put(host(number), Rc::new(registration(number, boot).into_node()))
}

/// Node 1 with boot 5, node 2 with boot 1; node 3 has left.
pub(crate) fn registry() -> Registry {
    Registry::default().apply([
        put(1, Boot { number: 5, word: 50 }),
        put(2, Boot { number: 1, word: 10 }),
        put(3, Boot { number: 1, word: 10 }),
        NodeChange::Remove(host(3)),
    ])
}
