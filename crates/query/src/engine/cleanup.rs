//! Cleanup: this node drops what it has of token ranges that it does not keep.
//!
//! Each shard goes over its tables, one after the other, and looks before each step which tokens are kept: by the ring and the operation that it plans by then. See
//! `docs/internals/compaction.md`.

use std::cell::RefCell;
use std::rc::Rc;

use cluster::coordinator::kept_ranges;
use cluster::paxos::STATE_TABLE;
use runtime::{Group, Responder};
use schema::TableId;
use storage::{Cleaned, CompactionError};
use topology::{Epoch, ReplicationStrategy, TokenRanges};

use super::Engine;
use crate::control::{ControlReply, ControlRequest};

/// The tokens of a table that are kept, until the ring or the schema is another one.
struct Kept {
    /// Epochs of the ring and of the catalog.
    of: (Epoch, u64),
    tokens: Rc<TokenRanges>,
}

/// Drops, on every shard of this node, what it has of token ranges that it does not keep: of all tables of all keyspaces, and of the states of conditional statements.
/// To be called after an operation has ended or was aborted, when no copy of it is received any more. On shard 0.
///
/// Where it succeeds this node has no leftovers, and no start brings any back; `system.paxos` and each keyspace as [`kept_ranges`] says. After an error it is to
/// be called again: what was dropped stays so. The error names the first table that failed, and all others were tried.
pub async fn clean_up(engine: &Engine) -> Result<(), String> {
    let replies = engine.on_all_shards(|| ControlRequest::CleanUp).await.map_err(|error| error.to_string())?;
    let failed = replies.into_iter().find_map(|(_, reply)| match reply {
        ControlReply::CleanedUp(cleaned) => cleaned.err(),
        reply => panic!("a shard answers whether it is clean, not with {reply:?}"),
    });
    failed.map_or(Ok(()), Err)
}

/// Drops what this shard has of one table's token ranges that this node does not keep.
pub async fn clean_up_table(engine: &Engine, table: TableId) -> Result<Cleaned, CompactionError> {
    let known = RefCell::new(None);
    let (coordinator, kept) = (&engine.inner.coordinator, || kept(engine, table, &known));
    match table == STATE_TABLE {
        true => coordinator.agreements().clean_up(kept).await,
        false => storage::clean_up(coordinator.storage(), table, kept).await,
    }
}

/// Drops what this shard has of all tables' ranges that this node does not keep.
async fn clean_up_shard(engine: &Engine) -> Result<(), String> {
    let catalog = engine.catalog();
    let tables = catalog.schema.keyspaces().values().flat_map(|keyspace| keyspace.tables.values());
    let named = tables.map(|table| (table.id, format!("{}.{}", table.keyspace, table.name)));
    let mut all = Ok(());
    for (id, name) in named.chain([(STATE_TABLE, "system.paxos".to_owned())]).collect::<Vec<_>>() {
        match clean_up_table(engine, id).await {
            Ok(Cleaned { removed: 0, rewritten: 0 }) => {}
            Ok(Cleaned { removed, rewritten }) => {
                let shard = engine.inner.runtime.shard().0;
                tracing::info!(
                    shard,
                    table = name,
                    removed,
                    rewritten,
                    "dropped data of token ranges that are not kept"
                );
            }
            Err(error) => all = all.and(Err(format!("{name}: {error}"))),
        }
        engine.inner.runtime.maybe_yield().await;
    }
    all
}

/// Serves [`ControlRequest::CleanUp`].
pub(super) fn serve_clean_up(engine: &Engine, responder: Responder<ControlReply>) {
    let cleaning = engine.clone();
    engine.inner.runtime.spawn(Group::Maintenance, async move {
        responder.reply(ControlReply::CleanedUp(clean_up_shard(&cleaning).await));
    });
}

/// The tokens of a table that are kept at present. All of a table that is not there: it may be one that this shard does not know yet.
fn kept(engine: &Engine, table: TableId, known: &RefCell<Option<Kept>>) -> Rc<TokenRanges> {
    let (catalog, coordinator) = (engine.catalog(), &engine.inner.coordinator);
    let of = (coordinator.ring().epoch(), catalog.epoch);
    if let Some(known) = known.borrow().as_ref().filter(|known| known.of == of) {
        return Rc::clone(&known.tokens);
    }
    let tokens = if table == STATE_TABLE {
        // A state is of the token of its partition, in whichever keyspace that is.
        let keyspaces = catalog.schema.keyspaces().values();
        let shared = keyspaces.filter(|keyspace| *keyspace.strategy() != ReplicationStrategy::Local);
        let each = shared.map(|keyspace| kept_ranges(coordinator, keyspace.name(), keyspace.strategy()));
        each.fold(TokenRanges::none(), |all, of_it| all.or(&of_it))
    } else {
        let keyspace = catalog.schema.table_by_id(table).and_then(|table| catalog.schema.keyspace(&table.keyspace));
        keyspace
            .map_or_else(TokenRanges::all, |keyspace| kept_ranges(coordinator, keyspace.name(), keyspace.strategy()))
    };
    let tokens = Rc::new(tokens);
    known.replace(Some(Kept { of, tokens: Rc::clone(&tokens) }));
    tokens
}
