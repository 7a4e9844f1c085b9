//! Work that shards put on a bench, and threads beside them do.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use runtime::sync::Queue;
use runtime::{Choice, Companion, Options, ReactorKind, Runtime, ShardId, WorkbenchSeat, Worker, workbench};

super::on_every_reactor!(; kernel:
    results_go_to_the_shard_that_asked,
    a_worker_waits_until_the_moment_that_the_bench_names,
    workers_end_when_the_last_shard_has,
);

/// A test that waits longer hangs.
const HANGS: Duration = Duration::from_secs(60);

/// Numbers that wait, with who asked, and how often a worker was to wait for a moment before the first.
#[derive(Default)]
struct Bench {
    numbers: VecDeque<(ShardId, u64)>,
    rests: u64,
}

type Seat = WorkbenchSeat<Bench, u64>;

/// Squares numbers until all shards have ended.
fn square_all(worker: &Worker<Bench, u64>) {
    while let Some((shard, number)) = worker.take(|bench: &mut Bench, now| {
        if bench.rests > 0 && !bench.numbers.is_empty() {
            bench.rests -= 1;
            return Choice::WaitUntil(now + Duration::from_millis(1));
        }
        bench.numbers.pop_front().map_or(Choice::Wait, Choice::Take)
    }) {
        worker.finish(|_, _| vec![(shard, number * number)]);
    }
}

/// Each shard has the squares of some numbers of its own; the threads have ended when this returns.
fn run(kind: ReactorKind, shards: u16, threads: usize, rests: u64) -> Vec<u64> {
    let bench = Bench { rests, ..Bench::default() };
    let (worker, seats) = workbench::<Bench, u64>(shards, bench, 64);
    let main = |seat: Seat| {
        move |rt: Runtime| async move {
            let results = Rc::new(Queue::new(64));
            let inbox = results.clone();
            let bench = seat.open(&rt, move |square| inbox.try_push(square).expect("there is room"));
            let (shard, first) = (rt.shard(), u64::from(rt.shard().0) * 100);
            for number in first..first + 10 {
                bench.with(|bench| bench.numbers.push_back((shard, number)));
            }
            let mut sum = 0;
            for _ in 0..10 {
                sum += rt.timeout(HANGS, results.pop()).await.expect("a worker works").expect("the queue is open");
            }
            sum
        }
    };
    let mains = seats.into_iter().map(main).collect();
    let (told, ended) = mpsc::channel();
    let companion = |_| {
        let (worker, told) = (worker.clone(), told.clone());
        let body = Box::new(move || {
            square_all(&worker);
            let _ = told.send(());
        });
        Companion { name: "worker", is_background: true, body }
    };
    let companions = (0..threads).map(companion).collect();
    let options = Options { reactor: Some(kind), ..Options::default() };
    let sums = runtime::run_beside(options, mains, companions).expect("the shards start");
    assert_eq!(ended.try_iter().count(), threads, "each worker has come to its end");
    sums
}

fn sum_of_squares(first: u64) -> u64 {
    (first..first + 10).map(|number| number * number).sum()
}

fn results_go_to_the_shard_that_asked(kind: ReactorKind) {
    let sums = run(kind, 3, 2, 0);
    assert_eq!(sums, [sum_of_squares(0), sum_of_squares(100), sum_of_squares(200)]);
}

fn a_worker_waits_until_the_moment_that_the_bench_names(kind: ReactorKind) {
    assert_eq!(run(kind, 1, 1, 5), [sum_of_squares(0)]);
}

fn workers_end_when_the_last_shard_has(kind: ReactorKind) {
    let (worker, seats) = workbench::<Bench, u64>(2, Bench::default(), 64);
    // One shard never takes its seat.
    let mains = seats.into_iter().map(|seat| {
        move |rt: Runtime| async move {
            if rt.shard() == ShardId(0) {
                seat.open(&rt, |_| {});
            }
        }
    });
    let (told, ended) = mpsc::channel();
    let body = Box::new(move || {
        square_all(&worker);
        let _ = told.send(());
    });
    let companion = Companion { name: "worker", is_background: false, body };
    let options = Options { reactor: Some(kind), ..Options::default() };
    runtime::run_beside(options, mains.collect(), vec![companion]).expect("the shards start");
    assert_eq!(ended.try_recv(), Ok(()));
}
