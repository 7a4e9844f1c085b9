//! Histories at a desk, without a hash and without a clock.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use super::*;

const VALIDITY: Duration = Duration::from_secs(600);
const SHARD: ShardId = ShardId(0);

fn desk() -> Desk {
    let mut desk = Desk::new(VALIDITY);
    desk.use_key([7; 32]);
    desk
}

fn host(number: u32) -> Option<Host> {
    Some(Host::from(IpAddr::V4(Ipv4Addr::from(number))))
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn verify(name: &str, password: &str) -> Work {
    let credentials = Credentials { name: name.into(), password: password.into() };
    Work::Verify { hash: PasswordHash::dummy(), credentials }
}

fn name(job: &Job) -> &str {
    match &job.work {
        Work::Verify { credentials, .. } => &credentials.name,
        Work::Hash { password, .. } => password,
    }
}

fn hash(password: &str) -> Work {
    Work::Hash { password: password.into(), salt: [0; 16] }
}

fn ticket(submitted: Result<Submitted, Overloaded>) -> u64 {
    match submitted {
        Ok(Submitted::Ticket(ticket)) => ticket,
        other => panic!("it waits: {other:?}"),
    }
}

fn taken(desk: &mut Desk, now: Instant) -> Job {
    match desk.take(now) {
        Choice::Take(job) => job,
        other => panic!("there is a job: {other:?}"),
    }
}

#[test]
fn a_success_is_remembered_and_a_failure_is_not() {
    let mut desk = desk();
    let first = ticket(desk.submit(ShardId(3), host(1), verify("user", "right"), at(0)));
    let job = taken(&mut desk, at(0));
    assert_eq!(desk.take(at(0)), Choice::Wait);
    let done = desk.finish(job.number, &Outcome::Verified(true), at(1));
    assert_eq!(done, [(ShardId(3), Done { ticket: first, outcome: Outcome::Verified(true) })]);
    // Another host has the password too: the memory is of passwords.
    assert_eq!(desk.submit(SHARD, host(2), verify("user", "right"), at(2)), Ok(Submitted::Remembered));
    for (name, password) in [("user", "wrong"), ("other", "right")] {
        ticket(desk.submit(SHARD, host(1), verify(name, password), at(2)));
        let job = taken(&mut desk, at(2));
        desk.finish(job.number, &Outcome::Verified(false), at(2));
        ticket(desk.submit(SHARD, host(1), verify(name, password), at(3)));
        let job = taken(&mut desk, at(3));
        desk.finish(job.number, &Outcome::Verified(false), at(3));
    }
    ticket(desk.submit(SHARD, host(2), verify("user", "right"), at(1) + VALIDITY));
    assert_eq!(desk.computed(), 5);
}

#[test]
fn equal_verifications_of_a_host_share_a_hash() {
    let mut desk = desk();
    let pool: Vec<u64> =
        (0..400).map(|_| ticket(desk.submit(SHARD, host(1), verify("user", "secret"), at(0)))).collect();
    ticket(desk.submit(SHARD, host(2), verify("user", "secret"), at(0)));
    let job = taken(&mut desk, at(0));
    // One that comes while the hash is computed has its result too.
    let late = ticket(desk.submit(SHARD, host(1), verify("user", "secret"), at(1)));
    let done = desk.finish(job.number, &Outcome::Verified(true), at(2));
    let told: Vec<u64> = done.iter().map(|(_, done)| done.ticket).collect();
    assert_eq!(told, pool.into_iter().chain([late]).collect::<Vec<_>>());
    assert_eq!(desk.computed(), 1);
}

#[test]
fn places_of_the_node_of_a_host_and_of_statements_are_bounded() {
    let mut desk = desk();
    let submit = |desk: &mut Desk, of: u32, number: u32| {
        desk.submit(SHARD, host(of), verify("user", &number.to_string()), at(0))
    };
    for number in 0..16 {
        ticket(submit(&mut desk, 1, number));
    }
    assert_eq!(submit(&mut desk, 1, 16), Err(Overloaded::Host));
    for of in [2, 3] {
        ticket(desk.submit(SHARD, host(of), hash("new"), at(0)));
        ticket(desk.submit(SHARD, host(of), hash("another"), at(0)));
        assert_eq!(desk.submit(SHARD, host(of), hash("a third"), at(0)), Err(Overloaded::Roles), "of one host");
    }
    assert_eq!(desk.submit(SHARD, host(4), hash("new"), at(0)), Err(Overloaded::Roles));
    // The owner of the process is kept from nothing by clients.
    ticket(desk.submit(SHARD, None, hash("new"), at(0)));
    ticket(desk.submit(SHARD, None, hash("another"), at(0)));
    assert_eq!(desk.submit(SHARD, None, hash("a third"), at(0)), Err(Overloaded::Roles));
    // A job that runs is of its host, and of statements, until it is finished.
    let job = taken(&mut desk, at(0));
    assert_eq!(submit(&mut desk, 1, 16), Err(Overloaded::Host));
    desk.finish(job.number, &Outcome::Verified(false), at(0));
    let again = ticket(submit(&mut desk, 1, 16));
    desk.withdraw(again);
    let others: Vec<_> = (10..300).map(|of| submit(&mut desk, of, 0)).collect();
    assert_eq!(others.iter().filter(|submitted| submitted.is_ok()).count(), PLACES_MAX - 15 - 6);
    assert_eq!(others.last(), Some(&Err(Overloaded::Node)));
}

#[test]
fn tickets_are_bounded() {
    let mut desk = desk();
    let submit = |desk: &mut Desk| desk.submit(SHARD, host(1), verify("user", "secret"), at(0));
    for _ in 0..TICKETS_MAX {
        ticket(submit(&mut desk));
    }
    assert_eq!(submit(&mut desk), Err(Overloaded::Node));
}

#[test]
fn hosts_take_turns() {
    let mut desk = desk();
    for number in 0..4 {
        ticket(desk.submit(SHARD, host(1), verify("greedy", &number.to_string()), at(0)));
    }
    ticket(desk.submit(SHARD, host(2), verify("second", "a"), at(0)));
    ticket(desk.submit(SHARD, host(3), hash("third"), at(0)));
    let mut order = Vec::new();
    while let Choice::Take(job) = desk.take(at(0)) {
        order.push(name(&job).to_owned());
        desk.finish(job.number, &Outcome::Verified(true), at(0));
        if order.len() == 4 {
            ticket(desk.submit(SHARD, host(4), verify("late", "a"), at(0)));
        }
    }
    assert_eq!(order, ["greedy", "second", "third", "greedy", "greedy", "late", "greedy"]);
}

/// As a role does that has set a hash of 64 times the cost of its own password.
#[test]
fn a_host_with_long_verifications_has_the_time_of_one_host() {
    let mut desk = desk();
    let long = PasswordHash::parse(&PasswordHash::dummy().as_str().replacen("$10$", "$16$", 1)).expect("a hash");
    let long = |number: u32| Work::Verify {
        hash: long.clone(),
        credentials: Credentials { name: "long".into(), password: number.to_string() },
    };
    ticket(desk.submit(SHARD, host(1), long(0), at(0)));
    let running = taken(&mut desk, at(0));
    ticket(desk.submit(SHARD, host(1), long(1), at(1)));
    // Each is answered before the next one comes: a host with one job at a time.
    let mut served = 0;
    let mut number = running.number;
    loop {
        desk.finish(number, &Outcome::Verified(true), at(2));
        ticket(desk.submit(SHARD, host(2), verify("short", &served.to_string()), at(2)));
        let job = taken(&mut desk, at(2));
        if name(&job) == "long" {
            break;
        }
        (served, number) = (served + 1, job.number);
    }
    assert_eq!(served, 63, "as many short ones as take the time of a long one");
}

#[test]
fn who_knows_one_password_guesses_no_other_without_a_rest() {
    let mut desk = desk();
    for number in 0..5 {
        ticket(desk.submit(SHARD, host(1), verify("root", &number.to_string()), at(0)));
        let job = taken(&mut desk, at(0));
        desk.finish(job.number, &Outcome::Verified(false), at(0));
        ticket(desk.submit(SHARD, host(1), verify("eve", &format!("new {number}")), at(0)));
        let Choice::Take(job) = desk.take(at(0)) else { break };
        desk.finish(job.number, &Outcome::Verified(true), at(0));
    }
    assert_eq!(desk.take(at(0)), Choice::WaitUntil(at(100)));
}

/// 16 hosts that guess would otherwise hold all places, at rest.
#[test]
fn hosts_that_guess_leave_the_places_to_others() {
    let mut desk = desk();
    for of in 1..=40 {
        for number in 0..5 {
            ticket(desk.submit(SHARD, host(of), verify("user", &number.to_string()), at(0)));
            let job = taken(&mut desk, at(0));
            desk.finish(job.number, &Outcome::Verified(false), at(0));
        }
        let more = (10..30).map(|number| desk.submit(SHARD, host(of), verify("user", &number.to_string()), at(0)));
        assert_eq!(more.filter(Result::is_ok).count(), 2);
    }
    ticket(desk.submit(SHARD, host(100), verify("other", "right"), at(0)));
    assert_eq!(name(&taken(&mut desk, at(0))), "other");
}

#[test]
fn a_host_that_guesses_waits_and_others_do_not() {
    let mut desk = desk();
    for number in 0..8 {
        ticket(desk.submit(SHARD, host(1), verify("user", &number.to_string()), at(0)));
    }
    for _ in 0..5 {
        let job = taken(&mut desk, at(0));
        desk.finish(job.number, &Outcome::Verified(false), at(0));
    }
    assert_eq!(desk.take(at(0)), Choice::WaitUntil(at(100)));
    ticket(desk.submit(SHARD, host(1), hash("new"), at(50)));
    assert_eq!(name(&taken(&mut desk, at(50))), "new", "a change of a password is no guess");
    ticket(desk.submit(SHARD, host(2), verify("other", "x"), at(99)));
    assert_eq!(name(&taken(&mut desk, at(99))), "other");
    assert_eq!(desk.take(at(99)), Choice::WaitUntil(at(100)));
}

#[test]
fn guesses_of_a_host_that_is_slowed_run_one_after_another() {
    let mut desk = desk();
    let mut number = 0;
    let mut submit = |desk: &mut Desk| {
        number += 1;
        ticket(desk.submit(SHARD, host(1), verify("user", &number.to_string()), at(0)));
    };
    for _ in 0..5 {
        submit(&mut desk);
        let job = taken(&mut desk, at(0));
        desk.finish(job.number, &Outcome::Verified(false), at(0));
    }
    submit(&mut desk);
    submit(&mut desk);
    let job = taken(&mut desk, at(100));
    assert_eq!(desk.take(at(100)), Choice::Wait, "its other guess waits for the end of this one");
    desk.finish(job.number, &Outcome::Verified(false), at(160));
    assert_eq!(desk.take(at(160)), Choice::WaitUntil(at(360)));
    let job = taken(&mut desk, at(360));
    desk.finish(job.number, &Outcome::Verified(true), at(400));
    submit(&mut desk);
    submit(&mut desk);
    taken(&mut desk, at(400));
    taken(&mut desk, at(400));
}

#[test]
fn a_job_without_tickets_is_not_run() {
    let mut desk = desk();
    let one = ticket(desk.submit(SHARD, host(1), verify("user", "a"), at(0)));
    let other = ticket(desk.submit(SHARD, host(1), verify("user", "a"), at(0)));
    desk.withdraw(one);
    desk.withdraw(one);
    let job = taken(&mut desk, at(0));
    desk.withdraw(other);
    assert_eq!(desk.finish(job.number, &Outcome::Verified(false), at(0)), []);
    let alone = ticket(desk.submit(SHARD, host(1), verify("user", "b"), at(0)));
    desk.withdraw(alone);
    assert_eq!(desk.take(at(0)), Choice::Wait);
    assert_eq!(desk.computed(), 1);
}

#[test]
fn passwords_are_not_shown() {
    let mut desk = desk();
    ticket(desk.submit(SHARD, host(1), verify("user", "geheim"), at(0)));
    ticket(desk.submit(SHARD, host(1), hash("geheim"), at(0)));
    let shown = format!("{desk:?} {:?} {:?}", verify("user", "geheim"), hash("geheim"));
    assert!(!shown.contains("geheim") && shown.contains("*******"), "{shown}");
}

#[derive(Debug, Clone)]
enum Event {
    Submit { host: u32, password: u8 },
    Change { host: u32, password: u8 },
    Take,
    Finish { is_right: bool },
    Withdraw,
    Rest(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..20u32, 0..40u8).prop_map(|(host, password)| Event::Submit { host, password }),
        1 => (0..20u32, 0..4u8).prop_map(|(host, password)| Event::Change { host, password }),
        2 => Just(Event::Take),
        1 => any::<bool>().prop_map(|is_right| Event::Finish { is_right }),
        1 => Just(Event::Withdraw),
        1 => (0..6000u64).prop_map(Event::Rest),
    ]
}

