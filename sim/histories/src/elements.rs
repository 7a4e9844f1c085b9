//! Elements that are added once and never taken away, as *set*, *map* and *batch-set* have them.

use std::collections::{BTreeMap, BTreeSet};

use crate::statement::as_big_integer;
use crate::{Operation, Row};

/// A request for elements of one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To add an element.
    Add(u64),
    /// To read all.
    Read,
}

impl Asked {
    /// The element that it adds.
    pub(crate) fn element(&self) -> Option<u64> {
        match *self {
            Asked::Add(element) => Some(element),
            Asked::Read => None,
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It was added.
    Done,
    /// The elements, as they came.
    Have(Vec<u64>),
}

impl Told {
    /// The elements of rows that have one each.
    pub(crate) fn of_rows(rows: &[Row]) -> Result<Told, String> {
        let element = |row: &Row| as_big_integer(row, 0)?.ok_or_else(|| format!("{row:?} has no element"));
        rows.iter().map(element).collect::<Result<_, _>>().map(Told::Have)
    }

    /// The elements that were read.
    pub(crate) fn elements(&self) -> Option<&[u64]> {
        match self {
            Told::Have(elements) => Some(elements),
            Told::Done => None,
        }
    }
}

/// Each read has each element that was acknowledged before it began, none that was not sent before it ended, and none twice. Exact: each read is judged by
/// itself. `added` gives the element of a request that adds one, `read` the elements of a read's answer.
pub(crate) fn check<A, T>(
    operations: &[Operation<A, T>],
    added: impl Fn(&A) -> Option<u64>,
    read: impl Fn(&T) -> Option<&[u64]>,
) -> Vec<String> {
    let adds = || operations.iter().filter(|one| one.is_possible()).filter_map(|one| Some((one, added(&one.asked)?)));
    let starts: BTreeMap<u64, u64> = adds().map(|(add, element)| (element, add.start)).collect();
    let mut acknowledged: Vec<(u64, u64)> = adds().filter_map(|(add, element)| Some((add.end()?, element))).collect();
    acknowledged.sort_unstable();
    let mut violations = Vec::new();
    for (start, end, read) in operations.iter().filter_map(|one| Some((one.start, one.end()?, read(one.told()?)?))) {
        let elements: BTreeSet<u64> = read.iter().copied().collect();
        let due = acknowledged.iter().take_while(|(at, _)| *at < start).map(|(_, element)| *element);
        let lost: Vec<u64> = due.filter(|element| !elements.contains(element)).collect();
        let is_invented = |element: &&u64| starts.get(*element).is_none_or(|sent| *sent > end);
        let invented: Vec<u64> = elements.iter().filter(is_invented).copied().collect();
        let of = format!("a read from {start} to {end}");
        if !lost.is_empty() {
            violations.push(format!("{of} lacks what was acknowledged: {lost:?}"));
        }
        if !invented.is_empty() {
            violations.push(format!("{of} has what no client had sent: {invented:?}"));
        }
        if elements.len() < read.len() {
            violations.push(format!("{of} has elements twice: {read:?}"));
        }
    }
    violations
}
