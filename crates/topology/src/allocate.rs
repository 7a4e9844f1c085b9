//! The choice of a joining node's tokens.
//!
//! Goal: of what the nodes of a datacenter hold (ownership: the tokens of which a node is a replica), no node has much more than the mean, at every size of the
//! cluster, though only the joining node's tokens are chosen and those of the others stay.
//!
//! A node's tokens are chosen one after the other. For each, points in many ranges are tried, and the one is taken that has the least of
//! - the squares of the nodes' distances from an even share, where the joining node's share grows with each of its tokens;
//! - less a little for a range that is cut in the middle. Without this ranges become splinters beside a few giants, until no cut is even any more.
//!
//! A new token takes from the last replica of the range that it cuts, and from replicas of the ranges before: replicas are found as
//! [`crate::strategy::NetworkTopologyStrategy`] finds them (a property test compares the two). Where all nodes hold everything, in a cluster with no more nodes than
//! replicas, the ranges themselves are made even.
//!
//! Rejected: tokens drawn at random, of which 16 spread by 1.5 × the mean and more; and the midpoints of the largest ranges, which is even only where each rack has one replica of everything.

use std::collections::{BTreeMap, BTreeSet};

use crate::ring::Ring;
use crate::token::Token;

/// Of so many ranges, the largest, points are tried; of a quarter of them where there are more.
const RANGES_TRIED_MIN: usize = 512;
/// The points that are tried in each range, as parts of it.
const PARTS: [f64; 3] = [0.25, 0.5, 0.75];
/// Ranges of fewer tokens are not cut: a point beside one that is taken must be in the same range.
const LENGTH_MIN: f64 = 1024.0;
/// The weight of an even cut, of a range of the mean size, against a square of one share. Found by trial.
const CUT_WEIGHT: f64 = 0.0003;
/// All tokens, as a length.
const ALL: f64 = 18_446_744_073_709_551_616.0;

/// A node of the datacenter, by its place in order.
type Member = u16;

/// The tokens of one datacenter, to which nodes are added.
#[derive(Debug, Clone)]
pub struct Allocator {
    replication_factor: usize,
    racks: BTreeMap<String, u16>,
    /// By member.
    rack_of: Vec<u16>,
    /// Ascending; places are tokens counted from the least one.
    ring: Vec<(u64, Member)>,
    /// The tokens of all datacenters.
    taken: BTreeSet<Token>,
}

/// A node that gets its tokens, one from each call of `next`. To take some time between calls is to give other tasks their turn.
#[derive(Debug)]
pub struct Joining<'a> {
    allocator: &'a mut Allocator,
    member: Member,
    given: usize,
    count: usize,
    rules: Rules,
    /// The part of all tokens that a member of this rack holds in the end.
    share: f64,
    /// By member: the part of all tokens that it holds.
    held: Vec<f64>,
}

/// How replicas are found.
#[derive(Debug, Clone, Copy)]
struct Rules {
    replicas: usize,
    /// Replicas that may share a rack with one before.
    repeats: usize,
    has_racks: bool,
}

/// A point for a token.
struct Point {
    place: u64,
    cost: f64,
    gains: Vec<(Member, f64)>,
}

impl Allocator {
    /// The nodes of a datacenter that have tokens. Ownership is counted by this many replicas there.
    pub fn new(ring: &Ring, datacenter: &str, replication_factor: u32) -> Allocator {
        let mut allocator = Allocator {
            replication_factor: replication_factor.max(1) as usize,
            racks: BTreeMap::new(),
            rack_of: Vec::new(),
            ring: Vec::new(),
            taken: ring.owners().iter().map(|&(token, _)| token).collect(),
        };
        for node in ring.nodes().iter().filter(|node| node.datacenter == datacenter && !node.tokens.is_empty()) {
            let member = allocator.add(&node.rack);
            allocator.ring.extend(node.tokens.iter().map(|&token| (place_of(token), member)));
        }
        allocator.ring.sort_unstable();
        allocator
    }

