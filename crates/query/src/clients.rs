//! The clients of a shard: what `system_views.clients` shows of each connection.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};

use crate::session::Inner;

/// How many options of STARTUP are kept, and how long each may be with its name: a client may send what it likes.
const OPTIONS_MAX: usize = 16;
const OPTION_BYTES_MAX: usize = 256;

/// What a connection said when it started.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    pub(crate) protocol_version: u8,
    pub(crate) options: BTreeMap<String, String>,
}

impl Started {
    pub(crate) fn new<'a>(protocol_version: u8, options: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let short = options.filter(|(name, value)| name.len() + value.len() <= OPTION_BYTES_MAX);
        let options = short.take(OPTIONS_MAX).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Started { protocol_version, options }
    }
}

/// A connection as it was when somebody asked. `Send`, since shards tell each other.
#[derive(Debug, Clone)]
pub struct ClientInfo {
    pub(crate) address: SocketAddr,
    pub(crate) keyspace: Option<String>,
    /// The role that it has logged in as, or what stands for one.
    pub(crate) username: String,
    pub(crate) request_count: u64,
    /// `None` before STARTUP.
    pub(crate) started: Option<Started>,
    /// `None`: it is plain.
    pub(crate) encryption: Option<Encryption>,
}

/// TLS of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Encryption {
    pub(crate) version: &'static str,
    pub(crate) suite: String,
}

/// The sessions of a shard that have a client.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    open: RefCell<BTreeMap<u64, Weak<Inner>>>,
    next: Cell<u64>,
}

impl Clients {
    pub(crate) fn enter(&self, session: &Rc<Inner>) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.open.borrow_mut().insert(number, Rc::downgrade(session));
        number
    }

    pub(crate) fn leave(&self, number: u64) {
        self.open.borrow_mut().remove(&number);
    }

    pub(crate) fn all(&self) -> Vec<ClientInfo> {
        self.open.borrow().values().filter_map(Weak::upgrade).filter_map(|session| session.client()).collect()
    }
}
