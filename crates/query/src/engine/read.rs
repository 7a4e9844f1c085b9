//! Reads of stored tables: one partition within the call, or any shape with waiting.

mod limits;
mod prepared;
mod tokens;

use std::collections::VecDeque;
use std::ops::Bound;

use cluster::coordinator::{Coordinator, Failure, PageEnd, PlanPlace, ReadDone, ReadsAhead, ReplicaPlan};
use mutation::{KeyRange, Position, ReadCommand, Slice};
use planted::Bug;
use storage::{ReadEnd, TryOutcome};
use topology::{ConsistencyLevel, Token, token_of};

use super::Engine;
use super::agreed;
use super::call::Call;
use super::conditional::clock_seconds;
use super::tombstones::part_reads;
use crate::Outcome;
use crate::error::{QueryError, invalid};
use crate::execute::key::{check_keys, single_key, unchecked_keys};
use crate::execute::rows::{Filled, LongResult, RowBuffer, RowEmitter};
use crate::execute::slices::SliceBuffer;
use crate::paging::{InvalidPagingState, PagingState};
use crate::plan::{Binds, Keys, Select};
use crate::trace::Trace;

pub(super) use limits::{
    check_merged_pages, check_page_size, limit, page_limits, paging_key, paging_state, read_level, row_limits,
    whole_page_limits,
};
use prepared::PreparedRead;
use tokens::{is_between, token_bounds};
pub(super) use tokens::{is_in, token_range};

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
        // Values are looked at before replicas: where these are missing, the task says which of the two refuses the read.
        let Ok(plan) = inner.coordinator.plan(&select.replication, token, level) else { return Ok(Outcome::MustWait) };
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
        inner.coordinator.prefetch_partition(select.table.id, token);
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
        let read = PreparedRead::new(select, call, binds, slices, inner.clock.wall_micros())?;
        let command = read.command(KeyRange::Partition { token, key });
        read.check_place(&command.keys)?;
        inner.coordinator.prefetch_entry(select.table.id, token);
        // Made here, not by a function of both ways: it has some six hundred bytes, which would be copied at its return.
        let values = (binds, &inner.clock);
        let reply = read.reply(LongResult::new(&inner.result_bytes, inner.result_bytes_max), out);
        let mut emitter = RowEmitter::new(select, values, read.limits, read.now_in_seconds, &mut scratch.rows, reply);
        part_reads(&mut emitter, call);
        read.resume(&mut emitter);
        let end = inner.coordinator.read_now(&plan, &command, &mut emitter);
        if emitter.wanted().is_some() || emitter.has_many_tombstones() {
            return Ok(Outcome::MustWait);
        }
        let ended_at = match end {
            TryOutcome::WouldBlock | TryOutcome::Done(ReadEnd::Paused(_)) => return Ok(Outcome::MustWait),
            TryOutcome::Done(ReadEnd::Complete) => last_group_end(&mut emitter, key),
            TryOutcome::Done(ReadEnd::Stopped(position)) => Some(position),
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
        let read = PreparedRead::new(select, call, binds, slices, self.inner.clock.wall_micros())?;
        check_merged_pages(select, call.params, keys.is_empty())?;
        let command = read.command(KeyRange::ALL);
        let mut buffer = RowBuffer::default();
        let values = (binds, &self.inner.clock);
        let reply = read.reply(LongResult::new(&self.inner.result_bytes, self.inner.result_bytes_max), out);
        let mut emitter = RowEmitter::new(select, values, read.limits, read.now_in_seconds, &mut buffer, reply);
        part_reads(&mut emitter, call);
        read.resume(&mut emitter);
        emitter.set_room(room);
        let mut scanned = None;
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
                        read.check_place(&keys)?;
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
            Err(QueryError::TooManyTombstones) => {
                return Err(self.too_many_tombstones(select, level, &found, told)?);
            }
            finished => finished?,
        }
        warnings.extend(told);
        call.step(|| "Read what was asked for".to_owned());
        Ok(None)
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
        let plan = coordinator.plan(&select.replication, token, level)?;
        let keys = std::slice::from_ref(key);
        match coordinator.serial_place(&plan) {
            PlanPlace::Here => {}
            PlanPlace::Shard(shard) => return Err(QueryError::OfShard { shard, masked: emitter.is_masked() }),
            PlanPlace::OtherNodes if coordinator.storage().planted().is(Bug::SerialAsQuorum) => {
                return self.select_keys(select, keys, command, level, emitter, trace).await;
            }
            PlanPlace::OtherNodes => return agreed::select(self, (select, plan), key, command, level, emitter).await,
        }
        let required = plan.required;
        let now = clock_seconds(self.inner.clock.wall_micros());
        let attempt = coordinator.attempt(&plan, (&select.table, token, key), now).await;
        let attempt = attempt.map_err(|error| QueryError::Read { error, level, required })?;
        let Some(attempt) = attempt else { return Err(QueryError::Contention { level, required, is_write: false }) };
        let ended_at = self.select_keys(select, keys, command, level, emitter, trace).await?;
        let seen = coordinator.seen();
        drop(attempt);
        let synced = self.wait_for(seen).await;
        synced.map_err(|error| QueryError::Read { error: error.into(), level, required })?;
        Ok(ended_at)
    }

    /// Reads partitions by their keys, one after the other; where other nodes are asked, some are read ahead. Gives where the page ended.
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
        let coordinator = &self.inner.coordinator;
        let mut ahead = ReadsAhead::new(coordinator, &select.table, page_limits(select, emitter.limits()));
        let mut planned = VecDeque::new();
        let mut unplanned = keys.iter().skip(first);
        for (index, key) in keys.iter().enumerate().skip(first) {
            while planned.is_empty() || ahead.has_room() {
                let Some(key) = unplanned.next() else { break };
                let token = token_of(key);
                let plan = coordinator.plan(&select.replication, token, level)?;
                let command = ReadCommand { keys: KeyRange::Partition { token, key }, after: after.take(), ..command };
                if let Some(trace) = trace {
                    self.trace_read(trace, plan.shard, &select.table.name, &command);
                }
                let is_ahead = keys.len() > 1 && coordinator.place_of_read(&plan) == PlanPlace::OtherNodes;
                if is_ahead {
                    ahead.begin(plan, command);
                }
                planned.push_back((token, plan, command, is_ahead));
                if !is_ahead {
                    break;
                }
            }
            let (token, plan, command, is_ahead) = planned.pop_front().expect("a key is planned before it is read");
            let required = plan.required;
            let read = match is_ahead {
                true => read_ahead(coordinator, &mut ahead, &plan, command, select, emitter).await,
                false => {
                    let limits = page_limits(select, emitter.limits());
                    coordinator.read(&plan, &select.table, command, limits, emitter).await
                }
            };
            emitter.end_read(Some(key));
            match read.map_err(|error| QueryError::Read { error, level, required })? {
                done if index + 1 == keys.len() => return Ok(end_of_last(done, key, emitter)),
                ReadDone::Stopped(position) => return Ok(Some(position)),
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
        let KeyRange::Tokens { start, end } = command.keys else { unreachable!("a scan is of tokens") };
        // A page goes on where the one before has ended, whose ranges are read no more.
        let start = command.after.map_or(start, |after| Bound::Included(after.token));
        let required = coordinator.check_range(&select.replication, level, (start, end))?;
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

/// Gives a partition's rows that were read ahead, and reads what did not fit.
async fn read_ahead(
    coordinator: &Coordinator,
    ahead: &mut ReadsAhead<'_>,
    plan: &ReplicaPlan<'_>,
    command: ReadCommand<'_>,
    select: &Select,
    emitter: &mut RowEmitter<'_>,
) -> Result<ReadDone, Failure> {
    let after = match ahead.next().await?.feed(coordinator, &select.table, emitter)? {
        PageEnd::Read(done) => return Ok(done),
        PageEnd::More(after) => after,
    };
    let command = ReadCommand { after: after.as_ref().map(Position::as_ref).or(command.after), ..command };
    let limits = page_limits(select, emitter.limits());
    coordinator.read(plan, &select.table, command, limits, emitter).await
}

/// Where the page ended whose last partition was read.
pub(super) fn end_of_last(done: ReadDone, key: &[u8], emitter: &mut RowEmitter<'_>) -> Option<Position> {
    match done {
        // It gives no more than its limit: there is no further page.
        ReadDone::Stopped(_) if emitter.is_at_partition_limit() && !emitter.has_stopped_before(key) => None,
        ReadDone::Stopped(position) => Some(position),
        ReadDone::Complete => last_group_end(emitter, key),
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
