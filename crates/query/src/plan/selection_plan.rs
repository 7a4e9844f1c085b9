//! SELECT: its columns, its rows, its order and limits.

use std::collections::BTreeMap;

use cql_syntax::{Select as SelectStatement, Selection};
use cql_types::CqlType;
use planted::Bug;
use schema::{Column, ColumnId, ColumnKind, Table, UserTypes, system_keyspaces};

use super::context::PlanContext;
use super::restrictions::{Restrictions, StatementKind};
use super::selectors::Selectors;
use super::terms::{Markers, Receiver, undefined_column};
use super::{
    Action, Aggregate, Expression, GroupKey, Groups, JsonColumn, KeyChoice, Keys, Order, Output, Part, PartOf, Queried,
    ResultColumns, Select, Selected, Step, groups, masks,
};
use crate::catalog::Found;
use crate::error::{QueryError, invalid};
use crate::guardrails::{Guardrails, TombstoneLimits, refused};

/// What Cassandra says where rows would have to be looked at to be left out: that it can be allowed, or that it cannot be.
fn needs_filtering(guardrails: &Guardrails) -> QueryError {
    invalid(match guardrails.allow_filtering_enabled {
        true => {
            "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING"
        }
        false => {
            "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. Executing this query despite the performance unpredictability with ALLOW FILTERING has been disabled by the allow_filtering_enabled property in cassandra.yaml"
        }
    })
}

