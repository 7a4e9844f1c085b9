//! A server under measurement: started, waited for, stopped while others have their turn, ended.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::iter::Sum;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::StudyError;
use crate::file::{Ready, System};
use crate::generator;
use crate::limits::{self, MemoryGroup};
use crate::said;
use crate::template::Variables;

/// How long a server may take to answer, and to end when it is asked to.
const START_TIME_MAX: Duration = Duration::from_secs(180);
const END_TIME_MAX: Duration = Duration::from_secs(120);
/// How long one attempt to be answered may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);
/// How often ports are tried.
const PORT_TRIES_MAX: usize = 10;
/// How often it is looked whether something has come about.
const PAUSE: Duration = Duration::from_millis(2);
/// How long after its first answer a server is idle.
const REST: Duration = Duration::from_secs(1);

/// A server has settled when it has used less than this share of one processor for that long, and it may take so long until then.
const SETTLED_SHARE: f64 = 0.05;
const SETTLED_TIME: Duration = Duration::from_secs(10);
const SETTLE_TIME_MAX: Duration = Duration::from_secs(3600);

/// OPTIONS of version 4 of the native protocol, and the head of its answer, SUPPORTED.
const OPTIONS: [u8; 9] = [0x04, 0, 0, 0, 0x05, 0, 0, 0, 0];
const SUPPORTED: u8 = 0x06;
const ANSWER_OF_VERSION_4: u8 = 0x84;

/// What a start took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Start {
    /// From the process to its first answer.
    pub(crate) seconds: f64,
    /// What it held in memory a second later.
    pub(crate) idle_bytes: Option<u64>,
}

/// A server that was started here, or that runs elsewhere. It may have several nodes, each a process of its own.
#[derive(Debug)]
pub(crate) struct Server {
    system: System,
    folder: PathBuf,
    variables: Variables,
    /// Where each node answers.
    addresses: Vec<String>,
    /// None once it has ended.
    running: Option<Running>,
    /// Where in its log the last start begins, in bytes.
    log_from: u64,
}

/// Its processes, in the order of its nodes; dropped, they are killed.
#[derive(Debug)]
struct Running {
    nodes: Vec<Child>,
    /// Goes after the processes have ended.
    group: Option<MemoryGroup>,
}

impl Running {
    fn pids(&self) -> Vec<u32> {
        self.nodes.iter().map(Child::id).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // All are killed before any is waited for, so that none works on for a moment without the others.
        self.nodes.iter_mut().for_each(|node| drop(node.kill()));
        self.nodes.iter_mut().for_each(|node| drop(node.wait()));
    }
}

impl Server {
    /// A server that is not started yet, whose data will be in a folder of its own in `data`.
    pub(crate) fn of(system: &System, data: &Path, variables: &Variables) -> Result<Server, StudyError> {
        let folder = data.join(&system.name);
        let addresses = system.address.iter().map(|address| variables.fill(address)).collect::<Result<_, _>>()?;
        Ok(Server {
            system: system.clone(),
            folder,
            variables: variables.clone(),
            addresses,
            running: None,
            log_from: 0,
        })
    }

    /// True if the study may start and end it.
    pub(crate) fn is_ours(&self) -> bool {
        self.system.start.is_some()
    }

    /// The variables of its lines. Before its first start it has no address.
    pub(crate) fn variables(&self) -> Variables {
        self.at(self.addresses.first().map_or("", String::as_str)).with("nodes", self.addresses.join(","))
    }

    /// The same variables, with one of its nodes as the one that is meant.
    fn at(&self, address: &str) -> Variables {
        let (host, port) = address.rsplit_once(':').unwrap_or_default();
        let variables = self.variables.with("node", address).with("host", host).with("port", port);
        variables.with("folder", self.folder.display())
    }

