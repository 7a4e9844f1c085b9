//! Calls between shards.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Mutex;
use std::time::Duration;

use runtime::{Group, Mesh, MeshSeat, Options, ReactorKind, Responder, Runtime, ShardGone, ShardId, mesh};

use crate::{IDLE_POLL, on_every_reactor};

on_every_reactor!(
    calls_are_answered_on_every_shard,
    calls_arrive_in_order,
    credits_bound_the_calls_under_way,
    replies_may_come_late_and_in_any_order,
    a_dropped_call_gives_its_credit_back,
    a_dropped_responder_answers_that_the_shard_is_gone,
    calls_to_an_ended_shard_fail,
    calls_under_way_fail_when_their_shard_ends,
    a_reply_goes_to_a_closure,
    a_closure_is_told_that_its_shard_has_ended,
    a_sleeping_shard_is_woken,
    four_shards_under_stress,
);

/// Runs one shard per seat of a mesh.
fn run_mesh<Req, Rep, T, Fut>(
    kind: ReactorKind,
    shards: u16,
    credits: usize,
    main: impl Fn(Runtime, MeshSeat<Req, Rep>) -> Fut + Sync,
) -> Vec<T>
where
    Req: Send + 'static,
    Rep: Send + 'static,
    T: Send,
    Fut: Future<Output = T>,
{
    let main = &main;
    let start = |seat: MeshSeat<Req, Rep>| move |rt: Runtime| main(rt, seat);
    let mains = mesh(shards, credits).into_iter().map(start).collect();
    runtime::run(Options { reactor: Some(kind), idle_poll: IDLE_POLL, ..Options::default() }, mains)
        .expect("the shards start")
}

/// Every shard keeps serving until all have said that they are done.
struct Gate {
    left: Mutex<u16>,
}

impl Gate {
    fn new(shards: u16) -> Self {
        Gate { left: Mutex::new(shards) }
    }

