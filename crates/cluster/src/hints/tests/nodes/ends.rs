//! Ends that do not wait for who does not answer: of a write at ANY, and of the node.

use runtime::sim::{DiskSpeed, Link};

use super::*;

/// A part of what a silent replica has to answer in.
const SOON: Duration = Duration::from_secs(1);
const HOUR: u64 = 3_600_000_000_000;
const STUCK: DiskSpeed = DiskSpeed { latency_min_nanos: HOUR, latency_max_nanos: HOUR };

fn cut() -> Link {
    Link { is_cut: true, ..Link::default() }
}

/// Flags that the test and the client wait for.
#[derive(Clone, Default)]
struct Steps {
    is_up: Rc<Cell<bool>>,
    may_go_on: Rc<Cell<bool>>,
    is_done: Rc<Cell<bool>>,
}

#[test]
fn a_write_at_any_waits_for_no_silent_replica_where_another_has_a_hint() {
    for seed in 0..3 {
        let options = options(2);
        let (mut nodes, steps) = (Nodes::new(seed), Steps::default());
        nodes.start(1, &options);
        let of_client = steps.clone();
        nodes.work(&options, move |client| async move {
            client.until(|client| client.coordinator.is_up(host_id(1)) && client.figures().bytes_max > 0).await;
            of_client.is_up.set(true);
            client.until(|_| of_client.may_go_on.get()).await;
            let began = client.runtime.now();
            client.write(&client.key_of_all([1, 2]), ConsistencyLevel::Any).await.expect("a hint is enough");
            assert!(client.coordinator.is_up(host_id(1)), "it is taken to be alive");
            assert!(client.runtime.now() - began < SOON, "nothing waits for its answer");
            of_client.is_done.set(true);
        });
        nodes.until("the second node is up", || steps.is_up.get());
        nodes.world.set_link(nodes.machines[0], nodes.machines[1], cut());
        steps.may_go_on.set(true);
        nodes.until("it is answered", || steps.is_done.get());
    }
}

#[test]
fn a_write_at_any_ends_though_the_disk_of_hints_hangs() {
    let options = options(1);
    let (mut nodes, steps) = (Nodes::new(1), Steps::default());
    let of_client = steps.clone();
    nodes.work(&options, move |client| async move {
        client.until(|client| client.figures().bytes_max > 0).await;
        of_client.is_up.set(true);
        client.until(|_| of_client.may_go_on.get()).await;
        let failure = client.write(&client.key_of(1), ConsistencyLevel::Any).await.expect_err("nothing has it");
        assert_eq!((failure, client.figures().created), (Failure::Timeout { received: 0 }, 1));
        let hints = client.coordinator.hints().expect("there is a folder");
        assert!(!hints.end(SOON).await, "the end of the node does not wait either");
        of_client.is_done.set(true);
    });
    nodes.until("the node is there", || steps.is_up.get());
    nodes.world.set_disk_speed(nodes.machines[0], STUCK);
    steps.may_go_on.set(true);
    nodes.until("it is answered", || steps.is_done.get());
}

#[test]
fn what_is_not_answered_when_the_node_ends_is_hinted() {
    for seed in 0..3 {
        let options = options(3);
        let (mut nodes, steps) = (Nodes::new(seed), Steps::default());
        nodes.start(1, &options);
        nodes.start(2, &options);
        let (of_client, hints_kept) = (steps.clone(), Rc::new(Cell::new(0)));
        let kept = Rc::clone(&hints_kept);
        nodes.work(&options, move |client| async move {
            client.until(|client| [1, 2].iter().all(|node| client.coordinator.is_up(host_id(*node)))).await;
            of_client.is_up.set(true);
            client.until(|_| of_client.may_go_on.get()).await;
            client.write(b"last", ConsistencyLevel::One).await.expect("two answer");
            let hints = client.coordinator.hints().expect("there is a folder");
            assert_eq!(hints.figures().created, 0, "the third may still answer");
            assert!(hints.end(AT_MOST).await);
            // One of the two that answer may not have done so either.
            kept.set(hints.figures().created);
            assert!((1..=2).contains(&kept.get()), "{kept:?}");
            of_client.is_done.set(true);
        });
        nodes.until("all are up", || steps.is_up.get());
        nodes.world.set_link(nodes.machines[0], nodes.machines[2], cut());
        steps.may_go_on.set(true);
        nodes.until("the node ends", || steps.is_done.get());
        nodes.world.crash(nodes.machines[0], Keep::Nothing);
        nodes.world.set_link(nodes.machines[0], nodes.machines[2], Link::default());
        // The link may give what it held up: so the hint is counted.
        let is_delivered = Rc::new(Cell::new(false));
        let (delivered, kept) = (Rc::clone(&is_delivered), hints_kept);
        nodes.work(&Options { boot: 2, ..options }, move |client| async move {
            client.until(|client| client.figures().delivered == kept.get()).await;
            delivered.set(true);
        });
        nodes.until("it is delivered", || is_delivered.get());
        assert!(nodes.shown[2].borrow().contains(&b"last"[..]), "seed {seed}");
    }
}
