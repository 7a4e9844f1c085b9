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
        while !rt.should_yield() {
            std::hint::spin_loop();
        }
        total += rt.now() - rt.poll_start();
        rt.yield_now().await;
    }
    total
}

fn groups_share_the_core_by_their_shares(kind: ReactorKind) {
    // On a machine that others use too, a shard is charged for times in which it did not run, and the shares even out
    // only over longer times: one good spell of several is enough.
    let mut ratios = Vec::new();
    for _ in 0..20 {
        let ratio = run_one(kind, |rt| async move {
            let stop = Rc::new(Cell::new(false));
            let query = rt.spawn(Group::Query, work(rt.clone(), stop.clone()));
            let compaction = rt.spawn(Group::Compaction, work(rt.clone(), stop.clone()));
            rt.sleep(Duration::from_millis(100)).await;
            stop.set(true);
            query.await.as_secs_f64() / compaction.await.as_secs_f64()
        });
        if (4.0..6.0).contains(&ratio) {
            return;
        }
        ratios.push(ratio);
    }
    panic!("shares of 1000 and 200 gave {ratios:.2?}");
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
        // One background poll, and what the machine adds: the quarter that it disturbed least is looked at.
        assert!(waits[50] < Duration::from_micros(250), "of all, three quarters waited over {:?}", waits[50]);
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
        for _ in 0..1_000 {
            rt.yield_now().await;
        }
        assert_eq!(rt.stats().stalls_over_5ms, 0);
        // How much of the time a poll has the core is up to the machine: longer and longer polls until one counts.
        for millis in [7, 20, 60, 200, 600, 2_000] {
            let start = rt.now();
            while rt.now() - start < Duration::from_millis(millis) {}
            rt.yield_now().await;
            if rt.stats().stalls_over_5ms > 0 {
                break;
            }
        }
        let stats = rt.stats();
        assert!(stats.stalls_over_5ms == 1 && stats.stalls_over_1ms >= 1, "{stats:?}");
        assert!(stats.longest_poll > Duration::from_millis(5), "{stats:?}");
    });
}
