//! `helenus study`: servers are started, take turns, are measured and ended; what is told is there; a bound that is not held fails the study.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use helenus_tests::Builder;
use serde_json::Value;

const STUDY: &str = r#"
title: One beside the other
subject: first
repeats: 2
variables:
  rows: 2000
  serve: "{helenus} serve --port {port} --shard-aware-port 0 --api-port 0 --prometheus-port 0 --smp 1 --memory 512M --data-dir {folder}/data"
  raw: "{helenus} stress --raw"
systems:
  - {name: first, start: "{serve}"}
  - {name: kept, start: "{serve} --commitlog-sync group", keep: true}
loads:
  - name: write
    run: "{raw} write --node {node} --rows {rows} {measure}"
    run_on: {kept: "{helenus} stress write no-warmup n={rows} -node {node} -rate threads=20 {measure}"}
    at_least: {throughput: 0.000001}
  - name: replay
    before: kill
    run: "{raw} read --node {node} --rows {rows} {measure}"
    run_on: {kept: "{helenus} stress read no-warmup n={rows} -pop seq=1..{rows} -node {node} -rate threads=20 {measure}"}
    levels: [1, 2]
    level_name: times
"#;

/// A folder of its own, taken away at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let place = std::env::temp_dir().join(format!("helenus-study-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("can be made");
        Place(place)
    }

    /// Runs a study of that text.
    fn study(&self, text: &str, words: &[&str]) -> Output {
        let file = self.0.join("tiny.yaml");
        std::fs::write(&file, text).expect("can be written");
        let mut command = Command::new(Builder::binary());
        command.arg("study").arg(&file).arg("--out").arg(self.0.join("out")).arg("--data").arg(self.0.join("data"));
        command.args(words).stdin(Stdio::null()).output().expect("the binary can be run")
    }

    /// The file in the results' folder that ends so.
    fn result(&self, end: &str) -> PathBuf {
        let mut files =
            std::fs::read_dir(self.0.join("out")).expect("is there").map(|entry| entry.expect("is read").path());
        files.find(|path| path.to_string_lossy().ends_with(end)).unwrap_or_else(|| panic!("no {end}"))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Processes that run on data in the folder.
fn left_behind(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").expect("is there").flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&*folder.to_string_lossy()) && line.contains("serve")).collect()
}

#[test]
fn servers_take_turns_and_all_of_it_is_told() {
    let place = Place::new("turns");
    let ran = place.study(STUDY, &["--set", "rows=3000"]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("round 2 of 2: kept") && said.contains("| replay 2 | kept |"), "{said}");
    let of_first = said.lines().find(|line| line.contains("(run 1 of 12, about ")).expect("the time left is told");
    assert!(of_first.starts_with("round 1 of 2: first") && of_first.ends_with(" s left)"), "{said}");
    assert!(
        said.lines().any(|line| line.starts_with("round 2 of 2: kept") && line.ends_with("(run 12 of 12)")),
        "{said}"
    );
    assert_eq!(left_behind(&place.0), Vec::<String>::new(), "servers end with the study");

    let raw = place.result(".json");
    let results: Value = serde_json::from_str(&std::fs::read_to_string(&raw).expect("is read")).expect("is JSON");
    let samples = results["samples"].as_array().expect("a list");
    assert_eq!(samples.len(), 2 * 2 * 3, "rounds, systems, and one write with two levels of reads");
    for sample in samples {
        assert_eq!(sample["error"], Value::Null, "{sample}");
        assert_eq!(sample["figures"]["operations"], 3000.0, "{sample}");
        assert!(sample["figures"]["server_cpu_micros"].as_f64() > Some(0.1), "{sample}");
    }
    // It was killed before the reads, which found all rows: so it was started on its data. The kept one is started anew in the first round alone.
    let starts = |system: &str, load: &str| {
        let of = |sample: &&Value| {
            sample["system"] == system && sample["load"] == load && sample["start_seconds"].is_number()
        };
        samples.iter().filter(of).count()
    };
    assert_eq!([starts("first", "write"), starts("first", "replay"), starts("kept", "write")], [2, 2, 1]);

    let page = place.result(".html");
    let before = std::fs::read_to_string(&page).expect("is read");
    assert!(before.contains("<svg") && before.contains("One beside the other"));
    std::fs::remove_file(&page).expect("is removed");
    let again = Command::new(Builder::binary()).arg("study").arg(&raw).arg("--render").output().expect("can be run");
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&page).expect("is written anew"), before);
}

