//! What a connection's requests share.

use std::cell::RefCell;
use std::rc::Rc;

/// A connection as the engine sees it. Clones are the same session: the server keeps one per connection and hands
/// clones to requests that must wait.
#[derive(Debug, Clone, Default)]
pub struct Session {
    inner: Rc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    keyspace: RefCell<Option<Rc<str>>>,
}

impl Session {
    /// A session without a keyspace.
    pub fn new() -> Self {
        Session::default()
    }

    /// The keyspace of the last USE.
    pub fn keyspace(&self) -> Option<Rc<str>> {
        self.inner.keyspace.borrow().clone()
    }

    /// Sets the keyspace for the requests that follow.
    pub fn set_keyspace(&self, keyspace: &str) {
        *self.inner.keyspace.borrow_mut() = Some(Rc::from(keyspace));
    }
}
