//! Loads of user profiles: a table of one's own, inserts of rows that follow from their partition's number, and queries.
//!
//! A profile ([`ProfileSettings`]) and the table's description from the server ([`table`]) → what makes [`values`] → [`partition`]s. What is
//! written and asked is cassandra-stress's (`StressProfile`, `SchemaInsert`, `SchemaQuery`, `PartitionIterator`), the values are our own.

mod partition;
mod table;
mod values;
mod visits;

use std::ops::ControlFlow;

use scylla::client::session::Session;
use scylla::response::query_result::QueryResult;
use scylla::statement::batch::{Batch, BatchStatement, BatchType};
use scylla::statement::prepared::PreparedStatement;
use scylla::value::CqlValue;

use self::partition::{Argument, Partition, Partitions, Row};
use self::table::Columns;
use self::visits::Visits;
use super::population::Population;
use super::settings::{ArgumentRows, InsertSettings, Kind, ProfileSettings};
use super::target::{self, Done, Failure, Visit, Work, execute, refused};
use crate::StressError;
use crate::random::{fraction, next_random};

/// Statements that a batch has at most, by the protocol.
const BATCH_MAX: usize = 65_535;
/// Rows that an insert may be made of: they are all in memory.
const INSERT_ROWS_MAX: u64 = 10_000_000;

/// A profile's operations.
#[derive(Debug)]
pub(crate) struct Profile {
    partitions: Partitions,
    settings: InsertSettings,
    visits: Visits,
    insert: Option<Statement>,
    queries: Vec<(Kind, ArgumentRows, Statement)>,
}

/// A prepared statement and what its markers stand for.
#[derive(Debug)]
struct Statement {
    prepared: PreparedStatement,
    arguments: Vec<Argument>,
}

/// The values of a statement's markers.
type Values = Vec<Option<CqlValue>>;

/// Makes what the profile defines, if it is not there.
pub(crate) async fn create_schema(session: &Session, profile: &ProfileSettings) -> Result<(), StressError> {
    let mut is_used = false;
    for definition in &profile.definitions {
        let is_keyspace = words_begin(definition, &["create", "keyspace"]);
        if !is_keyspace && !is_used {
            use_keyspace(session, profile).await?;
            is_used = true;
        }
        target::run_definition(session, "make what the profile defines", definition).await?;
    }
    Ok(())
}

/// Whether a statement begins with these words.
fn words_begin(statement: &str, words: &[&str]) -> bool {
    let mut said = statement.split_whitespace();
    words.iter().all(|word| said.next().is_some_and(|said| said.eq_ignore_ascii_case(word)))
}

/// Statements of profiles name their tables without the keyspace.
async fn use_keyspace(session: &Session, profile: &ProfileSettings) -> Result<(), StressError> {
    let used = session.use_keyspace(profile.keyspace.clone(), true).await;
    let action = || format!("use the keyspace {}", profile.keyspace);
    used.map_err(|error| StressError::Driver { action: action(), reason: error.to_string() })
}

impl Profile {
    /// Asks for the table and prepares the statements of these kinds.
    pub(crate) async fn prepare(
        session: &Session,
        profile: &ProfileSettings,
        kinds: &[Kind],
    ) -> Result<Profile, StressError> {
        use_keyspace(session, profile).await?;
        let (columns, partitions) = table::describe(session, profile).await?;
        let (mut insert, mut queries) = (None, Vec::new());
        for kind in kinds {
            match kind {
                Kind::Query(name) => {
                    let query = &profile.queries[*name];
                    let statement = Statement::prepare(session, &columns, name, query.cql.clone()).await?;
                    queries.push((*kind, query.rows, statement));
                }
                _ => {
                    check_size(&profile.insert, &partitions)?;
                    let text = columns.insert(&profile.full_table());
                    insert = Some(Statement::prepare(session, &columns, "insert", text).await?);
                }
            }
        }
        let visits = Visits::new(&profile.insert);
        Ok(Profile { partitions, settings: profile.insert.clone(), visits, insert, queries })
    }

    /// How many partitions the next operation of a kind wants to be about.
    pub(crate) fn partition_count(&self, kind: Kind, random: u64) -> u64 {
        if kind == Kind::Insert { self.settings.partitions.draw(random) } else { 1 }
    }

    /// Which part of which partition an insert is about.
    pub(crate) fn visit(&self, population: &Population, random: &mut u64) -> Option<Visit> {
        self.visits.next(population, random)
    }

    /// Takes note that an operation is over.
    pub(crate) fn settle(&self, work: Work) {
        if work.kind == Kind::Insert {
            work.visits.into_iter().for_each(|visit| self.visits.settle(visit));
        }
    }

