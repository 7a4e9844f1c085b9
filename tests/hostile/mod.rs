//! Ten thousand hostile inputs on the socket: the process lives, others are served meanwhile, and memory hardly grows.

mod frames;
mod inputs;
mod refused;
mod statements;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use helenus_tests::{Builder, Connection, Random, Server, pick, resident_bytes, tell_time};
use inputs::{Greeting, Input, Manner};

/// Of each server, all shards'.
const MEMORY: u64 = 512 << 20;
const ATTACKERS: usize = 8;
/// An honest request beside eight attackers on a machine of two cores. It catches a shard that is held, not a busy one.
const HONEST_TIME_AIM: Duration = Duration::from_secs(2);

/// How much memory may grow: by what `docs/internals/server.md` lets requests and replies in flight take, a tenth, by as much again that was
/// freed and that the allocator gives back once a second, by the buffers that each shard keeps for later ones, and by something for the
/// connections.
fn growth_max(shards: u16) -> u64 {
    2 * (MEMORY / 10) + u64::from(shards) * (16 << 20) + (4 << 20)
}

/// How much of that may be left when all inputs are over and what was held has been let go.
const KEPT_MAX: u64 = 64 << 20;

/// Sends one input and behaves as it says. Errors are expected: the server may close at any byte.
fn attack(address: &str, input: &Input) {
    let Ok(mut connection) = Connection::open(address) else { return };
    for frame in input.greeting.frames() {
        if connection.ask(&frame).is_err() {
            return;
        }
    }
    match input.manner {
        Manner::Close => {
            let _ = connection.send(&input.bytes);
        }
        Manner::Answered => {
            let _ = connection.send(&input.bytes);
            connection.finish_sending();
            connection.drain(Duration::from_millis(500));
        }
        Manner::Dribble => {
            for piece in input.bytes.chunks(7).take(40) {
                if connection.send(piece).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Manner::Deaf => {
            // Many requests whose answers nobody reads, until the server stops reading or 100 ms are over.
            connection.set_write_timeout(Duration::from_millis(100));
            for _ in 0..1000 {
                if connection.send(&input.bytes).is_err() {
                    return;
                }
            }
        }
    }
}

/// An honest client's requests while `over` is not set: the slowest answer and how many there were.
fn be_honest(address: &str, over: &AtomicBool) -> (Duration, u64) {
    let mut connection = Connection::start(address).expect("an honest client gets in");
    let (mut slowest, mut count) = (Duration::ZERO, 0);
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        connection.query("SELECT what FROM hostile.t WHERE who = 1").expect("an honest request is answered");
        slowest = slowest.max(began.elapsed());
        count += 1;
        std::thread::sleep(Duration::from_millis(2));
    }
    (slowest, count)
}

/// Memory once the allocator had requests to hand back on what the attackers' were given: it purges as it works.
fn settled_bytes(server: &Server) -> u64 {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| be_honest(&server.address(), &over));
        std::thread::sleep(Duration::from_secs(2));
        over.store(true, Ordering::Relaxed);
    });
    resident_bytes(server.pid())
}

fn prepare(server: &Server) {
    let mut connection = Connection::start(&server.address()).expect("connects");
    for text in [
        "CREATE KEYSPACE hostile WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE hostile.t (who int PRIMARY KEY, what text)",
        "INSERT INTO hostile.t (who, what) VALUES (1, 'honest')",
    ] {
        connection.query(text).expect("is set up");
    }
    // The allocator's own start-up and each kind of connection once, so that growth is not confused with a first touch.
    let mut random = Random::new(0);
    for greeting in Greeting::ALL {
        for _ in 0..20 {
            attack(&server.address(), &Input { greeting, bytes: random.bytes(100), manner: Manner::Answered });
        }
    }
}

