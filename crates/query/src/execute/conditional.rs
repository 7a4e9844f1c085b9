//! Conditional statements: what they read of a partition, whether their conditions hold, what they write and what they answer.
//!
//! All statements of a request are about one partition. (Source of what is read, compared and shown: Cassandra 5.0's
//! `CQL3CasRequest` and `ColumnCondition`.)

mod compared;
mod current;
mod result;

use std::collections::{BTreeMap, BTreeSet};

use cql_types::timeuuid;
use mutation::{ROW_END, ReadCommand, Slice};
use schema::{ColumnId, Table};
use topology::{Token, token_of};

use self::compared::BoundCondition;
pub(crate) use self::current::CurrentRows;
use super::key::single_key;
use super::lists::{ListReader, place};
use super::modify::{WriteTime, check_clustering};
use crate::error::{QueryError, invalid};
use crate::plan::{Assignment, Binds, ClusteringChoice, ColumnCondition, Conditions, KeyChoice, Modification, Target};

/// A conditional statement or batch with its values.
pub(crate) struct Request<'a> {
    table: &'a Table,
    is_batch: bool,
    /// True if what was found is shown through masks.
    masked: bool,
    key: Option<(Token, Vec<u8>)>,
    statements: Vec<(&'a Modification, Binds<'a>)>,
    on_static_row: Option<RowCondition<'a>>,
    /// By the row's clustering in byte-comparable form.
    on_rows: BTreeMap<Vec<u8>, RowCondition<'a>>,
    /// The same rows for [`Slice::of_row`], where others may begin with all that a row is named by.
    ended_rows: BTreeSet<Vec<u8>>,
    /// The conditions whose columns are shown; `None`: all columns are, since it is asked whether a row exists.
    shown: Option<Vec<&'a ColumnCondition>>,
    /// Whether a statement with conditions changes static columns.
    changes_statics: bool,
    /// Whether any statement changes rows.
    changes_rows: bool,
}

/// What is asked of one row.
enum RowCondition<'a> {
    NotExists,
    Exists,
    Columns(Vec<BoundCondition<'a>>),
}

impl<'a> Request<'a> {
    /// One without statements yet.
    pub(crate) fn new(table: &'a Table, is_batch: bool) -> Self {
        Request {
            table,
            is_batch,
            masked: false,
            key: None,
            statements: Vec::new(),
            on_static_row: None,
            on_rows: BTreeMap::new(),
            ended_rows: BTreeSet::new(),
            shown: Some(Vec::new()),
            changes_statics: false,
            changes_rows: false,
        }
    }

    /// The same for a client that sees values of masked columns as their masks show them, or not.
    pub(crate) fn masked(self, masked: bool) -> Self {
        Request { masked, ..self }
    }

    /// Adds a statement about the table.
    pub(crate) fn add(&mut self, modification: &'a Modification, binds: Binds<'a>) -> Result<(), QueryError> {
        self.take_key(modification, &binds)?;
        check_clustering_choices(modification)?;
        // Also where no condition asks for it: what it is made of may be refused.
        let row = self.row_of(modification, &binds)?;
        if let Some(conditions) = &modification.conditions {
            self.add_conditions(conditions, row.filter(|_| conditions.are_about_row()), &binds)?;
            self.changes_statics |= modification.changes_statics();
        }
        self.changes_rows |= modification.changes_rows();
        self.statements.push((modification, binds));
        Ok(())
    }

    /// The partition.
    pub(crate) fn key(&self) -> (Token, &[u8]) {
        let (token, key) = self.key.as_ref().expect("a request has a statement");
        (*token, key)
    }

