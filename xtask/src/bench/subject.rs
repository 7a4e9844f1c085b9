//! The servers that take turns.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use super::cores::{GENERATOR_CORE, SERVER_CORE};
use super::load::{self, Load, Measurement, Workload};
use crate::peers::cassandra::{Cassandra, Purpose};
use crate::{process, workspace};

const CASSANDRA_PORT: u16 = 9142;
/// A read's answer: five values of 60 bytes with their lengths, after 16 bytes of counts.
const ROW_REPLY_BYTES: usize = 16 + 5 * (4 + 60);

/// A server under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The bare echo server with the frame sizes of the real replies.
    Echo,
    /// Helenus, acknowledging before the sync.
    Periodic,
    /// Helenus, acknowledging after it.
    Group,
}

impl Subject {
    /// All of them, in the order of a round.
    pub const ALL: [Subject; 3] = [Subject::Echo, Subject::Periodic, Subject::Group];

    /// As the table calls it.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Echo => "echo",
            Subject::Periodic => "periodic",
            Subject::Group => "group",
        }
    }

    /// Measures each workload once. Reads find the rows that the writes before them left.
    pub fn measure(self, workloads: &[Workload], load: Load) -> Result<Vec<(Workload, Measurement)>, String> {
        match self {
            Subject::Echo => workloads.iter().map(|&workload| measure_echo(workload, load)).collect(),
            Subject::Periodic => measure_helenus("periodic", workloads, load),
            Subject::Group => measure_helenus("group", workloads, load),
        }
    }
}

/// A process that says on its first lines where it listens.
pub struct Server {
    /// The process.
    pub child: Child,
    /// Where it listens.
    pub address: String,
}

impl Server {
    /// Starts it, and waits until it listens.
    pub fn start(command: &mut Command) -> Result<Server, String> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let lines = BufReader::new(child.stdout.take().expect("piped above")).lines();
        let address = lines.map_while(Result::ok).find_map(|line| {
            let at = line.find("127.0.0.1:")?;
            line[at..].split([',', ';', ' ']).next().map(String::from)
        });
        match address {
            Some(address) => Ok(Server { child, address }),
            None => {
                let _ = child.kill();
                Err(format!("{command:?} does not say where it listens"))
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the bare echo server once.
pub fn measure_echo(workload: Workload, load: Load) -> Result<(Workload, Measurement), String> {
    let mut command = Command::new(workspace::product("echo"));
    command.args(["--cpu", &SERVER_CORE.to_string()]);
    if workload == Workload::Read {
        command.args(["--reply-bytes", &ROW_REPLY_BYTES.to_string()]);
    }
    let server = Server::start(&mut command)?;
    Ok((workload, load::run(&server.address, server.child.id(), workload, load, true)?))
}

/// Helenus with so many shards, on ports of its own choice.
pub fn serve(shards: u16) -> Command {
    serve_with_operators(shards, 0)
}

/// The same, and listens for operators on a port; 0: it does not.
pub fn serve_with_operators(shards: u16, api_port: u16) -> Command {
    let mut command = Command::new(workspace::product("helenus"));
    serve_arguments(&mut command, shards, api_port);
    command
}

/// The arguments of either.
pub fn serve_arguments(command: &mut Command, shards: u16, api_port: u16) {
    command.args(["serve", "--port", "0", "--shard-aware-port", "0", "--smp", &shards.to_string()]);
    command.args(["--api-port", &api_port.to_string(), "--prometheus-port", "0"]);
}

/// Helenus with one shard on the server's core, with nothing in it.
pub fn start_helenus(sync: &str) -> Result<Server, String> {
    let folder = workspace::scratch("bench")?;
    let mut command = serve(1);
    command.args(["--cpuset", &SERVER_CORE.to_string()]);
    command.args(["--memory", "6G", "--commitlog-sync", sync, "--data-dir"]).arg(folder.join("data"));
    Server::start(&mut command)
}

fn measure_helenus(sync: &str, workloads: &[Workload], load: Load) -> Result<Vec<(Workload, Measurement)>, String> {
    let server = start_helenus(sync)?;
    let mut measurements = Vec::new();
    for &workload in workloads {
        measurements.push((workload, load::run(&server.address, server.child.id(), workload, load, false)?));
    }
    drop(server);
    workspace::scratch("bench")?;
    Ok(measurements)
}

/// A Cassandra on the server's core, warmed, and stopped while others are measured.
pub struct Warm {
    server: Cassandra,
    address: String,
}

impl Warm {
    /// Starts it, and lets `warm` have it compile what the loads need.
    pub fn start(warm: impl FnOnce(&Warm) -> Result<(), String>) -> Result<Warm, String> {
        let server = Cassandra::start(Purpose::Speed, CASSANDRA_PORT, Some(SERVER_CORE))?;
        let started = Warm { address: format!("127.0.0.1:{}", server.port), server };
        println!("warming Cassandra (pid {}) on core {SERVER_CORE}, generator on core {GENERATOR_CORE}", started.pid());
        warm(&started)?;
        started.signal("-STOP")?;
        Ok(started)
    }

    /// Where it listens.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Lets it go on for as long as `measure` runs.
    pub fn wake<T>(&self, measure: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.signal("-CONT")?;
        let measured = measure()?;
        self.signal("-STOP")?;
        Ok(measured)
    }

    fn signal(&self, signal: &str) -> Result<(), String> {
        process::quiet(Command::new("kill").args([signal, &self.pid().to_string()])).map(drop)
    }
}
