//! Where guardrails are looked at but for schema statements. With the default settings that is the size of batches over several partitions,
//! and the level of reads that filter by several columns; everything else is one comparison.

use cql_protocol::{Consistency, QueryParams};
use schema::TableId;

use super::Engine;
use super::call::Call;
use super::guarded_values::guard_row;
use super::write::Planned;
use crate::error::{QueryError, invalid};
use crate::execute::key::{combination_counts, keys};
use crate::execute::modify::using_timestamp;
use crate::guardrails::batch_size::{BatchSize, GROWTH_MAX, is_of_one_place};
use crate::guardrails::{ConsistencyLevels, GuardrailCheck, Threshold};
use crate::plan::{Action, Binds, Change, Keys, Modification, Output, Select};
use crate::warnings::{UnloggedBatch, WithoutGrace, in_order_of_buckets};

impl Engine {
    /// Begins to look at a statement.
    pub(super) fn guardrail_check(&self) -> GuardrailCheck<'_> {
        let inner = &*self.inner;
        GuardrailCheck::new(&inner.guardrails, &inner.watch_log, &inner.clock)
    }

    /// Whether a statement that is about to be executed must be looked at.
    #[inline]
    pub(super) fn is_guarded(&self, action: &Action) -> bool {
        match action {
            Action::Select(select) => self.inner.guards_reads || select.filters.len() > 1,
            Action::SelectVirtual(_) => self.inner.guards_reads,
            Action::Modify(_) | Action::Batch(_) => self.inner.guards_writes,
            Action::Other(_) => false,
        }
    }

    /// Looks at a statement that is about to be executed, but not at the values that it writes.
    pub(super) fn guard(
        &self,
        watch: &mut GuardrailCheck<'_>,
        call: &Call<'_>,
        binds: &Binds<'_>,
    ) -> Result<(), QueryError> {
        if !self.is_guarded(&call.plan.action) {
            return Ok(());
        }
        match &call.plan.action {
            Action::Select(select) | Action::SelectVirtual(select) => {
                guard_select(watch, select, call.params, binds)?;
            }
            Action::Modify(modification) => {
                self.guard_modification(watch, modification, binds)?;
                guard_write_levels(watch, call.params)?;
            }
            Action::Batch(batch) => {
                guard_write_levels(watch, call.params)?;
                for modification in &batch.modifications {
                    self.guard_modification(watch, modification, binds)?;
                }
            }
            Action::Other(_) => {}
        }
        Ok(())
    }

    /// Looks at a statement about a single row that is about to be executed within a call. Whether its client is to be told anything, which
    /// is done where there is time for it. So is refusing its values: what is wrong with it otherwise comes first.
    pub(super) fn is_warned(&self, call: &Call<'_>, binds: &Binds<'_>) -> Result<bool, QueryError> {
        let mut watch = self.guardrail_check();
        self.guard(&mut watch, call, binds)?;
        if let Action::Modify(modification) = &call.plan.action
            && self.inner.guards_values
            && guard_row(&mut watch, modification, binds).is_err()
        {
            return Ok(true);
        }
        Ok(watch.is_warning())
    }

    /// Looks at an INSERT, UPDATE or DELETE, alone or in a batch.
    pub(super) fn guard_modification(
        &self,
        watch: &mut GuardrailCheck<'_>,
        modification: &Modification,
        binds: &Binds<'_>,
    ) -> Result<(), QueryError> {
        let rails = watch.rails;
        if modification.timestamp.is_some() {
            let feature = "User provided timestamps (USING TIMESTAMP)";
            watch.enabled("user_timestamps", rails.user_timestamps_enabled, feature)?;
        }
        if !rails.read_before_write_list_operations_enabled {
            for feature in
                modification.statics.iter().chain(&modification.regulars).filter_map(|one| list_operation(&one.change))
            {
                watch.enabled("read_before_write_list_operations", false, feature)?;
            }
        }
        if let Some(timestamp) = using_timestamp(modification.timestamp.as_ref(), binds)? {
            self.guard_timestamp(watch, &modification.table.name, timestamp)?;
        }
        Ok(())
    }

    /// Looks at a timestamp that a statement gives.
    fn guard_timestamp(&self, watch: &mut GuardrailCheck<'_>, table: &str, timestamp: i64) -> Result<(), QueryError> {
        let now = self.inner.clock.wall_micros();
        let rails = watch.rails;
        let around = |threshold: Threshold, sign: i64| {
            let at = |micros: i64| now.saturating_add(micros.saturating_mul(sign));
            Threshold { warn: threshold.warn.map(at), fail: threshold.fail.map(at) }
        };
        watch.at_most("maximum_timestamp", around(rails.maximum_timestamp, 1), timestamp, |which, end| {
            let which = which.name();
            format!("The modification to table {table} has a timestamp {timestamp} after the maximum allowable {which} threshold {end}")
        })?;
        watch.at_least("minimum_timestamp", around(rails.minimum_timestamp, -1), timestamp, |which, end| {
            let which = which.name();
            format!("The modification to table {table} has a timestamp {timestamp} before the minimum allowable {which} threshold {end}")
        })
    }

    /// Looks at a short batch's changes before they are made. Gives what its client is warned of.
    #[inline]
    pub(super) fn guard_batch_now(&self, mutations: &[&[u8]], is_logged: bool) -> Result<Vec<String>, QueryError> {
        if is_of_one_place(mutations.iter().copied()) {
            return Ok(Vec::new());
        }
        let mut watch = self.guardrail_check();
        if self.may_be_large(mutations.iter().copied()) {
            let mut size = BatchSize::default();
            mutations.iter().for_each(|mutation| size.add(mutation));
            let catalog = self.catalog();
            while size.measure_one(&catalog.schema) {}
            self.guard_size(&mut watch, &size)?;
        }
        if !is_logged && let Some(partitions_max) = self.partitions_max() {
            let mut batch = UnloggedBatch::new(partitions_max);
            if mutations.iter().any(|mutation| batch.may_be_many(mutation)) {
                mutations.iter().for_each(|mutation| batch.add(mutation));
                self.guard_unlogged(&mut watch, &batch);
            }
        }
        Ok(watch.into_warnings())
    }

    /// The same of a batch of any length, with pauses. `without_grace`: its tables whose tombstones may be purged at once, if it is logged.
    pub(super) async fn guard_batch(
        &self,
        planned: &Planned,
        is_logged: bool,
        without_grace: WithoutGrace,
    ) -> Result<Vec<String>, QueryError> {
        let mut watch = self.guardrail_check();
        if let Some(warning) = without_grace.warning(|id| self.name_of_table(id)) {
            watch.add("logged_batch_without_gc_grace", warning);
        }
        if is_of_one_place(planned.bytes_of_each()) {
            return Ok(watch.into_warnings());
        }
        let runtime = &self.inner.runtime;
        if self.may_be_large(planned.bytes_of_each()) {
            let mut size = BatchSize::default();
            for mutation in planned.bytes_of_each() {
                size.add(mutation);
                runtime.maybe_yield().await;
            }
            let catalog = self.catalog();
            while size.measure_one(&catalog.schema) {
                runtime.maybe_yield().await;
            }
            self.guard_size(&mut watch, &size)?;
        }
        if !is_logged && let Some(partitions_max) = self.partitions_max() {
            let mut batch = UnloggedBatch::new(partitions_max);
            let mut is_many = false;
            for mutation in planned.bytes_of_each() {
                is_many = batch.may_be_many(mutation);
                if is_many {
                    break;
                }
                runtime.maybe_yield().await;
            }
            if is_many {
                for mutation in planned.bytes_of_each() {
                    batch.add(mutation);
                    runtime.maybe_yield().await;
                }
                self.guard_unlogged(&mut watch, &batch);
            }
        }
        Ok(watch.into_warnings())
    }

    /// Whether a batch may be larger than is worth a word, going by its encoding.
    fn may_be_large<'m>(&self, mutations: impl Iterator<Item = &'m [u8]>) -> bool {
        let warn = self.inner.guardrails.batch_size.warn.and_then(|bytes| u64::try_from(bytes).ok());
        let encoded: usize = mutations.map(<[u8]>::len).sum();
        warn.is_some_and(|warn| encoded as u64 * GROWTH_MAX > warn)
    }

    /// Over how many partitions an unlogged batch is not worth a word yet.
    fn partitions_max(&self) -> Option<usize> {
        self.inner.guardrails.unlogged_batch_across_partitions.warn.and_then(|count| usize::try_from(count).ok())
    }

    fn guard_size(&self, watch: &mut GuardrailCheck<'_>, size: &BatchSize<'_>) -> Result<(), QueryError> {
        let threshold = watch.rails.batch_size;
        let bytes = i64::try_from(size.bytes()).unwrap_or(i64::MAX);
        let Some(warn) = threshold.warn.filter(|warn| bytes > *warn) else { return Ok(()) };
        let is_refused = threshold.fail.is_some_and(|fail| bytes > fail);
        let end = if is_refused { threshold.fail.unwrap_or(warn) } else { warn };
        let tables = size.tables().iter().filter_map(|id| self.name_of_table(*id)).collect();
        let message = format!(
            "Batch for [{}] is of size {bytes}, exceeding specified threshold of {end} by {}.",
            in_order_of_buckets(tables),
            bytes - end
        );
        match is_refused {
            true => {
                watch.note("batch_size", &format!("{message} (see batch_size_fail_threshold)"));
                Err(invalid("Batch too large"))
            }
            false => {
                watch.add("batch_size", message);
                Ok(())
            }
        }
    }

    fn guard_unlogged(&self, watch: &mut GuardrailCheck<'_>, batch: &UnloggedBatch<'_>) {
        if let Some(warning) = batch.warning(|id| self.name_of_table(id)) {
            watch.add("unlogged_batch_across_partitions", warning);
        }
    }

    /// A table's keyspace and name.
    fn name_of_table(&self, id: TableId) -> Option<String> {
        let table = self.inner.catalog.borrow().schema.table_by_id(id).cloned()?;
        Some(format!("{}.{}", table.keyspace, table.name))
    }
}

