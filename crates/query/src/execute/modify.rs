//! From a planned INSERT, UPDATE or DELETE and its values to mutations.

use cql_protocol::Value;
use mutation::{ClusteringBound, Deletion, Expiry, MutationEncoder};
use runtime::Runtime;
use schema::ColumnId;
use topology::Token;

use super::bounds::{Place, is_mixed, pieces};
use super::counts;
use super::elements;
use super::key::{bound_tuples, check_combinations, check_length, cut, in_values, product};
use super::lists::{KnownLists, RowLists};
use crate::error::{QueryError, invalid};
use crate::plan::{
    Assignment, Binds, Change, ClusteringChoice, Modification, ModificationKind, Operand, SliceEnd, Target,
};

/// Clusterings of up to this many columns are put together on the stack.
const STACK_COMPONENTS: usize = 8;

/// The longest time to live, seconds: twenty years. (Source: Cassandra's `Attributes.MAX_TTL`.)
const TTL_MAX: i32 = 20 * 365 * 24 * 60 * 60;

/// The most that one statement's mutations may have, bytes: rows named by IN repeat the values that are set.
pub(crate) const MUTATION_BYTES_MAX: usize = 32 << 20;

/// When a write takes place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTime {
    /// The timestamp of its cells, microseconds.
    pub(crate) timestamp: i64,
    /// The one that was asked for: a conditional write's cells have its round's in place of that.
    pub(crate) asked: i64,
    /// The clock that expiry and tombstones are dated by, seconds since 1970.
    pub(crate) seconds: u32,
}

/// The timestamp that USING TIMESTAMP gives, if it gives one.
#[inline]
pub(crate) fn using_timestamp(operand: Option<&Operand>, binds: &Binds<'_>) -> Result<Option<i64>, QueryError> {
    let Some(operand) = operand else { return Ok(None) };
    match operand.value(binds)? {
        Value::Unset => Ok(None),
        Value::Null => Err(invalid("Invalid null value of timestamp")),
        Value::Bytes(bytes) => match bytes.first_chunk().map(|bytes| i64::from_be_bytes(*bytes)) {
            None => Err(invalid("Invalid empty value of timestamp")),
            Some(i64::MIN) => {
                Err(invalid("Out of bound timestamp, must be in [-9223372036854775807, 9223372036854775807]"))
            }
            Some(timestamp) => Ok(Some(timestamp)),
        },
    }
}

impl Modification {
    /// When the written cells end: by USING TTL, else by the table's default.
    #[inline]
    fn expiry(&self, binds: &Binds<'_>, seconds: u32) -> Result<Option<Expiry>, QueryError> {
        let ttl = match &self.ttl {
            None => self.table.options.default_time_to_live,
            Some(operand) => match operand.value(binds)? {
                Value::Unset => self.table.options.default_time_to_live,
                Value::Null => 0,
                Value::Bytes(bytes) => {
                    let ttl = bytes.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
                    checked_ttl(ttl)?
                }
            },
        };
        Ok((ttl != 0).then(|| Expiry { ttl, local_deletion_time: seconds.saturating_add(ttl) }))
    }

    /// Appends the one mutation of a statement about a single row, or a partition as a whole.
    #[inline]
    pub(crate) fn encode_single(
        &self,
        binds: &Binds<'_>,
        key: &[u8],
        token: Token,
        time: WriteTime,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let mut mutation = MutationEncoder::begin(out, self.table.id, token, key);
        let unknown = RowLists::default();
        match &self.target {
            Target::Partition => mutation.partition_deletion(time.deletion()),
            Target::StaticRow => self.encode_static(binds, time, &unknown, &mut mutation)?,
            Target::Rows(choices) => {
                let mut stack: [&[u8]; STACK_COMPONENTS] = [&[]; STACK_COMPONENTS];
                let mut heap = Vec::new();
                let components = match choices.len() {
                    count if count <= STACK_COMPONENTS => &mut stack[..count],
                    count => {
                        heap.resize(count, &[][..]);
                        &mut heap[..]
                    }
                };
                for ((place, choice), column) in components.iter_mut().zip(choices).zip(self.table.clustering()) {
                    let ClusteringChoice::One(operand) = choice else {
                        panic!("the plan says that there is a single row")
                    };
                    *place = operand.key_value(&column.name, binds)?;
                }
                check_clustering(components)?;
                if !self.statics.is_empty() {
                    self.encode_static(binds, time, &unknown, &mut mutation)?;
                }
                self.encode_row(components, binds, time, &unknown, &mut mutation)?;
            }
            Target::Range { .. } => panic!("the plan says that there is a single row"),
        }
        mutation.finish();
        Ok(())
    }

