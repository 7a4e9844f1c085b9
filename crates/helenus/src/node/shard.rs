//! One shard's steps through a node's life, as shard 0 commands them.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use auth::{Access, AccessChange};
use cluster::coordinator::set_stream_throughput;
use cluster::paxos::{Bound, with_state_table};
use internode::{Boot, GroupTag, LocalNode};
use login::Hasher;
use metadata::MetadataParts;
use query::{Engine, EngineOptions, EngineParts, EngineSeats, NodeInfo, deliver_hints};
use runtime::sync::Queue;
use runtime::{Responder, Runtime, ShardId};
use schema::{Schema, SchemaChange};
use server::Server;
use storage::{OpenError, Shard, StorageOptions, SyncMode, Truncations};
use tls::{Identity, OutsideFiles};
use topology::operations::Operation;
use topology::{Epoch, HostId, Node, NodeIndex, Ring, Sharder};

use super::cluster::Cluster;
use super::hasher_of_statements::HasherOfStatements;
use super::operator::{Operator, part_of_shard};
use super::{Answer, QuestionSeat};
use crate::config::{CommitLogSync, Config, FixedRing, MEMTABLE_BYTES_MAX};

/// The parts of a shard's memory that are for memtables and for pages of files' indexes.
const MEMTABLE_PART: u64 = 2;
const PAGE_CACHE_PART: u64 = 4;
/// The part for index pages where there is a row cache, and the one that the row cache has for itself.
const PAGE_CACHE_PART_BESIDE_ROWS: u64 = 8;

/// Limit of the time for requests in flight when the node shuts down.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Time for the last hints to get to their disk, at the node's end.
const HINTS_PATIENCE: Duration = Duration::from_secs(5);

/// Memory for results under construction that any shard has: the longest one fits.
const RESULT_BYTES_MIN: usize = 72 << 20;

/// A step of the node's life.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Build the schema, open storage.
    Open { boot: u64, host_id: HostId, changes: Vec<SchemaChange>, truncations: Truncations },
    /// Make the engine and the server.
    Serve(Box<Serving>),
    /// Deliver the logged batches that the log held.
    FinishBatches,
    /// Remove logs of another shard count.
    Retire,
    /// Answer what is under way of clients, and end their connections.
    EndClients,
    /// Answer what is under way, of clients and of other nodes; nothing is answered any more then.
    Drain,
    /// Sync the log. When all shards are drained, since each writes for the others' clients too.
    Sync,
    /// Return from the shard's main.
    End,
}

/// All that an engine is made of, beside what the shard has.
#[derive(Debug, Clone)]
pub(super) struct Serving {
    pub(super) node: NodeInfo,
    /// The start's, on all shards the same.
    pub(super) boot_word: u64,
    /// The node's group, where it has others.
    pub(super) group: GroupTag,
    /// The cluster's ring, if this node is in it.
    pub(super) ring: Option<RingParts>,
    /// The changes that make roles and permissions of the empty state.
    pub(super) access: Vec<AccessChange>,
    /// The epoch of the state that the schema is of.
    pub(super) epoch: Epoch,
    /// The low bound of attempts in that state.
    pub(super) low_bound: Bound,
}

/// A ring with the operations of the cluster's state, on its way to all shards.
#[derive(Debug, Clone)]
pub(super) struct RingParts {
    pub(super) epoch: Epoch,
    pub(super) nodes: Vec<Node>,
    pub(super) local: NodeIndex,
    pub(super) operations: Vec<Operation>,
    /// This node's tenure, as operations count.
    pub(super) tenure: u64,
}

impl RingParts {
    pub(super) fn local_node(&self) -> &Node {
        &self.nodes[usize::from(self.local.0)]
    }
}

