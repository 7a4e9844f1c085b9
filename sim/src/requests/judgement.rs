//! The judgement at the end of a run, when nothing is under way any more.

use std::collections::{BTreeMap, BTreeSet};

use cql_protocol::Consistency;
use histories::Workload;
use histories::cas_register::CasRegister;
use histories::list_append::ListAppend;
use histories::wr_register::WrRegister;
use runtime::Runtime;

use super::course::{AGAIN, Course, HEALED_AT_MOST, QUIET};
use super::scenario::Part;
use crate::checker::requests::{acked, converge, judge, judge_count, judge_piece, whole};
use crate::client::{Client, ClientError, Statement};
use crate::site::Site;
use crate::workload::requests::{
    Act, Change, CountSeen, MAPS_FROM, PIECES_FROM, Place, Reach, SELECT_COUNT, SELECT_MAP, SELECT_PARTITION,
    SELECT_PIECE, Seen, SharedRequests, Target, Work, is_piece, read_map,
};
use crate::workload::{Key, read_count, read_row};

/// Rows of a page.
const PAGE_ROWS: i32 = 7;
/// Differences of one node that are reported.
const TOLD_MAX: usize = 10;

/// All that a read of everything has shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Everything {
    rows: BTreeMap<Key, u64>,
    counts: BTreeMap<Place, i64>,
    /// Partitions of conditional statements, by workload and number, in words.
    serial: BTreeMap<(&'static str, i32), String>,
}

