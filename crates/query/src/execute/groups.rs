//! Groups of rows: where one ends, what is kept of its first row, and what its aggregates come to.

use functions::Aggregate as State;

use super::expressions::{Evaluator, Leaves};
use crate::error::QueryError;
use crate::plan::{Expression, GroupKey, Groups, Selected};

/// The group that rows are added to, one after the other. Which partition a row is of its caller knows, and ends the group between two.
pub(crate) struct Grouping<'e> {
    plan: &'e Groups,
    is_open: bool,
    aggregates: Vec<Accumulator>,
    /// What is kept of the first row.
    first: Vec<Option<Vec<u8>>>,
    /// What the group's rows have in common, and what the row that is looked at has in its place.
    key: Vec<Option<Vec<u8>>>,
    next: Vec<Option<Vec<u8>>>,
}

enum Accumulator {
    /// The count of rows.
    Rows(u64),
    Function(Box<dyn State>),
}

impl<'e> Grouping<'e> {
    pub(crate) fn new(plan: &'e Groups) -> Self {
        let width = plan.by.as_ref().map_or(0, Vec::len);
        let mut grouping = Grouping {
            plan,
            is_open: false,
            aggregates: Vec::with_capacity(plan.aggregates.len()),
            first: vec![None; plan.first.len()],
            key: vec![None; width],
            next: vec![None; width],
        };
        grouping.start();
        grouping
    }

    /// Whether a row was added to the present group.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether groups end where partitions do; else all rows are one.
    pub(crate) fn is_by_key(&self) -> bool {
        self.plan.by.is_some()
    }

    /// Adds a row of the same partition, unless it is of another group than the open one: false. Then it is to be added once that has ended.
    #[inline]
    pub(crate) fn add(&mut self, evaluator: &mut Evaluator<'_, '_>, row: &mut impl Leaves) -> Result<bool, QueryError> {
        if self.is_other(evaluator, row)? {
            return Ok(false);
        }
        self.add_here(evaluator, row)?;
        Ok(true)
    }

    fn is_other(&mut self, evaluator: &mut Evaluator<'_, '_>, row: &mut impl Leaves) -> Result<bool, QueryError> {
        let Some(by) = self.plan.by.as_ref().filter(|by| !by.is_empty()) else { return Ok(false) };
        let is_as_before = |(key, before): (&GroupKey, &Option<Vec<u8>>)| match &key.expression {
            Expression::Selected(selected) => row.lying(selected).is_some_and(|value| value == before.as_deref()),
            _ => false,
        };
        if self.is_open && by.iter().zip(&self.key).all(is_as_before) {
            return Ok(false);
        }
        for (key, next) in by.iter().zip(&mut self.next) {
            set(next, |out| evaluator.evaluate(&key.expression, row, out))?;
        }
        let is_same = self.key.iter().zip(&self.next).zip(by).all(|((key, next), by)| {
            // One value may be written in several ways.
            key == next || matches!((key, next), (Some(a), Some(b)) if cql_types::compare(&by.ty, a, b).is_eq())
        });
        Ok(self.is_open && !is_same)
    }

    /// Adds a row, about which [`Grouping::is_other`] was asked.
    fn add_here(&mut self, evaluator: &mut Evaluator<'_, '_>, row: &mut impl Leaves) -> Result<(), QueryError> {
        if !self.is_open {
            self.is_open = true;
            std::mem::swap(&mut self.key, &mut self.next);
            for (selected, first) in self.plan.first.iter().zip(&mut self.first) {
                set(first, |out| Ok(row.selected(selected, out)))?;
            }
        }
        for (plan, state) in self.plan.aggregates.iter().zip(&mut self.aggregates) {
            match state {
                Accumulator::Rows(count) => *count += 1,
                Accumulator::Function(state) => {
                    if let [Expression::Selected(selected)] = plan.arguments.as_slice()
                        && let Some(value) = row.lying(selected)
                    {
                        state.add(&[value])?;
                        continue;
                    }
                    evaluator.with_values(&plan.arguments, row, |values| Ok(state.add(values)?))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the group: gives the value of each of the result's columns.
    pub(crate) fn end(
        &mut self,
        evaluator: &mut Evaluator<'_, '_>,
        mut value: impl FnMut(Option<&[u8]>),
    ) -> Result<(), QueryError> {
        let plan = self.plan;
        let mut out = evaluator.take();
        for column in &plan.columns {
            out.clear();
            let is_there = evaluator.evaluate(column, self, &mut out)?;
            value(is_there.then_some(out.as_slice()));
        }
        evaluator.put_back(out);
        self.is_open = false;
        self.start();
        Ok(())
    }

    fn start(&mut self) {
        self.aggregates.clear();
        self.first.iter_mut().for_each(|value| *value = None);
        let start = |one: &crate::plan::Aggregate| match &one.call {
            None => Accumulator::Rows(0),
            Some(call) => Accumulator::Function(call.start()),
        };
        self.aggregates.extend(self.plan.aggregates.iter().map(start));
    }
}

/// Makes a value anew in the memory that it has.
fn set(
    place: &mut Option<Vec<u8>>,
    make: impl FnOnce(&mut Vec<u8>) -> Result<bool, QueryError>,
) -> Result<(), QueryError> {
    let mut bytes = place.take().unwrap_or_default();
    bytes.clear();
    if make(&mut bytes)? {
        *place = Some(bytes);
    }
    Ok(())
}

impl Leaves for Grouping<'_> {
    fn selected(&mut self, _: &Selected, _: &mut Vec<u8>) -> bool {
        panic!("what a group's columns have of a row was kept of its first")
    }

    fn first(&mut self, index: u16, out: &mut Vec<u8>) -> bool {
        match &self.first[usize::from(index)] {
            Some(value) => {
                out.extend_from_slice(value);
                true
            }
            None => false,
        }
    }

    fn aggregate(&mut self, index: u16, out: &mut Vec<u8>) -> Result<bool, QueryError> {
        match &self.aggregates[usize::from(index)] {
            Accumulator::Rows(count) => {
                out.extend_from_slice(&count.to_be_bytes());
                Ok(true)
            }
            Accumulator::Function(state) => Ok(state.finish(out)?),
        }
    }
}
