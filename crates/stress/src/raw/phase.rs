//! A number of operations to do, shared by all connections, and the judgement on each reply.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{FrameHeader, HEADER_LENGTH, Opcode, Response, ResultBody};
use runtime::Instant;

use crate::StressError;
use crate::random::{below, next_random};
use crate::raw::arguments::{Arguments, Distribution, Workload};
use crate::raw::pace::Pace;
use crate::raw::rows::Rows;
use crate::raw::setup::{Statements, UpdateStatements};
use crate::raw::statement::StatementPlan;
use crate::raw::statistics::Statistics;
use crate::raw::template::{Template, is_row};
use crate::raw::updates::{Kind, UpdateTemplate, Updates};

/// The body of the reply to a write: a RESULT without anything in it.
const VOID: [u8; 4] = [0, 0, 0, 1];

/// What is the same for all operations of a run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) rows: Rows,
    requests: Requests,
    first_row: u64,
    row_count: u64,
    expected: Expected,
    distribution: Distribution,
    reads: u32,
    writes: u32,
    rate: Option<u64>,
    verify: bool,
    echo: bool,
}

/// What requests are made of.
#[derive(Debug)]
enum Requests {
    Rows { write: Template, read: Template },
    Updates(UpdatePlan),
    Own(StatementPlan),
}

impl Requests {
    fn new(arguments: &Arguments, statements: &Statements) -> Result<Requests, StressError> {
        let (version, level) = (arguments.protocol, arguments.consistency);
        Ok(match statements {
            Statements::Rows { write, read } => Requests::Rows {
                write: Template::write(version, write, level, arguments.value_bytes),
                read: Template::read(version, read, level),
            },
            Statements::Updates(statements) => Requests::Updates(UpdatePlan::new(arguments, statements)),
            Statements::Own(statement) => Requests::Own(StatementPlan::new(arguments, statement)?),
        })
    }
}

/// What updates are made of.
#[derive(Debug)]
struct UpdatePlan {
    updates: Updates,
    insert: UpdateTemplate,
    expiring: UpdateTemplate,
    delete: UpdateTemplate,
}

impl UpdatePlan {
    fn new(arguments: &Arguments, statements: &UpdateStatements) -> UpdatePlan {
        let (version, level, bytes) = (arguments.protocol, arguments.consistency, arguments.value_bytes);
        UpdatePlan {
            updates: Updates::new(arguments),
            insert: UpdateTemplate::insert(version, &statements.insert, level, bytes),
            expiring: UpdateTemplate::insert(version, &statements.expiring, level, bytes),
            delete: UpdateTemplate::delete(version, &statements.delete, level),
        }
    }

    fn append(&self, out: &mut Vec<u8>, stream: u16, rows: &Rows, number: u64) {
        let template = match self.updates.kind(number) {
            Kind::Insert => &self.insert,
            Kind::Expiring => &self.expiring,
            Kind::Delete => &self.delete,
        };
        template.append(out, stream, rows, self.updates.row(number), number);
    }
}

/// What a read must find.
#[derive(Debug)]
enum Expected {
    /// The values of the row's own number.
    Row,
    /// Nothing.
    Absent,
    /// For each row the number whose values it has, or nothing.
    Outcome(Vec<Option<u64>>),
}

impl Plan {
    pub(crate) fn new(arguments: &Arguments, statements: &Statements) -> Result<Plan, StressError> {
        let requests = Requests::new(arguments, statements)?;
        let (reads, writes) = match (arguments.workload, &requests) {
            (Workload::Mixed, _) => arguments.ratio,
            (Workload::Read | Workload::Check, _) => (1, 0),
            (_, Requests::Own(statement)) if statement.is_read => (1, 0),
            _ => (0, 1),
        };
        let expected = match arguments.workload {
            Workload::Check => Expected::Outcome(Updates::new(arguments).outcome(arguments.update_count())),
            _ if arguments.absent => Expected::Absent,
            _ => Expected::Row,
        };
        Ok(Plan {
            rows: Rows::new(arguments.seed, arguments.value_bytes),
            requests,
            first_row: arguments.first,
            row_count: arguments.rows,
            expected,
            // Each row once; and an update's row follows from its number.
            distribution: if arguments.is_of_updates() { Distribution::Seq } else { arguments.distribution },
            reads,
            writes,
            rate: arguments.rate,
            verify: !arguments.no_verify,
            echo: arguments.echo,
        })
    }
}

impl Plan {
    /// The number whose values a read of that row must find; `None`: nothing.
    #[inline]
    fn expected(&self, row: u64) -> Option<u64> {
        match &self.expected {
            Expected::Row => Some(row),
            Expected::Absent => None,
            Expected::Outcome(outcome) => outcome[(row - self.first_row) as usize],
        }
    }
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    /// The row's number, or the update's.
    row: u64,
    is_read: bool,
}

/// A number of operations, taken by the connections as they have room for them.
#[derive(Debug)]
pub(crate) struct Phase {
    plan: Rc<Plan>,
    left: Cell<u64>,
    next_row: Cell<u64>,
    random: Cell<u64>,
    pub(crate) pace: Option<Pace>,
    pub(crate) statistics: RefCell<Statistics>,
}

