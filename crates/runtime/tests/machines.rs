//! Changes of a world's machines: paused processes, clocks that are wrong, other disks, links of one direction, and machines by the
//! thousand. All of it follows from the seed.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use runtime::sim::{Disk, Ended, HostId, Keep, Link, Started, World, WorldOptions};
use runtime::{AlignedBuf, Group, OpenOptions, Runtime};

const LONG: Duration = Duration::from_secs(3600);
const PORT: u16 = 7000;

fn address(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + number))
}

fn world_of(seed: u64, machines: u32) -> (World<'static>, Vec<HostId>) {
    let mut world = World::new(WorldOptions::new(seed));
    let hosts = (0..machines).map(|number| world.add_host(&[address(number)])).collect();
    (world, hosts)
}

/// Gives back what comes, on every connection.
async fn echo(rt: Runtime) {
    let listener = rt.listen(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), PORT)).await.expect("the port is free");
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

/// Asks the echo on that machine so many times; `counter` says how often an answer has come.
async fn ask(rt: Runtime, of: IpAddr, rounds: u32, counter: Rc<RefCell<u32>>) -> Result<u32, ErrorKind> {
    let stream = rt.connect(SocketAddr::new(of, PORT)).await.map_err(|error| error.kind())?;
    for round in 0..rounds {
        stream.write_all(round.to_be_bytes().to_vec()).await.0.map_err(|error| error.kind())?;
        let mut answer = Vec::with_capacity(4);
        while answer.len() < 4 {
            let (count, back) = stream.read(answer).await;
            answer = back;
            if count.map_err(|error| error.kind())? == 0 {
                return Err(ErrorKind::UnexpectedEof);
            }
        }
        assert_eq!(answer, round.to_be_bytes());
        *counter.borrow_mut() += 1;
    }
    Ok(rounds)
}

type Asking = (Started<Result<u32, ErrorKind>>, Rc<RefCell<u32>>);

fn start_asking(world: &mut World<'static>, host: HostId, of: u32, rounds: u32) -> Asking {
    let counter: Rc<RefCell<u32>> = Rc::default();
    let counting = counter.clone();
    (world.start(host, false, vec![move |rt| ask(rt, address(of), rounds, counting)]), counter)
}

fn end_of(world: &mut World<'static>, asking: &Started<Result<u32, ErrorKind>>) -> Result<u32, ErrorKind> {
    assert_eq!(world.run_until(|_| asking.is_over(), LONG), Ended::Condition);
    asking.take_outputs().expect("it is over").remove(0)
}

#[test]
fn thousands_of_machines_reach_each_other() {
    const MACHINES: u32 = 4096;
    let (mut world, hosts) = world_of(1, MACHINES);
    for host in &hosts {
        world.start(*host, false, vec![echo]);
    }
    world.run_for(Duration::from_secs(1));
    let asking: Vec<Asking> = hosts
        .iter()
        .zip(0..MACHINES)
        .map(|(host, number)| start_asking(&mut world, *host, (number + 1) % MACHINES, 2))
        .collect();
    let is_over = |_: &mut World<'static>| asking.iter().all(|(asking, _)| asking.is_over());
    while !is_over(&mut world) {
        world.run_for(Duration::from_millis(10));
    }
    assert!(asking.iter().all(|(asking, _)| asking.take_outputs() == Some(vec![Ok(2)])));
}

#[test]
fn a_paused_process_answers_nothing_and_then_everything() {
    let (mut world, hosts) = world_of(2, 2);
    world.start(hosts[0], false, vec![echo]);
    let (asking, counter) = start_asking(&mut world, hosts[1], 0, 200);
    world.run_until(|_| *counter.borrow() == 20, LONG);
    world.pause(hosts[0]);
    assert!(world.is_paused(hosts[0]) && world.is_running(hosts[0]));
    world.run_for(Duration::from_secs(1));
    let answered = *counter.borrow();
    // The kernel accepts for it: whoever connects now only finds out that no answer comes.
    let (late, late_counter) = start_asking(&mut world, hosts[1], 0, 3);
    world.run_for(Duration::from_secs(29));
    assert_eq!((*counter.borrow(), *late_counter.borrow()), (answered, 0));
    assert!(!asking.is_over() && !late.is_over(), "connections stay open");
    world.resume(hosts[0]);
    assert!(!world.is_paused(hosts[0]));
    assert_eq!(end_of(&mut world, &asking), Ok(200));
    assert_eq!(end_of(&mut world, &late), Ok(3));
}

