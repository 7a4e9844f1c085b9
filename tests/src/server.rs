//! A server process of the binary under test: started on free ports with a folder of its own, ended politely or not.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::process::{pause, signal};
use crate::random::Random;
use crate::verdict::{complaints, hand_over_stalls, stalls_count};

/// Replay of a large log included.
const START_TIME_MAX: Duration = Duration::from_secs(60);
const STOP_TIME_MAX: Duration = Duration::from_secs(30);

/// A reactor's name that forces none, in a process whose calls to io_uring are answered EPERM.
const REFUSED: &str = "refused";

/// Reactor and shard count in all pairs.
pub fn configurations() -> [(&'static str, u16); 4] {
    [("uring", 1), ("uring", 2), ("epoll", 1), ("epoll", 2)]
}

/// How to start a server.
#[derive(Clone, Debug)]
pub struct Builder {
    folder: Folder,
    reactor: String,
    shards: u16,
    arguments: Vec<String>,
    /// Where clients find it.
    ip: String,
    ports: (u16, u16),
    /// For other nodes; 0 is none.
    storage_port: u16,
    /// For operators and for metrics; 0 is none.
    admin_ports: (u16, u16),
    data: Option<PathBuf>,
    /// Words before the command, such as what runs it in another network namespace.
    within: Vec<String>,
    environment: Vec<(String, PathBuf)>,
}

/// A scratch folder, removed with the last builder or server that uses it.
#[derive(Clone, Debug)]
struct Folder(Arc<FolderPath>);

#[derive(Debug)]
struct FolderPath(PathBuf);

impl Drop for FolderPath {
    fn drop(&mut self) {
        // A failed test's data is worth more than a clean /tmp.
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

impl Builder {
    /// A server with a new folder. The reactor `refused` is whichever the server picks where io_uring is refused; it must say so.
    pub fn new(reactor: &str, shards: u16) -> Builder {
        let unique = format!("helenus-test-{}-{}", std::process::id(), next_number());
        let folder = std::env::temp_dir().join(unique);
        std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
        let folder = Folder(Arc::new(FolderPath(folder)));
        let (ports, admin_ports) = ((0, 0), (0, 0));
        let (reactor, ip) = (reactor.to_string(), "127.0.0.1".to_string());
        let storage_port = 0;
        let (arguments, within, environment) = (Vec::new(), Vec::new(), Vec::new());
        let data = None;
        Builder { folder, reactor, shards, arguments, ip, ports, storage_port, admin_ports, data, within, environment }
    }

    /// The same folder, started on another reactor and shard count.
    pub fn dealt_to(mut self, reactor: &str, shards: u16) -> Builder {
        self.reactor = reactor.to_string();
        self.shards = shards;
        self
    }

    /// With these arguments too.
    pub fn with(mut self, arguments: &[&str]) -> Builder {
        self.arguments.extend(arguments.iter().map(|argument| (*argument).to_string()));
        self
    }

    /// With these arguments instead of those that were given before.
    pub fn with_only(mut self, arguments: &[&str]) -> Builder {
        self.arguments.clear();
        self.with(arguments)
    }

    /// The next starts take these ports again: a driver that reconnects must find the server where it was.
    pub fn on_ports_of(mut self, server: &Server) -> Builder {
        self.ports = (server.port, server.shard_aware_port);
        self
    }

    /// Listening for clients on these ports; the second is for those that choose the shard, and 0 is any.
    pub fn on_ports(mut self, native: u16, shard_aware: u16) -> Builder {
        self.ports = (native, shard_aware);
        self
    }

    /// Listening for other nodes on this port.
    pub fn on_storage_port(mut self, port: u16) -> Builder {
        self.storage_port = port;
        self
    }

    /// Listening for clients at this address of loopback.
    pub fn listening_on(mut self, ip: &str) -> Builder {
        self.ip = ip.to_string();
        self
    }

    /// Answering operators over HTTP, which servers of tests do not unless they are asked to: many run at once.
    pub fn for_operators(mut self) -> Builder {
        self.admin_ports = (free_port(), free_port());
        self
    }

    /// Run by another program, which becomes the server: its words come before the command. Its ports are not this process's to look at.
    pub fn within(mut self, words: &[String]) -> Builder {
        self.within = words.to_vec();
        self
    }

    /// With a variable of its environment that names a file.
    pub fn with_variable(mut self, name: &str, file: &Path) -> Builder {
        self.environment.push((name.to_string(), file.to_path_buf()));
        self
    }

    /// The scratch folder, which goes with the last that uses it.
    pub fn folder(&self) -> PathBuf {
        self.folder.0.0.clone()
    }

    /// With the data in a folder that someone else makes and removes.
    pub fn with_data_in(mut self, folder: PathBuf) -> Builder {
        self.data = Some(folder);
        self
    }

    /// With these lines as its configuration file.
    pub fn configured(self, lines: &str) -> Builder {
        let file = self.folder.0.0.join("helenus.yaml");
        std::fs::write(&file, lines).expect("the temporary folder can be written");
        self.with(&["--config", file.to_str().expect("a path in UTF-8")])
    }

    /// The binary under test.
    pub fn binary() -> PathBuf {
        binary()
    }

    /// Where the data lies.
    pub fn data(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| self.folder.0.0.join("data"))
    }

    /// Starts it and waits for the ready line.
    pub fn start(&self) -> Server {
        let mut server = self.launch();
        server.wait_until_ready();
        if self.reactor == REFUSED {
            let said = ["io_uring is refused", "Operation not permitted", "linux-aio"];
            let says_so = |line: &String| said.iter().all(|words| line.contains(words));
            assert!(
                server.lines().iter().any(says_so),
                "no line says what serves instead:\n{}",
                server.lines().join("\n")
            );
        }
        server
    }

    /// Starts it. Its ports are not known until it is [ready](Server::wait_until_ready).
    pub fn launch(&self) -> Server {
        let binary = binary();
        let is_refused = self.reactor == REFUSED;
        let mut command = match self.within.split_first() {
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(&binary);
                command
            }
            None => {
                self.wait_for_ports();
                if is_refused { refused(&binary) } else { Command::new(&binary) }
            }
        };
        command.envs(self.environment.iter().map(|(name, file)| (name, file)));
        let reactor = if is_refused { "auto" } else { &self.reactor };
        command.arg("serve").arg("--data-dir").arg(self.data()).current_dir(&self.folder.0.0);
        command.args(["--listen", &self.ip]);
        command.arg("--port").arg(self.ports.0.to_string()).arg("--shard-aware-port").arg(self.ports.1.to_string());
        if self.storage_port > 0 {
            command.arg("--storage-port").arg(self.storage_port.to_string());
        }
        command.arg("--api-port").arg(self.admin_ports.0.to_string());
        command.arg("--prometheus-port").arg(self.admin_ports.1.to_string());
        command.args(["--reactor", reactor, "--smp", &self.shards.to_string(), "--overprovisioned", "1"]);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let began = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", binary.display()));
        let said = Arc::new(Said::default());
        let readers = vec![
            read(child.stdout.take().expect("piped above"), Arc::clone(&said)),
            read(child.stderr.take().expect("piped above"), Arc::clone(&said)),
        ];
        Server {
            child,
            configuration: format!("{}-{}", self.reactor, self.shards),
            said,
            readers,
            ip: self.ip.clone(),
            port: 0,
            shard_aware_port: 0,
            api_port: self.admin_ports.0,
            metrics_port: self.admin_ports.1,
            began,
            ready_after: Duration::ZERO,
            _folder: self.folder.clone(),
        }
    }

    /// The kernel lets go of the sockets of a killed process that waited on a ring a moment after its end.
    fn wait_for_ports(&self) {
        let deadline = Instant::now() + START_TIME_MAX;
        for port in [self.ports.0, self.ports.1, self.storage_port].into_iter().filter(|port| *port > 0) {
            while let Err(error) = TcpListener::bind((self.ip.as_str(), port)) {
                assert!(Instant::now() < deadline, "port {port} of {} is not free: {error}", self.ip);
                std::thread::yield_now();
            }
        }
    }
}

/// The binary in a process that is refused io_uring. A program of a few lines becomes it: what must stand between fork and exec
/// would be unsafe here.
fn refused(binary: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/python/refusal.py")).arg(binary);
    command
}

/// A port of loopback without a listener. It is below those that the kernel gives to outgoing connections, so none of them has it before the server listens.
pub fn free_port() -> u16 {
    const FIRST: u16 = 11_000;
    const COUNT: usize = 21_000;
    loop {
        let mut random = Random::new(u64::from(std::process::id()) << 32 | next_number() as u64);
        let port = FIRST + random.below(COUNT) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// A number that this process has not given before.
fn next_number() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}

/// The binary under test: HELENUS_BINARY, or the release build.
fn binary() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/helenus");
    let binary = std::env::var_os("HELENUS_BINARY").map_or_else(default, PathBuf::from);
    assert!(
        binary.exists(),
        "{} is missing: run the tests through `cargo xtask`, or `cargo build --release` first",
        binary.display()
    );
    binary
}

/// The lines of a process, and a signal at each.
#[derive(Default)]
struct Said {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

/// Keeps a stream's lines.
fn read(stream: impl Read + Send + 'static, said: Arc<Said>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            said.lines.lock().expect("no reader panics").push(line);
            said.more.notify_all();
        }
    })
}

