//! Whole runs against a server that keeps rows in a map, and fails as it is told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use clap::Parser;
use cql_protocol::segment::{self, Codec, Decoded};
use cql_protocol::{
    ColumnSpec, ErrorBody, FrameHeader, HEADER_LENGTH, PreparedReply, QueryParams, Request, RowsHead, RowsWriter,
    Specs, Version, write_error, write_prepared, write_ready, write_void,
};
use cql_types::CqlType;
use runtime::{Group, Runtime, TcpListener, TcpStream};

use crate::StressError;
use crate::cpu_time::CpuTimes;
use crate::raw::report::Report;
use crate::raw::statistics::Statistics;
use crate::raw::{Arguments, session};

/// What the server does wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LosesRow(u64),
    ChangesRow(u64),
    Overloaded,
    HangsUp,
    /// Answers nothing from the first statement on.
    FallsSilent,
    /// Answers nothing at all.
    IsSilent,
    /// Takes its time for each statement.
    Slow,
    AnswersTwice,
    RefusesTables,
    ForgetsDeletions,
    /// Has the schema of the other nodes when it was asked for it some times, or never.
    LearnsLate,
    NeverLearns,
    /// Numbers prepared statements in a way of its own.
    OtherIds,
}

/// How long a slow server takes for a statement, and how long one may be silent here.
const SLOW: Duration = Duration::from_millis(2);
const SILENCE: Duration = Duration::from_millis(240);

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    arguments: Arguments,
}

/// A word's `_` stands for a space.
fn arguments(text: &str, node: SocketAddr) -> Arguments {
    let node = node.to_string();
    let given = text.split_whitespace().map(|word| word.replace('_', " "));
    let words = ["stress", "--raw", "--node", &node].into_iter().map(String::from).chain(given);
    CommandLine::try_parse_from(words).unwrap().arguments
}

struct Server {
    fault: Fault,
    rows: RefCell<BTreeMap<Vec<u8>, Vec<Vec<u8>>>>,
    /// The timestamps of the last updates.
    timestamps: RefCell<BTreeMap<Vec<u8>, Vec<u8>>>,
    executes: Cell<u64>,
    /// How often it was asked for the version of its schema.
    versions_asked: Cell<u64>,
    /// Connections that have begun.
    begun: Cell<usize>,
    /// Those of them that had when the first statement came.
    begun_before: Cell<usize>,
}

async fn serve(runtime: Runtime, listener: TcpListener, server: Rc<Server>) {
    while let Ok((socket, _)) = listener.accept().await {
        let stream = runtime.adopt(socket);
        runtime.spawn(Group::Query, converse(runtime.clone(), stream, server.clone()));
    }
}

async fn converse(runtime: Runtime, stream: TcpStream, server: Rc<Server>) {
    let (mut arrived, mut frames) = (Vec::new(), Vec::new());
    let mut in_segments = false;
    loop {
        arrived.reserve(64 << 10);
        let (read, buffer) = stream.read(arrived).await;
        arrived = buffer;
        if !read.is_ok_and(|count| count > 0) {
            return;
        }
        if in_segments {
            while let Decoded::Segment { used, .. } = segment::decode(&arrived, Codec::Plain, &mut frames).unwrap() {
                arrived.drain(..used);
            }
        } else {
            frames.append(&mut arrived);
        }
        let mut out = Vec::new();
        let was_in_segments = in_segments;
        while let Some(head) = frames.first_chunk::<HEADER_LENGTH>() {
            let header = FrameHeader::decode(head).unwrap();
            let length = HEADER_LENGTH + header.length as usize;
            if frames.len() < length {
                break;
            }
            let frame: Vec<u8> = frames.drain(..length).collect();
            let request = Request::decode(&header, &frame[HEADER_LENGTH..]).unwrap();
            in_segments |= header.version == Version::V5;
            if server.fault == Fault::Slow && matches!(request, Request::Execute(_)) {
                runtime.sleep(SLOW).await;
            }
            if !server.answer(&header, &request, &mut out) {
                let _ = stream.shutdown();
                return;
            }
        }
        if was_in_segments {
            let mut segments = Vec::new();
            segment::encode_frames(&out, Codec::Plain, &mut segments);
            out = segments;
        }
        if stream.write_all(out).await.0.is_err() {
            return;
        }
    }
}

