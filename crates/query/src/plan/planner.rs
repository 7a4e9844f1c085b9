//! From a parsed statement to a plan.

use std::rc::Rc;

use cql_syntax::{Batch, BatchKind, Condition, Conditions, Statement, TableName, Using};
use cql_types::CqlType;
use runtime::Runtime;
use schema::{Table, system_keyspaces};

use super::context::PlanContext;
use super::terms::{Markers, Receiver};
use super::{Action, BatchPlan, Modification, Operand, Plan, Selected, access, delete, insert, selection_plan, update};
use crate::error::{QueryError, invalid};

/// Plans a statement.
pub(crate) fn plan(statement: Statement, context: PlanContext<'_>) -> Result<Plan, QueryError> {
    let is_qualified = is_qualified(&statement);
    let mut markers = Markers::default();
    let action = action(statement, context, &mut markers)?;
    finish(action, markers, is_qualified, context)
}

/// [`plan`] for a statement that may be a batch of thousands, with a pause after each of them.
pub(crate) async fn plan_in_steps(
    statement: Statement,
    context: PlanContext<'_>,
    runtime: &Runtime,
) -> Result<Plan, QueryError> {
    let is_qualified = is_qualified(&statement);
    let mut markers = Markers::default();
    let action = match statement {
        Statement::Batch(mut batch) => {
            check_batch(&batch)?;
            let statements = std::mem::take(&mut batch.statements);
            let mut modifications = Vec::with_capacity(statements.len());
            for statement in statements {
                modifications.push(modification(&statement, context, &mut markers)?);
                runtime.maybe_yield().await;
            }
            Action::Batch(finish_batch(&batch, modifications, &mut markers)?)
        }
        other => action(other, context, &mut markers)?,
    };
    finish(action, markers, is_qualified, context)
}

fn action(statement: Statement, context: PlanContext<'_>, markers: &mut Markers) -> Result<Action, QueryError> {
    Ok(match statement {
        Statement::Select(select) => selection_plan::plan(&select, context, markers)?,
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            Action::Modify(Box::new(modification(&statement, context, markers)?))
        }
        Statement::Batch(batch) => Action::Batch(batch_plan(&batch, context, markers)?),
        Statement::Unsupported { what } => return Err(unsupported(&what)),
        other => Action::Other(Rc::new(other)),
    })
}

/// A statement that nothing here does, with what does it instead, if anything. No setting enables it: the configuration refuses such.
fn unsupported(what: &str) -> QueryError {
    let instead = match what {
        _ if what.contains("SERVICE LEVEL") => {
            ": all roles share a node alike, and timeouts are set in the configuration"
        }
        "PRUNE MATERIALIZED VIEW" | "ALTER MATERIALIZED VIEW" => ": there are no views",
        "SELECT FROM MUTATION_FRAGMENTS" => ": `helenus sstable dump` shows what files hold",
        "DESCRIBE WITH INTERNALS AND PASSWORDS" => ": leave out AND PASSWORDS, and read roles by LIST ROLES",
        "LIST SUPERUSERS" => ": LIST ROLES says who is one",
        _ => "",
    };
    invalid(format!("{what} is not supported yet{instead}"))
}

fn finish(
    action: Action,
    mut markers: Markers,
    is_qualified: bool,
    context: PlanContext<'_>,
) -> Result<Plan, QueryError> {
    let key_markers = match &action {
        Action::Modify(modification) => key_markers(&[&modification.key]),
        Action::SelectVirtual(select) => key_markers(&[&select.system_key]),
        Action::Select(select) => match &select.keys {
            super::Keys::Choices(choices) => key_markers(&[choices]),
            super::Keys::Tokens { .. } => filtered_key_markers(select),
        },
        Action::Batch(batch) => batch_key_markers(batch),
        Action::Other(_) => Vec::new(),
    };
    let json = std::mem::take(&mut markers.json);
    let (markers, generators) = markers.finish()?;
    let is_about_one = match &action {
        Action::Modify(modification) => {
            modification.is_single_row() && !modification.needs_reading() && modification.conditions.is_none()
        }
        Action::Select(select) => select.is_single_partition() && select.is_pure(),
        _ => false,
    };
    let is_quick = is_about_one && generators.is_empty();
    let has_order = !json.is_empty() || markers.iter().any(|marker| cql_types::has_order(&marker.ty));
    let has_masks = shows_masks(&action);
    let requirements = access::needs(&action, context)?;
    let (number, warnings) = (context.number, Vec::new());
    Ok(Plan {
        action,
        number,
        requirements,
        markers,
        generators,
        key_markers,
        has_order,
        json,
        is_quick,
        is_qualified,
        has_masks,
        warnings,
    })
}

