//! What concerns a whole process, on every reactor: SIGTERM and SIGINT reach shard 0 as values, and shards that have
//! ended leave no descriptor and no thread behind. A program of its own, because the usual harness has threads that do
//! not block signals and tests that open files meanwhile.
#![allow(clippy::disallowed_methods)]

use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, MeshSeat, OpenOptions, Options, ReactorKind, Runtime, ShardId, Signal, StartError};

fn options(reactor: ReactorKind) -> Options {
    Options { reactor: Some(reactor), handle_signals: true, ..Options::default() }
}

async fn wait_for_signals(rt: Runtime) -> Vec<Signal> {
    if rt.shard().0 > 0 {
        return Vec::new();
    }
    let early = rt.timeout(Duration::from_millis(5), rt.termination()).await;
    assert!(early.is_err(), "nothing was signalled yet");
    let mut signals = Vec::new();
    for name in ["-TERM", "-INT", "-TERM"] {
        let sent = Command::new("kill").args([name, &std::process::id().to_string()]).status();
        assert!(sent.expect("kill can be run").success());
        signals.push(rt.timeout(Duration::from_secs(60), rt.termination()).await.expect("the signal is reported"));
    }
    signals
}

fn termination_is_reported(reactor: ReactorKind) -> Result<(), StartError> {
    let signals = runtime::run(options(reactor), vec![wait_for_signals, wait_for_signals])?;
    assert_eq!(signals[0], [Signal::Terminate, Signal::Interrupt, Signal::Terminate], "{reactor:?}");
    Ok(())
}

/// Leaves tasks, connections, files and calls behind that refer to each other and to the runtime.
async fn leave_a_mess(rt: Runtime, seat: MeshSeat<u32, u32>) {
    let inner = rt.clone();
    let mesh = Rc::new(seat.open(&rt, move |_, n, responder| {
        inner.spawn(Group::Query, async move { responder.reply(n) });
    }));
    let other = ShardId(1 - rt.shard().0);
    let keep = mesh.clone();
    rt.spawn(Group::Maintenance, async move { while keep.call(other, 1).await.is_ok() {} });
    let listener = rt.listen("127.0.0.1:0".parse().expect("an address")).await.expect("a port");
    let client = rt.connect(listener.local_addr().expect("an address")).await.expect("it connects");
    let (socket, _) = listener.accept().await.expect("it is accepted");
    let server = rt.adopt(socket);
    let file = rt.open("/dev/null".as_ref(), OpenOptions { read: true, ..OpenOptions::default() }).await;
    let inner = rt.clone();
    rt.spawn(Group::Query, async move {
        let _kept = (&inner, &client, file);
        let _ = server.read(Vec::with_capacity(10)).await;
    });
    // The other shard may have ended by now.
    let _ = mesh.call(other, 1).await;
}

fn count(folder: &str) -> usize {
    std::fs::read_dir(folder).expect("it is there").count()
}

fn nothing_is_left_behind(reactor: ReactorKind) -> Result<(), StartError> {
    let start = |seat: MeshSeat<u32, u32>| move |rt: Runtime| leave_a_mess(rt, seat);
    let before = (count("/proc/self/fd"), count("/proc/self/task"));
    for _ in 0..20 {
        runtime::run(options(reactor), runtime::mesh(2, 4).into_iter().map(start).collect())?;
    }
    assert_eq!((count("/proc/self/fd"), count("/proc/self/task")), before, "{reactor:?}");
    Ok(())
}

fn main() {
    for reactor in [ReactorKind::Uring, ReactorKind::Epoll, ReactorKind::EpollWorkers] {
        for test in [termination_is_reported, nothing_is_left_behind] {
            match test(reactor) {
                Ok(()) => {}
                Err(error) if reactor == ReactorKind::Uring => println!("not run: {error}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    println!("test process ... ok");
}
