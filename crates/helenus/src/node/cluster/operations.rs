//! Operations, which move token ranges: what this node does as their leader, and what it does as a receiver.
//!
//! | who | sees | then |
//! |---|---|---|
//! | leader | an operation whose turn it is | asks for its plan: tokens are fixed |
//! | leader | the condition of the present phase is met ([`waits_for`]) | asks for the next phase, or for the end |
//! | receiver | an operation in Copy that it has not confirmed | copies; asks for its confirmation when all is durable |
//! | receiver | its copy fails | says why, and begins again after a rest |
//! | any | it is unclean, and copies nothing | drops what it does not keep; asks to be noted as clean when that is durable |
//!
//! Each request is judged again on the state that it is applied to, so one that is sent twice, or by a leader that is none any more, changes nothing. Phases and
//! conditions: `docs/internals/operations.md`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use admin::{OperationFacts, OperationsFacts};
use cluster::coordinator::{KeyspaceToCopy, receiving};
use membership::{OperationRequest, OperationsDomain, Planning, TopologyDomain};
use metadata::group::{Answer, Index, Member, node_id};
use query::{Engine, OPERATION, SchemaDomain, clean_up, settings};
use raft::RoleName;
use runtime::Group;
use schema::Schema;
use topology::operations::{Confirmed, Operation, OperationId, Operations, Phase, RangeMove, Target, waits_for};
use topology::{Epoch, HostId, NodeIndex, ReplicationStrategy, Ring};

use super::{AGAIN, Cluster, Inner};

/// Between two tries of a copy that failed, at first and at most.
const REST_MIN: Duration = Duration::from_millis(500);
const REST_MAX: Duration = Duration::from_secs(10);

/// This node's part in operations.
#[derive(Default)]
pub(super) struct Driving {
    /// As the leader: a request is under way.
    is_asking: Cell<bool>,
    /// As the leader: the operations that were seen in a phase, and the epoch of the state then. Nodes that have applied that epoch have applied the phase.
    seen: RefCell<BTreeMap<OperationId, Seen>>,
    /// As the leader: why an operation does not go on, as it was said last.
    waits: RefCell<BTreeMap<OperationId, String>>,
    /// As a receiver: a copy is made.
    is_receiving: Cell<bool>,
    /// Leftovers are dropped.
    is_cleaning: Cell<bool>,
}

/// Ranges that move, on the ring whose indices they have.
type Moves = Rc<(Ring, Vec<RangeMove>)>;

/// An operation in a phase, as the leader has seen it.
struct Seen {
    phase: Phase,
    epoch: Index,
    /// The ring and the moves, with the epoch of the state that they were worked out of.
    moves: Option<(Index, Moves)>,
}

/// The leader's knowledge of nodes.
struct Judge<'a> {
    inner: &'a Inner,
    member: &'a Member,
    ring: &'a Ring,
    /// At which the operation was in its phase.
    epoch: Index,
}

impl Judge<'_> {
    fn host(&self, node: NodeIndex) -> HostId {
        self.ring.node(node).host_id
    }
}

impl Confirmed for Judge<'_> {
    fn is_up(&self, node: NodeIndex) -> bool {
        let host = self.host(node);
        host == self.inner.local.host_id() || self.inner.is_up(host)
    }

    fn has_applied(&self, node: NodeIndex) -> bool {
        let host = self.host(node);
        let applied = match host == self.inner.local.host_id() {
            true => self.member.applied(),
            false => self.member.epoch_of(node_id(host)),
        };
        applied >= self.epoch
    }
}

/// What the leader finds of an operation.
enum Look {
    /// It may go on.
    Step(OperationRequest),
    /// It waits, for this.
    Waits(OperationId, String),
}