    /// The table.
    pub(crate) fn table(&self) -> &'a Table {
        self.table
    }

    /// Each statement is about the same partition.
    fn take_key(&mut self, modification: &'a Modification, binds: &Binds<'a>) -> Result<(), QueryError> {
        if !modification.key.iter().all(KeyChoice::is_single) {
            return Err(match self.is_batch {
                // The class is that of an exception nobody expects there.
                true => QueryError::Server {
                    message: "java.lang.IllegalArgumentException: Batch with conditions cannot span multiple partitions (you cannot use IN on the partition key)"
                        .to_owned(),
                },
                false => {
                    let kind = modification.conditional_kind();
                    invalid(format!("IN on the partition key is not supported with conditional {kind}"))
                }
            });
        }
        let mut scratch = Vec::new();
        let key = single_key(self.table, &modification.key, binds, &mut scratch)?;
        match &self.key {
            None => self.key = Some((token_of(key), key.to_vec())),
            Some((_, known)) if known == key => {}
            Some(_) => return Err(invalid("Batch with conditions cannot span multiple partitions")),
        }
        Ok(())
    }

    fn add_conditions(
        &mut self,
        conditions: &'a Conditions,
        row: Option<Vec<u8>>,
        binds: &Binds<'a>,
    ) -> Result<(), QueryError> {
        match conditions {
            Conditions::NotExists | Conditions::Exists => {
                self.shown = None;
                let wanted = match conditions {
                    Conditions::NotExists => RowCondition::NotExists,
                    _ => RowCondition::Exists,
                };
                self.ask_of(row, wanted)
            }
            Conditions::Columns(columns) => {
                if let Some(shown) = &mut self.shown {
                    shown.extend(columns);
                }
                let (mut on_row, mut on_static_row) = (Vec::new(), Vec::new());
                for condition in columns {
                    let list = if condition.is_static() { &mut on_static_row } else { &mut on_row };
                    list.push(BoundCondition::new(condition, binds)?);
                }
                if !on_row.is_empty() {
                    self.ask_of(row, RowCondition::Columns(on_row))?;
                }
                if !on_static_row.is_empty() {
                    self.ask_of(None, RowCondition::Columns(on_static_row))?;
                }
                Ok(())
            }
        }
    }

    /// The clustering of the row that a statement names, in byte-comparable form; `None`: it names none, but the static row or a range.
    fn row_of(&self, modification: &Modification, binds: &Binds<'_>) -> Result<Option<Vec<u8>>, QueryError> {
        match &modification.target {
            Target::Partition if self.table.clustering().is_empty() => Ok(Some(Vec::new())),
            Target::Rows(choices) => {
                let rows = modification.combinations(choices, binds)?;
                let row = rows.first().expect("each clustering column has one value");
                let components: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
                check_clustering(&components)?;
                Ok(Some(place(self.table, components.iter().copied())))
            }
            Target::StaticRow | Target::Partition | Target::Range { .. } => Ok(None),
        }
    }

    /// Asks something of a row; `None` is the static row.
    fn ask_of(&mut self, row: Option<Vec<u8>>, wanted: RowCondition<'a>) -> Result<(), QueryError> {
        use RowCondition::{Columns, Exists, NotExists};
        let known = match &row {
            None => self.on_static_row.as_mut(),
            Some(row) => self.on_rows.get_mut(row),
        };
        let Some(known) = known else {
            match row {
                None => self.on_static_row = Some(wanted),
                Some(row) => {
                    if self.table.has_rows_of_prefixes() {
                        self.ended_rows.insert([&row[..], &[ROW_END]].concat());
                    }
                    self.on_rows.insert(row, wanted);
                }
            }
            return Ok(());
        };
        let message = match (known, wanted) {
            (Columns(known), Columns(more)) => {
                known.extend(more);
                return Ok(());
            }
            (NotExists, NotExists) | (Exists, Exists) => return Ok(()),
            (NotExists, Exists) | (Exists, NotExists) => {
                "Cannot mix IF EXISTS and IF NOT EXISTS conditions for the same row"
            }
            // Whichever of the two was there.
            (_, Columns(_)) | (Columns(_), NotExists) => "Cannot mix IF conditions and IF NOT EXISTS for the same row",
            (Columns(_), Exists) => "Cannot mix IF conditions and IF EXISTS for the same row",
        };
        Err(invalid(message))
    }

    /// What is read: the rows that are asked about; without any the first, to tell a partition that is empty from one that is not.
    pub(crate) fn slices(&self) -> Vec<Slice<'_>> {
        match self.on_rows.is_empty() {
            true => vec![Slice::ALL],
            false if self.table.has_rows_of_prefixes() => {
                self.ended_rows.iter().map(|row| Slice::of_row(row)).collect()
            }
            false => self.on_rows.keys().map(|row| Slice::of_prefix(row)).collect(),
        }
    }

    /// The read of `slices`.
    pub(crate) fn command<'s>(&'s self, slices: &'s [Slice<'s>], now_in_seconds: u32) -> ReadCommand<'s> {
        let (token, key) = self.key();
        ReadCommand { slices, ..ReadCommand::partition(self.table.id, token, key, now_in_seconds) }
    }

    /// What takes the rows.
    pub(crate) fn reader(&self, now_in_seconds: u32) -> CurrentRows<'a> {
        CurrentRows::new(self.table, self.statics_read(), self.changes_rows, self.on_rows.is_empty(), now_in_seconds)
    }

    /// The static columns that are read; `None`: all.
    fn statics_read(&self) -> Option<Vec<ColumnId>> {
        if self.changes_statics {
            return None;
        }
        let conditions = self.statements.iter().filter_map(|(modification, _)| modification.conditions.as_deref());
        let columns = conditions.filter_map(|conditions| match conditions {
            Conditions::Columns(columns) => Some(columns),
            Conditions::Exists | Conditions::NotExists => None,
        });
        let statics = columns.flatten().filter(|condition| condition.is_static());
        Some(statics.filter_map(|condition| self.table.column(&condition.name)).map(|column| column.id).collect())
    }

    /// Whether what is asked of the static row holds.
    pub(crate) fn holds_for_static_row(&self, current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        match &self.on_static_row {
            None => Ok(true),
            Some(condition) => condition.holds(current.static_row(), current),
        }
    }

    /// The rows that something is asked of.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.on_rows.keys().map(Vec::as_slice)
    }

    /// Whether what is asked of a row holds.
    pub(crate) fn holds_for_row(&self, row: &[u8], current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        let condition = self.on_rows.get(row).expect("it is one of those that something is asked of");
        condition.holds(current.row_at(row), current)
    }

    /// Whether all conditions hold.
    pub(crate) fn holds(&self, current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        if !self.holds_for_static_row(current)? {
            return Ok(false);
        }
        for row in self.on_rows.keys() {
            if !self.holds_for_row(row, current)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        self.statements.len()
    }

    /// One of the statements, with its values.
    pub(crate) fn statement(&self, index: usize) -> (&Modification, &Binds<'_>) {
        let (modification, binds) = &self.statements[index];
        (modification, binds)
    }

    /// The mutation of one of the statements.
    pub(crate) fn mutation(
        &self,
        index: usize,
        current: &CurrentRows<'_>,
        time: WriteTime,
    ) -> Result<Vec<u8>, QueryError> {
        let (modification, binds) = &self.statements[index];
        let (token, key) = self.key();
        let mut lists = ListReader::new(modification);
        if modification.needs_reading() {
            current.give(token, key, &mut lists);
        }
        let generated = places_by_ballot(modification, binds.generated, time.timestamp, index);
        let binds = Binds { generated: generated.as_deref().unwrap_or(binds.generated), ..*binds };
        let mut out = Vec::with_capacity(128);
        modification.encode_conditional(&binds, key, token, time, &lists.finish(), &mut out)?;
        Ok(out)
    }
}

