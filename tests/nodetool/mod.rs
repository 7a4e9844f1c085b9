//! `helenus nodetool` against a running node: each command once, with its exit code and what scripts read of it.

use std::time::{Duration, Instant};

use helenus_tests::{Builder, Connection, Server, nodetool};

/// Each command that prints something, as it is typed.
const PRINTING: [&str; 23] = [
    "status shop",
    "ring shop",
    "info",
    "describecluster",
    "version",
    "version -v",
    "compactionstats",
    "getcompactionthroughput",
    "getstreamthroughput -m",
    "statusautocompaction",
    "listsnapshots",
    "tablestats",
    "tablestats -s space_used_live -t 1 shop",
    "tablehistograms",
    "tablehistograms shop orders",
    "proxyhistograms",
    "tpstats",
    "getlogginglevels",
    "compactionhistory",
    "gettraceprobability",
    "toppartitions shop orders 10",
    "gossipinfo",
    "failuredetector",
];

/// The opcode of a refusal.
const ERROR: u8 = 0;

/// The output of a command that must succeed.
fn said(server: &Server, line: &str) -> String {
    let printed = nodetool(server, line);
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "nodetool {line}: {}", printed.output);
    printed.output
}

/// A command that succeeds and has nothing to say.
fn done(server: &Server, line: &str) {
    assert_eq!(said(server, line), "", "nodetool {line}");
}

#[track_caller]
fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in:\n{text}");
}

/// The figure of a line `label: figure`.
fn figure(text: &str, label: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(label)?.strip_prefix(": "));
    let line = line.unwrap_or_else(|| panic!("no `{label}` in:\n{text}"));
    line.parse().unwrap_or_else(|_| panic!("`{label}` is `{line}`"))
}

