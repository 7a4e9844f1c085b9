//! UPDATE.

use cql_syntax::Update;
use schema::ColumnKind;

use super::context::PlanContext;
use super::modification::sort_by_column;
use super::planner::{using, writable_table};
use super::restrictions::{Restrictions, StatementKind};
use super::terms::{Markers, undefined_column};
use super::{Assignment, Modification, ModificationKind, Target, conditions};
use crate::error::{QueryError, invalid};

pub(super) fn plan(
    update: &Update,
    context: PlanContext<'_>,
    markers: &mut Markers,
) -> Result<Modification, QueryError> {
    let found = writable_table(&update.table, context)?;
    let table = &found.table;
    let (timestamp, ttl) = using(&update.using, table, markers)?;
    let conditions = conditions::plan(&update.conditions, &update.using, table, markers)?;
    let (mut statics, mut regulars) = (Vec::new(), Vec::new());
    for assignment in &update.assignments {
        let name = &assignment.column;
        let column = table.column(name).ok_or_else(|| undefined_column(name, table))?;
        if column.kind.is_key() {
            return Err(invalid(format!("PRIMARY KEY part {name} found in SET part")));
        }
        let change = Assignment::of_kind(&assignment.kind, column, table, markers)?;
        let list = if column.kind == ColumnKind::Static { &mut statics } else { &mut regulars };
        if list.iter().any(|known: &Assignment| known.column == column.id && !known.goes_with(&change)) {
            // The class is Cassandra's, whose parser finds this.
            let message = format!("Multiple incompatible setting of column {name}");
            return Err(QueryError::Syntax { message });
        }
        list.push(change);
    }
    sort_by_column(&mut statics);
    sort_by_column(&mut regulars);

    let restrictions = Restrictions::new(&update.relations, table, StatementKind::Update, false, markers)?;
    restrictions.check_key_is_there(table)?;
    let (has_statics, has_regulars) = (!statics.is_empty(), !regulars.is_empty());
    let target = match Modification::is_about_statics(table, has_statics, has_regulars, conditions.as_deref()) {
        true => {
            restrictions.check_no_clustering(StatementKind::Update, table)?;
            Target::StaticRow
        }
        false => Target::Rows(restrictions.whole_clustering(table, StatementKind::Update)?),
    };
    restrictions.check_no_other_columns(table)?;
    let modification = Modification {
        table: found.table.clone(),
        replication: found.replication,
        kind: ModificationKind::Update,
        key: restrictions.into_keys(table, StatementKind::Update)?,
        target,
        marks_rows: false,
        statics,
        regulars,
        counts: table.is_counter(),
        ttl,
        timestamp,
        conditions,
    };
    if modification.counts && modification.ttl.is_some() {
        return Err(match &modification.timestamp {
            Some(_) => invalid("Cannot provide custom timestamp for counter updates"),
            None => invalid("Cannot provide custom TTL for counter updates"),
        });
    }
    conditions::check(&modification)?;
    Ok(modification)
}