    /// Gives none of these tokens to a node.
    pub fn take(&mut self, tokens: &BTreeSet<Token>) {
        self.taken.extend(tokens);
    }

    /// Adds a node, which gets `count` tokens. Several nodes that join at once are added one after the other.
    pub fn join(&mut self, rack: &str, count: usize) -> Joining<'_> {
        let member = self.add(rack);
        let rules = self.rules();
        let held = self.held(rules);
        Joining { share: self.share(member, rules), member, given: 0, count, rules, held, allocator: self }
    }

    /// The part of all tokens that each node holds, in the order of the ring's nodes and of those that have joined. The sum is the replication factor, or the count
    /// of nodes if there are fewer.
    pub fn ownership(&self) -> Vec<f64> {
        let members = self.rack_of.len();
        let repeats = self.replication_factor.saturating_sub(self.racks.len());
        self.held(Rules { replicas: self.replication_factor.min(members), repeats, has_racks: true })
    }

    fn add(&mut self, rack: &str) -> Member {
        let next = u16::try_from(self.racks.len()).expect("a datacenter has fewer than 2^16 racks");
        let rack = *self.racks.entry(rack.to_owned()).or_insert(next);
        self.rack_of.push(rack);
        u16::try_from(self.rack_of.len() - 1).expect("a datacenter has fewer than 2^16 nodes")
    }

    fn rules(&self) -> Rules {
        match self.rack_of.len() <= self.replication_factor {
            // All nodes hold everything, whatever their tokens: what counts is what comes after.
            true => Rules { replicas: 1, repeats: 0, has_racks: false },
            false => {
                let repeats = self.replication_factor.saturating_sub(self.racks.len());
                Rules { replicas: self.replication_factor, repeats, has_racks: true }
            }
        }
    }

    /// The part of all tokens that each member of the member's rack should hold.
    fn share(&self, member: Member, rules: Rules) -> f64 {
        let (members, racks) = (self.rack_of.len() as f64, self.racks.len());
        if !rules.has_racks {
            return 1.0 / members;
        }
        let rack = self.rack_of[usize::from(member)];
        let in_rack = self.rack_of.iter().filter(|&&other| other == rack).count() as f64;
        let even = rules.replicas as f64 / members;
        match rules.replicas.cmp(&racks) {
            // A rack holds each token once at most.
            std::cmp::Ordering::Less => even.min(1.0 / in_rack),
            std::cmp::Ordering::Equal => 1.0 / in_rack,
            std::cmp::Ordering::Greater => 1.0 / in_rack + rules.repeats as f64 / members,
        }
    }

    /// The length of the range that ends at the token of that index, as a part of all.
    fn length(&self, index: usize) -> f64 {
        match self.ring.len() {
            1 => 1.0,
            count => self.ring[index].0.wrapping_sub(self.ring[(index + count - 1) % count].0) as f64 / ALL,
        }
    }

    fn held(&self, rules: Rules) -> Vec<f64> {
        let (mut held, mut replicas) = (vec![0.0; self.rack_of.len()], Vec::new());
        for index in 0..self.ring.len() {
            self.replicas(rules, index, &mut replicas);
            replicas.iter().for_each(|&member| held[usize::from(member)] += self.length(index));
        }
        held
    }

    /// The replicas of the range that ends at the token of that index.
    fn replicas(&self, rules: Rules, index: usize, found: &mut Vec<Member>) {
        let count = self.ring.len();
        self.walk(rules, (0..count).map(|step| self.ring[(index + step) % count].1), found);
    }

    /// The first members of a walk that may be replicas, and how many were passed.
    fn walk(&self, rules: Rules, members: impl Iterator<Item = Member>, found: &mut Vec<Member>) -> usize {
        found.clear();
        let (mut repeats_left, mut passed) = (rules.repeats, 0);
        for member in members {
            if found.len() == rules.replicas {
                break;
            }
            passed += 1;
            let rack = |member: Member| self.rack_of[usize::from(member)];
            if found.contains(&member) {
                continue;
            }
            if rules.has_racks && found.iter().any(|&other| rack(other) == rack(member)) {
                if repeats_left == 0 {
                    continue;
                }
                repeats_left -= 1;
            }
            found.push(member);
        }
        passed
    }

    /// Notes a token at that place, or at the next one that no node has.
    fn give(&mut self, place: u64, member: Member) -> Token {
        let free = (0..).map(|step| token_of(place.wrapping_add(step)));
        let mut free = free.filter(|&token| token != Token::MIN && !self.taken.contains(&token));
        let token = free.next().expect("there are more tokens than nodes have");
        self.taken.insert(token);
        let place = place_of(token);
        let index = self.ring.partition_point(|&(other, _)| other < place);
        self.ring.insert(index, (place, member));
        token
    }
}