/// Takes one operation a step further, if this node leads.
pub(super) fn drive(inner: &Rc<Inner>) {
    let Some(driver) = inner.driver.get() else { return };
    let driving = &inner.driving;
    if driving.is_asking.get() {
        return;
    }
    let looks = driver.with_member(|member, _| match member.raft().role() {
        RoleName::Leader => look(inner, member),
        _ => {
            driving.seen.borrow_mut().clear();
            driving.waits.borrow_mut().clear();
            Vec::new()
        }
    });
    let mut next = None;
    for look in looks {
        match look {
            Look::Step(request) => next = next.or(Some(request)),
            Look::Waits(id, reason) => say_once(driving, id, reason),
        }
    }
    let Some(request) = next else { return };
    driving.is_asking.set(true);
    let inner = Rc::clone(inner);
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        let answer = inner.ask_about_operation(&request).await;
        if let (Answer::Refused { reason, .. }, OperationRequest::Step(id, _)) = (&answer, request)
            && !reason.is_empty()
        {
            say_once(&inner.driving, id, String::from_utf8_lossy(reason).into_owned());
        }
        if !matches!(answer, Answer::Applied { .. }) {
            inner.runtime.sleep(AGAIN).await;
        }
        inner.driving.is_asking.set(false);
    }));
}

/// Says why an operation waits, when that is another reason than before.
fn say_once(driving: &Driving, id: OperationId, reason: String) {
    let mut waits = driving.waits.borrow_mut();
    if waits.get(&id) != Some(&reason) {
        tracing::info!(operation = id.0, %reason, "operation waits");
        waits.insert(id, reason);
    }
}

/// Looks at all operations: those that run, then the first whose turn it is.
fn look(inner: &Inner, member: &Member) -> Vec<Look> {
    let (state, epoch) = (member.state().cluster(), member.state().epoch());
    let operations = state.of::<OperationsDomain>();
    let mut seen = inner.driving.seen.borrow_mut();
    seen.retain(|id, _| operations.operation(*id).is_some());
    inner.driving.waits.borrow_mut().retain(|id, _| operations.operation(*id).is_some());
    if operations.all().len() == 0 {
        return Vec::new();
    }
    let settings = settings(state.of::<SchemaDomain>());
    let registry = state.of::<TopologyDomain>();
    let strategies = &inner.strategies;
    let planning = Planning { registry, operations, settings: &settings, strategies };
    let mut looks = Vec::new();
    for operation in operations.running() {
        let known = seen.entry(operation.id).or_insert_with(|| Seen { phase: operation.phase, epoch, moves: None });
        if known.phase != operation.phase {
            *known = Seen { phase: operation.phase, epoch, moves: known.moves.take() };
        }
        let fresh = known.moves.take().filter(|(of, _)| *of == epoch);
        let moves = match fresh {
            Some((_, moves)) => Ok(moves),
            None => moves_of(&planning, operation).map(Rc::new),
        };
        let moves = match moves {
            Ok(moves) => moves,
            Err(reason) => {
                looks.push(Look::Waits(operation.id, reason));
                continue;
            }
        };
        known.moves = Some((epoch, Rc::clone(&moves)));
        let (ring, moves) = &*moves;
        let judge = Judge { inner, member, ring, epoch: known.epoch };
        looks.push(match waits_for(operation, moves, ring, &judge) {
            None => Look::Step(OperationRequest::Step(operation.id, operation.phase)),
            Some(waiting) => Look::Waits(operation.id, waiting.to_string()),
        });
    }
    let next = operations.all().find(|operation| operations.may_plan(operation.id));
    looks.extend(next.map(|operation| Look::Step(OperationRequest::Step(operation.id, Phase::Queued))));
    looks
}

fn moves_of(planning: &Planning<'_>, operation: &Operation) -> Result<(Ring, Vec<RangeMove>), String> {
    let nodes = planning.registry.nodes().next().and_then(|(id, _)| planning.registry.nodes_of_ring(id));
    let (nodes, local) = nodes.ok_or("the cluster has no node")?;
    let moves = planning.moves(operation).map_err(|error| error.to_string())?;
    Ok((Ring::new(Epoch::FIRST, nodes, local), moves))
}

