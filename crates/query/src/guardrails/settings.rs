//! What an operator can set, by the names of `cassandra.yaml`.

use cql_protocol::Consistency;

/// The two ends of a guardrail on a number; `None`: off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Threshold {
    /// Beyond it the client is warned: `…_warn_threshold`.
    pub warn: Option<i64>,
    /// Beyond it the statement is refused: `…_fail_threshold`.
    pub fail: Option<i64>,
}

/// How many tombstones one read may meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TombstoneLimits {
    /// More are worth a word,
    pub(crate) warn: u32,
    /// and more than that end the read.
    pub(crate) fail: u32,
}

impl TombstoneLimits {
    /// Any number of them.
    pub(crate) const NONE: TombstoneLimits = TombstoneLimits { warn: u32::MAX, fail: u32::MAX };
}

impl From<Threshold> for TombstoneLimits {
    fn from(threshold: Threshold) -> TombstoneLimits {
        // A negative end is below any number.
        let end = |end: Option<i64>| end.map_or(u32::MAX, |end| u32::try_from(end.max(0)).unwrap_or(u32::MAX));
        TombstoneLimits { warn: end(threshold.warn), fail: end(threshold.fail) }
    }
}

impl Threshold {
    /// Whether either end is set.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.warn.is_some() || self.fail.is_some()
    }
}

/// What a threshold counts, and so how a configuration file writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThresholdUnit {
    /// Things: a whole number; -1 is off.
    Count,
    /// The same, of which the file's lower end is the one that refuses.
    CountAtLeast,
    /// Bytes: a size.
    Bytes,
    /// The same of batches, whose ends may be the wrong way round.
    BatchBytes,
    /// Microseconds: a duration.
    Micros,
}

/// Values that clients are warned of, or may not use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// Accepted with a warning: `…_warned`.
    pub warned: Vec<T>,
    /// Left out with a warning: `…_ignored`.
    pub ignored: Vec<T>,
    /// Refused: `…_disallowed`.
    pub disallowed: Vec<T>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed { warned: Vec::new(), ignored: Vec::new(), disallowed: Vec::new() }
    }
}

impl<T> Listed<T> {
    /// Whether any value is listed.
    pub fn is_on(&self) -> bool {
        !(self.warned.is_empty() && self.ignored.is_empty() && self.disallowed.is_empty())
    }
}

/// Levels that clients are warned of, or may not use.
pub type ConsistencyLevels = Listed<Consistency>;

/// All guardrails. The default is Cassandra's, and has nothing to look at on the way of an ordinary read or write.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    missing_docs,
    reason = "the fields are the keys of cassandra.yaml, without `_threshold` and what comes before it"
)]
pub struct Guardrails {
    pub batch_size: Threshold,
    pub unlogged_batch_across_partitions: Threshold,
    pub tombstones: Threshold,
    pub column_value_size: Threshold,
    pub collection_size: Threshold,
    pub items_per_collection: Threshold,
    pub page_size: Threshold,
    pub partition_keys_in_select: Threshold,
    pub in_select_cartesian_product: Threshold,
    pub keyspaces: Threshold,
    pub tables: Threshold,
    pub columns_per_table: Threshold,
    pub fields_per_udt: Threshold,
    pub vector_dimensions: Threshold,
    pub minimum_replication_factor: Threshold,
    pub maximum_replication_factor: Threshold,
    pub minimum_timestamp: Threshold,
    pub maximum_timestamp: Threshold,
    pub user_timestamps_enabled: bool,
    pub group_by_enabled: bool,
    pub allow_filtering_enabled: bool,
    pub alter_table_enabled: bool,
    pub drop_truncate_table_enabled: bool,
    pub drop_keyspace_enabled: bool,
    pub uncompressed_tables_enabled: bool,
    pub compact_tables_enabled: bool,
    pub simplestrategy_enabled: bool,
    pub vector_type_enabled: bool,
    pub read_before_write_list_operations_enabled: bool,
    pub intersect_filtering_query_warned: bool,
    pub intersect_filtering_query_enabled: bool,
    pub zero_ttl_on_twcs_warned: bool,
    pub zero_ttl_on_twcs_enabled: bool,
    pub table_properties: Listed<String>,
    pub read_consistency_levels: ConsistencyLevels,
    pub write_consistency_levels: ConsistencyLevels,
}

impl Default for Guardrails {
    fn default() -> Self {
        let off = Threshold::default();
        Guardrails {
            batch_size: Threshold { warn: Some(5 << 10), fail: Some(50 << 10) },
            unlogged_batch_across_partitions: Threshold { warn: Some(10), fail: None },
            tombstones: Threshold { warn: Some(1_000), fail: Some(100_000) },
            column_value_size: off,
            collection_size: off,
            items_per_collection: off,
            page_size: off,
            partition_keys_in_select: off,
            in_select_cartesian_product: off,
            keyspaces: off,
            tables: off,
            columns_per_table: off,
            fields_per_udt: off,
            vector_dimensions: off,
            minimum_replication_factor: off,
            maximum_replication_factor: off,
            minimum_timestamp: off,
            maximum_timestamp: off,
            user_timestamps_enabled: true,
            group_by_enabled: true,
            allow_filtering_enabled: true,
            alter_table_enabled: true,
            drop_truncate_table_enabled: true,
            drop_keyspace_enabled: true,
            uncompressed_tables_enabled: true,
            compact_tables_enabled: true,
            simplestrategy_enabled: true,
            vector_type_enabled: true,
            read_before_write_list_operations_enabled: true,
            intersect_filtering_query_warned: false,
            intersect_filtering_query_enabled: true,
            zero_ttl_on_twcs_warned: false,
            zero_ttl_on_twcs_enabled: true,
            table_properties: Listed::default(),
            read_consistency_levels: Listed::default(),
            write_consistency_levels: Listed::default(),
        }
    }
}