    /// Appends the mutation of one partition of a statement about several rows, with pauses. `lists` are what the partition's
    /// rows hold of the lists that the statement changes by what they hold.
    #[expect(clippy::too_many_arguments, reason = "each is another thing, and there is one caller")]
    pub(crate) async fn encode_many(
        &self,
        runtime: &Runtime,
        binds: &Binds<'_>,
        key: &[u8],
        token: Token,
        time: WriteTime,
        lists: &KnownLists,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let mut mutation = MutationEncoder::begin(out, self.table.id, token, key);
        match &self.target {
            Target::Partition => mutation.partition_deletion(time.deletion()),
            Target::StaticRow => self.encode_static(binds, time, lists.of_static(), &mut mutation)?,
            Target::Rows(choices) => {
                let rows = self.combinations(choices, binds)?;
                // Where IN names no row, nothing of the partition is written either.
                if !self.statics.is_empty() && !rows.is_empty() {
                    self.encode_static(binds, time, lists.of_static(), &mut mutation)?;
                }
                let row_bytes = self.regulars.iter().try_fold(0usize, |bytes, assignment| {
                    let value = assignment.operand.value(binds)?.bytes().map_or(0, <[u8]>::len);
                    Ok::<_, QueryError>(bytes.saturating_add(value))
                })?;
                if rows.len().saturating_mul(row_bytes) > MUTATION_BYTES_MAX {
                    return Err(too_large());
                }
                runtime.maybe_yield().await;
                for row in rows {
                    let components: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
                    check_clustering(&components)?;
                    let lists = lists.of_row(&self.table, &components);
                    self.encode_row(&components, binds, time, lists, &mut mutation)?;
                    runtime.maybe_yield().await;
                }
            }
            Target::Range { prefix, start, end } => {
                let prefixes = self.combinations(prefix, binds)?;
                let bound = |end: &Option<SliceEnd>| -> Result<usize, QueryError> {
                    let operands = end.iter().flat_map(|end| &end.operands);
                    operands.map(|operand| Ok(operand.value(binds)?.bytes().map_or(0, <[u8]>::len))).sum()
                };
                let range_bytes = bound(start)?.saturating_add(bound(end)?);
                let prefix_bytes: usize = prefixes.iter().flatten().map(Vec::len).sum();
                let bytes = prefixes.len().saturating_mul(range_bytes).saturating_add(prefix_bytes.saturating_mul(2));
                if bytes > MUTATION_BYTES_MAX {
                    return Err(too_large());
                }
                runtime.maybe_yield().await;
                for prefix in prefixes {
                    self.encode_range(&prefix, start.as_ref(), end.as_ref(), binds, time, &mut mutation)?;
                    runtime.maybe_yield().await;
                }
            }
        }
        mutation.finish();
        Ok(())
    }