proptest! {
    /// Whatever happens, bounds hold, each ticket has one result at most, and no job is lost: when time goes on, all that wait are run.
    #[test]
    fn bounds_hold_and_no_job_is_lost(events in proptest::collection::vec(event(), 0..600)) {
        let mut desk = desk();
        let (mut now, mut open, mut running) = (at(0), Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Submit { host: of, password } => {
                    let work = verify("user", &password.to_string());
                    if let Ok(Submitted::Ticket(ticket)) = desk.submit(SHARD, host(of), work, now) {
                        open.push(ticket);
                    }
                }
                Event::Change { host: of, password } => {
                    if let Ok(Submitted::Ticket(ticket)) = desk.submit(SHARD, host(of), hash(&password.to_string()), now) {
                        open.push(ticket);
                    }
                }
                Event::Take => if let Choice::Take(job) = desk.take(now) {
                    running.push(job.number);
                },
                Event::Finish { is_right } => if let Some(number) = running.pop() {
                    for (_, done) in desk.finish(number, &Outcome::Verified(is_right), now) {
                        let place = open.iter().position(|ticket| *ticket == done.ticket);
                        open.remove(place.expect("a result is of an open ticket"));
                    }
                },
                Event::Withdraw => if let Some(ticket) = open.pop() {
                    desk.withdraw(ticket);
                },
                Event::Rest(millis) => now += Duration::from_millis(millis),
            }
            let of_roles = desk.jobs.values().filter(|job| job.role.is_none()).count();
            prop_assert!(desk.jobs.len() <= PLACES_MAX + running.len() && of_roles <= OF_ROLES_MAX);
            for of in 0..20 {
                prop_assert!(desk.jobs.values().filter(|job| job.host == host(of)).count() <= OF_HOST_MAX);
            }
        }
        for number in running {
            desk.finish(number, &Outcome::Verified(false), now).iter().for_each(|(_, done)| open.retain(|ticket| *ticket != done.ticket));
        }
        while let Choice::Take(job) = match desk.take(now) {
            Choice::WaitUntil(until) => {
                prop_assert!(until > now && until - now <= Duration::from_secs(5));
                now = until;
                desk.take(now)
            }
            other => other,
        } {
            desk.finish(job.number, &Outcome::Verified(false), now).iter().for_each(|(_, done)| open.retain(|ticket| *ticket != done.ticket));
        }
        prop_assert!(open.is_empty() && desk.jobs.is_empty());
    }
}
