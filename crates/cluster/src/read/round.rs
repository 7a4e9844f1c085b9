//! One round of a read: its first readers are asked for a page each, others in the stead of those that fail and beside those that are silent, until the answers
//! suffice.
//!
//! Of a partition the first reader sends data and the others digests, or the data itself where it is short; where they differ, all whose answers count
//! send data. Of a scan all send data. A round gives one page on which all agree, or the pages of each, to be merged. A reader that has applied a change which the
//! plan does not know ends the read: it is planned again (`docs/internals/fence.md`).

use std::cell::{Cell, RefCell};
use std::time::Duration;

use mutation::{DecodeError, Position};
use planted::Planted;
use runtime::{Elapsed, Instant};
use schema::Table;
use storage::reader::{Page, Source};
use topology::{NodeIndex, Required};

use super::contacts::{Contacts, Verdict};
use super::lanes::{Asking, Extent, LaneEnd, Origin, SUSPECT_CHECK, malformed};
use super::running::{Running, all};
use super::speculation::{ReadCounters, TableTimes};
use crate::outcome::Failure;
use crate::replica::{Compared, Digest, DigestRule, ReplicaError, digest_of};

/// Replicas that failed in a read.
pub(super) type Failed = Vec<(NodeIndex, ReplicaError)>;

/// Findings of the rounds of one read about its replicas.
#[derive(Default)]
pub(super) struct Course {
    /// They are not asked again.
    failed: RefCell<Failed>,
    /// They are asked last.
    silent: RefCell<Vec<NodeIndex>>,
}

impl Course {
    /// Some replicas have failed before.
    pub(super) fn after(failed: Failed) -> Course {
        Course { failed: RefCell::new(failed), silent: RefCell::default() }
    }

    /// True if a replica has failed.
    pub(super) fn has_failed(&self, node: NodeIndex) -> bool {
        self.failed.borrow().iter().any(|(known, _)| *known == node)
    }

    /// A replica has failed.
    pub(super) fn fail(&self, node: NodeIndex, error: ReplicaError) {
        assert!(!self.has_failed(node), "a replica that has failed is not asked again in the same read");
        self.failed.borrow_mut().push((node, error));
    }

    /// How many have failed.
    pub(super) fn failed_count(&self) -> usize {
        self.failed.borrow().len()
    }

    fn silent(&self, node: NodeIndex) {
        let mut silent = self.silent.borrow_mut();
        if !silent.contains(&node) {
            silent.push(node);
        }
    }

    /// The replicas of an order, those that were silent last.
    fn order(&self, order: &[NodeIndex]) -> Vec<NodeIndex> {
        let silent = self.silent.borrow();
        let mut order = order.to_vec();
        order.sort_by_key(|node| silent.contains(node));
        order
    }
}

/// The terms of one round.
#[derive(Clone)]
pub(super) struct Round<'r, 'c> {
    pub(super) asking: Asking<'c>,
    pub(super) needs: &'r Required,
    /// The live replicas, the first to ask first.
    pub(super) order: &'r [NodeIndex],
    pub(super) course: &'r Course,
    pub(super) extent: Extent,
    pub(super) table: &'r Table,
    /// True if digests are compared.
    pub(super) compares: bool,
    pub(super) times: &'r TableTimes,
    pub(super) counters: &'r Cell<ReadCounters>,
}

/// The pages of one reader, one for each of its lanes.
pub(super) type Pages = Vec<(Origin, Page)>;

/// The outcome of a round.
pub(super) enum Outcome {
    /// The page of one reader, which is that of all whose answers count.
    Agreed(NodeIndex, Page),
    /// The pages of all whose answers count.
    Pages(Vec<(NodeIndex, Pages)>),
}

enum Answer {
    Pages(Pages),
    Digest(Digest),
}