#[test]
fn ten_thousand_hostile_inputs_change_nothing_for_others() {
    let count = pick(10_000, 500_000);
    let mut seed = Random::from_environment(42);
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let mut server = Builder::new(reactor, shards).with(&["--memory", "512M"]).start();
        prepare(&server);
        let before = resident_bytes(server.pid());
        let (address, over, peak) =
            (server.address(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(before)));
        let next = AtomicUsize::new(0);
        let seed = seed.next_u64();
        let began = Instant::now();
        let (slowest, answered) = std::thread::scope(|scope| {
            let honest = scope.spawn(|| be_honest(&address, &over));
            let (pid, watched, seen) = (server.pid(), Arc::clone(&over), Arc::clone(&peak));
            scope.spawn(move || {
                while !watched.load(Ordering::Relaxed) {
                    seen.fetch_max(resident_bytes(pid), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let attackers: Vec<_> = (0..ATTACKERS)
                .map(|_| {
                    scope.spawn(|| {
                        loop {
                            let number = next.fetch_add(1, Ordering::Relaxed);
                            if number >= count / 2 {
                                return;
                            }
                            attack(
                                &address,
                                &inputs::input(&mut Random::new(seed.wrapping_add(number as u64)), number),
                            );
                        }
                    })
                })
                .collect();
            for attacker in attackers {
                attacker.join().expect("an attacker does not panic");
            }
            over.store(true, Ordering::Relaxed);
            honest.join().expect("the honest client was served throughout")
        });
        let peak = peak.load(Ordering::Relaxed);
        let after = settled_bytes(&server);
        println!(
            "{reactor}, {shards} shards: {} inputs in {:.1} s; {answered} honest answers, the slowest {slowest:?}; memory {} MiB before, {} at its peak, {} after",
            count / 2,
            began.elapsed().as_secs_f64(),
            before >> 20,
            peak >> 20,
            after >> 20
        );
        assert!(server.is_alive(), "the server is gone");
        tell_time(&format!("the slowest honest request, {reactor}, {shards} shards"), slowest, HONEST_TIME_AIM);
        assert!(peak < before + growth_max(shards), "memory grew from {before} to {peak} at its peak");
        assert!(after < before + KEPT_MAX, "memory grew from {before} to {after} in the end");
        Connection::start(&server.address())
            .and_then(|mut connection| connection.query("SELECT * FROM hostile.t"))
            .expect("still serves");
        server.stop();
    }
}

/// The longest answer to a statement that is beyond measure.
const ANSWER_TIME_AIM: Duration = Duration::from_secs(1);

#[test]
fn statements_beyond_measure_are_refused() {
    for (reactor, shards) in [("uring", 2), ("epoll", 1)] {
        let server = Builder::new(reactor, shards).with(&["--memory", "512M"]).start();
        prepare(&server);
        let mut connection = Connection::start(&server.address()).expect("connects");
        connection.query("CREATE TABLE hostile.numbers (k decimal PRIMARY KEY, v varint)").expect("is set up");
        let before = resident_bytes(server.pid());
        let over = AtomicBool::new(false);
        let peak = AtomicU64::new(before);
        let statements = statements::beyond_measure();
        let (mut wrong, mut slowest) = (Vec::new(), Duration::ZERO);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    peak.fetch_max(resident_bytes(server.pid()), Ordering::Relaxed);
                    std::thread::sleep(Duration::from_millis(2));
                }
            });
            for (kind, text) in &statements {
                for opcode in [0x07, 0x09] {
                    let frame = statement_frame(opcode, text);
                    let began = Instant::now();
                    let answer = connection.ask(&frame);
                    let time = began.elapsed();
                    match answer {
                        Err(error) => wrong.push(format!("{kind}: {error}")),
                        // What is only prepared may be found wrong when it is run.
                        Ok(answer) if answer.opcode != 0 && opcode == 0x07 => {
                            wrong.push(format!("{kind} is not refused"))
                        }
                        Ok(_) => slowest = slowest.max(time),
                    }
                }
            }
            over.store(true, Ordering::Relaxed);
        });
        let (peak, after) = (peak.into_inner(), settled_bytes(&server));
        println!(
            "{reactor}, {shards} shards: memory {} MiB before, {} at its peak, {} after",
            before >> 20,
            peak >> 20,
            after >> 20
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        tell_time(
            &format!("the slowest statement beyond measure, {reactor}, {shards} shards"),
            slowest,
            ANSWER_TIME_AIM,
        );
        assert!(peak < before + growth_max(shards), "memory grew from {before} to {peak} at its peak");
        assert!(after < before + KEPT_MAX, "memory grew from {before} to {after} in the end");
        server.stop();
    }
}

/// QUERY or PREPARE in version 4.
fn statement_frame(opcode: u8, text: &str) -> Vec<u8> {
    let mut body = u32::try_from(text.len()).expect("below 4 GiB").to_be_bytes().to_vec();
    body.extend(text.as_bytes());
    if opcode == 0x07 {
        // Consistency ONE, no flags.
        body.extend([0, 1, 0]);
    }
    let mut frame = vec![4, 0, 0, 1, opcode];
    frame.extend(u32::try_from(body.len()).expect("below 4 GiB").to_be_bytes());
    frame.extend(body);
    frame
}
