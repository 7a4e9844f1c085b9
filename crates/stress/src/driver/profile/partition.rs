//! The partitions of a profile's table: key and rows follow from a seed.
//!
//! The key follows from the seed, and all else from the key: two seeds of the same key (there are such if the key's population is small) are
//! the same partition. Below each value of a clustering column there are as many of the next one as its `cluster` draws, so the rows are a tree;
//! it is walked, never held.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use scylla::value::CqlValue;

use super::values::{Fillers, Generator, fold};
use crate::random::{below, next_random};

/// What the partitions consist of.
#[derive(Debug)]
pub(crate) struct Partitions {
    pub(crate) key: Vec<Generator>,
    pub(crate) clustering: Vec<Generator>,
    /// The columns that are in no key.
    pub(crate) others: Vec<Generator>,
    pub(crate) fillers: Fillers,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Partition<'a> {
    of: &'a Partitions,
    pub(crate) key: Vec<CqlValue>,
    seed: u64,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) clustering: Vec<CqlValue>,
    /// What the columns that are in no key follow from.
    pub(crate) seed: u64,
}

/// A marker's column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    Key(usize),
    Clustering(usize),
    Other(usize),
}

impl Partitions {
    /// The partition of a seed.
    pub(crate) fn partition(&self, seed: u64) -> Partition<'_> {
        let key: Vec<CqlValue> = self.key.iter().map(|column| column.value(seed, &self.fillers)).collect();
        let seed = key.iter().fold(0, fold);
        Partition { of: self, key, seed }
    }

    /// Rows that a partition has at most.
    pub(crate) fn rows_max(&self) -> u64 {
        self.clustering.iter().fold(1, |rows, column| column.cluster_range().1.saturating_mul(rows))
    }
}

impl Partition<'_> {
    /// How many rows there are.
    pub(crate) fn row_count(&self) -> u64 {
        let mut count = 0;
        let _ = self.walk(&mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    /// Gives each row's clustering key and seed, as long as it is wanted.
    pub(crate) fn walk(&self, each: &mut dyn FnMut(&[CqlValue], u64) -> ControlFlow<()>) -> ControlFlow<()> {
        self.walk_below(&mut Vec::with_capacity(self.of.clustering.len()), self.seed, each)
    }

    fn walk_below(
        &self,
        before: &mut Vec<CqlValue>,
        seed: u64,
        each: &mut dyn FnMut(&[CqlValue], u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(column) = self.of.clustering.get(before.len()) else { return each(before, seed) };
        let mut met = BTreeSet::new();
        for number in 0..column.cluster_size(seed) {
            let value = column.nth(seed, number, &self.of.fillers);
            let below = fold(seed, &value);
            if met.insert(below) {
                before.push(value);
                let walked = self.walk_below(before, below, each);
                before.pop();
                walked?;
            }
        }
        ControlFlow::Continue(())
    }

    /// A row by chance.
    pub(crate) fn any_row(&self, random: &mut u64) -> Row {
        let mut row = Row { clustering: Vec::with_capacity(self.of.clustering.len()), seed: self.seed };
        for column in &self.of.clustering {
            let number = below(next_random(random), column.cluster_size(row.seed));
            let value = column.nth(row.seed, number, &self.of.fillers);
            row.seed = fold(row.seed, &value);
            row.clustering.push(value);
        }
        row
    }

    /// The value that a marker is bound to. Of the columns that are in no key only the first have one, this share of them.
    pub(crate) fn value(&self, argument: Argument, row: &Row, share: f64) -> Option<CqlValue> {
        match argument {
            Argument::Key(at) => Some(self.key[at].clone()),
            Argument::Clustering(at) => Some(row.clustering[at].clone()),
            Argument::Other(at) => {
                let is_there = (at + 1) as f64 / self.of.others.len() as f64 <= share;
                is_there.then(|| self.of.others[at].value(row.seed, &self.of.fillers))
            }
        }
    }
}

#[cfg(test)]
mod tests;
