//! The registry of verbs: which handler answers which kind of request.
//!
//! There is one for each shard. Owners register their verbs before the first connection is accepted; ping, pong and cancel belong to the
//! connection itself and cannot be registered.

use std::collections::BTreeMap;
use std::future::Future;

use topology::HostId;

use crate::connection::{Reply, Ticket};

/// The request that every connection answers with [`PONG`]. Its body is empty.
pub const PING: u8 = 3;
/// The answer to a [`PING`]. Its body is the reading of the connection's clock, a u32.
pub const PONG: u8 = 132;
/// Gives up the request of the same number. It has no answer, and its body is empty.
pub const CANCEL: u8 = 5;

/// Kinds from here on are answers.
const ANSWERS_FROM: u8 = 128;

/// A body that cannot be decoded. The connection that it came on is closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct Malformed {
    problem: String,
}

impl Malformed {
    /// The decoder's own words.
    pub fn new(problem: impl std::fmt::Display) -> Self {
        Malformed { problem: problem.to_string() }
    }
}

/// Checks the body of a ping or cancel.
pub(crate) fn empty(length: usize) -> Result<(), Malformed> {
    match length {
        0 => Ok(()),
        count => Err(Malformed::new(format!("{count} trailing bytes"))),
    }
}

/// The sender of a request, and the epoch that the request's frame names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// The node that dialled.
    pub host_id: HostId,
    /// The epoch; 0 says nothing.
    pub epoch: u64,
}

type Handler = Box<dyn Fn(HostId, &[u8], Ticket) -> Result<(), Malformed>>;

/// A registered verb.
pub(crate) struct Verb {
    /// Stands in the line of a poll that stalls.
    pub(crate) name: &'static str,
    /// The most bytes of an answer; 0 for one that is short.
    pub(crate) answer_bytes: usize,
    handler: Handler,
}

impl Verb {
    /// Decodes the request; its answer is sent by a task of its own.
    pub(crate) fn handle(&self, from: HostId, body: &[u8], ticket: Ticket) -> Result<(), Malformed> {
        (self.handler)(from, body, ticket)
    }
}

/// The verbs that a shard answers.
#[derive(Default)]
pub struct Verbs {
    by_number: BTreeMap<u8, Verb>,
}

impl Verbs {
    /// Only ping is answered.
    pub fn new() -> Self {
        Verbs::default()
    }

