//! The judgement of ownership: each token has its replicas, each replica has all rows by itself, and no node has rows of ranges that it does not keep.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use admin::{Answer, Question, TableName};
use runtime::sim::Link;

use super::course::Course;
use crate::site::Site;
use crate::workload::requests::{MAPS_FROM, PIECES_FROM};

/// By then nodes that reach no other take all others for down.
const DOWN_AFTER: Duration = Duration::from_secs(15);
/// For an answer of a node at rest.
const ANSWER_AT_MOST: Duration = Duration::from_secs(60);
/// Marks of steps in which a cleanup has dropped something.
const DROPPED: [&str; 2] = ["file without kept tokens removed", "file rewritten without tokens that are not kept"];

/// The judgement.
pub(super) struct Ownership<'o, 'c> {
    pub(super) course: &'o mut Course<'c>,
}

impl Ownership<'_, '_> {
    /// Judges a cluster at rest, in which all replicas were read together.
    pub(super) fn judge(&mut self) -> Result<(), String> {
        let replicas = self.judge_replicas()?;
        self.judge_leftovers()?;
        let when = "a replica by itself";
        self.part_all(true);
        self.course.site.world().run_for(DOWN_AFTER);
        for node in self.course.nodes() {
            let address = self.course.site.internode_address(node).ip();
            let own = replicas.iter().filter(|(_, of)| of.contains(&address)).map(|(key, _)| *key).collect();
            self.course.judge_isolated(node, &own, when)?;
        }
        self.part_all(false);
        self.course.make_ready("after all were parted")
    }

    /// All nodes name the same replicas of each partition, as many as the keyspace has.
    fn judge_replicas(&mut self) -> Result<BTreeMap<i32, BTreeSet<IpAddr>>, String> {
        let (partitions, nodes) = (self.course.work.partitions as i32, self.course.nodes());
        let firsts = [0, PIECES_FROM, MAPS_FROM];
        let keys = firsts.into_iter().flat_map(|first| first..first + partitions);
        let factors = self.course.operating.factors.first().cloned().unwrap_or_default();
        let mut all: BTreeMap<i32, BTreeSet<IpAddr>> = BTreeMap::new();
        for key in keys {
            for node in nodes.iter().copied() {
                let table = TableName { keyspace: "ring".to_owned(), table: "rows".to_owned() };
                let question = Question::Endpoints { table, key: key.to_string() };
                let Some(Answer::Endpoints(found)) = self.course.site.ask(node, question, ANSWER_AT_MOST) else {
                    return Err(format!("node {node} does not say who has partition {key}"));
                };
                let found: BTreeSet<IpAddr> = found.into_iter().collect();
                let of_nodes = |number: usize| {
                    let is_of = |node: &&usize| {
                        self.course.site.datacenter(**node) == number
                            && found.contains(&self.course.site.internode_address(**node).ip())
                    };
                    nodes.iter().filter(is_of).count() as u32
                };
                let counts: Vec<u32> = (0..factors.len()).map(of_nodes).collect();
                if counts != factors {
                    self.course.outcome.violations.push(format!(
                        "node {node}: partition {key} has the replicas {found:?}, where datacenters have {factors:?}"
                    ));
                }
                let known = all.entry(key).or_insert_with(|| found.clone());
                if *known != found {
                    let what = format!("node {node}: partition {key} has {found:?}, for another node {known:?}");
                    self.course.outcome.violations.push(what);
                }
            }
        }
        Ok(all)
    }

    /// One more cleanup finds nothing to drop.
    fn judge_leftovers(&mut self) -> Result<(), String> {
        let dropped = || DROPPED.map(stdx::marks::count);
        for node in self.course.nodes() {
            let before = dropped();
            match self.course.site.ask(node, Question::CleanUpAll, ANSWER_AT_MOST) {
                Some(Answer::Done) => {}
                answer => return Err(format!("node {node} does not clean up: {answer:?}")),
            }
            if dropped() != before {
                let what = format!("node {node} is clean, and had rows of ranges that it does not keep");
                self.course.outcome.violations.push(what);
            }
        }
        Ok(())
    }

    /// Cuts all links between nodes, or makes them whole.
    fn part_all(&mut self, is_cut: bool) {
        let hosts = self.course.site.nodes();
        for from in &hosts {
            for to in hosts.iter().filter(|to| *to != from) {
                self.course.site.world().set_link(*from, *to, Link { is_cut, ..Link::default() });
            }
        }
    }
}
