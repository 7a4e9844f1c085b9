//! A run on a ring of several nodes: after the faults everything heals, and then all replicas must come to the same rows.

use std::collections::BTreeMap;
use std::time::Duration;

use cql_protocol::Consistency;

use super::{Run, ask};
use crate::checker::replicated::{judge, whole};
use crate::client::{Client, ClientError, Statement};
use crate::cluster::native_address;
use crate::fault;
use crate::workload::{Key, SELECT_PARTITION, Seen, prepare_replicated, read_row, work_replicated};

/// The longest that nodes may take to find each other when nothing is wrong any more.
const HEALED_AT_MOST: Duration = Duration::from_secs(60);
/// By then batches that were not finished have been tried again.
const BATCHES_AT_MOST: Duration = Duration::from_secs(12);
/// Rows of a page.
const PAGE_ROWS: i32 = 7;

impl Run<'_> {
    pub(super) fn stages_of_ring(&mut self) -> Result<(), String> {
        let nodes = self.cluster.nodes.len();
        for index in 0..nodes {
            self.start_healthy(index)?;
            let made = ask(&mut self.cluster, move |runtime| prepare_replicated(runtime, index));
            made.ok_or("the table was not made in time")?
                .map_err(|error| format!("the table was not made: {error}"))?;
        }
        let (options, history) = (self.scenario.rows, self.replicated.clone());
        self.load(move |runtime| work_replicated(runtime, options, nodes, history))?;

        fault::heal(&mut self.cluster);
        self.cluster.world.run_for(BATCHES_AT_MOST);
        self.agree("when all has healed")?;
        for index in 0..nodes {
            let random = self.cluster.world.random();
            let keep = self.keep(random);
            self.note_end(false);
            self.cluster.world.crash(self.cluster.nodes[index], keep);
        }
        for index in 0..nodes {
            self.start_healthy(index)?;
        }
        self.agree("after a power cut of all")?;
        for index in 0..nodes {
            self.note_end(true);
            self.cluster.terminate_at(index).map_err(|error| format!("the orderly end failed: {error}"))?;
        }
        for index in 0..nodes {
            self.start_healthy(index)?;
        }
        // Without the other nodes' help: ONE is answered by the node that is asked.
        let before = self.replicated.borrow().violations.len();
        for index in 0..nodes {
            self.read_partitions(index, Consistency::One, "after an orderly restart")?;
        }
        let violations = self.replicated.borrow().violations[before..].to_vec();
        self.tell("after an orderly restart", &violations);
        Ok(())
    }

    /// Reads all at ALL, which repairs, and then at ONE from each node: all say the same. Batches are whole.
    fn agree(&mut self, when: &str) -> Result<(), String> {
        let before = self.replicated.borrow().violations.len();
        let reconciled = self.read_partitions(0, Consistency::All, when)?;
        whole(&mut self.replicated.borrow_mut(), &reconciled);
        let mut violations = self.replicated.borrow().violations[before..].to_vec();
        for index in 0..self.cluster.nodes.len() {
            let own = self.read_partitions(index, Consistency::One, when)?;
            for key in own.keys().chain(reconciled.keys()) {
                let (has, all) = (own.get(key), reconciled.get(key));
                if has != all {
                    violations.push(format!("{key:?}: node {index} has {has:?}, all came to {all:?}"));
                }
            }
        }
        violations.truncate(20);
        self.tell(when, &violations);
        Ok(())
    }

    fn tell(&mut self, when: &str, violations: &[String]) {
        self.outcome.violations.extend(violations.iter().map(|what| format!("{when}: {what}")));
    }

    /// All rows, partition by partition, from one node; judged like any other read.
    fn read_partitions(
        &mut self,
        index: usize,
        consistency: Consistency,
        when: &str,
    ) -> Result<BTreeMap<Key, u64>, String> {
        let mut all = BTreeMap::new();
        let deadline = self.cluster.world.now() + HEALED_AT_MOST;
        for partition in 0..self.scenario.rows.partitions as i32 {
            let (rows, start) = loop {
                let start = self.cluster.world.now();
                let read = ask(&mut self.cluster, async move |runtime| -> Result<_, ClientError> {
                    let mut client = Client::connect(&runtime, native_address(index)).await?;
                    client.consistency = consistency;
                    let values = vec![partition.to_be_bytes().to_vec()];
                    client.pages(&Statement { text: SELECT_PARTITION, values }, PAGE_ROWS).await
                });
                match read {
                    Some(Ok(rows)) => break (rows, start),
                    // The nodes may not have met yet.
                    _ if self.cluster.world.now() < deadline => self.cluster.world.run_for(Duration::from_millis(100)),
                    Some(Err(error)) => return Err(format!("{when} node {index} says at {consistency:?}: {error}")),
                    None => return Err(format!("{when} node {index} does not answer at {consistency:?}")),
                }
            };
            let rows = rows.iter().map(read_row).collect::<Result<BTreeMap<Key, u64>, String>>()?;
            let at_all = consistency == Consistency::All;
            let (start, end) = (start.as_nanos(), self.cluster.world.now().as_nanos());
            let mut history = self.replicated.borrow_mut();
            let seen = Seen { start, end, at_all, ends: history.ends, rows };
            judge(&mut history, &seen, |key| key.partition == partition, at_all);
            all.extend(seen.rows);
        }
        Ok(all)
    }

    /// What clients did counts as in other runs.
    pub(super) fn count_replicated(&mut self) {
        let history = self.replicated.borrow();
        self.outcome.written = history.changes.len();
        self.outcome.acknowledged = history.acknowledged_count();
        self.outcome.refused = history.refused.clone();
        let untold =
            history.violations.iter().filter(|what| !self.outcome.violations.iter().any(|told| told.ends_with(*what)));
        let untold: Vec<String> = untold.take(20).cloned().collect();
        self.outcome.violations.extend(untold);
    }
}
