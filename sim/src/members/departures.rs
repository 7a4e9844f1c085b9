//! The last stage of a run: nodes leave, one after the other, until one is left or fewer leave. Each leaves by its operator or, when it was killed, by
//! another node's. The truth is known: it is gone for all nodes when the operator is answered, and never of the cluster again.

use std::collections::BTreeSet;
use std::time::Duration;

use admin::{Answer, Question};

use super::{AGAIN, ANSWER_AT_MOST, DOWN_AT_MOST, MembersRun, READY_AT_MOST};
use crate::nemesis::{Nemesis, Plan, Step, Timed};
use crate::site::Site;

/// The longest until a node has left, where a majority of the voters answers: its vote is taken away, and it is removed.
const LEFT_AT_MOST: Duration = Duration::from_secs(30);
/// The longest until the process of a node ends that has left.
const END_AT_MOST: Duration = Duration::from_secs(20);
/// In the sentence of a node that has left.
const NEVER_AGAIN: &str = "never accepted again";

impl MembersRun {
    /// Nodes leave. Each is started again, and refused.
    pub(super) fn departures(&mut self) -> Result<(), String> {
        let count = 1 + self.below(self.count() as u64 - 1);
        for number in 0..count {
            let present: Vec<usize> = self.present().collect();
            let node = present[self.below(present.len() as u64) as usize];
            // Of two nodes one votes: without it none is removed.
            let is_killed = present.len() > 2 && self.below(2) == 0;
            let what = format!("departure {number}, of node {node}, killed before: {is_killed}");
            match is_killed {
                true => self.kill_and_remove(node, &what)?,
                false => self.decommission(node, &what)?,
            }
            self.gone.insert(node);
            self.dead.remove(&node);
            self.outcome.departures += 1;
            // The answer comes when all have applied it; one that hears of it knows none that has left.
            self.look().map_err(|error| format!("{what}: {error}"))?;
            self.is_refused(node, &what)?;
            self.is_so(&what, ANSWER_AT_MOST)?;
        }
        Ok(())
    }

    /// The nodes that have not left.
    pub(super) fn present(&self) -> impl Iterator<Item = usize> + use<> {
        let gone: BTreeSet<usize> = self.gone.clone();
        (0..self.count()).filter(move |node| !gone.contains(node))
    }

    fn decommission(&mut self, node: usize, what: &str) -> Result<(), String> {
        self.order(node, Question::Decommission { is_forced: false }, what)?;
        let host = self.site.nodes()[node];
        self.site.world().run_until(|world| !world.is_running(host), END_AT_MOST);
        match self.site.world().is_running(host) {
            true => Err(format!("{what}: its process does not end within {END_AT_MOST:?}")),
            // In order: without a sentence.
            false => match self.site.take_refusal(node) {
                Some(sentence) => Err(format!("{what}: it ended with a sentence: {sentence}")),
                None => Ok(()),
            },
        }
    }

    fn kill_and_remove(&mut self, node: usize, what: &str) -> Result<(), String> {
        let facts = self.site.facts(node, ANSWER_AT_MOST);
        let facts = facts.ok_or_else(|| format!("{what}: it does not answer its operator"))?;
        let host_id = facts.local().host_id.clone();
        let others: Vec<usize> = self.present().filter(|other| *other != node).collect();
        let asked = others[self.below(others.len() as u64) as usize];
        let steps = vec![Timed { after: Duration::ZERO, step: Step::Kill(node) }];
        Nemesis::new(Plan { steps }, self.site.world()).step(&mut self.site)?;
        self.dead.insert(node);
        self.is_so(what, DOWN_AT_MOST)?;
        self.order(asked, Question::RemoveNode { host_id, is_forced: false }, what)
    }

    /// Has a node do something, which it must do in time.
    fn order(&mut self, node: usize, question: Question, what: &str) -> Result<(), String> {
        match self.site.ask(node, question, LEFT_AT_MOST) {
            Some(Answer::Done) => Ok(()),
            Some(other) => Err(format!("{what}: node {node} answers {other:?}")),
            None => Err(format!("{what}: node {node} does not answer within {LEFT_AT_MOST:?}")),
        }
    }

    /// The node is started with its data, and ends by itself.
    fn is_refused(&mut self, node: usize, what: &str) -> Result<(), String> {
        self.site.begin_start(node);
        let began = self.now();
        loop {
            if let Some(sentence) = self.site.take_refusal(node) {
                return match sentence.contains(NEVER_AGAIN) {
                    true => Ok(()),
                    false => Err(format!("{what}: started again, it ends with: {sentence}")),
                };
            }
            if self.now() - began >= READY_AT_MOST {
                return Err(format!("{what}: started again, it is not refused within {READY_AT_MOST:?}"));
            }
            self.site.world().run_for(AGAIN);
        }
    }
}