/// True if the answer may have values of a table with masks: rows, or what a conditional statement found.
fn shows_masks(action: &Action) -> bool {
    let shows = |modification: &Modification| modification.conditions.is_some() && modification.table.has_masks();
    match action {
        Action::Select(select) => select.table.has_masks(),
        Action::Modify(modification) => shows(modification),
        Action::Batch(batch) => batch.modifications.iter().any(shows),
        Action::SelectVirtual(_) | Action::Other(_) => false,
    }
}

/// Whether the statement means the same in every session.
fn is_qualified(statement: &Statement) -> bool {
    match statement {
        Statement::Select(select) => select.table.keyspace.is_some(),
        Statement::Insert(insert) => insert.table.keyspace.is_some(),
        Statement::Update(update) => update.table.keyspace.is_some(),
        Statement::Delete(delete) => delete.table.keyspace.is_some(),
        Statement::Truncate(table) => table.keyspace.is_some(),
        Statement::Batch(batch) => batch.statements.iter().all(is_qualified),
        _ => false,
    }
}

/// For each column of the partition key the last marker bound to it, in any of the keys; nothing if one has none, since a
/// driver could not then compute the key.
fn key_markers(keys: &[&[super::KeyChoice]]) -> Vec<u16> {
    let columns = keys.first().map_or(0, |key| key.len());
    let marker_of = |choice: &super::KeyChoice| match choice {
        super::KeyChoice::One(operand) => operand.marker(),
        super::KeyChoice::In(list) => last_marker(list),
    };
    let last = |column: usize| keys.iter().filter_map(|key| marker_of(&key[column])).max();
    (0..columns).map(last).collect::<Option<Vec<u16>>>().unwrap_or_default()
}

/// The same of a SELECT that looks at each partition's key: a marker compared with it counts, however it is compared. One compared with
/// elements of it does not.
fn filtered_key_markers(select: &super::Select) -> Vec<u16> {
    use super::Comparison::{Contains, ContainsKey, Entry};
    let is_of_elements = |comparison| matches!(comparison, Contains | ContainsKey | Entry);
    let last = |position: u16| {
        let filters = select.filters.iter().filter(|filter| filter.column == Selected::PartitionKey(position));
        let filters = filters.filter(|filter| !is_of_elements(filter.comparison));
        filters.filter_map(|filter| last_marker(&filter.operands)).max()
    };
    let columns = select.table.partition_key().iter().map(|column| last(column.position));
    columns.collect::<Option<Vec<u16>>>().unwrap_or_default()
}

/// The last marker among a list's values; one for the whole list is none of them.
fn last_marker(list: &super::InList) -> Option<u16> {
    match list {
        super::InList::Operands(operands) => operands.iter().filter_map(Operand::marker).max(),
        super::InList::Marker(_) => None,
    }
}

/// As for one statement, if all are about one table. A marker for the batch's own timestamp belongs to no table, and then
/// Cassandra tells of no key.
fn batch_key_markers(batch: &BatchPlan) -> Vec<u16> {
    let mut tables = batch.modifications.iter().map(|modification| modification.table.id);
    let first = tables.next();
    if tables.any(|table| Some(table) != first) || batch.timestamp.as_ref().is_some_and(|at| at.marker().is_some()) {
        return Vec::new();
    }
    let keys: Vec<&[super::KeyChoice]> = batch.modifications.iter().map(|modification| &modification.key[..]).collect();
    key_markers(&keys)
}

/// Plans an INSERT, UPDATE or DELETE.
fn modification(
    statement: &Statement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    check_counter_conditions(statement, context)?;
    match statement {
        Statement::Insert(insert) => insert::plan(insert, context, markers),
        Statement::Update(update) => update::plan(update, context, markers),
        Statement::Delete(delete) => delete::plan(delete, context, markers),
        _ => Err(invalid("A batch holds INSERT, UPDATE and DELETE statements only")),
    }
}

/// Counters cannot be compared: IF on one of them is refused, whatever else is wrong.
fn check_counter_conditions(statement: &Statement, context: PlanContext<'_>) -> Result<(), QueryError> {
    let (table, conditions) = match statement {
        Statement::Update(update) => (&update.table, &update.conditions),
        Statement::Delete(delete) => (&delete.table, &delete.conditions),
        _ => return Ok(()),
    };
    let Conditions::All(conditions) = conditions else { return Ok(()) };
    let found = context.catalog.find(table.keyspace.as_deref().or(context.keyspace), &table.table)?;
    let of_column = |condition: &Condition| found.table.column(&condition.column).map(|column| &column.ty);
    match conditions.iter().any(|condition| of_column(condition) == Some(&CqlType::Counter)) {
        true => Err(invalid("Conditions on counters are not supported")),
        false => Ok(()),
    }
}