    /// Does one operation.
    pub(crate) async fn perform(&self, session: &Session, work: &Work) -> Result<Done, Failure> {
        if let Some((_, rows, query)) = self.queries.iter().find(|(kind, ..)| *kind == work.kind) {
            let values = self.query_values(work, *rows, &query.arguments);
            let rows = count(execute(session, &query.prepared, values).await?)?;
            return Ok(Done { partitions: rows.min(1), rows });
        }
        let insert = self.insert.as_ref().expect("each kind of the command is prepared");
        let mut rows = self.insert_values(work, &insert.arguments);
        let done = Done { partitions: work.visits.len() as u64, rows: rows.len() as u64 };
        if rows.len() == 1 {
            return execute(session, &insert.prepared, rows.remove(0)).await.map(|_| done);
        }
        for rows in rows.chunks(BATCH_MAX) {
            let statements = vec![BatchStatement::PreparedStatement(insert.prepared.clone()); rows.len()];
            let batch = Batch::new_with_statements(self.settings.batch, statements);
            session.batch(&batch, rows).await.map_err(refused)?;
        }
        Ok(done)
    }

    fn query_values(&self, work: &Work, rows: ArgumentRows, arguments: &[Argument]) -> Values {
        let partition = self.partitions.partition(work.visits[0].seed);
        let mut random = work.random;
        let mut row = partition.any_row(&mut random);
        let mut values = Values::with_capacity(arguments.len());
        for argument in arguments {
            values.push(partition.value(*argument, &row, 1.0));
            if rows == ArgumentRows::Each {
                row = partition.any_row(&mut random);
            }
        }
        values
    }

    fn insert_values(&self, work: &Work, arguments: &[Argument]) -> Vec<Values> {
        let mut random = work.random;
        let mut rows = Vec::new();
        for visit in &work.visits {
            let partition = self.partitions.partition(visit.seed);
            let chance = self.settings.select.draw(next_random(&mut random));
            let share = self.settings.population.draw(next_random(&mut random));
            select(&partition, *visit, chance, &mut random, &mut |row| {
                rows.push(arguments.iter().map(|argument| partition.value(*argument, row, share)).collect());
            });
        }
        rows
    }
}

/// Gives the rows that a visit writes: each of its part with that chance, and one at least.
fn select(partition: &Partition<'_>, visit: Visit, chance: f64, random: &mut u64, each: &mut dyn FnMut(&Row)) {
    let (begin, end) = match visit.parts {
        1 => (0, u64::MAX),
        parts => part_of(partition.row_count(), visit.part, parts),
    };
    let (mut number, mut selected, mut last) = (0, 0_u64, None);
    let _ = partition.walk(&mut |clustering, seed| {
        if number >= end {
            return ControlFlow::Break(());
        }
        if number >= begin {
            let row = Row { clustering: clustering.to_vec(), seed };
            if chance >= 1.0 || fraction(next_random(random)) < chance {
                selected += 1;
                each(&row);
            }
            last = Some(row);
        }
        number += 1;
        ControlFlow::Continue(())
    });
    if let (0, Some(row)) = (selected, last) {
        each(&row);
    }
}

/// Where a part of so many rows begins and ends. There are no more parts than rows: what is left over visits the first ones again.
fn part_of(rows: u64, part: u64, parts: u64) -> (u64, u64) {
    let parts = parts.min(rows);
    let bound = |part: u64| (u128::from(part) * u128::from(rows) / u128::from(parts)) as u64;
    (bound(part % parts), bound(part % parts + 1))
}

impl Statement {
    async fn prepare(session: &Session, columns: &Columns, name: &str, text: String) -> Result<Statement, StressError> {
        let prepared = target::prepare(session, &format!("the statement of {name}"), text).await?;
        let arguments = columns.arguments(name, prepared.get_variable_col_specs().iter())?;
        Ok(Statement { prepared, arguments })
    }
}

/// Refuses inserts that would be too large.
fn check_size(insert: &InsertSettings, partitions: &Partitions) -> Result<(), StressError> {
    let (least_visits, _) = insert.visits.range();
    let of_one = partitions.rows_max() as f64 * insert.select.most() / least_visits as f64;
    let rows = insert.partitions.range().1 as f64 * of_one.max(1.0);
    let most = match insert.batch {
        BatchType::Logged => BATCH_MAX as u64,
        _ => INSERT_ROWS_MAX,
    };
    match rows > most as f64 {
        true => Err(StressError::Arguments {
            reason: format!(
                "an insert could have {rows:.0} rows, the limit is {most}; use fewer partitions=, a smaller select= or more visits="
            ),
        }),
        false => Ok(()),
    }
}

/// Rows of a reply; a statement that reads nothing has none.
fn count(result: QueryResult) -> Result<u64, Failure> {
    if !result.is_rows() {
        return Ok(0);
    }
    let rows = result.into_rows_result().map_err(|error| Failure::Malformed(error.to_string()))?;
    Ok(rows.rows_num() as u64)
}

#[cfg(test)]
mod tests;
