//! The scenario `members`: who is up, as each node of a small cluster judges it, against the truth that the harness makes.
//!
//! A run is a row of episodes. Each makes one trouble, or two, knows from it which nodes hear each other, heals it, and waits until all agree again:
//!
//! ```text
//! all ready ─▶ ( trouble ─▶ the judgements are those of the truth, in time ─▶ it lasts, and they stay so ─▶ healed ─▶ all up, in time ─▶ clocks ) × 5
//!   ─▶ ( a node leaves ─▶ it is gone for all ─▶ started again, it is refused ) × 1 to all but one ─▶ the events of all clients
//! ```
//!
//! | what holds | bound in world's time |
//! |---|---|
//! | a node that is dead, stopped or cut off, in one direction or both, is down for those that it is cut off from | [`DOWN_AT_MOST`] |
//! | nodes that hear each other all along stay up for each other, whatever happens to others and to wall clocks | always |
//! | a node that was stopped for a while takes no other for dead: none is down for it after less than [`PAUSE_SHORT_MAX`], and none is convicted after more | always |
//! | after healing all nodes are up for all | [`UP_AT_MOST`] |
//! | the offset of a clock is right within its error | a second after all agree |
//! | a node that was decommissioned, or killed and removed, is gone for all others when its operator is answered, and its data is refused | always |
//! | events of a node alternate on each connection, speak of nodes that `system.peers` has, and agree with the judgement at the end; one that leaves is removed once | |

mod departures;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use planted::Planted;
use runtime::Instant;

use crate::checker::members::{Departed, Seen, clock_is_wrong, judge_events};
use crate::client::Client;
use crate::cluster::NodeOptions;
use crate::group_site::GroupSite;
use crate::nemesis::{Cut, Nemesis, Plan, Shape, Step, Timed};
use crate::site::Site;
use crate::workload::{NodeEvents, SharedNodeEvents, listen_to_nodes};

/// Nodes of each datacenter.
const SHAPES: [&[usize]; 4] = [&[3], &[5], &[2, 2], &[4]];
/// Shapes of clusters, of which each seed has the next.
pub const SHAPE_COUNT: u64 = SHAPES.len() as u64;
/// Troubles of a run.
const EPISODES: usize = 5;
/// Until a node that does not answer is down: the greatest limit at the default threshold, a round, and clocks that run 5 % slow.
const DOWN_AT_MOST: Duration = Duration::from_millis(11_000);
/// Until nodes that hear each other again are up: a handshake that hangs, the longest rest before the next one, and two pongs.
const UP_AT_MOST: Duration = Duration::from_secs(8);
/// The longest stop after which no node is down for the one that was stopped: others close its connections later.
const PAUSE_SHORT_MAX: Duration = Duration::from_secs(8);
/// The longest until all nodes of a cluster in which nothing is wrong are ready.
const READY_AT_MOST: Duration = Duration::from_secs(120);
/// The longest that a node which runs may take to answer its operator.
const ANSWER_AT_MOST: Duration = Duration::from_secs(2);
/// Between two looks.
const AGAIN: Duration = Duration::from_millis(200);
/// Time for a new cluster to get its voters, and for its clients to have the addresses of all.
const SETTLE: Duration = Duration::from_secs(5);
const SKEW_MICROS_MAX: u64 = 600_000_000;
const RATE_PPM_MAX: u64 = 50_000;

/// Marks that many runs of all kinds reach each.
pub const MARKS: [&str; 14] = [
    "chain held",
    "clocks contradict",
    "connection reset on the way",
    "cut of one direction held",
    "deaf node held",
    "halves held",
    "isolated node held",
    "leader that leaves hands over",
    "liveness judged late",
    "mute node held",
    "node convicted",
    "node down by its connection",
    "peer watched late",
    "removed node learns of it",
];

/// The outcome of a seed.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Sentences about what does not hold.
    pub violations: Vec<String>,
    /// Equal for equal seeds.
    pub trace_hash: u64,
    /// Troubles that were made.
    pub troubles: usize,
    /// Nodes that left.
    pub departures: usize,
    /// Events that clients got.
    pub events: usize,
    /// The longest from the beginning of a trouble until all who had to took its node for dead.
    pub down_at_most: Duration,
    /// The longest from its end until all nodes were up for all.
    pub up_at_most: Duration,
    /// The marks that were reached.
    pub marks: BTreeMap<&'static str, u64>,
}