/// The plan's generated values with places of lists' elements that are in the order of ballots: who coordinates a statement has a clock of its own, and
/// elements would be in the order of these clocks. Those of one ballot are in the order of its statements. `None`: the statement adds to no list.
fn places_by_ballot(
    modification: &Modification,
    generated: &[Vec<u8>],
    micros: i64,
    statement: usize,
) -> Option<Vec<Vec<u8>>> {
    /// After the time, variant and clock sequence of a UUID, before the bytes of an element's index.
    const RANK: std::ops::Range<usize> = 10..13;
    let assignments = modification.statics.iter().chain(&modification.regulars);
    let mut places = assignments.filter_map(Assignment::list_place).peekable();
    places.peek()?;
    let mut generated = generated.to_vec();
    let steps = u64::try_from(micros).unwrap_or(0) * 10 + timeuuid::UNIX_EPOCH_STEPS;
    let [_, rank @ ..] = u32::try_from(statement).unwrap_or(u32::MAX).to_be_bytes();
    for (place, is_before) in places {
        let Some(uuid) = generated.get_mut(usize::from(place)).filter(|uuid| uuid.len() == 16) else { continue };
        uuid[..8].copy_from_slice(&timeuuid::build(steps, 0, [0; 6])[..8]);
        // A later statement puts its elements before those of an earlier one.
        uuid[RANK].copy_from_slice(&rank.map(|byte| if is_before { !byte } else { byte }));
    }
    Some(generated)
}

impl RowCondition<'_> {
    fn holds(&self, row: Option<&[u8]>, current: &CurrentRows<'_>) -> Result<bool, QueryError> {
        match self {
            RowCondition::NotExists => Ok(row.is_none()),
            RowCondition::Exists => Ok(row.is_some()),
            RowCondition::Columns(conditions) => {
                conditions.iter().try_for_each(BoundCondition::check)?;
                for condition in conditions {
                    if !condition.holds(row, current)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

fn check_clustering_choices(modification: &Modification) -> Result<(), QueryError> {
    let choices = match &modification.target {
        Target::Rows(choices) | Target::Range { prefix: choices, .. } => choices,
        Target::Partition | Target::StaticRow => return Ok(()),
    };
    match choices.iter().all(ClusteringChoice::is_single) {
        true => Ok(()),
        false => {
            let kind = modification.conditional_kind();
            Err(invalid(format!("IN on the clustering key columns is not supported with conditional {kind}")))
        }
    }
}
