//! SIGTERM and SIGINT reach shard 0 as values, on every reactor, and nothing else of the process. A program of its own,
//! because the usual harness has a thread that does not block them.

use std::process::Command;
use std::time::Duration;

use runtime::{Options, ReactorKind, Runtime, Signal};

async fn wait_for(rt: Runtime) -> Vec<Signal> {
    if rt.shard().0 > 0 {
        return Vec::new();
    }
    let early = rt.timeout(Duration::from_millis(5), rt.termination()).await;
    assert!(early.is_err(), "nothing was signalled yet");
    let mut signals = Vec::new();
    for name in ["-TERM", "-INT", "-TERM"] {
        let sent = Command::new("kill").args([name, &std::process::id().to_string()]).status();
        assert!(sent.expect("kill can be run").success());
        signals.push(rt.timeout(Duration::from_secs(10), rt.termination()).await.expect("the signal is reported"));
    }
    signals
}

fn main() {
    for reactor in [ReactorKind::Uring, ReactorKind::Epoll] {
        let options = Options { reactor: Some(reactor), handle_signals: true, ..Options::default() };
        match runtime::run(options, vec![wait_for, wait_for]) {
            Ok(signals) => {
                assert_eq!(signals[0], [Signal::Terminate, Signal::Interrupt, Signal::Terminate], "{reactor:?}");
            }
            Err(error) if reactor == ReactorKind::Uring => println!("not run: {error}"),
            Err(error) => panic!("{error}"),
        }
    }
    println!("test signals ... ok");
}
