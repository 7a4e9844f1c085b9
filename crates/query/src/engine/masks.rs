//! Clients that read masked columns through their masks, and the plans for them.
//!
//! A prepared SELECT of a table with masks has two plans: of the values themselves, and of the masked ones, which is made when a client without UNMASK first
//! runs it. Their markers and result columns are equal. Which one is run is decided for each execution, by the rights that the client has then. What a
//! conditional statement found is shown by the same decision, without a second plan.

use auth::{Permission, Resource};

use super::Engine;
use super::prepare::{TEXT_NOW_BYTES_MAX, have_one_shape, plan_as, plan_as_in_steps};
use crate::Session;
use crate::error::QueryError;
use crate::plan::{Action, Plan};
use crate::prepared::Prepared;

/// True if the client sees values of the plan's table as their masks show them. A table without masks costs one comparison.
#[inline]
pub(super) fn reads_masked(engine: &Engine, session: &Session, plan: &Plan) -> bool {
    plan.has_masks && engine.inner.masks_enabled && lacks_unmask(engine, session, plan)
}

#[cold]
fn lacks_unmask(engine: &Engine, session: &Session, plan: &Plan) -> bool {
    // A request of another shard's client was judged there.
    if let Some(masked) = session.handed_over_masked() {
        return masked;
    }
    let table = plan.table().expect("a plan that shows masks is of a table");
    let table = Resource::table(&table.keyspace, &table.name);
    !engine.access().subject(session.actor()).has(Permission::Unmask, &table)
}

/// The plan of a prepared statement for a client that reads masked values, or not. `None`: making it takes too long for the synchronous way.
#[inline]
pub(super) fn plan_now<'p>(
    engine: &Engine,
    prepared: &'p Prepared,
    masked: bool,
) -> Result<Option<&'p Plan>, QueryError> {
    match masked {
        false => Ok(Some(&prepared.plan)),
        true => masked_now(engine, prepared),
    }
}

#[cold]
fn masked_now<'p>(engine: &Engine, prepared: &'p Prepared) -> Result<Option<&'p Plan>, QueryError> {
    if let Some(plan) = known(prepared) {
        return Ok(Some(plan));
    }
    if prepared.text.len() > TEXT_NOW_BYTES_MAX {
        return Ok(None);
    }
    let plan = plan_as(engine, &prepared.text, prepared.keyspace.as_deref(), true)?;
    keep_masked(engine, prepared, plan).map(Some)
}

/// The same with pauses.
pub(super) async fn plan_in_time<'p>(
    engine: &Engine,
    prepared: &'p Prepared,
    masked: bool,
) -> Result<&'p Plan, QueryError> {
    if !masked {
        return Ok(&prepared.plan);
    }
    if let Some(plan) = known(prepared) {
        return Ok(plan);
    }
    let plan = plan_as_in_steps(engine, &prepared.text, prepared.keyspace.as_deref(), true).await?;
    keep_masked(engine, prepared, plan)
}

/// The plan of a text for a client that reads masked values: of a SELECT another one than `plan`.
pub(super) fn masked_text(
    engine: &Engine,
    plan: &Plan,
    text: &str,
    keyspace: Option<&str>,
) -> Result<Option<Plan>, QueryError> {
    match plan.action {
        Action::Select(_) => plan_as(engine, text, keyspace, true).map(Some),
        _ => Ok(None),
    }
}

fn keep_masked<'p>(engine: &Engine, prepared: &'p Prepared, plan: Plan) -> Result<&'p Plan, QueryError> {
    // The schema may have changed since the statement was planned.
    if !have_one_shape(&plan, &prepared.plan) {
        return Err(engine.unprepared(&prepared.id.0));
    }
    Ok(prepared.masked.get_or_init(|| plan))
}

/// The plan of the masked values, if there is one or none is needed.
fn known(prepared: &Prepared) -> Option<&Plan> {
    match prepared.plan.action {
        Action::Select(_) => prepared.masked.get(),
        _ => Some(&prepared.plan),
    }
}
