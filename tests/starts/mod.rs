//! Starts that fail: the reason is all that is printed, and the data directory stays as it was.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use helenus_tests::Builder;

/// Runs `helenus serve` until it ends by itself.
fn serve(data: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(Builder::binary());
    command.arg("serve").arg("--data-dir").arg(data).args(["--smp", "1", "--overprovisioned", "1"]).args(arguments);
    command.output().expect("the binary runs")
}

fn only_sentence(output: &Output) -> &str {
    assert!(!output.status.success(), "it started");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    let said = std::str::from_utf8(&output.stderr).expect("UTF-8").trim_end();
    let sentence = said.strip_prefix("helenus: ").unwrap_or_else(|| panic!("log lines before the reason:\n{said}"));
    assert!(!sentence.contains('\n'), "more than the reason:\n{said}");
    sentence
}

#[test]
fn a_start_that_fails_says_why_alone_and_writes_nothing() {
    let running = Builder::new("epoll", 1).for_operators().start();
    let (port, api) = (running.port.to_string(), running.api_port.to_string());
    let other = Builder::new("epoll", 1);
    let data = other.folder().join("data");

    let taken = ["--port", &port, "--shard-aware-port", "0", "--api-port", "0", "--prometheus-port", "0"];
    let output = serve(&data, &taken);
    let sentence = only_sentence(&output);
    assert!(sentence.starts_with(&format!("127.0.0.1:{port} is in use by another process")), "{sentence}");
    assert!(!data.join("metadata.log").exists(), "a group was founded though the node cannot serve");

    let output =
        serve(&data, &["--port", "0", "--shard-aware-port", "0", "--api-port", &api, "--prometheus-port", "0"]);
    let sentence = only_sentence(&output);
    assert!(sentence.contains("admin API") && sentence.contains("--api-port"), "{sentence}");

    fs::write(other.folder().join("file"), "").expect("the folder can be written");
    let output = serve(&other.folder().join("file"), &["--port", "0", "--shard-aware-port", "0"]);
    let sentence = only_sentence(&output);
    assert!(sentence.starts_with("cannot use data directory"), "{sentence}");
}

#[test]
fn a_second_process_on_a_data_directory_says_so_alone() {
    let first = Builder::new("epoll", 1);
    let _running = first.start();
    let output = serve(&first.data(), &["--port", "0", "--shard-aware-port", "0"]);
    let sentence = only_sentence(&output);
    assert!(sentence.contains("is in use by another process; stop that process"), "{sentence}");
}

#[test]
fn the_ready_line_names_the_console() {
    let mut server = Builder::new("epoll", 1).for_operators().start();
    let line = server.wait_for_line(&["Helenus is ready"]);
    let console = format!("; console on http://127.0.0.1:{}/; data in ", server.api_port);
    assert!(line.contains(&console) && line.contains(&format!("Try: helenus cql 127.0.0.1 {}", server.port)), "{line}");
}