/// When a sleep of a second ended, by the world's clock.
async fn sleep_a_second(rt: Runtime) -> u64 {
    rt.sleep(Duration::from_secs(1)).await;
    rt.now().as_nanos()
}

#[test]
fn timers_of_a_paused_process_are_late() {
    let (mut world, hosts) = world_of(3, 1);
    let start = world.now();
    let sleeping = world.start(hosts[0], false, vec![sleep_a_second]);
    world.run_for(Duration::from_millis(500));
    world.pause(hosts[0]);
    assert_eq!(
        world.run_until(|_| sleeping.is_over(), Duration::from_secs(10)),
        Ended::Idle,
        "nothing else will happen"
    );
    world.run_for(Duration::from_secs(10));
    let resumed = world.now();
    world.resume(hosts[0]);
    world.run_until(|_| sleeping.is_over(), LONG);
    let woken = sleeping.take_outputs().expect("it is over")[0];
    assert!(woken > (start + Duration::from_secs(10)).as_nanos());
    assert!(woken < (resumed + Duration::from_millis(1)).as_nanos());
}

/// Sends without an end; `counter` says how many KiB the kernel took.
async fn pour(rt: Runtime, counter: Rc<RefCell<u32>>) {
    let stream = rt.connect(SocketAddr::new(address(0), PORT)).await.expect("it listens");
    loop {
        stream.write_all(vec![7; 1024]).await.0.expect("the connection holds");
        *counter.borrow_mut() += 1;
    }
}

/// Reads without an end, and answers nothing.
async fn drain(rt: Runtime) {
    let listener = rt.listen(SocketAddr::new(address(0), PORT)).await.expect("the port is free");
    let (socket, _) = listener.accept().await.expect("there is a connection");
    let stream = rt.adopt(socket);
    while stream.read(Vec::with_capacity(16 << 10)).await.0.expect("the connection holds") > 0 {}
}

#[test]
fn buffers_of_a_paused_process_fill_and_then_the_sender_waits() {
    let (mut world, hosts) = world_of(4, 2);
    world.start(hosts[0], false, vec![drain]);
    world.run_for(Duration::from_millis(1));
    let counter: Rc<RefCell<u32>> = Rc::default();
    let counting = counter.clone();
    world.start(hosts[1], false, vec![move |rt| pour(rt, counting)]);
    world.run_for(Duration::from_millis(20));
    world.pause(hosts[0]);
    let at_pause = *counter.borrow();
    world.run_for(Duration::from_secs(5));
    let filled = *counter.borrow();
    assert!(filled > at_pause && filled <= at_pause + 128, "{at_pause} KiB, then {filled}");
    world.resume(hosts[0]);
    world.run_for(Duration::from_millis(20));
    assert!(*counter.borrow() > filled);
}

#[test]
fn a_paused_process_can_be_killed_and_the_next_is_not_paused() {
    let (mut world, hosts) = world_of(5, 2);
    world.start(hosts[0], false, vec![echo]);
    let (asking, counter) = start_asking(&mut world, hosts[1], 0, 1000);
    world.run_until(|_| *counter.borrow() == 5, LONG);
    world.pause(hosts[0]);
    world.kill(hosts[0]);
    assert!(!world.is_running(hosts[0]) && !world.is_paused(hosts[0]));
    assert_eq!(end_of(&mut world, &asking), Err(ErrorKind::ConnectionReset));
    world.start(hosts[0], false, vec![echo]);
    world.run_for(Duration::from_millis(1));
    let (asking, _) = start_asking(&mut world, hosts[1], 0, 10);
    assert_eq!(end_of(&mut world, &asking), Ok(10));
}

