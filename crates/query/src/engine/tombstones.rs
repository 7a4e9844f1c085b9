//! What is said of reads that met many tombstones.

use std::ops::Bound;

use cluster::coordinator::{Failure, Refusal, ReplicaError};
use mutation::{KeyRange, Slice};
use topology::ConsistencyLevel;

use super::Engine;
use super::call::Call;
use super::read::limit;
use crate::error::QueryError;
use crate::execute::command_text::{ReadLimits, ReadText};
use crate::execute::rows::RowEmitter;
use crate::execute::tombstones::ManyTombstones;
use crate::plan::{Binds, Output, Select};

/// What the log calls it.
const TOMBSTONES: &str = "tombstones";

/// Rows that a read takes which groups are made of, where the client asks for no pages.
const GROUPED_ROWS_PER_READ: u32 = 10_000;

impl Engine {
    /// Words and logs what reads met. `range`: the tokens that were scanned; without them each read was of one partition.
    pub(super) fn tell_tombstones(
        &self,
        (select, binds, call): (&Select, &Binds<'_>, &Call<'_>),
        range: Option<KeyRange<'_>>,
        slices: &[Slice<'_>],
        found: &[ManyTombstones],
    ) -> Result<Vec<String>, QueryError> {
        let limits = shown_limits(select, binds, call)?;
        let mut watch = self.guardrail_check();
        for ManyTombstones { live_rows, tombstones, token, key } in found {
            let keys = range.unwrap_or(KeyRange::Partition { token: *token, key });
            let query = ReadText { select, binds, keys, slices, limits }.to_cql();
            watch.add(
                TOMBSTONES,
                format!(
                    "Read {live_rows} live rows and {tombstones} tombstone cells for query {query}; token {} (see tombstone_warn_threshold)",
                    token.0
                ),
            );
        }
        Ok(watch.into_warnings())
    }

    /// The error of a read that met too many, last in the last partition of `found`. `warnings`: what its client is warned of beside that, if
    /// this node has the data; a replica elsewhere sends none with its refusal.
    #[cold]
    pub(super) fn too_many_tombstones(
        &self,
        select: &Select,
        level: ConsistencyLevel,
        found: &[ManyTombstones],
        warnings: Vec<String>,
    ) -> Result<QueryError, QueryError> {
        let coordinator = &self.inner.coordinator;
        let here = self.inner.node.listen_address.ip();
        let (required, node) = match found.last() {
            Some(&ManyTombstones { token, .. }) => {
                let range = (Bound::Included(token), Bound::Included(token));
                let required = coordinator.check_range(&select.replication, level, range)?;
                (required, select.replication.first_reader(token).unwrap_or(here))
            }
            None => {
                let all = (Bound::Unbounded, Bound::Unbounded);
                (coordinator.check_range(&select.replication, level, all)?, here)
            }
        };
        let refusals = vec![Refusal { node, error: ReplicaError::TooManyTombstones }];
        let error = QueryError::Read { error: Failure::Failed { received: 0, refusals }, level, required };
        let warnings = if node == here { warnings } else { Vec::new() };
        Ok(QueryError::Warned { error: Box::new(error), warnings })
    }
}

/// Has the reads that groups are made of end where a page does, as far as their tombstones are judged.
#[inline]
pub(super) fn part_reads(emitter: &mut RowEmitter<'_>, call: &Call<'_>) {
    emitter.part_grouped_reads(|| page_size(call).unwrap_or(GROUPED_ROWS_PER_READ));
}

/// The limits of the reads that a statement comes to: a page's, if it is less than LIMIT.
fn shown_limits(select: &Select, binds: &Binds<'_>, call: &Call<'_>) -> Result<ReadLimits, QueryError> {
    let set = |limit: u32| (limit != u32::MAX).then_some(limit);
    let rows = limit(select.limit.as_ref(), binds)?;
    let per_partition = set(limit(select.per_partition_limit.as_ref(), binds)?);
    let page = page_size(call);
    Ok(match &select.output {
        Output::Rows(_) => ReadLimits {
            rows: set(rows.min(page.unwrap_or(u32::MAX))),
            rows_per_partition: if select.is_distinct { Some(1) } else { per_partition },
            ..ReadLimits::default()
        },
        Output::Groups(_) if select.output.is_one_group() => ReadLimits { rows: page, ..ReadLimits::default() },
        Output::Groups(_) => ReadLimits {
            groups: set(rows.min(page.unwrap_or(u32::MAX))),
            groups_per_partition: per_partition,
            rows: Some(page.unwrap_or(GROUPED_ROWS_PER_READ)),
            ..ReadLimits::default()
        },
    })
}

/// How many rows a page has, if the client asks for pages.
fn page_size(call: &Call<'_>) -> Option<u32> {
    call.params.page_size.and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0)
}