fn batch_plan(batch: &Batch, context: PlanContext<'_>, markers: &mut Markers) -> Result<BatchPlan, QueryError> {
    check_batch(batch)?;
    let mut modifications = Vec::with_capacity(batch.statements.len());
    for statement in &batch.statements {
        modifications.push(modification(statement, context, markers)?);
    }
    finish_batch(batch, modifications, markers)
}

fn check_batch(batch: &Batch) -> Result<(), QueryError> {
    if batch.using.ttl.is_some() {
        return Err(invalid("Global TTL on the BATCH statement is not supported."));
    }
    if batch.using.timestamp.is_some() && batch.kind == BatchKind::Counter {
        return Err(invalid("Cannot provide custom timestamp for counter BATCH"));
    }
    Ok(())
}

fn finish_batch(
    batch: &Batch,
    modifications: Vec<Modification>,
    markers: &mut Markers,
) -> Result<BatchPlan, QueryError> {
    let has_counters = modifications.iter().any(|modification| modification.counts);
    let has_others = modifications.iter().any(|modification| !modification.counts);
    if batch.using.timestamp.is_some() && has_counters {
        return Err(invalid("Cannot provide custom timestamp for a BATCH containing counters"));
    }
    check_counters(batch.kind == BatchKind::Counter, batch.kind == BatchKind::Logged, has_counters, has_others)?;
    let (timestamp, _) = match modifications.first() {
        Some(first) => using(&batch.using, &first.table.clone(), markers)?,
        None => (None, None),
    };
    let plan = BatchPlan { is_logged: batch.kind == BatchKind::Logged, has_counters, timestamp, modifications };
    let has_timestamp = plan.timestamp.is_some();
    if has_timestamp && plan.is_conditional() {
        return Err(invalid("Cannot provide custom timestamp for conditional BATCH"));
    }
    if has_timestamp && plan.modifications.iter().any(|modification| modification.timestamp.is_some()) {
        return Err(invalid("Timestamp must be set either on BATCH or individual statements"));
    }
    if plan.is_conditional() {
        check_one_table(&plan.modifications.iter().collect::<Vec<_>>())?;
    }
    Ok(plan)
}

/// A conditional batch is about one table.
pub(crate) fn check_one_table(modifications: &[&Modification]) -> Result<(), QueryError> {
    match modifications.windows(2).any(|pair| pair[0].table.id != pair[1].table.id) {
        true => Err(invalid("Batch with conditions cannot span multiple tables")),
        false => Ok(()),
    }
}

/// Refuses a batch that mixes what must not be mixed.
pub(crate) fn check_counters(
    is_for_counters: bool,
    is_logged: bool,
    has_counters: bool,
    has_others: bool,
) -> Result<(), QueryError> {
    if is_for_counters && has_others {
        return Err(invalid("Cannot include non-counter statement in a counter batch"));
    }
    if has_counters && has_others {
        return Err(invalid("Counter and non-counter mutations cannot exist in the same batch"));
    }
    if is_logged && has_counters {
        return Err(invalid("Cannot include a counter statement in a logged batch"));
    }
    Ok(())
}

/// The table that a modification is about, which must be one that takes modifications.
pub(super) fn writable_table(name: &TableName, context: PlanContext<'_>) -> Result<crate::catalog::Found, QueryError> {
    let found = context.catalog.find(name.keyspace.as_deref().or(context.keyspace), &name.table)?;
    if !found.is_system {
        return Ok(found);
    }
    let (keyspace, table) = (found.table.keyspace.clone(), found.table.name.clone());
    let message = match system_keyspaces::is_virtual(&keyspace) {
        true => format!("Modification is not supported by table {keyspace}.{table}"),
        false => format!("the tables of keyspace {keyspace} cannot be written to"),
    };
    Err(QueryError::Unwritable { keyspace, table, message })
}

/// USING: timestamp and time to live.
pub(super) fn using(
    using: &Using,
    table: &Table,
    markers: &mut Markers,
) -> Result<(Option<Operand>, Option<Operand>), QueryError> {
    let timestamp = Receiver::new(table, "[timestamp]", CqlType::Bigint);
    let ttl = Receiver::new(table, "[ttl]", CqlType::Int);
    let timestamp = using.timestamp.as_ref().map(|term| markers.operand(term, &timestamp)).transpose()?;
    let ttl = using.ttl.as_ref().map(|term| markers.operand(term, &ttl)).transpose()?;
    Ok((timestamp, ttl))
}
