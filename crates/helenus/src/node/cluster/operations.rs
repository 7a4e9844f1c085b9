//! Operations, which move token ranges: what this node does as their leader, and what it does as a receiver.
//!
//! | who | sees | then |
//! |---|---|---|
//! | leader | an operation whose turn it is | asks for its plan: tokens are fixed |
//! | leader | the condition of the present phase is met ([`waits_for`]) | asks for the next phase, or for the end |
//! | receiver | an operation in Copy that it has not confirmed | copies; asks for its confirmation when all is durable |
//! | receiver | its copy fails | says why, and begins again after a rest; copies for other operations have their turn meanwhile |
//! | leaving node | its operation is in ReadNew | hands on its hints and batches; asks for its confirmation when it has none any more |
//! | any | it is unclean, and copies nothing | drops what it does not keep; asks to be noted as clean when that is durable |
//!
//! Each request is judged again on the state that it is applied to, so one that is sent twice, or by a leader that is none any more, changes nothing. Phases and
//! conditions: `docs/internals/operations.md`.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{KeyspaceToCopy, ReceiveFailed, receiving};
use membership::{OperationRequest, OperationsDomain, Planning, TopologyDomain};
use metadata::group::{Answer, Driver, Index, Member, node_id};
use query::{Engine, OPERATION, SchemaDomain, clean_up, settings, unplaced};
use raft::RoleName;
use runtime::{Group, Runtime};
use schema::Schema;
use topology::operations::{Confirmed, Operation, OperationId, Operations, Phase, Waiting, waits_for};
use topology::{Epoch, HostId, NodeIndex, ReplicationStrategy, Ring, Strategies};

use super::driving::{Driving, Moves, Seen};

/// Between two tries of a request.
const AGAIN: Duration = Duration::from_millis(500);
/// Between two tries of a cleanup that failed.
const REST: Duration = Duration::from_secs(10);

/// This node, as operations need it.
pub(super) struct Operator {
    pub(super) runtime: Runtime,
    pub(super) own: HostId,
    pub(super) driver: Driver,
    pub(super) engine: Engine,
    pub(super) strategies: Strategies,
    pub(super) driving: Rc<Driving>,
    /// True if another node is up, as this one judges.
    pub(super) is_up: Box<dyn Fn(HostId) -> bool>,
    /// True if it has just come up.
    pub(super) is_fresh: Box<dyn Fn(HostId) -> bool>,
}

/// The leader's knowledge of nodes.
struct Judge<'a> {
    node: &'a Operator,
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
        host == self.node.own || (self.node.is_up)(host)
    }

    fn is_fresh(&self, node: NodeIndex) -> bool {
        (self.node.is_fresh)(self.host(node))
    }

    fn is_regressed(&self, node: NodeIndex) -> bool {
        let registry = self.member.state().cluster().of::<TopologyDomain>();
        registry.is_doubted(self.host(node))
    }

    fn has_applied(&self, node: NodeIndex) -> bool {
        let host = self.host(node);
        let applied = match host == self.node.own {
            true => self.member.applied(),
            false => self.member.epoch_of(node_id(host)),
        };
        applied >= self.epoch
    }
}

/// The outcome of the leader's look at an operation.
enum Look {
    /// It may go on.
    Step(OperationRequest),
    /// It waits, for this.
    Waits(OperationId, String),
}