/// A round under way.
struct Progress<'p, 'r, 'c> {
    round: &'p Round<'r, 'c>,
    contacts: Contacts<'p>,
    running: Running<'p, NodeIndex, Result<Answer, ReplicaError>>,
    /// Those that were asked and when, and whether for data.
    asked: Vec<(NodeIndex, Instant, bool)>,
    answers: Vec<(NodeIndex, Answer)>,
    compares: bool,
    has_lacked_spare: bool,
}

impl<'r, 'c> Round<'r, 'c> {
    /// Runs it, after `after`.
    pub(super) async fn run(&self, after: Option<&Position>) -> Result<Outcome, Failure> {
        let command = self.asking.encoded(after);
        let began = self.asking.shards.runtime.now();
        let planted = self.asking.shards.storage.planted();
        let mut contacts = Contacts::new(self.needs, &self.asking.nodes, &self.course.order(self.order), planted);
        for (node, error) in &*self.course.failed.borrow() {
            contacts.exclude(*node, error.clone());
        }
        let mut progress = Progress {
            round: self,
            contacts,
            running: Running::new(),
            asked: Vec::new(),
            answers: Vec::new(),
            compares: self.compares,
            has_lacked_spare: false,
        };
        let outcome = progress.run(&command).await;
        let has_addition = progress.contacts.has_addition();
        let is_sample = progress.contacts.is_of_first();
        drop(progress);
        self.count(|counters| {
            counters.speculative_retries += u64::from(has_addition);
            let has_timed_out = matches!(outcome, Err(Failure::Timeout { .. }));
            counters.speculative_failed_retries += u64::from(has_addition && has_timed_out);
        });
        if outcome.is_ok() && is_sample {
            let now = self.asking.shards.runtime.now();
            self.times.note(now - began, now);
        }
        outcome
    }

    fn count(&self, change: impl FnOnce(&mut ReadCounters)) {
        let mut counters = self.counters.get();
        change(&mut counters);
        self.counters.set(counters);
    }

    /// The silence after which another replica is asked.
    fn delay(&self, now: Instant) -> Duration {
        // What a node's answers take is mostly what reads of one partition take.
        let is_scan = matches!(self.extent, Extent::AllShards);
        self.times.delay(now, |percentile| {
            if is_scan {
                return None;
            }
            let peers = self.order.iter().filter_map(|&node| self.asking.nodes.peer(node));
            peers.filter_map(|peer| peer.answer_percentile(percentile)).min()
        })
    }

    fn gc_before(&self) -> u32 {
        self.asking.command.now_in_seconds.saturating_sub(self.table.options.gc_grace_seconds)
    }

    /// Asks one replica for what the round needs of it.
    async fn ask(&self, node: NodeIndex, command: Vec<u8>, for_data: bool) -> Result<Answer, ReplicaError> {
        let asking = &self.asking;
        let origins = self.extent.origins(&asking.shards, &asking.nodes, node);
        if let ([origin], false) = (origins.as_slice(), for_data) {
            return Ok(match asking.compared(*origin, command, self.gc_before()).await? {
                Compared::Page(page) => Answer::Pages(vec![(*origin, page)]),
                Compared::Digest(digest) => Answer::Digest(digest),
            });
        }
        if origins.is_empty() {
            return Err(ReplicaError::Gone { shard: asking.nodes.shard_of(node) });
        }
        let fetched = all(origins.iter().map(|origin| asking.page(*origin, command.clone()))).await;
        let pages = origins.iter().copied().zip(fetched).map(|(origin, page)| Ok((origin, page?)));
        Ok(Answer::Pages(pages.collect::<Result<_, ReplicaError>>()?))
    }

    async fn digest(&self, node: NodeIndex, page: &Page) -> Result<Digest, LaneEnd> {
        let planted = self.asking.shards.storage.planted();
        let rule = DigestRule::of(self.table, self.asking.command.now_in_seconds, planted);
        let runtime = &self.asking.shards.runtime;
        let digest = digest_of(page, &rule, async || runtime.maybe_yield().await).await;
        digest.map_err(|problem| malformed(&self.asking.nodes, node, &problem))
    }
}

