//! Nodes that are killed: without a majority nothing is changed and data is read; what was acknowledged is never lost.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use helenus_tests::{Connection, pick};

use super::nodes::{Three, has, until};

/// Types of the keyspace, by name.
const TYPES: &str = "SELECT type_name FROM system_schema.types WHERE keyspace_name = 'ks'";

/// The survivor is the leader, or follows it.
#[test]
fn without_a_majority_changes_are_refused_in_one_sentence_and_local_data_is_read() {
    let mut three = Three::start();
    let founder = three.founder;
    three.connect(founder).query("CREATE TABLE ks.d (k int PRIMARY KEY, v text)").expect("a majority is up");
    for (round, survivor) in [founder, (founder + 1) % 3].into_iter().enumerate() {
        let others = [(survivor + 1) % 3, (survivor + 2) % 3];
        // Kept by one replica at least, and read from the own one first.
        let write = "INSERT INTO ks.d (k, v) VALUES (1, 'written before')";
        three.connect(survivor).query(write).expect("a replica is here");
        until("the row is on the survivor", || reads_its_row(&mut three.connect(survivor)));
        let before = three.server(survivor).lines().len();
        others.iter().for_each(|other| three.kill(*other));
        let create = format!("CREATE TABLE IF NOT EXISTS ks.e{round} (k int PRIMARY KEY)");
        let mut client = three.connect(survivor);
        // A change that is asked for before that may be in the survivor's log.
        let seeds = others.map(|other| three.net.seed(u8::try_from(other + 1).expect("one of three")));
        until("both are known to be down", || {
            let lines = three.server(survivor).lines().split_off(before);
            let is_down =
                |seed: &String| lines.iter().any(|line| line.contains(seed) && line.contains("Connection refused"));
            seeds.iter().all(is_down)
        });
        let refused = client.query(&create).expect_err("no majority is up").to_string();
        assert!(refused.contains("no majority of its voters answers; nothing was changed"), "{refused}");
        assert!(refused.contains("--recover-metadata"), "the way out: {refused}");
        assert!(reads_its_row(&mut client), "local data is read");
        others.iter().for_each(|other| three.restart(*other));
        until("a majority has a leader", || match client.query(&create) {
            Ok(_) => true,
            Err(refused) => {
                let refused = refused.to_string();
                let is_known =
                    ["no majority of its voters answers", "no answer of the cluster's metadata leader in time"];
                assert!(is_known.iter().any(|words| refused.contains(words)), "{refused}");
                false
            }
        });
        let tables = three.agreed("SELECT table_name FROM system_schema.tables WHERE keyspace_name = 'ks'");
        assert!(has(&tables, format!("e{round}")));
    }
    three.stop();
}

fn reads_its_row(client: &mut Connection) -> bool {
    has(&client.query("SELECT v FROM ks.d WHERE k = 1").expect("a replica is here").body, "written before")
}

/// Types that were acknowledged, in the order of their numbers, which are their writers' own.
struct Load {
    is_over: AtomicBool,
    acknowledged: AtomicUsize,
}

impl Load {
    /// Creates types, by whichever node answers, until it is over; gives the names of those that were acknowledged.
    fn run(&self, writer: usize, addresses: &[String; 3]) -> Vec<String> {
        let mut acknowledged = Vec::new();
        let mut client = None;
        for number in 0.. {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("u{writer}x{number:05}");
            let connected = client.take().or_else(|| Connection::start(&addresses[(writer + number) % 3]).ok());
            let Some(mut connection) = connected else { continue };
            // One that is not acknowledged may have been made or not.
            match connection.query(&format!("CREATE TYPE ks.{name} (v int)")) {
                Ok(_) => {
                    acknowledged.push(name);
                    self.acknowledged.fetch_add(1, Ordering::Relaxed);
                    client = Some(connection);
                }
                Err(_) => continue,
            }
        }
        acknowledged
    }

    /// Waits for so many acknowledgements more.
    fn wait_for(&self, more: usize) {
        let before = self.acknowledged.load(Ordering::Relaxed);
        until("changes are acknowledged", || self.acknowledged.load(Ordering::Relaxed) >= before + more);
    }
}

#[test]
fn kills_of_each_node_in_turn_lose_no_acknowledged_change() {
    let mut three = Three::start();
    let addresses = [0, 1, 2].map(|node| three.server(node).address());
    let load = Load { is_over: AtomicBool::new(false), acknowledged: AtomicUsize::new(0) };
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let (load, addresses) = (&load, &addresses);
        let writers: Vec<_> = (0..3).map(|writer| scope.spawn(move || load.run(writer, addresses))).collect();
        for round in 0..pick(3, 60) {
            let node = (three.founder + round) % 3;
            load.wait_for(10);
            three.kill(node);
            load.wait_for(10);
            three.restart(node);
        }
        load.wait_for(10);
        load.is_over.store(true, Ordering::Relaxed);
        writers.into_iter().flat_map(|writer| writer.join().expect("a writer does not panic")).collect()
    });
    let types = three.agreed(TYPES);
    let lost: Vec<&String> = acknowledged.iter().filter(|name| !has(&types, name)).collect();
    assert!(lost.is_empty(), "{} acknowledged, and lost: {lost:?}", acknowledged.len());
    println!("{} acknowledged changes, all there", acknowledged.len());
    three.stop();
}
