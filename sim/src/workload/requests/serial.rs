//! The histories of conditional statements and reads at a serial level: of the workloads [`CasRegister`], [`ListAppend`] and [`WrRegister`].

use std::collections::BTreeMap;

use histories::cas_register::CasRegister;
use histories::list_append::ListAppend;
use histories::wr_register::WrRegister;
use histories::{Answer, History, Workload};

/// The history of a workload, and what clients know of its partitions.
#[derive(Debug)]
pub struct Conditional<W: Workload> {
    /// The history.
    pub history: History<W::Asked, W::Told>,
    pub(super) views: BTreeMap<i32, W::View>,
}

impl<W: Workload> Default for Conditional<W> {
    fn default() -> Self {
        Conditional { history: History::default(), views: BTreeMap::new() }
    }
}

/// The histories of all of them.
#[derive(Debug, Default)]
pub struct Serial {
    /// Registers.
    pub registers: Conditional<CasRegister>,
    /// Lists.
    pub lists: Conditional<ListAppend>,
    /// Registers that are written several at once.
    pub pages: Conditional<WrRegister>,
    values: u64,
}

/// A workload with its place in [`Serial`].
pub trait Kept: Workload {
    /// The place.
    fn of(all: &mut Serial) -> &mut Conditional<Self>;
}

impl Kept for CasRegister {
    fn of(all: &mut Serial) -> &mut Conditional<CasRegister> {
        &mut all.registers
    }
}

impl Kept for ListAppend {
    fn of(all: &mut Serial) -> &mut Conditional<ListAppend> {
        &mut all.lists
    }
}

impl Kept for WrRegister {
    fn of(all: &mut Serial) -> &mut Conditional<WrRegister> {
        &mut all.pages
    }
}

impl<W: Workload> Conditional<W> {
    /// Conditional statements of which that holds.
    fn count(&self, is_counted: impl Fn(&histories::Operation<W::Asked, W::Told>) -> bool) -> usize {
        self.history.all().filter(|one| !W::is_read(&one.asked) && is_counted(one)).count()
    }
}

impl Serial {
    /// The next request of a client.
    pub(super) fn choose<W: Kept>(&mut self, partition: i32, random: histories::Random<'_>) -> W::Asked {
        let fresh = self.fresh::<W>();
        W::choose(W::of(self).views.entry(partition).or_default(), fresh, random)
    }

    /// A value that no request had before.
    pub(super) fn fresh<W: Kept>(&mut self) -> u64 {
        self.values += W::VALUES.max(1);
        self.values
    }

    /// Conditional statements that were answered.
    pub fn acknowledged_count(&self) -> usize {
        self.acknowledged_since(0)
    }

    /// Those of them that were sent since that moment.
    pub fn acknowledged_since(&self, since: u64) -> usize {
        let (registers, lists, pages) = (&self.registers, &self.lists, &self.pages);
        registers.count(|one| one.end().is_some() && one.start >= since)
            + lists.count(|one| one.end().is_some() && one.start >= since)
            + pages.count(|one| one.end().is_some() && one.start >= since)
    }

    /// Those whose outcome is not known.
    pub fn unknown_count(&self) -> usize {
        let (registers, lists, pages) = (&self.registers, &self.lists, &self.pages);
        registers.count(|one| one.answer == Answer::Unknown)
            + lists.count(|one| one.answer == Answer::Unknown)
            + pages.count(|one| one.answer == Answer::Unknown)
    }

    /// Those that were sent.
    pub fn sent_count(&self) -> usize {
        self.acknowledged_count() + self.unknown_count()
    }

    /// Sentences about histories that no order explains, and answers that make no sense. Unless lists have an order, they are judged by their elements.
    pub fn judge(&self, lists_have_order: bool) -> Vec<String> {
        let mut violations = CasRegister::judge(&self.registers.history);
        match lists_have_order {
            true => violations.extend(ListAppend::judge(&self.lists.history)),
            false => {
                violations.extend(self.lists.history.partitions.values().flat_map(|of| ListAppend::check_elements(of)))
            }
        }
        violations.extend(WrRegister::judge(&self.pages.history));
        violations
    }
}