impl<'p> Progress<'p, '_, '_> {
    async fn run(&mut self, command: &[u8]) -> Result<Outcome, Failure> {
        self.ask(command);
        if self.round.times.is_always()
            && let Some(node) = self.contacts.ask_another()
        {
            // Either of the two may turn out to be the quicker one.
            self.start_for(node, command, true);
        }
        loop {
            self.ask(command);
            match self.contacts.verdict() {
                Verdict::Failed(failure) => return Err(failure),
                // A level may need no answer: a read does.
                Verdict::Done if !self.answers.is_empty() => {
                    if let Some(outcome) = self.conclude(command).await {
                        return Ok(outcome);
                    }
                    continue;
                }
                Verdict::Done | Verdict::Open => {}
            }
            let now = self.round.asking.shards.runtime.now();
            let Some(wake) = self.silence(now) else { continue };
            if now >= self.round.asking.until {
                return Err(Failure::Timeout { received: self.contacts.received() });
            }
            let wake = wake.min(self.round.asking.until);
            match self.round.asking.shards.runtime.timeout(wake - now, self.running.next()).await {
                Ok(Some((_, Err(error)))) if error.is_stale() => return Err(Failure::Refused(error)),
                Ok(Some((node, answer))) => self.take(node, answer),
                Ok(None) => return Err(Failure::Timeout { received: self.contacts.received() }),
                Err(Elapsed) => {}
            }
        }
    }

    fn ask(&mut self, command: &[u8]) {
        for node in self.contacts.ask() {
            self.start(node, command);
        }
    }

    /// True if some data is here or expected.
    fn has_data(&self) -> bool {
        let expected = self.contacts.expected();
        let is_expected = |node: &NodeIndex| {
            let last = self.asked.iter().rev().find(|(asked, ..)| asked == node);
            last.is_some_and(|(_, _, for_data)| *for_data)
        };
        self.page().is_some() || expected.iter().any(is_expected)
    }

    /// The first page of data that is here.
    fn page(&self) -> Option<(NodeIndex, &Page)> {
        self.answers.iter().find_map(|(node, answer)| match answer {
            Answer::Pages(pages) => pages.first().map(|(_, page)| (*node, page)),
            Answer::Digest(_) => None,
        })
    }

    fn start(&mut self, node: NodeIndex, command: &[u8]) {
        // The replica itself is open by now, and was not asked yet.
        self.start_for(node, command, !self.compares || !self.has_data());
    }

    fn start_for(&mut self, node: NodeIndex, command: &[u8], for_data: bool) {
        let round = self.round;
        self.asked.push((node, round.asking.shards.runtime.now(), for_data));
        self.running.push(node, round.ask(node, command.to_vec(), for_data));
    }

    /// Marks those that are silent for too long; gives when to look again, or `None` if one is so now.
    fn silence(&mut self, now: Instant) -> Option<Instant> {
        let until = self.round.asking.until;
        if !self.round.times.is_on() {
            return Some(until);
        }
        let delay = self.round.delay(now);
        let mut wake = until;
        let mut is_news = false;
        for node in self.contacts.expected() {
            let since = self.asked.iter().rev().find(|(asked, ..)| *asked == node).map_or(now, |(_, since, _)| *since);
            if now >= since + delay || self.round.asking.is_suspect(node) {
                is_news |= self.contacts.overdue(node);
                self.round.course.silent(node);
            } else {
                wake = wake.min(since + delay).min(now + SUSPECT_CHECK);
            }
        }
        if is_news && !self.contacts.has_spare() && !std::mem::replace(&mut self.has_lacked_spare, true) {
            self.round.count(|counters| counters.speculative_insufficient_replicas += 1);
        }
        if is_news { None } else { Some(wake) }
    }