/// The outcome of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Seeds that were run.
    pub seeds: u64,
    /// Those of them that were run twice.
    pub twice: u64,
    /// Troubles of all.
    pub troubles: usize,
    /// Nodes that left, of all.
    pub departures: usize,
    /// Events of all.
    pub events: usize,
    /// The longest until a node was down, and until all were up.
    pub down_at_most: Duration,
    /// The longest until all were up.
    pub up_at_most: Duration,
    /// Marks of all.
    pub marks: BTreeMap<&'static str, u64>,
    /// Seeds that failed, with their sentences.
    pub failures: Vec<(u64, Vec<String>)>,
}

/// Runs seeds from `first` on, until `count` of them are done or the time is over; one of `twice_every` twice.
pub fn random(first: u64, count: u64, at_most: Duration, twice_every: u64, planted: Planted) -> Totals {
    let began = std::time::Instant::now();
    let mut totals = Totals::default();
    for seed in first..first.saturating_add(count) {
        if began.elapsed() >= at_most || totals.failures.len() >= 3 {
            break;
        }
        let mut outcome = run(seed, planted);
        if seed.is_multiple_of(twice_every) {
            totals.twice += 1;
            let again = run(seed, planted).trace_hash;
            if again != outcome.trace_hash {
                outcome.violations.push(format!("two runs differ: {:x} and {again:x}", outcome.trace_hash));
            }
        }
        totals.seeds += 1;
        totals.troubles += outcome.troubles;
        totals.departures += outcome.departures;
        totals.events += outcome.events;
        totals.down_at_most = totals.down_at_most.max(outcome.down_at_most);
        totals.up_at_most = totals.up_at_most.max(outcome.up_at_most);
        outcome.marks.into_iter().for_each(|(name, count)| *totals.marks.entry(name).or_default() += count);
        if !outcome.violations.is_empty() {
            totals.failures.push((seed, outcome.violations));
        }
    }
    totals
}

/// Runs one seed.
pub fn run(seed: u64, planted: Planted) -> Outcome {
    stdx::marks::take();
    let shape = SHAPES[(seed % SHAPE_COUNT) as usize];
    let site = GroupSite::new(seed, shape, 1, NodeOptions { planted, ..NodeOptions::default() });
    let mut run = MembersRun {
        site,
        random: seed,
        dead: BTreeSet::new(),
        gone: BTreeSet::new(),
        paused: BTreeSet::new(),
        cut: None,
        has_rates: false,
        events: Vec::new(),
        outcome: Outcome::default(),
    };
    if let Err(what) = run.stages(seed) {
        run.outcome.violations.push(what);
    }
    let MembersRun { mut site, mut outcome, .. } = run;
    outcome.trace_hash = site.world().trace_hash();
    outcome.marks = stdx::marks::take();
    outcome
}

/// A trouble.
#[derive(Debug, Clone)]
enum Trouble {
    /// Links are cut, and perhaps a node ends too.
    Cut(Shape, Option<Step>),
    /// A node ends: killed, without power, or in order.
    Down(Step),
    /// A process is stopped for so long.
    Pause(usize, Duration),
    /// Wall clocks jump and run at other rates.
    Clocks(Vec<Step>),
    /// All connections of a node are reset.
    Reset(usize),
    /// Links of a node are bad.
    Lossy(usize),
}

struct MembersRun {
    site: GroupSite,
    random: u64,
    dead: BTreeSet<usize>,
    /// Nodes that have left the cluster.
    gone: BTreeSet<usize>,
    paused: BTreeSet<usize>,
    cut: Option<Cut>,
    has_rates: bool,
    events: Vec<SharedNodeEvents>,
    outcome: Outcome,
}

/// Judgements: of the first node about the second.
type Looks = BTreeMap<(usize, usize), Seen>;

impl MembersRun {
    /// A number of the seed below `bound`: SplitMix64.
    fn below(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(least + self.below(most - least + 1))
    }

    fn count(&self) -> usize {
        self.site.nodes().len()
    }

    fn now(&mut self) -> Instant {
        self.site.world().now()
    }

    fn stages(&mut self, seed: u64) -> Result<(), String> {
        let nodes = self.count();
        (0..nodes).for_each(|node| self.site.begin_start(node));
        self.ready("at the beginning")?;
        self.site.world().run_for(SETTLE);
        for node in 0..nodes {
            let (clients, address, events) =
                (self.site.clients(), self.site.native_address(node), NodeEvents::shared());
            self.events.push(events.clone());
            let main = move |runtime| listen_to_nodes(runtime, address, events);
            drop(self.site.world().start(clients, false, vec![main]));
        }
        self.agree("at the beginning", UP_AT_MOST)?;
        for episode in 0..EPISODES {
            let trouble = self.trouble(seed.wrapping_add(episode as u64 * 3));
            let what = format!("episode {episode}, {trouble:?}");
            self.outcome.troubles += 1;
            self.episode(&trouble, &what)?;
            self.check_clocks(&what)?;
        }
        let registered = self.events.iter().map(|events| events.borrow().connections.len()).collect::<Vec<_>>();
        self.departures()?;
        self.check_events(&registered)
    }

