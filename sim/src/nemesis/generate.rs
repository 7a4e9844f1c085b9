//! Plans from a seed: troubles begin and end in any order, and in the end all is healed.

mod together;

use std::collections::BTreeSet;
use std::time::Duration;

use runtime::sim::Keep;

use super::{Cut, Exchange, Plan, Shape, Step, Timed};
use crate::fault::any_keep;

/// A kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// SIGKILL, and a start later.
    Kill,
    /// A power cut, and a start later.
    PowerCut,
    /// SIGTERM, and a start later.
    Terminate,
    /// SIGSTOP, and SIGCONT later.
    Pause,
    /// Jumps of the wall clock, up to ten minutes forwards or back.
    Skew,
    /// Clocks that run up to 5 % faster or slower.
    Rate,
    /// A power cut, and a start with an empty disk.
    EmptyDisk,
    /// A power cut, and a start with the disk of an earlier moment.
    OlderDisk,
    /// A disk whose operations take up to 300 ms.
    SlowDisk,
    /// A disk that is full, or nearly so.
    FullDisk,
    /// Cuts of one direction: between two nodes, or of all that a node sends or hears.
    OneWay,
    /// One node cut off.
    Isolated,
    /// One datacenter cut off.
    Datacenter,
    /// Two halves cut off from each other.
    Halves,
    /// A–B–C.
    Chain,
    /// Lossy links of a node.
    Lossy,
    /// Resets of a node's connections.
    Reset,
    /// A disk of which some operations fail, and a start of its node when it works again.
    FailingDisk,
    /// A power cut of all nodes at once, and a start of all.
    AllDown,
    /// A rolling restart.
    Rolling,
}

impl Kind {
    /// Those that any cluster bears.
    pub const ALL: [Kind; 17] = [
        Kind::Kill,
        Kind::PowerCut,
        Kind::Terminate,
        Kind::Pause,
        Kind::Skew,
        Kind::Rate,
        Kind::EmptyDisk,
        Kind::OlderDisk,
        Kind::SlowDisk,
        Kind::FullDisk,
        Kind::OneWay,
        Kind::Isolated,
        Kind::Datacenter,
        Kind::Halves,
        Kind::Chain,
        Kind::Lossy,
        Kind::Reset,
    ];

    /// Those that end nodes by more than a step, or have them end by themselves.
    pub const TOGETHER: [Kind; 3] = [Kind::FailingDisk, Kind::AllDown, Kind::Rolling];
}

/// Bounds of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanOptions {
    /// Each node's datacenter, by number.
    pub datacenters: Vec<usize>,
    /// Steps before all is healed.
    pub steps: usize,
    /// Kinds of trouble, each as likely as the others; one that stands here twice is twice as likely.
    pub kinds: Vec<Kind>,
    /// The least time from one step to the next.
    pub gap_min: Duration,
    /// The most.
    pub gap_max: Duration,
    /// Nodes that have never started: the plan starts them, each at any time.
    pub absent: BTreeSet<usize>,
    /// Nodes that are down at the same time, at most, beside the absent ones.
    pub down_max: usize,
    /// Disks that are exchanged in all, at most: more than the replicas can bear loses what was acknowledged, as it must. A node whose disk was
    /// exchanged is left alone when it has been started again.
    pub exchanged_max: usize,
}

/// Ten minutes, microseconds.
const SKEW_MICROS_MAX: i64 = 600_000_000;
/// Room of a disk that is filled, bytes, at most.
const ROOM_BYTES_MAX: usize = 64 << 10;
/// Until nodes have caught up with each other, and until one with an older disk is found out.
const FOUND_OUT_AT_MOST: Duration = Duration::from_secs(15);
/// 5 %.
const RATE_PPM_MAX: i32 = 50_000;