/// Handles that the boot sequence on shard 0 shares with shard 0's own steps.
#[derive(Clone, Default)]
pub(super) struct Handles {
    /// Put here by the boot sequence before Serve.
    pub(super) metadata: Rc<RefCell<Option<MetadataParts>>>,
    /// The node's part in a cluster of several; put here by the boot sequence before Serve.
    pub(super) cluster: Rc<RefCell<Option<Cluster>>>,
    /// Put here by Serve.
    pub(super) server: Rc<RefCell<Option<Server>>>,
    /// The same.
    pub(super) engine: Rc<RefCell<Option<Engine>>>,
    /// The same.
    pub(super) hasher: Rc<RefCell<Option<Hasher>>>,
}

/// A shard's seats.
pub(super) struct ShardSeats {
    pub(super) engine: EngineSeats,
    pub(super) server: server::Seat,
    pub(super) questions: Option<QuestionSeat>,
    pub(super) passwords: Option<login::Seat>,
    pub(super) audit: Option<audit::Seat>,
}

/// A shard of a node and what it has opened so far.
pub(super) struct ShardNode {
    runtime: Runtime,
    config: Config,
    seats: Option<ShardSeats>,
    question_seat: Option<QuestionSeat>,
    opened: Option<(Shard, Schema)>,
    /// Certificates for other nodes.
    internode_tls: Option<Identity>,
    handles: Handles,
}

impl ShardNode {
    pub(super) fn new(runtime: Runtime, config: Config, mut seats: ShardSeats) -> ShardNode {
        ShardNode {
            runtime,
            config,
            question_seat: seats.questions.take(),
            seats: Some(seats),
            opened: None,
            internode_tls: None,
            handles: Handles::default(),
        }
    }

    pub(super) fn handles(&self) -> Handles {
        self.handles.clone()
    }

    /// Takes each step as it is commanded, until the end.
    pub(super) async fn follow(mut self, commands: Queue<(Command, Responder<Answer>)>) {
        while let Ok((command, responder)) = commands.pop().await {
            let answer = match command {
                Command::Open { boot, host_id, changes, truncations } => {
                    self.open(boot, host_id, &changes, &truncations).await
                }
                Command::Serve(serving) => self.serve(*serving).await,
                Command::FinishBatches => self.finish_batches().await,
                Command::Retire => self.retire().await,
                Command::EndClients => self.end_clients().await,
                Command::Drain => self.drain().await,
                Command::Sync => self.sync().await,
                Command::End => return responder.reply(Ok(())),
            };
            responder.reply(answer);
        }
    }

    async fn open(
        &mut self,
        boot: u64,
        host_id: HostId,
        changes: &[SchemaChange],
        truncations: &Truncations,
    ) -> Answer {
        let schema = Schema::empty().with_all(changes);
        let shards = self.runtime.shard_count();
        let mut options = StorageOptions::new(&self.config.data_dir, boot, self.memtable_bytes());
        options.host = host_id;
        options.salvage = self.config.salvage_commitlog;
        options.planted = self.config.planted;
        options.segment_bytes = self.config.commitlog_segment_bytes;
        options.log_bytes_max =
            self.config.commitlog_total_bytes.unwrap_or(self.config.memory_bytes) / u64::from(shards);
        let row_cache_bytes = self.row_cache_bytes();
        let page_cache_part = if row_cache_bytes == 0 { PAGE_CACHE_PART } else { PAGE_CACHE_PART_BESIDE_ROWS };
        options.page_cache_bytes = bytes(self.shard_memory() / page_cache_part);
        options.row_cache_bytes = row_cache_bytes;
        let memtables = bytes(self.shard_memory() / MEMTABLE_PART).max(options.memory_bytes);
        options.memtables_and_cache_bytes =
            memtables.saturating_add(bytes(self.shard_memory() / PAGE_CACHE_PART_BESIDE_ROWS));
        options.compaction_throughput = self.config.compaction_throughput;
        options.disk_reserve = self.config.disk_reserve;
        options.auto_snapshot = self.config.auto_snapshot;
        options.sync = match self.config.commitlog_sync {
            CommitLogSync::Group => SyncMode::Group,
            CommitLogSync::Batch => SyncMode::Batch,
            CommitLogSync::Periodic => SyncMode::Periodic { period: self.config.commitlog_sync_period },
        };
        let stored = with_state_table(&schema);
        let opened = Shard::open(&self.runtime, options, Sharder::new(shards), &stored, truncations).await;
        let storage = opened.map_err(|error| match error {
            OpenError::Corrupt { .. } | OpenError::MissingSegments { .. } => format!(
                "{error}. To keep the readable records and lose the rest, copy the data directory, then start once with --salvage-commitlog"
            ),
            error => error.to_string(),
        })?;
        self.opened = Some((storage, schema));
        Ok(())
    }