    fn trouble(&mut self, kind: u64) -> Trouble {
        let nodes = self.count();
        let mut order: Vec<usize> = (0..nodes).collect();
        for place in (1..nodes).rev() {
            let other = self.below(place as u64 + 1) as usize;
            order.swap(place, other);
        }
        let (node, other) = (order[0], order[1]);
        let end = match self.below(3) {
            0 => Step::Kill(node),
            1 => Step::PowerCut(node, crate::fault::any_keep(self.random)),
            _ => Step::Terminate(node),
        };
        match kind % 11 {
            0 => Trouble::Cut(Shape::OneWay { from: node, to: other }, None),
            1 => Trouble::Pause(node, self.millis(1_000, PAUSE_SHORT_MAX.as_millis() as u64)),
            2 => Trouble::Cut(Shape::Mute { node }, None),
            3 => Trouble::Clocks(self.clocks()),
            4 => Trouble::Cut(Shape::Chain { order }, None),
            5 => Trouble::Down(end),
            6 => Trouble::Cut(Shape::Deaf { node }, None),
            7 => Trouble::Pause(node, self.millis(12_000, 30_000)),
            8 if self.below(2) == 0 => Trouble::Reset(node),
            8 => Trouble::Lossy(node),
            9 => Trouble::Cut(Shape::Isolated { node: other }, Some(end)),
            _ => {
                let size = 1 + self.below(nodes as u64 - 1) as usize;
                Trouble::Cut(Shape::Halves { first: order[..size].to_vec() }, None)
            }
        }
    }

    fn clocks(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for node in 0..self.count() {
            let sign = |random: u64, most: u64| (random % (2 * most + 1)) as i64 - most as i64;
            let (skew, rate) = (self.below(u64::MAX), self.below(u64::MAX));
            if self.below(2) == 0 {
                steps.push(Step::Skew(node, sign(skew, SKEW_MICROS_MAX)));
            }
            if self.below(3) == 0 {
                steps.push(Step::Rate(node, sign(rate, RATE_PPM_MAX) as i32));
            }
        }
        steps
    }

    fn episode(&mut self, trouble: &Trouble, what: &str) -> Result<(), String> {
        let (begins, ends) = self.steps(trouble);
        let count = begins.len();
        let steps = begins.into_iter().chain(ends).map(|step| Timed { after: Duration::ZERO, step }).collect();
        let mut nemesis = Nemesis::new(Plan { steps }, self.site.world());
        for _ in 0..count {
            nemesis.step(&mut self.site)?;
        }
        let began = self.now();
        self.note(trouble, true);
        match trouble {
            Trouble::Pause(_, time) if *time <= PAUSE_SHORT_MAX => self.site.world().run_for(*time),
            Trouble::Pause(node, time) => {
                let down = self.is_so(what, DOWN_AT_MOST)?;
                self.outcome.down_at_most = self.outcome.down_at_most.max(down);
                self.site.world().run_for(time.saturating_sub(down));
                assert!(self.paused.contains(node), "it is stopped until its end");
            }
            Trouble::Lossy(_) | Trouble::Reset(_) => {
                let time = self.millis(500, 8_000);
                self.site.world().run_for(time);
            }
            Trouble::Cut(..) | Trouble::Down(_) | Trouble::Clocks(_) => {
                let down = self.is_so(what, DOWN_AT_MOST)?;
                self.outcome.down_at_most = self.outcome.down_at_most.max(down);
                let time = self.millis(500, 8_000);
                self.site.world().run_for(time);
                self.must_be_so(what, began)?;
            }
        }
        while nemesis.due().is_some() {
            nemesis.step(&mut self.site)?;
        }
        self.note(trouble, false);
        if let Trouble::Pause(node, time) = trouble {
            self.after_pause(*node, *time, what)?;
        }
        self.ready(what)?;
        let up = self.agree(what, UP_AT_MOST)?;
        self.outcome.up_at_most = self.outcome.up_at_most.max(up);
        Ok(())
    }