    /// Appends the mutation of a conditional statement, which names no rows by IN. What deletes a partition or a range has a timestamp just
    /// before that of the rest, so that what its batch writes there stays, as in Cassandra.
    pub(crate) fn encode_conditional(
        &self,
        binds: &Binds<'_>,
        key: &[u8],
        token: Token,
        time: WriteTime,
        lists: &KnownLists,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        let before = WriteTime { timestamp: time.timestamp - 1, ..time };
        let mut mutation = MutationEncoder::begin(out, self.table.id, token, key);
        match &self.target {
            Target::Partition => mutation.partition_deletion(before.deletion()),
            Target::StaticRow => self.encode_static(binds, time, lists.of_static(), &mut mutation)?,
            Target::Rows(choices) => {
                if !self.statics.is_empty() {
                    self.encode_static(binds, time, lists.of_static(), &mut mutation)?;
                }
                for row in self.combinations(choices, binds)? {
                    let components: Vec<&[u8]> = row.iter().map(Vec::as_slice).collect();
                    check_clustering(&components)?;
                    let lists = lists.of_row(&self.table, &components);
                    self.encode_row(&components, binds, time, lists, &mut mutation)?;
                }
            }
            Target::Range { prefix, start, end } => {
                for prefix in self.combinations(prefix, binds)? {
                    self.encode_range(&prefix, start.as_ref(), end.as_ref(), binds, before, &mut mutation)?;
                }
            }
        }
        mutation.finish();
        Ok(())
    }

    /// All combinations of values that choices give, in the order of rows.
    pub(super) fn combinations(
        &self,
        choices: &[ClusteringChoice],
        binds: &Binds<'_>,
    ) -> Result<Vec<Vec<Vec<u8>>>, QueryError> {
        clustering_combinations(self.table.clustering(), choices, binds)
    }

    /// Refuses values that no row can have: what a statement is refused for that names no partition either.
    pub(crate) fn check_rows(&self, binds: &Binds<'_>) -> Result<(), QueryError> {
        match &self.target {
            Target::Rows(choices) | Target::Range { prefix: choices, .. } => {
                self.combinations(choices, binds).map(drop)
            }
            Target::Partition | Target::StaticRow => Ok(()),
        }
    }

    /// How many rows of a partition it names; a statement about the static row alone names one.
    pub(crate) fn row_count(&self, binds: &Binds<'_>) -> Result<usize, QueryError> {
        match &self.target {
            Target::Rows(choices) if !choices.iter().all(ClusteringChoice::is_single) => {
                Ok(self.combinations(choices, binds)?.len())
            }
            _ => Ok(1),
        }
    }

    fn encode_static(
        &self,
        binds: &Binds<'_>,
        time: WriteTime,
        lists: &RowLists,
        mutation: &mut MutationEncoder<'_>,
    ) -> Result<(), QueryError> {
        let expiry = self.expiry(binds, time.seconds)?;
        let mut row = mutation.static_row();
        if self.counts {
            return counts::encode(&self.statics, self.row_count(binds)?, binds, time, &mut row);
        }
        // As in Cassandra, which changes static columns for each row that a statement names.
        let times = self.row_count(binds)?;
        encode_cells((&self.statics, times), binds, time, expiry, lists, &mut row)
    }

    #[inline]
    fn encode_row(
        &self,
        clustering: &[&[u8]],
        binds: &Binds<'_>,
        time: WriteTime,
        lists: &RowLists,
        mutation: &mut MutationEncoder<'_>,
    ) -> Result<(), QueryError> {
        // An UPDATE of static columns names no row, so there is none to write.
        if self.regulars.is_empty() && !self.statics.is_empty() && self.kind != ModificationKind::Insert {
            return Ok(());
        }
        let expiry = self.expiry(binds, time.seconds)?;
        if matches!(clustering, [[]]) && self.table.is_dense() && self.table.clustering().len() == 1 {
            return Err(self.lacks_clustering());
        }
        let mut row = mutation.row(clustering.iter().copied());
        match self.kind {
            ModificationKind::Insert if self.marks_rows => {
                row.liveness(time.timestamp, expiry);
            }
            ModificationKind::Insert if self.regulars.is_empty() => return Err(self.lacks_value()),
            ModificationKind::Delete if self.regulars.is_empty() => {
                row.deletion(time.deletion());
            }
            ModificationKind::Insert | ModificationKind::Update | ModificationKind::Delete => {}
        }
        if self.counts {
            return counts::encode(&self.regulars, 1, binds, time, &mut row);
        }
        encode_cells((&self.regulars, 1), binds, time, expiry, lists, &mut row)
    }

    /// The one clustering column of a table WITH COMPACT STORAGE is the name of a cell in Cassandra, which is never empty.
    #[cold]
    fn lacks_clustering(&self) -> QueryError {
        let name = self.table.clustering().first().map_or("", |column| column.name.as_str());
        invalid(format!("Invalid empty or null value for column {name}"))
    }

