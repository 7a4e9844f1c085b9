//! SIGKILL in the middle of a load, twenty times over: what was acknowledged is there after the restart.
//!
//! Every round runs on another reactor and shard count, so that the replay also deals the log out anew. A kill keeps what the kernel
//! has; it does not prove that a sync reached the disk: the power cuts in `tests/power/` do.

pub mod load;
mod mixed;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helenus_tests::{Builder, Random, Server, configurations, pick};

use self::load::{Promises, check, connect, create, write};

const TASKS: i32 = 100;
const KEYS_PER_TASK: i32 = 500;

/// One round: everything promised is there, then a load that is cut by a kill. Returns the new promises.
async fn round(server: Server, promises: Vec<Promises>, number: usize, load: Duration) -> Vec<Promises> {
    let session = connect(&server).await;
    if number == 0 {
        create(&session).await;
    }
    let all: Promises = promises.iter().flatten().map(|(key, promise)| (*key, *promise)).collect();
    check(&session, &all, number).await;
    let over = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = (0..)
        .zip(promises)
        .map(|(task, promises)| {
            tokio::spawn(write(Arc::clone(&session), promises, task * KEYS_PER_TASK, KEYS_PER_TASK, Arc::clone(&over)))
        })
        .collect();
    tokio::time::sleep(load).await;
    server.kill();
    over.store(true, Ordering::Relaxed);
    let mut kept = Vec::new();
    for task in tasks {
        kept.push(task.await.expect("a task does not panic"));
    }
    kept
}

#[test]
fn what_was_acknowledged_survives_twenty_kills() {
    let kills = pick(20, 200);
    let mut random = Random::from_environment(1);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("tokio starts");
    let folder = Builder::new("uring", 1);
    let mut promises = vec![Promises::new(); TASKS as usize];
    for number in 0..kills {
        let (reactor, shards) = *random.choose(&configurations());
        let server = folder.clone().dealt_to(reactor, shards).start();
        println!("kill {number}: {reactor}, {shards} shards, ready after {} ms", server.ready_after.as_millis());
        let load = Duration::from_millis(100 + random.below(500) as u64);
        promises = runtime.block_on(round(server, promises, number, load));
    }
    let server = folder.start();
    runtime.block_on(async {
        let session = connect(&server).await;
        let all: Promises = promises.into_iter().flatten().collect();
        let acknowledged: i64 = all.values().map(|promise| promise.acknowledged).sum();
        check(&session, &all, kills).await;
        println!("{} keys, {acknowledged} acknowledged writes, all there", all.len());
        assert!(acknowledged > 1000, "the load was too small to prove anything");
    });
    server.stop();
}