impl Server {
    fn new(fault: Fault) -> Server {
        Server {
            fault,
            rows: RefCell::default(),
            executes: Cell::default(),
            timestamps: RefCell::default(),
            versions_asked: Cell::default(),
            begun: Cell::default(),
            begun_before: Cell::default(),
        }
    }

    /// Answers a request, or says that the connection is to end.
    fn answer(&self, header: &FrameHeader, request: &Request<'_>, out: &mut Vec<u8>) -> bool {
        let (version, stream) = (header.version, header.stream);
        match request {
            _ if self.fault == Fault::IsSilent => {}
            Request::Execute(_) if self.fault == Fault::FallsSilent => {}
            Request::Startup(_) => {
                self.begun.set(self.begun.get() + 1);
                write_ready(out, version, stream);
            }
            Request::Query(query) if self.fault == Fault::RefusesTables && query.text.contains("TABLE") => {
                write_error(out, version, stream, &ErrorBody::invalid("no tables today"));
            }
            Request::Query(query) if query.text.contains("schema_version") => {
                self.versions_asked.set(self.versions_asked.get() + 1);
                let is_old = match self.fault {
                    Fault::LearnsLate => self.versions_asked.get() < 4,
                    fault => fault == Fault::NeverLearns,
                };
                return answer_rows(header, &[if is_old { b"old" } else { b"new" }], out);
            }
            Request::Query(query) if query.text.starts_with("SELECT *") => self.page(&query.params, header, out),
            Request::Query(_) => write_void(out, version, stream),
            Request::Prepare(prepare) => {
                let text = prepare.text;
                let id: &[u8] = match text.split(' ').next() {
                    Some("INSERT") if text.contains("IF NOT EXISTS") => b"conditional",
                    Some("SELECT") if text.contains("count") => b"count",
                    Some("INSERT") if text.contains("TTL") => b"expire",
                    Some("INSERT") if text.contains("TIMESTAMP") => b"update",
                    Some("INSERT") if self.fault == Fault::OtherIds => b"other",
                    Some("INSERT") => b"insert",
                    Some("DELETE") => b"delete",
                    _ => b"select",
                };
                let own_markers = [("k", &CqlType::Blob), ("v", &CqlType::Int)].map(|(name, ty)| ColumnSpec {
                    keyspace: "ks",
                    table: "t",
                    name,
                    ty,
                });
                let reply = PreparedReply {
                    id,
                    result_metadata_id: b"columns",
                    markers: if id == b"conditional" { &own_markers } else { &[] },
                    partition_key: &[],
                    columns: &[],
                };
                write_prepared(out, version, stream, &reply);
            }
            Request::Execute(execute) => {
                if self.executes.get() == 0 {
                    self.begun_before.set(self.begun.get());
                }
                self.executes.set(self.executes.get() + 1);
                match self.fault {
                    Fault::HangsUp if self.executes.get() > 50 => return false,
                    Fault::AnswersTwice => write_void(out, version, stream),
                    Fault::Overloaded if self.executes.get().is_multiple_of(10) => {
                        write_error(out, version, stream, &ErrorBody::overloaded("full"));
                        return true;
                    }
                    _ => {}
                }
                let values = execute.params.values.iter().map(|value| value.bytes().unwrap().to_vec());
                let mut values: Vec<Vec<u8>> = values.collect();
                match execute.id {
                    b"insert" => drop(self.rows.borrow_mut().insert(values.remove(0), values)),
                    b"select" => {
                        self.read(&values[0], version, stream, out);
                        return true;
                    }
                    b"conditional" => {
                        let key = values.remove(0);
                        let is_new = self.rows.borrow_mut().insert(key, values).is_none();
                        return answer_rows(header, &[&[u8::from(is_new)]], out);
                    }
                    b"count" => return answer_rows(header, &[b"1", b"2", b"3"], out),
                    b"delete" => self.update(values.pop().unwrap(), values.pop().unwrap(), None),
                    // What expires has, as far as a client that waits can tell.
                    b"expire" => self.update(values.remove(0), values.pop().unwrap(), None),
                    _ => {
                        let (key, timestamp) = (values.remove(0), values.pop().unwrap());
                        self.update(key, timestamp, Some(values));
                    }
                }
                write_void(out, version, stream);
            }
            other => panic!("{other:?} was not expected"),
        }
        true
    }

