//! The replicas that one request contacts: which are asked, which replace those that fail or are silent, and when the answers suffice.
//!
//! It does nothing itself: it receives answers and the passing of time, and says whom to ask. Each replica is asked once and its answer counts once, be it the
//! first one's or that of a replica asked in addition. Reads use it, and the writes of read repair.

use planted::{Bug, Planted};
use topology::{NodeIndex, Required};

use crate::outcome::{Failure, Refusal};
use crate::plan::{NEARER_MAX, Nodes, brings_nearer, count_towards, is_enough};
use crate::replica::ReplicaError;

/// Where a replica is in a request. `docs/internals/reads.md` has the transitions.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    /// Not asked.
    Spare,
    /// Asked.
    Open {
        /// It has been silent for so long that another is asked in addition.
        is_overdue: bool,
    },
    /// It has answered.
    Answered,
    /// It has said no.
    Refused(ReplicaError),
    /// Its connection ended, or there was none.
    Gone,
}

#[derive(Debug)]
struct Contact {
    node: NodeIndex,
    state: State,
    /// It was asked in addition to one that is silent.
    is_addition: bool,
}

/// The end of a request, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answers suffice.
    Done,
    /// More answers may come.
    Open,
    /// They cannot suffice any more.
    Failed(Failure),
}

/// The replicas of one request.
#[derive(Debug)]
pub(super) struct Contacts<'p> {
    needs: &'p Required,
    nodes: &'p Nodes,
    contacts: Vec<Contact>,
    planted: Planted,
}

impl<'p> Contacts<'p> {
    /// No replica is asked yet; `order` has live replicas, the first to ask first.
    pub(super) fn new(needs: &'p Required, nodes: &'p Nodes, order: &[NodeIndex], planted: Planted) -> Self {
        let contact = |&node| Contact { node, state: State::Spare, is_addition: false };
        Contacts { needs, nodes, contacts: order.iter().map(contact).collect(), planted }
    }

    fn of(&mut self, node: NodeIndex) -> &mut Contact {
        let mut contacts = self.contacts.iter_mut();
        contacts.find(|contact| contact.node == node).expect("an answer comes from a contact")
    }

    /// True if it may give, or has given, an answer that counts in time.
    fn is_counted_on(state: &State) -> bool {
        matches!(state, State::Answered | State::Open { is_overdue: false })
    }

    fn nodes_in(&self, holds: impl Fn(&State) -> bool) -> Vec<NodeIndex> {
        self.contacts.iter().filter(|contact| holds(&contact.state)).map(|contact| contact.node).collect()
    }

    /// The first spare whose answer would count beside those that are counted on, and count most: one of a replica that stays where the range moves counts in both
    /// sets.
    fn spare_beside(&self, counted: &mut Vec<NodeIndex>) -> Option<usize> {
        let mut best = None;
        for (index, contact) in self.contacts.iter().enumerate().filter(|(_, contact)| contact.state == State::Spare) {
            let gain = brings_nearer(self.needs, self.nodes.ring(), counted, contact.node);
            if gain > best.map_or(0, |(_, most)| most) {
                best = Some((index, gain));
            }
            let most = if matches!(self.needs, Required::Halves(_)) { NEARER_MAX } else { 1 };
            if gain == most {
                break;
            }
        }
        let (index, _) = best?;
        counted.push(self.contacts[index].node);
        Some(index)
    }

    /// The replicas to ask now: as few as the level needs beside those that have answered or are expected to. Those are open from now on.
    pub(super) fn ask(&mut self) -> Vec<NodeIndex> {
        let mut counted = self.nodes_in(Self::is_counted_on);
        let has_overdue = self.contacts.iter().any(|contact| contact.state == State::Open { is_overdue: true });
        let mut asked = Vec::new();
        while !is_enough(self.needs, self.nodes.ring(), &counted) {
            let Some(index) = self.spare_beside(&mut counted) else { break };
            asked.push(self.open(index, has_overdue));
        }
        asked
    }

    /// One replica more, whatever the others do.
    pub(super) fn ask_another(&mut self) -> Option<NodeIndex> {
        let index = self.contacts.iter().position(|contact| contact.state == State::Spare)?;
        Some(self.open(index, true))
    }

    fn open(&mut self, index: usize, is_addition: bool) -> NodeIndex {
        let contact = &mut self.contacts[index];
        assert_eq!(contact.state, State::Spare, "a replica is asked once at a time");
        contact.state = State::Open { is_overdue: false };
        contact.is_addition |= is_addition;
        contact.node
    }

    fn end(&mut self, node: NodeIndex, state: State) {
        let contact = self.of(node);
        assert!(matches!(contact.state, State::Open { .. }), "a replica ends what it was asked");
        contact.state = state;
    }

