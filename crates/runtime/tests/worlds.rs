//! Worlds of several machines: what a power cut leaves, what a network does, and that equal seeds are equal runs.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use runtime::sim::{DiskError, DiskFault, Ended, HostId, Keep, Link, World, WorldOptions};
use runtime::{AlignedBuf, Group, OpenOptions, Runtime, Signal};

const SERVER: &str = "10.0.0.1:7000";
const LONG: Duration = Duration::from_secs(3600);

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

async fn echo(rt: Runtime) {
    let listener = rt.listen(address(SERVER)).await.expect("the address is this machine's");
    while let Ok((socket, _)) = listener.accept().await {
        let stream = rt.adopt(socket);
        rt.spawn(Group::Query, async move {
            loop {
                let (count, bytes) = stream.read(Vec::with_capacity(4096)).await;
                if count.unwrap_or(0) == 0 || stream.write_all(bytes).await.0.is_err() {
                    return;
                }
            }
        });
    }
}

async fn ask(rt: Runtime, rounds: u32) -> Result<u32, std::io::ErrorKind> {
    let stream = rt.connect(address(SERVER)).await.map_err(|error| error.kind())?;
    for round in 0..rounds {
        stream.write_all(round.to_be_bytes().to_vec()).await.0.map_err(|error| error.kind())?;
        let mut answer = Vec::with_capacity(4);
        while answer.len() < 4 {
            let (count, back) = stream.read(answer).await;
            answer = back;
            if count.map_err(|error| error.kind())? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof);
            }
        }
        assert_eq!(answer, round.to_be_bytes());
    }
    Ok(rounds)
}

fn two_machines(seed: u64) -> (World<'static>, HostId, HostId) {
    let mut world = World::new(WorldOptions::new(seed));
    let server = world.add_host(&[ip("10.0.0.1")]);
    let client = world.add_host(&[ip("10.0.0.2")]);
    (world, server, client)
}

fn conversation(seed: u64) -> (u64, Duration) {
    let (mut world, server, client) = two_machines(seed);
    world.start(server, false, vec![echo]);
    let asking = world.start(client, false, (0..4).map(|_| |rt| ask(rt, 50)).collect());
    let start = world.now();
    assert_eq!(world.run_until(|_| asking.is_over(), LONG), Ended::Condition);
    assert_eq!(asking.take_outputs(), Some(vec![Ok(50); 4]));
    (world.trace_hash(), world.now() - start)
}

#[test]
fn equal_seeds_are_equal_runs() {
    let runs: Vec<_> = (0..20).map(conversation).collect();
    assert_eq!(runs, (0..20).map(conversation).collect::<Vec<_>>());
    let hashes: std::collections::BTreeSet<u64> = runs.iter().map(|(hash, _)| *hash).collect();
    assert_eq!(hashes.len(), 20, "other seeds are other runs");
}

#[test]
fn a_cut_delays_and_then_ends_connections() {
    let (mut world, server, client) = two_machines(1);
    world.start(server, false, vec![echo]);
    let asking = world.start(client, false, vec![|rt| ask(rt, 1000)]);
    world.run_for(Duration::from_millis(20));
    let cut = Link { is_cut: true, ..Link::default() };
    world.set_link(server, client, cut);
    world.run_for(Duration::from_secs(30));
    assert!(!asking.is_over(), "it waits");
    world.set_link(server, client, Link::default());
    assert_eq!(world.run_until(|_| asking.is_over(), LONG), Ended::Condition);
    assert_eq!(asking.take_outputs(), Some(vec![Ok(1000)]));

    let asking = world.start(client, false, vec![|rt| ask(rt, 1000)]);
    world.run_for(Duration::from_millis(20));
    world.set_link(client, server, cut);
    world.run_until(|_| asking.is_over(), LONG);
    assert_eq!(asking.take_outputs(), Some(vec![Err(std::io::ErrorKind::TimedOut)]));
}

/// Reads until the other side has said all, and tells what it said.
async fn hear(rt: Runtime) -> Vec<u8> {
    let listener = rt.listen(address(SERVER)).await.expect("the address is this machine's");
    let (socket, _) = listener.accept().await.expect("somebody comes");
    let stream = rt.adopt(socket);
    let mut heard = Vec::new();
    loop {
        let (count, bytes) = stream.read(Vec::with_capacity(16)).await;
        if count.expect("the connection holds") == 0 {
            return heard;
        }
        heard.extend_from_slice(&bytes);
    }
}

/// Says a byte each 20 µs, far more often than bytes need to arrive.
async fn count_to(rt: Runtime, last: u8) {
    let stream = rt.connect(address(SERVER)).await.expect("somebody listens");
    for byte in 0..last {
        stream.write_all(vec![byte]).await.0.expect("the connection holds");
        rt.sleep(Duration::from_micros(20)).await;
    }
}

#[test]
fn what_a_cut_held_stays_ahead_of_what_was_sent_behind_it() {
    for seed in 0..20 {
        let (mut world, server, client) = two_machines(seed);
        let hearing = world.start(server, false, vec![hear]);
        world.start(client, false, vec![|rt| count_to(rt, 200)]);
        for is_cut in [false, true, false, true, false, true, false] {
            world.set_link(client, server, Link { is_cut, ..Link::default() });
            world.run_for(Duration::from_micros(500));
        }
        world.run_until(|_| hearing.is_over(), LONG);
        assert_eq!(hearing.take_outputs(), Some(vec![(0..200).collect::<Vec<u8>>()]), "seed {seed}");
    }
}

