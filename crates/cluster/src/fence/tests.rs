//! The numbers of a fence, without any node.

use schema::{Column, ColumnId, ColumnKind, KeyspaceDef, SchemaChange, Table, TableOptions};
use topology::ReplicationStrategy;

use super::*;

const ONE: TableId = TableId([1; 16]);
const OTHER: TableId = TableId([2; 16]);

fn keyspace(replication_factor: u32) -> SchemaChange {
    let strategy = ReplicationStrategy::Simple { replication_factor };
    SchemaChange::PutKeyspace(KeyspaceDef {
        name: "ks".into(),
        replication: [("replication_factor".to_owned(), replication_factor.to_string())].into(),
        strategy,
        durable_writes: true,
        tenure: 0,
    })
}

fn table(id: TableId, columns: u16) -> SchemaChange {
    let key = Column::new(ColumnKind::PartitionKey, ColumnId(0), "k", cql_types::CqlType::Blob);
    let others = (1..=columns).map(|number| {
        Column::new(ColumnKind::Regular, ColumnId(number), format!("v{number}"), cql_types::CqlType::Blob)
    });
    let columns = std::iter::once(key).chain(others).collect();
    SchemaChange::PutTable(Box::new(Table::new(id, "ks", format!("t{}", id.0[0]), columns, TableOptions::default())))
}

fn drop_table(id: TableId) -> SchemaChange {
    SchemaChange::DropTable { keyspace: "ks".into(), name: format!("t{}", id.0[0]), id }
}

/// A plan by the ring of an epoch, with one replica.
fn placed(ring: u64) -> Placed<'static> {
    Placed { ring: Epoch(ring), strategy: &ReplicationStrategy::Simple { replication_factor: 1 } }
}

struct World {
    fence: Fence,
    schema: Schema,
}

impl World {
    /// Two tables, at epoch 10, with a ring of that epoch.
    fn new() -> World {
        World::begun_at(10)
    }

    /// The same of a start at that epoch: all numbers are as late as it.
    fn begun_at(epoch: u64) -> World {
        let schema = Schema::empty().with_all(&[keyspace(1), table(ONE, 1), table(OTHER, 1)]);
        let fence = Fence::open(HostId([1; 16]), Planted::NONE);
        fence.begin(Epoch(epoch), Epoch(epoch), &schema, Box::new(|_, epoch| Box::pin(std::future::ready(epoch))));
        World { fence, schema }
    }

    fn change(&mut self, epoch: u64, changes: &[SchemaChange]) {
        let after = self.schema.with_all(changes);
        self.fence.schema_changed(Epoch(epoch), &self.schema, &after);
        self.fence.reached(Epoch(epoch));
        self.schema = after;
    }

    fn judge(&self, table: TableId, moment: u64, ring: u64) -> Plan {
        self.fence.judge(table, Epoch(moment), placed(ring), false)
    }

    fn check(&self, epoch: u64, tables: &[TableId]) -> Result<(), u64> {
        self.fence.check(Epoch(epoch), tables.iter().copied()).map_err(|epoch| epoch.0)
    }
}

#[test]
fn a_copy_is_planned_at_what_is_applied_so_that_a_source_that_has_just_started_accepts_it() {
    let (receiver, source) = (World::new(), World::begun_at(13));
    receiver.fence.reached(Epoch(14));
    let planned = receiver.fence.copy_planned_at(ONE).expect("the table is there");
    assert_eq!((planned, source.check(10, &[ONE])), (Epoch(14), Err(13)));
    assert_eq!(source.check(planned.0, &[ONE]), Ok(()));
    assert_eq!(receiver.fence.copy_planned_at(STATE_TABLE), Some(Epoch(14)));
    assert_eq!(receiver.fence.copy_planned_at(TableId([9; 16])), None);
}

#[test]
fn a_plan_rests_on_the_last_change_of_its_ring_and_its_table_alone() {
    let mut world = World::new();
    world.change(12, &[table(OTHER, 2)]);
    world.fence.reached(Epoch(20));
    assert_eq!(world.judge(ONE, 20, 10), Plan::Stands(Epoch(10)));
    assert_eq!(world.judge(OTHER, 20, 10), Plan::Stands(Epoch(12)));
    assert_eq!(world.judge(OTHER, 11, 10), Plan::Outdated(Epoch(12)));
    assert_eq!((world.check(10, &[ONE]), world.check(10, &[ONE, OTHER])), (Ok(()), Err(12)));
    assert_eq!(world.check(12, &[ONE, OTHER]), Ok(()));
}

#[test]
fn a_keyspace_that_is_placed_otherwise_is_a_change_of_its_tables() {
    let mut world = World::new();
    world.change(11, &[keyspace(2)]);
    assert_eq!(world.judge(ONE, 10, 10), Plan::Outdated(Epoch(11)));
    assert_eq!(world.judge(ONE, 11, 10), Plan::Outdated(Epoch(11)), "planned before, whenever its moment was taken");
    let strategy = world.fence.keyspace_of(ONE).map(|keyspace| keyspace.strategy().clone());
    assert_eq!(strategy, Some(ReplicationStrategy::Simple { replication_factor: 2 }));
}

#[test]
fn a_table_that_is_gone_serves_no_plan_and_one_under_its_id_is_another() {
    let mut world = World::new();
    world.change(11, &[drop_table(ONE)]);
    assert_eq!(world.judge(ONE, 11, 10), Plan::Gone);
    assert_eq!(world.check(10, &[ONE]), Err(11), "whoever asks finds out what became of it");
    world.change(12, &[table(ONE, 1)]);
    assert_eq!(world.judge(ONE, 11, 10), Plan::Gone, "a plan of before means the other one");
    assert_eq!(world.judge(ONE, 12, 10), Plan::Stands(Epoch(12)));
    assert_eq!(world.judge(OTHER, 10, 10), Plan::Stands(Epoch(10)));
}