/// Takes one operation a step further, if this node leads.
pub(super) fn drive(node: &Rc<Operator>) {
    let driving = &node.driving;
    if driving.is_asking.get() {
        return;
    }
    let looks = node.driver.with_member(|member, _| match member.raft().role() {
        RoleName::Leader => look(node, member),
        _ => {
            driving.seen.borrow_mut().clear();
            driving.waits.borrow_mut().clear();
            driving.refused.borrow_mut().clear();
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
    let node = Rc::clone(node);
    let runtime = node.runtime.clone();
    drop(runtime.spawn(Group::Query, async move {
        let answer = ask(&node, &request).await;
        if let (Answer::Refused { reason, .. }, OperationRequest::Step(id, _)) = (&answer, request)
            && !reason.is_empty()
        {
            say_once(&node.driving, id, String::from_utf8_lossy(reason).into_owned());
            node.driving.refused.borrow_mut().insert(id);
        }
        if !matches!(answer, Answer::Applied { .. }) {
            node.runtime.sleep(AGAIN).await;
        }
        node.driving.is_asking.set(false);
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

/// Looks at all operations: those that run, then the first whose turn it is. One that was refused lets those that may be planned beside it have their turn.
fn look(node: &Operator, member: &Member) -> Vec<Look> {
    let (state, epoch) = (member.state().cluster(), member.state().epoch());
    let operations = state.of::<OperationsDomain>();
    let mut seen = node.driving.seen.borrow_mut();
    seen.retain(|id, _| operations.operation(*id).is_some());
    node.driving.waits.borrow_mut().retain(|id, _| operations.operation(*id).is_some());
    if operations.all().len() == 0 {
        return Vec::new();
    }
    let settings = settings(state.of::<SchemaDomain>(), operations);
    let registry = state.of::<TopologyDomain>();
    let strategies = &node.strategies;
    let planted = node.engine.coordinator().storage().planted();
    let planning = Planning { registry, operations, settings: &settings, strategies, planted };
    let mut looks = Vec::new();
    for operation in operations.running() {
        let known = seen.entry(operation.id).or_insert_with(|| Seen { phase: operation.phase, epoch, moves: None });
        if known.phase != operation.phase {
            node.driving.waits.borrow_mut().remove(&operation.id);
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
        let judge = Judge { node, member, ring, epoch: known.epoch };
        looks.push(match waits_for(operation, moves, ring, &judge) {
            None => Look::Step(OperationRequest::Step(operation.id, operation.phase)),
            Some(waiting @ Waiting::Unplaced { .. }) => {
                let keyspaces = unplaced(state.of::<SchemaDomain>(), &planning, operation).join(", ");
                Look::Waits(operation.id, format!("keyspaces without replicas: {keyspaces}; {waiting}"))
            }
            Some(waiting) => Look::Waits(operation.id, waiting.to_string()),
        });
    }
    let next = next_to_plan(operations, &mut node.driving.refused.borrow_mut());
    looks.extend(next.map(|id| Look::Step(OperationRequest::Step(id, Phase::Queued))));
    looks
}

/// The first operation that may be planned and is not among those that were refused; where all were, they are asked for again from the first one on.
fn next_to_plan(operations: &Operations, refused: &mut BTreeSet<OperationId>) -> Option<OperationId> {
    let queued = || operations.all().map(|operation| operation.id).filter(|id| operations.may_plan(*id));
    queued().find(|id| !refused.contains(id)).or_else(|| {
        refused.clear();
        queued().next()
    })
}

fn moves_of(planning: &Planning<'_>, operation: &Operation) -> Result<Moves, String> {
    let nodes = planning.registry.nodes().next().and_then(|(id, _)| planning.registry.nodes_of_ring(id));
    let (nodes, local) = nodes.ok_or("the cluster has no node")?;
    let moves = planning.moves(operation).map_err(|error| error.to_string())?;
    Ok((Ring::new(Epoch::FIRST, nodes, local), moves))
}

/// The nodes whose disks are older than what they have acknowledged.
fn regressed(member: &Member) -> BTreeSet<HostId> {
    let registry = member.state().cluster().of::<TopologyDomain>();
    registry.doubted().collect()
}

/// Copies what this node is to copy, if an operation waits for it.
pub(super) fn receive(node: &Rc<Operator>) {
    let (driving, engine) = (&node.driving, &node.engine);
    if driving.is_receiving.get() {
        return;
    }
    let own = node.own;
    let operations = node.driving.known();
    let waiting = operations.running().filter(|operation| {
        operation.phase == Phase::Copy && !operation.is_without_copy && !operation.copied.contains(&own)
    });
    // Several may be in Copy: each of another keyspace.
    let schema = engine.schema();
    let is_receiver = |operation: &Operation| {
        let known = driving.nothing_to_copy.borrow().get(&operation.id).copied();
        if known == Some(schema.version()) {
            return false;
        }
        let keyspaces = keyspaces_to_copy(&schema, operation);
        match receiving(engine.coordinator()).is_receiver(operation, &keyspaces) {
            Ok(true) => return true,
            // The list of operations is not that of the entry yet.
            Err(ReceiveFailed::Ended) => return false,
            Ok(false) if known.is_none() => {
                tracing::info!(operation = operation.id.0, "nothing to copy: this node gains no ranges");
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(operation = operation.id.0, %error, "cannot tell what to copy"),
        }
        driving.nothing_to_copy.borrow_mut().insert(operation.id, schema.version());
        false
    };
    let due = driving.tries.borrow().due(waiting.map(|operation| operation.id), node.runtime.now());
    let mut due = due.into_iter().filter_map(|id| operations.operation(id));
    let Some(operation) = due.find(|operation| is_receiver(operation)).cloned() else { return };
    drop(due);
    drop(operations);
    driving.is_receiving.set(true);
    let node = Rc::clone(node);
    let runtime = node.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, async move {
        copy(&node, &operation).await;
        node.driving.is_receiving.set(false);
    }));
}

/// Copies, once: what fails has its turn again after others. Where all is durable, waits until the cluster knows it, or the operation is in another phase.
async fn copy(node: &Operator, operation: &Operation) {
    let (own, id, engine) = (node.own, operation.id, &node.engine);
    let (began, is_first) = node.driving.tries.borrow_mut().begin(id, node.runtime.now());
    if is_first {
        tracing::info!(operation = id.0, "copying the ranges that this node gains");
    }
    let keyspaces = keyspaces_to_copy(&engine.schema(), operation);
    receiving(engine.coordinator()).note_regressed(node.driver.with_member(|member, _| regressed(member)));
    match receiving(engine.coordinator()).receive(operation, &keyspaces).await {
        Ok(figures) => {
            let seconds = (node.runtime.now() - began).as_secs_f64();
            tracing::info!(
                operation = id.0,
                rows = figures.rows,
                bytes = figures.bytes,
                seconds,
                "copied the ranges that this node gains"
            );
        }
        Err(ReceiveFailed::Ended) => return,
        Err(error) => {
            stdx::sometimes!("a copy for an operation begins again");
            tracing::warn!(operation = id.0, %error, "copy not made; retrying");
            node.driving.tries.borrow_mut().failed(id, node.runtime.now());
            return;
        }
    }
    while node.driving.is_in(id, Phase::Copy) && !node.driving.has_copied(id, own) {
        let answer = ask(node, &OperationRequest::Copied(id, own)).await;
        if !matches!(answer, Answer::Applied { .. }) {
            node.runtime.sleep(AGAIN).await;
        }
        // Its own shards may have it a moment later.
        node.runtime.sleep(AGAIN / 10).await;
    }
}

/// Sees to it that nothing is left that this node alone keeps for others, if it leaves. Its shards hand it on by themselves.
pub(super) fn hand_on(node: &Rc<Operator>) {
    let own = node.own;
    let leaves = |operation: &&Operation| {
        operation.phase == Phase::ReadNew && operation.hands_on().any(|leaving| leaving == own)
    };
    let id = node.driving.known().running().find(leaves).map(|operation| operation.id);
    let Some(id) = id.filter(|_| !node.driving.is_handing_on.replace(true)) else { return };
    let node = Rc::clone(node);
    let runtime = node.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, async move {
        tracing::info!(operation = id.0, "handing on hints and batches");
        while node.driving.is_in(id, Phase::ReadNew) {
            match query::hand_on(&node.engine).await {
                // A confirmed node that has started again promises no hint either.
                Ok(0) if node.driving.has_copied(id, own) => {}
                Ok(0) => {
                    tracing::info!(operation = id.0, "handed on hints and batches");
                    let answer = ask(&node, &OperationRequest::Copied(id, own)).await;
                    if !matches!(answer, Answer::Applied { .. }) {
                        tracing::debug!(?answer, "not noted as handed on yet; retrying");
                    }
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "cannot tell what is to be handed on; retrying"),
            }
            node.runtime.sleep(AGAIN).await;
        }
        node.driving.is_handing_on.set(false);
    }));
}

/// Drops what this node has of ranges that it has lost, if it is unclean.
pub(super) fn clean(node: &Rc<Operator>) {
    let driving = &node.driving;
    let own = node.own;
    let unclean = node.driving.known().unclean_since(own);
    let Some(last) = unclean.filter(|_| !driving.is_cleaning.get() && !driving.is_receiving.get()) else { return };
    driving.is_cleaning.set(true);
    let node = Rc::clone(node);
    let runtime = node.runtime.clone();
    drop(runtime.spawn(Group::Maintenance, async move {
        match clean_up(&node.engine).await {
            Ok(()) => {
                tracing::info!(end = last.0, "dropped what is left of ranges that this node does not own");
                let answer = ask(&node, &OperationRequest::Cleaned(own, last)).await;
                if !matches!(answer, Answer::Applied { .. }) {
                    tracing::debug!(?answer, "this node is not noted as clean yet; retrying");
                }
            }
            Err(error) => {
                tracing::warn!(%error, "leftovers not dropped; retrying");
                node.runtime.sleep(REST).await;
            }
        }
        // Its own shards may have it a moment later.
        node.runtime.sleep(AGAIN).await;
        node.driving.is_cleaning.set(false);
    }));
}

/// The keyspaces whose data is shared, each with its tables. One without tables is among them if the operation is of it: its registers move with its ranges.
fn keyspaces_to_copy(schema: &Schema, operation: &Operation) -> Vec<KeyspaceToCopy> {
    let shared = schema.keyspaces().values().filter(|keyspace| *keyspace.strategy() != ReplicationStrategy::Local);
    let of = |keyspace: &Rc<schema::Keyspace>| KeyspaceToCopy {
        name: keyspace.name().to_owned(),
        strategy: keyspace.strategy().clone(),
        tables: keyspace.tables.values().map(|table| table.id).collect(),
    };
    shared.map(of).filter(|keyspace| !keyspace.tables.is_empty() || operation.is_of_keyspace(&keyspace.name)).collect()
}

/// Asks for a change of an operation.
async fn ask(node: &Operator, request: &OperationRequest) -> Answer {
    let intention = [&[OPERATION][..], &request.to_bytes()].concat();
    node.driver.propose(node.driver.new_id(), intention).await
}

#[cfg(test)]
mod tests {
    use topology::operations::{Kind, OperationChange, Target};

    use super::*;

    /// Two ALTERs of one keyspace and one of another.
    fn queued() -> Operations {
        let factor = |replication_factor| ReplicationStrategy::Simple { replication_factor };
        let alter = |(number, keyspace): (u64, &str)| {
            let (keyspace, before, after) = (keyspace.to_owned(), factor(number as u32), factor(number as u32 + 1));
            OperationChange::Queue(Rc::new(Operation {
                id: OperationId(number),
                kind: Kind::Replication,
                phase: Phase::Queued,
                target: Target::Replication { keyspace, before, after },
                lost: BTreeSet::new(),
                copied: BTreeSet::new(),
                has_given_tokens: false,
                is_without_copy: false,
                is_forced: false,
            }))
        };
        Operations::default().apply([(1, "one"), (2, "one"), (3, "other")].map(alter))
    }

    #[test]
    fn an_operation_that_is_refused_lets_others_have_their_turn() {
        let (operations, mut refused) = (queued(), BTreeSet::new());
        let [first, other] = [1, 3].map(OperationId);
        assert_eq!(next_to_plan(&operations, &mut refused), Some(first));
        refused.insert(first);
        assert_eq!(next_to_plan(&operations, &mut refused), Some(other), "the second one touches the first one");
        refused.insert(other);
        assert_eq!(next_to_plan(&operations, &mut refused), Some(first), "all were refused");
        assert!(refused.is_empty());
        assert_eq!(next_to_plan(&Operations::default(), &mut refused), None);
    }
}
