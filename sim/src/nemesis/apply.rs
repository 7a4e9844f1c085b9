//! Carries a plan out on a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use runtime::Instant;
use runtime::sim::{Disk, DiskCall, DiskError, DiskFault, DiskSpeed, Link, World};

use super::links::End;
use super::{Cut, Exchange, Plan, Step, Timed};
use crate::site::Site;

/// The longest that an orderly end may take.
const END_AT_MOST: Duration = Duration::from_secs(60);
/// The same on a slow disk: a node that starts opens its files first, some hundred calls.
const SLOW_END_AT_MOST: Duration = Duration::from_secs(600);

/// A plan on its way.
pub struct Nemesis {
    steps: std::vec::IntoIter<Timed>,
    next: Option<Timed>,
    /// When the step before was done.
    since: Instant,
    remembered: BTreeMap<usize, Disk>,
    /// Machines whose disk was exchanged, and whose node was not started since.
    exchanged: BTreeMap<usize, Exchange>,
    cut: Option<Cut>,
    /// The world's count of what cuts held back, when the present one began.
    held_before: u64,
    lossy: BTreeSet<usize>,
    /// Machines with a slow disk, and the operations before it became slow.
    slow: BTreeMap<usize, u64>,
    /// Machines with a disk that fails, and the operations that had failed before.
    failing: BTreeMap<usize, u64>,
    /// Steps done so far.
    pub done: Vec<Step>,
}

impl Nemesis {
    /// Begins the plan now.
    pub fn new(plan: Plan, world: &World<'_>) -> Nemesis {
        let mut steps = plan.steps.into_iter();
        let next = steps.next();
        Nemesis {
            steps,
            next,
            since: world.now(),
            remembered: BTreeMap::new(),
            exchanged: BTreeMap::new(),
            cut: None,
            held_before: 0,
            lossy: BTreeSet::new(),
            slow: BTreeMap::new(),
            failing: BTreeMap::new(),
            done: Vec::new(),
        }
    }

    /// When the next step is due; `None`: all are done.
    pub fn due(&self) -> Option<Instant> {
        self.next.as_ref().map(|timed| self.since + timed.after)
    }

    /// The next step.
    pub fn next(&self) -> Option<&Step> {
        self.next.as_ref().map(|timed| &timed.step)
    }

    /// Leaves the next step out.
    pub fn skip(&mut self, world: &World<'_>) {
        self.next = self.steps.next();
        self.since = world.now();
    }

    /// Lets the world run, and does each step at its time, until all are done. Clients that end earlier do not end the plan: it heals in the
    /// end. An error says which step did not work.
    pub fn run(&mut self, site: &mut impl Site) -> Result<(), String> {
        while let Some(due) = self.due() {
            let now = site.world().now();
            site.world().run_for(due.saturating_since(now));
            self.step(site)?;
        }
        Ok(())
    }

    /// Does the next step now.
    pub fn step(&mut self, site: &mut impl Site) -> Result<(), String> {
        let Some(timed) = std::mem::replace(&mut self.next, self.steps.next()) else { return Ok(()) };
        let step = timed.step;
        self.apply(site, &step).map_err(|what| format!("{step:?}: {what}"))?;
        self.since = site.world().now();
        self.done.push(step);
        Ok(())
    }