    fn take(&mut self, node: NodeIndex, answer: Result<Answer, ReplicaError>) {
        match answer {
            // The others have sent data meanwhile.
            Ok(Answer::Digest(_)) if !self.compares => self.contacts.discard(node),
            Ok(answer) => {
                self.answers.retain(|(known, _)| *known != node);
                self.answers.push((node, answer));
                self.contacts.answered(node);
            }
            Err(error) => {
                if self.contacts.has_spare() {
                    stdx::sometimes!("a reader replaced by another");
                    self.round.count(|counters| counters.replaced_replicas += 1);
                }
                self.round.course.fail(node, error.clone());
                self.contacts.failed(node, error);
            }
        }
    }

    /// The outcome of answers that suffice; `None`: something more is asked.
    async fn conclude(&mut self, command: &[u8]) -> Option<Outcome> {
        let counted = self.contacts.answers();
        if !self.compares {
            let pages = std::mem::take(&mut self.answers).into_iter().filter_map(|(node, answer)| match answer {
                Answer::Pages(pages) => Some((node, pages)),
                Answer::Digest(_) => None,
            });
            return Some(Outcome::Pages(pages.collect()));
        }
        let Some((node, page)) = self.page() else {
            // Whoever was to send data has failed, after the others sent digests.
            let first = *counted.first()?;
            self.contacts.reopen(first);
            self.start(first, command);
            return None;
        };
        let agrees = self.agrees(node, page).await;
        match agrees {
            Ok(true) => {
                let page = self.take_page(node);
                return Some(Outcome::Agreed(node, page));
            }
            Ok(false) => {
                stdx::sometimes!("digest mismatch");
                self.round.count(|counters| counters.digest_mismatches += 1);
            }
            // The merge finds the damaged page, and names its reader.
            Err(()) => {}
        }
        self.compares = false;
        for node in counted {
            let is_digest =
                self.answers.iter().any(|(known, answer)| *known == node && matches!(answer, Answer::Digest(_)));
            if is_digest {
                self.contacts.reopen(node);
                self.start(node, command);
            }
        }
        None
    }

    fn take_page(&mut self, node: NodeIndex) -> Page {
        let answers = std::mem::take(&mut self.answers);
        let page = answers.into_iter().find_map(|(known, answer)| match answer {
            Answer::Pages(mut pages) if known == node => pages.pop().map(|(_, page)| page),
            _ => None,
        });
        page.expect("it was seen to be there")
    }

    /// True if all answers say the same as `page`. An error: one of them cannot be read.
    async fn agrees(&self, of: NodeIndex, page: &Page) -> Result<bool, ()> {
        let mut digest = None;
        for (node, answer) in &self.answers {
            let other = match answer {
                Answer::Pages(pages) => match pages.first() {
                    Some((_, other)) if *node == of || other == page => continue,
                    Some((_, other)) => self.round.digest(*node, other).await.map_err(|_| ())?,
                    None => return Err(()),
                },
                Answer::Digest(digest) => *digest,
            };
            let own = match digest {
                Some(known) => known,
                None => *digest.insert(self.round.digest(of, page).await.map_err(|_| ())?),
            };
            if own != other {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The lane of a read whose readers agree: each page takes a round.
pub(super) struct Agreeing<'r, 'c> {
    pub(super) round: Round<'r, 'c>,
    /// The reader of the present page.
    pub(super) node: NodeIndex,
}

impl Source for Agreeing<'_, '_> {
    type Error = LaneEnd;

    async fn fetch(&mut self, after: Option<&Position>) -> Result<Page, LaneEnd> {
        match self.round.run(after).await {
            Ok(Outcome::Agreed(node, page)) => {
                self.node = node;
                Ok(page)
            }
            Ok(Outcome::Pages(_)) => Err(LaneEnd::Differ),
            Err(failure) => Err(LaneEnd::Failed(failure)),
        }
    }

    fn planted(&self) -> Planted {
        self.round.asking.shards.storage.planted()
    }

    fn malformed(&self, problem: DecodeError) -> LaneEnd {
        malformed(&self.round.asking.nodes, self.node, &problem)
    }
}