/// What a change of a list is called that must know the list.
fn list_operation(change: &Change) -> Option<&'static str> {
    match change {
        Change::Index { is_deletion: false, .. } => Some("Setting of list items by index requiring read before write"),
        Change::Index { is_deletion: true, .. } => Some("Removal of list items by index requiring read before write"),
        Change::Discard => Some("Removal of list items requiring read before write"),
        _ => None,
    }
}

/// Looks at a SELECT in Cassandra's order.
fn guard_select(
    watch: &mut GuardrailCheck<'_>,
    select: &Select,
    params: &QueryParams<'_>,
    binds: &Binds<'_>,
) -> Result<(), QueryError> {
    let rails = watch.rails;
    let table = &select.table.name;
    if select.allows_filtering {
        watch.enabled("allow_filtering", rails.allow_filtering_enabled, "Querying with ALLOW FILTERING")?;
    }
    guard_levels(watch, "read_consistency_levels", &rails.read_consistency_levels, &[params.consistency])?;
    let is_reconciled = needs_reconciliation(params.consistency) && select.replication.is_of_several();
    if select.filters.len() > 1 && is_reconciled && intersects(select) {
        let feature = "Filtering query with intersection on mutable columns at consistency level requiring coordinator reconciliation";
        let settings = (rails.intersect_filtering_query_enabled, rails.intersect_filtering_query_warned);
        watch.recommended("intersect_filtering_query", settings, feature)?;
    }
    if let Keys::Choices(choices) = &select.keys
        && choices.iter().any(|choice| choice.is_in())
    {
        guard_products(watch, "partition key", &combination_counts(choices.iter().map(|choice| choice.count(binds))))?;
        if rails.partition_keys_in_select.is_on() {
            let count = keys(&select.table, choices, binds)?.len();
            watch.at_most("partition_keys_in_select", rails.partition_keys_in_select, whole(count), |which, end| {
                match which.is_failure() {
                    false => format!("Query with partition keys in IN clause on table {table}, with number of partition keys {count} exceeds warning threshold of {end}."),
                    true => format!("Aborting query with partition keys in IN clause on table {table}, number of partition keys {count} exceeds fail threshold of {end}."),
                }
            })?;
        }
    }
    if select.clustering.iter().any(|choice| !choice.is_single()) {
        guard_products(
            watch,
            "clustering key",
            &combination_counts(select.clustering.iter().map(|choice| choice.count(binds))),
        )?;
    }
    guard_page_size(watch, select, params, binds)
}