/// A ring that is measured as one system, beside a node alone.
const RING: &str = r#"
title: Three beside one
subject: ring
repeats: 1
variables:
  keyspace: "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '3'}"
  table: "CREATE TABLE IF NOT EXISTS k.t (k bigint PRIMARY KEY, v text)"
  serve: "{helenus} serve --listen {host} --port {port} --shard-aware-port 0 --api-port 0 --prometheus-port 0 --smp 1 --overprovisioned --memory 256M --data-dir {folder}/{number}"
  # `{brace}row}` is the generator's own `{row}`.
  brace: "{"
  cql: '{helenus} stress --raw statement --node {nodes} --connections 3 --setup "{keyspace}" --setup "{table}" --rows 300'
  insert: '--statement "INSERT INTO k.t (k, v) VALUES (?, ?)" --bind {brace}row} --bind {text:9} --expect 0'
systems:
  - name: ring
    nodes: 3
    start: "{serve} --listen-address {host} --storage-port {storage_port} --seeds 127.0.0.1"
    until: "{cql} {insert} --consistency ALL --depth 1 --operations 30"
  - {name: alone, start: "{serve}"}
loads:
  - name: write
    on: [ring]
    run: "{cql} {insert} --consistency QUORUM {measure}"
  - name: read
    on: [ring]
    before: kill
    run: '{cql} --consistency QUORUM {measure} --statement "SELECT v FROM k.t WHERE k = ?" --bind {brace}row} --expect 1'
  - name: rows
    run: "{helenus} stress --raw write --node {nodes} --connections 3 --rows 300 {measure}"
"#;

#[test]
fn a_ring_of_several_nodes_is_one_system() {
    let place = Place::new("ring");
    let ran = place.study(RING, &[]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(left_behind(&place.0), Vec::<String>::new(), "all nodes end with the study");
    let text = std::fs::read_to_string(place.result(".json")).expect("is read");
    let results: Value = serde_json::from_str(&text).expect("is JSON");
    let samples = results["samples"].as_array().expect("a list");
    let processes = |sample: &Value| {
        let line = sample["line"].as_str().expect("a line").to_owned();
        let pids =
            line.split(" --pid ").nth(1).and_then(|rest| rest.split(' ').next()).expect("has processes").to_owned();
        pids.split(',').count()
    };
    let told: Vec<(&str, usize)> =
        samples.iter().map(|sample| (sample["load"].as_str().unwrap_or_default(), processes(sample))).collect();
    assert_eq!(told, [("write", 3), ("read", 3), ("rows", 3), ("rows", 1)]);
    for sample in samples {
        assert_eq!(
            (&sample["error"], &sample["figures"]["operations"]),
            (&Value::Null, &Value::from(300.0)),
            "{sample}"
        );
    }
}

#[test]
fn what_does_not_hold_or_cannot_run_fails() {
    let place = Place::new("fails");
    let words = ["--repeats", "1", "--loads", "write"];
    let ran = place.study(&STUDY.replace("0.000001", "1000000"), &words);
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("1000000: not held"));
    // A typo in a load is told by its own words, while the study runs and at its end, and again of the raw data.
    std::fs::remove_dir_all(place.0.join("out")).expect("is removed");
    let ran = place.study(&STUDY.replacen("--rows", "--rwos", 1), &words);
    let typo = "exit status: 1: error: unexpected argument '--rwos' found";
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("write: no figures; {typo} (run 1 of 2")), "{said}");
    assert!(said.contains(&format!("failed: round 1, first, write: {typo}\n    error: ")), "{said}");
    let raw = place.result(".json");
    let results: Value = serde_json::from_str(&std::fs::read_to_string(&raw).expect("is read")).expect("is JSON");
    let stderr = results["samples"][0]["stderr"].as_str().expect("is kept");
    assert!(stderr.contains("a similar argument exists: '--rows'"), "{stderr}");
    let again = Command::new(Builder::binary()).arg("study").arg(&raw).arg("--render").output().expect("can be run");
    assert_eq!(again.status.code(), Some(1));
    let page = std::fs::read_to_string(raw.with_extension("html")).expect("is written");
    assert!(
        page.contains(&format!("Failed: round 1, first, write: {typo}</p>")) && page.contains("a similar argument")
    );
    let ran = place.study(&STUDY.replace("--smp 1", "--smp-of 1"), &words);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(1) && said.contains("first.log"), "{said}");
    for (words, expected) in [
        (["--set", "rows"], "NAME=VALUE"),
        (["--loads", "wirte"], "unknown load `wirte`"),
        (["--set", "serve={nothing}"], "{nothing} has no value"),
    ] {
        let ran = place.study(STUDY, &words);
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(!ran.status.success() && said.contains(expected), "{words:?}: {said}");
    }
    assert_eq!(left_behind(&place.0), Vec::<String>::new());
}
