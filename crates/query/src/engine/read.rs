//! Reads of stored tables: one partition within the call, or any shape with waiting.

use std::ops::{Bound as TokenBound, RangeBounds};

use cluster::coordinator::{PageLimits, PlanPlace, ReadDone, Unavailable};
use cql_protocol::{Consistency, QueryParams, RowsWriter, Value};
use mutation::{KeyRange, Position, ReadCommand, Slice};
use storage::ReadEnd;
use topology::{ConsistencyLevel, Token, token_of};

use super::Engine;
use super::conditional::clock_seconds;
use super::now::Call;
use super::write::seconds;
use crate::Outcome;
use crate::error::{QueryError, invalid, level};
use crate::execute::key::{check_keys, key_of_token, single_key, unchecked_keys};
use crate::execute::rows::{Filled, LongResult, RowBuffer, RowEmitter, RowLimits, RowsReply};
use crate::execute::slices::SliceBuffer;
use crate::paging::{InvalidPagingState, PagingKey, PagingState};
use crate::plan::{Binds, Keys, Operand, Order, Output, Select, TokenEnd, TokenValue};
use crate::trace::Trace;

/// What one page from another shard may hold, in bytes.
const LANE_PAGE_BYTES: u32 = 256 << 10;

/// Rows asked for at once where filters or a count make it unknown how many are needed.
const LANE_PAGE_ROWS: u32 = 5_000;

