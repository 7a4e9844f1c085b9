//! Plans, and what they do to nodes that only beat: each writes into its log, and sends to the others and to the clients.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use runtime::sim::{Disk, Ended, HostId, Keep, World, WorldOptions};
use runtime::{AlignedBuf, Group, OpenOptions, Runtime};

use super::links::End;
use super::*;
use crate::site::Site;

const PORT: u16 = 7000;
const BEAT: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(2);

fn address(node: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1 + node as u8)), PORT)
}

/// Beats of one that another has heard so far; the number after the nodes' is the clients'.
type Heard = Rc<RefCell<BTreeMap<(usize, usize), u64>>>;

/// Hears the beats of others.
async fn hear(runtime: Runtime, me: usize, heard: Heard) {
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT);
    let listener = runtime.listen(any).await.expect("the port is free");
    while let Ok((socket, _)) = listener.accept().await {
        let (stream, heard) = (runtime.adopt(socket), heard.clone());
        runtime.spawn(Group::Query, async move {
            loop {
                let (count, bytes) = stream.read(Vec::with_capacity(64)).await;
                if count.unwrap_or(0) == 0 {
                    return;
                }
                let from = usize::from(bytes[0]);
                *heard.borrow_mut().entry((from, me)).or_default() += 1;
            }
        });
    }
}

/// Beats: sends to one other, again and again, over whatever connection there is.
async fn beat(runtime: Runtime, me: usize, other: usize) {
    loop {
        if let Ok(Ok(stream)) = runtime.timeout(PATIENCE, runtime.connect(address(other))).await {
            while stream.write_all(vec![me as u8]).await.0.is_ok() {
                runtime.sleep(BEAT).await;
            }
        }
        runtime.sleep(BEAT).await;
    }
}

async fn node(runtime: Runtime, me: usize, count: usize, heard: Heard) {
    runtime.spawn(Group::Query, hear(runtime.clone(), me, heard));
    for other in (0..=count).filter(|other| *other != me) {
        runtime.spawn(Group::Query, beat(runtime.clone(), me, other));
    }
    let options = OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() };
    let log = runtime.open(Path::new("/data/log"), options).await.expect("it is made");
    runtime.sync_dir(Path::new("/data")).await.expect("it is synced");
    let mut length = log.len().await.expect("it has a length");
    let beating = runtime.clone();
    runtime.spawn(Group::Query, async move {
        loop {
            // Not on a full disk.
            if log.write_at(AlignedBuf::from(&b"x"[..]), length).await.0.is_ok() {
                log.sync_data().await.expect("it is synced");
                length += 1;
            }
            beating.sleep(BEAT).await;
        }
    });
    runtime.termination().await;
}

/// Nodes that beat, two in each datacenter.
struct Beating {
    world: World<'static>,
    nodes: Vec<HostId>,
    clients: HostId,
    heard: Heard,
}

impl Beating {
    fn new(seed: u64, count: usize) -> Beating {
        let mut world = World::new(WorldOptions::new(seed));
        let nodes: Vec<HostId> =
            (0..count).map(|node| world.add_host_with(&[address(node).ip()], empty_disk())).collect();
        let clients = world.add_host(&[address(count).ip()]);
        let heard = Heard::default();
        let clients_heard = heard.clone();
        world.start(
            clients,
            false,
            vec![move |runtime: Runtime| async move {
                for other in 0..count {
                    runtime.spawn(Group::Query, beat(runtime.clone(), count, other));
                }
                hear(runtime, count, clients_heard).await;
            }],
        );
        let mut beating = Beating { world, nodes, clients, heard };
        (0..count).for_each(|node| beating.begin_start(node));
        beating.world.run_for(Duration::from_millis(100));
        beating
    }

    /// The pairs of which the second hears the first in the next seconds.
    fn hearing(&mut self) -> BTreeSet<(usize, usize)> {
        let before = self.heard.borrow().clone();
        self.world.run_for(Duration::from_secs(5));
        let heard = self.heard.borrow();
        heard
            .iter()
            .filter(|(pair, beats)| before.get(pair).is_none_or(|old| old < beats))
            .map(|(pair, _)| *pair)
            .collect()
    }

    fn carry_out(&mut self, steps: Vec<Step>) {
        let steps = steps.into_iter().map(|step| Timed { after: Duration::from_millis(50), step });
        let plan = Plan { steps: steps.collect() };
        Nemesis::new(plan, &self.world).run(self).expect("each step works");
    }