    fn shard_memory(&self) -> u64 {
        self.config.memory_bytes / u64::from(self.runtime.shard_count())
    }

    /// Half of the shard's memory, if nothing was said: a quarter is for index pages, or an eighth for them and an eighth for the row
    /// cache, and of the rest a tenth of the whole for requests in flight, a tenth to spare.
    fn memtable_bytes(&self) -> usize {
        let given = self.config.memtable_bytes.map(|bytes| bytes / u64::from(self.runtime.shard_count()));
        bytes(given.unwrap_or(self.shard_memory() / MEMTABLE_PART).min(MEMTABLE_BYTES_MAX))
    }

    /// Three eighths of the shard's memory, if nothing was said: an eighth is its own, and a quarter what memtables leave of theirs as
    /// long as they need no more than half of it.
    fn row_cache_bytes(&self) -> usize {
        let given = self.config.row_cache_bytes.map(|bytes| bytes / u64::from(self.runtime.shard_count()));
        bytes(given.unwrap_or(self.shard_memory() / 8 * 3))
    }

    async fn serve(&mut self, serving: Serving) -> Answer {
        let Serving { node, boot_word, group, ring, access, epoch, low_bound } = serving;
        let (Some((storage, schema)), Some(seats)) = (self.opened.clone(), self.seats.take()) else {
            return Err("shard asked to serve before its storage was opened".to_owned());
        };
        let ShardSeats { engine: seats, server: server_seat, passwords, audit, .. } = seats;
        let hasher = match passwords {
            Some(seat) => {
                Hasher::open(&self.runtime, seat).map_err(|error| format!("cannot keep passwords: {error}"))?
            }
            None => Hasher::in_place(&self.runtime),
        };
        *self.handles.hasher.borrow_mut() = Some(hasher.clone());
        let mut options = EngineOptions::default();
        if let Some(bytes) = self.config.prepared_bytes_max {
            let shard = bytes / u64::from(self.runtime.shard_count());
            options.prepared_bytes_max = usize::try_from(shard).unwrap_or(usize::MAX);
        }
        // A tenth of the shard's memory is to spare; a single result may always be made.
        let spare = self.config.memory_bytes / u64::from(self.runtime.shard_count()) / 10;
        options.result_bytes_max = usize::try_from(spare).unwrap_or(usize::MAX).max(RESULT_BYTES_MIN);
        options.masks_enabled = self.config.masks_enabled;
        options.network_rules = self.config.access.networks;
        options.hints = self.config.hints.clone();
        options.timeouts = self.config.timeouts;
        let host = node.listen_address.to_string();
        let metadata = self.handles.metadata.borrow_mut().take();
        let cluster = self.handles.cluster.borrow().clone();
        let links = cluster.map(|cluster| cluster.links());
        let has_peers = self.config.fixed_ring.is_some() || self.config.cluster.is_some();
        let internode = has_peers.then(|| self.local_node(&node, (boot_word, group)));
        self.internode_tls = internode.as_ref().and_then(|local| local.tls().cloned());
        let engine = Engine::new(EngineParts {
            runtime: self.runtime.clone(),
            seats,
            storage,
            schema,
            access: Access::default().with_all(&access),
            access_settings: self.config.access.checks(),
            password_hasher: Some(Rc::new(HasherOfStatements(hasher.clone()))),
            operations: ring.as_ref().map(|ring| ring.operations.clone()).unwrap_or_default(),
            tenure: ring.as_ref().map_or(0, |ring| ring.tenure),
            ring: Rc::new(match ring {
                Some(RingParts { epoch, nodes, local, .. }) => Ring::new(epoch, nodes, local),
                None => ring_of(&node, self.config.fixed_ring.as_ref()),
            }),
            // The nodes of a ring fixed by hand have a state each for itself.
            epoch: self.config.fixed_ring.is_none().then_some(epoch),
            low_bound,
            internode,
            metadata,
            links,
            options,
            guardrails: self.config.guardrails.clone(),
            strategies: self.config.strategies.clone(),
            node,
        })
        .await;
        let rate = part_of_shard(self.config.stream_throughput, self.runtime.shard_count());
        set_stream_throughput(engine.coordinator(), rate);
        *self.handles.engine.borrow_mut() = Some(engine.clone());
        let server = Server::start(&self.runtime, server_seat, engine, self.config.limits.clone());
        if let Some(seat) = audit {
            server.use_audit(seat, &host, self.config.planted);
        }
        if let Some(credentials) = &self.config.client_tls {
            server.use_tls(credentials.identity(&self.runtime));
        }
        if let Some(logins) = self.config.access.logins_by(hasher, self.config.planted) {
            server.use_logins(logins);
        }
        *self.handles.server.borrow_mut() = Some(server);
        Ok(())
    }

