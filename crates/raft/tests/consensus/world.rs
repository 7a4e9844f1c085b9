//! A group of voters with their disks and the messages between them. Nothing happens by itself: whoever uses it decides what comes next.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use raft::{
    BarrierId, Configuration, Entry, Envelope, Index, Log, NodeId, Options, Origin, Payload, Raft, Ready, Restart,
    Term, Trouble, Vote,
};

/// A disk, as a voter's driver keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Disk {
    pub vote: Vote,
    pub origin: Origin,
    pub entries: Vec<Entry>,
    pub commit: Index,
    pub is_lost: bool,
}

/// A voter and its disk. `raft` is none while its process is down.
#[derive(Debug, Clone)]
pub struct Node {
    pub raft: Option<Raft>,
    pub disk: Disk,
}

/// All voters, and the messages under way in the order of their sending.
#[derive(Debug, Clone)]
pub struct World {
    /// Shared by the copies of a world until they differ.
    pub nodes: BTreeMap<NodeId, Rc<Node>>,
    pub messages: Vec<Envelope>,
    pub options: Options,
    /// Everything that was ever committed, by index: it must be the same everywhere.
    pub committed: Rc<BTreeMap<Index, Entry>>,
    /// The leader of each term that was seen.
    pub leaders: BTreeMap<Term, NodeId>,
    /// Barriers that were passed and that failed, with their nodes.
    pub barriers: Vec<(NodeId, BarrierId, Option<Index>)>,
    pub troubles: Vec<(NodeId, Trouble)>,
}

pub fn voters(ids: impl IntoIterator<Item = u128>) -> Configuration {
    Configuration::new(ids.into_iter().map(NodeId)).expect("there are voters")
}

impl Disk {
    /// The disk of a voter of a new group.
    pub fn new(configuration: Configuration) -> Disk {
        let origin = Origin { index: Index(0), term: Term(0), leader: None, configuration };
        Disk { vote: Vote::default(), origin, entries: Vec::new(), commit: Index(0), is_lost: false }
    }

    fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        self.entries.retain(|entry| entry.index < first.index);
        self.entries.extend_from_slice(entries);
    }
}

impl World {
    /// Voters with empty logs, in term 0. `others`: nodes that are to become voters.
    pub fn new(configuration: &Configuration, others: &[u128], options: Options) -> World {
        let all = configuration.voters().chain(others.iter().copied().map(NodeId));
        let mut world = World {
            nodes: BTreeMap::new(),
            messages: Vec::new(),
            options,
            committed: Rc::default(),
            leaders: BTreeMap::new(),
            barriers: Vec::new(),
            troubles: Vec::new(),
        };
        for id in all {
            let disk = Disk::new(configuration.clone());
            world.nodes.insert(id, Rc::new(Node { raft: None, disk }));
            world.start(id);
        }
        world
    }

    pub fn raft(&mut self, id: NodeId) -> &mut Raft {
        self.node(id).raft.as_mut().expect("the node runs")
    }

    pub fn node(&mut self, id: NodeId) -> &mut Node {
        Rc::make_mut(self.nodes.get_mut(&id).expect("there is such a node"))
    }

    /// Starts the process from what its disk has.
    pub fn start(&mut self, id: NodeId) {
        let options = self.options;
        let node = self.node(id);
        let Disk { vote, origin, entries, commit, is_lost } = node.disk.clone();
        let log = Log::new(origin, entries).expect("the disk has a log");
        node.raft = Some(Raft::restart(Restart { id, vote, log, commit, applied: Index(0), is_lost }, options));
        self.look(id);
    }

    /// Ends the process: what is not on the disk is gone.
    pub fn stop(&mut self, id: NodeId) {
        self.node(id).raft = None;
    }

    /// Does all that the node wants done.
    pub fn work(&mut self, id: NodeId) {
        while let Some(ready) = self.take(id) {
            self.persist(id, &ready);
            self.finish(id, ready);
        }
    }

    pub fn take(&mut self, id: NodeId) -> Option<Ready> {
        self.node(id).raft.as_mut()?.take()
    }

    /// Entries and vote are durable.
    pub fn persist(&mut self, id: NodeId, ready: &Ready) {
        let disk = &mut self.node(id).disk;
        if let Some(vote) = ready.vote {
            assert!(vote.term >= disk.vote.term, "node {id}: the term fell");
            let may = vote.term > disk.vote.term || disk.vote.voted_for.is_none_or(|old| vote.voted_for == Some(old));
            assert!(may, "node {id} votes twice in term {}", vote.term);
            disk.vote = vote;
        }
        disk.append(&ready.entries);
    }

