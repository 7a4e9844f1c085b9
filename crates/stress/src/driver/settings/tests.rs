//! The published command lines, each option, and what is refused.

use std::time::{Duration, SystemTime};

use scylla::statement::Consistency;

use super::*;

/// The words of a line as a shell without quotes gives them: a backslash keeps the next character from its meaning and goes.
fn shell(line: &str) -> Vec<String> {
    line.split_whitespace().map(|word| word.replace('\\', "")).collect()
}

fn parse(line: &str) -> Settings {
    Settings::parse(&shell(line)).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refused(line: &str) -> String {
    match Settings::parse(&shell(line)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{line} is not refused"),
    }
}

const SCHEMA: &str = r"-schema keyspace=ksx replication\(strategy=NetworkTopologyStrategy, datacenter1=1\)";

#[test]
fn the_published_write_is_read() {
    let settings = parse(&format!(
        "write no-warmup n=9000000 -node 10.0.0.1 -rate threads=100 -mode native cql3 -pop seq=1..3000000 {SCHEMA}"
    ));
    assert_eq!(settings.command.kinds, [(Kind::Write, 1.0)]);
    assert_eq!(settings.command.length, Length::Operations(9_000_000));
    assert!(!settings.command.warmup);
    assert_eq!(settings.command.consistency, Consistency::LocalOne);
    assert_eq!(settings.rate, RateSettings::Threads { threads: 100, limit: Limit::None });
    assert_eq!(settings.population, PopulationSettings::Sequence { first: 1, last: 3_000_000, wraps: true });
    assert_eq!(settings.connection.nodes, ["10.0.0.1:9042"]);
    assert_eq!(settings.columns.names, ["C0", "C1", "C2", "C3", "C4"]);
    assert_eq!(settings.columns.size.to_string(), "FIXED(34)");
    assert_eq!(
        settings.schema.create_keyspace(),
        "CREATE KEYSPACE IF NOT EXISTS \"ksx\" WITH replication = \
         {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'} AND durable_writes = true"
    );
    assert_eq!(
        settings.schema.create_table("standard1", &settings.columns, "blob"),
        "CREATE TABLE IF NOT EXISTS \"ksx\".\"standard1\" (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \
         \"C3\" blob, \"C4\" blob) WITH compression = {}"
    );
    assert_eq!(settings.errors, ErrorSettings { ignored: false, tries: 10, validated: true });
}

#[test]
fn the_published_read_is_read() {
    let settings = parse(&format!(
        r"read no-warmup n=9000000 -node 10.0.0.1 -rate threads=400 -mode native cql3 -pop dist=gaussian\(1..9000000,4500000,10000\) {SCHEMA}"
    ));
    assert_eq!(settings.command.kinds, [(Kind::Read, 1.0)]);
    assert_eq!(settings.rate, RateSettings::Threads { threads: 400, limit: Limit::None });
    let PopulationSettings::Drawn(distribution) = settings.population else { panic!("{:?}", settings.population) };
    assert_eq!(distribution.to_string(), "GAUSSIAN(1..9000000,4500000,10000)");
}

#[test]
fn the_published_mixed_load_is_read() {
    let settings = parse(&format!(
        r"mixed ratio\(write=2,read=8\) no-warmup n=9000000 -node 10.0.0.1 -rate threads=400 -mode native cql3 -pop dist=gaussian\(1..9000000,4500000,10000\) {SCHEMA}"
    ));
    assert_eq!(settings.command.kinds, [(Kind::Write, 2.0), (Kind::Read, 8.0)]);
    assert_eq!(settings.command.clustering, "GAUSSIAN(1..10)".parse().unwrap());
    let halves = parse("mixed n=5 -rate threads=1");
    assert_eq!(halves.command.kinds, [(Kind::Read, 1.0), (Kind::Write, 1.0)]);
}

#[test]
fn defaults_are_those_of_cassandra_stress() {
    let settings = parse("write n=2K");
    assert_eq!(settings.command.length, Length::Operations(2_000));
    assert!(settings.command.warmup);
    assert_eq!(settings.rate, RateSettings::Threads { threads: 200, limit: Limit::None });
    assert_eq!(settings.population, PopulationSettings::Sequence { first: 1, last: 2_000, wraps: true });
    assert_eq!(settings.connection.nodes, ["localhost:9042"]);
    assert_eq!(settings.schema.keyspace, "keyspace1");
    assert!(settings.schema.create_keyspace().contains("{'class': 'SimpleStrategy', 'replication_factor': '1'}"));
    let settings = parse("read duration=2m");
    assert_eq!(settings.command.length, Length::Time(Duration::from_secs(120)));
    assert_eq!(settings.rate, RateSettings::Search { least: 4, most: 1000, auto: true });
    assert_eq!(settings.population, PopulationSettings::Drawn("gaussian(1..1000000)".parse().unwrap()));
    let settings = parse("counter_write -rate threads=3");
    assert_eq!(settings.command.length, Length::Error { target: 0.02, least: 30, most: 200 });
    assert_eq!(settings.command.kinds, [(Kind::CounterWrite, 1.0)]);
}

#[test]
fn logins_and_certificates_are_read_and_no_debug_text_has_a_password() {
    let line = "write n=1 -mode user=u password=hidden -credentials-file c.properties \
                -transport truststore=ca keystore=own truststore-password=x ssl-protocol=TLS";
    let settings = parse(line);
    let login = &settings.connection.login;
    assert_eq!((login.password.as_deref(), &login.file), (Some("hidden"), &Some("c.properties".into())));
    let files = settings.connection.tls.as_ref().expect("TLS");
    assert_eq!((files.trusted.to_str(), &files.own), (Some("ca"), &Some(("own".into(), "own".into()))));
    assert!(!format!("{settings:?}").contains("hidden"));
    assert_eq!(parse("write n=1").connection.tls, None);
}

#[test]
fn every_option_is_read() {
    let settings = parse(
        r"COUNTER_READ err<0.1 n>5 n<9 cl=local_quorum truncate=once add=uniform(1..3)
          -node a,b:9043,::1 whitelist datacenter=dc2 -port native=9142 jmx=7199
          -rate threads=20 fixed=5000/s
          -pop seq=10...20 no-wrap contents=sorted
          -col names=b,a size=uniform(1..9) timestamp=77 slice comparator=UTF8Type
          -schema compaction(strategy=LeveledCompactionStrategy,sstable_size_in_mb=10) compression=LZ4Compressor replication(factor=3)
          -mode native cql3 prepared user=u password=p protocolVersion=4 connectionsPerHost=2 maxPending=10 compression=lz4
          -log file=l hdrfile=h interval=500ms level=minimal no-summary no-settings
          -errors ignore retries=2 skip-read-validation --json=j.json --pid 77,78 --cpus 3 --seed 9",
    );
    assert_eq!(settings.command.length, Length::Error { target: 0.1, least: 5, most: 9 });
    assert_eq!(settings.command.consistency, Consistency::LocalQuorum);
    assert_eq!(settings.command.truncate, Truncate::Once);
    assert_eq!(settings.command.add.to_string(), "UNIFORM(1..3)");
    assert_eq!(settings.connection.nodes, ["a:9142", "b:9043", "[::1]:9142"]);
    assert!(settings.connection.whitelist);
    assert_eq!(settings.connection.datacenter.as_deref(), Some("dc2"));
    let login = &settings.connection.login;
    assert_eq!((login.user.as_deref(), login.password.as_deref()), (Some("u"), Some("p")));
    assert_eq!((settings.connection.per_host, settings.connection.pending_max), (Some(2), Some(60)));
    assert!(settings.connection.compression.is_some());
    assert_eq!(settings.rate, RateSettings::Threads { threads: 20, limit: Limit::Fixed(5000) });
    assert_eq!(settings.population, PopulationSettings::Sequence { first: 10, last: 20, wraps: false });
    assert_eq!(settings.columns.names, ["a", "b"]);
    assert_eq!((settings.columns.timestamp, settings.columns.slice), (Some(77), true));
    assert!(settings.schema.create_keyspace().contains("'replication_factor': '3'"));
    let table = settings.schema.create_table("counter1", &settings.columns, "counter");
    let options = "WITH compression = {'class': 'LZ4Compressor'} AND compaction = \
                   {'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '10'}";
    assert!(table.contains("\"a\" counter, \"b\" counter") && table.ends_with(options), "{table}");
    assert_eq!(settings.errors, ErrorSettings { ignored: true, tries: 3, validated: false });
    assert_eq!(settings.log.interval, Duration::from_millis(500));
    assert!(!settings.log.tells_errors && !settings.log.summary && !settings.log.settings);
    let own = OwnSettings {
        json: Some("j.json".into()),
        pids: vec![77, 78],
        cpus: Some(3),
        seed: Some(9),
        ..OwnSettings::default()
    };
    assert_eq!(settings.own, own);
    let settings = parse("write n=1 -rate threads=2 fixed=10/s --start-at 1800000000.25");
    assert_eq!(settings.own.start_at, Some(SystemTime::UNIX_EPOCH + Duration::from_millis(1_800_000_000_250)));
    let settings = parse("read duration=10s -rate threads=2 --sweep p99<5ms");
    assert_eq!(settings.own.sweep, "p99<5ms".parse().ok());
    let settings = parse("write n=1 -rate threads=2 throttle=10/s -col n=FIXED(12)");
    assert_eq!(settings.rate, RateSettings::Threads { threads: 2, limit: Limit::Throttle(10) });
    assert_eq!(settings.columns.names[..3], ["C0", "C1", "C10"]);
    let settings = parse("write n=1 -rate threads>=2 threads<=9 auto -mode native cql3");
    assert_eq!(settings.rate, RateSettings::Search { least: 2, most: 9, auto: true });
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    for (line, told) in [
        ("user ops(insert=1) n=5", "profile="),
        ("user profile=a.yaml n=5", "ops()"),
        ("user profile=a.yaml,b.yaml ops(insert=1) n=5", "several profiles"),
        ("user profile=/there/is/none ops(insert=1) n=5", "/there/is/none"),
        ("print dist=fixed(1)", "print"),
        ("write n=1 -rate threads=2 --start-at tomorrow", "seconds since 1970"),
        ("write n=1 -rate threads=2 --start-at -5", "seconds since 1970"),
        ("write n=1 -rate threads>=2 --start-at 5", "excludes --sweep"),
        ("write duration=1s -rate threads=2 --start-at 5 --sweep p99<1ms", "excludes --sweep"),
        ("write duration=1s -rate threads=2 --sweep p98<1ms", "such as p99<10ms"),
        ("write n=1 -rate threads=2 --sweep p99<1ms", "duration="),
        ("write duration=1s -rate threads=2 fixed=5/s --sweep p99<1ms", "and no rate"),
        ("write duration=1s --sweep p99<1ms", "threads="),
        ("write n=1 -graph file=x", "-graph"),
        ("write n=1 -tokenrange wrap", "-tokenrange"),
        ("write n=1 -transport keystore=x", "-transport"),
        ("write n=1 -transport truststore=x ssl-ciphers=y", "ssl-ciphers"),
        ("write n=1 -transport truststore=x ssl-protocol=SSLv3", "ssl-protocol"),
        ("write n=1 -mode password=x", "user="),
        ("write n=1 -credentials-file", "-credentials-file"),
        ("write n=1 -insert visits=fixed(1)", "-insert"),
        ("write n=1 -what", "-what"),
        ("write n=1 what", "what"),
        ("write n=x", "n=x"),
        ("write n=1 duration=5s", "duration="),
        ("write n=1 err<0.1", "err<"),
        ("write n=1 cl=SERIAL", "cl=SERIAL"),
        ("write n=1 ratio(read=1)", "ratio"),
        ("mixed ratio(delete=1) n=1", "delete"),
        ("mixed ratio(read=0) n=1", "above 0"),
        ("write n=1 -rate threads=0", "threads=0"),
        ("write n=1 -rate threads=4 fixed=5", "5000/s"),
        ("write n=1 -rate threads=4 fixed=5/s throttle=5/s", "exclude"),
        ("write n=1 -rate fixed=5/s", "threads="),
        ("write n=1 -rate threads=4 auto", "auto"),
        ("write n=1 -pop seq=5..1", "5..1"),
        ("write n=1 -pop dist=zipf(1..5)", "zipf"),
        ("write n=1 -pop read-lookback=fixed(1)", "read-lookback"),
        ("write n=1 -col n=uniform(1..5)", "FIXED"),
        ("write n=1 -col names=a,a", "names="),
        ("write n=1 -col size=fixed(1B)", "bytes"),
        ("write n=1 -schema replication(strategy)", "strategy"),
        ("write n=1 -schema compaction(a=b)", "strategy="),
        ("write n=1 -mode simplenative", "simplenative"),
        ("write n=1 -mode thrift", "thrift"),
        ("write n=1 -mode protocolVersion=5", "protocolVersion=5"),
        ("write n=1 -rate threads=100 -mode maxPending=10", "maxPending="),
        ("write n=1 -errors retries=x", "retries=x"),
        ("write n=1 -log level=loud", "level=loud"),
        ("write n=1 --cpus 0", "--cpus"),
        ("write n=1 --json", "--json"),
    ] {
        let reason = refused(line);
        assert!(reason.contains(told), "{line}: {reason}");
    }
}

/// A profile in a file of its own, as long as it is held.
struct ProfileFile(std::path::PathBuf);

impl ProfileFile {
    fn new(name: &str, text: &str) -> ProfileFile {
        let path = std::env::temp_dir().join(format!("helenus-stress-{}-{name}.yaml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        ProfileFile(path)
    }
}

impl Drop for ProfileFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_load_of_a_profile_is_read_with_its_defaults() {
    let file =
        ProfileFile::new("read", "keyspace: ks\ntable: t\nqueries: {q: {cql: select 1}}\ninsert: {select: fixed(1)/4}");
    let user = format!("user profile={}", file.0.display());
    let settings = parse(&format!(
        r"{user} ops(insert=1,Q=2) clustering=fixed(3) n=50 -insert visits=fixed(2) select-ratio=fixed(1)/2 batchtype=unlogged"
    ));
    assert_eq!(settings.command.kinds, [(Kind::Insert, 1.0), (Kind::Query("q"), 2.0)]);
    assert_eq!((settings.command.clustering.to_string().as_str(), settings.keyspace()), ("FIXED(3)", "ks"));
    assert_eq!(settings.rate, RateSettings::Search { least: 4, most: 1000, auto: true });
    assert_eq!(settings.population, PopulationSettings::Drawn("gaussian(1..50)".parse().unwrap()));
    let LoadSettings::Profile(profile) = &settings.command.load else { panic!("{settings:?}") };
    assert_eq!((profile.insert.select.most(), profile.insert.visits.range()), (0.5, (2, 2)));
    let inserts = parse(&format!("{user} ops(insert=1) n=50"));
    assert_eq!(inserts.population, PopulationSettings::Sequence { first: 1, last: 50, wraps: true });
    assert!(inserts.command.makes_schema() && parse(&format!("{user} ops(q=1)")).command.makes_schema());
    for (rest, told) in [
        ("ops(insert=1,w=2)", "unknown operation w"),
        ("ops(insert=0)", "above 0"),
        ("ops(insert=1,insert=1)", "duplicate"),
        ("ops(insert=1) -schema keyspace=x", "-schema"),
        ("ops(insert=1) -col n=fixed(5)", "-col"),
        ("ops(insert=1) -pop contents=sorted", "contents="),
        ("ops(insert=1) -insert partitions=uniform(0..1)", "from 1 to"),
        ("ops(insert=1) -insert what=1", "what=1"),
    ] {
        let reason = refused(&format!("{user} n=5 {rest}"));
        assert!(reason.contains(told), "{rest}: {reason}");
    }
}

#[test]
fn a_workload_of_ycsb_is_read_with_its_defaults() {
    let load =
        parse("ycsb load workload=a recordcount=5K insertstart=1K -rate threads=7 -schema compression=LZ4Compressor");
    assert_eq!(load.population, PopulationSettings::Sequence { first: 1_000, last: 4_999, wraps: false });
    assert_eq!((load.command.length, load.command.warmup, load.keyspace()), (Length::Operations(4_000), false, "ycsb"));
    assert!(load.command.makes_schema());
    let text = load.schema.create_texts("usertable", "y_id", &["field0".to_owned()]);
    assert_eq!(
        text,
        "CREATE TABLE IF NOT EXISTS \"ycsb\".\"usertable\" (y_id varchar PRIMARY KEY, \"field0\" varchar) WITH compression = {'class': 'LZ4Compressor'}"
    );
    let run = parse("ycsb workload=d cl=quorum");
    assert_eq!(run.population, PopulationSettings::Requested(Requests::Latest));
    assert_eq!(run.rate, RateSettings::Threads { threads: 1, limit: Limit::None });
    assert_eq!(
        (run.command.clustering.to_string().as_str(), run.command.consistency),
        ("FIXED(1)", Consistency::Quorum)
    );
    assert!(!run.command.makes_schema());
    assert!(run.schema.create_texts("t", "k", &[]).ends_with("(k varchar PRIMARY KEY)"));
    for (rest, told) in [
        ("-pop seq=1..5", "-pop"),
        ("-col n=fixed(1)", "-col"),
        ("-insert visits=fixed(1)", "-insert"),
        ("add=fixed(1)", "add="),
    ] {
        let reason = refused(&format!("ycsb workload=a {rest}"));
        assert!(reason.contains(told), "{rest}: {reason}");
    }
}