    /// The generator's options for a report with the server's CPU time.
    pub(crate) fn measure_options(&self, report: &Path) -> String {
        let pids: Vec<String> = self.pids().iter().map(u32::to_string).collect();
        let pids = if pids.is_empty() { String::new() } else { format!("--pid {} ", pids.join(",")) };
        format!("{pids}--json '{}'", report.display())
    }

    /// Starts it with no data, one node after another: the first founds the ring that the others join.
    pub(crate) fn start_fresh(&mut self) -> Result<Start, StudyError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|source| self.folder_failed(source))?;
        }
        fs::create_dir_all(&self.folder).map_err(|source| self.folder_failed(source))?;
        self.start_nodes(true)
    }

    /// Starts it on the data that it has, all nodes at once: one alone may need others before it answers.
    pub(crate) fn start(&mut self) -> Result<Start, StudyError> {
        self.start_nodes(false)
    }

    fn start_nodes(&mut self, one_by_one: bool) -> Result<Start, StudyError> {
        let hosts: Vec<Ipv4Addr> = (1..=self.system.nodes).map(|number| Ipv4Addr::new(127, 0, 0, number)).collect();
        let [port, storage_port] = free_ports(&hosts).map_err(|error| self.failed(format!("no free port: {error}")))?;
        self.addresses = hosts.iter().map(|host| format!("{host}:{port}")).collect();
        self.running = Some(Running { nodes: Vec::new(), group: self.memory_group()? });
        self.log_from = fs::metadata(self.log_path()).map_or(0, |log| log.len());
        let began = Instant::now();
        for index in 0..hosts.len() {
            self.spawn(index, storage_port)?;
            if one_by_one {
                self.wait_for_answer(index, began)?;
            }
        }
        (0..hosts.len()).try_for_each(|index| self.wait_for_answer(index, began))?;
        self.wait_until_ready(began)?;
        let seconds = began.elapsed().as_secs_f64();
        std::thread::sleep(REST);
        Ok(Start { seconds, idle_bytes: self.resident_bytes() })
    }

    /// Starts the process of a node.
    fn spawn(&mut self, index: usize, storage_port: u16) -> Result<(), StudyError> {
        let line = self.system.start.clone().ok_or_else(|| self.failed("the study does not start it".to_owned()))?;
        let variables = self.at(&self.addresses[index]).with("nodes", self.addresses.join(","));
        let line = variables.with("number", index + 1).with("storage_port", storage_port).fill(&line)?;
        let log = self.log()?;
        let errors = log.try_clone().map_err(|source| self.folder_failed(source))?;
        let group = self.running.as_ref().and_then(|running| running.group.as_ref());
        let script = limits::script(&line, self.system.cores.as_deref(), group);
        let child = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        let child = child.map_err(|error| self.failed(format!("cannot run `sh`: {error}")))?;
        self.running.as_mut().expect("it is starting").nodes.push(child);
        Ok(())
    }

    fn memory_group(&self) -> Result<Option<MemoryGroup>, StudyError> {
        let Some(text) = &self.system.memory else { return Ok(None) };
        let text = self.variables.fill(text)?;
        let bytes = limits::bytes(&text)
            .ok_or_else(|| self.failed(format!("memory: `{text}` is not a size, for example 2GiB")))?;
        let name = format!("helenus-study-{}-{}", std::process::id(), self.system.name);
        MemoryGroup::make(&name, bytes).map(Some).map_err(|reason| self.failed(reason))
    }

    /// Beside the folder, which may be emptied, and behind what earlier starts have said.
    fn log(&self) -> Result<File, StudyError> {
        let path = self.log_path();
        let opened = File::options().create(true).append(true).open(&path);
        opened.map_err(|source| StudyError::Write { path, source })
    }

    fn log_path(&self) -> PathBuf {
        self.folder.with_file_name(format!("{}.log", self.system.name))
    }

    /// The line of its log that says why its last start failed, if there is one.
    fn said(&self) -> Option<String> {
        let log = fs::read(self.log_path()).ok()?;
        let since = log.get(usize::try_from(self.log_from).ok()?..)?;
        said::kept(since).map(|text| said::message(&text).to_owned())
    }

    fn wait_for_answer(&mut self, index: usize, began: Instant) -> Result<(), StudyError> {
        let address: SocketAddr = self.addresses[index].parse().expect("made from a port");
        while began.elapsed() < START_TIME_MAX * u32::from(self.system.nodes) {
            if answers(address, self.system.ready) {
                return Ok(());
            }
            self.fail_if_ended()?;
            std::thread::sleep(PAUSE);
        }
        Err(self.failed(format!("does not respond at {address}; see {}", self.log_path().display())))
    }

    fn wait_until_ready(&mut self, began: Instant) -> Result<(), StudyError> {
        let Some(line) = &self.system.until else { return Ok(()) };
        let line = self.variables().fill(line)?;
        while let Err(reason) = generator::must(&line) {
            if began.elapsed() >= START_TIME_MAX * u32::from(self.system.nodes) {
                return Err(self.failed(format!("`{line}` does not succeed: {reason}")));
            }
            self.fail_if_ended()?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Fails if a process has ended.
    fn fail_if_ended(&mut self) -> Result<(), StudyError> {
        let mut nodes = self.running.iter_mut().flat_map(|running| &mut running.nodes);
        match nodes.find_map(|node| node.try_wait().ok().flatten()) {
            None => Ok(()),
            Some(status) => {
                let log = self.log_path();
                let why = self.said().map_or_else(String::new, |message| format!(": {message}"));
                Err(self.failed(format!("exited with {status} before it was ready{why}; see {}", log.display())))
            }
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(&mut self) -> Result<(), StudyError> {
        let living = self.living();
        self.signal("TERM", &living)?;
        let began = Instant::now();
        while began.elapsed() < END_TIME_MAX {
            let mut nodes = self.running.iter_mut().flat_map(|running| &mut running.nodes);
            if !nodes.any(|node| matches!(node.try_wait(), Ok(None))) {
                self.running = None;
                return Ok(());
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.failed(format!("did not stop within {} s", END_TIME_MAX.as_secs())))
    }

    /// Ends it as a power cut would, but that the kernel keeps what was written.
    pub(crate) fn kill(&mut self) {
        self.running = None;
    }

    /// Lets it sleep while others are measured.
    pub(crate) fn pause(&mut self) -> Result<(), StudyError> {
        self.signal_all("STOP")
    }

    /// Lets it go on.
    pub(crate) fn wake(&mut self) -> Result<(), StudyError> {
        self.signal_all("CONT")
    }

    /// All nodes get it by one command, so that none sees the others hang for long. Fails if one has ended.
    fn signal_all(&mut self, name: &str) -> Result<(), StudyError> {
        let living = self.living();
        if living.len() < self.pids().len() {
            return Err(self.failed(format!("exited; see {}", self.log_path().display())));
        }
        self.signal(name, &living)
    }

    fn signal(&self, name: &str, pids: &[u32]) -> Result<(), StudyError> {
        if pids.is_empty() { Ok(()) } else { signal(pids, name).map_err(|reason| self.failed(reason)) }
    }

    /// The processes that have not ended: the number of one that has may be another's.
    fn living(&mut self) -> Vec<u32> {
        let nodes = self.running.iter_mut().flat_map(|running| &mut running.nodes);
        nodes.filter_map(|node| matches!(node.try_wait(), Ok(None)).then(|| node.id())).collect()
    }

    /// Waits until it does nothing on its own any more: what it does behind a load would be counted with the next one's requests.
    pub(crate) fn settle(&self) -> Result<(), StudyError> {
        let began = Instant::now();
        while began.elapsed() < SETTLE_TIME_MAX {
            let before = self.cpu_time();
            std::thread::sleep(SETTLED_TIME);
            let Some(used) = self.cpu_time().zip(before).map(|(now, before)| now.saturating_sub(before)) else {
                return Err(self.failed(format!("exited; see {}", self.log_path().display())));
            };
            if used < SETTLED_TIME.mul_f64(SETTLED_SHARE) {
                return Ok(());
            }
        }
        Err(self.failed(format!("still busy {} s after the load", SETTLE_TIME_MAX.as_secs())))
    }

    /// True if it has been started and not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Resident bytes of all its nodes, if it was started here.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        self.sum(resident_bytes)
    }

    /// CPU time of all its nodes so far, if it was started here.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.sum(cpu_time)
    }

    /// The sum over its processes. None: there are none, or one does not say.
    fn sum<T: Sum>(&self, of: impl Fn(u32) -> Option<T>) -> Option<T> {
        let pids = self.pids();
        if pids.is_empty() { None } else { pids.into_iter().map(of).sum() }
    }

    fn pids(&self) -> Vec<u32> {
        self.running.as_ref().map_or_else(Vec::new, Running::pids)
    }

    fn failed(&self, reason: String) -> StudyError {
        StudyError::System { system: self.system.name.clone(), reason }
    }

    fn folder_failed(&self, source: std::io::Error) -> StudyError {
        StudyError::Write { path: self.folder.clone(), source }
    }
}

/// Two ports that are free now on all of the hosts. Another process may take one before the server does; then the server reports it.
fn free_ports(hosts: &[Ipv4Addr]) -> std::io::Result<[u16; 2]> {
    let mut failure = std::io::Error::from(std::io::ErrorKind::AddrInUse);
    for _ in 0..PORT_TRIES_MAX {
        // Both are held until both are known, or they could be the same one.
        let chosen = [TcpListener::bind((hosts[0], 0))?, TcpListener::bind((hosts[0], 0))?];
        let ports = [chosen[0].local_addr()?.port(), chosen[1].local_addr()?.port()];
        let others = hosts[1..].iter().flat_map(|host| ports.map(|port| (*host, port)));
        match others.map(TcpListener::bind).collect::<Result<Vec<_>, _>>() {
            Ok(_) => return Ok(ports),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn signal(pids: &[u32], name: &str) -> Result<(), String> {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    let line = format!("kill -{name} {}", pids.join(" "));
    let status = Command::new("sh").args(["-c", &line]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{line} ended with {status}")),
        Err(error) => Err(format!("cannot run `sh`: {error}")),
    }
}

/// Whether a server answers at the address.
fn answers(address: SocketAddr, ready: Ready) -> bool {
    let Ok(mut stream) = TcpStream::connect_timeout(&address, ANSWER_TIME_MAX) else { return false };
    if stream.set_read_timeout(Some(ANSWER_TIME_MAX)).is_err() {
        return false;
    }
    let mut head = [0_u8; 9];
    match ready {
        Ready::Cql => {
            stream.write_all(&OPTIONS).is_ok()
                && stream.read_exact(&mut head).is_ok()
                && head[0] == ANSWER_OF_VERSION_4
                && head[4] == SUPPORTED
        }
        Ready::Greeting => stream.read_exact(&mut head[..1]).is_ok(),
        Ready::Listening => true,
    }
}

/// What a process holds in memory.
fn resident_bytes(pid: u32) -> Option<u64> {
    stdx::procfs::resident_bytes(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// What it has used so far.
fn cpu_time(pid: u32) -> Option<Duration> {
    stdx::procfs::cpu_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_has_used_grows() {
        let pid = std::process::id();
        let before = cpu_time(pid).expect("this process is there");
        // The loop uses it.
        while cpu_time(pid).expect("this process is there") <= before {}
        assert_eq!(cpu_time(u32::MAX), None);
    }

    fn listen(answer: &'static [u8]) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(answer);
            let _ = stream.read(&mut [0; 64]);
        });
        address
    }

    #[test]
    fn an_answer_is_told_from_noise() {
        const SUPPORTED_HEAD: &[u8] = &[0x84, 0, 0, 0, 0x06, 0, 0, 0, 0];
        assert!(answers(listen(SUPPORTED_HEAD), Ready::Cql));
        assert!(!answers(listen(b"HTTP/1.1 400 "), Ready::Cql));
        assert!(answers(listen(b"J"), Ready::Greeting));
        assert!(!answers(listen(b""), Ready::Greeting));
        let [port, other] = free_ports(&[Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2)]).unwrap();
        assert_ne!(port, other);
        let unused = SocketAddr::from(([127, 0, 0, 1], port));
        assert!(!answers(unused, Ready::Cql));
    }

    fn system(start: &str) -> System {
        let text = format!(
            "title: t\nsubject: s\nsystems: [{{name: s, start: {start:?}, ready: greeting}}]\nloads: [{{name: l, run: '{{measure}}'}}]"
        );
        crate::file::Study::parse(Path::new("t"), &text).unwrap().systems.remove(0)
    }

    /// A server with those processes.
    fn running(lines: &[&str]) -> Server {
        let mut server = Server::of(&system("x"), Path::new("/nowhere"), &Variables::default()).unwrap();
        let nodes = lines.iter().map(|line| Command::new("sh").args(["-c", line]).spawn().unwrap()).collect();
        server.running = Some(Running { nodes, group: None });
        server
    }

    #[test]
    fn processes_of_nodes_are_added_and_ended_together() {
        let busy = "while :; do :; done";
        let mut server = running(&[busy, "exec sleep 1000", busy]);
        let pids = server.pids();
        assert_eq!(pids.len(), 3);
        let options = server.measure_options(Path::new("r"));
        assert_eq!(options, format!("--pid {},{},{} --json 'r'", pids[0], pids[1], pids[2]));
        let used = |pid: &u32| cpu_time(*pid).expect("it runs until it is killed") > Duration::from_millis(50);
        while !(used(&pids[0]) && used(&pids[2])) {
            std::thread::sleep(PAUSE);
        }
        server.pause().unwrap();
        let one_by_one: Duration = pids.iter().filter_map(|pid| cpu_time(*pid)).sum();
        assert!(server.cpu_time() >= Some(one_by_one) && one_by_one > Duration::from_millis(100));
        server.wake().unwrap();
        server.kill();
        assert_eq!((server.cpu_time(), server.resident_bytes()), (None, None));
        assert!(pids.iter().all(|pid| cpu_time(*pid).is_none()), "none is left");
    }

    #[test]
    fn a_server_of_which_a_node_is_gone_says_nothing_of_its_time() {
        let mut server = running(&["exec sleep 1000", "exit 0"]);
        server.running.as_mut().unwrap().nodes[1].wait().unwrap();
        assert_eq!(server.cpu_time(), None);
        assert!(server.pause().is_err());
        assert!(server.end().is_ok() && !server.is_running());
    }

    #[test]
    fn a_server_that_ends_at_once_is_told_with_its_log() {
        let data = std::env::temp_dir().join(format!("study-server-{}", std::process::id()));
        let mut server =
            Server::of(&system("sh -c 'echo no such flag; exit 3'"), &data, &Variables::default()).unwrap();
        let error = server.start_fresh().expect_err("it ended").to_string();
        assert!(
            error.contains("exit status: 3 before it was ready: no such flag; see ") && error.ends_with("s.log"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(data.join("s.log")).unwrap(), "no such flag\n");
        // What an earlier start said is not taken for the reason of this one.
        server.system.start = Some("sh -c 'exit 4'".to_owned());
        let error = server.start_fresh().expect_err("it ended").to_string();
        assert!(error.contains("exit status: 4 before it was ready; see "), "{error}");
        fs::remove_dir_all(data).unwrap();
    }
}
