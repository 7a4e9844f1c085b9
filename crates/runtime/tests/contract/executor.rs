//! Tasks, their handles and their wakers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use runtime::sync::{Notify, Queue, Semaphore, oneshot};
use runtime::{Group, Options, ReactorKind, Runtime, ShardId};

use crate::{on_every_reactor, run_one};

on_every_reactor!(
    gives_results_in_the_shards_order,
    tasks_run_and_give_their_output,
    tasks_of_a_group_run_in_the_order_they_were_woken,
    an_aborted_task_drops_its_future,
    tasks_end_with_their_shard,
    a_yield_lets_others_run,
    tasks_meet_through_sync,
    spawns_by_the_thousand,
    stats_count,
    a_panic_comes_out,
);

fn gives_results_in_the_shards_order(kind: ReactorKind) {
    let main = |factor: u16| move |rt: Runtime| async move { (rt.shard(), rt.shard_count() * factor) };
    let options = Options { reactor: Some(kind), ..Options::default() };
    let results = runtime::run(options, vec![main(1), main(10), main(100)]).expect("the shards start");
    assert_eq!(results, [(ShardId(0), 3), (ShardId(1), 30), (ShardId(2), 300)]);
}

fn tasks_run_and_give_their_output(kind: ReactorKind) {
    let borrowed = String::from("a main may borrow");
    let sum = run_one(kind, |rt| {
        let borrowed = &borrowed;
        async move {
            let handles: Vec<_> = (0..100u64).map(|n| rt.spawn(Group::Query, async move { n })).collect();
            let mut sum = borrowed.len() as u64;
            for handle in handles {
                sum += handle.await;
            }
            sum
        }
    });
    assert_eq!(sum, 4950 + borrowed.len() as u64);
}

fn tasks_of_a_group_run_in_the_order_they_were_woken(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let order = Rc::new(RefCell::new(Vec::new()));
        let spawn = |n: usize| {
            let order = order.clone();
            rt.spawn(Group::Query, async move { order.borrow_mut().push(n) })
        };
        let handles: Vec<_> = (0..10).map(spawn).collect();
        for handle in handles {
            handle.await;
        }
        assert_eq!(*order.borrow(), (0..10).collect::<Vec<_>>());
    });
}

struct SetOnDrop(Rc<Cell<bool>>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

fn an_aborted_task_drops_its_future(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let dropped = Rc::new(Cell::new(false));
        let guard = SetOnDrop(dropped.clone());
        let handle = rt.spawn(Group::Query, async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        rt.yield_now().await;
        assert!(!dropped.get() && !handle.is_finished());
        handle.abort();
        assert!(dropped.get());
        assert_eq!(rt.stats().tasks, 0);

        // A task that ends itself through its own handle ends after its poll.
        let own = Rc::new(RefCell::new(None));
        let (inside, dropped) = (own.clone(), Rc::new(Cell::new(false)));
        let guard = SetOnDrop(dropped.clone());
        let handle = rt.spawn(Group::Query, async move {
            let _guard = guard;
            let handle: Option<runtime::TaskHandle<()>> = inside.borrow_mut().take();
            handle.expect("put before the first poll").abort();
            std::future::pending::<()>().await;
        });
        *own.borrow_mut() = Some(handle);
        rt.yield_now().await;
        rt.yield_now().await;
        assert!(dropped.get());
        assert_eq!(rt.stats().tasks, 0);
    });
}

fn tasks_end_with_their_shard(kind: ReactorKind) {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    struct Counted(Arc<AtomicU32>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let drops = Arc::new(AtomicU32::new(0));
    let counted = drops.clone();
    run_one(kind, |rt| async move {
        for _ in 0..10 {
            let (guard, inner) = (Counted(counted.clone()), rt.clone());
            rt.spawn(Group::Maintenance, async move {
                let _guard = guard;
                inner.sleep(std::time::Duration::from_secs(3600)).await;
            });
        }
        rt.yield_now().await;
    });
    assert_eq!(drops.load(Ordering::Relaxed), 10);
}

fn a_yield_lets_others_run(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let turns = Rc::new(Cell::new(0));
        let (counted, inner) = (turns.clone(), rt.clone());
        let other = rt.spawn(Group::Query, async move {
            for _ in 0..10 {
                counted.set(counted.get() + 1);
                inner.yield_now().await;
            }
        });
        for expected in 0..5 {
            assert!((expected..=expected + 1).contains(&turns.get()));
            rt.yield_now().await;
        }
        other.await;
        assert!(!rt.should_yield() || turns.get() == 10);
    });
}