    /// This node, as it greets others.
    fn local_node(&self, node: &NodeInfo, (word, group): (u64, GroupTag)) -> LocalNode {
        let (name, secret) = (self.config.cluster_name.clone(), self.config.internode_secret.clone());
        let local = LocalNode::new(
            node.host_id,
            name,
            Boot { number: node.boot, word },
            secret,
            self.config.internode_compression,
        );
        local.set_group(group);
        // Shard 0 has the identity of its control connections already.
        let of_cluster = self.handles.cluster.borrow().as_ref().and_then(Cluster::tls);
        let of_shard = || self.config.internode_tls.as_ref().map(|credentials| credentials.identity(&self.runtime));
        of_cluster.or_else(of_shard).into_iter().for_each(|identity| local.use_tls(identity));
        local
    }

    async fn finish_batches(&self) -> Answer {
        let engine = self.handles.engine.borrow().clone();
        if let Some(engine) = engine {
            engine.finish_batches().await;
        }
        Ok(())
    }

    async fn retire(&mut self) -> Answer {
        let Some((storage, _)) = &self.opened else { return Ok(()) };
        storage.retire_old_segments().await.map_err(|error| error.to_string())?;
        if let Some(engine) = &*self.handles.engine.borrow() {
            deliver_hints(engine);
        }
        self.start_admin();
        Ok(())
    }

    /// From here on operators are answered.
    fn start_admin(&mut self) {
        let (engine, server) = (self.handles.engine.borrow().clone(), self.handles.server.borrow().clone());
        let parts = self.question_seat.take().zip(self.opened.clone()).zip(engine.zip(server));
        let Some(((seat, (storage, _)), (engine, server))) = parts else { return };
        let operator = Operator {
            are_operators_unproven: self.config.are_operators_unproven(),
            snitch: self.config.snitch,
            cluster: self.handles.cluster.borrow().clone(),
            started: self.runtime.now(),
            runtime: self.runtime.clone(),
            memory_bytes: self.config.memory_bytes,
            audit: self.config.audit.clone(),
            internode_tls: self.internode_tls.clone(),
            api_tls: self.follow_api_tls(),
            hasher: self.handles.hasher.borrow().clone(),
            storage,
            engine,
            server,
        };
        operator.listen(seat);
    }