    fn apply(&mut self, site: &mut impl Site, step: &Step) -> Result<(), String> {
        let nodes = site.nodes();
        match step {
            Step::Kill(node) => site.world().kill(nodes[*node]),
            Step::PowerCut(node, keep) => site.world().crash(nodes[*node], *keep),
            Step::Terminate(node) => return terminate(site, *node, self.slow.contains_key(node)),
            Step::Start(node) => {
                match self.exchanged.remove(node) {
                    Some(Exchange::Empty) => stdx::sometimes!("start on an empty disk"),
                    Some(Exchange::Earlier(_)) => stdx::sometimes!("start on an older disk"),
                    None => {}
                }
                site.begin_start(*node);
            }
            Step::Pause(node) => site.world().pause(nodes[*node]),
            Step::Resume(node) => site.world().resume(nodes[*node]),
            Step::Skew(node, micros) => site.world().set_wall_clock_skew(nodes[*node], *micros),
            Step::Rate(node, ppm) => site.world().set_clock_rate(nodes[*node], *ppm),
            Step::Remember(node) => {
                let disk = site.world().fork_disk(nodes[*node]);
                self.remembered.insert(*node, disk);
            }
            Step::ExchangeDisk(node, with) => {
                let disk = match with {
                    Exchange::Empty => site.empty_disk(),
                    Exchange::Earlier(keep) => {
                        let remembered = self.remembered.get(node).ok_or("no earlier disk was remembered")?;
                        let mut disk = remembered.after_power_cut(*keep);
                        // It may have been full at that moment.
                        disk.set_capacity(None);
                        disk
                    }
                };
                site.world().exchange_disk(nodes[*node], disk);
                self.exchanged.insert(*node, *with);
            }
            Step::SlowDisk(node) => {
                self.slow.insert(*node, site.world().disk_calls(nodes[*node]));
                site.world().set_disk_speed(nodes[*node], SLOW);
            }
            Step::FastDisk(node) => {
                let before = self.slow.remove(node);
                if before.is_some_and(|before| site.world().disk_calls(nodes[*node]) > before) {
                    stdx::sometimes!("slow disk used");
                }
                site.world().set_disk_speed(nodes[*node], DiskSpeed::default());
            }
            Step::FillDisk(node, room) => {
                site.world().with_disk(nodes[*node], |disk| disk.set_capacity(Some(disk.used() + room)));
            }
            Step::FreeDisk(node) => site.world().with_disk(nodes[*node], |disk| disk.set_capacity(None)),
            Step::FailDisk(node, random) => {
                self.failing.insert(*node, site.world().disk_faults_hit(nodes[*node]));
                let calls = [None, Some(DiskCall::Write), Some(DiskCall::Sync), Some(DiskCall::SyncDirectory)];
                let call = calls[*random as usize % calls.len()];
                let fault = DiskFault { call, at: None, per_million: 100_000, error: DiskError::Medium };
                site.world().set_disk_faults(nodes[*node], vec![fault]);
            }
            Step::MendDisk(node) => {
                let before = self.failing.remove(node);
                if before.is_some_and(|before| site.world().disk_faults_hit(nodes[*node]) > before) {
                    stdx::sometimes!("disk operation failed");
                }
                site.world().set_disk_faults(nodes[*node], Vec::new());
            }
            Step::Cut(cut) => {
                self.end_cut(site);
                self.held_before = site.world().held_count();
                self.cut = Some(cut.clone());
                self.set_links(site);
            }
            Step::Join => {
                self.end_cut(site);
                self.set_links(site);
            }
            Step::Lossy(node) => {
                self.lossy.insert(*node);
                self.set_links(site);
            }
            Step::Lossless(node) => {
                self.lossy.remove(node);
                self.set_links(site);
            }
            Step::Reset(node) => {
                let others: Vec<_> = nodes.iter().copied().chain([site.clients()]).collect();
                for other in others.into_iter().filter(|other| *other != nodes[*node]) {
                    site.world().reset_connections(nodes[*node], other);
                }
            }
        }
        Ok(())
    }

    /// Marks what the cut did, if it held anything back.
    fn end_cut(&mut self, site: &mut impl Site) {
        if let Some(cut) = self.cut.take()
            && site.world().held_count() > self.held_before
        {
            stdx::marks::reached(cut.shape.mark());
        }
    }

    fn set_links(&self, site: &mut impl Site) {
        let datacenters: Vec<usize> = (0..site.nodes().len()).map(|node| site.datacenter(node)).collect();
        let datacenter = |node: usize| datacenters[node];
        let nodes = site.nodes().into_iter().enumerate().map(|(node, host)| (End::Node(node), host));
        let ends: Vec<_> = nodes.chain([(End::Clients, site.clients())]).collect();
        let is_lossy = |end| matches!(end, End::Node(node) if self.lossy.contains(&node));
        for (from, from_host) in &ends {
            for (to, to_host) in ends.iter().filter(|(to, _)| to != from) {
                let is_cut = self.cut.as_ref().is_some_and(|cut| cut.holds(*from, *to, &datacenter));
                let link = if is_lossy(*from) || is_lossy(*to) { LOSSY } else { Link::default() };
                site.world().set_link(*from_host, *to_host, Link { is_cut, ..link });
            }
        }
    }
}

/// Links of a network that is bad: slow, one segment of twenty comes late, and one of two thousand ends its connection.
const LOSSY: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 20_000_000,
    lost_per_million: 50_000,
    held_up_nanos: 200_000_000,
    reset_per_million: 500,
    is_cut: false,
};

const SLOW: DiskSpeed = DiskSpeed { latency_min_nanos: 1_000_000, latency_max_nanos: 300_000_000 };

fn terminate(site: &mut impl Site, node: usize, is_slow: bool) -> Result<(), String> {
    let host = site.nodes()[node];
    site.world().terminate(host);
    let end_at_most = if is_slow { SLOW_END_AT_MOST } else { END_AT_MOST };
    site.world().run_until(|world| !world.is_running(host), end_at_most);
    if site.world().is_running(host) {
        return Err(format!("the node did not end within {end_at_most:?} of SIGTERM"));
    }
    Ok(())
}