    async fn pass(&self, rt: &Runtime) {
        *self.left.lock().expect("nobody panicked") -= 1;
        let deadline = rt.now() + Duration::from_secs(60);
        while *self.left.lock().expect("nobody panicked") > 0 {
            assert!(rt.now() < deadline, "another shard has failed");
            rt.sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Polls the future once and drops it. Whether it was done.
async fn poll_once(future: impl Future) -> bool {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

fn calls_are_answered_on_every_shard(kind: ReactorKind) {
    let gate = Gate::new(3);
    run_mesh(kind, 3, 4, |rt, seat: MeshSeat<String, String>| {
        let gate = &gate;
        async move {
            let own = rt.shard().0;
            let handler = move |from: ShardId, request: String, responder: Responder<String>| {
                responder.reply(format!("{request} from {} at {own}", from.0));
            };
            let mesh = seat.open(&rt, handler);
            for to in 0..3 {
                let reply = mesh.call(ShardId(to), format!("call {to}")).await;
                assert_eq!(reply, Ok(format!("call {to} from {own} at {to}")));
            }
            gate.pass(&rt).await;
        }
    });
}

fn calls_arrive_in_order(kind: ReactorKind) {
    const CREDITS: usize = 64;
    const ROUNDS: u32 = 300;
    let gate = Gate::new(2);
    let arrived = run_mesh(kind, 2, CREDITS, |rt, seat: MeshSeat<u32, ()>| {
        let gate = &gate;
        async move {
            let seen = Rc::new(RefCell::new(Vec::new()));
            let inside = seen.clone();
            let mesh = seat.open(&rt, move |_, request, responder| {
                inside.borrow_mut().push(request);
                responder.reply(());
            });
            if rt.shard().0 == 0 {
                for round in 0..ROUNDS {
                    // One task sends as many as there are credits, then waits for all their replies.
                    for n in 0..CREDITS as u32 {
                        assert!(!poll_once(mesh.call(ShardId(1), round * CREDITS as u32 + n)).await);
                    }
                    while mesh.credits(ShardId(1)) < CREDITS {
                        rt.yield_now().await;
                    }
                }
            }
            gate.pass(&rt).await;
            seen.take()
        }
    });
    let in_order = arrived[1].iter().enumerate().all(|(place, n)| place == *n as usize);
    assert!(in_order && arrived[1].len() == CREDITS * ROUNDS as usize);
}

fn credits_bound_the_calls_under_way(kind: ReactorKind) {
    const CREDITS: usize = 8;
    let gate = Gate::new(2);
    let most = run_mesh(kind, 2, CREDITS, |rt, seat: MeshSeat<u32, u32>| {
        let gate = &gate;
        async move {
            let (under_way, most) = (Rc::new(Cell::new(0usize)), Rc::new(Cell::new(0usize)));
            let (inner, inner_most, inner_rt) = (under_way.clone(), most.clone(), rt.clone());
            let mesh = seat.open(&rt, move |_, request, responder| {
                inner.set(inner.get() + 1);
                inner_most.set(inner_most.get().max(inner.get()));
                let (under_way, rt) = (inner.clone(), inner_rt.clone());
                inner_rt.spawn(Group::Query, async move {
                    rt.sleep(Duration::from_micros(100)).await;
                    under_way.set(under_way.get() - 1);
                    responder.reply(request * 2);
                });
            });
            if rt.shard().0 == 0 {
                let call = |n| {
                    let mesh = mesh.clone();
                    async move { assert_eq!(mesh.call(ShardId(1), n).await, Ok(n * 2)) }
                };
                let calls: Vec<_> = (0..500).map(|n| rt.spawn(Group::Query, call(n))).collect();
                for call in calls {
                    call.await;
                }
                assert_eq!(mesh.credits(ShardId(1)), CREDITS);
            }
            gate.pass(&rt).await;
            most.get()
        }
    });
    assert!((2..=CREDITS).contains(&most[1]), "{} calls were under way", most[1]);
}

fn replies_may_come_late_and_in_any_order(kind: ReactorKind) {
    let gate = Gate::new(2);
    run_mesh(kind, 2, 16, |rt, seat: MeshSeat<u32, u32>| {
        let gate = &gate;
        async move {
            let kept = Rc::new(RefCell::new(Vec::new()));
            let inner = kept.clone();
            let mesh = seat.open(&rt, move |_, request, responder: Responder<u32>| {
                let mut kept = inner.borrow_mut();
                kept.push((request, responder));
                if kept.len() == 16 {
                    for (request, responder) in kept.drain(..).rev() {
                        responder.reply(request + 1);
                    }
                }
            });
            if rt.shard().0 == 0 {
                let call = |n| {
                    let mesh = mesh.clone();
                    async move { assert_eq!(mesh.call(ShardId(1), n).await, Ok(n + 1)) }
                };
                let calls: Vec<_> = (0..160).map(|n| rt.spawn(Group::Query, call(n))).collect();
                for call in calls {
                    call.await;
                }
            }
            gate.pass(&rt).await;
        }
    });
}

fn a_dropped_call_gives_its_credit_back(kind: ReactorKind) {
    let gate = Gate::new(2);
    run_mesh(kind, 2, 2, |rt, seat: MeshSeat<u64, u64>| {
        let gate = &gate;
        async move {
            let inner = rt.clone();
            let mesh = seat.open(&rt, move |_, micros, responder| {
                let rt = inner.clone();
                inner.spawn(Group::Query, async move {
                    rt.sleep(Duration::from_micros(micros)).await;
                    responder.reply(micros);
                });
            });
            if rt.shard().0 == 0 {
                for _ in 0..50 {
                    assert!(!poll_once(mesh.call(ShardId(1), 2_000)).await);
                }
                assert_eq!(mesh.call(ShardId(1), 1).await, Ok(1));
                while mesh.credits(ShardId(1)) < 2 {
                    rt.sleep(Duration::from_millis(1)).await;
                }
            }
            gate.pass(&rt).await;
        }
    });
}

fn a_dropped_responder_answers_that_the_shard_is_gone(kind: ReactorKind) {
    let gate = Gate::new(2);
    run_mesh(kind, 2, 2, |rt, seat: MeshSeat<(), ()>| {
        let gate = &gate;
        async move {
            let mesh = seat.open(&rt, |_, (), responder| drop(responder));
            for shard in [ShardId(0), ShardId(1)] {
                assert_eq!(mesh.call(shard, ()).await, Err(ShardGone { shard }));
            }
            gate.pass(&rt).await;
        }
    });
}

fn calls_to_an_ended_shard_fail(kind: ReactorKind) {
    run_mesh(kind, 2, 4, |rt, seat: MeshSeat<(), ()>| async move {
        if rt.shard().0 == 1 {
            // It does not even take its seat.
            return;
        }
        let mesh = seat.open(&rt, |_, (), responder| responder.reply(()));
        let calls: Vec<_> = (0..10).map(|_| rt.spawn(Group::Query, call(mesh.clone()))).collect();
        for call in calls {
            assert_eq!(call.await, Err(ShardGone { shard: ShardId(1) }));
        }
        assert_eq!(call(mesh.clone()).await, Err(ShardGone { shard: ShardId(1) }));
        assert_eq!(mesh.call(ShardId(0), ()).await, Ok(()));
    });
}

async fn call(mesh: Mesh<(), ()>) -> Result<(), ShardGone> {
    mesh.call(ShardId(1), ()).await
}

fn calls_under_way_fail_when_their_shard_ends(kind: ReactorKind) {
    let outcomes = run_mesh(kind, 2, 4, |rt, seat: MeshSeat<(), ()>| async move {
        let kept: Rc<RefCell<Vec<Responder<()>>>> = Rc::default();
        let inner = kept.clone();
        let mesh = seat.open(&rt, move |_, (), responder| inner.borrow_mut().push(responder));
        if rt.shard().0 == 1 {
            while kept.borrow().len() < 4 {
                rt.sleep(Duration::from_millis(1)).await;
            }
            return 0;
        }
        let calls: Vec<_> = (0..10).map(|_| rt.spawn(Group::Query, call(mesh.clone()))).collect();
        let mut failed = 0;
        for call in calls {
            failed += usize::from(call.await.is_err());
        }
        failed
    });
    assert_eq!(outcomes, [10, 0]);
}

fn a_sleeping_shard_is_woken(kind: ReactorKind) {
    let gate = Gate::new(2);
    let wakes = run_mesh(kind, 2, 4, |rt, seat: MeshSeat<u32, u32>| {
        let gate = &gate;
        async move {
            let mesh = seat.open(&rt, |_, request, responder| responder.reply(request));
            if rt.shard().0 == 0 {
                for n in 0..2_000 {
                    if n % 100 == 0 {
                        rt.sleep(Duration::from_millis(1)).await;
                    }
                    assert_eq!(rt.timeout(Duration::from_secs(60), mesh.call(ShardId(1), n)).await, Ok(Ok(n)));
                }
            }
            gate.pass(&rt).await;
            rt.stats().mesh_wakes
        }
    });
    assert!(wakes[0] > 0, "the other shard had nothing else to do");
}

fn four_shards_under_stress(kind: ReactorKind) {
    const CALLS: u64 = 3_000;
    let gate = Gate::new(4);
    let served = run_mesh(kind, 4, 32, |rt, seat: MeshSeat<Vec<u64>, u64>| {
        let gate = &gate;
        async move {
            let served = Rc::new(Cell::new(0u64));
            let (inner, inner_rt) = (served.clone(), rt.clone());
            let mesh = seat.open(&rt, move |_, request: Vec<u64>, responder| {
                inner.set(inner.get() + 1);
                if request[0].is_multiple_of(5) {
                    let rt = inner_rt.clone();
                    inner_rt.spawn(Group::Query, async move {
                        rt.yield_now().await;
                        responder.reply(request.iter().sum());
                    });
                } else {
                    responder.reply(request.iter().sum());
                }
            });
            let caller = |to: u16| {
                let mesh = mesh.clone();
                async move {
                    for n in 0..CALLS {
                        let request = vec![n, n + 1, n + 2];
                        if n % 17 == 0 {
                            poll_once(mesh.call(ShardId(to), request)).await;
                        } else {
                            assert_eq!(mesh.call(ShardId(to), request).await, Ok(3 * n + 3));
                        }
                    }
                }
            };
            let spawn = |n: u16| rt.spawn(Group::Query, caller(n % 4));
            let callers: Vec<_> = (0..16).map(spawn).collect();
            for caller in callers {
                caller.await;
            }
            gate.pass(&rt).await;
            served.get()
        }
    });
    assert!(served.into_iter().sum::<u64>() >= 64 * CALLS * 16 / 17 - 64);
}

fn a_reply_goes_to_a_closure(kind: ReactorKind) {
    const CREDITS: usize = 4;
    let gate = Gate::new(2);
    run_mesh(kind, 2, CREDITS, |rt, seat: MeshSeat<u32, u32>| {
        let gate = &gate;
        async move {
            let mesh = seat.open(&rt, |_, request, responder| responder.reply(request * 2));
            if rt.shard().0 == 0 {
                let replies = Rc::new(RefCell::new(Vec::new()));
                let call = |n| {
                    let replies = replies.clone();
                    mesh.try_call(ShardId(1), n, move |reply| replies.borrow_mut().push(reply))
                };
                for n in 0..CREDITS as u32 {
                    assert_eq!(call(n), Ok(()));
                }
                assert_eq!(call(9), Err(9), "there are no more credits");
                while mesh.credits(ShardId(1)) < CREDITS {
                    rt.yield_now().await;
                }
                assert_eq!(*replies.borrow(), [Ok(0), Ok(2), Ok(4), Ok(6)]);
            }
            gate.pass(&rt).await;
        }
    });
}

fn a_closure_is_told_that_its_shard_has_ended(kind: ReactorKind) {
    let outcomes = run_mesh(kind, 2, 4, |rt, seat: MeshSeat<(), ()>| async move {
        if rt.shard().0 == 1 {
            // The responder is kept, never used: the call is under way when the shard ends.
            let arrived = Rc::new(Cell::new(None));
            let keep = arrived.clone();
            let _mesh = seat.open(&rt, move |_, (), responder| keep.set(Some(responder)));
            loop {
                let responder = arrived.take();
                if responder.is_some() {
                    arrived.set(responder);
                    return None;
                }
                rt.sleep(Duration::from_millis(1)).await;
            }
        }
        let mesh = seat.open(&rt, |_, (), responder: Responder<()>| responder.reply(()));
        let told = Rc::new(Cell::new(None));
        let tell = told.clone();
        assert_eq!(mesh.try_call(ShardId(1), (), move |reply| tell.set(Some(reply))), Ok(()));
        while told.get().is_none() {
            rt.sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(mesh.try_call(ShardId(1), (), |_| panic!("the shard is gone")), Err(()));
        told.get()
    });
    assert_eq!(outcomes[0], Some(Err(ShardGone { shard: ShardId(1) })));
}
