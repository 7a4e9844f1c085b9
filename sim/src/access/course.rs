//! One run: a cluster, its clients, a power cut at a moment, and the nodes' facts afterwards against the model.

use std::collections::BTreeSet;
use std::time::Duration;

use planted::Planted;
use runtime::sim::{Ended, HostId, Keep, Started};
use runtime::{Instant, Runtime};

use super::clients::{History, Shared, work};
use super::login::{PASSWORD, SUPERUSER};
use super::model;
use super::view::look;
use crate::client::{Client, ClientError};
use crate::cluster::{Cluster, NodeOptions};
use crate::fault::any_keep;
use crate::group_site::GroupSite;
use crate::site::Site;

/// Statements of a client.
const STATEMENTS: u32 = 14;
/// The longest until all nodes are ready, and until all show the same.
const READY_AT_MOST: Duration = Duration::from_secs(120);
/// By then clients have ended, also those that wait for a node that is gone.
const WORKLOAD_AT_MOST: Duration = Duration::from_secs(1800);
/// Time in which the nodes of a small cluster all become voters.
const VOTERS_CHANGE: Duration = Duration::from_secs(5);
/// The longest that one question may take.
const ANSWER_AT_MOST: Duration = Duration::from_secs(60);
/// From one look to the next.
const AGAIN: Duration = Duration::from_millis(200);
/// A statement that all nodes have applied when it is answered, and the role that it makes, which is no client's.
const LAST: &str = "CREATE ROLE IF NOT EXISTS last";

/// A moment of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// So many operations of a node's disk have begun since the clients began, and one more.
    DiskCall {
        /// The node.
        node: usize,
        /// The number.
        call: u64,
    },
    /// So many statements were answered as done.
    Acknowledged(u64),
}

/// A power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// When.
    pub moment: Moment,
    /// The node that loses its power; `None`: all do, and the clients too.
    pub victim: Option<usize>,
    /// Decides what the disks keep.
    pub random: u64,
}

impl Cut {
    /// The pending changes that disks keep. Right after an answer none, so that all depends on what was synced.
    fn keep(&self) -> Keep {
        match self.moment {
            Moment::Acknowledged(_) => Keep::Nothing,
            Moment::DiskCall { .. } => any_keep(self.random),
        }
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Sentences about what does not hold.
    pub violations: Vec<String>,
    /// Statements that were answered as done.
    pub acknowledged: u64,
    /// GRANT and REVOKE among them.
    pub granted_or_revoked: u64,
    /// Operations that each node's disk began while clients were at work.
    pub disk_calls: Vec<u64>,
}

/// Runs a seed on so many nodes. One node is alone; several find each other.
pub fn run_on(seed: u64, nodes: usize, cut: Option<Cut>, planted: Planted) -> Outcome {
    run_with(seed, nodes, cut, planted, false)
}

/// [`run_on`]; where `lies`, disks keep nothing that they promise to from the clients' first statement on, which must be found out.
pub(super) fn run_with(seed: u64, nodes: usize, cut: Option<Cut>, planted: Planted, lies: bool) -> Outcome {
    let options = NodeOptions { logins: true, planted, ..NodeOptions::default() };
    match nodes {
        1 => Course::new(Cluster::new(seed, options, None), cut, lies).go(),
        several => Course::new(GroupSite::new(seed, &[several], 1, options), cut, lies).go(),
    }
}

struct Course<S> {
    site: S,
    cut: Option<Cut>,
    lies: bool,
    history: Shared,
    outcome: Outcome,
}

impl<S: Site> Course<S> {
    fn new(site: S, cut: Option<Cut>, lies: bool) -> Course<S> {
        Course { site, cut, lies, history: Shared::default(), outcome: Outcome::default() }
    }

    fn go(mut self) -> Outcome {
        if let Err(what) = self.stages() {
            self.outcome.violations.push(what);
        }
        let history = self.history.borrow();
        self.outcome.acknowledged = history.acknowledged;
        self.outcome.granted_or_revoked = history.granted_or_revoked;
        self.outcome.violations.extend(history.violations.iter().cloned());
        drop(history);
        self.outcome
    }

    fn stages(&mut self) -> Result<(), String> {
        let nodes: Vec<usize> = (0..self.site.nodes().len()).collect();
        self.start(&nodes, "at the beginning")?;
        self.site.world().run_for(VOTERS_CHANGE);
        self.load(&nodes)?;
        self.start(&nodes, "after the power cut")?;
        self.last_works()?;
        let shown = self.judge(&nodes, "after the power cut")?;
        let random = self.cut.map_or(0, |cut| cut.random);
        nodes.iter().for_each(|node| self.cut_power(*node, any_keep(random.rotate_left(*node as u32 + 9))));
        self.start(&nodes, "after a power cut of all")?;
        let again = self.judge(&nodes, "after a power cut of all")?;
        if again != shown {
            let (more, less) = (again.difference(&shown), shown.difference(&again));
            let (more, less): (Vec<&String>, Vec<&String>) = (more.collect(), less.collect());
            self.outcome
                .violations
                .push(format!("a power cut of all changes what is shown: more {more:?}, less {less:?}"));
        }
        Ok(())
    }