    /// Messages leave, and what is committed is applied.
    pub fn finish(&mut self, id: NodeId, ready: Ready) {
        self.messages.extend(ready.messages.iter().cloned());
        self.barriers.extend(ready.passed.iter().map(|(barrier, index)| (id, *barrier, Some(*index))));
        self.barriers.extend(ready.failed.iter().map(|barrier| (id, *barrier, None)));
        self.troubles.extend(ready.troubles.iter().cloned().map(|trouble| (id, trouble)));
        let node = self.node(id);
        node.disk.is_lost |=
            ready.troubles.iter().any(|trouble| matches!(trouble, Trouble::LostOwnLog { .. } | Trouble::OlderDisk));
        if let Some(commit) = ready.commit {
            node.disk.commit = node.disk.commit.max(commit);
        }
        node.raft.as_mut().expect("it was asked").advance(&ready);
        for entry in &ready.committed {
            let known = Rc::make_mut(&mut self.committed).entry(entry.index).or_insert_with(|| entry.clone());
            assert_eq!(known, entry, "node {id} applies another entry at {}", entry.index);
        }
        self.look(id);
    }

    /// A message arrives, or is gone where its receiver is down.
    pub fn deliver(&mut self, place: usize) {
        let envelope = self.messages.remove(place);
        if let Some(raft) = self.node(envelope.to).raft.as_mut() {
            let to = envelope.to;
            raft.step(envelope);
            self.look(to);
        }
    }

    /// Delivers messages, and does what nodes want done, until nothing is left, but for messages for which `passes` does not hold.
    pub fn settle(&mut self, passes: impl Fn(&Envelope) -> bool) {
        for _ in 0..10_000 {
            let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
            ids.into_iter().for_each(|id| self.work(id));
            match self.messages.first() {
                None => return,
                Some(first) if passes(first) => self.deliver(0),
                Some(_) => drop(self.messages.remove(0)),
            }
        }
        panic!("the group does not come to rest");
    }

    /// Raft's invariants over all nodes.
    pub fn look(&mut self, changed: NodeId) {
        let Some(raft) = self.nodes.get(&changed).and_then(|node| node.raft.as_ref()) else { return };
        if raft.role() == raft::RoleName::Leader {
            let known = *self.leaders.entry(raft.term()).or_insert(changed);
            assert_eq!(known, changed, "two leaders in term {}", raft.term());
            for (index, entry) in &*self.committed {
                // A leader of an earlier term may still think that it leads.
                let is_later = entry.term < raft.term() && *index > raft.log().origin().index;
                assert!(!is_later || raft.log().entry(*index) == Some(entry), "leader {changed} lacks {index}");
            }
        }
        for (id, node) in &self.nodes {
            let Some(other) = &node.raft else { continue };
            if *id != changed {
                same_prefix(raft.log(), other.log());
            }
        }
    }

    /// One line for each node.
    pub fn status(&self) -> String {
        let mut text = String::new();
        for (id, node) in &self.nodes {
            let Some(raft) = &node.raft else {
                writeln!(text, "{id}: down").expect("a text takes all");
                continue;
            };
            let leader = raft.leader().map_or("-".to_owned(), |leader| leader.to_string());
            let lost = if raft.is_lost() { " lost" } else { "" };
            let log: Vec<String> = raft.log().entries().iter().map(shown).collect();
            writeln!(
                text,
                "{id}: {:?} term {} leader {leader} commit {}{lost} voters {} log {}",
                raft.role(),
                raft.term(),
                raft.commit_index(),
                raft.configuration(),
                if log.is_empty() { "-".to_owned() } else { log.join(" ") },
            )
            .expect("a text takes all");
        }
        text
    }
}

/// Two logs with an entry of the same index and term are the same up to it.
fn same_prefix(a: &Log, b: &Log) {
    let last = a.last_index().min(b.last_index());
    let first = a.origin().index.max(b.origin().index);
    let agree = (first.0..=last.0).rev().map(Index).find(|index| a.term(*index) == b.term(*index));
    let Some(agree) = agree else { return };
    for index in (first.0 + 1..=agree.0).map(Index) {
        assert_eq!(a.entry(index), b.entry(index), "logs that agree at {agree} differ at {index}");
    }
}

/// An entry as `index.term=payload`.
pub fn shown(entry: &Entry) -> String {
    let payload = match &entry.payload {
        Payload::Lead(node) => format!("lead{node}"),
        Payload::Change(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Payload::Voters(voters) => voters.to_string(),
    };
    format!("{}.{}={payload}", entry.index, entry.term)
}