impl Phase {
    /// `seed` decides the rows of a uniform distribution and the order of a mixed load. A pace begins now.
    pub(crate) fn new(plan: Rc<Plan>, operations: u64, seed: u64, now: Instant) -> Rc<Phase> {
        Rc::new(Phase {
            pace: plan.rate.map(|rate| Pace::begin(now, rate, operations)),
            plan,
            left: Cell::new(operations),
            next_row: Cell::new(0),
            random: Cell::new(seed),
            statistics: RefCell::new(Statistics::new()),
        })
    }

    /// What was measured, at the end.
    pub(crate) fn finish(&self) -> Statistics {
        let late = self.pace.as_ref().and_then(Pace::failure);
        Statistics { late, ..self.statistics.replace(Statistics::new()) }
    }

    /// Takes the next operation, if any is left.
    #[inline]
    pub(crate) fn next(&self) -> Option<Operation> {
        self.left.set(self.left.get().checked_sub(1)?);
        let plan = &self.plan;
        if matches!(plan.requests, Requests::Updates(_)) {
            let number = self.next_row.get();
            self.next_row.set(number + 1);
            return Some(Operation { row: number, is_read: false });
        }
        let row = match plan.distribution {
            Distribution::Seq => {
                let row = self.next_row.get();
                self.next_row.set(if row + 1 == plan.row_count { 0 } else { row + 1 });
                row
            }
            Distribution::Uniform => below(self.random(), plan.row_count),
        };
        let is_read = match (plan.reads, plan.writes) {
            (0, _) => false,
            (_, 0) => true,
            (reads, writes) => below(self.random(), u64::from(reads + writes)) < u64::from(reads),
        };
        Some(Operation { row: plan.first_row + row, is_read })
    }

    /// Appends an operation's request.
    #[inline]
    pub(crate) fn append(&self, out: &mut Vec<u8>, stream: u16, operation: Operation) {
        let plan = &self.plan;
        match &plan.requests {
            Requests::Rows { read, .. } if operation.is_read => read.append(out, stream, &plan.rows, operation.row),
            Requests::Rows { write, .. } => write.append(out, stream, &plan.rows, operation.row),
            Requests::Updates(updates) => updates.append(out, stream, &plan.rows, operation.row),
            Requests::Own(statement) => statement.append(out, stream, operation.row),
        }
    }

    /// Records a reply, which is a whole frame.
    #[inline]
    pub(crate) fn record(&self, statistics: &mut Statistics, operation: Operation, frame: &[u8], latency: Duration) {
        if operation.is_read {
            statistics.reads.record(latency);
        } else {
            statistics.writes.record(latency);
        }
        if self.plan.echo {
            return;
        }
        let Some((head, body)) = frame.split_first_chunk::<HEADER_LENGTH>() else {
            return;
        };
        // Version, flags, opcode: byte by byte, as decoding a header for each reply would show in the generator's cost.
        let plain_result = head[1] == 0 && head[4] == Opcode::Result as u8;
        let is_expected = match operation.is_read {
            _ if matches!(self.plan.requests, Requests::Own(_)) => false,
            false => body == VOID,
            true => self.plan.expected(operation.row).is_some_and(|values| match self.plan.verify {
                true => is_row(body, &self.plan.rows, values),
                // Rows, and more than a prefix that has none.
                false => body.len() > 16 && body[..4] == [0, 0, 0, 2],
            }),
        };
        if !(plain_result && is_expected) {
            self.judge(statistics, operation, head, body);
        }
    }

    /// Looks at a reply that is not what most are: an error, a missing or wrong row, or a right one with warnings or
    /// descriptions of its columns.
    #[cold]
    fn judge(&self, statistics: &mut Statistics, operation: Operation, head: &[u8; HEADER_LENGTH], body: &[u8]) {
        let decoded = match FrameHeader::decode(head) {
            Ok(header) => Response::decode(&header, body).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let row = operation.row;
        if let (Requests::Own(statement), Ok((_, Response::Result(result)))) = (&self.plan.requests, &decoded) {
            if let Some(fault) = statement.fault(result) {
                statistics.wrong += 1;
                statistics.note_failure(|| format!("row {row}: {fault}"));
            }
            return;
        }
        match decoded {
            Ok((_, Response::Result(ResultBody::Void))) if !operation.is_read => {}
            Ok((_, Response::Result(ResultBody::Rows(found)))) if operation.is_read => {
                let Some(values) = self.plan.expected(row) else {
                    if found.row_count > 0 {
                        statistics.wrong += 1;
                        statistics.note_failure(|| format!("row {row} exists, expected none"));
                    }
                    return;
                };
                if found.row_count == 0 {
                    statistics.missing += 1;
                    statistics.note_failure(|| format!("row {row} is missing"));
                    return;
                }
                let values = self.plan.rows.values(values).map(Some);
                let equal = found.row_count == 1 && found.iter().flatten().eq(values);
                if self.plan.verify && !equal {
                    statistics.wrong += 1;
                    statistics.note_failure(|| format!("row {row} has other values than were written"));
                }
            }
            Ok((_, Response::Error(error))) => {
                statistics.errors += 1;
                statistics.note_failure(|| error.to_string());
            }
            Ok((_, other)) => {
                statistics.errors += 1;
                statistics.note_failure(|| format!("unexpected reply: {other:?}").chars().take(200).collect());
            }
            Err(error) => {
                statistics.errors += 1;
                statistics.note_failure(|| error);
            }
        }
    }

    #[inline]
    fn random(&self) -> u64 {
        let mut state = self.random.get();
        let number = next_random(&mut state);
        self.random.set(state);
        number
    }
}
