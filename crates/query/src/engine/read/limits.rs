//! Pages and limits of a read: rows that it may return, where the page before ended, and the size of a replica's page.

use cluster::coordinator::PageLimits;
use cluster::fence::NO_EPOCH;
use cql_protocol::{Consistency, QueryParams, Value};
use topology::ConsistencyLevel;

use crate::engine::call::Call;
use crate::error::{QueryError, invalid, level};
use crate::execute::rows::RowLimits;
use crate::paging::{PagingKey, PagingState};
use crate::plan::{Binds, Operand, Output, Select};

/// What one page from another shard may hold, in bytes.
const LANE_PAGE_BYTES: u32 = 256 << 10;

/// Rows asked for at once where filters or a count make it unknown how many are needed.
const LANE_PAGE_ROWS: u32 = 5_000;

/// What the page before left, if this is not the first.
#[inline]
pub(in crate::engine) fn paging_state(
    select: &Select,
    call: &Call<'_>,
    binds: &Binds<'_>,
) -> Result<Option<PagingState>, QueryError> {
    match call.params.paging_state {
        None | Some([]) => Ok(None),
        Some(bytes) => Ok(Some(PagingState::decode(bytes, &paging_key(select, call, binds))?)),
    }
}

#[cold]
pub(in crate::engine) fn paging_key(select: &Select, call: &Call<'_>, binds: &Binds<'_>) -> PagingKey {
    PagingKey::new(call.id, select.table.id, binds.values.iter().map(|value| value.bytes()))
}

/// Refuses pages of no rows, whatever the statement: none would ever end.
#[inline]
pub(in crate::engine) fn check_page_size(params: &QueryParams<'_>) -> Result<(), QueryError> {
    match params.page_size {
        Some(0) => Err(QueryError::Protocol { message: "The page size cannot be 0".to_owned() }),
        _ => Ok(()),
    }
}

/// How many rows the page may hold.
#[inline]
pub(in crate::engine) fn row_limits(
    select: &Select,
    binds: &Binds<'_>,
    call: &Call<'_>,
    state: Option<&PagingState>,
) -> Result<RowLimits, QueryError> {
    let limit = limit(select.limit.as_ref(), binds)?;
    let per_partition = self::limit(select.per_partition_limit.as_ref(), binds)?;
    if !select.sort.is_empty() {
        // All rows must be known before the first of them are.
        return Ok(RowLimits { rows: u32::MAX, page: u32::MAX, is_paged: false, per_partition });
    }
    // Aggregates over all rows are one row: it has no pages, and LIMIT is for that row.
    let page = match call.params.page_size.map(u32::try_from) {
        Some(Ok(size)) if !select.output.is_one_group() => Some(size),
        _ => None,
    };
    let rows = state.map_or(limit, |state| state.rows_left.min(limit));
    Ok(RowLimits { rows, page: page.unwrap_or(u32::MAX), is_paged: page.is_some(), per_partition })
}

/// Refuses pages of partitions that are merged. `is_empty`: no row can be among what is asked for, which is looked at only for rows as they are.
pub(in crate::engine) fn check_merged_pages(
    select: &Select,
    params: &QueryParams<'_>,
    is_empty: bool,
) -> Result<(), QueryError> {
    let is_paged = params.page_size.is_some_and(|size| size > 0);
    let is_done = is_empty && matches!(select.output, Output::Rows(_));
    match select.is_merged && is_paged && !is_done {
        true => Err(QueryError::PagedOrder),
        false => Ok(()),
    }
}

/// LIMIT's value; without one there is no limit.
#[inline]
pub(in crate::engine) fn limit(operand: Option<&Operand>, binds: &Binds<'_>) -> Result<u32, QueryError> {
    let Some(operand) = operand else { return Ok(u32::MAX) };
    match operand.value(binds)? {
        Value::Unset => Ok(u32::MAX),
        Value::Null => Err(invalid("Invalid null value of limit")),
        Value::Bytes(bytes) => {
            let limit = bytes.first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
            match u32::try_from(limit) {
                Ok(limit) if limit > 0 => Ok(limit),
                _ => Err(invalid("LIMIT must be strictly positive")),
            }
        }
    }
}

/// What a page from another shard may hold for the rows that are still wanted.
pub(in crate::engine) fn page_limits(select: &Select, limits: RowLimits) -> PageLimits {
    // Rows of which only dropped columns are left are read, and not shown. How many rows a group has is not known.
    let is_shown = select.filters.is_empty() && select.table.dropped.is_empty();
    let are_rows = matches!(select.output, Output::Rows(_));
    let is_exact = is_shown && are_rows;
    let rows = if is_exact { limits.rows.min(limits.page).min(LANE_PAGE_ROWS) } else { LANE_PAGE_ROWS };
    let rows_per_partition = match (select.is_distinct, select.filters.is_empty()) {
        _ if !select.table.dropped.is_empty() => u32::MAX,
        (true, _) => 1,
        (false, true) if are_rows => limits.per_partition,
        (false, _) => u32::MAX,
    };
    let counts_statics = select.reads_statics();
    let planned = NO_EPOCH;
    PageLimits { rows: rows.max(1), rows_per_partition, bytes: LANE_PAGE_BYTES, counts_statics, planned }
}

/// What a page may hold of a read whose sink knows when it has enough.
pub(in crate::engine) fn whole_page_limits() -> PageLimits {
    let (rows, bytes, planned) = (LANE_PAGE_ROWS, LANE_PAGE_BYTES, NO_EPOCH);
    PageLimits { rows, rows_per_partition: u32::MAX, bytes, counts_statics: false, planned }
}

/// The level of a read.
#[inline]
pub(in crate::engine) fn read_level(consistency: Consistency) -> Result<ConsistencyLevel, QueryError> {
    match consistency {
        Consistency::Any => Err(invalid("ANY ConsistencyLevel is only supported for writes")),
        consistency => Ok(level(consistency)),
    }
}