pub(super) fn plan(
    select: &SelectStatement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Action, QueryError> {
    let found = context.catalog.find(select.table.keyspace.as_deref().or(context.keyspace), &select.table.table)?;
    let table = &found.table;
    let none = UserTypes::new();
    let keyspace = context.catalog.schema.keyspace(&table.keyspace);
    let types = keyspace.map_or(&none, |keyspace| &keyspace.types);
    let names_statics = names_only_statics(&select.selection, &found, types)?;
    for ordering in &select.order_by {
        table.column(&ordering.column).ok_or_else(|| undefined_column(&ordering.column, table))?;
    }
    // Tables that are views of the node's state never ask for ALLOW FILTERING.
    let allow_filtering = select.allow_filtering || system_keyspaces::is_virtual(&table.keyspace);
    let restrictions =
        Restrictions::new(&select.relations, table, StatementKind::Select, select.allow_filtering, markers)?;
    check_relations(&restrictions, table, names_statics, (allow_filtering, context.guardrails))?;
    let mut selectors = Selectors::new(&found, types, &mut *markers);
    selectors.masked = context.masked && !(select.json && context.planted.is(Bug::MaskLeftOut));
    let selection = selectors.all(&select.selection)?;
    if select.distinct {
        if select.per_partition_limit.is_some() {
            return Err(invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"));
        }
        // Rows of several partitions are put in order by columns that are read for that.
        let ordering = if restrictions.has_key_in() { select.order_by.as_slice() } else { &[] };
        let ordering = ordering.iter().filter_map(|ordering| table.column(&ordering.column));
        check_distinct(&selectors.used.iter().copied().chain(ordering).collect::<Vec<_>>(), &restrictions, table)?;
    }
    let by = match select.group_by.is_empty() {
        true => None,
        false if !context.guardrails.group_by_enabled => {
            return Err(refused("group_by", "GROUP BY functionality is not allowed"));
        }
        false => Some(groups::plan(&select.group_by, &mut selectors, &restrictions, select.distinct)?),
    };
    let called_of = by.as_ref().and_then(|by| by.called_of);
    let by = by.map(|by| by.keys);
    let Selectors { parts, aggregates, used, .. } = selectors;
    let queried = match select.selection {
        Selection::All => None,
        Selection::List(_) => Some(queried(&used, &parts)),
    };
    let is_one_group = by.is_none() && !aggregates.is_empty();
    if is_one_group && select.per_partition_limit.is_some() {
        return Err(invalid("PER PARTITION LIMIT is not allowed with aggregate queries."));
    }
    let mut limit = |term: &Option<cql_syntax::Term>, name: &str| {
        let receiver = Receiver::new(table, name, CqlType::Int);
        term.as_ref().map(|term| markers.operand(term, &receiver)).transpose()
    };
    let per_partition_limit = limit(&select.per_partition_limit, "[per_partition_limit]")?;
    let limit = limit(&select.limit, "[limit]")?;
    let is_single_key = restrictions.has_whole_key();
    let order = order(select, table, is_single_key, |position| restrictions.is_fixed(position))?;
    let (named, values): (Vec<_>, Vec<_>) =
        selection.into_iter().map(|column| ((column.name, column.ty), column.expression)).unzip();
    let json = select.json.then(|| named.iter().map(json_column).collect::<Vec<_>>());
    let named = if json.is_some() { vec![("[json]".to_owned(), CqlType::Text)] } else { named };
    let mut expressions = Vec::new();
    let output = match is_one_group || by.is_some() {
        true => groups_of(values, aggregates, by),
        false => Output::Rows(selected(values, &mut expressions)?),
    };
    let mut plan = Select {
        table: table.clone(),
        replication: found.replication,
        output,
        is_masked: context.masked,
        restricts_masked: masks::restricted(&select.relations, called_of, table),
        queried,
        parts,
        expressions,
        has_constant_calls: false,
        json,
        columns: ResultColumns::new(table.clone(), named),
        keys: Keys::Tokens { start: None, end: None },
        system_key: Vec::new(),
        key_tokens: None,
        clustering: Vec::new(),
        slice_start: None,
        slice_end: None,
        allows_filtering: select.allow_filtering && !found.is_system,
        filters: Vec::new(),
        order,
        is_merged: false,
        sort: Vec::new(),
        is_distinct: select.distinct,
        limit,
        per_partition_limit,
        // Those in the server's own tables are not the client's to avoid.
        tombstones: match system_keyspaces::is_local(&table.keyspace) {
            true => TombstoneLimits::NONE,
            false => context.guardrails.tombstones.into(),
        },
    };
    plan.has_constant_calls = !plan.constant_calls().is_empty();
    restrict(&mut plan, restrictions, (allow_filtering, context.guardrails))?;
    (plan.is_merged, plan.sort) = (is_merged(select, &plan), sort(select, &plan));
    if !found.is_system {
        return Ok(Action::Select(Box::new(plan)));
    }
    // The rows of a system table are made up of the partitions that are named, or of those within the tokens.
    let tokens = plan.key_tokens.take().unwrap_or(Keys::Tokens { start: None, end: None });
    plan.keys = match plan.keys {
        Keys::Choices(choices) => {
            plan.system_key = choices;
            tokens
        }
        keys => keys,
    };
    Ok(Action::SelectVirtual(Box::new(plan)))
}

/// The columns beside the key's, each once. `used` has a column as often as it is named.
fn queried(used: &[&Column], parts: &[Part]) -> Box<[Queried]> {
    let is_of_row = |column: &&&Column| matches!(column.kind, ColumnKind::Static | ColumnKind::Regular);
    let mut times = BTreeMap::<ColumnId, usize>::new();
    for column in used.iter().filter(is_of_row) {
        *times.entry(column.id).or_default() += 1;
    }
    let queried = times.into_iter().map(|(column, times)| {
        let is_element = |part: &Part| {
            matches!(part.column, Some(Selected::Elements { column: of, .. }) if of == column)
                && matches!(
                    (part.what, part.steps.as_slice()),
                    (PartOf::Value, [Step::Element { .. } | Step::Slice { .. }])
                )
        };
        let indices = (0..).zip(parts).filter(|(_, part)| is_element(part)).map(|(index, _)| index);
        let elements: Box<[u16]> = indices.collect();
        Queried { column, elements: (elements.len() == times).then_some(elements) }
    });
    queried.collect()
}

/// Whether IN names partitions whose rows are wanted in an order.
fn is_merged(select: &SelectStatement, plan: &Select) -> bool {
    matches!(&plan.keys, Keys::Choices(choices) if choices.iter().any(KeyChoice::is_in)) && !select.order_by.is_empty()
}

/// What the rows of several partitions are put in order by: ORDER BY's columns, which each partition's rows are in the order of.
fn sort(select: &SelectStatement, plan: &Select) -> Vec<(u16, bool)> {
    let Keys::Choices(choices) = &plan.keys else { return Vec::new() };
    let has_several = choices.iter().any(KeyChoice::is_in) && !choices.iter().any(KeyChoice::is_empty);
    if !has_several || plan.output.is_one_group() {
        return Vec::new();
    }
    let column = |ordering: &cql_syntax::OrderBy| {
        plan.table.column(&ordering.column).map(|column| (column.position, ordering.descending))
    };
    select.order_by.iter().filter_map(column).collect()
}

/// Whether static columns are all that is asked for beside the partition key. Only of a table that has some are the selectors looked at here, and
/// so are refused before WHERE is, as in Cassandra.
fn names_only_statics(selection: &Selection, found: &Found, types: &UserTypes) -> Result<bool, QueryError> {
    if found.table.statics().is_empty() {
        return Ok(false);
    }
    let mut markers = Markers::default();
    let mut selectors = Selectors::new(found, types, &mut markers);
    let is_of_rows = |kind| matches!(kind, ColumnKind::Clustering | ColumnKind::Regular);
    Ok(selectors.names(selection, |kind| kind == ColumnKind::Static)? && !selectors.names(selection, is_of_rows)?)
}

/// What WHERE alone is refused for, in Cassandra's order: what needs ALLOW FILTERING does, whatever the order of rows is.
fn check_relations(
    restrictions: &Restrictions,
    table: &Table,
    names_statics: bool,
    (allow_filtering, guardrails): (bool, &Guardrails),
) -> Result<(), QueryError> {
    if !allow_filtering && !restrictions.has_whole_key() && !restrictions.has_no_key() {
        return Err(needs_filtering(guardrails));
    }
    if names_statics {
        restrictions.check_no_clustering(StatementKind::Select, table)?;
    }
    if !allow_filtering {
        if restrictions.has_clustering_elements(table) {
            return Err(invalid(
                "Clustering columns can only be restricted with CONTAINS with a secondary index or filtering",
            ));
        }
        restrictions.check_prefix(table)?;
        if restrictions.has_others() {
            return Err(needs_filtering(guardrails));
        }
    }
    Ok(())
}

/// Turns WHERE into keys, slices and filters.
fn restrict(
    plan: &mut Select,
    mut restrictions: Restrictions,
    (allow_filtering, guardrails): (bool, &Guardrails),
) -> Result<(), QueryError> {
    let table = plan.table.clone();
    let tokens = restrictions.take_token().map(|range| Keys::Tokens { start: range.start, end: range.end });
    if restrictions.has_whole_key() {
        plan.keys = Keys::Choices(restrictions.take_keys());
        plan.key_tokens = tokens;
    } else if let Some(tokens) = tokens {
        plan.keys = tokens;
    }
    let is_scan = matches!(plan.keys, Keys::Tokens { .. });
    if is_scan && restrictions.has_clustering() && !allow_filtering {
        return Err(needs_filtering(guardrails));
    }
    let rows = restrictions.take_rows();
    plan.clustering = rows.choices;
    plan.slice_start = rows.start;
    plan.slice_end = rows.end;
    plan.filters = restrictions.into_filters(&table)?;
    for filter in &mut plan.filters {
        filter.column = filter.column.of_stored(&table);
    }
    Ok(())
}

/// What each row is made of: what it has as it is, and what is computed.
fn selected(values: Vec<Expression>, expressions: &mut Vec<Expression>) -> Result<Vec<Selected>, QueryError> {
    let mut columns = Vec::with_capacity(values.len());
    for value in values {
        columns.push(match value {
            Expression::Selected(selected) => selected,
            computed => {
                let index = u16::try_from(expressions.len()).map_err(|_| invalid("Too many calls are selected"))?;
                expressions.push(computed);
                Selected::Computed(index)
            }
        });
    }
    Ok(columns)
}

fn groups_of(values: Vec<Expression>, aggregates: Vec<Aggregate>, by: Option<Vec<GroupKey>>) -> Output {
    let mut first = Vec::new();
    let columns = values.into_iter().map(|value| value.over_group(&mut first)).collect();
    Output::Groups(Box::new(Groups { columns, first, aggregates, by }))
}

fn json_column((name, ty): &(String, CqlType)) -> JsonColumn {
    let mut encoded = Vec::new();
    cql_types::json::write_name(name, &mut encoded);
    JsonColumn { name: encoded, ty: ty.clone() }
}

fn check_distinct(used: &[&Column], restrictions: &Restrictions, table: &Table) -> Result<(), QueryError> {
    for column in used {
        if !matches!(table.shown_kind(column), ColumnKind::PartitionKey | ColumnKind::Static) {
            return Err(invalid(format!(
                "SELECT DISTINCT queries must only request partition key columns and/or static columns (not {})",
                column.name
            )));
        }
    }
    if restrictions.has_clustering() || restrictions.has_regulars(table) {
        return Err(invalid(
            "SELECT DISTINCT with WHERE clause only supports restriction by partition key and/or static columns.",
        ));
    }
    if restrictions.has_whole_key() {
        return Ok(());
    }
    for column in table.partition_key() {
        if !used.iter().any(|used| used.id == column.id) {
            return Err(invalid(format!(
                "SELECT DISTINCT queries must request all the partition key columns (missing {})",
                column.name
            )));
        }
    }
    Ok(())
}

fn order(
    select: &SelectStatement,
    table: &Table,
    is_keyed: bool,
    is_fixed: impl Fn(usize) -> bool,
) -> Result<Order, QueryError> {
    let mut order: Option<Order> = None;
    let mut next = 0;
    for ordering in &select.order_by {
        let name = &ordering.column;
        if ordering.ann_of.is_some() {
            return Err(invalid(
                "ORDER BY … ANN OF is not supported yet: select the rows with similarity_cosine() or its like, and sort them in the client",
            ));
        }
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if !is_keyed {
            return Err(invalid("ORDER BY is only supported when the partition key is restricted by an EQ or an IN."));
        }
        if column.kind != ColumnKind::Clustering {
            return Err(invalid(format!(
                "Order by is currently only supported on the clustered columns of the PRIMARY KEY, got {name}"
            )));
        }
        let position = usize::from(column.position);
        let this = match ordering.descending == column.is_reversed() {
            true => Order::Stored,
            false => Order::Reversed,
        };
        // The same once more says nothing new.
        if position + 1 == next && order == Some(this) {
            continue;
        }
        // A column with one value orders nothing, so it may be left out.
        if (next..position).any(|skipped| !is_fixed(skipped)) || position < next {
            return Err(invalid(
                "Order by currently only supports the ordering of columns following their declared order in the PRIMARY KEY",
            ));
        }
        next = position + 1;
        if order.is_some_and(|order| order != this) {
            return Err(invalid("Unsupported order by relation"));
        }
        order = Some(this);
    }
    Ok(order.unwrap_or(Order::Stored))
}
