//! Reads of system tables: their rows are made up from the snapshot part by part, looked at one by one, and let go.

use std::ops::{Bound, RangeBounds};

use cluster::coordinator::Unavailable;
use cql_protocol::{RowsWriter, Value};
use mutation::KeyRange;
use schema::{Table, system_keyspaces};
use topology::{ConsistencyLevel, Token};

use super::Engine;
use super::call::Call;
use super::hints::pending_hints;
use super::read::{check_merged_pages, is_in, limit, paging_state, read_level, row_limits, token_range};
use super::virtual_result::VirtualResult;
use crate::clients::ClientInfo;
use crate::control::{ControlReply, ControlRequest};
use crate::error::{QueryError, invalid};
use crate::execute::key::keys;
use crate::paging::{InvalidPagingState, PagingState};
use crate::plan::{Binds, Keys, Order, Select, TokenEnd, TokenValue};
use crate::system::{Gathered, PartitionOrder, shows_clients, shows_pending_hints, shows_traces};

impl Engine {
    /// Answers a SELECT from a system table.
    pub(super) async fn select_virtual(
        &self,
        select: &Select,
        binds: &Binds<'_>,
        call: &Call<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), QueryError> {
        check_level(&select.table.keyspace, read_level(call.params.consistency)?)?;
        let runtime = &self.inner.runtime;
        let catalog = self.catalog();
        let state = paging_state(select, call, binds)?;
        let mut wanted = match select.system_key.is_empty() {
            true => None,
            false => Some(keys(&select.table, &select.system_key, binds)?),
        };
        let order = if wanted.is_some() { PartitionOrder::Keys } else { PartitionOrder::of(&select.table) };
        let range = PartitionRange::new(select, binds)?;
        if let Some(state) = &state {
            range.check_place(&select.table, state)?;
            if let Some(keys) = &mut wanted {
                // Partitions before the one where the page before ended are done.
                let done = keys.iter().position(|key| *key == state.position.key).ok_or(InvalidPagingState)?;
                keys.drain(..done);
            }
        }
        let limits = row_limits(select, binds, call, state.as_ref())?;
        check_merged_pages(select, call.params, wanted.as_ref().is_some_and(Vec::is_empty))?;
        let head = call.reply.head(&select.columns);
        let writer = RowsWriter::begin(out, call.reply.version, call.reply.stream, &head);
        let mut result = VirtualResult::new(select, (binds, &self.inner.clock), limits, state, out, writer)?;
        let ring = self.inner.coordinator.ring();
        let gathered = self.gathered(&select.table, wanted.as_deref()).await?;
        let partitions: Vec<Option<&[u8]>> = match &wanted {
            None => vec![None],
            Some(keys) => keys.iter().map(|key| Some(key.as_slice())).collect(),
        };
        for partition in partitions {
            if result.is_over() {
                break;
            }
            // Rows come the other way round only of partitions that are named: what comes last may come in the last part.
            let mut reversed = Vec::new();
            for part in catalog.system.parts(&select.table, (&catalog.schema, &ring), &gathered, partition) {
                match select.order {
                    Order::Stored => result.add_all(part, order, &range),
                    Order::Reversed => reversed.extend(part),
                }
                if result.is_over() {
                    break;
                }
                runtime.maybe_yield().await;
            }
            while let Some(row) = reversed.pop() {
                result.add_all([row], order, &range);
                runtime.maybe_yield().await;
            }
            runtime.maybe_yield().await;
        }
        if !select.sort.is_empty() {
            result.sort(limit(select.limit.as_ref(), binds)?);
        }
        let last_key = wanted.as_ref().and_then(|keys| keys.last()).map(Vec::as_slice);
        result.finish(call, last_key)
    }

    /// What the shards know that a table shows, all of it or of the partitions that are named.
    async fn gathered(&self, table: &Table, wanted: Option<&[Vec<u8>]>) -> Result<Gathered, QueryError> {
        let mut gathered = Gathered { access: self.access().state().clone(), ..Gathered::default() };
        if shows_clients(table) {
            gathered.clients = self.all_clients().await?;
        }
        if shows_traces(table) {
            let one = wanted.and_then(|keys| if let [one] = keys { Some(one.as_slice()) } else { None });
            gathered.traces = self.all_traces(one).await?;
        }
        if shows_pending_hints(table) {
            gathered.hints = pending_hints(self).await?;
        }
        Ok(gathered)
    }