    /// Operators are answered on a thread of their own, whose certificates shard 0 follows.
    fn follow_api_tls(&self) -> Option<OutsideFiles> {
        let credentials = self.config.api_tls.as_ref().filter(|_| self.runtime.shard() == ShardId(0));
        credentials.map(|credentials| credentials.follow(&self.runtime))
    }

    async fn end_clients(&self) -> Answer {
        let server = self.handles.server.borrow().clone();
        if let Some(server) = server {
            server.drain(DRAIN_PATIENCE).await;
        }
        Ok(())
    }

    async fn drain(&self) -> Answer {
        self.end_clients().await?;
        let server = self.handles.server.borrow().clone();
        server.iter().for_each(|server| self.report(server));
        // After the clients: where two nodes end at once, each may need the other for what its clients have asked.
        let engine = self.handles.engine.borrow().clone();
        if let Some(engine) = engine {
            engine.coordinator().end_peers(DRAIN_PATIENCE).await;
        }
        Ok(())
    }

    async fn sync(&self) -> Answer {
        let Some((storage, _)) = &self.opened else { return Ok(()) };
        let engine = self.handles.engine.borrow().clone();
        let hints = engine.as_ref().and_then(|engine| engine.coordinator().hints());
        if let Some(hints) = hints {
            hints.take_open_parts().await;
        }
        // What the log does not have is lost otherwise; what it has would only have to be replayed.
        if let Err(error) = storage.flush_at_end(self.config.flush_on_drain).await {
            tracing::warn!(shard = self.runtime.shard().0, %error, "flush at shutdown failed; the next start replays the commit log");
        }
        let drained = storage.drain().await;
        // After the log: a disk of hints that hangs holds up no data.
        if let Some(hints) = hints
            && !hints.end(HINTS_PATIENCE).await
        {
            tracing::warn!(
                shard = self.runtime.shard().0,
                "hints not synced in time; those of the last moments are lost"
            );
        }
        drained.map_err(|error| format!("final commit log sync failed: {error}"))
    }

    /// Logs the totals of the shard since its start, once, at its end. `crossed` says how well clients find the shards of their keys.
    fn report(&self, server: &Server) {
        let (shard, served) = (self.runtime.stats(), server.stats());
        tracing::info!(
            shard = self.runtime.shard().0,
            requests = served.requests,
            waited = served.requests_waited,
            crossed = shard.mesh_calls,
            stalls_over_1ms = shard.stalls_over_1ms,
            longest_poll_micros = shard.longest_poll.as_micros(),
            "shard totals at shutdown"
        );
        let hashes = self.handles.hasher.borrow().as_ref().map_or(0, Hasher::computed);
        if hashes > 0 && self.runtime.shard() == ShardId(0) {
            tracing::info!(hashes, "password hashes computed beside the shards");
        }
    }
}

/// The ring that was fixed by hand, or else that of a cluster that is this node alone.
fn ring_of(node: &NodeInfo, fixed: Option<&FixedRing>) -> Ring {
    let address: SocketAddr = node.native_address;
    let alone = || Node {
        host_id: node.host_id,
        address,
        internode: node.listen_address,
        datacenter: node.datacenter.clone(),
        rack: node.rack.clone(),
        tokens: node.tokens.clone(),
    };
    let Some((fixed, (local, _))) = fixed.and_then(|fixed| Some((fixed, fixed.local()?))) else {
        return Ring::new(Epoch::FIRST, vec![alone()], NodeIndex(0));
    };
    let nodes = fixed.nodes.iter().map(|other| Node {
        host_id: other.host_id,
        // Until nodes tell each other where clients reach them, the port between nodes is all that is known of the others.
        address: if other.host_id == node.host_id { address } else { other.internode },
        internode: other.internode,
        datacenter: other.datacenter.clone(),
        rack: other.rack.clone(),
        tokens: other.tokens.clone(),
    });
    Ring::new(Epoch::FIRST, nodes.collect(), NodeIndex(u16::try_from(local).expect("the ring was validated at start")))
}

fn bytes(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
