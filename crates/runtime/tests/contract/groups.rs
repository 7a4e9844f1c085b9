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

/// On a machine that others use too, a shard is charged for times in which it did not run: one good spell of several is enough.
fn a_good_spell<T: std::fmt::Debug + Send>(
    kind: ReactorKind,
    is_good: impl Fn(&T) -> bool,
    spell: impl AsyncFn(Runtime) -> T + Send + Sync,
) {
    const SPELLS: usize = 20;
    let mut others = Vec::new();
    for _ in 0..SPELLS {
        let measured = run_one(kind, |rt| spell(rt));
        if is_good(&measured) {
            return;
        }
        others.push(measured);
    }
    panic!("no spell was good: {others:.2?}");
}

fn groups_share_the_core_by_their_shares(kind: ReactorKind) {
    let is_five_times = |ratio: &f64| (4.0..6.0).contains(ratio);
    a_good_spell(kind, is_five_times, async |rt| {
        let stop = Rc::new(Cell::new(false));
        let query = rt.spawn(Group::Query, work(rt.clone(), stop.clone()));
        let compaction = rt.spawn(Group::Compaction, work(rt.clone(), stop.clone()));
        rt.sleep(Duration::from_millis(100)).await;
        stop.set(true);
        query.await.as_secs_f64() / compaction.await.as_secs_f64()
    });
}

fn a_request_waits_little_for_background_work(kind: ReactorKind) {
    // One background poll, and what the machine adds: the quarter that it disturbed least is looked at.
    let is_short = |wait: &Duration| *wait < Duration::from_micros(250);
    a_good_spell(kind, is_short, async |rt| {
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
        waits[50]
    });
}

fn a_group_alone_has_the_whole_core(kind: ReactorKind) {
    let is_most = |(worked, elapsed): &(Duration, Duration)| *worked > *elapsed / 2;
    a_good_spell(kind, is_most, async |rt| {
        let stop = Rc::new(Cell::new(false));
        let maintenance = rt.spawn(Group::Maintenance, work(rt.clone(), stop.clone()));
        let start = rt.now();
        rt.sleep(Duration::from_millis(100)).await;
        stop.set(true);
        (maintenance.await, rt.now() - start)
    });
}

fn long_polls_are_counted_and_short_ones_are_not(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        for _ in 0..1_000 {
            rt.yield_now().await;
        }
        // The machine may have taken the core away for that long, but not in most polls.
        let before = rt.stats();
        assert!(before.stalls_over_5ms < 10, "{before:?}");
        // How much of the time a poll has the core is up to the machine: longer and longer polls until one counts.
        for millis in [7, 20, 60, 200, 600, 2_000] {
            let start = rt.now();
            while rt.now() - start < Duration::from_millis(millis) {}
            rt.yield_now().await;
            if rt.stats().stalls_over_5ms > before.stalls_over_5ms {
                break;
            }
        }
        let stats = rt.stats();
        assert!(stats.stalls_over_5ms == before.stalls_over_5ms + 1 && stats.stalls_over_1ms >= 1, "{stats:?}");
        assert!(stats.longest_poll > Duration::from_millis(5), "{stats:?}");
    });
}