/// Copies what this node is to copy, if an operation waits for it.
pub(super) fn receive(inner: &Rc<Inner>, engine: &Engine) {
    let driving = &inner.driving;
    if driving.is_receiving.get() {
        return;
    }
    let own = inner.local.host_id();
    let operations = inner.operations.borrow();
    let mut waiting = operations.running().filter(|operation| {
        operation.phase == Phase::Copy && !operation.is_without_copy && !operation.copied.contains(&own)
    });
    let Some(operation) = waiting.next().cloned() else { return };
    drop(waiting);
    drop(operations);
    let keyspaces = keyspaces_to_copy(&engine.schema());
    match receiving(engine.coordinator()).is_receiver(&operation, &keyspaces) {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => return tracing::warn!(operation = operation.id.0, %error, "cannot tell what to copy"),
    }
    driving.is_receiving.set(true);
    let (inner, engine) = (Rc::clone(inner), engine.clone());
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, async move {
        copy(&inner, &engine, operation).await;
        inner.driving.is_receiving.set(false);
    }));
}

/// Copies until all is durable and the cluster knows it, or the operation is in another phase.
async fn copy(inner: &Rc<Inner>, engine: &Engine, operation: Operation) {
    let (own, id) = (inner.local.host_id(), operation.id);
    let began = inner.runtime.now();
    tracing::info!(operation = id.0, "copying the ranges that this node gains");
    let mut rest = REST_MIN;
    while inner.is_in(id, Phase::Copy) {
        let keyspaces = keyspaces_to_copy(&engine.schema());
        match receiving(engine.coordinator()).receive(&operation, &keyspaces).await {
            Ok(figures) => {
                let seconds = (inner.runtime.now() - began).as_secs_f64();
                tracing::info!(
                    operation = id.0,
                    rows = figures.rows,
                    bytes = figures.bytes,
                    seconds,
                    "copied the ranges that this node gains"
                );
                break;
            }
            Err(error) => {
                stdx::sometimes!("a copy for an operation begins again");
                tracing::warn!(operation = id.0, %error, "copy not made; retrying");
            }
        }
        inner.runtime.sleep(rest).await;
        rest = (rest * 2).min(REST_MAX);
    }
    while inner.is_in(id, Phase::Copy) && !inner.has_copied(id, own) {
        let answer = inner.ask_about_operation(&OperationRequest::Copied(id, own)).await;
        if !matches!(answer, Answer::Applied { .. }) {
            inner.runtime.sleep(AGAIN).await;
        }
        // Its own shards may have it a moment later.
        inner.runtime.sleep(AGAIN / 10).await;
    }
}

/// Drops what this node has of ranges that it has lost, if it is unclean.
pub(super) fn clean(inner: &Rc<Inner>, engine: &Engine) {
    let driving = &inner.driving;
    let own = inner.local.host_id();
    let unclean = inner.operations.borrow().unclean_since(own);
    let Some(last) = unclean.filter(|_| !driving.is_cleaning.get() && !driving.is_receiving.get()) else { return };
    driving.is_cleaning.set(true);
    let (inner, engine) = (Rc::clone(inner), engine.clone());
    let runtime = inner.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, async move {
        match clean_up(&engine).await {
            Ok(()) => {
                tracing::info!(operation = last.0, "dropped what is left of ranges that this node does not own");
                let answer = inner.ask_about_operation(&OperationRequest::Cleaned(own, last)).await;
                if !matches!(answer, Answer::Applied { .. }) {
                    tracing::debug!(?answer, "this node is not noted as clean yet; retrying");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "leftovers not dropped; retrying");
                inner.runtime.sleep(REST_MAX).await;
            }
        }
        // Its own shards may have it a moment later.
        inner.runtime.sleep(AGAIN).await;
        inner.driving.is_cleaning.set(false);
    }));
}