/// The plan of that seed.
pub fn generate(options: &PlanOptions, seed: u64) -> Plan {
    let mut maker = Maker {
        options,
        random: seed,
        down: options.absent.clone(),
        absent: options.absent.clone(),
        paused: BTreeSet::new(),
        skewed: BTreeSet::new(),
        rated: BTreeSet::new(),
        lossy: BTreeSet::new(),
        slow: BTreeSet::new(),
        full: BTreeSet::new(),
        failing: BTreeSet::new(),
        remembered: BTreeSet::new(),
        exchanged: BTreeSet::new(),
        is_cut: false,
        plan: Plan::default(),
    };
    // Bounded, as there may be options by which nothing can begin.
    for _ in 0..options.steps * 20 {
        // As often an end of something as a beginning.
        if maker.below(2) == 0 || !maker.begin() {
            maker.end();
        }
        if maker.plan.steps.len() >= options.steps {
            break;
        }
    }
    maker.heal();
    maker.plan
}

struct Maker<'a> {
    options: &'a PlanOptions,
    random: u64,
    down: BTreeSet<usize>,
    absent: BTreeSet<usize>,
    paused: BTreeSet<usize>,
    skewed: BTreeSet<usize>,
    rated: BTreeSet<usize>,
    lossy: BTreeSet<usize>,
    slow: BTreeSet<usize>,
    full: BTreeSet<usize>,
    failing: BTreeSet<usize>,
    remembered: BTreeSet<usize>,
    exchanged: BTreeSet<usize>,
    is_cut: bool,
    plan: Plan,
}

