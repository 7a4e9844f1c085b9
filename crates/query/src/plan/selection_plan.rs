//! SELECT: its columns, its rows, its order and limits.

use cql_protocol::Version;
use cql_protocol::response::{ColumnSpec, EncodedSpecs};
use cql_syntax::{Select as SelectStatement, Selection};
use cql_types::CqlType;
use md5::{Digest, Md5};
use schema::{Column, ColumnKind, Table, UserTypes, system_keyspaces};

use super::planner::PlanContext;
use super::restrictions::{Restrictions, StatementKind};
use super::selectors::{ResultColumn, Selectors, names_only_statics};
use super::terms::{Markers, Receiver, undefined_column};
use super::{
    Action, Aggregate, Expression, GroupKey, Groups, JsonColumn, KeyChoice, Keys, Order, Output, ResultColumns, Select,
    Selected, groups,
};
use crate::error::{QueryError, invalid};

/// What Cassandra says where rows would have to be looked at to be left out.
const NEEDS_FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

pub(super) fn plan(
    select: &SelectStatement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Action, QueryError> {
    let found = context.catalog.find(select.table.keyspace.as_deref().or(context.keyspace), &select.table.table)?;
    let table = &found.table;
    let none = UserTypes::new();
    let keyspace = context.catalog.schema.keyspace(&table.keyspace);
    let mut selectors = Selectors {
        table,
        markers: &mut *markers,
        types: keyspace.map_or(&none, |keyspace| &keyspace.types),
        is_stored: !found.is_system,
        parts: Vec::new(),
        aggregates: Vec::new(),
        used: Vec::new(),
    };
    let selection = selectors.all(&select.selection)?;
    let restrictions =
        Restrictions::new(&select.relations, table, StatementKind::Select, select.allow_filtering, selectors.markers)?;
    if select.selection != Selection::All && names_only_statics(&selectors.used) {
        restrictions.check_no_clustering(StatementKind::Select)?;
    }
    // Conditions on rows, or on a part of the key, need it whatever the order is. Tables that are views of the node's state never ask for it.
    let is_keyless = !restrictions.has_whole_key() && !restrictions.has_no_key();
    if !found.is_system && !select.allow_filtering && (is_keyless || restrictions.has_others()) {
        return Err(invalid(NEEDS_FILTERING));
    }
    if select.distinct {
        if select.per_partition_limit.is_some() {
            return Err(invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"));
        }
        check_distinct(&selectors.used, &restrictions, table)?;
    }
    let by = match select.group_by.is_empty() {
        true => None,
        false => Some(groups::plan(&select.group_by, &mut selectors, &restrictions, select.distinct)?),
    };
    let Selectors { parts, aggregates, .. } = selectors;
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
    let json = select.json.then(|| selection.iter().map(json_column).collect::<Vec<_>>());
    let columns = match &json {
        Some(_) => result_columns(&[("[json]", &CqlType::Text)], table),
        None => {
            let named: Vec<_> = selection.iter().map(|column| (column.name.as_str(), &column.ty)).collect();
            result_columns(&named, table)
        }
    };
    let mut expressions = Vec::new();
    let output = match is_one_group || by.is_some() {
        true => groups_of(selection, aggregates, by),
        false => Output::Rows(selected(selection, &mut expressions)?),
    };
    let mut plan = Select {
        table: table.clone(),
        replication: found.replication,
        output,
        parts,
        expressions,
        json,
        columns,
        keys: Keys::Tokens { start: None, end: None },
        system_key: Vec::new(),
        key_tokens: None,
        clustering: Vec::new(),
        slice_start: None,
        slice_end: None,
        filters: Vec::new(),
        order,
        sort: Vec::new(),
        is_distinct: select.distinct,
        limit,
        per_partition_limit,
    };
    if found.is_system {
        // Tables that are views of the node's state never ask for ALLOW FILTERING.
        let allow_filtering = select.allow_filtering || system_keyspaces::is_virtual(&table.keyspace);
        // Worked out as for a stored table, for what that refuses and for its key; then its conditions are looked at.
        let markers = &mut Markers::default();
        let same = Restrictions::new(&select.relations, table, StatementKind::Select, allow_filtering, markers)?;
        restrict(&mut plan, same, allow_filtering)?;
        plan.sort = sort(select, &plan);
        if let Keys::Choices(choices) = std::mem::replace(&mut plan.keys, Keys::Tokens { start: None, end: None }) {
            plan.system_key = choices;
        }
        restrict_system(&mut plan, restrictions)?;
        return Ok(Action::SelectVirtual(Box::new(plan)));
    }
    restrict(&mut plan, restrictions, select.allow_filtering)?;
    plan.sort = sort(select, &plan);
    Ok(Action::Select(Box::new(plan)))
}

/// What the rows of several partitions are put in order by: ORDER BY's columns, which each partition's rows are in the order of.
fn sort(select: &SelectStatement, plan: &Select) -> Vec<(u16, bool)> {
    let Keys::Choices(choices) = &plan.keys else { return Vec::new() };
    if !choices.iter().any(KeyChoice::may_be_many) || plan.output.is_one_group() {
        return Vec::new();
    }
    let column = |ordering: &cql_syntax::OrderBy| {
        plan.table.column(&ordering.column).map(|column| (column.position, ordering.descending))
    };
    select.order_by.iter().filter_map(column).collect()
}

/// Turns WHERE into keys, slices and filters.
fn restrict(plan: &mut Select, mut restrictions: Restrictions, allow_filtering: bool) -> Result<(), QueryError> {
    let table = plan.table.clone();
    let tokens = restrictions.take_token().map(|range| Keys::Tokens { start: range.start, end: range.end });
    if let Some(tokens) = tokens {
        if restrictions.has_whole_key() {
            plan.keys = Keys::Choices(restrictions.take_keys());
            plan.key_tokens = Some(tokens);
        } else if restrictions.has_no_key() || allow_filtering {
            plan.keys = tokens;
        } else {
            return Err(invalid(NEEDS_FILTERING));
        }
    } else if restrictions.has_whole_key() {
        plan.keys = Keys::Choices(restrictions.take_keys());
    } else if !restrictions.has_no_key() && !allow_filtering {
        return Err(invalid(NEEDS_FILTERING));
    }
    let has_clustering = restrictions.has_clustering();
    let rows = restrictions.take_rows(&table, allow_filtering)?;
    let is_scan = matches!(plan.keys, Keys::Tokens { .. });
    if !allow_filtering && (restrictions.has_others() || (is_scan && has_clustering)) {
        return Err(invalid(NEEDS_FILTERING));
    }
    plan.clustering = rows.choices;
    plan.slice_start = rows.start;
    plan.slice_end = rows.end;
    plan.filters = restrictions.into_filters(&table)?;
    for filter in &mut plan.filters {
        filter.column = filter.column.of_stored(&table);
    }
    Ok(())
}

/// A system table's rows are made up and then looked at one by one.
fn restrict_system(plan: &mut Select, mut restrictions: Restrictions) -> Result<(), QueryError> {
    if let Some(range) = restrictions.take_token() {
        plan.keys = Keys::Tokens { start: range.start, end: range.end };
    }
    (plan.key_tokens, plan.clustering, plan.slice_start, plan.slice_end) = (None, Vec::new(), None, None);
    plan.filters = restrictions.into_filters(&plan.table.clone())?;
    Ok(())
}

/// What each row is made of: what it has as it is, and what is computed.
fn selected(selection: Vec<ResultColumn>, expressions: &mut Vec<Expression>) -> Result<Vec<Selected>, QueryError> {
    let mut columns = Vec::with_capacity(selection.len());
    for column in selection {
        columns.push(match column.expression {
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

fn groups_of(selection: Vec<ResultColumn>, aggregates: Vec<Aggregate>, by: Option<Vec<GroupKey>>) -> Output {
    let mut first = Vec::new();
    let columns = selection.into_iter().map(|column| column.expression.over_group(&mut first)).collect();
    Output::Groups(Box::new(Groups { columns, first, aggregates, by }))
}

fn json_column(column: &ResultColumn) -> JsonColumn {
    let mut name = Vec::new();
    cql_types::json::write_name(&column.name, &mut name);
    JsonColumn { name, ty: column.ty.clone() }
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

fn result_columns(columns: &[(&str, &CqlType)], table: &Table) -> ResultColumns {
    let (keyspace, table) = (table.keyspace.as_str(), table.name.as_str());
    let specs: Vec<ColumnSpec<'_>> =
        columns.iter().map(|(name, ty)| ColumnSpec { keyspace, table, name, ty }).collect();
    let (mut digest, mut ty) = (Md5::new(), Vec::new());
    for spec in &specs {
        digest.update(spec.name.as_bytes());
        digest.update([0]);
        digest.update(spec.ty.to_string().as_bytes());
        digest.update([0, 0]);
        // The name of a user-defined type does not tell its fields.
        ty.clear();
        cql_protocol::write_type(&mut ty, Version::V5, spec.ty);
        digest.update(&ty);
    }
    ResultColumns {
        count: specs.len(),
        v3: EncodedSpecs::new(Version::V3, &specs),
        v4: EncodedSpecs::new(Version::V4, &specs),
        v5: EncodedSpecs::new(Version::V5, &specs),
        id: digest.finalize().into(),
        named: columns.iter().map(|(name, ty)| ((*name).to_owned(), (*ty).clone())).collect(),
    }
}
