//! A role that changes its own password in a loop (CVE-2026-32588): hashes of its statements have few places, and others are served meanwhile.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use helenus_tests::{Connection, configurations, query_frame};

use super::{ERROR, RESULT, Version, builder, password};

/// More than there are places for hashes of statements.
const CLIENTS: usize = 12;
/// So many changes without one that finds no place: there is no bound.
const CHANGES_MAX: usize = 500;
const OVERLOADED: [u8; 4] = [0, 0, 0x10, 0x01];

#[test]
fn changes_of_a_password_in_a_loop_are_overloaded_and_others_are_served() {
    for (reactor, shards) in configurations() {
        let builder = builder(reactor, shards);
        let server = builder.start();
        let log_in = |name: &str, password: &str| {
            Connection::open(&server.address()).and_then(|connection| connection.logged_in(name, password))
        };
        let mut owner = log_in("cassandra", &password(&builder)).expect("the superuser logs in");
        owner.query("CREATE ROLE amy WITH LOGIN = true AND PASSWORD = 'first'").expect("a role");
        // All of them before the first change.
        let mut clients: Vec<Connection> = (0..CLIENTS).map(|_| log_in("amy", "first").expect("logs in")).collect();
        let (is_overloaded, changed) = (AtomicBool::new(false), AtomicUsize::new(0));
        let is_over = || is_overloaded.load(Ordering::Relaxed) || changed.load(Ordering::Relaxed) >= CHANGES_MAX;
        std::thread::scope(|scope| {
            for (number, client) in clients.iter_mut().enumerate() {
                let (is_over, is_overloaded, changed) = (&is_over, &is_overloaded, &changed);
                scope.spawn(move || {
                    let text = format!("ALTER ROLE amy WITH PASSWORD = 'password {number}'");
                    while !is_over() {
                        let answer = client.ask(&query_frame(Version::V4, 1, &text)).expect("is answered");
                        match answer.opcode {
                            ERROR if answer.body.starts_with(&OVERLOADED) => {
                                is_overloaded.store(true, Ordering::Relaxed);
                            }
                            opcode => {
                                // Counted first, so that others end too.
                                changed.fetch_add(1, Ordering::Relaxed);
                                assert_eq!(opcode, RESULT, "{answer:?}");
                            }
                        }
                    }
                });
            }
            while !is_over() {
                owner.query("SELECT key FROM system.local").expect("others are served");
            }
        });
        assert!(is_overloaded.into_inner(), "{CLIENTS} clients have had {CHANGES_MAX} hashes, and none was refused");
        assert!(changed.into_inner() > 0, "changes that had a place are done");
        clients[0].query("ALTER ROLE amy WITH PASSWORD = 'last'").expect("there are places again");
        log_in("amy", "last").map(drop).expect("that is the password");
        log_in("amy", "first").map(drop).expect_err("no longer the password");
        server.stop();
    }
}