type Notes = Rc<RefCell<Vec<(u64, i64)>>>;

/// Notes both clocks each 100 ms by its own: monotonic nanoseconds and wall clock microseconds.
async fn watch(rt: Runtime, seen: Notes) {
    loop {
        seen.borrow_mut().push((rt.now().as_nanos(), rt.wall_clock_micros()));
        rt.sleep(Duration::from_millis(100)).await;
    }
}

fn watched(seed: u64) -> (World<'static>, HostId, Notes) {
    let (mut world, hosts) = world_of(seed, 1);
    let seen = Notes::default();
    let noting = seen.clone();
    world.start(hosts[0], false, vec![move |rt| watch(rt, noting)]);
    (world, hosts[0], seen)
}

#[test]
fn a_wall_clock_jumps_under_a_running_process_and_timers_do_not() {
    const TEN_MINUTES: i64 = 600_000_000;
    let (mut world, host, seen) = watched(6);
    world.run_for(Duration::from_secs(5));
    let true_time = world.wall_clock_micros(host);
    world.jump_wall_clock(host, -TEN_MINUTES);
    assert_eq!(world.wall_clock_micros(host), true_time - TEN_MINUTES);
    world.run_for(Duration::from_secs(5));
    world.jump_wall_clock(host, 2 * TEN_MINUTES);
    world.run_for(Duration::from_secs(5));
    let seen = seen.borrow();
    assert!(seen.len().abs_diff(150) <= 2, "{} notes in 15 s", seen.len());
    let mut jumps = Vec::new();
    for pair in seen.windows(2) {
        let ((before, wall_before), (after, wall_after)) = (pair[0], pair[1]);
        assert!((100_000_000..101_000_000).contains(&(after - before)), "the monotonic clock has no part in it");
        let jump = wall_after - wall_before - ((after - before) / 1_000) as i64;
        if jump.abs() > 1_000 {
            jumps.push((jump + jump.signum() * 500) / 1_000_000);
        }
    }
    assert_eq!(jumps, [-600, 1200]);
}

#[test]
fn a_rate_is_of_both_clocks() {
    for (ppm, notes) in [(50_000, 1050), (-50_000, 950), (0, 1000)] {
        let (mut world, host, seen) = watched(7);
        world.set_clock_rate(host, ppm);
        let wall = world.wall_clock_micros(host);
        world.run_for(Duration::from_secs(100));
        let passed = world.wall_clock_micros(host) - wall;
        assert_eq!(passed, 100_000_000 + 100 * i64::from(ppm));
        assert!(seen.borrow().len().abs_diff(notes) <= 3, "{ppm}: {} notes", seen.borrow().len());
        // Back at the world's rate nothing jumps, and timers that wait are due by the new rate.
        world.set_clock_rate(host, 0);
        world.run_for(Duration::from_secs(10));
        let seen = seen.borrow();
        assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1));
        assert!(seen.len().abs_diff(notes + 100) <= 4, "{ppm}: {} notes", seen.len());
    }
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

/// Makes a file with one byte each millisecond.
async fn grow(rt: Runtime) {
    rt.create_dir_all(Path::new("/data")).await.expect("it is made");
    rt.sync_dir(Path::new("/")).await.expect("it is synced");
    let file = rt.open(Path::new("/data/log"), NEW).await.expect("it is made");
    rt.sync_dir(Path::new("/data")).await.expect("it is synced");
    for place in 0.. {
        file.write_at(AlignedBuf::from(&b"x"[..]), place).await.0.expect("it is written");
        file.sync_data().await.expect("it is synced");
        rt.sleep(Duration::from_millis(1)).await;
    }
}

async fn length(rt: Runtime) -> Option<u64> {
    rt.read_dir(Path::new("/data")).await.ok().map(|entries| entries[0].len)
}

