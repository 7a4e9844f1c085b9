//! Elements that are added once and never taken away, as *set* and *map* have them.

use std::collections::{BTreeMap, BTreeSet};

/// An element that was sent.
pub(crate) struct Sent {
    /// The element.
    pub element: u64,
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of its acknowledgement.
    pub acknowledged: Option<u64>,
}

/// The elements that a read has shown.
pub(crate) struct Seen {
    /// The elements, as they came.
    pub elements: Vec<u64>,
    /// The moment before it was sent.
    pub start: u64,
    /// The moment of its answer.
    pub end: u64,
}

/// Each read has each element that was acknowledged before it began, none that was not sent before it ended, and none twice. Exact: each read is judged by
/// itself.
pub(crate) fn check(sent: &[Sent], reads: &[Seen]) -> Vec<String> {
    let starts: BTreeMap<u64, u64> = sent.iter().map(|sent| (sent.element, sent.start)).collect();
    let mut acknowledged: Vec<(u64, u64)> =
        sent.iter().filter_map(|sent| Some((sent.acknowledged?, sent.element))).collect();
    acknowledged.sort_unstable();
    let mut violations = Vec::new();
    for seen in reads {
        let elements: BTreeSet<u64> = seen.elements.iter().copied().collect();
        let due = acknowledged.iter().take_while(|(at, _)| *at < seen.start).map(|(_, element)| *element);
        let lost: Vec<u64> = due.filter(|element| !elements.contains(element)).collect();
        let is_invented = |element: &&u64| starts.get(*element).is_none_or(|start| *start > seen.end);
        let invented: Vec<u64> = elements.iter().filter(is_invented).copied().collect();
        let of = format!("a read from {} to {}", seen.start, seen.end);
        if !lost.is_empty() {
            violations.push(format!("{of} lacks what was acknowledged: {lost:?}"));
        }
        if !invented.is_empty() {
            violations.push(format!("{of} has what no client had sent: {invented:?}"));
        }
        if elements.len() < seen.elements.len() {
            violations.push(format!("{of} has elements twice: {:?}", seen.elements));
        }
    }
    violations
}
