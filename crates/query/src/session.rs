//! What a connection's requests share.

mod passed;

use std::cell::{Cell, OnceCell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;

use auth::Actor;

use crate::clients::{ClientInfo, Clients, Encryption, Started};
use crate::error::UnknownId;
use crate::prepared::Prepared;

pub(crate) use passed::PassedPlans;

/// A connection as the engine sees it. Clones are the same session: the server keeps one per connection and hands
/// clones to requests that must wait.
#[derive(Debug, Clone, Default)]
pub struct Session {
    inner: Rc<Inner>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    keyspace: RefCell<Option<Rc<str>>>,
    /// Of a client of another shard: true if it sees values of masked columns as their masks show them.
    handed_over_masked: Cell<Option<bool>>,
    /// Its client was told that USE and prepared statements do not go together.
    is_warned_of_use: Cell<bool>,
    requests: Cell<u64>,
    started: OnceCell<Started>,
    encryption: OnceCell<Encryption>,
    login: OnceCell<Login>,
    place: OnceCell<Place>,
    passed: PassedPlans,
    /// Its requests are checked on the shard that has its client.
    is_of_other_shard: Cell<bool>,
}

/// The right that a session's client has.
#[derive(Debug)]
enum Login {
    /// Of a role.
    Role(String),
    /// Of the process's owner.
    Maintenance,
}

/// Where a session stands in its shard's list of clients.
#[derive(Debug)]
struct Place {
    address: SocketAddr,
    clients: Rc<Clients>,
    number: u64,
}

impl Session {
    /// A session without a keyspace, which is listed nowhere.
    pub fn new() -> Self {
        Session::default()
    }

    /// Enters the session into its shard's list, as that of the client at `address`, until its last clone is gone: when the client has connected, or has logged in
    /// where that is needed.
    ///
    /// # Panics
    /// If it is in a list already.
    pub(crate) fn enter(&self, address: SocketAddr, clients: &Rc<Clients>) {
        let number = clients.enter(&self.inner);
        let place = Place { address, clients: clients.clone(), number };
        self.inner.place.set(place).expect("a session is entered once");
    }

    /// A session of a client of another shard, for one request. What its client was told is not known here, so it is told no more.
    pub(crate) fn of_other_shard(keyspace: Option<&str>, masked: bool) -> Self {
        let session = Session::new();
        session.inner.handed_over_masked.set(Some(masked));
        session.inner.is_warned_of_use.set(true);
        session.inner.is_of_other_shard.set(true);
        if let Some(keyspace) = keyspace {
            session.set_keyspace(keyspace);
        }
        session
    }

    /// Of a client of another shard: true if it sees values of masked columns as their masks show them, as the shard that has the connection has decided.
    pub(crate) fn handed_over_masked(&self) -> Option<bool> {
        self.inner.handed_over_masked.get()
    }

    /// The plans that it may run, as far as it remembers them.
    #[inline]
    pub(crate) fn passed(&self) -> &PassedPlans {
        &self.inner.passed
    }

    /// True if its client is another shard's, which has checked the request.
    pub(crate) fn is_of_other_shard(&self) -> bool {
        self.inner.is_of_other_shard.get()
    }

    /// The client was told READY: what it said of itself.
    pub fn start<'a>(&self, protocol_version: u8, options: impl Iterator<Item = (&'a str, &'a str)>) {
        let _ = self.inner.started.set(Started::new(protocol_version, options));
    }

    /// Its connection is under TLS, of this version and cipher suite.
    pub fn encrypted(&self, version: &'static str, suite: &str) {
        let _ = self.inner.encryption.set(Encryption { version, suite: suite.to_owned() });
    }

    /// Its client has logged in as a role.
    ///
    /// # Panics
    /// If it has logged in before: after READY the server accepts no second login.
    pub fn log_in(&self, role: &str) {
        self.inner.login.set(Login::Role(role.to_owned())).expect("a client logs in once");
    }

    /// Its client is the owner of the process, on the maintenance socket: a superuser that is no role.
    ///
    /// # Panics
    /// If it has logged in before.
    pub fn log_in_maintenance(&self) {
        self.inner.login.set(Login::Maintenance).expect("a client logs in once");
    }

    /// The one whose rights its requests have: an anonymous client until it logs in. That of a request which was handed over by another shard is never asked
    /// for: it was checked on the shard that has the connection.
    pub fn actor(&self) -> Actor<'_> {
        self.inner.actor()
    }

    /// Counts a request.
    #[inline]
    pub fn count_request(&self) {
        self.inner.requests.set(self.inner.requests.get() + 1);
    }

    /// Where its client is; `None`: it has none.
    pub fn client(&self) -> Option<SocketAddr> {
        self.inner.place.get().map(|place| place.address)
    }

    /// The keyspace of the last USE.
    pub fn keyspace(&self) -> Option<Rc<str>> {
        self.inner.keyspace.borrow().clone()
    }

    /// What a client is told, once, when it runs a statement that was prepared in another keyspace than that of its session, and that leaves
    /// the keyspace to the session: it goes on meaning what it did.
    #[cold]
    pub(crate) fn warning_of_use(&self, prepared: &Prepared) -> Option<String> {
        if !self.is_to_be_warned_of_use(prepared) {
            return None;
        }
        self.inner.is_warned_of_use.set(true);
        let keyspace = self.keyspace();
        let (used, of_statement) = (keyspace.as_deref().unwrap_or("null"), prepared.keyspace.as_deref());
        Some(format!(
            "`USE <keyspace>` with prepared statements is considered to be an anti-pattern due to ambiguity in non-qualified table names. \
             Please consider removing instances of `Session#setKeyspace(<keyspace>)`, `Session#execute(\"USE <keyspace>\")` and \
             `cluster.newSession(<keyspace>)` from your code, and always use fully qualified table names (e.g. <keyspace>.<table>). \
             Keyspace used: {used}, statement keyspace: {}, statement id: {}",
            of_statement.unwrap_or("null"),
            UnknownId::from(prepared.id)
        ))
    }

    /// Whether [`Session::warning_of_use`] has something to say.
    pub(crate) fn is_to_be_warned_of_use(&self, prepared: &Prepared) -> bool {
        !self.inner.is_warned_of_use.get() && self.inner.keyspace.borrow().as_deref() != prepared.keyspace.as_deref()
    }

    /// Sets the keyspace for the requests that follow.
    pub fn set_keyspace(&self, keyspace: &str) {
        *self.inner.keyspace.borrow_mut() = Some(Rc::from(keyspace));
    }
}

impl Inner {
    fn actor(&self) -> Actor<'_> {
        match self.login.get() {
            None => Actor::Anonymous,
            Some(Login::Role(role)) => Actor::Role(role),
            Some(Login::Maintenance) => Actor::Maintenance,
        }
    }

    pub(crate) fn client(&self) -> Option<ClientInfo> {
        let place = self.place.get()?;
        Some(ClientInfo {
            address: place.address,
            keyspace: self.keyspace.borrow().as_deref().map(str::to_owned),
            username: self.actor().name().to_owned(),
            request_count: self.requests.get(),
            started: self.started.get().cloned(),
            encryption: self.encryption.get().cloned(),
        })
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(place) = self.place.get() {
            place.clients.leave(place.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_session_act_as_the_role_that_it_has_logged_in_as() {
        let session = Session::new();
        let waiting = session.clone();
        assert_eq!(waiting.actor(), Actor::Anonymous);
        session.log_in("ada");
        assert_eq!(waiting.actor(), Actor::Role("ada"));
        let owner = Session::new();
        owner.log_in_maintenance();
        assert_eq!(owner.actor(), Actor::Maintenance);
        assert_eq!(Session::of_other_shard(None, false).actor(), Actor::Anonymous, "it has no rights");
    }
}