    /// An INSERT of a row that only its columns' values tell of, without any.
    #[cold]
    fn lacks_value(&self) -> QueryError {
        let names: Vec<&str> = self.table.regulars().iter().map(|column| column.name.as_str()).collect();
        invalid(format!("Column {} is mandatory for this COMPACT STORAGE table", names.join(", ")))
    }

    fn encode_range(
        &self,
        prefix: &[Vec<u8>],
        start: Option<&SliceEnd>,
        end: Option<&SliceEnd>,
        binds: &Binds<'_>,
        time: WriteTime,
        mutation: &mut MutationEncoder<'_>,
    ) -> Result<(), QueryError> {
        let columns = self.table.clustering().get(prefix.len()..).unwrap_or_default();
        if is_mixed(columns, start, end) {
            for (from, to) in pieces(columns, start, end, binds)? {
                let of = |place: &Place<'_>| -> Vec<Vec<u8>> {
                    prefix.iter().cloned().chain(place.values.iter().map(|value| value.to_vec())).collect()
                };
                // What stands behind a place is not inside of a range that begins there, and is of one that ends there.
                self.range_tombstone((of(&from), !from.is_after), (of(&to), to.is_after), time, mutation);
            }
            return Ok(());
        }
        let bound = |slice_end: Option<&SliceEnd>| -> Result<(Vec<Vec<u8>>, bool), QueryError> {
            let mut components = prefix.to_vec();
            let Some(slice_end) = slice_end else { return Ok((components, true)) };
            for (operand, column) in slice_end.operands.iter().zip(columns) {
                components.push(operand.key_value(&column.name, binds)?.to_vec());
            }
            Ok((components, slice_end.is_inclusive))
        };
        let (mut start, mut end) = (bound(start)?, bound(end)?);
        // What is smallest by value comes last where the column is stored the other way round.
        if columns.first().is_some_and(schema::Column::is_reversed) {
            std::mem::swap(&mut start, &mut end);
        }
        self.range_tombstone(start, end, time, mutation);
        Ok(())
    }

    /// Writes the deletion of the rows between two bounds, each the first components and whether rows that begin with them are inside.
    fn range_tombstone(
        &self,
        start: (Vec<Vec<u8>>, bool),
        end: (Vec<Vec<u8>>, bool),
        time: WriteTime,
        mutation: &mut MutationEncoder<'_>,
    ) {
        let columns = self.table.clustering();
        let cut_start: Vec<&[u8]> = start.0.iter().zip(columns).map(|(value, column)| cut(&column.ty, value)).collect();
        let cut_end: Vec<&[u8]> = end.0.iter().zip(columns).map(|(value, column)| cut(&column.ty, value)).collect();
        mutation.range_tombstone(
            ClusteringBound { prefix: &cut_start, inclusive: start.1 },
            ClusteringBound { prefix: &cut_end, inclusive: end.1 },
            time.deletion(),
        );
    }
}

/// A statement or batch whose mutations are more than memory should hold at once.
#[cold]
pub(crate) fn too_large() -> QueryError {
    invalid(format!("The statement's changes are larger than {MUTATION_BYTES_MAX} bytes"))
}

impl WriteTime {
    #[inline]
    fn deletion(self) -> Deletion {
        Deletion { timestamp: self.timestamp, local_deletion_time: self.seconds }
    }
}

/// Writes what the assignments say; what they add to lists, `times`. They are in the order of their columns, but of several that are refused it
/// is the first of the statement that tells why.
#[inline]
fn encode_cells(
    (assignments, times): (&[Assignment], usize),
    binds: &Binds<'_>,
    time: WriteTime,
    expiry: Option<Expiry>,
    lists: &RowLists,
    row: &mut mutation::RowEncoder<'_, '_>,
) -> Result<(), QueryError> {
    let mut refused: Option<(u32, QueryError)> = None;
    for (index, assignment) in assignments.iter().enumerate() {
        let written = match assignment.change {
            Change::Cell => {
                assignment.operand.value(binds).map(|value| write_value(value, assignment.column, time, expiry, row))
            }
            _ => elements::encode((assignment, &assignments[..index], times), binds, time, expiry, lists, row),
        };
        if let Err(error) = written
            && refused.as_ref().is_none_or(|(place, _)| assignment.place < *place)
        {
            refused = Some((assignment.place, error));
        }
    }
    refused.map_or(Ok(()), |(_, error)| Err(error))
}

