//! The engine: one shard's way from request to reply.
//!
//! A request is first tried on the synchronous way ([`Engine::try_execute`] and its like), which does it whole or not at
//! all. What must wait (another shard, a full log buffer, a long read, a schema change) is run as a task by
//! [`Engine::run`], from a copy of its frame.

mod access;
mod agreed;
mod batch;
mod call;
mod cleanup;
mod conditional;
mod control;
mod counting;
mod ddl;
mod endpoints;
mod facts;
mod failed;
mod follow;
mod guarded;
mod guarded_ddl;
mod guarded_values;
mod hand_over;
mod hints;
mod log_ends;
mod long;
mod low_bound;
mod masks;
mod node_events;
mod now;
mod prepare;
mod read;
mod refresh;
mod reply;
mod run;
mod statement_summary;
mod texts;
mod tombstones;
mod traced;
mod virtual_read;
mod virtual_result;
mod write;

pub use access::{AccessChangesError, plan_roles_import, propose_access_changes, propose_first_superuser};
pub use cleanup::{clean_up, clean_up_table};
pub use ddl::{settings, unplaced};
pub use endpoints::{EndpointsError, endpoints};
use failed::FailedRequests;
pub use failed::{FAILED_KINDS, FailedCounts, FailedKind};
use hand_over::HeldBack;
pub use hints::{deliver_hints, hand_on};
pub use log_ends::{disk_bytes, log_ends};
pub use low_bound::{delete_left, finish_left, finished_left, has_left, low_bound, refuse_left};
pub use node_events::announce_node;
pub use run::Ran;
pub use statement_summary::StatementSummary;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use cluster::coordinator::{Coordinator, CoordinatorParts, Unsynced};
use metadata::Proposer;
use metadata::group::{Driver, ProposalId};
use runtime::sync::Queue;
use runtime::{Mesh, Runtime};
use schema::Schema;
use storage::LogSequence;
use topology::operations::Operation;
use topology::{Ring, Sharder, Strategies};

use crate::access::{AccessSnapshot, PasswordHasher};
use crate::authorizer::Authorizer;
use crate::catalog::Catalog;
use crate::clients::Clients;
use crate::clock::TimestampClock;
use crate::control::{ControlReply, ControlRequest};
use crate::event::Event;
use crate::execute::rows::RowBuffer;
use crate::execute::slices::SliceBuffer;
use crate::guardrails::WatchLog;
use crate::hand_over::{HandedBack, HandedOver};
use crate::own_proposal::OwnProposal;
use crate::plan::{Plan, PlanNumber};
use crate::prepared::{PreparedCache, StatementId};
use crate::session::Session;
use crate::system::SystemTables;
use crate::trace::Traces;
use crate::{EngineParts, Guardrails, NodeInfo};

/// Schema events that may wait for the server; it takes them out as fast as they come.
const EVENTS_MAX: usize = 1024;

/// Buffers larger than this are given back after use.
const SCRATCH_BYTES_KEPT: usize = 1 << 20;

/// One shard's engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    inner: Rc<Inner>,
}

struct Inner {
    runtime: Runtime,
    coordinator: Coordinator,
    /// The replication strategies that keyspaces may name.
    strategies: Strategies,
    node: NodeInfo,
    catalog: RefCell<Rc<Catalog>>,
    authorizer: Authorizer,
    password_hasher: Option<Rc<dyn PasswordHasher>>,
    prepared: RefCell<PreparedCache>,
    clock: TimestampClock,
    scratch: RefCell<Scratch>,
    events: Queue<Event>,
    /// Set right after the engine is made: the seat's handler needs the engine first.
    control: OnceCell<Mesh<ControlRequest, ControlReply>>,
    /// The same for requests that one shard hands over to another.
    handed_over: OnceCell<Mesh<HandedOver, HandedBack>>,
    /// Replies to such requests that wait for the log's sync.
    held_back: Unsynced<HeldBack>,
    /// The session of such requests, whose own is on another shard.
    of_other_shards: Session,
    /// The turn to ask for schema changes and truncations; on shard 0 only.
    proposer: Option<Proposer>,
    /// The driver of this node's part in the metadata group, which needs the engine first; on shard 0 only.
    group: OnceCell<Driver>,
    /// This node's own proposals, as they were applied.
    own_proposals: RefCell<BTreeMap<ProposalId, OwnProposal>>,
    counters: Counters,
    failed: FailedRequests,
    /// Bytes of long results that are in the making, and how many there may be.
    result_bytes: Cell<usize>,
    result_bytes_max: usize,
    /// Plans of texts that are about to be run as tasks, with the catalog's epoch.
    planned: RefCell<VecDeque<(StatementId, u64, Plan)>>,
    /// Long texts under way.
    texts: texts::TextBudget,
    /// Who is connected to this shard.
    clients: Rc<Clients>,
    /// What this shard's clients had traced.
    traces: RefCell<Traces>,
    /// How likely a request is traced that does not ask for it.
    trace_probability: Cell<f64>,
    /// True if columns may be given masks, and are read through them.
    masks_enabled: bool,
    /// The number of the next plan.
    plan_numbers: Cell<PlanNumber>,
    guardrails: Guardrails,
    /// Whether the guardrails have each read looked at, and each write.
    guards_reads: bool,
    guards_writes: bool,
    /// Whether the values that a write sets are looked at too.
    guards_values: bool,
    watch_log: WatchLog,
}