    fn update(&self, key: Vec<u8>, timestamp: Vec<u8>, values: Option<Vec<Vec<u8>>>) {
        let mut timestamps = self.timestamps.borrow_mut();
        let last = timestamps.entry(key.clone()).or_default();
        if *last > timestamp {
            return;
        }
        *last = timestamp;
        match values {
            Some(values) => drop(self.rows.borrow_mut().insert(key, values)),
            None if self.fault == Fault::ForgetsDeletions => {}
            None => drop(self.rows.borrow_mut().remove(&key)),
        }
    }

    /// A paging state is how many rows were before.
    fn page(&self, params: &QueryParams<'_>, header: &FrameHeader, out: &mut Vec<u8>) {
        let head = RowsHead { columns: Specs::Skip { count: 1 }, new_metadata_id: None };
        let mut writer = RowsWriter::begin(out, header.version, header.stream, &head);
        let before = params.paging_state.map_or(0, |state| u64::from_be_bytes(state.try_into().unwrap()) as usize);
        let after = before + params.page_size.unwrap() as usize;
        let rows = self.rows.borrow();
        let lost = |key: &[u8]| self.fault == Fault::LosesRow(std::str::from_utf8(key).unwrap().parse().unwrap());
        for key in rows.keys().take(after).skip(before).filter(|key| !lost(key)) {
            writer.value(out, Some(key));
            writer.end_row();
        }
        let next = (after < rows.len()).then(|| (after as u64).to_be_bytes());
        writer.finish(out, next.as_ref().map(<[u8; 8]>::as_slice));
    }

    fn read(&self, key: &[u8], version: Version, stream: i16, out: &mut Vec<u8>) {
        let head = RowsHead { columns: Specs::Skip { count: 5 }, new_metadata_id: None };
        let mut writer = RowsWriter::begin(out, version, stream, &head);
        let rows = self.rows.borrow();
        let number: u64 = std::str::from_utf8(key).unwrap().parse().unwrap();
        if let Some(values) = rows.get(key).filter(|_| self.fault != Fault::LosesRow(number)) {
            for (index, value) in values.iter().enumerate() {
                let mut value = value.clone();
                if self.fault == Fault::ChangesRow(number) && index == 4 {
                    value[0] ^= 1;
                }
                writer.value(out, Some(&value));
            }
            writer.end_row();
        }
        writer.finish(out, None);
    }
}

/// Answers with rows of one column.
fn answer_rows(header: &FrameHeader, rows: &[&[u8]], out: &mut Vec<u8>) -> bool {
    let head = RowsHead { columns: Specs::Skip { count: 1 }, new_metadata_id: None };
    let mut writer = RowsWriter::begin(out, header.version, header.stream, &head);
    for row in rows {
        writer.value(out, Some(row));
        writer.end_row();
    }
    writer.finish(out, None);
    true
}

