//! SELECT: its columns, its rows, its order and limits.

use cql_protocol::Version;
use cql_protocol::response::{ColumnSpec, EncodedSpecs};
use cql_syntax::{Select as SelectStatement, Selection, Selector, SelectorExpression};
use cql_types::CqlType;
use md5::{Digest, Md5};
use schema::{Column, ColumnKind, Table, system_keyspaces};

use super::parts::Parts;
use super::planner::PlanContext;
use super::restrictions::{Restrictions, StatementKind};
use super::terms::{Markers, Receiver, undefined_column, unknown_function};
use super::{
    Action, Generator, KeyChoice, Keys, Order, Output, PartOf, ResultColumns, Select, Selected, Source, token_type,
};
use crate::error::{QueryError, invalid};

/// What Cassandra says where rows would have to be looked at to be left out.
const NEEDS_FILTERING: &str = "Cannot execute this query as it might involve data filtering and thus may have unpredictable performance. If you want to execute this query despite the performance unpredictability, use ALLOW FILTERING";

/// One column of the result.
pub(super) struct ResultColumn {
    pub(super) name: String,
    pub(super) ty: CqlType,
    /// `None`: the count of rows.
    pub(super) selected: Option<Selected>,
}

pub(super) fn plan(
    select: &SelectStatement,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Action, QueryError> {
    let found = context.catalog.find(select.table.keyspace.as_deref().or(context.keyspace), &select.table.table)?;
    let table = &found.table;
    let mut parts = Parts { table, markers, parts: Vec::new() };
    let mut selection = selection(select, &mut parts)?;
    let mut parts = parts.parts;
    if !found.is_system {
        let selected = selection.iter_mut().filter_map(|column| column.selected.as_mut());
        for selected in selected.chain(parts.iter_mut().map(|part| &mut part.column)) {
            *selected = selected.of_stored(table);
        }
    }
    let is_count = selection.iter().any(|column| column.selected.is_none());
    let restrictions =
        Restrictions::new(&select.relations, table, StatementKind::Select, select.allow_filtering, markers)?;
    if select.distinct {
        check_distinct(&selection, &restrictions, table)?;
        if select.per_partition_limit.is_some() {
            return Err(invalid("PER PARTITION LIMIT is not allowed with SELECT DISTINCT queries"));
        }
    } else if selects_only_statics(&selection) {
        restrictions.check_no_clustering(StatementKind::Select)?;
    }
    if is_count && select.per_partition_limit.is_some() {
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
    let columns = result_columns(&selection, table);
    let output = output(selection, is_count);
    let mut plan = Select {
        table: table.clone(),
        replication: found.replication,
        output,
        parts,
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
    if !choices.iter().any(KeyChoice::may_be_many) || !matches!(plan.output, Output::Rows(_)) {
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

fn output(selection: Vec<ResultColumn>, is_count: bool) -> Output {
    match is_count {
        true => Output::Count { columns: selection.into_iter().map(|column| column.selected).collect() },
        false => Output::Rows(selection.into_iter().filter_map(|column| column.selected).collect()),
    }
}

fn selection(select: &SelectStatement, parts: &mut Parts<'_>) -> Result<Vec<ResultColumn>, QueryError> {
    match &select.selection {
        Selection::All => Ok(parts.table.columns().iter().map(|column| of_column(column, None)).collect()),
        Selection::List(selectors) => selectors.iter().map(|selector| of_selector(selector, parts)).collect(),
    }
}

fn of_column(column: &Column, alias: Option<&String>) -> ResultColumn {
    let selected = Some(Selected::of_column(column));
    ResultColumn { name: alias.unwrap_or(&column.name).clone(), ty: column.ty.clone(), selected }
}

fn of_selector(selector: &Selector, parts: &mut Parts<'_>) -> Result<ResultColumn, QueryError> {
    let table = parts.table;
    let alias = selector.alias.as_ref();
    let mut column = match &selector.expression {
        SelectorExpression::Column(name) => {
            let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
            return Ok(of_column(column, alias));
        }
        SelectorExpression::CountRows => ResultColumn { name: "count".to_owned(), ty: CqlType::Bigint, selected: None },
        SelectorExpression::Function { name, arguments, .. } => of_function(name, arguments, parts)?,
        part @ (SelectorExpression::Element { .. }
        | SelectorExpression::Slice { .. }
        | SelectorExpression::Field { .. }) => parts.value(part)?,
        SelectorExpression::Cast { .. } => return Err(invalid("CAST is not supported yet")),
        SelectorExpression::Term(_) => return Err(invalid("Selecting a constant is not supported yet")),
    };
    if let Some(alias) = alias {
        column.name.clone_from(alias);
    }
    Ok(column)
}

fn of_function(
    name: &str,
    arguments: &[SelectorExpression],
    parts: &mut Parts<'_>,
) -> Result<ResultColumn, QueryError> {
    if let (Some(what), [argument]) = (PartOf::function(name), arguments) {
        return parts.written(name, what, argument);
    }
    let table = parts.table;
    let mut generated = |generator, ty: CqlType| -> Result<ResultColumn, QueryError> {
        let Source::Generated(index) = parts.markers.generator(generator)? else { panic!("a generator has an index") };
        Ok(ResultColumn { name: format!("system.{name}()"), ty, selected: Some(Selected::Generated(index)) })
    };
    match (name, arguments) {
        ("now", []) => generated(Generator::TimeUuid, CqlType::Timeuuid),
        ("uuid", []) => generated(Generator::RandomUuid, CqlType::Uuid),
        ("currenttimestamp" | "current_timestamp", []) => generated(Generator::Timestamp, CqlType::Timestamp),
        ("currentdate" | "current_date", []) => generated(Generator::Date, CqlType::Date),
        ("currenttime" | "current_time", []) => generated(Generator::Time, CqlType::Time),
        ("token", arguments) => of_token(arguments, table),
        ("count" | "min" | "max" | "sum" | "avg", _) => {
            Err(invalid(format!("The aggregate {name}() of a column is not supported yet")))
        }
        _ => Err(unknown_function(name)),
    }
}

fn of_token(arguments: &[SelectorExpression], table: &Table) -> Result<ResultColumn, QueryError> {
    let names: Vec<&str> = table.partition_key().iter().map(|column| column.name.as_str()).collect();
    let is_key = arguments.len() == names.len()
        && arguments.iter().zip(&names).all(|(argument, name)| match argument {
            SelectorExpression::Column(column) => column == name,
            _ => false,
        });
    if let Some(SelectorExpression::Column(name)) = arguments
        .iter()
        .find(|argument| matches!(argument, SelectorExpression::Column(name) if table.column(name).is_none()))
    {
        return Err(undefined_column(name, table));
    }
    if arguments.len() != names.len() {
        return Err(invalid(format!(
            "Invalid number of arguments in call to function system.token: {} required but {} provided",
            names.len(),
            arguments.len()
        )));
    }
    if !is_key {
        return Err(invalid(format!(
            "token() is supported of the partition key's columns, in their order: {}",
            names.join(", ")
        )));
    }
    let name = format!("system.token({})", names.join(", "));
    Ok(ResultColumn { name, ty: token_type(table), selected: Some(Selected::Token) })
}

/// Whether static columns are all that is asked for beside the partition key.
fn selects_only_statics(selection: &[ResultColumn]) -> bool {
    let is_static = |column: &ResultColumn| column.selected.is_some_and(|selected| selected.is_static());
    let is_key = |column: &ResultColumn| column.selected.is_some_and(|selected| selected.is_of_partition_key());
    selection.iter().any(is_static) && selection.iter().all(|column| is_static(column) || is_key(column))
}

fn check_distinct(selection: &[ResultColumn], restrictions: &Restrictions, table: &Table) -> Result<(), QueryError> {
    for column in selection {
        let fits = match column.selected {
            Some(Selected::Token) | None => true,
            Some(selected) => selected.is_static() || selected.is_of_partition_key(),
        };
        if !fits {
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
        let wanted = Some(Selected::PartitionKey(column.position));
        if !selection.iter().any(|selected| selected.selected == wanted) {
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

fn result_columns(selection: &[ResultColumn], table: &Table) -> ResultColumns {
    let (keyspace, name) = (table.keyspace.as_str(), table.name.as_str());
    let columns = selection.iter();
    let specs: Vec<ColumnSpec<'_>> =
        columns.map(|column| ColumnSpec { keyspace, table: name, name: &column.name, ty: &column.ty }).collect();
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
        named: selection.iter().map(|column| (column.name.clone(), column.ty.clone())).collect(),
    }
}