/// Buffers that the synchronous way uses again for each request.
#[derive(Default)]
struct Scratch {
    key: Vec<u8>,
    mutation: Vec<u8>,
    slices: SliceBuffer,
    rows: RowBuffer,
}

/// What happened on this shard since its start.
#[derive(Default)]
struct Counters {
    requests_now: Cell<u64>,
    requests_run: Cell<u64>,
    unprepared: Cell<u64>,
}

/// An engine's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Requests answered on the synchronous way.
    pub requests_now: u64,
    /// Requests run as tasks.
    pub requests_run: u64,
    /// EXECUTEs of unknown prepared statements.
    pub unprepared: u64,
    /// Statements prepared now.
    pub prepared: u64,
    /// Prepared statements evicted to make room.
    pub prepared_evictions: u64,
    /// Requests that too few replicas answered, by kind, in the order of [`FailedKind::ALL`].
    pub failed: [FailedCounts; FAILED_KINDS],
}

/// Lists a session as that of a client of its shard: when it has connected, or has logged in where that is needed.
pub fn list_client(engine: &Engine, session: &Session, address: SocketAddr) {
    session.enter(address, &engine.inner.clients);
}

impl Engine {
    /// Makes the shard's engine, which serves other shards from now on.
    pub async fn new(parts: EngineParts) -> Engine {
        let EngineParts {
            runtime,
            seats,
            storage,
            schema,
            access,
            access_settings,
            password_hasher,
            ring,
            operations,
            tenure,
            epoch,
            low_bound,
            internode,
            metadata,
            links,
            options,
            guardrails,
            strategies,
            node,
        } = parts;
        assert!(password_hasher.is_some() || !access_settings.has_passwords, "passwords that are set are hashed");
        let coordinator = Coordinator::new(CoordinatorParts {
            runtime: runtime.clone(),
            ring,
            operations: operations.into_iter().map(Rc::new).collect(),
            sharder: Sharder::new(runtime.shard_count()),
            storage,
            seat: seats.replica,
            peer_seat: seats.peers,
            internode,
            scans_max: options.scans_max,
            hints: options.hints,
            timeouts: options.timeouts,
            strategies: strategies.clone(),
        });
        coordinator.fence().begin_tenure(tenure);
        let system = SystemTables::new(node.clone(), async || runtime.maybe_yield().await).await;
        let catalog = Rc::new(Catalog::new(schema, Rc::new(system), &coordinator));
        let held_back = HeldBack::queue(&runtime, coordinator.storage().clone());
        let first = AccessSnapshot::new(access, access_settings);
        let planted = coordinator.storage().planted();
        let authorizer = Authorizer::new(first, options.network_rules, &node.datacenter, planted);
        let engine = Engine {
            inner: Rc::new(Inner {
                handed_over: OnceCell::new(),
                held_back,
                of_other_shards: Session::of_other_shard(None, false),
                clock: TimestampClock::new(runtime.clone(), node.boot),
                runtime: runtime.clone(),
                coordinator,
                strategies,
                node,
                catalog: RefCell::new(catalog),
                authorizer,
                password_hasher,
                prepared: RefCell::new(PreparedCache::new(options.prepared_bytes_max)),
                scratch: RefCell::default(),
                events: Queue::new(EVENTS_MAX),
                control: OnceCell::new(),
                proposer: metadata.as_ref().map(|_| Proposer::default()),
                group: OnceCell::new(),
                own_proposals: RefCell::default(),
                counters: Counters::default(),
                failed: FailedRequests::default(),
                result_bytes: Cell::new(0),
                planned: RefCell::default(),
                texts: texts::TextBudget::new(),
                clients: Rc::default(),
                traces: RefCell::default(),
                trace_probability: Cell::new(0.0),
                masks_enabled: options.masks_enabled,
                plan_numbers: Cell::new(PlanNumber::FIRST),
                guards_reads: guardrails.guards_reads(),
                guards_writes: guardrails.guards_writes(),
                guards_values: guardrails.guards_values(),
                guardrails,
                watch_log: WatchLog::default(),
                result_bytes_max: options.result_bytes_max,
            }),
        };
        let serving = engine.clone();
        let mesh = seats.control.open(&runtime, move |_, request, responder| serving.serve(request, responder));
        engine.inner.control.set(mesh).ok().expect("the seat is opened once");
        let serving = engine.clone();
        let serve = move |_, request, responder| serving.serve_handed_over(request, responder);
        let mesh = seats.handed_over.open(&runtime, serve);
        engine.inner.handed_over.set(mesh).ok().expect("the seat is opened once");
        if let Some(epoch) = epoch {
            let catch_up = follow::catch_up(engine.control().clone());
            let coordinator = &engine.inner.coordinator;
            coordinator.fence().begin(epoch, coordinator.ring().epoch(), &engine.catalog().schema, catch_up);
            let begun = epoch.max(coordinator.ring().epoch());
            coordinator.fence().low_bound_changed(begun, low_bound);
        }
        if let Some(parts) = metadata {
            engine.start_group(parts, links);
        }
        engine
    }

