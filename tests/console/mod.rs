//! The console, and the page of a study, in headless Chromium: the scripts go through them as a person does; here is what they look at.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helenus_tests::{Builder, Net, Server};

/// A browser that hangs is ended.
const BROWSE_TIME_MAX: Duration = Duration::from_secs(300);

#[test]
fn a_person_with_a_keyboard_finds_their_way() {
    let server = Builder::new("uring", 2).for_operators().start();
    browse("browse.js", &server, &[("HELENUS_BINARY", Builder::binary().display().to_string())]);
    server.stop();
}

#[test]
fn a_newcomer_is_led_to_the_first_table() {
    let server = Builder::new("uring", 2).for_operators().start();
    browse("newcomer.js", &server, &[("HELENUS_BINARY", Builder::binary().display().to_string())]);
    server.stop();
}

#[test]
fn the_ring_is_seen_and_heard() {
    let net = Net::new();
    let builders = [1, 2, 3].map(|number| net.node_at(number, Builder::new("auto", 1).for_operators(), &[1]));
    let servers = builders.each_ref().map(Builder::start);
    let addresses = [1, 2, 3].map(|number| net.address(number)).join(",");
    let victim = servers[2].pid().to_string();
    browse("ring.js", &servers[0], &[("HELENUS_NODES", addresses), ("HELENUS_VICTIM", victim)]);
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn a_study_is_read_on_a_phone_and_in_the_dark() {
    let folder = std::env::temp_dir().join(format!("helenus-study-page-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("can be made");
    let results = folder.join("recorded.json");
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/study/testdata/three-rounds.json");
    std::fs::copy(&recorded, &results).expect("is copied");
    let mut render = Command::new(Builder::binary());
    let told = render.arg("study").arg(&results).arg("--render").output().expect("the binary can be run");
    // A load of it fails, and a bound is not held.
    let said = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(1), "{said}");
    walk("study.js", &[("HELENUS_STUDY", format!("file://{}", results.with_extension("html").display()))]);
    let _ = std::fs::remove_dir_all(folder);
}

/// Runs a script that looks at a server.
fn browse(script: &str, server: &Server, given: &[(&str, String)]) {
    let mut all = vec![
        ("HELENUS_CONSOLE", format!("http://127.0.0.1:{}/", server.api_port)),
        ("HELENUS_NATIVE", server.address()),
    ];
    all.extend_from_slice(given);
    walk(script, &all);
}

/// Runs a script, which has to end well. It learns from its environment what is given.
fn walk(script: &str, given: &[(&str, String)]) {
    assert!(
        std::env::var_os("HELENUS_BROWSER").is_some(),
        "HELENUS_BROWSER names no browser: run this by `cargo xtask console`, which fetches one"
    );
    let mut command = Command::new("node");
    command.arg(script).current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("console"));
    command.envs(given.iter().map(|(name, value)| (name, value)));
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("node is there");
    let mut stdout = child.stdout.take().expect("piped above");
    let said = std::thread::spawn(move || {
        let mut said = String::new();
        stdout.read_to_string(&mut said).map(|_| said)
    });
    let deadline = Instant::now() + BROWSE_TIME_MAX;
    let status = loop {
        match child.try_wait().expect("our own child") {
            Some(status) => break Some(status),
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            None => {
                child.kill().expect("it runs");
                break None;
            }
        }
    };
    let said = said.join().expect("the reader does not panic").expect("it says text");
    println!("{said}");
    assert!(status.is_some_and(|status| status.success()), "the page is not as it should be ({status:?}); see above");
}