fn length_on(world: &mut World<'static>, host: HostId) -> Option<u64> {
    let asking = world.start(host, false, vec![length]);
    world.run_until(|_| asking.is_over(), LONG);
    asking.take_outputs().expect("it is over").remove(0)
}

#[test]
fn a_disk_is_exchanged_for_an_empty_one_or_for_its_clone_of_an_earlier_moment() {
    for keep in [Keep::Nothing, Keep::Everything, Keep::Reordered { seed: 8 }] {
        let (mut world, hosts) = world_of(8, 1);
        world.start(hosts[0], false, vec![grow]);
        world.run_for(Duration::from_millis(300));
        let earlier = world.fork_disk(hosts[0]);
        world.run_for(Duration::from_millis(300));
        world.crash(hosts[0], Keep::Everything);
        let now = length_on(&mut world, hosts[0]).expect("there is a file");
        let newest = world.exchange_disk(hosts[0], earlier.after_power_cut(keep));
        let then = length_on(&mut world, hosts[0]).expect("there is a file");
        assert!(then > 100 && then + 100 < now, "{then} of {now} bytes");
        world.exchange_disk(hosts[0], Disk::default());
        assert_eq!(length_on(&mut world, hosts[0]), None, "there is nothing");
        world.exchange_disk(hosts[0], newest);
        assert_eq!(length_on(&mut world, hosts[0]), Some(now), "the first disk is as it was");
    }
}

#[test]
fn what_was_under_way_on_a_disk_does_not_end_on_another() {
    for seed in 0..50 {
        let (mut world, hosts) = world_of(seed, 1);
        world.start(hosts[0], false, vec![grow]);
        world.run_until(|world| world.disk_calls(hosts[0]) > 40, LONG);
        world.kill(hosts[0]);
        let mut other = Disk::default();
        other.prepare_directory("/data");
        world.exchange_disk(hosts[0], other.clone());
        world.run_for(Duration::from_secs(1));
        assert_eq!(world.fork_disk(hosts[0]).digest(), other.digest(), "seed {seed}");
    }
}

#[test]
fn a_running_machine_keeps_its_disk_and_its_addresses() {
    let (mut world, hosts) = world_of(9, 1);
    world.start(hosts[0], false, vec![echo]);
    let exchange = std::panic::AssertUnwindSafe(|| world.exchange_disk(hosts[0], Disk::default()));
    std::panic::catch_unwind(exchange).expect_err("it runs");
    let rename = std::panic::AssertUnwindSafe(|| world.set_addresses(hosts[0], &[address(7)]));
    std::panic::catch_unwind(rename).expect_err("it runs");
}

#[test]
fn a_cut_of_one_direction_lets_the_other_pass() {
    let (mut world, hosts) = world_of(10, 2);
    world.start(hosts[0], false, vec![drain]);
    world.run_for(Duration::from_millis(1));
    let counter: Rc<RefCell<u32>> = Rc::default();
    let counting = counter.clone();
    world.start(hosts[1], false, vec![move |rt| pour(rt, counting)]);
    world.run_for(Duration::from_millis(5));
    let cut = Link { is_cut: true, ..Link::default() };
    // From the reader to the writer nothing needs to pass but that there is room.
    world.set_link(hosts[0], hosts[1], cut);
    let before = *counter.borrow();
    world.run_for(Duration::from_millis(5));
    assert!(*counter.borrow() > before, "bytes pass while there is room");
    world.set_link(hosts[0], hosts[1], Link::default());
    world.set_link(hosts[1], hosts[0], cut);
    world.run_for(Duration::from_secs(1));
    let full = *counter.borrow();
    world.run_for(Duration::from_secs(1));
    assert_eq!(*counter.borrow(), full, "in the other direction nothing does");
}

