//! Three nodes are one cluster: a change is on all of them when it is answered, and clients of all hear of it.

use std::sync::atomic::{AtomicUsize, Ordering};

use helenus_tests::{Connection, pick};

use super::nodes::{Three, has};

const EVENT: u8 = 0x0c;

/// Tables of the keyspace, by name.
const TABLES: &str = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'ks'";

#[test]
fn concurrent_schema_statements_of_three_nodes_are_seen_everywhere_at_once_and_announced_to_all() {
    let mut three = Three::start();
    let (statements, threads) = (pick(200, 2000), 8 * 3);
    let mut listeners = [0, 1, 2].map(|node| three.connect(node));
    listeners
        .iter_mut()
        .for_each(|listener| listener.register(&["SCHEMA_CHANGE"]).expect("events can be registered for"));
    let clients: Vec<[Connection; 3]> = (0..threads).map(|_| [0, 1, 2].map(|node| three.connect(node))).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for (thread, mut clients) in clients.into_iter().enumerate() {
            let next = &next;
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= statements {
                        return;
                    }
                    let asked = (thread + number) % 3;
                    let create = format!("CREATE TABLE ks.t{number:04} (k int PRIMARY KEY, v{number} int)");
                    clients[asked].query(&create).expect("a majority is up");
                    for other in [1, 2] {
                        let read = format!("SELECT v{number} FROM ks.t{number:04}");
                        clients[(asked + other) % 3].query(&read).expect("all nodes that are up have applied it");
                    }
                }
            });
        }
    });
    for listener in &mut listeners {
        let mut announced = vec![0; statements];
        for _ in 0..statements {
            let event = listener.receive().expect("each change is announced on each node");
            assert_eq!((event.opcode, event.stream), (EVENT, -1), "{event:?}");
            assert!(has(&event.body, "CREATED") && has(&event.body, "TABLE"), "{event:?}");
            let name = event.body.get(event.body.len() - 4..).and_then(|name| std::str::from_utf8(name).ok());
            let number: usize = name.and_then(|name| name.parse().ok()).expect("a table's name ends in its number");
            announced[number] += 1;
        }
        assert!(announced.iter().all(|count| *count == 1), "each once: {announced:?}");
    }
    let tables = three.agreed(TABLES);
    assert!((0..statements).all(|number| has(&tables, format!("t{number:04}"))));
    three.stop();
}
