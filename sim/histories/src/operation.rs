//! Operations with their times and answers, by partition.

use std::collections::BTreeMap;

/// The end of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<T> {
    /// None, or an error that promises nothing: it may have happened, may happen at any later time, or never.
    Unknown,
    /// Refused with the promise that nothing was done.
    Void,
    /// An answer, with the moment at which it came.
    Told(u64, T),
}

/// An operation on one partition. Times are nanoseconds of one clock for all clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation<A, T> {
    /// The request.
    pub asked: A,
    /// The moment before it was sent.
    pub start: u64,
    /// The end.
    pub answer: Answer<T>,
}

impl<A, T> Operation<A, T> {
    /// The moment of its answer; `None` if nothing is known of its outcome.
    pub fn end(&self) -> Option<u64> {
        match self.answer {
            Answer::Told(end, _) => Some(end),
            Answer::Unknown | Answer::Void => None,
        }
    }

    /// The answer.
    pub fn told(&self) -> Option<&T> {
        match &self.answer {
            Answer::Told(_, told) => Some(told),
            Answer::Unknown | Answer::Void => None,
        }
    }

    /// True if it may have had an effect, or may have one later.
    pub fn is_possible(&self) -> bool {
        !matches!(self.answer, Answer::Void)
    }

    /// True if it was answered before a moment.
    pub fn was_told_before(&self, moment: u64) -> bool {
        self.end().is_some_and(|end| end < moment)
    }
}

/// The place of an operation in its history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    partition: i32,
    place: usize,
}

/// All operations of a run.
#[derive(Debug, Clone)]
pub struct History<A, T> {
    /// By partition, in the order in which they were sent.
    pub partitions: BTreeMap<i32, Vec<Operation<A, T>>>,
    /// Answers that cannot be right whatever else happened.
    pub violations: Vec<String>,
}

impl<A, T> Default for History<A, T> {
    fn default() -> Self {
        History { partitions: BTreeMap::new(), violations: Vec::new() }
    }
}

impl<A, T> History<A, T> {
    /// Takes note of an operation that is about to be sent.
    pub fn begin(&mut self, partition: i32, asked: A, start: u64) -> Ticket {
        let operations = self.partitions.entry(partition).or_default();
        operations.push(Operation { asked, start, answer: Answer::Unknown });
        Ticket { partition, place: operations.len() - 1 }
    }

    /// Takes note of its end.
    pub fn end(&mut self, ticket: Ticket, answer: Answer<T>) {
        if let Some(operation) = self.partitions.get_mut(&ticket.partition).and_then(|all| all.get_mut(ticket.place)) {
            operation.answer = answer;
        }
    }

    /// All operations.
    pub fn all(&self) -> impl Iterator<Item = &Operation<A, T>> {
        self.partitions.values().flatten()
    }
}