#[test]
fn a_link_may_reset_its_connections() {
    let (mut world, hosts) = world_of(11, 3);
    world.start(hosts[0], false, vec![echo]);
    world.run_for(Duration::from_millis(1));
    world.set_link(hosts[1], hosts[0], Link { reset_per_million: 20_000, ..Link::default() });
    let mut ends = Vec::new();
    for _ in 0..20 {
        let (asking, counter) = start_asking(&mut world, hosts[1], 0, 10_000);
        assert_eq!(end_of(&mut world, &asking), Err(ErrorKind::ConnectionReset));
        ends.push(*counter.borrow());
    }
    ends.sort_unstable();
    ends.dedup();
    assert!(ends.len() > 10, "they end at any time: {ends:?}");
    let (asking, _) = start_asking(&mut world, hosts[2], 0, 1000);
    assert_eq!(end_of(&mut world, &asking), Ok(1000), "other links do not");
}

#[test]
fn machines_are_added_at_run_time_and_addresses_given_to_others() {
    let (mut world, hosts) = world_of(12, 1);
    let (asking, _) = start_asking(&mut world, hosts[0], 1, 10);
    world.run_for(Duration::from_secs(1));
    let added = world.add_host(&[address(1)]);
    world.start(added, false, vec![echo]);
    assert_eq!(end_of(&mut world, &asking), Err(ErrorKind::TimedOut), "there was no machine when it was sent for");
    let (asking, _) = start_asking(&mut world, hosts[0], 1, 10);
    assert_eq!(end_of(&mut world, &asking), Ok(10));
    world.crash(added, Keep::Nothing);
    world.set_addresses(added, &[]);
    let replacing = world.add_host(&[address(1)]);
    world.start(replacing, false, vec![echo]);
    world.run_for(Duration::from_millis(1));
    let (asking, _) = start_asking(&mut world, hosts[0], 1, 10);
    assert_eq!(end_of(&mut world, &asking), Ok(10));
}

/// A run in which everything is done to the machines.
fn troubled(seed: u64) -> u64 {
    let (mut world, mut hosts) = world_of(seed, 3);
    let earlier = world.fork_disk(hosts[0]);
    for host in &hosts {
        world.start(*host, false, vec![echo]);
        world.start(*host, false, vec![grow]);
    }
    world.run_for(Duration::from_millis(1));
    let pairs = [(1, 0), (1, 2), (2, 1)];
    let asking: Vec<Asking> = pairs.map(|(from, of)| start_asking(&mut world, hosts[from], of, 400)).into();
    world.set_clock_rate(hosts[1], 30_000);
    world.jump_wall_clock(hosts[2], -1_000_000);
    let link = Link { lost_per_million: 50_000, reset_per_million: 1_000, ..Link::default() };
    world.set_link(hosts[2], hosts[1], link);
    world.run_for(Duration::from_millis(20));
    world.pause(hosts[0]);
    world.run_for(Duration::from_millis(50));
    hosts.push(world.add_host(&[address(3)]));
    world.start(hosts[3], false, vec![echo]);
    world.resume(hosts[0]);
    world.run_for(Duration::from_millis(50));
    let (late, _) = start_asking(&mut world, hosts[1], 3, 100);
    world.crash(hosts[0], Keep::Reordered { seed });
    world.exchange_disk(hosts[0], earlier);
    world.start(hosts[0], false, vec![grow]);
    world.set_clock_rate(hosts[1], -30_000);
    let is_over = |_: &mut World<'static>| late.is_over() && asking.iter().all(|(asking, _)| asking.is_over());
    assert_eq!(world.run_until(is_over, LONG), Ended::Condition);
    world.trace_hash()
}

#[test]
fn equal_seeds_are_equal_runs_whatever_is_done_to_machines() {
    let hashes: Vec<u64> = (0..20).map(troubled).collect();
    assert_eq!(hashes, (0..20).map(troubled).collect::<Vec<_>>());
    let others: std::collections::BTreeSet<u64> = hashes.iter().copied().collect();
    assert_eq!(others.len(), 20, "other seeds are other runs");
}