fn tasks_meet_through_sync(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let queue = Queue::new(3);
        let (items, inner) = (queue.clone(), rt.clone());
        let producer = rt.spawn(Group::Query, async move {
            for n in 0..1000u32 {
                items.push(n).await.expect("the queue is open");
                if n % 7 == 0 {
                    inner.yield_now().await;
                }
            }
            items.close();
        });
        let mut expected = 0;
        while let Ok(n) = queue.pop().await {
            assert_eq!(n, expected);
            expected += 1;
        }
        assert_eq!(expected, 1000);
        producer.await;

        let (semaphore, running) = (Semaphore::new(2), Rc::new(Cell::new(0)));
        let worker = |_| {
            let (semaphore, running, rt) = (semaphore.clone(), running.clone(), rt.clone());
            async move {
                let _permit = semaphore.acquire().await;
                running.set(running.get() + 1);
                assert!(running.get() <= 2);
                rt.yield_now().await;
                running.set(running.get() - 1);
            }
        };
        let workers: Vec<_> = (0..20).map(|n| rt.spawn(Group::Query, worker(n))).collect();
        for worker in workers {
            worker.await;
        }

        let (notify, (sender, receiver)) = (Notify::new(), oneshot());
        let notified = notify.clone();
        rt.spawn(Group::Query, async move {
            notified.notified().await;
            sender.send(5).expect("it is awaited");
        });
        notify.notify();
        assert_eq!(receiver.await, Ok(5));
    });
}

fn spawns_by_the_thousand(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        for _ in 0..20 {
            let handles: Vec<_> = (0..1000).map(|n| rt.spawn(Group::Query, async move { n })).collect();
            assert_eq!(rt.stats().tasks, 1000);
            for (n, handle) in handles.into_iter().enumerate() {
                assert_eq!(handle.await, n);
            }
            assert_eq!(rt.stats().tasks, 0);
        }
    });
}

fn stats_count(kind: ReactorKind) {
    run_one(kind, |rt| async move {
        let before = rt.stats();
        for _ in 0..10 {
            rt.yield_now().await;
        }
        let after = rt.stats();
        assert!(after.polls >= before.polls + 10);
        assert!(after.turns > 0 && after.tasks == 0);
        let name = match kind {
            ReactorKind::Uring => "uring",
            ReactorKind::Epoll => "epoll+aio",
            ReactorKind::EpollWorkers => "epoll",
            ReactorKind::Sim { .. } => "sim",
        };
        assert_eq!(rt.reactor_name(), name);
        assert_ne!(rt.random_u64(), rt.random_u64());
        assert!(rt.wall_clock_micros() > 1_700_000_000_000_000 && rt.now() >= rt.poll_start());
    });
}

fn a_panic_comes_out(kind: ReactorKind) {
    let result = std::panic::catch_unwind(|| {
        run_one(kind, |rt| async move {
            rt.spawn(Group::Query, async { panic!("on purpose") }).await;
        });
    });
    assert!(result.is_err());
}

#[test]
fn wakers_stay_on_their_thread() {
    let waker = run_one(ReactorKind::Epoll, |_| std::future::poll_fn(|cx| std::task::Poll::Ready(cx.waker().clone())));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| waker.wake_by_ref()));
    assert!(result.is_err(), "a waker that left its thread must not be used");
    std::mem::forget(waker);
}

#[test]
fn what_cannot_start_says_why() {
    let options = Options { cpus: vec![0], ..Options::default() };
    let main = |_: Runtime| async {};
    let error = runtime::run(options, vec![main, main]).expect_err("it cannot");
    assert_eq!(error.to_string(), "1 processors given for 2 shards");
    let options = Options { cpus: vec![100_000], ..Options::default() };
    let error = runtime::run(options, vec![|_: Runtime| async {}]).expect_err("it cannot");
    assert!(error.to_string().starts_with("cannot start the thread of shard 0"), "{error}");
}