#[test]
fn a_crash_resets_and_a_restart_answers() {
    let (mut world, server, client) = two_machines(2);
    world.start(server, false, vec![echo]);
    let asking = world.start(client, false, vec![|rt| ask(rt, 1_000_000)]);
    world.run_for(Duration::from_millis(20));
    world.crash(server, Keep::Nothing);
    assert!(!world.is_running(server));
    world.run_until(|_| asking.is_over(), LONG);
    assert_eq!(asking.take_outputs(), Some(vec![Err(std::io::ErrorKind::ConnectionReset)]));
    let refused = world.start(client, false, vec![|rt| ask(rt, 1)]);
    world.run_until(|_| refused.is_over(), LONG);
    assert_eq!(refused.take_outputs(), Some(vec![Err(std::io::ErrorKind::ConnectionRefused)]));
    world.start(server, false, vec![echo]);
    world.run_for(Duration::from_millis(1));
    let asking = world.start(client, false, vec![|rt| ask(rt, 10)]);
    world.run_until(|_| asking.is_over(), LONG);
    assert_eq!(asking.take_outputs(), Some(vec![Ok(10)]));
}

const NEW: OpenOptions = OpenOptions {
    read: true,
    write: true,
    create: true,
    create_new: false,
    truncate: false,
    direct: false,
    dsync: false,
    is_private: false,
};

/// Writes two files, of which one is synced with its name, and one has only its bytes synced.
async fn write_two(rt: Runtime) {
    rt.create_dir_all(Path::new("/data")).await.expect("it is made");
    rt.sync_dir(Path::new("/")).await.expect("it is synced");
    for (name, is_name_synced) in [("/data/whole", true), ("/data/nameless", false)] {
        let file = rt.open(Path::new(name), NEW).await.expect("it is made");
        file.write_at(AlignedBuf::from(&b"text"[..]), 0).await.0.expect("it is written");
        file.sync_data().await.expect("it is synced");
        if is_name_synced {
            rt.sync_dir(Path::new("/data")).await.expect("it is synced");
        }
    }
    std::future::pending().await
}

async fn list(rt: Runtime) -> Vec<(String, u64)> {
    let entries = rt.read_dir(Path::new("/data")).await.expect("it is there");
    entries.into_iter().map(|entry| (entry.name, entry.len)).collect()
}

fn after(end: impl FnOnce(&mut World<'static>, HostId)) -> Vec<(String, u64)> {
    let (mut world, host, _) = two_machines(3);
    world.start(host, false, vec![write_two]);
    assert_eq!(world.run_until(|_| false, LONG), Ended::Idle);
    end(&mut world, host);
    let listing = world.start(host, false, vec![list]);
    world.run_until(|_| listing.is_over(), LONG);
    listing.take_outputs().expect("it ended").remove(0)
}

#[test]
fn a_kill_keeps_what_a_power_cut_loses() {
    let whole = ("whole".to_owned(), 4);
    let after_kill = after(|world, host| world.kill(host));
    assert_eq!(after_kill, [("nameless".to_owned(), 4), whole.clone()]);
    assert_eq!(after(|world, host| world.crash(host, Keep::Nothing)), vec![whole]);
}

#[test]
fn each_disk_call_can_be_made_to_fail() {
    let calls = {
        let (mut world, host, _) = two_machines(4);
        world.start(host, false, vec![write_two]);
        world.run_until(|_| false, LONG);
        world.disk_calls(host)
    };
    assert_eq!(calls, 9);
    for number in 0..calls {
        let (mut world, host, _) = two_machines(4);
        world.set_disk_faults(host, vec![DiskFault::at(number, DiskError::Medium)]);
        world.start(host, false, vec![write_two]);
        let run = std::panic::AssertUnwindSafe(|| world.run_until(|_| false, LONG));
        let message = std::panic::catch_unwind(run).expect_err("the process said expect");
        let message = message.downcast::<String>().expect("a message");
        assert!(message.contains("Input/output error"), "call {number}: {message}");
    }
}

#[test]
fn a_signal_reaches_who_waits_for_it_later() {
    let (mut world, host, _) = two_machines(5);
    let main = |rt: Runtime| async move {
        rt.sleep(Duration::from_secs(1)).await;
        rt.termination().await
    };
    let busy = world.start(host, true, vec![main]);
    world.run_for(Duration::from_millis(1));
    world.terminate(host);
    world.run_until(|_| busy.is_over(), LONG);
    assert_eq!(busy.take_outputs(), Some(vec![Signal::Terminate]));
}

#[test]
fn a_signal_reaches_who_waits_for_it() {
    let (mut world, host, _) = two_machines(5);
    let main = |rt: Runtime| async move { rt.termination().await };
    let waiting = world.start(host, true, vec![main]);
    world.run_for(Duration::from_millis(1));
    assert!(!waiting.is_over());
    world.terminate(host);
    world.run_until(|_| waiting.is_over(), LONG);
    assert_eq!(waiting.take_outputs(), Some(vec![Signal::Terminate]));
    assert!(!world.is_running(host));
}