    /// Plans by another ring from now on, whose epoch must be later, with the operations of the cluster's state. See [`Coordinator::install_ring`].
    pub fn install_ring(&self, ring: Rc<Ring>, operations: Vec<Operation>) {
        self.inner.coordinator.install_ring(ring, operations.into_iter().map(Rc::new));
        let catalog = self.catalog().on_present_ring(&self.inner.coordinator);
        *self.inner.catalog.borrow_mut() = Rc::new(catalog);
    }

    /// How far the shard's commit log is synced.
    pub fn synced(&self) -> LogSequence {
        self.inner.coordinator.storage().synced()
    }

    /// Waits until the commit log is synced up to `sequence`.
    pub async fn wait_synced(&self, sequence: LogSequence) -> Result<(), storage::SyncError> {
        self.inner.coordinator.storage().wait_synced(sequence).await
    }

    /// Events, in order, for the connections that registered for them. One consumer per shard.
    pub fn events(&self) -> Queue<Event> {
        self.inner.events.clone()
    }

    /// The users' schema as this shard sees it now.
    pub fn schema(&self) -> Schema {
        self.inner.catalog.borrow().schema.clone()
    }

    /// Roles and permissions as this shard sees them now.
    pub fn access(&self) -> Rc<AccessSnapshot> {
        self.inner.authorizer.snapshot()
    }

    /// The engine's counters.
    pub fn stats(&self) -> EngineStats {
        let counters = &self.inner.counters;
        let prepared = self.inner.prepared.borrow();
        EngineStats {
            requests_now: counters.requests_now.get(),
            requests_run: counters.requests_run.get(),
            unprepared: counters.unprepared.get(),
            prepared: prepared.len() as u64,
            prepared_evictions: prepared.evictions(),
            failed: self.inner.failed.counts(),
        }
    }

    fn catalog(&self) -> Rc<Catalog> {
        self.inner.catalog.borrow().clone()
    }

    fn control(&self) -> &Mesh<ControlRequest, ControlReply> {
        self.inner.control.get().expect("set when the engine was made")
    }

    fn handed_over(&self) -> &Mesh<HandedOver, HandedBack> {
        self.inner.handed_over.get().expect("set when the engine was made")
    }
}

fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}
