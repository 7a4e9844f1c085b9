//! Histories of chance of a group's nodes: messages lost, late and doubled, datacenters cut off, processes that end between any two parts of their work,
//! disks and shards that take their time, voters that change. Whatever happens, all nodes apply one sequence, and in peace each proposal is answered.

use proptest::prelude::*;
use raft::NodeId;

use super::members::{BACK, OPTIONS, TakeOnce, World};
use crate::group::GroupMessage;

/// A seed's history has at least so many changes that were applied.
const CHANGES_MIN: usize = 20;
/// And so many ends of processes and cuts between datacenters.
const FAULTS_MIN: usize = 3;
/// More steps than any seed needs for that.
const STEPS_MAX: usize = 100_000;

/// Steps of chance, then peace.
struct Chance {
    world: World,
    ids: Vec<NodeId>,
    faults: usize,
}

impl Chance {
    fn new(seed: u64) -> Chance {
        let mut world = World::new(3 + u128::from(seed % 3), seed);
        world.settle(2);
        world.vote_by(&[1, 2, 3]);
        let ids = world.nodes.keys().copied().collect();
        Chance { world, ids, faults: 0 }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.world.random(below)
    }

    fn node(&mut self) -> NodeId {
        let place = self.random(self.ids.len() as u64) as usize;
        self.ids[place]
    }

    /// Has the node work: it does all, or only takes it and goes on while its disk is busy, or its process ends between two parts.
    fn work(&mut self, id: NodeId) {
        match self.random(300) {
            0 => {
                let ends = self.random(3);
                self.world.work(id, Some(ends));
                self.faults += usize::from(self.world.nodes[&id].member.is_none());
            }
            1..=100 => drop(self.world.take(id)),
            _ => self.world.work(id, None),
        }
    }

    fn step(&mut self) {
        let id = self.node();
        if self.world.nodes[&id].member.is_none() {
            if self.random(10) == 0 {
                self.world.start(id);
            }
            return;
        }
        match self.world.random(24) {
            0..=5 => {
                self.world.member(id).expect("it runs").elapse(&TakeOnce);
                self.work(id);
            }
            6 => {
                let name = self.random(12) as u8 | if self.random(2) == 0 { BACK } else { 0 };
                self.world.propose(id, name);
                self.work(id);
            }
            7 if self.random(15) == 0 => {
                self.world.stop(id);
                self.faults += 1;
            }
            8 if self.random(20) == 0 => {
                self.world.is_cut = !self.world.is_cut;
                self.faults += usize::from(self.world.is_cut);
            }
            9 if self.random(10) == 0 && self.world.nodes[&id].under_way.is_none() => self.world.compact(id),
            10 => {
                let epoch = self.world.member(id).expect("it runs").state().epoch();
                let to = self.node();
                self.world.messages.push((id, to, GroupMessage::Applied { epoch }));
            }
            11 if self.random(20) == 0 => self.change_voters(),
            12 if self.random(10) == 0 => {
                let heir = self.node();
                // It may not lead, or hand over to itself.
                let _ = self.world.member(id).expect("it runs").transfer(heir);
            }
            13 if self.random(3) == 0 => {
                let peers: Vec<(NodeId, bool)> =
                    self.ids.clone().into_iter().map(|id| (id, self.random(4) > 0)).collect();
                self.world.member(id).expect("it runs").set_peers(peers);
            }
            14 => {
                let handed = self.world.nodes[&id].handed;
                self.world.member(id).expect("it runs").applied_on_all(handed);
            }
            _ => self.message(),
        }
    }

    fn change_voters(&mut self) {
        let last = self.ids.len() as u128;
        let sets: [&[u128]; 5] = [&[1, 2, 3], &[2, 3, last], &[1, 3, last], &[2], &[last]];
        let voters = sets[self.random(5) as usize].iter().copied().map(NodeId).collect();
        if let Some(leader) = self.world.leader() {
            // Another change may be under way.
            let _ = self.world.member(leader).expect("it runs").change_voters(&voters);
            self.work(leader);
        }
    }

    /// A message arrives, or twice, or is lost. Those of a link arrive in their order. A copy of a proposal arrives once: the transport sends none again.
    fn message(&mut self) {
        let count = self.world.messages.len() as u64;
        if count == 0 {
            return;
        }
        let place = self.random(count) as usize;
        let (from, to, _) = self.world.messages[place];
        let first = self.world.messages.iter().position(|of| (of.0, of.1) == (from, to)).expect("it is there");
        match self.random(60) {
            0 => drop(self.world.messages.remove(first)),
            1 if !matches!(self.world.messages[first].2, GroupMessage::Propose { .. }) => {
                let again = self.world.messages[first].clone();
                self.world.messages.insert(first, again);
            }
            _ => {}
        }
        if self.world.messages.get(first).is_some() {
            let to = self.world.deliver(first);
            self.work(to);
        }
    }

    fn changes(&self) -> usize {
        self.world.proposals.values().filter(|(_, applied)| applied.is_some()).count()
    }

    /// Nothing is lost any more, and all nodes run.
    fn make_peace(&mut self) {
        (self.world.is_cut, self.world.are_shards_slow) = (false, false);
        for id in self.ids.clone() {
            if self.world.nodes[&id].member.is_none() {
                self.world.start(id);
            }
            let peers: Vec<(NodeId, bool)> = self.ids.iter().map(|id| (*id, true)).collect();
            let member = self.world.member(id).expect("it runs");
            member.set_peers(peers);
            self.world.work(id, None);
            let handed = self.world.nodes[&id].handed;
            self.world.member(id).expect("it runs").applied_on_all(handed);
        }
        self.world.settle(OPTIONS.give_up_ticks + 20);
    }

    /// Gives the number of steps.
    fn live(&mut self) -> usize {
        self.world.are_shards_slow = true;
        let mut steps = 0;
        while self.changes() < CHANGES_MIN || self.faults < FAULTS_MIN {
            steps += 1;
            assert!(steps < STEPS_MAX, "{} changes and {} faults in all these steps", self.changes(), self.faults);
            self.step();
        }
        self.make_peace();
        steps
    }
}

/// Seeds that are run: many more in a soak.
fn cases() -> u32 {
    if std::env::var_os("HELENUS_SOAK").is_some() { 20_000 } else { 60 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_there_is_one_sequence(seed in any::<u64>()) {
        let mut chance = Chance::new(seed);
        chance.live();
        let world = &chance.world;
        world.check_answers();
        prop_assert_eq!(world.epochs().len(), 1, "all have all of it: {:?}", world.epochs());
        prop_assert!(world.leader().is_some());
        // The nodes that ended have forgotten what they asked for; all others were answered.
        prop_assert!(world.asked.is_empty(), "{:?}", world.asked);
    }
}