/// Runs each command line in turn against one server. Gives the first failure, and the rows that the server then has.
fn run(fault: Fault, lines: &[&str]) -> (Result<(), StressError>, usize) {
    let (result, rows, _) = run_and_look(fault, lines);
    (result, rows)
}

/// The same, and how many connections had begun when the first statement came.
fn run_and_look(fault: Fault, lines: &[&str]) -> (Result<(), StressError>, usize, usize) {
    let main = |runtime: Runtime| async move {
        let listener = runtime.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let node = listener.local_addr().unwrap();
        let server = Rc::new(Server::new(fault));
        runtime.spawn(Group::Query, serve(runtime.clone(), listener, server.clone()));
        let mut result = Ok(());
        for line in lines {
            let mut arguments = arguments(line, node);
            if matches!(fault, Fault::IsSilent | Fault::FallsSilent) {
                arguments.silence_max = SILENCE;
            }
            arguments.check().unwrap();
            result = session::run(&runtime, &arguments).await;
            if result.is_err() {
                break;
            }
        }
        let rows = server.rows.borrow().len();
        (result, rows, server.begun_before.get())
    };
    runtime::run(runtime::Options::default(), vec![main]).unwrap().remove(0)
}

/// Runs a command line against two nodes, the second of which has a fault. Gives the rows of each, and how often the second was asked for its schema.
fn run_on_two(fault: Fault, line: &str) -> (Result<(), StressError>, [usize; 2], u64) {
    let line = line.to_owned();
    let main = |runtime: Runtime| async move {
        let servers = [Fault::None, fault].map(|fault| Rc::new(Server::new(fault)));
        let mut nodes = Vec::new();
        for server in &servers {
            let listener = runtime.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
            nodes.push(listener.local_addr().unwrap());
            runtime.spawn(Group::Query, serve(runtime.clone(), listener, server.clone()));
        }
        let mut arguments = arguments(&line, nodes[0]);
        arguments.node = nodes;
        if fault == Fault::NeverLearns {
            arguments.silence_max = SILENCE;
        }
        arguments.check().unwrap();
        let result = session::run(&runtime, &arguments).await;
        (result, servers.each_ref().map(|server| server.rows.borrow().len()), servers[1].versions_asked.get())
    };
    runtime::run(runtime::Options::default(), vec![main]).unwrap().remove(0)
}

#[test]
fn connections_are_spread_over_nodes_that_have_one_schema() {
    let line = "write --connections 5 --depth 7 --rows 1000";
    let (result, rows, asked) = run_on_two(Fault::None, line);
    result.unwrap();
    assert!(rows[0] > 0 && rows[1] > 0 && rows[0] + rows[1] == 1000 && asked == 1, "{rows:?}, {asked}");
    let (result, rows, asked) = run_on_two(Fault::LearnsLate, line);
    result.unwrap();
    assert!(rows[0] + rows[1] == 1000 && asked == 4, "{rows:?}, {asked}");
    let (result, rows, _) = run_on_two(Fault::NeverLearns, line);
    assert!(matches!(result, Err(StressError::Schema { .. })) && rows == [0, 0], "{result:?}, {rows:?}");
    let (result, rows, _) = run_on_two(Fault::OtherIds, line);
    assert!(matches!(result, Err(StressError::Malformed { .. })) && rows == [0, 0], "{result:?}, {rows:?}");
}

#[test]
fn rows_are_written_and_read_back() {
    for protocol in ["--protocol 4", "--protocol 5"] {
        let line = |rest: &str| format!("{rest} --rows 1000 {protocol}");
        let (result, rows) = run(
            Fault::None,
            &[
                &line("write --connections 3 --depth 7"),
                &line("read --depth 1 --operations 100"),
                &line("mixed --ratio 1:1 --distribution uniform --operations 5000 --warmup 100"),
            ],
        );
        result.unwrap();
        assert_eq!(rows, 1000);
    }
}

