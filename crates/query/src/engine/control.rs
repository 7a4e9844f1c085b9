//! What a shard does when another calls it about anything but data.

use cluster::coordinator::{Hints, hand_on};
use runtime::{Group, Responder};

use super::Engine;
use super::access::lead_access;
use super::cleanup::serve_clean_up;
use super::ddl::{lead_ddl, lead_truncate};
use super::follow::lead_catch_up;
use super::low_bound::left;
use crate::control::{ControlReply, ControlRequest};

impl Engine {
    /// Serves a call.
    pub(super) fn serve(&self, request: ControlRequest, responder: Responder<ControlReply>) {
        match request {
            ControlRequest::Access { intention } => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    responder.reply(ControlReply::Access(lead_access(&engine, &intention).await));
                });
            }
            ControlRequest::Ddl { text, keyspace, creator } => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    let outcome = lead_ddl(&engine, &text, keyspace.as_deref(), creator).await;
                    responder.reply(ControlReply::Ddl(outcome));
                });
            }
            ControlRequest::Truncate { keyspace, table, role } => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    let outcome = lead_truncate(&engine, (&keyspace, &table), role.as_deref()).await;
                    responder.reply(ControlReply::Truncated(outcome));
                });
            }
            ControlRequest::Apply { epoch, ring, changes, access } => {
                self.apply_changes(epoch, ring, &changes, &access);
                responder.reply(ControlReply::Done);
            }
            ControlRequest::Reached { epoch, is_replaced } => {
                if is_replaced {
                    let coordinator = &self.inner.coordinator;
                    coordinator.fence().replaced(epoch, coordinator.ring().epoch());
                }
                self.inner.coordinator.fence().reached(epoch);
                responder.reply(ControlReply::Done);
            }
            ControlRequest::CatchUp { node, epoch } => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    responder.reply(ControlReply::Applied(
                        lead_catch_up(&engine.inner.runtime, engine.group(), node, epoch).await,
                    ));
                });
            }
            ControlRequest::Announce { event } => {
                self.announce(event);
                responder.reply(ControlReply::Done);
            }
            ControlRequest::BeginTruncation { table, epoch } => {
                self.inner.coordinator.fence().truncating(epoch, table);
                let position = self.inner.coordinator.storage().begin_truncation(table);
                responder.reply(ControlReply::Position(position));
            }
            ControlRequest::AbandonTruncation { table } => {
                self.inner.coordinator.storage().abandon_truncation(table);
                responder.reply(ControlReply::Done);
            }
            ControlRequest::Flush { tables } => {
                let storage = self.inner.coordinator.storage().clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    let mut flushed = Ok(());
                    for table in tables {
                        flushed = flushed.and(storage.flush(table).await);
                    }
                    responder.reply(ControlReply::Flushed(flushed.map_err(|error| error.to_string())));
                });
            }
            ControlRequest::TruncationIsDurable { table, position, at } => {
                let storage = self.inner.coordinator.storage().clone();
                storage.truncation_is_durable(table, position);
                self.inner.runtime.spawn(Group::Query, async move {
                    storage.discard_truncated(table, position, &at).await;
                    responder.reply(ControlReply::Done);
                });
            }
            ControlRequest::DiscardDropped { at } => {
                let storage = self.inner.coordinator.storage().clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    storage.discard_dropped(&at).await;
                    responder.reply(ControlReply::Done);
                });
            }
            ControlRequest::NameFiles { files } => {
                let storage = self.inner.coordinator.storage().clone();
                self.inner.runtime.spawn(Group::Maintenance, async move {
                    let named = storage.name_files_to_take_in(&files).await;
                    responder.reply(ControlReply::TakenIn(named.map_err(|error| error.to_string())));
                });
            }
            ControlRequest::OpenFiles { files } => {
                let storage = self.inner.coordinator.storage().clone();
                self.inner.runtime.spawn(Group::Maintenance, async move {
                    let opened = storage.open_files_taken_in(&files).await;
                    responder.reply(ControlReply::TakenIn(opened.map_err(|error| error.to_string())));
                });
            }
            ControlRequest::LowBound { epoch, bound } => {
                self.inner.coordinator.fence().low_bound_changed(epoch, bound);
                responder.reply(ControlReply::Done);
            }
            ControlRequest::Left(request) => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Maintenance, async move {
                    responder
                        .reply(ControlReply::Left(left(&engine, request).await.map_err(|error| error.to_string())));
                });
            }
            ControlRequest::CleanUp => serve_clean_up(self, responder),
            ControlRequest::Traces { id } => responder.reply(ControlReply::Traces(self.traces(id.as_deref()))),
            ControlRequest::LogEnds => {
                responder.reply(ControlReply::LogEnds(storage::log_ends(self.inner.coordinator.storage())));
            }
            ControlRequest::DiskBytes => {
                let bytes = self.inner.coordinator.storage().load().disk_bytes;
                responder.reply(ControlReply::DiskBytes(bytes));
            }
            ControlRequest::PendingHints => {
                let pending = self.inner.coordinator.hints().map(Hints::pending).unwrap_or_default();
                responder.reply(ControlReply::PendingHints(pending));
            }
            ControlRequest::HandOn => {
                responder.reply(ControlReply::NotHandedOn(hand_on(&self.inner.coordinator)));
            }
            ControlRequest::Clients => responder.reply(ControlReply::Clients(self.inner.clients.all())),
            ControlRequest::Install { text, keyspace } => {
                let engine = self.clone();
                self.inner.runtime.spawn(Group::Query, async move {
                    // It was planned on the shard that the client talks to: what fails here is a schema change behind, and
                    // the client is then told to prepare again.
                    if let Err(error) = engine.install(&text, keyspace.as_deref()).await {
                        tracing::debug!(%error, "cannot plan a statement prepared on another shard; planning it again at its execution");
                    }
                    responder.reply(ControlReply::Done);
                });
            }
        }
    }
}