impl Joining<'_> {
    /// The best point of all that are tried; none where no point makes a difference: the rack holds everything through this member.
    fn best(&self) -> Option<Point> {
        let ring = &self.allocator.ring;
        let mut indices: Vec<usize> = (0..ring.len()).collect();
        let tried = RANGES_TRIED_MIN.max(ring.len() / 4);
        if ring.len() > tried {
            indices.sort_by(|&one, &other| self.allocator.length(other).total_cmp(&self.allocator.length(one)));
            indices.truncate(tried);
        }
        let mut trial = Trial::default();
        let points = indices.into_iter().filter_map(|index| trial.best_of_range(self, index));
        points.reduce(|best, point| if point.cost < best.cost { point } else { best })
    }

    /// The square of the distance from what a member should hold, in shares.
    fn distance(&self, member: Member, held: f64) -> f64 {
        let wanted = match member == self.member {
            true => self.share * (self.given + 1) as f64 / self.count as f64,
            false => self.share,
        };
        ((held - wanted) / self.share).powi(2)
    }

    /// The middle of the largest range.
    fn widest(&self) -> u64 {
        let ring = &self.allocator.ring;
        let by_length =
            |one: &usize, other: &usize| self.allocator.length(*one).total_cmp(&self.allocator.length(*other));
        let index = (0..ring.len()).max_by(by_length).expect("a ring with a token has a range");
        start_of(ring, index).wrapping_add((self.allocator.length(index) / 2.0 * ALL) as u64)
    }
}

impl Iterator for Joining<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if self.given == self.count {
            return None;
        }
        let is_first = self.allocator.ring.iter().all(|&(_, member)| member == self.member);
        let best = if is_first { None } else { self.best() };
        let token = match best {
            Some(point) => {
                point.gains.iter().for_each(|&(member, gain)| self.held[usize::from(member)] += gain);
                self.allocator.give(point.place, self.member)
            }
            None => {
                let even = (ALL / self.count as f64 * (self.given as f64 + 0.5)) as u64;
                let token = self.allocator.give(if is_first { even } else { self.widest() }, self.member);
                self.held = self.allocator.held(self.rules);
                token
            }
        };
        self.given += 1;
        Some(token)
    }
}

/// The consequences of a token in one range. Kept from range to range for its memory.
#[derive(Default)]
struct Trial {
    before: Vec<Member>,
    after: Vec<Member>,
    /// Gains of members, below zero where they lose, in the ranges before.
    gains: Vec<(Member, f64)>,
    /// Those that lose what is before the token in its own range.
    losing: Vec<Member>,
}

