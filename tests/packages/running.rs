//! A node runs from the unpacked package, under another user, with the configuration that is in it.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use helenus_tests::free_port;

use super::Root;

/// Time in which a node starts, or stops.
const PATIENCE: Duration = Duration::from_secs(60);

/// A number without an account on any machine.
const STRANGER: u32 = 64_321;

/// True if this process may take another number.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").expect("/proc is there").uid() == 0
}

/// The binary of the package as another user; as this one where only root could change that.
fn as_stranger(binary: &Path) -> Command {
    if !is_root() {
        return Command::new(binary);
    }
    let number = STRANGER.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &number, "--regid", &number, "--clear-groups", "--no-new-privs"]).arg(binary);
    command
}

/// Ends a node that a failed test has left running.
struct Node(Child);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Node {
    /// Starts it, and waits for the ready line.
    fn started(command: &mut Command) -> Node {
        let mut node = Node(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the binary runs"));
        let output = node.0.stdout.take().expect("piped above");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                // The test that waited may have failed.
                let _ = sender.send(line);
            }
        });
        let line = lines.recv_timeout(PATIENCE).expect("a ready line");
        assert!(line.contains("Helenus is ready"), "{line}");
        node
    }

    /// SIGTERM, as systemd sends it; the exit code.
    fn stopped(mut self) -> Option<i32> {
        let asked = Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().expect("kill runs");
        assert!(asked.success());
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().expect("it can be waited for") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "no end {} s after SIGTERM", PATIENCE.as_secs());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_node_runs_from_the_package_as_another_user() {
    let root = Root::unpacked("node");
    let binary = root.path("usr/bin/helenus");
    let data = root.path("var/lib/helenus");
    std::fs::create_dir_all(&data).expect("the root can be written");
    let owner = if is_root() { STRANGER } else { std::fs::metadata(&data).expect("it is there").uid() };
    if is_root() {
        chown(&data, Some(STRANGER), Some(STRANGER)).expect("root may give it away");
    }
    // The packaged file as it is, but for what other tests beside this one have: the data directory and the ports.
    let packaged = root.text("etc/helenus/cassandra.yaml");
    let placed = packaged.replace("/var/lib/helenus\n", &format!("{}\n", data.display()));
    assert_ne!(placed, packaged, "the packaged file names no data directory");
    let config = root.path("etc/helenus/cassandra.yaml");
    std::fs::write(&config, placed).expect("the root can be written");
    let (port, api) = (free_port().to_string(), free_port().to_string());
    let mut serve = as_stranger(&binary);
    serve.arg("serve").arg("--config").arg(&config).args(["--port", &port, "--api-port", &api]);
    serve.args(["--shard-aware-port", "0", "--prometheus-port", "0", "--storage-port", &free_port().to_string()]);
    serve.args(["--smp", "1", "--overprovisioned", "1", "--memory", "512M"]);
    let node = Node::started(&mut serve);

    let pid = node.0.id();
    let about = std::fs::metadata(format!("/proc/{pid}")).expect("it runs");
    assert_eq!(about.uid(), owner);
    // The mappings that the unit's MemoryDenyWriteExecute= refuses.
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("root and the owner may read them");
    let is_both =
        |line: &&str| line.split_whitespace().nth(1).is_some_and(|mode| mode.contains('w') && mode.contains('x'));
    assert_eq!(maps.lines().find(is_both), None, "memory that can be written and executed");

    let mut shell = as_stranger(&binary);
    let said = shell.args(["cql", "127.0.0.1", &port, "-e", "SELECT cluster_name FROM system.local"]).output();
    let said = said.expect("the shell runs");
    assert!(said.status.success() && text(&said).contains("Test Cluster"), "{}", text(&said));
    let mut nodetool = as_stranger(&binary);
    let said = nodetool.args(["nodetool", "-p", &api, "status"]).output().expect("nodetool runs");
    assert!(said.status.success() && text(&said).contains("UN"), "{}", text(&said));
    let healthy = health(&api);
    assert!(healthy.status.success(), "{}", text(&healthy));

    assert_eq!(node.stopped(), Some(0));
    assert!(!health(&api).status.success(), "a node that has stopped is healthy");
    let entry = std::fs::read_dir(&data).expect("the data directory").next().expect("it has files").expect("an entry");
    assert_eq!(entry.metadata().expect("it is there").uid(), owner);
}

/// Asks as the container's health check does.
fn health(api: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib/docker/healthcheck.sh");
    Command::new("bash").arg(script).arg(api).output().expect("bash runs")
}
