//! One end's proof of itself, as it is now: sessions are made of it, and the certificates may be exchanged while it is used.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use crate::clock::Clock;
use crate::contexts::{Contexts, Options};
use crate::material::Material;
use crate::reload::{FileFigures, FilesState};
use crate::session::Session;

/// Certificates in use on a shard. Clones are the same.
#[derive(Debug, Clone)]
pub struct Identity {
    inner: Rc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: Options,
    clock: Arc<Clock>,
    contexts: RefCell<Contexts>,
    files: FilesState,
}

impl Identity {
    /// Sessions are made of this material.
    pub fn new(material: &Material, options: Options) -> Identity {
        let clock = Arc::new(Clock::default());
        let contexts = RefCell::new(Contexts::new(material, options, &clock));
        Identity { inner: Rc::new(Inner { options, clock, contexts, files: FilesState::default() }) }
    }

    /// Sessions are made of other material from now on; those there are go on.
    pub fn replace(&self, material: &Material) {
        let contexts = Contexts::new(material, self.inner.options, &self.inner.clock);
        *self.inner.contexts.borrow_mut() = contexts;
    }

    /// Looks at the files now, and takes what they have without waiting for a second look.
    pub fn reload(&self) {
        self.inner.files.asked.notify();
    }

    /// Figures of the files.
    pub fn figures(&self) -> FileFigures {
        self.inner.files.figures()
    }

    /// The account of the files.
    pub(crate) fn files(&self) -> &FilesState {
        &self.inner.files
    }

    /// A session of the end that dials `address`. Its first bytes are to be sent. Certificates are judged by the wall clock of now, in microseconds. An IPv4
    /// address in IPv6's form, as sockets for both have it, is that of the certificate.
    pub fn dial(&self, wall_clock_micros: i64, address: IpAddr) -> Session {
        self.inner.clock.set(wall_clock_micros);
        Session::dial(Arc::clone(&self.inner.contexts.borrow().dialler), address.to_canonical())
    }

    /// A session of the end that was dialled from `address`.
    pub fn accept(&self, wall_clock_micros: i64, address: IpAddr) -> Session {
        self.inner.clock.set(wall_clock_micros);
        Session::accept(self.inner.contexts.borrow_mut().listener_for(address.to_canonical()))
    }
}