impl Course<'_> {
    /// Where a node is away: what the others have of logged batches is whole. One that was acknowledged by a single replica of each row is delivered as far as
    /// was asked for, and that replica may be the node that is away: so it is judged when all are back. Then the node comes back.
    pub(super) fn judge_away(&mut self) -> Result<(), String> {
        if !self.is_one_away() {
            return Ok(());
        }
        stdx::sometimes!("batches judged without their coordinator");
        let mut rows: BTreeMap<Key, u64> = BTreeMap::new();
        for node in self.nodes() {
            for (key, value) in self.read(node, Consistency::One, "while one is away")?.rows {
                let known = rows.entry(key).or_insert(value);
                *known = value.max(*known);
            }
        }
        let is_elsewhere = |change: &Change| change.acknowledged.is_none() || change.reach.count() > 1;
        let violations = whole::judge_batches(&self.history.borrow(), &rows, is_elsewhere);
        self.tell("while one is away", violations);
        self.come_back()?;
        self.site.world().run_for(QUIET);
        Ok(())
    }

    /// All replicas together, then each node alone.
    pub(super) fn judge_all(&mut self) -> Result<(), String> {
        let when = "when all has healed";
        if self.expected.contains(&Part::Hints) && self.scenario.name == "hints" {
            self.wait_for_hints()?;
            let ends = &self.ends;
            self.history.borrow_mut().hints_delivered(|change| ends.may_lose_files(change.node, change.start));
        }
        let serial = self.finish_serial(when)?;
        let first = self.nodes().into_iter().next().ok_or("no node is left")?;
        self.all = self.read(first, Consistency::All, when)?;
        let mut different = converge::differences(&serial, 0, &self.all.serial);
        different.truncate(TOLD_MAX);
        self.tell("a read at ALL after one at a serial level", different);
        // A batch that failed may be at one replica alone. Where its hints may be lost too, an operation that takes a range from that replica may leave a part of
        // it nowhere. If its coordinator is that replica, a replacement takes both along with one disk.
        let has_moved = !self.operating.log.is_empty();
        let must_be_whole = |change: &Change| {
            let is_at_more = change.acknowledged.is_some() && change.reach.count() > 1;
            !has_moved || is_at_more || !self.ends.may_lose_hints_of(change)
        };
        let violations = whole::judge_batches(&self.history.borrow(), &self.all.rows, must_be_whole);
        self.tell(when, violations);
        self.judge_again(when)
    }

    /// Each node alone gives what all together gave. Pieces are not repaired, and may differ.
    pub(super) fn judge_again(&mut self, when: &str) -> Result<(), String> {
        let repaired = |rows: &BTreeMap<Key, u64>| -> BTreeMap<Key, u64> {
            rows.iter().filter(|(key, _)| !is_piece(key.partition)).map(|(key, value)| (*key, *value)).collect()
        };
        for node in self.nodes() {
            let own = self.read(node, Consistency::One, when)?;
            let mut violations = converge::differences(&repaired(&self.all.rows), node, &repaired(&own.rows));
            violations.extend(converge::differences(&self.all.counts, node, &own.counts));
            violations.extend(converge::differences(&self.all.serial, node, &own.serial));
            violations.truncate(TOLD_MAX);
            self.tell(when, violations);
        }
        Ok(())
    }

    /// A node that reaches no other, and has replicas of these partitions alone, gives of them what all together gave.
    pub(super) fn judge_isolated(&mut self, node: usize, keys: &BTreeSet<i32>, when: &str) -> Result<(), String> {
        let own = self.read_only(node, Consistency::One, when, Some(keys))?;
        let rows = |rows: &BTreeMap<Key, u64>| -> BTreeMap<Key, u64> {
            let of_it = rows.iter().filter(|(key, _)| !is_piece(key.partition) && keys.contains(&key.partition));
            of_it.map(|(key, value)| (*key, *value)).collect()
        };
        let counts = |counts: &BTreeMap<Place, i64>| -> BTreeMap<Place, i64> {
            counts.iter().filter(|(place, _)| keys.contains(&place.0)).map(|(place, count)| (*place, *count)).collect()
        };
        let serial = |all: &BTreeMap<(&'static str, i32), String>| -> BTreeMap<(&'static str, i32), String> {
            all.iter().filter(|((_, key), _)| keys.contains(key)).map(|(of, words)| (*of, words.clone())).collect()
        };
        let mut violations = converge::differences(&rows(&self.all.rows), node, &rows(&own.rows));
        violations.extend(converge::differences(&counts(&self.all.counts), node, &counts(&own.counts)));
        violations.extend(converge::differences(&serial(&self.all.serial), node, &serial(&own.serial)));
        violations.truncate(TOLD_MAX);
        self.tell(when, violations);
        Ok(())
    }

    pub(super) fn tell(&mut self, when: &str, violations: Vec<String>) {
        self.outcome.violations.extend(violations.into_iter().map(|what| format!("{when}: {what}")));
    }

    /// Waits until each node alone has all that was acknowledged, but for what may have been lost with the node that kept its hint.
    fn wait_for_hints(&mut self) -> Result<(), String> {
        let deadline = self.site.world().now() + HEALED_AT_MOST;
        loop {
            let lacking = self.lacking()?;
            if lacking.is_empty() {
                return Ok(());
            }
            if self.site.world().now() >= deadline {
                self.tell("hints are not delivered", lacking.into_iter().take(TOLD_MAX).collect());
                return Ok(());
            }
            self.site.world().run_for(AGAIN);
        }
    }

    fn lacking(&mut self) -> Result<Vec<String>, String> {
        let mut lacking = Vec::new();
        for node in self.nodes() {
            let start = self.now();
            let rows = self.read(node, Consistency::One, "while hints are delivered")?.rows;
            let (end, history, ends) = (self.now(), self.history.borrow(), &self.ends);
            let may_be_lost = |change: &Change| ends.may_lose_hints_of(change);
            let seen = Seen { start, end, reach: Reach::Some(1), level: format!("ONE of node {node}"), rows };
            let judged = history.keys.iter().map(|key| acked::lacking(&history, &seen, *key, may_be_lost));
            lacking.extend(judged.filter_map(Result::err));
        }
        Ok(lacking)
    }

    /// Everything, from one node; judged like any other read. In some tries: nodes may not have met yet.
    fn read(&mut self, node: usize, level: Consistency, when: &str) -> Result<Everything, String> {
        self.read_only(node, level, when, None)
    }

    /// The same of some partitions, by key.
    fn read_only(
        &mut self,
        node: usize,
        level: Consistency,
        when: &str,
        only: Option<&BTreeSet<i32>>,
    ) -> Result<Everything, String> {
        let deadline = self.site.world().now() + HEALED_AT_MOST;
        loop {
            let (target, work, history) = (self.target(node), self.work, self.history.clone());
            let only = only.cloned();
            match self.ask(move |runtime| Reader { runtime, target, level, work, history, only }.read()) {
                Ok(everything) => return Ok(everything),
                Err(what) if self.site.world().now() >= deadline => {
                    return Err(format!("{when} node {node} says at {level:?}: {what}"));
                }
                Err(_) => self.site.world().run_for(AGAIN),
            }
        }
    }
}

/// A client that reads everything.
struct Reader {
    runtime: Runtime,
    target: Target,
    level: Consistency,
    work: Work,
    history: SharedRequests,
    /// The partitions that are read, by key; all if none are named.
    only: Option<BTreeSet<i32>>,
}