#[test]
fn many_clients_with_one_request_each_are_all_connected_before_the_first() {
    let line = "write --connections 100 --depth 1 --rows 1 --operations 1000";
    let (result, rows, begun) = run_and_look(Fault::None, &[line]);
    result.unwrap();
    assert_eq!(rows, 1, "all fell on one row");
    // One more had prepared the statements.
    assert_eq!(begun, 101);
}

#[test]
fn a_rate_is_kept_and_all_are_answered() {
    for protocol in ["--protocol 4", "--protocol 5"] {
        let began = std::time::Instant::now();
        // A tenth of a second's: however slow this machine is, that is no backlog.
        let line = format!("write --rows 300 --rate 3000 --connections 3 --depth 2 {protocol}");
        let (result, rows) = run(Fault::None, &[&line]);
        result.unwrap();
        assert_eq!(rows, 300);
        // The last is due when 299 of 3000 of a second are over.
        assert!(began.elapsed() >= Duration::from_micros(99_600), "{:?}", began.elapsed());
    }
    // More than one stream can carry: each waits for the one before, and none is left out.
    let (result, rows) = run(Fault::None, &["write --rows 2000 --rate 1000000000 --depth 1"]);
    result.unwrap();
    assert_eq!(rows, 2000);
}

/// Runs a command line and reads the report that it wrote.
fn run_and_read(fault: Fault, line: &str) -> (Result<(), StressError>, serde_json::Value) {
    let file = std::env::temp_dir().join(format!("stress-raw-{}.json", std::process::id()));
    let (result, _) = run(fault, &[&format!("{line} --json {}", file.display())]);
    let report = std::fs::read(&file).expect("a report is written");
    std::fs::remove_file(&file).unwrap();
    (result, serde_json::from_slice(&report).expect("it is JSON"))
}

#[test]
fn a_rate_that_is_not_kept_is_told_and_none_is_left_out_of_the_latencies() {
    // The last is due after 0.3 s, when the server has answered 150 at most.
    let (result, report) = run_and_read(Fault::Slow, "write --rows 600 --rate 2000 --depth 1");
    let Err(StressError::Late { asked: 2000, done, reason }) = result else { panic!("{result:?}") };
    assert!(done < 600.0 && reason.contains("of 600 operations had not started"), "{done} {reason}");
    assert_eq!(report["rate_kept"], false, "{report:#}");
    let latency = &report["latency_micros"]["write"];
    // The middle one is due after 0.15 s and begins after 0.6 s at the earliest.
    assert!(latency["count"] == 600 && latency["p50"].as_f64().unwrap() > 440_000.0, "{report:#}");
    let (result, report) = run_and_read(Fault::None, "write --rows 300 --rate 3000");
    result.unwrap();
    assert_eq!(report["rate_kept"], true, "{report:#}");
    let (result, report) = run_and_read(Fault::None, "write --rows 300");
    result.unwrap();
    assert!(report.as_object().unwrap().contains_key("rate_kept") && report["rate_kept"].is_null(), "{report:#}");
}

#[test]
fn people_are_told_too_that_a_rate_was_not_kept() {
    let arguments = arguments("write --rate 9", "127.0.0.1:1".parse().unwrap());
    let cpu = CpuTimes { generator: Duration::ZERO, server: None };
    let text = |late: Option<String>| {
        let statistics = &Statistics { late, ..Statistics::new() };
        let elapsed = Duration::from_secs(1);
        Report { arguments: &arguments, reactor: "uring", elapsed, statistics, cpu }.text()
    };
    let told = "THE RATE WAS NOT KEPT: 9 a second were asked for, 0 were done; they waited\n";
    assert!(text(Some("they waited".to_owned())).contains(told), "{}", text(Some("they waited".to_owned())));
    assert!(!text(None).contains("NOT KEPT"));
}