    /// The steps that begin the trouble, and those that end it.
    fn steps(&mut self, trouble: &Trouble) -> (Vec<Step>, Vec<Step>) {
        let ended = |end: &Step| match end {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) => Step::Start(*node),
            other => unreachable!("{other:?} ends no node"),
        };
        match trouble {
            Trouble::Cut(shape, end) => {
                let cut = Step::Cut(Cut { shape: shape.clone(), parts_clients: false });
                let begins = std::iter::once(cut).chain(end.clone()).collect();
                (begins, std::iter::once(Step::Join).chain(end.as_ref().map(ended)).collect())
            }
            Trouble::Down(end) => (vec![end.clone()], vec![ended(end)]),
            Trouble::Pause(node, _) => (vec![Step::Pause(*node)], vec![Step::Resume(*node)]),
            Trouble::Clocks(steps) => {
                // Half of them stay wrong.
                let stays = self.below(2) == 0;
                let right = |step: &Step| match step {
                    Step::Rate(node, _) => Some(Step::Rate(*node, 0)),
                    Step::Skew(node, _) if !stays => Some(Step::Skew(*node, 0)),
                    _ => None,
                };
                (steps.clone(), steps.iter().filter_map(right).collect())
            }
            Trouble::Reset(node) => (vec![Step::Reset(*node)], Vec::new()),
            Trouble::Lossy(node) => (vec![Step::Lossy(*node)], vec![Step::Lossless(*node)]),
        }
    }

    /// Takes note of the truth.
    fn note(&mut self, trouble: &Trouble, begins: bool) {
        let ended = |end: &Step| match end {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) => Some(*node),
            _ => None,
        };
        self.has_rates = begins && matches!(trouble, Trouble::Clocks(_));
        self.dead.clear();
        self.paused.clear();
        self.cut = None;
        if !begins {
            return;
        }
        match trouble {
            Trouble::Cut(shape, end) => {
                self.cut = Some(Cut { shape: shape.clone(), parts_clients: false });
                self.dead.extend(end.as_ref().and_then(ended));
            }
            Trouble::Down(end) => self.dead.extend(ended(end)),
            Trouble::Pause(node, _) => _ = self.paused.insert(*node),
            Trouble::Clocks(_) | Trouble::Reset(_) | Trouble::Lossy(_) => {}
        }
    }

    /// True if the two hear each other.
    fn hear_each_other(&self, one: usize, other: usize) -> bool {
        let is_away = |node| self.dead.contains(&node) || self.paused.contains(&node);
        let datacenter = |node: usize| self.site.datacenter(node);
        let is_cut = |from, to| self.cut.as_ref().is_some_and(|cut| cut.parts(from, to, &datacenter));
        !is_away(one) && !is_away(other) && !is_cut(one, other) && !is_cut(other, one)
    }

    /// The judgements of all nodes that can be asked.
    fn look(&mut self) -> Result<Looks, String> {
        let mut looks = Looks::new();
        for judge in self.present() {
            if self.dead.contains(&judge) || self.paused.contains(&judge) {
                continue;
            }
            let facts = self.site.facts(judge, ANSWER_AT_MOST);
            let facts = facts.ok_or_else(|| format!("node {judge} does not answer its operator"))?;
            for node in facts.ring.iter().filter(|node| !node.is_local) {
                let of = self.present().find(|other| self.site.native_address(*other).ip() == node.endpoint);
                let of =
                    of.ok_or_else(|| format!("node {judge} knows {}, which is none, or has left", node.endpoint))?;
                let life = node.life.as_ref().ok_or_else(|| format!("node {judge} does not judge node {of}"))?;
                looks.insert((judge, of), Seen::of(node.is_up, life));
            }
        }
        Ok(looks)
    }

    /// Judgements that are not those of the truth.
    fn differences(&self, looks: &Looks) -> Vec<String> {
        let mut differences = Vec::new();
        for judge in self.present().filter(|node| !self.dead.contains(node) && !self.paused.contains(node)) {
            for of in self.present().filter(|of| *of != judge) {
                let is_up = looks.get(&(judge, of)).map(|seen| seen.is_up);
                let should = self.hear_each_other(judge, of);
                if is_up != Some(should) {
                    let seen = looks.get(&(judge, of));
                    differences.push(format!("for node {judge} node {of} should be up: {should}, and is {seen:?}"));
                }
            }
        }
        differences
    }

    /// Waits until all judge by the truth. Gives the time that it took.
    fn is_so(&mut self, what: &str, at_most: Duration) -> Result<Duration, String> {
        let began = self.now();
        loop {
            let looks = self.look()?;
            let (differences, passed) = (self.differences(&looks), self.now() - began);
            if differences.is_empty() {
                return Ok(passed);
            }
            if passed >= at_most {
                return Err(format!("{what}: not after {passed:?}: {differences:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
    }

    /// The judgements are those of the truth, and nodes that have heard each other since then have been up for each other since then.
    fn must_be_so(&mut self, what: &str, began: Instant) -> Result<(), String> {
        let looks = self.look()?;
        let (mut wrong, passed) = (self.differences(&looks), self.now() - began);
        for ((judge, of), seen) in &looks {
            // A clock may run slow.
            let since = seen.since.mul_f64(1.0 + 2.0 * RATE_PPM_MAX as f64 / 1e6) + AGAIN;
            if self.hear_each_other(*judge, *of) && since < passed {
                wrong.push(format!("for node {judge} node {of} was down for a while, which it hears: {seen:?}"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{what}: after {passed:?}: {wrong:?}")) }
    }

    /// The one that was stopped takes no other for dead.
    fn after_pause(&mut self, node: usize, time: Duration, what: &str) -> Result<(), String> {
        let began = self.now();
        while self.now() - began < Duration::from_secs(3) {
            let looks = self.look()?;
            for ((judge, of), seen) in looks.into_iter().filter(|((judge, _), _)| *judge == node) {
                let is_wrong = seen.verdict == "convicted" || (time <= PAUSE_SHORT_MAX && seen.since < time);
                if is_wrong {
                    return Err(format!("{what}: node {judge} was stopped, and took node {of} for dead: {seen:?}"));
                }
            }
            self.site.world().run_for(AGAIN);
        }
        Ok(())
    }

    /// Waits until all nodes are up for all.
    fn agree(&mut self, what: &str, at_most: Duration) -> Result<Duration, String> {
        assert!(self.dead.is_empty() && self.paused.is_empty() && self.cut.is_none(), "all is healed");
        self.is_so(&format!("{what}, healed"), at_most)
    }

    fn ready(&mut self, what: &str) -> Result<(), String> {
        let began = self.now();
        while let Some(late) = (0..self.count()).find(|node| !self.site.is_ready(*node)) {
            if let Some(sentence) = self.site.take_refusal(late) {
                return Err(format!("{what}: node {late} has ended by itself: {sentence}"));
            }
            if self.now() - began >= READY_AT_MOST {
                return Err(format!("{what}: node {late} is not ready within {READY_AT_MOST:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
        Ok(())
    }

    /// The offsets of all clocks are right, once each has been heard again.
    fn check_clocks(&mut self, what: &str) -> Result<(), String> {
        self.site.world().run_for(Duration::from_millis(1_500));
        let looks = self.look()?;
        let hosts = self.site.nodes();
        let mut wrong = Vec::new();
        for ((judge, of), seen) in &looks {
            let world = self.site.world();
            let truth = world.wall_clock_micros(hosts[*of]) - world.wall_clock_micros(hosts[*judge]);
            if clock_is_wrong(seen, truth) {
                wrong.push(format!("for node {judge} the clock of node {of} is {seen:?}, not {truth} µs"));
            }
        }
        if wrong.is_empty() { Ok(()) } else { Err(format!("{what}: {wrong:?}")) }
    }

    /// The events of all clients, against each other, `system.peers`, and the judgements. `registered` are the connections of each before nodes left.
    fn check_events(&mut self, registered: &[usize]) -> Result<(), String> {
        let looks = self.look()?;
        let gone: BTreeSet<_> = self.gone.iter().map(|node| self.site.native_address(*node)).collect();
        for node in self.present() {
            let address = self.site.native_address(node);
            let main = async move |runtime: runtime::Runtime| {
                let mut client = Client::connect(&runtime, address).await?;
                client.execute("SELECT peer FROM system.peers").await
            };
            let clients = self.site.clients();
            let asking = self.site.world().start(clients, false, vec![main]);
            self.site.world().run_until(|_| asking.is_over(), ANSWER_AT_MOST);
            let rows = asking.take_outputs().and_then(|mut outputs| outputs.pop());
            let rows = match rows {
                Some(Ok(rows)) => rows,
                other => return Err(format!("system.peers of node {node} cannot be read: {other:?}")),
            };
            let peers: BTreeSet<Vec<u8>> =
                rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
            let is_up: BTreeMap<_, bool> = self
                .present()
                .filter(|other| *other != node)
                .map(|other| (self.site.native_address(other), looks.get(&(node, other)).is_some_and(Seen::is_usable)))
                .collect();
            let events = self.events[node].borrow();
            self.outcome.events += events.count();
            let heard_all = events.connections.len() == registered[node];
            let departed = Departed { addresses: &gone, heard_all };
            let wrong = judge_events(&events, &is_up, &departed, &peers);
            self.outcome.violations.extend(wrong.into_iter().map(|what| format!("clients of node {node}: {what}")));
        }
        Ok(())
    }
}
