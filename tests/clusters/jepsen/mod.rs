//! Jepsen's workloads on clusters of real processes, each with a replica on three nodes, while nodes are killed, stopped, cut off, and their wall clocks jump.
//!
//! The length of a test is counted in answers, not in seconds: a trouble lasts until clients have received so many answers beside it, and as many after it. A soak
//! goes on for two minutes, with five nodes.

mod client;
mod hosts;
mod ring;

use std::time::{Duration, Instant};

use helenus_tests::{Random, pick};
use histories::batch_set::BatchSet;
use histories::cas_register::CasRegister;
use histories::counter::Counter;
use histories::list_append::ListAppend;
use histories::map::Map;
use histories::set::Set;
use histories::wr_register::WrRegister;
use histories::write_isolation::WriteIsolation;
use histories::{History, Operation, Workload};

use client::{Client, Shared};
use hosts::enter;
use ring::{Ring, Trouble};

use super::nodes::{PATIENCE, until};

/// Clients that send requests.
const CLIENTS: u64 = 5;
/// Answers beside each trouble, and after it.
const ANSWERS: usize = 100;
/// The time of a soak of one workload.
const SOAK: Duration = Duration::from_secs(120);
/// In the order in which they come at first.
const TROUBLES: [Trouble; 4] = [Trouble::Kill, Trouble::Partition, Trouble::Clock, Trouble::Pause];

/// Sentences about a history.
type Judge<W> = fn(&History<<W as Workload>::Asked, <W as Workload>::Told>) -> Vec<String>;

/// Ends the clients when the troubles are over, or a panic ends them.
struct Ending<'a, W: Workload>(&'a Shared<W>);

impl<W: Workload> Drop for Ending<'_, W> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs a workload in a test of that name.
fn run<W>(test: &str, judge: Judge<W>)
where
    W: Workload<Asked: Send, Told: Send> + Send + Sync,
{
    if !enter(&format!("clusters::jepsen::{test}")) {
        return;
    }
    let mut random = Random::from_environment(7);
    let nodes = pick(3, 5);
    let mut ring = Ring::start(nodes, W::TABLES);
    let shared = Shared::<W>::new(ring.addresses());
    let troubles = std::thread::scope(|scope| {
        let _ending = Ending(&shared);
        for _ in 0..CLIENTS {
            let client = Client::new(&shared, Random::new(random.next_u64()));
            scope.spawn(move || client.run());
        }
        shared.wait_for(ANSWERS);
        trouble(&mut ring, &shared, &mut random)
    });
    finish(&shared, random);
    let history = shared.history.lock().expect("no client panics");
    let count = |holds: fn(&Operation<W::Asked, W::Told>) -> bool| history.all().filter(|one| holds(one)).count();
    let (sent, answered) = (count(|_| true), count(|one| one.end().is_some()));
    let unknown = count(|one| one.end().is_none() && one.is_possible());
    println!("{}: {nodes} nodes, {sent} requests, {answered} answers, {unknown} unknown, {troubles:?}", W::NAME);
    let violations = judge(&history);
    assert!(violations.is_empty(), "{}: {:#?}", W::NAME, &violations[..violations.len().min(10)]);
    ring.stop();
}

/// Gets nodes into troubles, one after the other, every second one while the clock of another node is wrong too. Each round has partitions of its own.
fn trouble<W: Workload>(ring: &mut Ring, shared: &Shared<W>, random: &mut Random) -> Vec<Trouble> {
    let (began, mut done) = (Instant::now(), Vec::new());
    while done.len() < TROUBLES.len() || pick(false, began.elapsed() < SOAK) {
        let trouble = TROUBLES[done.len() % TROUBLES.len()];
        let node = random.below(ring.count());
        if done.len() % 2 == 1 {
            ring.begin((node + 1) % ring.count(), Trouble::Clock, random);
        }
        ring.begin(node, trouble, random);
        shared.wait_for(ANSWERS);
        ring.heal();
        shared.wait_for(ANSWERS);
        shared.next_round();
        done.push(trouble);
    }
    done
}

/// Writes each partition once more where the workload has a last write, and reads it.
fn finish<W: Workload>(shared: &Shared<W>, mut random: Random) {
    let mut client = Client::new(shared, Random::new(random.next_u64()));
    let partitions: Vec<i32> = shared.history.lock().expect("no client panics").partitions.keys().copied().collect();
    for partition in partitions {
        let mut view = W::View::default();
        let mut must_send = |asked: &W::Asked| {
            until("a healed cluster answers", || match client.send(partition, asked) {
                Some(told) => {
                    W::learn(&mut view, asked, &told);
                    true
                }
                None => false,
            });
        };
        let (deadline, sent) = (Instant::now() + PATIENCE, count_of(shared, partition));
        W::last().iter().for_each(&mut must_send);
        while W::SETTLES && !holds(shared, partition) && Instant::now() < deadline {
            // They were not the last ones.
            let mut history = shared.history.lock().expect("no client panics");
            history.partitions.get_mut(&partition).expect("it was read").truncate(sent);
            drop(history);
            W::last().iter().for_each(&mut must_send);
        }
        if let Some(asked) = W::finish(&view, shared.fresh()) {
            until("a healed cluster answers", || client.send(partition, &asked).is_some());
            for asked in W::last() {
                until("a healed cluster answers", || client.send(partition, &asked).is_some());
            }
        }
    }
}

fn count_of<W: Workload>(shared: &Shared<W>, partition: i32) -> usize {
    shared.history.lock().expect("no client panics").partitions[&partition].len()
}

fn holds<W: Workload>(shared: &Shared<W>, partition: i32) -> bool {
    W::check(&shared.history.lock().expect("no client panics").partitions[&partition]).is_empty()
}

#[test]
fn cas_register() {
    run::<CasRegister>("cas_register", CasRegister::judge);
}

#[test]
fn list_append() {
    run::<ListAppend>("list_append", ListAppend::judge);
}

#[test]
fn wr_register() {
    run::<WrRegister>("wr_register", WrRegister::judge);
}

#[test]
fn counter() {
    run::<Counter>("counter", Counter::judge);
}

#[test]
fn set() {
    run::<Set>("set", Set::judge);
}

#[test]
fn map() {
    run::<Map>("map", Map::judge);
}

#[test]
fn batch_set() {
    run::<BatchSet>("batch_set", BatchSet::judge);
}

#[test]
fn write_isolation() {
    run::<WriteIsolation>("write_isolation", WriteIsolation::judge);
}