impl Engine {
    /// A read of one partition, answered within the call if this shard owns it and the read is short.
    #[inline]
    pub(super) fn select_now(
        &self,
        select: &Select,
        binds: Binds<'_>,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Outcome, QueryError> {
        let inner = &*self.inner;
        let level = read_level(call.params.consistency)?;
        let Keys::Choices(choices) = &select.keys else { panic!("the plan says that there is a single partition") };
        let mut scratch = inner.scratch.borrow_mut();
        let scratch = &mut *scratch;
        // What is refused of a key may be refused only if the statement can read any rows.
        let Ok(key) = single_key(&select.table, choices, &binds, &mut scratch.key) else {
            return Ok(Outcome::MustWait);
        };
        let token = token_of(key);
        let plan = inner.coordinator.plan(&select.replication, token, level).map_err(Unavailable::of_serial_phase)?;
        let is_serial = level.is_serial();
        let place = match is_serial {
            true => inner.coordinator.serial_place(&plan),
            false => inner.coordinator.place_of_read(&plan),
        };
        match place {
            PlanPlace::Here if is_serial && !self.may_read_serially_now(select, token, key) => {
                return Ok(Outcome::MustWait);
            }
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Ok(Outcome::OfShard(shard)),
            PlanPlace::OtherNodes => return Ok(Outcome::MustWait),
        }
        inner.coordinator.foresee(select.table.id, token);
        scratch.slices.fill(select, &binds)?;
        let only;
        let all;
        let slices: &[Slice<'_>] = match scratch.slices.only() {
            Some(slice) => {
                only = [slice];
                &only
            }
            None => {
                all = scratch.slices.all();
                &all
            }
        };
        let keys = KeyRange::Partition { token, key };
        let state = paging_state(select, call, &binds)?;
        state.as_ref().map_or(Ok(()), |state| state.check_place(&keys))?;
        let limits = row_limits(select, &binds, call, state.as_ref())?;
        let command = ReadCommand {
            table: select.table.id,
            keys,
            slices,
            reversed: select.order == Order::Reversed,
            now_in_seconds: seconds(inner.clock.wall_micros(), call.params),
            after: state.as_ref().map(|state| state.position.as_ref()),
        };
        inner.coordinator.foresee_entry(select.table.id, token);
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &call.reply.head(&select.columns));
        let reply = RowsReply { out, writer, long: self.long() };
        let mut emitter = {
            let values = (binds, &inner.clock);
            RowEmitter::new(select, values, limits, command.now_in_seconds, &mut scratch.rows, reply)
        };
        self.watch_tombstones(&mut emitter, select, call);
        if let Some(state) = &state {
            emitter.resume(&state.position, state.rows_left_in_partition);
        }
        let end = inner.coordinator.read_now(&plan, &command, &mut emitter);
        if emitter.wanted().is_some() || emitter.has_many_tombstones() {
            return Ok(Outcome::MustWait);
        }
        let ended_at = match end {
            None | Some(ReadEnd::Paused(_)) => return Ok(Outcome::MustWait),
            Some(ReadEnd::Complete) => last_group_end(&mut emitter, key),
            Some(ReadEnd::Stopped(position)) => Some(position),
        };
        finish(emitter, ended_at, select, call, &binds)?;
        match is_serial {
            true => Ok(self.when_synced(inner.coordinator.seen())),
            false => Ok(Outcome::Ready),
        }
    }

    /// A read of any shape. `Some`: nothing was done, for the result's memory would take long; it is to be begun again in a buffer
    /// with that much room. `room` is that of `out`, if it was made so. What the client is warned of is added to `warnings`.
    pub(super) async fn select(
        &self,
        select: &Select,
        binds: Binds<'_>,
        call: &Call<'_>,
        (out, room): (&mut Vec<u8>, usize),
        warnings: &mut Vec<String>,
    ) -> Result<Option<usize>, QueryError> {
        let level = read_level(call.params.consistency)?;
        let mut keys = match &select.keys {
            Keys::Choices(choices) => unchecked_keys(&select.table, choices, &binds)?,
            Keys::Tokens { .. } => Vec::new(),
        };
        if let Some(Keys::Tokens { start, end }) = &select.key_tokens {
            let bounds = token_bounds(start.as_deref(), end.as_deref(), &binds)?;
            keys.retain(|key| is_between(bounds, token_of(key)));
        }
        let mut slices = SliceBuffer::default();
        if matches!(select.keys, Keys::Tokens { .. }) || !keys.is_empty() {
            slices.fill(select, &binds)?;
        }
        let slices = &slices.all()[..];
        // In Cassandra it is looked at keys only when there are rows to ask for, or static columns beside rows that are named.
        let is_impossible = slices.iter().all(Slice::is_impossible);
        if !is_impossible || select.fetches_statics_of_named_rows() {
            check_keys(&keys)?;
        }
        if is_impossible {
            keys.clear();
        }
        let state = paging_state(select, call, &binds)?;
        let limits = row_limits(select, &binds, call, state.as_ref())?;
        check_merged_pages(select, call.params, keys.is_empty())?;
        let command = ReadCommand {
            table: select.table.id,
            keys: KeyRange::Tokens { start: TokenBound::Unbounded, end: TokenBound::Unbounded },
            slices,
            reversed: select.order == Order::Reversed,
            now_in_seconds: seconds(self.inner.clock.wall_micros(), call.params),
            after: state.as_ref().map(|state| state.position.as_ref()),
        };
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &call.reply.head(&select.columns));
        let mut buffer = RowBuffer::default();
        let now = command.now_in_seconds;
        let reply = RowsReply { out, writer, long: self.long() };
        let mut emitter = RowEmitter::new(select, (binds, &self.inner.clock), limits, now, &mut buffer, reply);
        emitter.set_room(room);
        self.watch_tombstones(&mut emitter, select, call);
        let mut scanned = None;
        if let Some(state) = &state {
            emitter.resume(&state.position, state.rows_left_in_partition);
        }
        let ended_at = match &select.keys {
            Keys::Choices(_) => {
                if keys.len() > 1 && call.params.consistency.is_serial() {
                    return Err(invalid(
                        "SERIAL/LOCAL_SERIAL consistency may only be requested for one partition at a time",
                    ));
                }
                match keys.as_slice() {
                    [key] if level.is_serial() => {
                        self.select_serial(select, key, command, level, &mut emitter, call.trace).await?
                    }
                    keys => self.select_keys(select, keys, command, level, &mut emitter, call.trace).await?,
                }
            }
            Keys::Tokens { start, end } => {
                let range = token_range(start.as_deref(), end.as_deref(), &binds)?;
                match range {
                    Some(keys) => {
                        scanned = Some(keys);
                        state.as_ref().map_or(Ok(()), |state| state.check_place(&keys))?;
                        call.step(|| {
                            format!("Scanning {} on all {} shards", select.table.name, self.inner.runtime.shard_count())
                        });
                        self.select_tokens(select, ReadCommand { keys, ..command }, level, &mut emitter).await?
                    }
                    None => None,
                }
            }
        };
        if let Some(wanted) = emitter.wanted() {
            return Ok(Some(wanted));
        }
        if !select.sort.is_empty() {
            emitter.sort(limit(select.limit.as_ref(), &binds)?, &self.inner.runtime).await;
        }
        let found = emitter.take_many_tombstones();
        let finished = finish(emitter, ended_at, select, call, &binds);
        let told = match found.as_slice() {
            [] => Vec::new(),
            found => self.tell_tombstones((select, &binds, call), scanned, slices, found)?,
        };
        match finished {
            Err(QueryError::TooManyTombstones) => return Err(self.too_many_tombstones(select, level, told)?),
            finished => finished?,
        }
        warnings.extend(told);
        call.step(|| "Read what was asked for".to_owned());
        Ok(None)
    }

    /// A result that is not long yet.
    #[inline]
    fn long(&self) -> LongResult<'_> {
        LongResult::new(&self.inner.result_bytes, self.inner.result_bytes_max)
    }

    /// Whether nobody is at the partition with a conditional statement, or has left one unfinished.
    #[cold]
    fn may_read_serially_now(&self, select: &Select, token: Token, key: &[u8]) -> bool {
        let now = clock_seconds(self.inner.clock.wall_micros());
        self.inner.coordinator.attempt_now(&select.table, token, key, now).is_some()
    }

    /// A SERIAL read of one partition: on the shard that owns it, when no conditional statement is at it, and told only once what it saw
    /// is on the disk.
    async fn select_serial(
        &self,
        select: &Select,
        key: &Vec<u8>,
        command: ReadCommand<'_>,
        level: ConsistencyLevel,
        emitter: &mut RowEmitter<'_>,
        trace: Option<&Trace<'_>>,
    ) -> Result<Option<Position>, QueryError> {
        let coordinator = &self.inner.coordinator;
        let token = token_of(key);
        let plan = coordinator.plan(&select.replication, token, level).map_err(Unavailable::of_serial_phase)?;
        let keys = std::slice::from_ref(key);
        match coordinator.serial_place(&plan) {
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Err(QueryError::OfShard { shard }),
            // Nobody can have written there conditionally: a read of a quorum sees all there is.
            PlanPlace::OtherNodes => return self.select_keys(select, keys, command, level, emitter, trace).await,
        }
        let required = plan.required;
        let now = clock_seconds(self.inner.clock.wall_micros());
        let attempt = coordinator.attempt(&select.table, token, key, now).await;
        let attempt = attempt.map_err(|error| QueryError::Read { error: error.into(), level, required })?;
        let Some(attempt) = attempt else { return Err(QueryError::Contention { level, required, is_write: false }) };
        let ended_at = self.select_keys(select, keys, command, level, emitter, trace).await?;
        let seen = coordinator.seen();
        drop(attempt);
        let synced = self.wait_for(seen).await;
        synced.map_err(|error| QueryError::Read { error: error.into(), level, required })?;
        Ok(ended_at)
    }

    /// Reads partitions by their keys, one after the other. Gives where the page ended.
    async fn select_keys(
        &self,
        select: &Select,
        keys: &[Vec<u8>],
        command: ReadCommand<'_>,
        level: ConsistencyLevel,
        emitter: &mut RowEmitter<'_>,
        trace: Option<&Trace<'_>>,
    ) -> Result<Option<Position>, QueryError> {
        let mut after = command.after;
        // Keys before the one where the page before ended are done.
        let first = match after {
            Some(position) => keys.iter().position(|key| key == position.key).ok_or(InvalidPagingState)?,
            None => 0,
        };
        for (index, key) in keys.iter().enumerate().skip(first) {
            let token = token_of(key);
            let plan = self.inner.coordinator.plan(&select.replication, token, level)?;
            let command = ReadCommand { keys: KeyRange::Partition { token, key }, after: after.take(), ..command };
            if let Some(trace) = trace {
                self.trace_read(trace, plan.shard, &select.table.name, &command);
            }
            let limits = page_limits(select, emitter.limits());
            let read = self.inner.coordinator.read(&plan, &select.table, command, limits, emitter).await;
            let required = plan.required;
            emitter.end_read(Some(key));
            match read.map_err(|error| QueryError::Read { error, level, required })? {
                // The last partition gives no more than its limit: there is no further page.
                ReadDone::Stopped(_)
                    if index + 1 == keys.len()
                        && emitter.is_at_partition_limit()
                        && !emitter.has_stopped_before(key) =>
                {
                    return Ok(None);
                }
                ReadDone::Stopped(position) => return Ok(Some(position)),
                ReadDone::Complete if index + 1 == keys.len() => return Ok(last_group_end(emitter, key)),
                // A group of rows ends where the next begins: partitions that are empty are passed over.
                ReadDone::Complete if emitter.has_group_of_rows() => {}
                ReadDone::Complete => emitter.end_partitions(),
            }
            if emitter.filled() != Filled::No {
                return Ok(Some(Position { token, key: key.clone(), row: None }));
            }
            self.inner.runtime.maybe_yield().await;
        }
        Ok(None)
    }

    /// Scans a range of tokens. Gives where the page ended.
    async fn select_tokens(
        &self,
        select: &Select,
        command: ReadCommand<'_>,
        level: ConsistencyLevel,
        emitter: &mut RowEmitter<'_>,
    ) -> Result<Option<Position>, QueryError> {
        let coordinator = &self.inner.coordinator;
        let required = coordinator.check_scan(&select.replication, level)?;
        let limits = page_limits(select, emitter.limits());
        let scanned = coordinator.scan(&select.replication, level, &select.table, command, limits, emitter).await;
        emitter.end_read(None);
        match scanned.map_err(|error| QueryError::Read { error, level, required })? {
            ReadDone::Stopped(position) => Ok(Some(position)),
            ReadDone::Complete => {
                // The last partition may be a row of its own only now, and fill the page: a scan never knows that it is over.
                emitter.end_partitions();
                Ok((emitter.filled() == Filled::Page).then(|| emitter.partition_end()))
            }
        }
    }
}