impl Guardrails {
    /// The thresholds by what comes before `_warn_threshold` and `_fail_threshold`, but those of batches' partitions, which have no second end, and
    /// of tombstones, whose second end has a name of its own.
    pub fn thresholds(&mut self) -> [(&'static str, ThresholdUnit, &mut Threshold); 16] {
        use ThresholdUnit::{BatchBytes, Bytes, Count, CountAtLeast, Micros};
        [
            ("batch_size", BatchBytes, &mut self.batch_size),
            ("collection_size", Bytes, &mut self.collection_size),
            ("column_value_size", Bytes, &mut self.column_value_size),
            ("columns_per_table", Count, &mut self.columns_per_table),
            ("fields_per_udt", Count, &mut self.fields_per_udt),
            ("in_select_cartesian_product", Count, &mut self.in_select_cartesian_product),
            ("items_per_collection", Count, &mut self.items_per_collection),
            ("keyspaces", Count, &mut self.keyspaces),
            ("maximum_replication_factor", Count, &mut self.maximum_replication_factor),
            ("maximum_timestamp", Micros, &mut self.maximum_timestamp),
            ("minimum_replication_factor", CountAtLeast, &mut self.minimum_replication_factor),
            ("minimum_timestamp", Micros, &mut self.minimum_timestamp),
            ("page_size", Count, &mut self.page_size),
            ("partition_keys_in_select", Count, &mut self.partition_keys_in_select),
            ("tables", Count, &mut self.tables),
            ("vector_dimensions", Count, &mut self.vector_dimensions),
        ]
    }

    /// What is on or off, by its key.
    pub fn flags(&mut self) -> [(&'static str, &mut bool); 15] {
        [
            ("allow_filtering_enabled", &mut self.allow_filtering_enabled),
            ("alter_table_enabled", &mut self.alter_table_enabled),
            ("compact_tables_enabled", &mut self.compact_tables_enabled),
            ("drop_keyspace_enabled", &mut self.drop_keyspace_enabled),
            ("drop_truncate_table_enabled", &mut self.drop_truncate_table_enabled),
            ("group_by_enabled", &mut self.group_by_enabled),
            ("intersect_filtering_query_enabled", &mut self.intersect_filtering_query_enabled),
            ("intersect_filtering_query_warned", &mut self.intersect_filtering_query_warned),
            ("read_before_write_list_operations_enabled", &mut self.read_before_write_list_operations_enabled),
            ("simplestrategy_enabled", &mut self.simplestrategy_enabled),
            ("uncompressed_tables_enabled", &mut self.uncompressed_tables_enabled),
            ("user_timestamps_enabled", &mut self.user_timestamps_enabled),
            ("vector_type_enabled", &mut self.vector_type_enabled),
            ("zero_ttl_on_twcs_enabled", &mut self.zero_ttl_on_twcs_enabled),
            ("zero_ttl_on_twcs_warned", &mut self.zero_ttl_on_twcs_warned),
        ]
    }

    /// Lists of levels, by their keys.
    pub fn level_lists(&mut self) -> [(&'static str, &mut Vec<Consistency>); 4] {
        let (read, write) = (&mut self.read_consistency_levels, &mut self.write_consistency_levels);
        [
            ("read_consistency_levels_disallowed", &mut read.disallowed),
            ("read_consistency_levels_warned", &mut read.warned),
            ("write_consistency_levels_disallowed", &mut write.disallowed),
            ("write_consistency_levels_warned", &mut write.warned),
        ]
    }

    /// Lists of names, by their keys.
    pub fn name_lists(&mut self) -> [(&'static str, &mut Vec<String>); 3] {
        let properties = &mut self.table_properties;
        [
            ("table_properties_disallowed", &mut properties.disallowed),
            ("table_properties_ignored", &mut properties.ignored),
            ("table_properties_warned", &mut properties.warned),
        ]
    }

    /// Whether each SELECT of a stored table is to be looked at.
    pub(crate) fn guards_reads(&self) -> bool {
        self.page_size.is_on()
            || self.partition_keys_in_select.is_on()
            || self.in_select_cartesian_product.is_on()
            || self.read_consistency_levels.is_on()
            || !self.allow_filtering_enabled
    }

    /// Whether each INSERT, UPDATE, DELETE and BATCH is to be looked at.
    pub(crate) fn guards_writes(&self) -> bool {
        self.write_consistency_levels.is_on()
            || self.minimum_timestamp.is_on()
            || self.maximum_timestamp.is_on()
            || !self.user_timestamps_enabled
            || !self.read_before_write_list_operations_enabled
            || self.guards_values()
    }

    /// Whether the values that a write sets are to be looked at.
    pub(crate) fn guards_values(&self) -> bool {
        self.column_value_size.is_on() || self.collection_size.is_on() || self.items_per_collection.is_on()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_is_off_is_above_any_number_of_tombstones_and_a_negative_one_below() {
        let of = |warn, fail| TombstoneLimits::from(Threshold { warn, fail });
        assert_eq!(of(None, None), TombstoneLimits::NONE);
        assert_eq!(of(Some(-1), Some(i64::MAX)), TombstoneLimits { warn: 0, fail: u32::MAX });
        assert_eq!(of(Some(1_000), Some(100_000)), TombstoneLimits { warn: 1_000, fail: 100_000 });
    }
}