    async fn all_clients(&self) -> Result<Vec<ClientInfo>, QueryError> {
        let replies = self.on_all_shards(|| ControlRequest::Clients).await?;
        let clients = replies.into_iter().filter_map(|(_, reply)| match reply {
            ControlReply::Clients(clients) => Some(clients),
            _ => None,
        });
        Ok(clients.flatten().collect())
    }
}

/// Each node has the tables of `system` and `system_schema` for itself, which is one replica; virtual tables have no levels.
fn check_level(keyspace: &str, level: ConsistencyLevel) -> Result<(), QueryError> {
    let required = match level {
        ConsistencyLevel::Two => 2,
        ConsistencyLevel::Three => 3,
        _ => 1,
    };
    if required > 1 && !system_keyspaces::is_virtual(keyspace) {
        return Err(Unavailable { level, required, alive: 1, datacenter: None }.into());
    }
    Ok(())
}

/// The partitions that token() restricts a SELECT to, whatever its condition says beside.
pub(super) enum PartitionRange {
    /// Those with these tokens; `None`: no partition.
    Tokens(Option<KeyRange<'static>>),
    /// Of a virtual table, whose tokens are its keys: those at these places.
    Keys(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl PartitionRange {
    fn new(select: &Select, binds: &Binds<'_>) -> Result<Self, QueryError> {
        let Keys::Tokens { start, end } = &select.keys else {
            panic!("the keys of a system table's partitions are apart");
        };
        if PartitionOrder::of(&select.table) == PartitionOrder::Tokens {
            return Ok(PartitionRange::Tokens(token_range(start.as_deref(), end.as_deref(), binds)?));
        }
        let bound = |end: Option<&TokenEnd>| -> Result<(Bound<Vec<u8>>, bool), QueryError> {
            let Some(end) = end else { return Ok((Bound::Unbounded, true)) };
            let key = token_key(&end.value, binds)?;
            let place = PartitionOrder::Keys.place(&select.table, key);
            let bound = if end.is_inclusive { Bound::Included(place) } else { Bound::Excluded(place) };
            Ok((bound, key.is_empty()))
        };
        let (start, _) = bound(start.as_deref())?;
        // The smallest token stands for the end of all where a range ends, as in Cassandra.
        let end = match bound(end.as_deref())? {
            (_, true) => Bound::Unbounded,
            (end, false) => end,
        };
        Ok(PartitionRange::Keys(start, end))
    }

    /// Whether a partition is inside.
    pub(super) fn has(&self, table: &Table, token: Token, key: &[u8]) -> bool {
        match self {
            PartitionRange::Tokens(range) => range.as_ref().is_some_and(|range| is_in(range, token)),
            PartitionRange::Keys(Bound::Unbounded, Bound::Unbounded) => true,
            PartitionRange::Keys(start, end) => {
                (start.as_ref(), end.as_ref()).contains(&PartitionOrder::Keys.place(table, key))
            }
        }
    }

    /// Refuses a page that begins where the statement does not read.
    fn check_place(&self, table: &Table, state: &PagingState) -> Result<(), InvalidPagingState> {
        match self.has(table, state.position.token, &state.position.key) {
            true => Ok(()),
            false => Err(InvalidPagingState),
        }
    }
}

/// The key that stands for a virtual table's token. The statement's plan says that it has one column.
fn token_key<'a>(value: &'a TokenValue, binds: &Binds<'a>) -> Result<&'a [u8], QueryError> {
    let operand = match value {
        TokenValue::Given(operand) => operand,
        TokenValue::OfKey(operands) => operands.first().expect("a key has a column"),
    };
    match operand.value(binds)? {
        Value::Bytes(key) => Ok(key),
        Value::Null => Err(invalid("Invalid null token value")),
        Value::Unset => Err(invalid("Invalid unset value for argument in call to function token")),
    }
}