/// Ends the last partition that a statement names, of this key. A group that fills the page ends there; whether there is more is not known
/// then, as of a row that fills it; but a static row without others is known to be all of its partition.
fn last_group_end(emitter: &mut RowEmitter<'_>, last_key: &[u8]) -> Option<Position> {
    let is_of_rows = emitter.has_group_of_rows();
    emitter.end_partitions();
    (is_of_rows && emitter.filled() == Filled::Page && !emitter.has_last_group(last_key))
        .then(|| emitter.partition_end())
}

/// Ends the rows and writes what the client needs for the next page.
#[inline]
fn finish(
    mut emitter: RowEmitter<'_>,
    ended_at: Option<Position>,
    select: &Select,
    call: &Call<'_>,
    binds: &Binds<'_>,
) -> Result<(), QueryError> {
    let Some(ended_at) = ended_at else {
        emitter.end_partitions();
        return emitter.finish(None);
    };
    let is_over = select.is_single_partition() && emitter.is_at_partition_limit();
    if emitter.filled() != Filled::Page || is_over {
        return emitter.finish(None);
    }
    let position = emitter.stopped_at().unwrap_or(ended_at);
    let state =
        PagingState { position, rows_left: emitter.limits().rows, rows_left_in_partition: emitter.partition_left() };
    let state = state.encode(&paging_key(select, call, binds));
    emitter.finish(Some(&state))
}