impl Maker<'_> {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn within(&mut self, most: i64) -> i64 {
        (self.next() % (2 * most as u64 + 1)) as i64 - most
    }

    fn pick(&mut self, from: &BTreeSet<usize>) -> Option<usize> {
        let place = self.below(from.len());
        from.iter().nth(place).copied()
    }

    /// Nodes that have the disk they began with.
    fn present(&self) -> Vec<usize> {
        (0..self.options.datacenters.len()).filter(|node| !self.exchanged.contains(node)).collect()
    }

    /// A node that runs and is not paused.
    fn running(&mut self) -> Option<usize> {
        let running = self.all_running();
        self.pick(&running)
    }

    fn all_running(&self) -> BTreeSet<usize> {
        let present = self.present().into_iter();
        let is_left_alone =
            |node: &usize| self.down.contains(node) || self.paused.contains(node) || self.failing.contains(node);
        present.filter(|node| !is_left_alone(node)).collect()
    }

    /// Nodes that serve no writes, beside those that have never started.
    fn down_count(&self) -> usize {
        self.down.len() - self.absent.len() + self.failing.len()
    }

    fn push(&mut self, step: Step) {
        let span = (self.options.gap_max.saturating_sub(self.options.gap_min)).as_micros() as usize;
        let after = self.options.gap_min + Duration::from_micros(self.below(span + 1) as u64);
        self.plan.steps.push(Timed { after, step });
    }

    /// Steps that follow the one before at once.
    fn push_at_once(&mut self, step: Step) {
        self.plan.steps.push(Timed { after: Duration::ZERO, step });
    }

    /// Begins a trouble; false if the one that was chosen is not possible now.
    fn begin(&mut self) -> bool {
        let place = self.below(self.options.kinds.len());
        let Some(kind) = self.options.kinds.get(place).copied() else { return false };
        match kind {
            Kind::Kill | Kind::PowerCut | Kind::Terminate => self.begin_down(kind),
            Kind::EmptyDisk | Kind::OlderDisk => self.begin_exchange(kind),
            Kind::OneWay | Kind::Isolated | Kind::Datacenter | Kind::Halves | Kind::Chain => self.begin_cut(kind),
            Kind::Pause | Kind::Skew | Kind::Rate | Kind::Lossy | Kind::Reset | Kind::SlowDisk | Kind::FullDisk => {
                self.begin_of_process(kind)
            }
            Kind::FailingDisk | Kind::AllDown | Kind::Rolling => self.begin_together(kind),
        }
    }

    fn begin_down(&mut self, kind: Kind) -> bool {
        if self.down_count() >= self.options.down_max {
            return false;
        }
        let Some(node) = self.running() else { return false };
        let step = match kind {
            Kind::Kill => Step::Kill(node),
            Kind::Terminate => Step::Terminate(node),
            _ => Step::PowerCut(node, any_keep(self.next())),
        };
        self.down.insert(node);
        self.push(step);
        true
    }

    fn begin_exchange(&mut self, kind: Kind) -> bool {
        let mut running = self.all_running();
        if kind == Kind::OlderDisk && !running.is_disjoint(&self.remembered) {
            running.retain(|node| self.remembered.contains(node));
        }
        let Some(node) = self.pick(&running) else { return false };
        if kind == Kind::OlderDisk && !self.remembered.contains(&node) {
            self.remembered.insert(node);
            self.push(Step::Remember(node));
            return true;
        }
        if self.exchanged.len() >= self.options.exchanged_max || self.down_count() >= self.options.down_max {
            return false;
        }
        let keep = any_keep(self.next());
        if kind == Kind::OlderDisk {
            return self.exchange_for_older(node, keep);
        }
        self.exchanged.insert(node);
        self.down.insert(node);
        self.push(Step::PowerCut(node, keep));
        self.push_at_once(Step::ExchangeDisk(node, Exchange::Empty));
        true
    }

    /// An older disk has lost what the node acknowledged. If those that have it still, and know, are away until it is found out, all is lost with it: so
    /// nothing else is wrong meanwhile.
    fn exchange_for_older(&mut self, node: usize, keep: Keep) -> bool {
        let is_calm = self.down_count() == 0 && self.paused.is_empty() && !self.is_cut;
        let works = self.lossy.is_empty() && self.slow.is_empty() && self.full.is_empty();
        if !(is_calm && works) {
            return false;
        }
        let image = Exchange::Earlier(any_keep(self.next()));
        self.exchanged.insert(node);
        self.plan.steps.push(Timed { after: FOUND_OUT_AT_MOST, step: Step::PowerCut(node, keep) });
        self.push_at_once(Step::ExchangeDisk(node, image));
        self.push(Step::Start(node));
        // No link is cut: it passes the time.
        self.plan.steps.push(Timed { after: FOUND_OUT_AT_MOST, step: Step::Join });
        true
    }

    fn begin_cut(&mut self, kind: Kind) -> bool {
        let present = self.shuffled();
        let [node, other, ..] = present[..] else { return false };
        let shape = match (kind, self.below(3)) {
            (Kind::OneWay, 0) => Shape::OneWay { from: node, to: other },
            (Kind::OneWay, 1) => Shape::Mute { node },
            (Kind::OneWay, _) => Shape::Deaf { node },
            (Kind::Isolated, _) => Shape::Isolated { node },
            (Kind::Datacenter, _) if self.options.datacenters.iter().collect::<BTreeSet<_>>().len() > 1 => {
                Shape::Datacenter { number: self.options.datacenters[node] }
            }
            (Kind::Datacenter, _) => return false,
            (Kind::Chain, _) if present.len() < 3 => return false,
            (Kind::Chain, _) => Shape::Chain { order: present },
            _ => {
                let size = 1 + self.below(present.len() - 1);
                Shape::Halves { first: present[..size].to_vec() }
            }
        };
        let parts_clients = self.below(3) == 0;
        self.is_cut = true;
        self.push(Step::Cut(Cut { shape, parts_clients }));
        true
    }

    /// The nodes of [`Maker::present`] in any order.
    fn shuffled(&mut self) -> Vec<usize> {
        let mut all = self.present();
        for place in (1..all.len()).rev() {
            let other = self.below(place + 1);
            all.swap(place, other);
        }
        all
    }

    fn begin_of_process(&mut self, kind: Kind) -> bool {
        let Some(node) = self.running() else { return false };
        let step = match kind {
            Kind::Pause => {
                self.paused.insert(node);
                Step::Pause(node)
            }
            Kind::Skew => {
                self.skewed.insert(node);
                Step::Skew(node, self.within(SKEW_MICROS_MAX))
            }
            Kind::Rate => {
                self.rated.insert(node);
                self.skewed.insert(node);
                Step::Rate(node, self.within(i64::from(RATE_PPM_MAX)) as i32)
            }
            Kind::Lossy => {
                self.lossy.insert(node);
                Step::Lossy(node)
            }
            Kind::SlowDisk => {
                self.slow.insert(node);
                Step::SlowDisk(node)
            }
            Kind::FullDisk => {
                self.full.insert(node);
                let room = if self.below(2) == 0 { 0 } else { self.below(ROOM_BYTES_MAX) };
                Step::FillDisk(node, room as u64)
            }
            _ => Step::Reset(node),
        };
        self.push(step);
        true
    }

    /// Ends one of the troubles, if there is any.
    fn end(&mut self) {
        let mut ends: Vec<Step> = self.down.iter().map(|node| Step::Start(*node)).collect();
        ends.extend(self.paused.iter().map(|node| Step::Resume(*node)));
        ends.extend(self.rated.iter().map(|node| Step::Rate(*node, 0)));
        // A clock with a rate would not stay right.
        let steady = self.skewed.difference(&self.rated);
        ends.extend(steady.map(|node| Step::Skew(*node, 0)));
        ends.extend(self.lossy.iter().map(|node| Step::Lossless(*node)));
        ends.extend(self.slow.iter().map(|node| Step::FastDisk(*node)));
        ends.extend(self.full.iter().map(|node| Step::FreeDisk(*node)));
        ends.extend(self.failing.iter().map(|node| Step::MendDisk(*node)));
        ends.extend(self.is_cut.then_some(Step::Join));
        let place = self.below(ends.len());
        if let Some(step) = ends.into_iter().nth(place) {
            self.ended(&step);
            let mended = if let Step::MendDisk(node) = step { Some(node) } else { None };
            self.push(step);
            if let Some(node) = mended {
                self.restart_after_failing(node);
            }
        }
    }

    fn ended(&mut self, step: &Step) {
        match step {
            Step::Start(node) => {
                self.absent.remove(node);
                self.down.remove(node)
            }
            Step::Resume(node) => self.paused.remove(node),
            Step::Rate(node, _) => self.rated.remove(node),
            Step::Skew(node, _) => self.skewed.remove(node),
            Step::Lossless(node) => self.lossy.remove(node),
            Step::FastDisk(node) => self.slow.remove(node),
            Step::FreeDisk(node) => self.full.remove(node),
            Step::MendDisk(node) => self.failing.remove(node),
            _ => std::mem::replace(&mut self.is_cut, false),
        };
    }

    /// Ends all that is left: first the network, disks and clocks, then paused processes, then nodes that are down.
    fn heal(&mut self) {
        self.push(Step::Join);
        let mut ends: Vec<Step> = self.lossy.iter().map(|node| Step::Lossless(*node)).collect();
        ends.extend(self.slow.iter().map(|node| Step::FastDisk(*node)));
        ends.extend(self.full.iter().map(|node| Step::FreeDisk(*node)));
        ends.extend(self.rated.iter().map(|node| Step::Rate(*node, 0)));
        ends.extend(self.skewed.iter().map(|node| Step::Skew(*node, 0)));
        ends.extend(self.failing.iter().map(|node| Step::MendDisk(*node)));
        ends.extend(self.paused.iter().map(|node| Step::Resume(*node)));
        ends.extend(self.failing.iter().map(|node| Step::Kill(*node)));
        ends.extend(self.down.iter().chain(&self.failing).map(|node| Step::Start(*node)));
        ends.into_iter().for_each(|step| self.push_at_once(step));
    }
}