impl Trial {
    /// The best point of the range that ends at the token of that index.
    fn best_of_range(&mut self, joining: &Joining<'_>, index: usize) -> Option<Point> {
        let allocator = &*joining.allocator;
        let (ring, length) = (&allocator.ring, allocator.length(index));
        if length * ALL < LENGTH_MIN || !self.cut(joining, index) {
            return None;
        }
        let gain_of = |member| self.gains.iter().find(|(of, _)| *of == member).map_or(0.0, |(_, gain)| *gain);
        let held = |member: Member| joining.held[usize::from(member)] + gain_of(member);
        let wanted = joining.share * (joining.given + 1) as f64 / joining.count as f64;
        let exact = [Some(wanted - held(joining.member)), self.losing.first().map(|&of| held(of) - joining.share)];
        let parts = PARTS.iter().map(|part| part * length).chain(exact.into_iter().flatten());
        let mean = 1.0 / ring.len() as f64;
        let cost = |part: f64| {
            let own = [(joining.member, part)].into_iter().chain(self.losing.iter().map(|&member| (member, -part)));
            let of_own =
                |of: Member| own.clone().filter(|(member, _)| *member == of).map(|(_, gain)| gain).sum::<f64>();
            let in_both = self.gains.iter().map(|&(member, gain)| (member, gain + of_own(member)));
            let only_own = own.clone().filter(|(member, _)| self.gains.iter().all(|(of, _)| of != member));
            let change = |(member, gain): (Member, f64)| {
                let held = joining.held[usize::from(member)];
                joining.distance(member, held + gain) - joining.distance(member, held)
            };
            let cut = part * (length - part) * 2.0 / mean.powi(2);
            in_both.chain(only_own).map(change).sum::<f64>() - CUT_WEIGHT * cut
        };
        let points = parts.map(|part| part.clamp(PARTS[0] * length, PARTS[2] * length));
        let costs = points.map(|part| (part, cost(part)));
        let (part, cost) = costs.reduce(|best, point| if point.1 < best.1 { point } else { best })?;
        let mut gains = self.gains.clone();
        add(&mut gains, joining.member, part);
        self.losing.iter().for_each(|&member| add(&mut gains, member, -part));
        Some(Point { place: start_of(ring, index).wrapping_add((part * ALL) as u64), cost, gains })
    }

    /// Works out who gains and loses by a token in that range. False if the place of the token makes no difference.
    fn cut(&mut self, joining: &Joining<'_>, index: usize) -> bool {
        let (allocator, rules) = (&*joining.allocator, joining.rules);
        let ring = &allocator.ring;
        let count = ring.len();
        self.gains.clear();
        allocator.replicas(rules, index, &mut self.before);
        // The first node of a rack fills a place in every range at once, wherever its token is.
        if self.before.contains(&joining.member) || self.before.len() < rules.replicas {
            return false;
        }
        // The ring from the range `back` before the cut on, with the new token in it.
        let walk = |back: usize| {
            (0..=count).map(move |step| match step.cmp(&back) {
                std::cmp::Ordering::Less => ring[(index + count - back + step) % count].1,
                std::cmp::Ordering::Equal => joining.member,
                std::cmp::Ordering::Greater => ring[(index + count - back + step - 1) % count].1,
            })
        };
        allocator.walk(rules, walk(0), &mut self.after);
        self.losing.clear();
        self.losing.extend(self.before.iter().filter(|member| !self.after.contains(member)));
        for back in 1..count {
            let passed = allocator.walk(rules, walk(back), &mut self.after);
            // The new token is not passed, and from ranges before this one neither.
            if passed <= back {
                break;
            }
            let range = (index + count - back) % count;
            let length = allocator.length(range);
            allocator.replicas(rules, range, &mut self.before);
            for &member in self.before.iter().filter(|member| !self.after.contains(member)) {
                add(&mut self.gains, member, -length);
            }
            for &member in self.after.iter().filter(|member| !self.before.contains(member)) {
                add(&mut self.gains, member, length);
            }
        }
        true
    }
}

fn add(gains: &mut Vec<(Member, f64)>, member: Member, gain: f64) {
    match gains.iter_mut().find(|(of, _)| *of == member) {
        Some((_, known)) => *known += gain,
        None => gains.push((member, gain)),
    }
}

/// The place before the first one of the range that ends at the token of that index.
fn start_of(ring: &[(u64, Member)], index: usize) -> u64 {
    ring[(index + ring.len() - 1) % ring.len()].0
}

fn place_of(token: Token) -> u64 {
    (token.0 as u64) ^ (1 << 63)
}

fn token_of(place: u64) -> Token {
    Token((place ^ (1 << 63)) as i64)
}

#[cfg(test)]
mod tests;