fn node_with_data() -> Server {
    let server = Builder::new("uring", 2).for_operators().start();
    let mut connection = Connection::start(&server.address()).expect("a client gets in");
    let mut query = |text: &str| {
        let answer = connection.query(text).expect("an answer");
        assert_ne!(answer.opcode, ERROR, "{text}: {}", String::from_utf8_lossy(&answer.body));
    };
    query("CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    query("CREATE TABLE shop.orders (id int, n int, v text, PRIMARY KEY (id, n))");
    query("CREATE TABLE shop.items (id int PRIMARY KEY, v text)");
    for id in 0..200 {
        query(&format!("INSERT INTO shop.orders (id, n, v) VALUES ({id}, 1, 'an order')"));
    }
    server
}

#[test]
fn each_command_does_what_it_says() {
    let server = node_with_data();

    contains(&said(&server, "status"), "\nUN  127.0.0.1  ");
    contains(&said(&server, "status shop"), "Owns (effective)");
    contains(&said(&server, "status -r shop"), "100.0%");
    contains(&said(&server, "ring shop"), "Up     Normal");
    contains(&said(&server, "info"), "Native Transport active: true\n");
    contains(&said(&server, "version"), "ReleaseVersion: 5.0.");
    contains(&said(&server, "describecluster"), "\tshop -> Replication class: SimpleStrategy {replication_factor=1}\n");

    done(&server, "flush shop orders");
    let orders = said(&server, "tablestats shop.orders");
    assert!((1..=2).contains(&figure(&orders, "SSTable count")), "{orders}");
    assert!(figure(&orders, "Space used (live)") > 0, "{orders}");
    assert_eq!(figure(&orders, "Number of partitions (estimate)"), 200, "{orders}");
    assert_eq!(figure(&orders, "Memtable data size"), 0, "{orders}");
    assert_eq!(figure(&orders, "Memtable switch count"), 2, "both shards have flushed once: {orders}");
    contains(&said(&server, "cfstats -H shop"), "\t\tTable: items\n");

    done(&server, "compact shop orders");
    done(&server, "compact");
    done(&server, "garbagecollect");
    done(&server, "cleanup");
    done(&server, "cleanup shop");
    done(&server, "cleanup -j 2 shop orders items");
    done(&server, "cleanup system");
    let orders = said(&server, "tablestats shop.orders");
    assert_eq!(figure(&orders, "Number of partitions (estimate)"), 200, "a node alone keeps all: {orders}");
    done(&server, "scrub");
    done(&server, "scrub --no-snapshot shop orders");
    done(&server, "garbagecollect -g CELL -j 2 shop orders");
    assert!(figure(&said(&server, "tablestats shop.orders"), "SSTable count") <= 2);
    contains(&said(&server, "compactionstats"), "pending tasks                 0");
    let history = said(&server, "compactionhistory");
    contains(&history, "Compaction History: \nid ");
    contains(&history, " shop          orders            ");
    contains(&history, " {1:");
    done(&server, "stop COMPACTION");
    done(&server, "stop CLEANUP");
    done(&server, "stop -id 1-1");
    done(&server, "setcompactionthroughput 32");
    assert_eq!(said(&server, "getcompactionthroughput"), "Current compaction throughput: 32 MB/s\n");

    assert_eq!(said(&server, "statusautocompaction shop"), "running\n");
    done(&server, "disableautocompaction shop orders");
    assert_eq!(said(&server, "statusautocompaction shop"), "partially running\n");
    contains(&said(&server, "statusautocompaction -a shop orders"), "orders not running");
    done(&server, "disableautocompaction");
    assert_eq!(said(&server, "statusautocompaction shop"), "not running\n");
    done(&server, "enableautocompaction");
    assert_eq!(said(&server, "statusautocompaction shop"), "running\n");

    contains(&said(&server, "snapshot -t first shop"), "Snapshot directory: first\n");
    contains(&said(&server, "snapshot -t second -cf orders shop"), "Snapshot directory: second\n");
    contains(&said(&server, "snapshot -t third -kt shop.orders,shop.items"), "Snapshot directory: third\n");
    let snapshots = said(&server, "listsnapshots");
    for tag in ["first", "second", "third"] {
        contains(&snapshots, &format!("\n{tag} "));
    }
    let again = nodetool(&server, "snapshot -t first shop");
    assert_eq!(again.code, 1, "{}", again.errors);
    said(&server, "clearsnapshot -t first");
    assert!(!said(&server, "listsnapshots").contains("first"));
    said(&server, "clearsnapshot --all");
    assert_eq!(said(&server, "listsnapshots"), "Snapshot Details: \nThere are no snapshots\n");

    contains(&said(&server, "tablehistograms shop orders"), "shop/orders histograms\nPercentile  ");
    contains(&said(&server, "proxyhistograms"), "\n99%  ");
    contains(&said(&server, "tpstats"), "\nNative-Transport-Requests ");
    assert_eq!(said(&server, "gettraceprobability"), "Current trace probability: 0.0\n");
    done(&server, "settraceprobability 0.25");
    assert_eq!(said(&server, "gettraceprobability"), "Current trace probability: 0.25\n");
    done(&server, "settraceprobability 0");
    done(&server, "reloadssl");
    done(&server, "refresh shop items");
    let gossip = said(&server, "gossipinfo");
    let generation = gossip.lines().find_map(|line| line.strip_prefix("  generation:")).expect("it has one");
    assert!(generation.parse::<u64>().is_ok_and(|seconds| seconds > 1_700_000_000), "{gossip}");
    contains(&gossip, "/127.0.0.1\n  generation:");
    assert_eq!(said(&server, "failuredetector").lines().count(), 1, "a node alone judges none");
    assert_eq!(said(&server, "getendpoints shop orders 1"), "127.0.0.1\n");
    contains(&nodetool(&server, "getendpoints shop orders one").errors, "the key's column ");
    contains(&nodetool(&server, "getendpoints shop nothing 1").errors, "table shop.nothing does not exist");
    contains(&nodetool(&server, "cms").errors, "this node is alone: its metadata has no other member");
    done(&server, "setlogginglevel root WARN");
    contains(&said(&server, "getlogginglevels"), "\nROOT                                                    WARN\n");

    contains(&said(&server, "help"), "tablestats");
    contains(&said(&server, "help status"), "--resolve-ip");
    server.stop();
}

#[test]
fn each_command_that_prints_prints_json_too() {
    let server = node_with_data();
    for line in PRINTING {
        let text = said(&server, &format!("--json {line}"));
        assert!(text.starts_with("{\n") && text.ends_with("\n}\n"), "nodetool --json {line}: {text}");
        assert!(!said(&server, line).starts_with('{'), "nodetool {line}");
    }
    contains(&said(&server, "tablestats -F yaml shop"), "\n    orders:\n");
    server.stop();
}

#[test]
fn a_no_is_the_nodes_sentence() {
    let server = node_with_data();
    for (line, named) in [
        ("flush nowhere", "nowhere"),
        ("refresh shop nothing", "nothing"),
        ("refresh system local", "system.local"),
        ("flush shop nothing", "nothing"),
        ("compact nowhere", "nowhere"),
        ("garbagecollect nowhere", "nowhere"),
        ("cleanup nowhere", "nowhere"),
        ("cleanup shop nothing", "nothing"),
        ("garbagecollect -g TABLE shop", "ROW or CELL"),
        ("status nowhere", "nowhere"),
        ("snapshot nowhere", "nowhere"),
        ("tablestats nowhere", "nowhere"),
        ("tablehistograms shop nothing", "nothing"),
        ("disableautocompaction nowhere", "nowhere"),
        ("statusautocompaction nowhere", "nowhere"),
        ("frobnicate", "frobnicate"),
    ] {
        let printed = nodetool(&server, line);
        assert_eq!(printed.code, 1, "nodetool {line}: {}{}", printed.output, printed.errors);
        contains(&printed.errors, named);
    }
    server.stop();
}

#[test]
fn a_drained_node_takes_no_writes_and_says_so() {
    let server = node_with_data();
    done(&server, "drain");
    contains(&said(&server, "info"), "Native Transport active: false\n");
    assert_eq!(figure(&said(&server, "tablestats shop.orders"), "Memtable data size"), 0);
    let deadline = Instant::now() + Duration::from_secs(10);
    while Connection::start(&server.address()).is_ok() {
        assert!(Instant::now() < deadline, "a drained node still takes clients");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
}