#[test]
fn what_was_made_of_truncated_rows_is_dropped_and_a_clients_write_is_planned_again() {
    let world = World::new();
    world.fence.truncating(Epoch(11), ONE);
    assert_eq!(world.judge(ONE, 10, 10), Plan::Outdated(Epoch(11)));
    assert_eq!(world.fence.judge(ONE, Epoch(10), placed(10), true), Plan::Truncated);
    assert_eq!(world.fence.judge(OTHER, Epoch(10), placed(10), true), Plan::Stands(Epoch(10)));
    let is_truncated = |table, moment| world.fence.is_truncated_since(table, Epoch(moment));
    assert_eq!([is_truncated(ONE, 10), is_truncated(ONE, 11), is_truncated(OTHER, 10)], [true, false, false]);
    assert_eq!(world.check(10, &[ONE]), Err(11), "from its beginning on");
    assert!(!world.fence.has_applied(Epoch(11)), "what rests on it waits for its end");
}

#[test]
fn a_change_of_the_ring_outdates_plans_of_the_ring_before() {
    let world = World::new();
    world.fence.ring_changed(Epoch(13));
    assert_eq!(world.judge(ONE, 13, 10), Plan::Outdated(Epoch(13)));
    assert_eq!(world.judge(ONE, 10, 13), Plan::Stands(Epoch(13)), "the ring of now, and a table as it was");
    assert!(world.fence.is_placed_otherwise(Epoch(12)) && !world.fence.is_placed_otherwise(Epoch(13)));
    assert_eq!(world.check(12, &[ONE]), Err(13));
}

#[test]
fn a_state_that_was_taken_over_may_have_changed_anything() {
    let world = World::new();
    world.fence.replaced(Epoch(30), Epoch(30));
    world.fence.reached(Epoch(30));
    assert_eq!(world.judge(ONE, 29, 30), Plan::Outdated(Epoch(30)));
    let derived = world.fence.judge(ONE, Epoch(29), placed(30), true);
    assert_eq!(derived, Plan::Outdated(Epoch(30)), "its truncations are known: nothing derived is dropped");
    assert_eq!(world.check(29, &[OTHER]), Err(30));
}

#[test]
fn what_a_replica_answered_with_is_satisfied_by_the_next_plan() {
    let world = World::new();
    // It has just started, and knows its numbers roughly.
    let caught_up = {
        let mut future = std::pin::pin!(world.fence.catch_up_after(None, Epoch(17)));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        future.as_mut().poll(&mut context)
    };
    assert_eq!(caught_up, std::task::Poll::Ready(true));
    assert_eq!(world.judge(ONE, 17, 10), Plan::Stands(Epoch(17)));
    assert_eq!(world.check(10, &[ONE]), Ok(()), "others are refused by own numbers alone");
}

/// A node that named an epoch and does not answer keeps no epoch of another node waiting.
#[test]
fn an_epoch_that_is_not_reached_stands_in_the_way_of_no_other() {
    let (near, far) = (HostId([1; 16]), HostId([2; 16]));
    type Calls = RefCell<Vec<(Option<HostId>, u64)>>;
    let calls: Rc<Calls> = Rc::default();
    let called = Rc::clone(&calls);
    let schema = Schema::empty();
    let fence = Fence::open(near, Planted::NONE);
    let catch_up: CatchUp = Box::new(move |of, epoch| {
        called.borrow_mut().push((of, epoch.0));
        match of == Some(far) {
            true => Box::pin(std::future::pending()),
            false => Box::pin(std::future::ready(epoch)),
        }
    });
    fence.begin(Epoch(10), Epoch(10), &schema, catch_up);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(fence.catch_up(Some(far), Epoch(30)))).collect();
    assert!(waiting.iter_mut().all(|wait| wait.as_mut().poll(&mut context).is_pending()));
    assert_eq!(*calls.borrow(), [(Some(far), 30)], "one call is enough for all");
    let mut other = std::pin::pin!(fence.catch_up(Some(near), Epoch(20)));
    assert_eq!(other.as_mut().poll(&mut context), std::task::Poll::Ready(true));
    // The caller gives up; the next one calls.
    drop(waiting.remove(0));
    assert!(waiting[0].as_mut().poll(&mut context).is_pending());
    assert_eq!(calls.borrow().len(), 3);
    fence.reached(Epoch(30));
    let others = &mut waiting[1..];
    assert!(others.iter_mut().all(|wait| wait.as_mut().poll(&mut context) == std::task::Poll::Ready(true)));
}

#[test]
fn an_open_fence_stops_nothing() {
    let fence = Fence::open(HostId([1; 16]), Planted::NONE);
    let schema = Schema::empty().with_all(&[keyspace(1), table(ONE, 1)]);
    fence.schema_changed(Epoch(3), &Schema::empty(), &schema);
    fence.truncating(Epoch(4), ONE);
    fence.ring_changed(Epoch(5));
    fence.reached(Epoch(5));
    assert_eq!(fence.judge(ONE, NO_EPOCH, placed(0), true), Plan::Stands(NO_EPOCH));
    assert_eq!(fence.check(NO_EPOCH, std::iter::once(ONE)), Ok(()));
    assert!(!fence.is_placed_otherwise(NO_EPOCH) && fence.has_applied(NO_EPOCH));
    assert_eq!(fence.moment(), NO_EPOCH);
}