/// The operations as this node has applied them.
pub(in crate::node) fn operations_facts(cluster: &Cluster) -> OperationsFacts {
    let (operations, waits) = (cluster.inner.operations.borrow(), cluster.inner.driving.waits.borrow());
    let facts = |operation: &Operation| OperationFacts {
        number: operation.id.0,
        phase: operation.phase.to_string(),
        nodes: match &operation.target {
            Target::Tokens(nodes) => nodes.keys().map(HostId::to_string).collect(),
            Target::Copy { .. } | Target::Replication { .. } => Vec::new(),
        },
        copied: operation.copied.iter().map(HostId::to_string).collect(),
        waits_for: waits.get(&operation.id).cloned(),
    };
    let unclean = operations.unclean().map(|host| host.to_string()).collect();
    let driver = cluster.inner.driver.get();
    let leads = driver.is_some_and(|of| of.with_member(|member, _| member.raft().role() == RoleName::Leader));
    OperationsFacts { operations: operations.all().map(facts).collect(), unclean, leads }
}

/// Aborts an operation. The error is a sentence for an operator.
pub(in crate::node) async fn abort_operation(cluster: &Cluster, number: u64) -> Result<(), String> {
    match cluster.inner.ask_about_operation(&OperationRequest::Abort(OperationId(number))).await {
        Answer::Applied { .. } => Ok(()),
        Answer::Refused { reason, .. } => Err(String::from_utf8_lossy(&reason).into_owned()),
        Answer::NoLeader => Err("the cluster's metadata has no leader; nothing was changed".to_owned()),
        Answer::Failed { reason } => Err(format!("the change could not be made durable: {reason}")),
        Answer::Busy | Answer::TooLate => Err("too many changes wait; nothing was changed".to_owned()),
        Answer::Unknown => Err("the outcome is not known; the operation may be aborted, or may be yet".to_owned()),
    }
}

/// The keyspaces whose data is shared, each with its tables.
fn keyspaces_to_copy(schema: &Schema) -> Vec<KeyspaceToCopy> {
    let shared = schema.keyspaces().values().filter(|keyspace| *keyspace.strategy() != ReplicationStrategy::Local);
    let of = |keyspace: &Rc<schema::Keyspace>| KeyspaceToCopy {
        strategy: keyspace.strategy().clone(),
        tables: keyspace.tables.values().map(|table| table.id).collect(),
    };
    shared.map(of).filter(|keyspace| !keyspace.tables.is_empty()).collect()
}

impl Inner {
    /// The operations, as all shards have applied them.
    pub(super) fn note_operations(&self, next: &Operations) {
        let before = self.operations.replace(next.clone());
        for operation in next.all() {
            let was = before.operation(operation.id).map(|was| was.phase);
            if was != Some(operation.phase) {
                tracing::info!(operation = operation.id.0, kind = ?operation.kind, phase = %operation.phase, "operation");
            }
        }
        for gone in before.all().filter(|was| next.operation(was.id).is_none()) {
            let end = if gone.phase.may_abort() { "operation aborted" } else { "operation done" };
            tracing::info!(operation = gone.id.0, kind = ?gone.kind, "{end}");
        }
        self.has_news.notify_all();
    }

    fn is_in(&self, id: OperationId, phase: Phase) -> bool {
        self.operations.borrow().operation(id).is_some_and(|operation| operation.phase == phase)
    }

    fn has_copied(&self, id: OperationId, host: HostId) -> bool {
        self.operations.borrow().operation(id).is_some_and(|operation| operation.copied.contains(&host))
    }

    /// Asks for a change of an operation.
    pub(super) async fn ask_about_operation(&self, request: &OperationRequest) -> Answer {
        let driver = self.driver.get().expect("the engine runs");
        let intention = [&[OPERATION][..], &request.to_bytes()].concat();
        driver.propose(driver.new_id(), intention).await
    }
}
