//! One copy at its receiver: pulls units from one shard of a source.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use internode::Peer;
use mutation::MutationRef;
use runtime::{Group, Runtime};
use schema::TableId;
use storage::CopyTarget;
use topology::{Epoch, Token, TokenRange, token_of};

use crate::paxos::{STATE_TABLE, VOID, replace_positions};

use super::ask::{BUSY_MAX, OPEN_TIME, PAGE_TIME, ask_patiently};
use super::ending::Ending;
use super::error::CopyFailed;
use super::figures::Progress;
use super::job::are_cuts_of;
use super::message::{CopyAnswer, CopyNumber, CopyRequest, Open, Owner, Page, PageOf, Sum};
use super::verbs::{Bound, ask};

/// How often the pages of one unit begin again.
const RESTARTS_MAX: u32 = 5;
/// The time in which a source hears that it may let the files go, or is to keep them.
const NOTE_TIME: Duration = Duration::from_secs(5);

/// A copy from one shard of a source.
pub(super) struct Pull {
    pub(super) runtime: Runtime,
    pub(super) storage: storage::Shard,
    pub(super) peer: Peer,
    /// The shard that is asked, and how many there are.
    pub(super) shard: (u16, u16),
    pub(super) own: Owner,
    pub(super) table: TableId,
    pub(super) planned: Epoch,
    pub(super) ranges: Rc<Vec<TokenRange>>,
    pub(super) copy: Cell<Option<CopyNumber>>,
}

/// A source's answer to a request for a page.
enum Given {
    Page(Page),
    /// Begin again.
    Restart,
    /// Open again, and begin again.
    NotOpen,
}

impl Pull {
    /// Opens the copy, and waits for a place at the source as long as others have all of them. Gives where each range may be cut.
    ///
    /// A job whose leader has left ends by itself, so no receiver waits for ever.
    pub(super) async fn open(&self) -> Result<Vec<Vec<Token>>, CopyFailed> {
        self.open_within(Duration::MAX).await
    }

    async fn open_within(&self, busy_max: Duration) -> Result<Vec<Vec<Token>>, CopyFailed> {
        let copy = CopyNumber(self.runtime.random_u64());
        self.copy.set(Some(copy));
        let (shard, shards) = self.shard;
        let (table, receiver, ranges) = (self.table, self.own, self.ranges.to_vec());
        let open = CopyRequest::Open(Box::new(Open { copy, table, shard, shards, receiver, ranges }));
        match ask_patiently(&self.runtime, &self.peer, &open, (OPEN_TIME, busy_max, self.planned)).await? {
            CopyAnswer::Opened(cuts) if cuts.len() == self.ranges.len() => {
                for (range, cuts) in self.ranges.iter().zip(&cuts) {
                    if !are_cuts_of(*range, cuts) {
                        return Err(self.wrong(*range, "its cuts are not within it, ascending"));
                    }
                }
                Ok(cuts)
            }
            _ => Err(self.wrong(TokenRange::ALL, "the answer is to another kind of request")),
        }
    }

    /// Puts all that the source has of a unit into the target, and compares the sums.
    pub(super) async fn unit(
        self: &Rc<Self>,
        unit: TokenRange,
        target: &mut CopyTarget,
        (progress, ending): (&Progress, &Ending),
    ) -> Result<(), CopyFailed> {
        for turn in 0.. {
            match self.unit_once(unit, target, (progress, ending)).await? {
                None => return Ok(()),
                Some(_) if turn >= RESTARTS_MAX => break,
                Some(Given::NotOpen) => {
                    stdx::sometimes!("a copy is opened again");
                    // Its cuts are of no interest: the units stay. The places at other sources are kept meanwhile, so the wait is bounded.
                    ending.or(self.open_within(BUSY_MAX)).await??;
                }
                Some(_) => {}
            }
        }
        Err(self.wrong(unit, "its pages have begun again too often"))
    }