/// A running server. Dropped, it is killed; a test that cares ends it with [`Server::stop`].
pub struct Server {
    child: Child,
    /// Reactor and shards, for whoever judges stalls.
    configuration: String,
    said: Arc<Said>,
    readers: Vec<std::thread::JoinHandle<()>>,
    ip: String,
    /// Where it listens for CQL.
    pub port: u16,
    /// Where the client's source port chooses the shard.
    pub shard_aware_port: u16,
    /// Where it answers operators, and where it tells metrics; 0: nowhere.
    pub api_port: u16,
    /// See there.
    pub metrics_port: u16,
    /// When the process was started.
    pub began: Instant,
    /// How long it took from there to the ready line.
    pub ready_after: Duration,
    _folder: Folder,
}

impl Server {
    /// Where it listens for CQL, as `address:port`.
    pub fn address(&self) -> String {
        format!("{}:{}", self.ip, self.port)
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub fn lines(&self) -> Vec<String> {
        self.said.lines.lock().expect("no reader panics").clone()
    }

    /// Waits for a line that has all of these words, said already or not, and gives it.
    pub fn wait_for_line(&mut self, words: &[&str]) -> String {
        let deadline = Instant::now() + START_TIME_MAX;
        loop {
            // Looked at before the lines: all that an ended process said is among them.
            let is_over = !self.is_alive() || Instant::now() >= deadline;
            if !self.is_alive() {
                self.join_readers();
            }
            let lines = self.said.lines.lock().expect("no reader panics");
            if let Some(line) = lines.iter().find(|line| words.iter().all(|words| line.contains(words))) {
                return line.clone();
            }
            if is_over {
                drop(lines);
                panic!("no line has {words:?}");
            }
            drop(self.said.more.wait_timeout(lines, Duration::from_millis(50)));
        }
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Stops the process (SIGSTOP) until [`Server::resume`].
    pub fn pause(&self) {
        pause(self.pid(), STOP_TIME_MAX);
    }

    /// Lets a stopped process go on (SIGCONT).
    pub fn resume(&self) {
        self.signal("CONT");
    }

    /// Does something while the process stands still (SIGSTOP), such as a copy of its disk.
    pub fn while_paused<T>(&self, work: impl FnOnce() -> T) -> T {
        self.pause();
        let done = work();
        self.resume();
        done
    }

    /// Sends a signal.
    fn signal(&self, name: &str) {
        assert!(signal(self.pid(), name), "the server was gone before SIG{name}:\n{}", self.lines().join("\n"));
    }

    /// SIGTERM: it must drain, sync and end with code 0, and its log must hold no complaint.
    pub fn stop(self) {
        self.lines_after_stop();
    }

    /// [`Server::stop`], and all that it has said.
    pub fn lines_after_stop(mut self) -> Vec<String> {
        self.signal("TERM");
        let status = self.wait(STOP_TIME_MAX);
        let said = self.lines().join("\n");
        let status = status.unwrap_or_else(|| panic!("no end within {STOP_TIME_MAX:?} of SIGTERM:\n{said}"));
        assert!(status.success(), "ended with {status}:\n{said}");
        self.assert_no_complaints();
        self.lines()
    }

    /// Waits until the process ends by itself in order, with code 0, and gives all that it has said.
    pub fn lines_after_end(mut self) -> Vec<String> {
        let status = self.wait(STOP_TIME_MAX);
        let said = self.lines().join("\n");
        let status = status.unwrap_or_else(|| panic!("it does not end by itself:\n{said}"));
        assert!(status.success(), "ended with {status}:\n{said}");
        self.assert_no_complaints();
        self.lines()
    }

    /// Waits until the process ends by itself, with another code than 0, and gives all that it has said.
    pub fn lines_after_failure(mut self) -> Vec<String> {
        let status = self.wait(START_TIME_MAX);
        let said = self.lines().join("\n");
        let status = status.unwrap_or_else(|| panic!("it does not end by itself:\n{said}"));
        assert_eq!(status.code(), Some(1), "ended with {status}:\n{said}");
        assert!(!said.contains("panicked"), "{said}");
        self.lines()
    }

    /// SIGKILL: it must have been alive until then, and its log must hold no complaint.
    pub fn kill(mut self) {
        assert!(self.is_alive(), "ended by itself:\n{}", self.lines().join("\n"));
        self.child.kill().expect("it was alive");
        let _ = self.wait(STOP_TIME_MAX);
        self.assert_no_complaints();
    }

    /// SIGKILL, whatever it had to say by then: for a server whose disk or power is gone. Gives its log.
    pub fn kill_without_judging(mut self) -> Vec<String> {
        self.child.kill().expect("nobody else has waited for it");
        let _ = self.wait(STOP_TIME_MAX);
        self.lines()
    }

    /// No stall over 5 ms, no panic, no error in the log.
    pub fn assert_no_complaints(&self) {
        let found = self.complaints();
        assert!(found.is_empty(), "the server's log says:\n{}", found.join("\n"));
    }

    /// What its log has that it must not have. Stalls are left to whoever runs the suite, if it judges them.
    pub fn complaints(&self) -> Vec<String> {
        let lines = self.lines();
        let count_here = stalls_count() && !hand_over_stalls(&lines, &self.configuration);
        complaints(&lines, count_here).into_iter().cloned().collect()
    }

    fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + time;
        let status = loop {
            match self.child.try_wait().expect("our own child") {
                None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                status => break status,
            }
        };
        if status.is_some() {
            self.join_readers();
        }
        status
    }

    fn join_readers(&mut self) {
        for reader in self.readers.drain(..) {
            reader.join().expect("a reader does not panic");
        }
    }

    /// Waits for the ready line, which names the ports.
    pub fn wait_until_ready(&mut self) {
        let line = self.wait_for_line(&["Helenus is ready"]);
        self.ready_after = self.began.elapsed();
        let before = format!("{}:", self.ip);
        let clients = line.split("; console on").next().unwrap_or_default();
        let mut ports = clients.split(&before).skip(1).map(leading_number);
        self.port = ports.next().unwrap_or_else(|| panic!("the ready line names no port: {line}"));
        self.shard_aware_port = ports.next().unwrap_or(0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.lines().join("\n"));
        }
    }
}

fn leading_number(text: &str) -> u16 {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().expect("a port")
}
