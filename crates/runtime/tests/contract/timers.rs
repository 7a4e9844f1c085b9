//! Time.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Elapsed, Group, ReactorKind};

use crate::{on_every_reactor, run_one};

on_every_reactor!(
    a_sleep_lasts_as_long_as_asked,
    sleeps_end_in_the_order_of_their_deadlines,
    a_timeout_ends_what_it_waits_for,
    an_idle_shard_sleeps_in_the_kernel,
);

fn a_sleep_lasts_as_long_as_asked(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        for micros in [1, 200, 3_000, 20_000] {
            let (start, asked) = (rt.now(), Duration::from_micros(micros));
            rt.sleep(asked).await;
            assert!(rt.now() - start >= asked);
        }
        let start = rt.now();
        rt.sleep_until(start).await;
        rt.sleep(Duration::ZERO).await;
    });
}

fn sleeps_end_in_the_order_of_their_deadlines(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let order = Rc::new(RefCell::new(Vec::new()));
        let start = rt.now() + Duration::from_millis(5);
        let mut handles = Vec::new();
        for n in [7u32, 3, 9, 1, 5, 8, 2, 6, 4, 0] {
            let (order, rt2) = (order.clone(), rt.clone());
            handles.push(rt.spawn(Group::Query, async move {
                rt2.sleep_until(start + Duration::from_millis(u64::from(n))).await;
                order.borrow_mut().push(n);
            }));
        }
        for handle in handles {
            handle.await;
        }
        assert_eq!(*order.borrow(), (0..10).collect::<Vec<_>>());
    });
}

fn a_timeout_ends_what_it_waits_for(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let never = rt.timeout(Duration::from_millis(3), std::future::pending::<()>()).await;
        assert_eq!(never, Err(Elapsed));
        let long = Duration::from_secs(3600);
        assert_eq!(rt.timeout(long, async { 7 }).await, Ok(7));
        let inner = rt.clone();
        let slept = rt.timeout(long, async move { inner.sleep(Duration::from_millis(2)).await }).await;
        assert_eq!(slept, Ok(()));
    });
}

fn an_idle_shard_sleeps_in_the_kernel(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let before = rt.stats();
        rt.sleep(Duration::from_millis(200)).await;
        let after = rt.stats();
        assert!(after.turns - before.turns <= 4, "{} turns in an idle time", after.turns - before.turns);
    });
}