    fn log_length(&mut self, node: usize) -> u64 {
        self.world.with_disk(self.nodes[node], |disk| disk.used())
    }
}

fn empty_disk() -> Disk {
    let mut disk = Disk::default();
    disk.prepare_directory("/data");
    disk
}

impl Site for Beating {
    fn world(&mut self) -> &mut World<'static> {
        &mut self.world
    }

    fn nodes(&self) -> Vec<HostId> {
        self.nodes.clone()
    }

    fn clients(&self) -> HostId {
        self.clients
    }

    fn datacenter(&self, node: usize) -> usize {
        node / 2
    }

    fn native_address(&self, node: usize) -> SocketAddr {
        address(node)
    }

    fn empty_disk(&self) -> Disk {
        empty_disk()
    }

    fn begin_start(&mut self, number: usize) {
        let (heard, count) = (self.heard.clone(), self.nodes.len());
        self.world.start(self.nodes[number], true, vec![move |runtime| node(runtime, number, count, heard)]);
    }

    fn is_ready(&self, number: usize) -> bool {
        self.world.is_running(self.nodes[number])
    }

    fn take_refusal(&mut self, _: usize) -> Option<String> {
        None
    }
}

fn options(count: usize, kinds: Vec<Kind>) -> PlanOptions {
    PlanOptions {
        datacenters: (0..count).map(|node| node / 2).collect(),
        steps: 30,
        kinds,
        gap_min: Duration::from_millis(10),
        gap_max: Duration::from_secs(2),
        absent: Default::default(),
        down_max: 2,
        exchanged_max: 1,
    }
}

/// All ordered pairs of nodes and clients, but those of which `is_cut` says that nothing passes.
fn all_but(count: usize, is_cut: impl Fn(usize, usize) -> bool) -> BTreeSet<(usize, usize)> {
    let pairs = (0..=count).flat_map(|from| (0..=count).map(move |to| (from, to)));
    pairs.filter(|(from, to)| from != to && !is_cut(*from, *to)).collect()
}

#[test]
fn cuts_part_those_that_they_name() {
    let datacenter = |node: usize| node / 2;
    let parted = |shape: Shape, parts_clients: bool| -> Vec<(usize, usize)> {
        let cut = Cut { shape, parts_clients };
        let end = |number: usize| if number == 4 { End::Clients } else { End::Node(number) };
        let held = |from: usize, to: usize| cut.holds(end(from), end(to), &datacenter);
        all_but(4, |from, to| !held(from, to)).into_iter().collect()
    };
    assert_eq!(parted(Shape::OneWay { from: 2, to: 0 }, false), [(2, 0)]);
    assert_eq!(parted(Shape::Mute { node: 1 }, false), [(1, 0), (1, 2), (1, 3)]);
    assert_eq!(parted(Shape::Mute { node: 1 }, true), [(1, 0), (1, 2), (1, 3), (1, 4)]);
    assert_eq!(parted(Shape::Deaf { node: 1 }, true), [(0, 1), (2, 1), (3, 1), (4, 1)]);
    assert_eq!(parted(Shape::Isolated { node: 0 }, false), [(0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (3, 0)]);
    let half = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 0), (2, 1), (3, 0), (3, 1)];
    assert_eq!(parted(Shape::Datacenter { number: 1 }, false), half);
    assert_eq!(parted(Shape::Halves { first: vec![0, 1] }, false), half);
    let chain = Shape::Chain { order: vec![2, 0, 3] };
    assert_eq!(parted(chain.clone(), false), [(2, 3), (3, 2)], "node 1 is not in it and reaches all");
    assert_eq!(parted(chain, true), [(2, 3), (2, 4), (3, 2), (4, 2)]);
}

#[test]
fn each_shape_holds_what_it_names_and_nothing_else() {
    let shapes = [
        Shape::OneWay { from: 2, to: 0 },
        Shape::Mute { node: 1 },
        Shape::Deaf { node: 3 },
        Shape::Isolated { node: 2 },
        Shape::Datacenter { number: 1 },
        Shape::Halves { first: vec![0, 3] },
        Shape::Chain { order: vec![1, 3, 0, 2] },
    ];
    for shape in shapes {
        stdx::marks::take();
        let mut beating = Beating::new(3, 4);
        let cut = Cut { shape: shape.clone(), parts_clients: true };
        let steps = [Step::Cut(cut.clone()), Step::Join].map(|step| Timed { after: BEAT, step });
        let mut nemesis = Nemesis::new(Plan { steps: steps.into() }, &beating.world);
        nemesis.step(&mut beating).expect("the cut begins");
        let end = |number: usize| if number == 4 { End::Clients } else { End::Node(number) };
        let expected = all_but(4, |from, to| cut.holds(end(from), end(to), &|node| node / 2));
        let heard = beating.hearing();
        // A connection that waits for its answer carries no beats: of a cut of one direction the other one dries up when it is made again.
        assert!(heard.is_subset(&expected), "{shape:?}: {heard:?}");
        assert!(heard.len() + 2 >= expected.len() / 2, "{shape:?}: {heard:?}");
        nemesis.run(&mut beating).expect("the cut ends");
        assert!(stdx::marks::count(shape.mark()) == 1, "{shape:?} took effect");
        assert_eq!(beating.hearing(), all_but(4, |_, _| false), "{shape:?} is over");
    }
}