/// What the page before left, if this is not the first.
#[inline]
pub(super) fn paging_state(
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
pub(super) fn paging_key(select: &Select, call: &Call<'_>, binds: &Binds<'_>) -> PagingKey {
    PagingKey::new(call.id, select.table.id, binds.values.iter().map(|value| value.bytes()))
}

/// Whether a token is in a range of tokens.
pub(super) fn is_in(range: &KeyRange<'_>, token: Token) -> bool {
    match range {
        KeyRange::Tokens { start, end } => (*start, *end).contains(&token),
        KeyRange::Partition { .. } => false,
    }
}

/// Refuses pages of no rows, whatever the statement: none would ever end.
#[inline]
pub(super) fn check_page_size(params: &QueryParams<'_>) -> Result<(), QueryError> {
    match params.page_size {
        Some(0) => Err(QueryError::Protocol { message: "The page size cannot be 0".to_owned() }),
        _ => Ok(()),
    }
}

/// How many rows the page may hold.
#[inline]
pub(super) fn row_limits(
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
pub(super) fn check_merged_pages(select: &Select, params: &QueryParams<'_>, is_empty: bool) -> Result<(), QueryError> {
    let is_paged = params.page_size.is_some_and(|size| size > 0);
    let is_done = is_empty && matches!(select.output, Output::Rows(_));
    match select.is_merged && is_paged && !is_done {
        true => Err(QueryError::PagedOrder),
        false => Ok(()),
    }
}

/// LIMIT's value; without one there is no limit.
#[inline]
pub(super) fn limit(operand: Option<&Operand>, binds: &Binds<'_>) -> Result<u32, QueryError> {
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
fn page_limits(select: &Select, limits: RowLimits) -> PageLimits {
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
    PageLimits { rows: rows.max(1), rows_per_partition, bytes: LANE_PAGE_BYTES, counts_statics }
}

/// What a page may hold of a read whose sink knows when it has enough.
pub(super) fn whole_page_limits() -> PageLimits {
    PageLimits { rows: LANE_PAGE_ROWS, rows_per_partition: u32::MAX, bytes: LANE_PAGE_BYTES, counts_statics: false }
}

/// The range that token() restricts a SELECT to; `None`: it is empty.
pub(super) fn token_range(
    start: Option<&TokenEnd>,
    end: Option<&TokenEnd>,
    binds: &Binds<'_>,
) -> Result<Option<KeyRange<'static>>, QueryError> {
    let (start, end) = token_bounds(start, end, binds)?;
    // The smallest token stands for the end of the ring where a range ends, as in Cassandra.
    let end = match end {
        TokenBound::Included(Token::MIN) | TokenBound::Excluded(Token::MIN) => TokenBound::Unbounded,
        end => end,
    };
    let is_empty = match (start, end) {
        (TokenBound::Included(start), TokenBound::Included(end)) => start > end,
        (
            TokenBound::Included(start) | TokenBound::Excluded(start),
            TokenBound::Included(end) | TokenBound::Excluded(end),
        ) => start >= end,
        _ => false,
    };
    Ok((!is_empty).then_some(KeyRange::Tokens { start, end }))
}

/// The bounds with one execution's values.
fn token_bounds(
    start: Option<&TokenEnd>,
    end: Option<&TokenEnd>,
    binds: &Binds<'_>,
) -> Result<(TokenBound<Token>, TokenBound<Token>), QueryError> {
    let bound = |end: Option<&TokenEnd>| -> Result<TokenBound<Token>, QueryError> {
        let Some(end) = end else { return Ok(TokenBound::Unbounded) };
        let token = token_value(&end.value, binds)?;
        Ok(if end.is_inclusive { TokenBound::Included(token) } else { TokenBound::Excluded(token) })
    };
    Ok((bound(start)?, bound(end)?))
}

/// Whether the token of a key that is named lies between the bounds. As in Cassandra, bounds of which the last is less than the first go around the ring
/// here, and the least token stands for itself.
fn is_between(bounds: (TokenBound<Token>, TokenBound<Token>), token: Token) -> bool {
    use TokenBound::{Excluded, Included, Unbounded};
    match bounds {
        (Included(start) | Excluded(start), Included(end) | Excluded(end)) if start > end => {
            (bounds.0, Unbounded).contains(&token) || (Unbounded, bounds.1).contains(&token)
        }
        bounds => bounds.contains(&token),
    }
}

fn token_value(value: &TokenValue, binds: &Binds<'_>) -> Result<Token, QueryError> {
    match value {
        TokenValue::Given(operand) => {
            let bytes = match operand.value(binds)? {
                Value::Null => return Err(invalid("Invalid null token value")),
                _ => operand.key_value("partition key token", binds)?,
            };
            match bytes.first_chunk() {
                Some(bytes) => Ok(Token(i64::from_be_bytes(*bytes))),
                None => Err(invalid("Invalid empty value for the partition key token")),
            }
        }
        TokenValue::OfKey(operands) => {
            let mut components = Vec::with_capacity(operands.len());
            for operand in operands {
                match operand.value(binds)? {
                    Value::Bytes(bytes) => components.push(bytes),
                    Value::Null => return Err(invalid("Invalid null token value")),
                    Value::Unset => {
                        return Err(invalid("Invalid unset value for argument in call to function token"));
                    }
                }
            }
            // No key is empty, but a token may be asked for of nothing: it is the least.
            match &components[..] {
                [[]] => Ok(Token::MIN),
                components => Ok(token_of(&key_of_token(components)?)),
            }
        }
    }
}

/// The level of a read.
#[inline]
pub(super) fn read_level(consistency: Consistency) -> Result<ConsistencyLevel, QueryError> {
    match consistency {
        Consistency::Any => Err(invalid("ANY ConsistencyLevel is only supported for writes")),
        consistency => Ok(level(consistency)),
    }
}