    fn now(&mut self) -> Instant {
        self.site.world().now()
    }

    fn host(&self, node: usize) -> HostId {
        self.site.nodes()[node]
    }

    fn cut_power(&mut self, node: usize, keep: Keep) {
        let host = self.host(node);
        self.site.world().crash(host, keep);
    }

    /// Starts those that do not run, and waits until all are ready.
    fn start(&mut self, nodes: &[usize], when: &str) -> Result<(), String> {
        for node in nodes {
            let host = self.host(*node);
            if !self.site.world().is_running(host) {
                self.site.begin_start(*node);
            }
        }
        let deadline = self.now() + READY_AT_MOST;
        while let Some(late) = nodes.iter().copied().find(|node| !self.site.is_ready(*node)) {
            if let Some(sentence) = self.site.take_refusal(late) {
                return Err(format!("{when} node {late} has ended by itself: {sentence}"));
            }
            if self.now() >= deadline {
                return Err(format!("{when} node {late} is not ready within {READY_AT_MOST:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
        Ok(())
    }

    /// Clients work until the moment comes, and where nodes are left until they have ended.
    fn load(&mut self, nodes: &[usize]) -> Result<(), String> {
        let addresses = nodes.iter().map(|node| self.site.native_address(*node)).collect();
        let hosts = self.site.nodes();
        if self.lies {
            hosts.iter().for_each(|host| self.site.world().with_disk(*host, runtime::sim::Disk::lie));
        }
        let before: Vec<u64> = hosts.iter().map(|host| self.site.world().disk_calls(*host)).collect();
        let (history, clients) = (self.history.clone(), self.site.clients());
        let main = move |runtime: Runtime| work(runtime, addresses, STATEMENTS, history);
        let working = self.site.world().start(clients, false, vec![main]);
        let (moment, history) = (self.cut.map(|cut| cut.moment), self.history.clone());
        self.site.world().run_until(
            |world| {
                working.is_over()
                    || match moment {
                        None => false,
                        Some(Moment::DiskCall { node, call }) => world.disk_calls(hosts[node]) > before[node] + call,
                        Some(Moment::Acknowledged(count)) => history.borrow().acknowledged >= count,
                    }
            },
            WORKLOAD_AT_MOST,
        );
        let Some(cut) = self.cut else { return self.end(&working, &before) };
        if matches!(cut.moment, Moment::Acknowledged(_)) && self.history.borrow().granted_or_revoked > 0 {
            stdx::sometimes!("power cut right after a statement about roles");
        }
        match cut.victim {
            Some(victim) => {
                self.cut_power(victim, cut.keep());
                self.end(&working, &before)
            }
            None => {
                self.site.world().kill(clients);
                nodes.iter().for_each(|node| self.cut_power(*node, cut.keep()));
                Ok(())
            }
        }
    }

    fn end(&mut self, working: &Started<()>, before: &[u64]) -> Result<(), String> {
        let ended = self.site.world().run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
        let hosts = self.site.nodes();
        let calls = hosts.iter().zip(before).map(|(host, before)| self.site.world().disk_calls(*host) - before);
        self.outcome.disk_calls = calls.collect();
        match ended {
            Ended::Condition => Ok(()),
            ended => Err(format!("clients still wait for answers: {ended:?} after {WORKLOAD_AT_MOST:?}")),
        }
    }

    /// The answer to a question of a client; `None` if there is none in time.
    fn ask<T: 'static, Fut: Future<Output = T> + 'static>(&mut self, main: impl FnOnce(Runtime) -> Fut) -> Option<T> {
        let clients = self.site.clients();
        let asking = self.site.world().start(clients, false, vec![main]);
        self.site.world().run_until(|_| asking.is_over(), ANSWER_AT_MOST);
        let answer = asking.take_outputs().and_then(|mut outputs| outputs.pop());
        if answer.is_none() {
            self.site.world().kill(clients);
        }
        answer
    }

    /// A last statement works soon: what was under way before is done by then, or never will be.
    fn last_works(&mut self) -> Result<(), String> {
        let (deadline, address) = (self.now() + READY_AT_MOST, self.site.native_address(0));
        loop {
            let told = self.ask(async move |runtime: Runtime| -> Result<(), ClientError> {
                Client::log_in(&runtime, address, SUPERUSER, PASSWORD).await?.change(LAST).await.map(drop)
            });
            match told {
                Some(Ok(())) => return Ok(()),
                told if self.now() >= deadline => return Err(format!("{LAST} does not work: {told:?}")),
                _ => self.site.world().run_for(AGAIN),
            }
        }
    }

    /// Compares what each node shows with the model. Gives what all show.
    fn judge(&mut self, nodes: &[usize], when: &str) -> Result<BTreeSet<String>, String> {
        let mut shown: Option<BTreeSet<String>> = None;
        for node in nodes {
            let facts = self.facts(*node, when, shown.as_ref())?;
            self.outcome.violations.extend(
                against_model(&self.history.borrow(), &facts).map(|what| format!("{when} node {node}: {what}")),
            );
            match &shown {
                Some(first) if *first != facts => {
                    let differ: Vec<&String> = first.symmetric_difference(&facts).collect();
                    self.outcome.violations.push(format!("{when} nodes 0 and {node} differ in {differ:?}"));
                }
                _ => shown = Some(facts),
            }
        }
        shown.ok_or_else(|| "there is no node".to_owned())
    }

    /// The facts of a node. One that has just started may be late: it is waited for until it shows what another one does.
    fn facts(&mut self, node: usize, when: &str, other: Option<&BTreeSet<String>>) -> Result<BTreeSet<String>, String> {
        let (deadline, address) = (self.now() + READY_AT_MOST, self.site.native_address(node));
        let is_last = |facts: &BTreeSet<String>| facts.iter().any(|fact| fact.starts_with("role last,"));
        loop {
            let seen = self.ask(move |runtime| look(runtime, address));
            let is_over = self.now() >= deadline;
            match seen {
                Some(Ok(facts)) if is_over || (is_last(&facts) && other.is_none_or(|other| *other == facts)) => {
                    return Ok(facts);
                }
                Some(Ok(_)) => {}
                seen if is_over => return Err(format!("{when} node {node} does not show its roles: {seen:?}")),
                _ => {}
            }
            self.site.world().run_for(AGAIN);
        }
    }
}

/// Sentences about the roles of each client that are neither as after its last answer nor as after the statement without one.
fn against_model(history: &History, facts: &BTreeSet<String>) -> impl Iterator<Item = String> {
    let mut violations = Vec::new();
    for (client, progress) in history.clients.iter().enumerate() {
        let prefix = model::name(client, 0);
        let prefix = &prefix[..prefix.len() - 1];
        let of_client = |fact: &&String| {
            fact.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| word.starts_with(prefix))
        };
        let shown: BTreeSet<String> = facts.iter().filter(of_client).cloned().collect();
        let known = progress.model.facts(client);
        let open = progress.open.as_ref().map(|(_, after)| after.facts(client));
        if open.as_ref() == Some(&shown) && shown != known {
            stdx::sometimes!("statement about roles without an answer is done");
        } else if shown != known {
            let (lost, more) = (known.difference(&shown), shown.difference(&known));
            let (lost, more): (Vec<&String>, Vec<&String>) = (lost.collect(), more.collect());
            let open = progress.open.as_ref().map(|(statement, _)| statement);
            violations.push(format!("client {client}: lost {lost:?}, more {more:?}; without an answer: {open:?}"));
        }
    }
    violations.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_lies_is_found_out() {
        let cut = Cut { moment: Moment::Acknowledged(6), victim: None, random: 1 };
        let honest = run_with(3, 1, Some(cut), Planted::NONE, false);
        assert_eq!((honest.violations, honest.acknowledged), (Vec::new(), 6));
        let lied = run_with(3, 1, Some(cut), Planted::NONE, true);
        assert!(lied.violations.iter().any(|what| what.contains("lost")), "{:?}", lied.violations);
    }

    #[test]
    fn facts_of_other_clients_are_left_out() {
        let mut history = History::default();
        let create = model::Statement::Create { role: 0, login: false, hash: None, if_not_exists: false };
        history.clients[1].model = model::Model::default().after(&create).1;
        let mut facts = history.clients[1].model.facts(1);
        facts.insert(model::role_fact("last", false, "null"));
        assert_eq!(against_model(&history, &facts).count(), 0);
        facts.remove("cassandra has DROP on <role c1r0>");
        assert_eq!(against_model(&history, &facts).count(), 1, "a grant of the creator is lost");
        facts.insert("cassandra has DROP on <role c1r0>".to_owned());
        facts.insert("c2r3 has SELECT on <all keyspaces>".to_owned());
        assert_eq!(against_model(&history, &facts).count(), 1, "client 2 has made no role");
        history.clients[2].open = Some((create, model::Model::default()));
        assert_eq!(against_model(&history, &facts).count(), 1, "nor has its open statement");
    }
}
