//! The console in headless Chromium: `browse.js` goes through it as a person does; here is the server that it looks at.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use helenus_tests::Builder;

/// A browser that hangs is ended.
const BROWSE_TIME_MAX: Duration = Duration::from_secs(150);

#[test]
fn a_person_with_a_keyboard_finds_their_way() {
    assert!(
        std::env::var_os("HELENUS_BROWSER").is_some(),
        "HELENUS_BROWSER names no browser: run this by `cargo xtask console`, which fetches one"
    );
    let server = Builder::new("uring", 2).for_operators().start();
    let mut command = Command::new("node");
    command.arg("browse.js").current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("console"));
    command.env("HELENUS_CONSOLE", format!("http://127.0.0.1:{}/", server.api_port));
    command.env("HELENUS_NATIVE", server.address()).env("HELENUS_BINARY", Builder::binary());
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
    assert!(
        status.is_some_and(|status| status.success()),
        "the console is not as it should be ({status:?}); see above"
    );
    server.stop();
}