impl Reader {
    fn has(&self, key: i32) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&key))
    }

    async fn read(self) -> Result<Everything, ClientError> {
        let mut client = Client::connect(&self.runtime, self.target.address).await?;
        client.consistency = self.level;
        let mut everything = Everything::default();
        for partition in 0..self.work.partitions as i32 {
            if self.work.has(Act::Read) && self.has(partition) {
                let rows = self.read_partition(&mut client, SELECT_PARTITION, partition).await?;
                everything.rows.extend(rows);
            }
            if self.work.has(Act::ReadPiece) && self.has(PIECES_FROM + partition) {
                let rows = self.read_partition(&mut client, SELECT_PIECE, PIECES_FROM + partition).await?;
                everything.rows.extend(rows);
            }
            if self.work.has(Act::ReadMap) && self.has(MAPS_FROM + partition) {
                let rows = self.read_partition(&mut client, SELECT_MAP, MAPS_FROM + partition).await?;
                everything.rows.extend(rows);
            }
        }
        let places = self.history.borrow().sums.places();
        for place in places.into_iter().filter(|place| self.has(place.0)) {
            everything.counts.insert(place, self.count(&mut client, place).await?);
        }
        if self.work.acts.iter().any(|(act, _)| act.is_serial()) {
            for partition in (0..self.work.partitions as i32).filter(|partition| self.has(*partition)) {
                self.read_plainly::<CasRegister>(&mut client, partition, &mut everything).await?;
                self.read_plainly::<ListAppend>(&mut client, partition, &mut everything).await?;
                self.read_plainly::<WrRegister>(&mut client, partition, &mut everything).await?;
            }
        }
        Ok(everything)
    }

    /// The replicas' rows of a partition of conditional statements, whose serial reads are judged.
    async fn read_plainly<W: Workload>(
        &self,
        client: &mut Client,
        partition: i32,
        everything: &mut Everything,
    ) -> Result<(), ClientError> {
        for asked in W::last() {
            let rows = client.run(&W::request(&asked, partition).statement, None).await?;
            let told = W::read(&asked, &rows).map_err(ClientError::Malformed)?;
            everything.serial.insert((W::NAME, partition), format!("{told:?}"));
        }
        Ok(())
    }

    async fn read_partition(
        &self,
        client: &mut Client,
        text: &'static str,
        partition: i32,
    ) -> Result<BTreeMap<Key, u64>, ClientError> {
        let is_piece = is_piece(partition);
        let page = if is_piece { 1000 } else { PAGE_ROWS };
        let start = self.runtime.now().as_nanos();
        let rows = client.pages(&Statement { text, values: vec![partition.to_be_bytes().to_vec()] }, page).await?;
        let rows = match text {
            SELECT_MAP => read_map(partition, &rows).map(|rows| rows.into_iter().collect()),
            _ => rows.iter().map(read_row).collect::<Result<BTreeMap<Key, u64>, String>>(),
        };
        let (rows, end) = (rows.map_err(ClientError::Malformed)?, self.runtime.now().as_nanos());
        let mut history = self.history.borrow_mut();
        let seen = Seen { start, end, reach: self.reach(&history.factors), level: format!("{:?}", self.level), rows };
        if is_piece {
            judge_piece(&mut history, &seen, partition);
        }
        let repaired = if is_piece { Reach::Some(1) } else { seen.reach.clone() };
        judge(&mut history, &seen, |key| key.partition == partition, Some(repaired));
        Ok(seen.rows)
    }

    async fn count(&self, client: &mut Client, place: Place) -> Result<i64, ClientError> {
        let start = self.runtime.now().as_nanos();
        let values = vec![place.0.to_be_bytes().to_vec(), place.1.to_be_bytes().to_vec()];
        let rows = client.run(&Statement { text: SELECT_COUNT, values }, None).await?;
        let found = rows.first().map(read_count).transpose().map_err(ClientError::Malformed)?;
        let (count, end) = (found.map_or(0, |(_, count)| count), self.runtime.now().as_nanos());
        let mut history = self.history.borrow_mut();
        let reach = self.reach(&history.factors);
        // One replica alone is compared with all of them: of what it may have there are too many choices.
        if reach != Reach::Some(1) {
            judge_count(&mut history, &CountSeen { place, start, end, reach, count });
        }
        Ok(count)
    }

    fn reach(&self, factors: &[u32]) -> Reach {
        Reach::of(self.level, self.target.datacenter, factors)
    }
}