    /// All pages of a unit. `Some`: they are to begin again.
    async fn unit_once(
        self: &Rc<Self>,
        unit: TokenRange,
        target: &mut CopyTarget,
        (progress, ending): (&Progress, &Ending),
    ) -> Result<Option<Given>, CopyFailed> {
        let mut sum = Sum::default();
        let mut coming = self.fetch(unit, 0);
        for next in 1.. {
            let page = match ending.or(coming).await?? {
                Given::Page(page) => page,
                again => return Ok(Some(again)),
            };
            // The next page is made and sent while this one is put.
            let fetched = self.fetch_if(page.end.is_none(), unit, next);
            for mutation in &page.mutations {
                let decoded = self.checked(unit, mutation)?;
                sum.add(&decoded);
                let put = match self.table == STATE_TABLE {
                    true => target.put(&self.registers_here(mutation)?).await,
                    false => target.put(mutation).await,
                };
                put.map_err(|error| CopyFailed::of_storage(unit, &error))?;
            }
            let bytes: usize = page.mutations.iter().map(Vec::len).sum();
            progress.change(|figures| figures.bytes += bytes as u64);
            match (page.end, fetched) {
                (Some(end), _) => {
                    sum.compare(end).map_err(|problem| self.wrong(unit, &problem))?;
                    progress.change(|figures| figures.rows += sum.rows);
                    return Ok(None);
                }
                (None, fetched) => coming = fetched.expect("a page that is not the last has a next one"),
            }
            self.runtime.maybe_yield().await;
        }
        Err(self.wrong(unit, "it has too many pages"))
    }

    fn fetch_if(
        self: &Rc<Self>,
        is_wanted: bool,
        unit: TokenRange,
        page: u32,
    ) -> Option<Bound<Result<Given, CopyFailed>>> {
        is_wanted.then(|| self.fetch(unit, page))
    }

    /// Asks for a page from now on.
    fn fetch(self: &Rc<Self>, unit: TokenRange, page: u32) -> Bound<Result<Given, CopyFailed>> {
        let pull = Rc::clone(self);
        Bound::spawn(&self.runtime, async move {
            let copy = pull.copy.get().expect("a copy is opened before its pages are asked for");
            let page = CopyRequest::Page(PageOf { copy, shard: pull.shard.0, unit, page });
            match ask_patiently(&pull.runtime, &pull.peer, &page, (PAGE_TIME, BUSY_MAX, pull.planned)).await? {
                CopyAnswer::Page(page) => Ok(Given::Page(page)),
                CopyAnswer::Restart => Ok(Given::Restart),
                CopyAnswer::NotOpen => Ok(Given::NotOpen),
                _ => Err(pull.wrong(unit, "the answer is to another kind of request")),
            }
        })
    }

    /// Has the source keep the files, if it has opened them.
    pub(super) async fn keep(&self) {
        let Some(copy) = self.copy.get() else { return };
        let keep = CopyRequest::Keep { copy, shard: self.shard.0 };
        // A source that has closed it says so when it is asked for a page.
        let _ = ask(&self.runtime, &self.peer, &keep, (NOTE_TIME, self.planned)).await;
    }

    /// Registers as this shard has them: a proposal counts as accepted now, so that a later truncation of its table makes it void here too.
    fn registers_here(&self, mutation: &[u8]) -> Result<Vec<u8>, CopyFailed> {
        let failed = |error| CopyFailed::of_storage(TokenRange::ALL, &storage::CopyError::from(error));
        let now = storage::write_start(&self.storage).map_err(failed)?;
        let mut own = mutation.to_vec();
        replace_positions(&mut own, |_, position| if position == VOID { VOID } else { now });
        Ok(own)
    }

    /// The mutation, which is of the table, of the unit, of this shard, and has its key's token.
    fn checked<'m>(&self, unit: TokenRange, mutation: &'m [u8]) -> Result<MutationRef<'m>, CopyFailed> {
        let decoded = MutationRef::decode(mutation).map_err(|error| self.wrong(unit, &error.to_string()))?;
        let token = decoded.token();
        let problem = if decoded.table() != self.table {
            "a mutation is of another table"
        } else if token_of(decoded.key()) != token {
            "a mutation's token is not its key's"
        } else if !unit.contains(token) {
            "a mutation is of another range"
        } else if !self.own.owns(token) {
            "a mutation is of another shard"
        } else {
            return Ok(decoded);
        };
        Err(self.wrong(unit, problem))
    }

    fn wrong(&self, unit: TokenRange, problem: &str) -> CopyFailed {
        CopyFailed::Wrong { node: self.peer.address(), unit, problem: problem.to_owned() }
    }
}

impl Drop for Pull {
    /// The source lets the files go, sooner than by itself.
    fn drop(&mut self) {
        let Some(copy) = self.copy.get() else { return };
        let (runtime, peer, planned) = (self.runtime.clone(), self.peer.clone(), self.planned);
        let close = CopyRequest::Close { copy, shard: self.shard.0 };
        drop(self.runtime.spawn(Group::Streaming, async move {
            // One that does not hear it closes the copy in time.
            let _ = ask(&runtime, &peer, &close, (NOTE_TIME, planned)).await;
        }));
    }
}