/// Looks at how many values IN comes to, column after column.
fn guard_products(watch: &mut GuardrailCheck<'_>, what: &str, counts: &[usize]) -> Result<(), QueryError> {
    let threshold = watch.rails.in_select_cartesian_product;
    for &count in counts {
        watch.at_most("in_select_cartesian_product", threshold, whole(count), |which, end| match which.is_failure() {
            false => format!("The cartesian product of the IN restrictions on {what} produces {count} values, this exceeds warning threshold of {end}."),
            true => format!("Aborting query because the cartesian product of the IN restrictions on {what} produces {count} values, this exceeds fail threshold of {end}."),
        })?;
    }
    Ok(())
}

/// Looks at the size of pages, if there can be a second one.
fn guard_page_size(
    watch: &mut GuardrailCheck<'_>,
    select: &Select,
    params: &QueryParams<'_>,
    binds: &Binds<'_>,
) -> Result<(), QueryError> {
    let threshold = watch.rails.page_size;
    let Some(size) = params.page_size.filter(|size| *size > 0 && threshold.is_on()) else { return Ok(()) };
    let limit = super::read::limit(select.limit.as_ref(), binds)?;
    if matches!(select.output, Output::Rows(_)) && i64::from(limit) <= i64::from(size) {
        return Ok(());
    }
    let table = &select.table.name;
    watch.at_most("page_size", threshold, i64::from(size), |which, end| match which.is_failure() {
        false => format!("Query for table {table} with page size {size} exceeds warning threshold of {end}."),
        true => format!("Aborting query for table {table}, page size {size} exceeds fail threshold of {end}."),
    })
}

