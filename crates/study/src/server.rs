//! A server under measurement: started, waited for, stopped while others have their turn, ended.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::StudyError;
use crate::file::{Ready, System};
use crate::limits::{self, MemoryGroup};
use crate::template::Variables;

/// How long a server may take to answer, and to end when it is asked to.
const START_TIME_MAX: Duration = Duration::from_secs(180);
const END_TIME_MAX: Duration = Duration::from_secs(120);
/// How long one attempt to be answered may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(2);
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

/// A server that was started here, or that runs elsewhere.
#[derive(Debug)]
pub(crate) struct Server {
    system: System,
    folder: PathBuf,
    variables: Variables,
    address: String,
    process: Option<Process>,
}

/// Its process; dropped, it is killed.
#[derive(Debug)]
struct Process {
    child: Child,
    /// Goes after the child has ended.
    _group: Option<MemoryGroup>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// A server that is not started yet, whose data will be in a folder of its own in `data`.
    pub(crate) fn of(system: &System, data: &Path, variables: &Variables) -> Result<Server, StudyError> {
        let folder = data.join(&system.name);
        let address = match &system.address {
            Some(address) => variables.fill(address)?,
            None => String::new(),
        };
        Ok(Server { system: system.clone(), folder, variables: variables.clone(), address, process: None })
    }

    /// Whether the study may start and end it.
    pub(crate) fn is_ours(&self) -> bool {
        self.system.start.is_some()
    }

    /// What lines may say of it. Before its first start it has no address.
    pub(crate) fn variables(&self) -> Variables {
        let (host, port) = self.address.rsplit_once(':').unwrap_or_default();
        let variables = self.variables.with("node", &self.address).with("host", host).with("port", port);
        variables.with("folder", self.folder.display())
    }

    /// The generator's options for a report with the server's CPU time.
    pub(crate) fn measure_options(&self, report: &Path) -> String {
        let pid = self.pid().map_or_else(String::new, |pid| format!("--pid {pid} "));
        format!("{pid}--json '{}'", report.display())
    }

    /// Starts it with no data.
    pub(crate) fn start_fresh(&mut self) -> Result<Start, StudyError> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(|source| self.folder_failed(source))?;
        }
        fs::create_dir_all(&self.folder).map_err(|source| self.folder_failed(source))?;
        self.start()
    }

    /// Starts it on the data that it has.
    pub(crate) fn start(&mut self) -> Result<Start, StudyError> {
        let port = free_port().map_err(|error| self.failed(format!("no free port: {error}")))?;
        self.address = format!("127.0.0.1:{port}");
        let line = self.system.start.clone().ok_or_else(|| self.failed("the study does not start it".to_owned()))?;
        let line = self.variables().fill(&line)?;
        let group = self.memory_group()?;
        let log = self.log()?;
        let errors = log.try_clone().map_err(|source| self.folder_failed(source))?;
        let script = limits::script(&line, self.system.cores.as_deref(), group.as_ref());
        let began = Instant::now();
        let child = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).stdout(log).stderr(errors).spawn();
        let child = child.map_err(|error| self.failed(format!("cannot run `sh`: {error}")))?;
        self.process = Some(Process { child, _group: group });
        self.wait_for_answer(began)?;
        let seconds = began.elapsed().as_secs_f64();
        std::thread::sleep(REST);
        Ok(Start { seconds, idle_bytes: self.resident_bytes() })
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

    fn wait_for_answer(&mut self, began: Instant) -> Result<(), StudyError> {
        let address: SocketAddr = self.address.parse().expect("made from a port");
        while began.elapsed() < START_TIME_MAX {
            if answers(address, self.system.ready) {
                return Ok(());
            }
            if let Some(process) = &mut self.process
                && let Ok(Some(status)) = process.child.try_wait()
            {
                let log = self.log_path();
                return Err(self.failed(format!("exited with {status} before it was ready; see {}", log.display())));
            }
            std::thread::sleep(PAUSE);
        }
        Err(self.failed(format!("does not respond at {}; see {}", self.address, self.log_path().display())))
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn end(&mut self) -> Result<(), StudyError> {
        let Some(pid) = self.pid() else { return Ok(()) };
        signal(pid, "TERM").map_err(|reason| self.failed(reason))?;
        let began = Instant::now();
        while began.elapsed() < END_TIME_MAX {
            match self.process.as_mut().map(|process| process.child.try_wait()) {
                Some(Ok(None)) => std::thread::sleep(PAUSE),
                _ => {
                    self.process = None;
                    return Ok(());
                }
            }
        }
        Err(self.failed(format!("did not stop within {} s", END_TIME_MAX.as_secs())))
    }

    /// Ends it as a power cut would, but that the kernel keeps what was written.
    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Lets it sleep while others are measured.
    pub(crate) fn pause(&self) -> Result<(), StudyError> {
        self.signal("STOP")
    }

    /// Lets it go on.
    pub(crate) fn wake(&self) -> Result<(), StudyError> {
        self.signal("CONT")
    }

    fn signal(&self, name: &str) -> Result<(), StudyError> {
        match self.pid() {
            Some(pid) => signal(pid, name).map_err(|reason| self.failed(reason)),
            None => Ok(()),
        }
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

    /// Whether it has been started and not ended.
    pub(crate) fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// What it holds in memory, if it was started here.
    pub(crate) fn resident_bytes(&self) -> Option<u64> {
        self.pid().and_then(resident_bytes)
    }

    /// What it has used so far, if it was started here.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.pid().and_then(cpu_time)
    }

    fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    fn failed(&self, reason: String) -> StudyError {
        StudyError::System { system: self.system.name.clone(), reason }
    }

    fn folder_failed(&self, source: std::io::Error) -> StudyError {
        StudyError::Write { path: self.folder.clone(), source }
    }
}

/// A port that nobody listens on now. Another process may take it before the server does; then the server says so.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn signal(pid: u32, name: &str) -> Result<(), String> {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("kill -{name} {pid} ended with {status}")),
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
        let began = Instant::now();
        while cpu_time(pid).is_some_and(|now| now <= before) {
            assert!(began.elapsed() < Duration::from_secs(60), "a loop uses time");
        }
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
        let nobody = SocketAddr::from(([127, 0, 0, 1], free_port().unwrap()));
        assert!(!answers(nobody, Ready::Cql));
    }

    fn system(start: &str) -> System {
        let text = format!(
            "title: t\nsubject: s\nsystems: [{{name: s, start: {start:?}, ready: greeting}}]\nloads: [{{name: l, run: '{{measure}}'}}]"
        );
        crate::file::Study::parse(Path::new("t"), &text).unwrap().systems.remove(0)
    }

    #[test]
    fn a_server_that_ends_at_once_is_told_with_its_log() {
        let data = std::env::temp_dir().join(format!("study-server-{}", std::process::id()));
        let mut server =
            Server::of(&system("sh -c 'echo no such flag; exit 3'"), &data, &Variables::default()).unwrap();
        let error = server.start_fresh().expect_err("it ended").to_string();
        assert!(error.contains("exit status: 3") && error.contains("s.log"), "{error}");
        assert_eq!(fs::read_to_string(data.join("s.log")).unwrap(), "no such flag\n");
        fs::remove_dir_all(data).unwrap();
    }
}
