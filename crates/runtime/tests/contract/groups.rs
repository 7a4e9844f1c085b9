//! Scheduling groups and the stall detector.
//!
//! A kernel charges a shard for times in which it did not run. What depends on how long polls took is therefore proven in virtual time, on the
//! simulated reactor, whose shards are driven by the same loop; on the others, polls are counted.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, ReactorKind, Runtime};

use crate::{is_simulated, on_every_reactor, run_one};

on_every_reactor!(
    groups_share_the_core_by_their_shares,
    a_request_waits_for_no_background_poll_that_begins_after_it,
    a_group_alone_has_the_whole_core,
    long_polls_are_counted_and_short_ones_are_not,
);

/// Work in polls as long as the budget allows, until it is stopped.
#[derive(Clone, Default)]
struct Background {
    stop: Rc<Cell<bool>>,
    polls: Rc<Cell<u64>>,
    /// Polls that began when a request was due.
    late_polls: Rc<Cell<u64>>,
    /// From when on polls are late.
    due: Rc<Cell<Option<runtime::Instant>>>,
}

impl Background {
    /// Waits until it has done so many polls. Gives how often it looked.
    async fn come_to(&self, rt: &Runtime, polls: u64) -> u64 {
        let (deadline, mut looks) = (rt.now() + Duration::from_secs(60), 0);
        while self.polls.get() < polls {
            assert!(rt.now() < deadline, "{} of {polls} polls", self.polls.get());
            rt.sleep(Duration::from_millis(1)).await;
            looks += 1;
        }
        looks
    }

    /// Gives the time it worked.
    async fn work(self, rt: Runtime) -> Duration {
        let mut total = Duration::ZERO;
        while !self.stop.get() {
            self.polls.set(self.polls.get() + 1);
            if self.due.get().is_some_and(|due| rt.poll_start() >= due) {
                self.late_polls.set(self.late_polls.get() + 1);
            }
            while !rt.should_yield() {
                std::hint::spin_loop();
            }
            total += rt.now() - rt.poll_start();
            rt.yield_now().await;
        }
        total
    }
}

fn groups_share_the_core_by_their_shares(kind: ReactorKind) {
    // That a turn has one poll of the background's favours queries beyond their shares.
    let query_to_compaction = worked(kind, [Group::Query, Group::Compaction]);
    let flush_to_compaction = worked(kind, [Group::Flush, Group::Compaction]);
    let compaction_to_maintenance = worked(kind, [Group::Compaction, Group::Maintenance]);
    let ratios = [query_to_compaction, flush_to_compaction, compaction_to_maintenance];
    // On the others, that all come to their polls.
    let is_about = |ratio: f64, of_shares: f64| !is_simulated(kind) || (ratio / of_shares - 1.0).abs() < 0.05;
    assert!(ratios.into_iter().zip([5.0, 2.0, 2.0]).all(|(ratio, shares)| is_about(ratio, shares)), "{ratios:.2?}");
}

/// How many times as long the first works as the second, which does a hundred polls at least.
fn worked(kind: ReactorKind, groups: [Group; 2]) -> f64 {
    let times = run_one(kind, |rt| async move {
        let [one, other] = groups.map(|group| {
            let work = Background::default();
            (work.clone(), rt.spawn(group, work.work(rt.clone())))
        });
        for (work, _) in [&one, &other] {
            work.come_to(&rt, 100).await;
        }
        for (work, _) in [&one, &other] {
            work.stop.set(true);
        }
        [one.1.await, other.1.await]
    });
    times[0].as_secs_f64() / times[1].as_secs_f64()
}

fn a_request_waits_for_no_background_poll_that_begins_after_it(kind: ReactorKind) {
    const REQUESTS: usize = 200;
    let mut waits = run_one(kind, |rt| async move {
        let work = Background::default();
        for group in [Group::Flush, Group::Compaction, Group::Maintenance] {
            for _ in 0..3 {
                rt.spawn(group, work.clone().work(rt.clone()));
            }
        }
        // Waiting for a moment stands for a request that comes then.
        let mut waits = Vec::new();
        for _ in 0..REQUESTS {
            let due = rt.now() + Duration::from_micros(300);
            work.due.set(Some(due));
            work.late_polls.set(0);
            rt.sleep_until(due).await;
            waits.push((work.late_polls.get(), rt.now() - due));
        }
        work.stop.set(true);
        waits
    });
    waits.sort_unstable();
    // A request's own poll from which the kernel took the core is charged with that time, so that others are due after it: that can be so of
    // few of them, which last a microsecond.
    let looked_at = if is_simulated(kind) { REQUESTS } else { REQUESTS / 2 };
    assert!(waits[..looked_at].iter().all(|(polls, _)| *polls == 0), "{waits:?}");
    // The poll that ran when it came, and what the world adds to a poll.
    let is_short = |wait: Duration| wait < Duration::from_micros(250);
    assert!(!is_simulated(kind) || waits.iter().all(|(_, wait)| is_short(*wait)), "{waits:?}");
}

fn a_group_alone_has_the_whole_core(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let work = Background::default();
        let maintenance = rt.spawn(Group::Maintenance, work.clone().work(rt.clone()));
        rt.yield_now().await;
        let (start, before, polls) = (rt.now(), rt.stats(), work.polls.get());
        let looks = work.come_to(&rt, polls + 1000).await;
        let (elapsed, after, polls) = (rt.now() - start, rt.stats(), work.polls.get() - polls);
        work.stop.set(true);
        let worked = maintenance.await;
        assert_eq!(after.sleeps, before.sleeps, "there was always something to do");
        // Each turn has a poll of it, unless a look took as long as a turn may.
        assert!(after.turns - before.turns <= polls + looks + 1, "{before:?} {after:?} {polls} {looks}");
        assert!(!is_simulated(kind) || worked > elapsed * 9 / 10, "{worked:?} of {elapsed:?}");
    });
}

fn long_polls_are_counted_and_short_ones_are_not(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        for _ in 0..1_000 {
            rt.yield_now().await;
        }
        let before = rt.stats();
        // On a kernel's reactor the lengths of polls are unknown.
        if is_simulated(kind) {
            assert_eq!((before.stalls_over_1ms, before.stalls_over_5ms), (0, 0), "{before:?}");
            assert!(before.longest_poll < Duration::from_millis(1), "{before:?}");
        }
        // A poll is judged by the processor time that it used, of which half a millisecond may be missed.
        while rt.stats().cpu - before.cpu < Duration::from_millis(7) {}
        rt.yield_now().await;
        let stats = rt.stats();
        let new = (stats.stalls_over_1ms - before.stalls_over_1ms, stats.stalls_over_5ms - before.stalls_over_5ms);
        assert!(new.0 >= new.1 && new.1 >= 1, "{before:?} {stats:?}");
        assert!(!is_simulated(kind) || new == (1, 1), "{before:?} {stats:?}");
        assert!(stats.longest_poll > Duration::from_millis(6), "{stats:?}");
    });
}
