//! Writes to tables of counters. They take the ways of other writes, but end at a replica that makes states of them.

use cql_protocol::{Consistency, WriteType};
use topology::ConsistencyLevel;

use super::Engine;
use super::call::Call;
use super::write::Planned;
use crate::error::{QueryError, invalid, level};
use crate::guardrails::GuardrailCheck;
use crate::plan::{Binds, Modification};

impl Engine {
    /// A change of counters of any shape.
    pub(super) async fn count(
        &self,
        modification: &Modification,
        binds: &Binds<'_>,
        call: &Call<'_>,
        watch: &mut GuardrailCheck<'_>,
    ) -> Result<(), QueryError> {
        check_attributes(modification)?;
        let level = counter_level(modification, call.params.consistency)?;
        let time = self.write_time(None, binds, call.params)?;
        let mut planned = Planned::default();
        let required = self.plan_mutations(modification, binds, time, level, watch, &mut planned).await?;
        call.step(|| "Counting: reading what is there, and logging what it comes to".to_owned());
        self.count_planned(planned, level, required).await?;
        call.step(|| "Counted and synced".to_owned());
        Ok(())
    }

    /// Counts what a statement or batch comes to.
    pub(super) async fn count_planned(
        &self,
        planned: Planned,
        level: ConsistencyLevel,
        required: u32,
    ) -> Result<(), QueryError> {
        let counted = self.inner.coordinator.count(planned.mutations, level).await;
        counted.map_err(|error| QueryError::Write { error, level, required, write_type: WriteType::Counter })
    }
}

/// What a statement about counters must not say. A timestamp is found when the statement runs, a TTL when it is planned.
pub(super) fn check_attributes(modification: &Modification) -> Result<(), QueryError> {
    match modification.timestamp {
        Some(_) => Err(invalid("Cannot provide custom timestamp for counter updates")),
        None => Ok(()),
    }
}

/// The level of a statement about counters.
pub(super) fn counter_level(
    modification: &Modification,
    consistency: Consistency,
) -> Result<ConsistencyLevel, QueryError> {
    if consistency.is_serial() {
        return Err(invalid("Counter operations are inherently non-serializable"));
    }
    match level(consistency) {
        ConsistencyLevel::Any => {
            let table = &modification.table.name;
            Err(invalid(format!("Consistency level ANY is not yet supported for counter table {table}")))
        }
        level => Ok(level),
    }
}