#[test]
fn a_paused_node_beats_no_more_and_a_disk_is_exchanged() {
    let mut beating = Beating::new(4, 4);
    let steps = [
        Step::Remember(2),
        Step::Pause(1),
        Step::Resume(1),
        Step::PowerCut(2, Keep::Nothing),
        Step::ExchangeDisk(2, Exchange::Earlier(Keep::Everything)),
        Step::Terminate(3),
        Step::ExchangeDisk(3, Exchange::Empty),
    ];
    let steps = steps.map(|step| Timed { after: BEAT, step });
    let mut nemesis = Nemesis::new(Plan { steps: steps.into() }, &beating.world);
    nemesis.step(&mut beating).expect("the disk is cloned");
    nemesis.step(&mut beating).expect("the node is paused");
    let from_paused = |pair: &(usize, usize)| pair.0 == 1 || pair.1 == 1;
    beating.world.run_for(Duration::from_millis(10));
    assert!(!beating.hearing().iter().any(from_paused));
    nemesis.step(&mut beating).expect("the node goes on");
    assert_eq!(beating.hearing(), all_but(4, |_, _| false));

    let (now, other) = (beating.log_length(2), beating.log_length(3));
    assert!(now > 400 && other > 400, "{now} and {other} beats");
    nemesis.run(&mut beating).expect("each step works");
    assert!((1..100).contains(&beating.log_length(2)) && beating.log_length(3) == 0);
    beating.carry_out(vec![Step::Start(2), Step::Start(3)]);
    assert_eq!(beating.hearing(), all_but(4, |_, _| false));
}

/// Each step is possible when it comes, and nothing is left in the end.
fn assert_heals(plan: &Plan, options: &PlanOptions, seed: u64) {
    let (mut down, mut paused, mut wrong) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut remembered, mut exchanged, mut is_cut) = (BTreeSet::new(), 0, false);
    for Timed { step, .. } in &plan.steps {
        let is_possible = match step {
            Step::Kill(node) | Step::PowerCut(node, _) | Step::Terminate(node) => {
                !paused.contains(node) && down.insert(*node) && down.len() <= options.down_max
            }
            Step::Start(node) => down.remove(node),
            Step::Pause(node) => !down.contains(node) && paused.insert(*node),
            Step::Resume(node) => paused.remove(node),
            Step::Skew(node, 0) => wrong.remove(&("skew", *node)),
            Step::Skew(node, micros) => {
                wrong.insert(("skew", *node));
                micros.abs() <= 600_000_000
            }
            Step::Rate(node, 0) => wrong.remove(&("rate", *node)),
            Step::Rate(node, ppm) => {
                wrong.insert(("rate", *node));
                // A rate leaves the wall clock where it led it.
                wrong.insert(("skew", *node));
                ppm.abs() <= 50_000
            }
            Step::Remember(node) => {
                remembered.insert(*node);
                true
            }
            Step::ExchangeDisk(node, with) => {
                exchanged += 1;
                down.contains(node) && (*with == Exchange::Empty || remembered.contains(node))
            }
            Step::Cut(_) => {
                is_cut = true;
                true
            }
            Step::Join => {
                is_cut = false;
                true
            }
            Step::Lossy(node) => {
                wrong.insert(("lossy", *node));
                true
            }
            Step::Lossless(node) => wrong.remove(&("lossy", *node)),
            Step::SlowDisk(node) => {
                wrong.insert(("slow", *node));
                true
            }
            Step::FastDisk(node) => wrong.remove(&("slow", *node)),
            Step::FillDisk(node, _) => {
                wrong.insert(("full", *node));
                true
            }
            Step::FreeDisk(node) => wrong.remove(&("full", *node)),
            Step::FailDisk(node, _) => wrong.insert(("failing", *node)),
            Step::MendDisk(node) => wrong.remove(&("failing", *node)),
            Step::Reset(_) => true,
        };
        assert!(
            is_possible,
            "seed {seed}: {step:?} in
{plan}"
        );
    }
    let is_left = is_cut || !down.is_empty() || !paused.is_empty() || !wrong.is_empty();
    assert!(
        !is_left && exchanged <= options.exchanged_max,
        "seed {seed}: something is left by
{plan}"
    );
}