    /// Has `handler` answer requests of kind `verb`: it decodes the body within the call, and its future gives the answer. A body that it
    /// calls malformed ends the connection.
    ///
    /// # Panics
    /// If the verb is registered already, is ping's, or is the kind of an answer: each verb has one owner.
    pub fn register<F, Fut>(&mut self, verb: u8, name: &'static str, handler: F)
    where
        F: Fn(&[u8]) -> Result<Fut, Malformed> + 'static,
        Fut: Future<Output: Reply> + 'static,
    {
        self.register_by_host(verb, name, move |_, body| handler(body));
    }

    /// The same for a request that may end without an answer: when its caller gives up, or at its deadline. Then its future is dropped, which must end its work,
    /// with nothing half done. Its answer has `answer_bytes` at most.
    ///
    /// # Panics
    /// As [`Verbs::register`].
    pub fn register_cancellable<F, Fut>(&mut self, verb: u8, name: &'static str, answer_bytes: usize, handler: F)
    where
        F: Fn(&[u8]) -> Result<Fut, Malformed> + 'static,
        Fut: Future<Output: Reply> + 'static,
    {
        self.insert((verb, name, answer_bytes), move |_, body, ticket| ticket.answer_unless_cancelled(handler(body)?));
    }

    /// The same as [`Verbs::register`], for a handler that is to know which node asks.
    ///
    /// # Panics
    /// As [`Verbs::register`].
    pub fn register_by_host<F, Fut>(&mut self, verb: u8, name: &'static str, handler: F)
    where
        F: Fn(HostId, &[u8]) -> Result<Fut, Malformed> + 'static,
        Fut: Future<Output: Reply> + 'static,
    {
        self.insert((verb, name, 0), move |from, body, ticket| {
            let work = handler(from, body)?;
            ticket.answer_with(work);
            Ok(())
        });
    }

    /// The same as [`Verbs::register`], for a handler that is to know which node asks, and at which epoch.
    ///
    /// # Panics
    /// As [`Verbs::register`].
    pub fn register_by_caller<F, Fut>(&mut self, verb: u8, name: &'static str, handler: F)
    where
        F: Fn(Caller, &[u8]) -> Result<Fut, Malformed> + 'static,
        Fut: Future<Output: Reply> + 'static,
    {
        self.insert((verb, name, 0), move |host_id, body, ticket| {
            let work = handler(Caller { host_id, epoch: ticket.epoch() }, body)?;
            ticket.answer_with(work);
            Ok(())
        });
    }

    /// The same as [`Verbs::register_cancellable`], for a handler that is to know which node asks, and at which epoch.
    ///
    /// # Panics
    /// As [`Verbs::register`].
    pub fn register_cancellable_by_caller<F, Fut>(
        &mut self,
        verb: u8,
        name: &'static str,
        answer_bytes: usize,
        handler: F,
    ) where
        F: Fn(Caller, &[u8]) -> Result<Fut, Malformed> + 'static,
        Fut: Future<Output: Reply> + 'static,
    {
        self.insert((verb, name, answer_bytes), move |host_id, body, ticket| {
            let caller = Caller { host_id, epoch: ticket.epoch() };
            ticket.answer_unless_cancelled(handler(caller, body)?)
        });
    }

    fn insert<H>(&mut self, (verb, name, answer_bytes): (u8, &'static str, usize), handler: H)
    where
        H: Fn(HostId, &[u8], Ticket) -> Result<(), Malformed> + 'static,
    {
        assert!(verb < ANSWERS_FROM, "verb {verb} ({name}) is the kind of an answer");
        assert!(![PING, CANCEL].contains(&verb), "verb {verb} belongs to the connection: {name} needs another one");
        let known = self.by_number.insert(verb, Verb { name, answer_bytes, handler: Box::new(handler) });
        if let Some(known) = known {
            panic!("verb {verb} is registered twice: as {} and as {name}", known.name);
        }
    }

    pub(crate) fn get(&self, verb: u8) -> Option<&Verb> {
        self.by_number.get(&verb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Reply for Nothing {
        fn kind(&self) -> u8 {
            200
        }

        fn encode(&self, _out: &mut Vec<u8>) {}

        fn too_large(_size: usize, _max: usize) -> Self {
            Nothing
        }
    }

    fn register(verbs: &mut Verbs, verb: u8, name: &'static str) {
        verbs.register(verb, name, |_| Ok(std::future::ready(Nothing)));
    }

    #[test]
    fn a_verb_has_the_owner_that_registered_it() {
        let mut verbs = Verbs::new();
        register(&mut verbs, 1, "a write");
        register(&mut verbs, 2, "a read");
        assert_eq!(verbs.get(1).map(|verb| verb.name), Some("a write"));
        assert_eq!(verbs.get(2).map(|verb| verb.name), Some("a read"));
        assert!(verbs.get(4).is_none());
    }

    #[test]
    #[should_panic(expected = "verb 1 is registered twice: as a write and as a hint")]
    fn a_verb_with_two_owners_is_a_mistake_in_the_program() {
        let mut verbs = Verbs::new();
        register(&mut verbs, 1, "a write");
        register(&mut verbs, 1, "a hint");
    }

    #[test]
    #[should_panic(expected = "verb 3 belongs to the connection")]
    fn ping_is_not_registered() {
        register(&mut Verbs::new(), PING, "a ping");
    }

    #[test]
    #[should_panic(expected = "is the kind of an answer")]
    fn a_verb_is_no_answer() {
        register(&mut Verbs::new(), PONG, "a pong");
    }
}