    /// The replica has failed before the request: it is not asked, and its error is among the reasons.
    pub(super) fn exclude(&mut self, node: NodeIndex, error: ReplicaError) {
        if !self.contacts.iter().any(|contact| contact.node == node) {
            self.contacts.push(Contact { node, state: State::Spare, is_addition: false });
        }
        self.ask_this(node);
        self.failed(node, error);
    }

    /// This replica is asked.
    pub(super) fn ask_this(&mut self, node: NodeIndex) {
        let index = self.contacts.iter().position(|contact| contact.node == node).expect("it is a contact");
        self.open(index, false);
    }

    /// The replica has answered.
    pub(super) fn answered(&mut self, node: NodeIndex) {
        self.end(node, State::Answered);
    }

    /// The replica has refused, or is gone.
    pub(super) fn failed(&mut self, node: NodeIndex, error: ReplicaError) {
        let state = if matches!(error, ReplicaError::Gone { .. }) { State::Gone } else { State::Refused(error) };
        self.end(node, state);
    }

    /// An answered replica is asked for something more.
    pub(super) fn reopen(&mut self, node: NodeIndex) {
        let contact = self.of(node);
        assert_eq!(contact.state, State::Answered, "it has answered the first question");
        contact.state = State::Open { is_overdue: false };
    }

    /// The replica's answer is of no use any more: it may be asked again.
    pub(super) fn discard(&mut self, node: NodeIndex) {
        self.end(node, State::Spare);
    }

    /// The replica is silent: another may be asked in addition. Its answer still counts. True if that is news.
    pub(super) fn overdue(&mut self, node: NodeIndex) -> bool {
        let contact = self.of(node);
        let is_news = contact.state == State::Open { is_overdue: false };
        if is_news {
            contact.state = State::Open { is_overdue: true };
        }
        is_news
    }

    /// Those that are asked and not silent.
    pub(super) fn expected(&self) -> Vec<NodeIndex> {
        self.nodes_in(|state| *state == State::Open { is_overdue: false })
    }

    /// Those that have answered.
    pub(super) fn answers(&self) -> Vec<NodeIndex> {
        self.nodes_in(|state| *state == State::Answered)
    }

    /// True if a replica that was not asked could replace one.
    pub(super) fn has_spare(&self) -> bool {
        self.contacts.iter().any(|contact| contact.state == State::Spare)
    }

    /// True if the answers are of those that were asked first, and none of them failed.
    pub(super) fn is_of_first(&self) -> bool {
        let is_other = |contact: &Contact| match contact.state {
            State::Answered => contact.is_addition,
            State::Refused(_) | State::Gone => true,
            State::Spare | State::Open { .. } => false,
        };
        !self.contacts.iter().any(is_other)
    }

    /// True if a replica was asked in addition.
    pub(super) fn has_addition(&self) -> bool {
        self.contacts.iter().any(|contact| contact.is_addition)
    }

    /// The verdict on the answers so far.
    pub(super) fn verdict(&self) -> Verdict {
        let ring = self.nodes.ring();
        let mut answers = self.answers();
        if self.planted.is(Bug::SpeculatedCountedTwice) {
            let is_extra = |contact: &&Contact| contact.is_addition && contact.state == State::Answered;
            let extra: Vec<NodeIndex> = self.contacts.iter().filter(is_extra).map(|contact| contact.node).collect();
            answers.extend(extra);
        }
        if is_enough(self.needs, ring, &answers) {
            return Verdict::Done;
        }
        let possible = self.nodes_in(|state| matches!(state, State::Spare | State::Open { .. } | State::Answered));
        match is_enough(self.needs, ring, &possible) {
            true => Verdict::Open,
            false => Verdict::Failed(self.failure()),
        }
    }

    /// How many of the answers count.
    pub(super) fn received(&self) -> u32 {
        count_towards(self.needs, self.nodes.ring(), &self.answers()).0
    }

    /// Where the refusals alone keep the level from being met it is a failure; where it takes a replica's silence, a time-out.
    fn failure(&self) -> Failure {
        let received = self.received();
        let not_refused = self.nodes_in(|state| !matches!(state, State::Refused(_)));
        if is_enough(self.needs, self.nodes.ring(), &not_refused) {
            return Failure::Timeout { received };
        }
        let refusal = |contact: &Contact| match &contact.state {
            State::Refused(error) => Some(Refusal { node: self.nodes.address(contact.node), error: error.clone() }),
            _ => None,
        };
        let refusals: Vec<Refusal> = self.contacts.iter().filter_map(refusal).collect();
        match refusals.is_empty() {
            true => Failure::Timeout { received },
            false => Failure::Failed { received, refusals },
        }
    }
}

#[cfg(test)]
mod tests;