/// Looks at the levels of a write. The serial one counts whether or not there is a condition.
pub(super) fn guard_write_levels(watch: &mut GuardrailCheck<'_>, params: &QueryParams<'_>) -> Result<(), QueryError> {
    let mut levels = [params.consistency, params.serial_consistency.unwrap_or(Consistency::Serial)];
    levels.sort_by_key(|level| level.code());
    let listed = &watch.rails.write_consistency_levels;
    guard_levels(watch, "write_consistency_levels", listed, &levels)
}

fn guard_levels(
    watch: &mut GuardrailCheck<'_>,
    guardrail: &'static str,
    listed: &ConsistencyLevels,
    levels: &[Consistency],
) -> Result<(), QueryError> {
    let what = if guardrail.starts_with("read") { "read consistency levels" } else { "write consistency levels" };
    let shown = |levels: &[Consistency]| {
        let mut levels: Vec<Consistency> = levels.to_vec();
        levels.sort_by_key(|level| level.code());
        levels.dedup();
        format!("[{}]", levels.iter().map(|level| level.name()).collect::<Vec<_>>().join(", "))
    };
    watch.values(guardrail, (listed, what), levels, shown, shown)?;
    Ok(())
}

/// Whether answers of several replicas are put together at this level, if there are several.
fn needs_reconciliation(level: Consistency) -> bool {
    !matches!(level, Consistency::One | Consistency::LocalOne)
}

/// Whether rows are filtered by several columns of which replicas may know different values.
fn intersects(select: &Select) -> bool {
    if select.filters.iter().any(|filter| filter.column.is_static()) {
        return true;
    }
    let mut regulars =
        select.filters.iter().filter(|filter| !filter.column.is_of_primary_key()).map(|filter| &filter.name);
    let first = regulars.next();
    regulars.any(|name| Some(name) != first)
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