#[test]
fn plans_are_possible_and_heal() {
    let options = options(5, Kind::ALL.to_vec());
    let mut kinds = BTreeSet::new();
    for seed in 0..2000 {
        let plan = generate(&options, seed);
        assert_heals(&plan, &options, seed);
        assert_eq!(plan, generate(&options, seed));
        assert!(plan.steps.len() >= options.steps, "seed {seed}");
        for Timed { step, .. } in &plan.steps {
            let words = format!("{step:?}").replace(|letter: char| letter.is_ascii_digit() || letter == '-', "");
            let name = words.split(" {").next().unwrap_or_default();
            kinds.insert(name.split('(').next().unwrap_or_default().to_owned());
            if let Step::Cut(cut) = step {
                kinds.insert(cut.shape.mark().to_owned());
            }
        }
    }
    assert_eq!(kinds.len(), 19 + 7, "{kinds:?}");
    let nothing = PlanOptions { kinds: Vec::new(), ..options };
    assert_eq!(generate(&nothing, 1).steps.len(), 1, "there is nothing to begin with");
}

/// Each step is possible when it comes, a node whose disk failed is started again, and nothing is left in the end.
fn assert_starts_what_it_ends(plan: &Plan, seed: u64) {
    let (mut down, mut failing, mut mended) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for Timed { step, .. } in &plan.steps {
        let is_possible = match step {
            // A node whose disk failed may have ended already.
            Step::Kill(node) => mended.remove(node) && down.insert(*node),
            Step::PowerCut(node, _) | Step::Terminate(node) => !failing.contains(node) && down.insert(*node),
            Step::Start(node) => down.remove(node),
            Step::FailDisk(node, _) => !down.contains(node) && failing.insert(*node),
            Step::MendDisk(node) => failing.remove(node) && mended.insert(*node),
            Step::Join => true,
            other => panic!("seed {seed}: {other:?} is of another kind"),
        };
        assert!(is_possible, "seed {seed}: {step:?} in\n{plan}");
    }
    assert!(down.is_empty() && failing.is_empty() && mended.is_empty(), "seed {seed}: something is left by\n{plan}");
}

#[test]
fn troubles_of_many_nodes_start_all_again() {
    for kind in Kind::TOGETHER {
        let options = PlanOptions { steps: 12, ..options(5, vec![kind]) };
        let mut troubles = 0;
        for seed in 0..200 {
            let plan = generate(&options, seed);
            assert_starts_what_it_ends(&plan, seed);
            troubles += plan.steps.iter().filter(|timed| timed.step.is_trouble()).count();
        }
        assert!(troubles > 200, "{kind:?}: {troubles}");
    }
}

fn troubled(seed: u64) -> u64 {
    let mut beating = Beating::new(seed, 5);
    // Which takes two steps.
    let kinds = [&Kind::ALL[..], &[Kind::OlderDisk; 3]].concat();
    let plan = generate(&options(5, kinds), seed);
    Nemesis::new(plan.clone(), &beating.world).run(&mut beating).unwrap_or_else(|what| {
        panic!(
            "{what}
{plan}"
        )
    });
    let clock = beating.world.wall_clock_micros(beating.clients);
    for node in 0..5 {
        assert_eq!(beating.world.wall_clock_micros(beating.nodes[node]), clock, "seed {seed}");
    }
    let heard = beating.hearing();
    assert_eq!(
        heard,
        all_but(5, |_, _| false),
        "seed {seed}, after
{plan}"
    );
    assert_ne!(beating.world.run_until(|_| false, BEAT), Ended::Idle);
    beating.world.trace_hash()
}

#[test]
fn nodes_beat_after_every_plan_and_every_mark_is_reached() {
    stdx::marks::take();
    let hashes: Vec<u64> = (0..25).map(troubled).collect();
    let marks = stdx::marks::take();
    for mark in MARKS {
        assert!(marks.contains_key(mark), "{mark} is in {marks:?}");
    }
    assert_eq!(hashes[..5], (0..5).map(troubled).collect::<Vec<_>>(), "equal seeds are equal runs");
}