#[test]
fn a_server_that_falls_silent_ends_the_run() {
    let lines =
        ["write --rows 100", "write --rows 9 --connections 3 --depth 2 --rate 1000 --protocol 5", "read --warmup 9"];
    for (fault, line) in lines.map(|line| (Fault::FallsSilent, line)).into_iter().chain([(Fault::IsSilent, "write")]) {
        let began = std::time::Instant::now();
        let (result, _) = run(fault, &[line]);
        let Err(StressError::Silent { time: SILENCE, .. }) = &result else { panic!("{line}: {result:?}") };
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with("127.0.0.1:") && text.contains(" 0.24 s"), "{text}");
        assert!(began.elapsed() >= SILENCE, "{line}");
    }
}

#[test]
fn a_scan_goes_over_all_pages_and_misses_what_is_lost() {
    let lines = ["write --rows 12000 --value-bytes 8", "scan --rows 12000", "scan --rows 12000 --operations 8"];
    run(Fault::None, &lines).0.unwrap();
    match run(Fault::LosesRow(17), &lines).0 {
        Err(StressError::Failures { operations: 3, missing: 1, errors: 0, wrong: 0, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_deep_pipeline_of_large_rows_does_not_stick() {
    let (result, rows) = run(
        Fault::None,
        &["write --rows 3000 --depth 3000 --value-bytes 4000", "read --rows 3000 --depth 3000 --value-bytes 4000"],
    );
    result.unwrap();
    assert_eq!(rows, 3000);
}

fn failures(fault: Fault) -> (u64, u64, u64, String) {
    match run(fault, &["write --rows 100", "read --rows 100"]).0 {
        Err(StressError::Failures { errors, missing, wrong, first, .. }) => (errors, missing, wrong, first),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_failure_is_told() {
    assert_eq!(failures(Fault::LosesRow(17)), (0, 1, 0, "row 17 is missing".to_owned()));
    assert_eq!(failures(Fault::ChangesRow(99)), (0, 0, 1, "row 99 has other values than were written".to_owned()));
    assert_eq!(failures(Fault::Overloaded), (10, 0, 0, "Overloaded (0x1001): full".to_owned()));
    let (result, _) = run(Fault::ChangesRow(3), &["write --rows 10", "read --rows 10 --no-verify"]);
    result.unwrap();
    let (result, _) = run(Fault::None, &["write --rows 10", "read --rows 11"]);
    assert!(matches!(result, Err(StressError::Failures { missing: 1, .. })), "{result:?}");
    let (result, _) = run(Fault::None, &["write --rows 10", "read --rows 10 --seed 2"]);
    assert!(matches!(result, Err(StressError::Failures { wrong: 10, .. })), "{result:?}");
}

#[test]
fn another_order_has_other_rows_of_the_same_values() {
    let uniform = "--distribution uniform --rows 1000000 --operations 10";
    let (write, read) = (format!("write {uniform}"), format!("read {uniform}"));
    let again = |line: &str| format!("{line} --order-seed 2");
    let (result, rows) = run(Fault::None, &[&write, &write, &read]);
    result.unwrap();
    assert_eq!(rows, 10);
    let (result, rows) = run(Fault::None, &[&write, &again(&write), &again(&read)]);
    result.unwrap();
    assert_eq!(rows, 20);
}

#[test]
fn a_statement_of_ones_own_is_bound_and_its_replies_are_judged() {
    let insert =
        "statement --statement INSERT_INTO_t_(k,_v)_VALUES_(?,_?)_IF_NOT_EXISTS --rows 300 --bind row_{row%200}";
    for protocol in ["--protocol 4", "--protocol 5"] {
        let line = |rest: &str| format!("{insert} {rest} {protocol}");
        let (result, rows) = run(Fault::None, &[&line("--bind {row} --expect 1")]);
        result.unwrap();
        assert_eq!(rows, 200);
        let (result, _) = run(Fault::None, &[&line("--bind -1 --expect applied")]);
        let Err(StressError::Failures { errors: 0, missing: 0, wrong: 100, first, .. }) = result else {
            panic!("{result:?}")
        };
        assert_eq!(first, "row 200: the statement was not applied");
        let (result, _) = run(Fault::None, &[&line("--bind 1 --expect 2")]);
        assert!(matches!(result, Err(StressError::Failures { wrong: 300, .. })), "{result:?}");
        let (result, _) = run(Fault::Overloaded, &[&line("--bind 1")]);
        assert!(matches!(result, Err(StressError::Failures { errors: 30, wrong: 0, .. })), "{result:?}");
    }
    run(Fault::None, &["statement --statement SELECT_count --rows 10 --expect 3"]).0.unwrap();
    for wrong in ["--bind 1 --bind 2", "", "--bind x"] {
        let (result, _) = run(Fault::None, &[&format!("{insert} {wrong}")]);
        assert!(matches!(result, Err(StressError::Arguments { .. })), "{result:?}");
    }
}

#[test]
fn what_updates_leave_is_checked() {
    // Several connections, so that updates of a row overtake each other.
    let updates = "update --rows 200 --operations 5000 --connections 4 --depth 16";
    let check = "check --rows 200 --updates 5000 --depth 16";
    let (result, rows) = run(Fault::None, &[updates, check]);
    result.unwrap();
    assert!((100..200).contains(&rows), "{rows} rows are there");
    let (result, _) = run(Fault::ForgetsDeletions, &[updates, check]);
    let Err(StressError::Failures { errors: 0, missing: 0, wrong: 1.., first, .. }) = result else {
        panic!("{result:?}")
    };
    assert!(first.ends_with("exists, expected none"), "{first}");
    let (result, _) = run(Fault::None, &[updates, "check --rows 200 --updates 4000"]);
    assert!(matches!(result, Err(StressError::Failures { .. })), "{result:?}");
    let (result, _) = run(
        Fault::LosesRow(0),
        &[
            "update --rows 1 --operations 9 --deletes 0 --expiring 0",
            "check --rows 1 --updates 9 --deletes 0 --expiring 0",
        ],
    );
    assert!(matches!(result, Err(StressError::Failures { missing: 1, .. })), "{result:?}");
}

#[test]
fn a_server_that_breaks_the_protocol_ends_the_run() {
    let (result, _) = run(Fault::HangsUp, &["write --rows 100"]);
    assert!(matches!(result, Err(StressError::Closed { .. } | StressError::Connection { .. })), "{result:?}");
    let (result, _) = run(Fault::AnswersTwice, &["write --rows 100 --depth 2"]);
    assert!(matches!(result, Err(StressError::Malformed { .. })), "{result:?}");
    let (result, _) = run(Fault::RefusesTables, &["write"]);
    assert!(matches!(result, Err(StressError::Refused { .. })), "{result:?}");
}

#[test]
fn odd_arguments_are_refused() {
    let node = "127.0.0.1:1".parse().unwrap();
    for line in [
        "write --rows 0",
        "write --rows 10000000001",
        "write --operations 0",
        "write --depth 0",
        "write --depth 40000",
        "write --connections 0",
        "write --value-bytes 40000",
        "update --deletes 600 --expiring 500",
        "update --ttl 0",
        "update --warmup 1",
        "check --rows 1000000000",
        "write --rate 0",
        "scan --connections 2",
        "write --node 127.0.0.1:2",
        "scan --rate 5",
        "statement",
        "write --bind 5",
        "write --statement SELECT",
        "statement --statement SELECT --echo",
    ] {
        assert!(matches!(arguments(line, node).check(), Err(StressError::Arguments { .. })), "{line}");
    }
    let command = ["stress", "--raw", "mixed", "--ratio", "0:0"];
    assert!(CommandLine::try_parse_from(command).is_err());
    assert!(CommandLine::try_parse_from(["stress", "write"]).is_err(), "--raw must be said");
}
