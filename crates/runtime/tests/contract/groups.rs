//! Scheduling groups and the stall detector.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, ReactorKind, Runtime};

use crate::{on_every_reactor, run_one};

on_every_reactor!(
    groups_share_the_core_by_their_shares,
    a_request_waits_little_for_background_work,
    a_group_alone_has_the_whole_core,
    long_polls_are_counted_and_short_ones_are_not,
);

/// Works in polls as long as the budget allows, until told to stop. Gives the time it worked.
async fn work(rt: Runtime, stop: Rc<Cell<bool>>) -> Duration {
    let mut total = Duration::ZERO;
    while !stop.get() {
        let start = rt.now();
        while !rt.should_yield() {
            std::hint::spin_loop();
        }
        total += rt.now() - start;
        rt.yield_now().await;
    }
    total
}

fn groups_share_the_core_by_their_shares(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let stop = Rc::new(Cell::new(false));
        let query = rt.spawn(Group::Query, work(rt.clone(), stop.clone()));
        let compaction = rt.spawn(Group::Compaction, work(rt.clone(), stop.clone()));
        rt.sleep(Duration::from_millis(300)).await;
        stop.set(true);
        let ratio = query.await.as_secs_f64() / compaction.await.as_secs_f64();
        assert!((3.0..8.0).contains(&ratio), "shares of 1000 and 200 gave {ratio:.2}");
    });
}

fn a_request_waits_little_for_background_work(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let stop = Rc::new(Cell::new(false));
        for group in [Group::Flush, Group::Compaction, Group::Maintenance] {
            for _ in 0..3 {
                rt.spawn(group, work(rt.clone(), stop.clone()));
            }
        }
        // Waiting for a moment stands for a request that comes then.
        let mut waits = Vec::new();
        for _ in 0..200 {
            let deadline = rt.now() + Duration::from_micros(300);
            rt.sleep_until(deadline).await;
            waits.push(rt.now() - deadline);
        }
        stop.set(true);
        waits.sort();
        assert!(waits[100] < Duration::from_micros(400), "half of all waited over {:?}", waits[100]);
    });
}

fn a_group_alone_has_the_whole_core(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let stop = Rc::new(Cell::new(false));
        let maintenance = rt.spawn(Group::Maintenance, work(rt.clone(), stop.clone()));
        let start = rt.now();
        rt.sleep(Duration::from_millis(100)).await;
        stop.set(true);
        let worked = maintenance.await;
        let elapsed = rt.now() - start;
        assert!(worked > elapsed / 2, "{worked:?} of {elapsed:?}");
    });
}

fn long_polls_are_counted_and_short_ones_are_not(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let before = rt.stats();
        for _ in 0..1_000 {
            rt.yield_now().await;
        }
        assert_eq!(rt.stats().stalls_over_5ms, before.stalls_over_5ms);

        // Work that holds the core, measured by its own processor time so that a busy machine does not shorten it.
        for (millis, over_1ms, over_5ms) in [(3, 1, 0), (40, 2, 1)] {
            let start = rt.now();
            let mut spins = 0u64;
            while rt.now() - start < Duration::from_millis(millis) {
                spins += 1;
            }
            assert!(spins > 0);
            rt.yield_now().await;
            let stats = rt.stats();
            assert!(stats.stalls_over_1ms - before.stalls_over_1ms <= over_1ms);
            assert!(stats.stalls_over_5ms - before.stalls_over_5ms <= over_5ms);
        }
        let stats = rt.stats();
        assert!(stats.stalls_over_1ms > before.stalls_over_1ms, "{stats:?}");
        assert!(stats.longest_poll > Duration::from_millis(1));
    });
}
