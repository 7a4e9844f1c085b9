//! A hint that its target does not take, however often it is sent, and others that wait for the same target.

use super::*;

#[test]
fn a_hint_that_is_never_taken_stops_no_others() {
    for seed in 0..3 {
        let options = options(3);
        let (mut nodes, is_first_done, is_second_done) =
            (Nodes::new(seed), Rc::new(Cell::new(false)), Rc::new(Cell::new(false)));
        let (is_killed, bytes) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(u64::MAX)));
        nodes.start(1, &options);
        let (first, second) = (writes(0..5, &is_first_done), writes(5..8, &is_second_done));
        let (killed, left) = (Rc::clone(&is_killed), Rc::clone(&bytes));
        nodes.work(&options, move |client| async move {
            client.until(|client| client.coordinator.is_up(host_id(1))).await;
            let refused = vec![client.planned_in(OTHER, b"refused")];
            client.coordinator.write_batch(refused, ConsistencyLevel::One).await.expect("two are alive");
            first(client.clone()).await;
            client.until(|_| killed.get()).await;
            second(client.clone()).await;
            loop {
                left.set(client.figures().bytes);
                client.runtime.sleep(PAUSE).await;
            }
        });
        nodes.until("the first are written", || is_first_done.get());
        // It lacks the table of the first hint.
        nodes.start(2, &Options { has_other: false, ..options.clone() });
        let has_first = nodes.has(2, keys(0..5));
        nodes.until("what follows the refused hint is delivered", has_first);
        nodes.world.kill(nodes.machines[2]);
        nodes.world.run_for(Duration::from_secs(30));
        is_killed.set(true);
        nodes.until("the second are written", || is_second_done.get());
        nodes.start(2, &Options { boot: 2, has_other: false, ..options.clone() });
        let has_second = nodes.has(2, keys(0..8));
        nodes.until("what is kept after it is delivered", has_second);
        assert!(bytes.get() > 0, "seed {seed}: the refused hint waits");
        nodes.world.kill(nodes.machines[2]);
        nodes.world.run_for(Duration::from_secs(30));
        nodes.start(2, &Options { boot: 3, ..options });
        nodes.until("the hint is taken at last", || bytes.get() == 0);
    }
}
