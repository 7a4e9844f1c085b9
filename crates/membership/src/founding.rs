//! The decision of a node without a group: it founds one, joins one, or waits.
//!
//! All nodes without a group ask each other, and each question says who asks. A node founds only when no node that it has heard of, by its seed list, by a
//! question or by the answer of another, can found beside it: it has the lowest host id among those that call themselves seeds, and all have
//! answered that they are of no group. Two nodes at once cannot both see that, since each answer to a node with a lower id is followed by a question to
//! that node, before the one that answered founds.
//!
//! | what is known | decision |
//! |---|---|
//! | a node that answered is of a group | join that group, by one member after the other |
//! | nodes of different groups answered | refuse: two clusters, both are named |
//! | the seed list names this node alone | found |
//! | this node is no seed, or a seed with a lower id is of no group | wait |
//! | all others answered, and none calls itself a seed | refuse: no node can found, the setting is named |
//! | this node has the lowest id of the seeds, and a node has not answered | wait, and name it; found if `found_without_silent` is set and it has had its time |
//! | the same, and all have answered | found |

pub(crate) mod codec;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use metadata::group::GroupId;
use planted::{Bug, Planted};
use topology::HostId;

pub use codec::JoinAnswer;

/// A node's word about itself, with a question and with an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Introduction {
    /// The node.
    pub host_id: HostId,
    /// Where other nodes reach it.
    pub address: SocketAddr,
    /// True if its seed list names it.
    pub is_seed: bool,
    /// Its group.
    pub group: Option<GroupId>,
    /// The nodes that it knows of.
    pub knows: BTreeSet<SocketAddr>,
}

/// Another node, as its last word has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Other {
    host_id: HostId,
    is_seed: bool,
    group: Option<GroupId>,
}

/// A node's search for its group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Search {
    host_id: HostId,
    address: SocketAddr,
    seeds: BTreeSet<SocketAddr>,
    /// A mistake, in a build with mistakes.
    planted: Planted,
    /// All others that are known of; `None` for one that has not answered, or is to be asked again.
    others: BTreeMap<SocketAddr, Option<Other>>,
    /// Members that were asked to accept this node and have not, since all of them were asked.
    tried: BTreeSet<SocketAddr>,
}

/// The decision, on all that is known so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Found a group.
    Found,
    /// Ask the node at the address to be a member of its group.
    Join(SocketAddr, GroupId),
    /// Go on asking. The nodes that have not answered, if this node waits for them alone.
    Wait {
        /// Their addresses.
        silent: Vec<SocketAddr>,
    },
    /// No node can found: none calls itself a seed.
    NoSeed,
    /// Nodes of two groups answered.
    TwoGroups(GroupId, GroupId),
}

impl Search {
    /// The search of a node that others reach at `address`.
    pub fn new(host_id: HostId, address: SocketAddr, seeds: BTreeSet<SocketAddr>) -> Search {
        let others = seeds.iter().filter(|seed| **seed != address).map(|seed| (*seed, None)).collect();
        Search { host_id, address, seeds, planted: Planted::NONE, others, tried: BTreeSet::new() }
    }

    /// The same with a bug that was planted on purpose.
    #[must_use]
    pub fn planted(self, planted: Planted) -> Search {
        Search { planted, ..self }
    }

    /// The node's word to others, while it is of no group.
    pub fn introduction(&self) -> Introduction {
        let knows = self.others.keys().copied().collect();
        let is_seed = self.seeds.contains(&self.address);
        Introduction { host_id: self.host_id, address: self.address, is_seed, group: None, knows }
    }

    /// The nodes to ask, again and again.
    pub fn to_ask(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.others.keys().copied()
    }

    /// Another node asks, and gets this node's introduction as the answer: from now on that node may rely on it, so it is asked before this node founds.
    pub fn asked_by(&mut self, asker: &Introduction) {
        self.hear_of(&asker.knows);
        if asker.address == self.address || asker.host_id == self.host_id || self.planted.is(Bug::TwoFoundings) {
            return;
        }
        let other = Other { host_id: asker.host_id, is_seed: asker.is_seed, group: asker.group };
        // Only a lower id may found on the strength of the answer.
        let word = (asker.host_id > self.host_id || asker.group.is_some()).then_some(other);
        self.others.insert(asker.address, word);
    }

    /// Another node answers.
    pub fn answered_by(&mut self, at: SocketAddr, answer: &Introduction) {
        self.hear_of(&answer.knows);
        if answer.host_id == self.host_id {
            // This node itself, at another of its addresses.
            self.others.remove(&at);
            return;
        }
        let word = Other { host_id: answer.host_id, is_seed: answer.is_seed, group: answer.group };
        self.others.insert(at, Some(word));
    }

    /// The member has not accepted this node, or does not answer any more: another one is asked next.
    pub fn not_accepted_by(&mut self, at: SocketAddr) {
        self.tried.insert(at);
        let is_member = |other: &Option<Other>| other.as_ref().is_some_and(|other| other.group.is_some());
        let mut members = self.others.iter().filter(|(_, other)| is_member(other));
        if members.all(|(member, _)| self.tried.contains(member)) {
            self.tried.clear();
        }
    }

    fn hear_of(&mut self, addresses: &BTreeSet<SocketAddr>) {
        for address in addresses.iter().filter(|address| **address != self.address) {
            self.others.entry(*address).or_insert(None);
        }
    }

    /// The decision. `found_without_silent`: nodes that have not answered by now are not waited for.
    pub fn decide(&self, found_without_silent: bool) -> Decision {
        let answers = || self.others.iter().filter_map(|(at, other)| Some((*at, other.as_ref()?)));
        let members = || answers().filter_map(|(at, other)| Some((at, other.group?)));
        if let Some((at, group)) = members().min_by_key(|(at, _)| (self.tried.contains(at), *at)) {
            return match members().find(|(_, other)| *other != group) {
                Some((_, other)) => Decision::TwoGroups(group, other),
                None => Decision::Join(at, group),
            };
        }
        let silent: Vec<SocketAddr> =
            self.others.iter().filter(|(_, other)| other.is_none()).map(|(at, _)| *at).collect();
        if !self.seeds.contains(&self.address) {
            let has_seed = answers().any(|(_, other)| other.is_seed);
            return match silent.is_empty() && !has_seed {
                true => Decision::NoSeed,
                false => Decision::Wait { silent },
            };
        }
        if answers().any(|(_, other)| other.is_seed && other.host_id < self.host_id) {
            return Decision::Wait { silent: Vec::new() };
        }
        match silent.is_empty() || found_without_silent {
            true => Decision::Found,
            false => Decision::Wait { silent },
        }
    }
}

#[cfg(test)]
mod tests;
