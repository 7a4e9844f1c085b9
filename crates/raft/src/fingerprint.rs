//! A state's fingerprint up to the names of the nodes: two groups that differ in who is who alone have the same one.
//!
//! For searches that look at each state once. What they cannot see is left out: how long ago something was, and what has been taken and done.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use crate::configuration::Configuration;
use crate::entry::{Entry, NodeId, Payload};
use crate::leading::Leading;
use crate::log::Log;
use crate::message::{Envelope, Message};
use crate::raft::Raft;
use crate::role::Role;
use crate::tally::Tally;

/// A node's name in a fingerprint.
pub type Name<'n> = &'n dyn Fn(NodeId) -> u8;

fn nodes(nodes: &BTreeSet<NodeId>, name: Name<'_>) -> u64 {
    nodes.iter().fold(0, |names, node| names | 1 << name(*node))
}

fn configuration(of: &Configuration, name: Name<'_>, state: &mut impl Hasher) {
    (nodes(of.incoming(), name), nodes(of.outgoing(), name)).hash(state);
}

fn entry(of: &Entry, name: Name<'_>, state: &mut impl Hasher) {
    (of.term, of.index).hash(state);
    match &of.payload {
        Payload::Lead(node) => (0, name(*node)).hash(state),
        Payload::Change(bytes) => (1, bytes).hash(state),
        Payload::Voters(voters) => configuration(voters, name, state),
    }
}

fn log(of: &Log, name: Name<'_>, state: &mut impl Hasher) {
    let origin = of.origin();
    (origin.index, origin.term, origin.leader.map(name)).hash(state);
    configuration(&origin.configuration, name, state);
    of.entries().iter().for_each(|of| entry(of, name, state));
}

fn tally(of: &Tally, name: Name<'_>, state: &mut impl Hasher) {
    (nodes(of.granted(), name), nodes(of.refused(), name)).hash(state);
}

fn leading(of: &Leading, name: Name<'_>, state: &mut impl Hasher) {
    let mut progress: Vec<_> = of.followers().iter().map(|(node, progress)| (name(node), progress)).collect();
    progress.sort_unstable_by_key(|(name, _)| *name);
    progress.hash(state);
    (of.barriers(), of.heir().map(name)).hash(state);
}

impl Raft {
    /// Hashes all that later steps depend on, but for times; what was to be done is done.
    pub fn fingerprint(&self, name: Name<'_>, state: &mut impl Hasher) {
        assert!(self.is_at_rest(), "what was to be done is done");
        (name(self.id()), self.term(), self.vote().voted_for.map(name)).hash(state);
        log(self.log(), name, state);
        (self.leader().map(name), self.commit_index(), self.is_lost()).hash(state);
        match &self.role {
            Role::Follower => 0.hash(state),
            Role::PreCandidate(of) => tally(of, name, state),
            Role::Candidate(of) => {
                1.hash(state);
                tally(of, name, state);
            }
            Role::Leader(of) => leading(of, name, state),
        }
    }
}

impl Envelope {
    /// Hashes the message and its way.
    pub fn fingerprint(&self, name: Name<'_>, state: &mut impl Hasher) {
        (name(self.from), name(self.to), self.term).hash(state);
        match &self.message {
            Message::Append { previous_index, previous_term, entries, commit } => {
                (previous_index, previous_term, commit, entries.len()).hash(state);
                entries.iter().for_each(|of| entry(of, name, state));
            }
            of => of.hash(state),
        }
    }
}

impl Entry {
    /// Hashes the entry.
    pub fn fingerprint(&self, name: Name<'_>, state: &mut impl Hasher) {
        entry(self, name, state);
    }
}