#[inline]
fn write_value(
    value: Value<'_>,
    column: ColumnId,
    time: WriteTime,
    expiry: Option<Expiry>,
    row: &mut mutation::RowEncoder<'_, '_>,
) {
    match value {
        Value::Bytes(bytes) => row.cell(column, time.timestamp, expiry, bytes),
        Value::Null => row.tombstone(column, time.timestamp, time.seconds),
        Value::Unset => row,
    };
}

fn checked_ttl(ttl: i32) -> Result<u32, QueryError> {
    if ttl > TTL_MAX {
        return Err(invalid(format!("ttl is too large. requested ({ttl}) maximum ({TTL_MAX})")));
    }
    u32::try_from(ttl).map_err(|_| invalid(format!("A TTL must be greater or equal to 0, but was {ttl}")))
}

#[inline]
pub(super) fn check_clustering(components: &[&[u8]]) -> Result<(), QueryError> {
    check_length(components.iter().map(|component| component.len()).sum())
}

/// All combinations of values that choices give to the first of `columns`, in the order of rows, each once. Behind an IN without values
/// nothing is looked at.
pub(crate) fn clustering_combinations(
    columns: &[schema::Column],
    choices: &[ClusteringChoice],
    binds: &Binds<'_>,
) -> Result<Vec<Vec<Vec<u8>>>, QueryError> {
    let mut combinations: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
    let mut columns = columns.iter();
    for choice in choices {
        if combinations.is_empty() {
            break;
        }
        match choice {
            ClusteringChoice::One(operand) => {
                let Some(column) = columns.next() else { break };
                combinations = product(combinations, &[operand.key_value(&column.name, binds)?.to_vec()])?;
            }
            ClusteringChoice::In(list) => {
                let Some(column) = columns.next() else { break };
                combinations = product(combinations, &in_values(list, column, binds)?)?;
            }
            ClusteringChoice::Tuples { tuples, width } => {
                let covered: Vec<&schema::Column> = columns.by_ref().take(*width).collect();
                let values = |tuple: &Vec<Operand>| {
                    let value = |(operand, column): (&Operand, &&schema::Column)| {
                        Ok(operand.key_value(&column.name, binds)?.to_vec())
                    };
                    tuple.iter().zip(&covered).map(value).collect()
                };
                let tuples = tuples.iter().map(values).collect::<Result<_, QueryError>>()?;
                combinations = with_tuples(combinations, tuples, &covered)?;
            }
            ClusteringChoice::TupleList { list, width } => {
                let covered: Vec<&schema::Column> = columns.by_ref().take(*width).collect();
                combinations = with_tuples(combinations, bound_tuples(list, &covered, binds)?, &covered)?;
            }
        }
    }
    Ok(combinations)
}

fn with_tuples(
    combinations: Vec<Vec<Vec<u8>>>,
    tuples: Vec<Vec<Vec<u8>>>,
    columns: &[&schema::Column],
) -> Result<Vec<Vec<Vec<u8>>>, QueryError> {
    let mut rows = std::collections::BTreeMap::new();
    for tuple in tuples {
        let mut order = Vec::new();
        for (value, column) in tuple.iter().zip(columns) {
            cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut order);
        }
        rows.insert(order, tuple);
    }
    let bytes = rows.values().flatten().map(Vec::len).sum();
    check_combinations(&combinations, rows.len(), bytes)?;
    let mut grown = Vec::with_capacity(combinations.len() * rows.len());
    for combination in &combinations {
        for values in rows.values() {
            let mut longer = combination.clone();
            longer.extend(values.iter().cloned());
            grown.push(longer);
        }
    }
    Ok(grown)
}
