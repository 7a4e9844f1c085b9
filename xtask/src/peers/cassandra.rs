//! A real Cassandra 5.0.6 from Maven's artefacts: the oracle of the driver tests and the other side of the benchmark.
//!
//! For the benchmark it runs with the options a production server would have where they matter for speed (C2, G1, a 4 GB heap, trie
//! memtables, BTI sstables) and nothing of the shortcuts that make its start fast, for they also make it slower or forgetful. The
//! oracle asks what it answers, not how fast, and takes those shortcuts: a small heap, and schema changes that are not synced.

mod ring;

use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::peers::jars;
use crate::tools::{JAVA, MAVEN};
use crate::workspace;

pub use ring::{CassandraRing, topologies};

const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"#;

const JVM: [&str; 11] = [
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-exports=java.rmi/sun.rmi.registry=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-Dcassandra.superuser_setup_delay_ms=0",
];
const FOR_SPEED: [&str; 3] = ["-Xms4g", "-Xmx4g", "-XX:+UseG1GC"];
const FOR_ANSWERS: [&str; 6] = [
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dcassandra.unsafesystem=true",
    "-Dcassandra.skip_wait_for_gossip_to_settle=0",
    "-Dcassandra.ring_delay_ms=0",
];
/// The same, and hashes of passwords that are made and verified as fast as can be.
const FOR_GUARDED_ANSWERS: [&str; 7] = [
    FOR_ANSWERS[0],
    FOR_ANSWERS[1],
    FOR_ANSWERS[2],
    FOR_ANSWERS[3],
    FOR_ANSWERS[4],
    FOR_ANSWERS[5],
    "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4",
];

/// Passwords and permissions, without caches: a change of them holds for the next request. Beside them, all that is off unless it is asked for.
const GUARDED: &str = "\
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
role_manager: CassandraRoleManager
network_authorizer: CassandraNetworkAuthorizer
cidr_authorizer:
  class_name: CassandraCIDRAuthorizer
  parameters:
    cidr_authorizer_mode: ENFORCE
permissions_validity: 0ms
roles_validity: 0ms
credentials_validity: 0ms
dynamic_data_masking_enabled: true
materialized_views_enabled: true
sasi_indexes_enabled: true
user_defined_functions_enabled: true
";

/// Nodes that start at once, and of which each has its tokens.
const FOR_RINGS: [&str; 1] = ["-Dcassandra.consistent.rangemovement=false"];

/// How the log is synced if nobody says otherwise.
const PERIODIC: &str = "commitlog_sync: periodic\ncommitlog_sync_period: 10s\n";

const START_TIME_MAX: Duration = Duration::from_secs(300);

/// What a server is for, which decides how it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be measured, or held against by hand: as a production server, with sstables of its newest format.
    Speed,
    /// To answer, with `storage_compatibility_mode: NONE` and sstables of its newest format.
    AnswersOfNone,
    /// To answer, as it is configured when nobody says anything.
    AnswersOfDefaults,
    /// To answer clients that log in, and of which each may do what was granted to it. Otherwise as `AnswersOfNone`.
    AnswersOfGuarded,
    /// To write sstables, as `AnswersOfNone` does.
    FilesOfTries,
    /// To write sstables as Cassandra 5.0 does without tries.
    FilesOfBig,
    /// To write sstables as `AnswersOfDefaults` does, which are those of 4.0.
    FilesOfDefaults,
}

impl Purpose {
    /// The configuration's name.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Speed => "speed",
            Purpose::AnswersOfNone => "none-bti",
            Purpose::AnswersOfDefaults => "defaults",
            Purpose::AnswersOfGuarded => "guarded",
            Purpose::FilesOfTries => "files-bti",
            Purpose::FilesOfBig => "files-big",
            Purpose::FilesOfDefaults => "files-defaults",
        }
    }

    fn jvm(self) -> &'static [&'static str] {
        match self {
            Purpose::Speed => &FOR_SPEED,
            Purpose::AnswersOfGuarded => &FOR_GUARDED_ANSWERS,
            _ => &FOR_ANSWERS,
        }
    }

    /// A hash of all that is configured but the ports: the FNV-1a of its text.
    pub fn hash(self) -> String {
        hash(&[&JVM[..], self.jvm(), &[&configuration(self, 0)]].concat().join("\n"))
    }
}

/// The FNV-1a of a text.
fn hash(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{hash:016x}")
}

/// A running server; dropped, it is ended.
pub struct Cassandra {
    child: Child,
    /// The address that it listens at.
    address: String,
    /// Where it listens for CQL.
    pub port: u16,
    /// Where its configuration and its data lie.
    pub folder: PathBuf,
    log: PathBuf,
}

impl Cassandra {
    /// The server as the runner of scripts takes it: `configuration=hash@address`.
    pub fn argument(&self, purpose: Purpose) -> String {
        format!("{}={}@127.0.0.1:{}", purpose.name(), purpose.hash(), self.port)
    }

    /// Starts a server on the port and waits until it takes connections. `pinned` names the core that it must stay on.
    pub fn start(purpose: Purpose, port: u16, pinned: Option<usize>) -> Result<Cassandra, String> {
        let mut server = Cassandra::spawn(purpose, port, pinned)?;
        server.wait_until_it_listens()?;
        Ok(server)
    }

    /// Starts a server and does not wait for it. Its storage's and its operators' ports are the two behind the port.
    pub fn spawn(purpose: Purpose, port: u16, pinned: Option<usize>) -> Result<Cassandra, String> {
        Cassandra::spawn_in(&format!("cassandra-{}", purpose.name()), purpose, port, pinned)
    }

    /// The same, in a scratch folder of that name: for a second server of one purpose.
    pub fn spawn_in(name: &str, purpose: Purpose, port: u16, pinned: Option<usize>) -> Result<Cassandra, String> {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Err(format!("something listens on port {port} already: a Cassandra that was left behind?"));
        }
        let folder = workspace::scratch(name)?;
        let command = command(purpose, &folder, port, pinned, &By::default())?;
        Cassandra::run(command, folder, "127.0.0.1", port)
    }

    /// Starts the command, whose configuration is in the folder.
    fn run(mut command: Command, folder: PathBuf, address: &str, port: u16) -> Result<Cassandra, String> {
        let log_path = folder.join("log.txt");
        let log = std::fs::File::create(&log_path).map_err(|error| format!("cannot write Cassandra's log: {error}"))?;
        let errors = log.try_clone().map_err(|error| format!("cannot write Cassandra's log: {error}"))?;
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let child = command.spawn().map_err(|error| format!("cannot start java: {error}"))?;
        Ok(Cassandra { child, address: address.to_owned(), port, folder, log: log_path })
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it takes connections.
    pub fn wait_until_it_listens(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + START_TIME_MAX;
        while Instant::now() < deadline {
            if TcpStream::connect((self.address.as_str(), self.port)).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("Cassandra ended with {status}: see {}", self.log.display()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(format!("Cassandra does not listen: see {}", self.log.display()))
    }
}

impl Drop for Cassandra {
    fn drop(&mut self) {
        // Its folder is scratch, so that there is nothing to wait six seconds for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What somebody may want otherwise than the purpose has it.
#[derive(Default)]
struct By {
    /// When the log is synced: `periodic`, `batch` or `group`.
    sync: Option<String>,
    /// The heap, as `-Xmx` takes it.
    heap: Option<String>,
    /// Where configuration and data go.
    folder: Option<PathBuf>,
    /// How conditional statements are done: `v1` or `v2`.
    paxos: Option<String>,
    /// Which node of a ring it is.
    place: Option<Place>,
}

impl By {
    /// The purpose's configuration with what is wanted otherwise.
    fn configuration(&self, purpose: Purpose, port: u16) -> Result<String, String> {
        let mut text = configuration(purpose, port);
        if let Some(sync) = &self.sync {
            text = text.replace(PERIODIC, sync_configuration(sync)?);
        }
        if let Some(variant) = &self.paxos {
            if !["v1", "v2"].contains(&variant.as_str()) {
                return Err(format!("--paxos-variant {variant}: must be v1 or v2"));
            }
            text += &format!("paxos_variant: {variant}\n");
        }
        match &self.place {
            None => Ok(text),
            Some(place) => Ok(place.configure(&text)),
        }
    }
}

/// The place of a node in a ring whose nodes have the addresses 127.0.0.1, 127.0.0.2 and so on, the same ports, and equal shares of the tokens.
/// The first is the seed: it is started before the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    /// From 1.
    number: u8,
    count: u8,
}

impl Place {
    /// Of `2/3`: the second of three.
    fn parse(text: &str) -> Result<Place, String> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match numbers {
            Some((number, count)) if (1..=count).contains(&number) => Ok(Place { number, count }),
            _ => Err(format!("--node {text}: must be NUMBER/COUNT, such as 2/3")),
        }
    }

    /// A lone node's configuration as that of this one.
    fn configure(self, text: &str) -> String {
        let address = format!("127.0.0.{}", self.number);
        let text = text
            .replace("listen_address: 127.0.0.1\n", &format!("listen_address: {address}\n"))
            .replace("rpc_address: 127.0.0.1\n", &format!("rpc_address: {address}\n"));
        format!("initial_token: {}\nauto_bootstrap: false\n{text}", self.token())
    }

    /// Where its share of the tokens ends.
    fn token(self) -> i64 {
        let share = (1_i128 << 64) / i128::from(self.count);
        (i128::from(i64::MIN) + share * i128::from(self.number - 1)) as i64
    }

    /// Its JMX port. All nodes have it on one address: the port plus 1, or a port above the storage port.
    fn jmx_port(self, port: u16) -> u16 {
        port.wrapping_add(if self.number == 1 { 1 } else { u16::from(self.number) + 1 })
    }
}

/// The command that runs the server in `folder`, whose configuration is written.
fn command(purpose: Purpose, folder: &Path, port: u16, pinned: Option<usize>, by: &By) -> Result<Command, String> {
    let jars = fetch()?;
    workspace::write(&folder.join("logback.xml"), LOGBACK)?;
    workspace::write(&folder.join("cassandra.yaml"), &by.configuration(purpose, port)?)?;
    let mut command = Command::new(if pinned.is_some() { "taskset" } else { "java" });
    if let Some(core) = pinned {
        command.args(["-c", &core.to_string(), "java"]);
    }
    command.args(JVM).args(purpose.jvm());
    if let Some(heap) = &by.heap {
        // The last word counts.
        command.args([format!("-Xms{heap}"), format!("-Xmx{heap}")]);
    }
    if by.place.is_some() {
        command.args(FOR_RINGS);
    }
    let jmx_port = by.place.map_or(port.wrapping_add(1), |place| place.jmx_port(port));
    command.arg(format!("-Dcassandra.jmx.local.port={jmx_port}"));
    command.arg(format!("-Dcassandra.config=file://{}", folder.join("cassandra.yaml").display()));
    command.arg(format!("-Dlogback.configurationFile={}", folder.join("logback.xml").display()));
    command.arg(format!("-Dcassandra.storagedir={}", folder.join("data").display()));
    command.arg("-cp").arg(format!("{}/*", jars.display())).arg("org.apache.cassandra.service.CassandraDaemon");
    Ok(command)
}

/// Fetches the jars through Maven, once.
pub fn fetch() -> Result<PathBuf, String> {
    jars::fetch("5.0.6", &[JAVA, MAVEN])
}

fn configuration(purpose: Purpose, port: u16) -> String {
    let storage_port = port.wrapping_add(2);
    let newest = "storage_compatibility_mode: NONE\n\
         sstable:\n  selected_format: bti\n\
         memtable:\n  configurations:\n    default:\n      class_name: TrieMemtable\n";
    let chosen = match purpose {
        Purpose::AnswersOfDefaults | Purpose::FilesOfDefaults => "",
        Purpose::FilesOfBig => "storage_compatibility_mode: NONE\nsstable:\n  selected_format: big\n",
        Purpose::Speed | Purpose::AnswersOfNone | Purpose::FilesOfTries | Purpose::AnswersOfGuarded => newest,
    };
    let guarded = if purpose == Purpose::AnswersOfGuarded { GUARDED } else { "" };
    // Otherwise a flush takes LZ4 where the table has a slower compressor.
    let compression = match purpose {
        Purpose::FilesOfTries | Purpose::FilesOfBig | Purpose::FilesOfDefaults => "flush_compression: table\n",
        _ => "",
    };
    // A load that it cannot keep up with, beside its compactions, is to slow down, not to fail.
    let timeouts = match purpose {
        Purpose::Speed => {
            "write_request_timeout: 60s\nread_request_timeout: 60s\nrange_request_timeout: 60s\ncas_contention_timeout: 60s\n"
        }
        _ => "",
    };
    format!(
        "cluster_name: Test Cluster\n\
         num_tokens: 1\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\n\
         {PERIODIC}\
         listen_address: 127.0.0.1\n\
         rpc_address: 127.0.0.1\n\
         native_transport_port: {port}\n\
         storage_port: {storage_port}\n\
         endpoint_snitch: SimpleSnitch\n\
         auto_snapshot: false\n\
         {chosen}{guarded}{compression}{timeouts}\
         seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      - seeds: \"127.0.0.1:{storage_port}\"\n"
    )
}

/// The lines of the configuration for a way to sync.
fn sync_configuration(sync: &str) -> Result<&'static str, String> {
    match sync {
        "periodic" => Ok(PERIODIC),
        "batch" => Ok("commitlog_sync: batch\n"),
        // The window is the least that there is: writers wait for it, 32 of them at a time.
        "group" => Ok("commitlog_sync: group\ncommitlog_sync_group_window: 1ms\n"),
        other => Err(format!("--commitlog-sync {other}: must be periodic, batch or group")),
    }
}

/// `cargo xtask cassandra [PORT] [--commitlog-sync periodic|batch|group] [--heap SIZE] [--folder FOLDER] [--paxos-variant v1|v2] [--node NUMBER/COUNT]`.
pub fn run_in_foreground(arguments: &[String]) -> Result<(), String> {
    let (mut port, mut by) = (9142, By::default());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word}: its value is missing"));
        match word.as_str() {
            "--commitlog-sync" => by.sync = Some(value()?),
            "--heap" => by.heap = Some(value()?),
            "--folder" => by.folder = Some(PathBuf::from(value()?)),
            "--paxos-variant" => by.paxos = Some(value()?),
            "--node" => by.place = Some(Place::parse(&value()?)?),
            _ => port = word.parse().map_err(|_| format!("`{word}` is no port"))?,
        }
    }
    let folder = match &by.folder {
        Some(folder) => {
            let failed = |error| format!("cannot make {}: {error}", folder.display());
            std::fs::create_dir_all(folder).map_err(failed)?;
            folder.clone()
        }
        None => workspace::scratch(&format!(
            "cassandra{}",
            by.place.map_or_else(String::new, |place| format!("-{}", place.number))
        ))?,
    };
    let number = by.place.map_or(1, |place| place.number);
    println!("Cassandra 5.0.6 will listen on 127.0.0.{number}:{port} in some seconds; end it with Ctrl-C");
    // It takes this process's place, so that whoever ends the one ends the other.
    let error = command(Purpose::Speed, &folder, port, None, &by)?.exec();
    Err(format!("cannot start java: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_a_ring_has_an_address_ports_and_tokens_of_its_own() {
        let places = ["1/3", "2/3", "3/3"].map(|text| Place::parse(text).expect("it is a place"));
        assert_eq!(places.map(Place::token), [i64::MIN, -3074457345618258603, 3074457345618258602]);
        assert_eq!(places.map(|place| place.jmx_port(9142)), [9143, 9145, 9146], "9144 is the storage's");
        let by = By { place: Some(places[1]), paxos: Some("v2".to_owned()), ..By::default() };
        let text = by.configuration(Purpose::Speed, 9142).expect("it is one");
        for line in
            ["listen_address: 127.0.0.2", "rpc_address: 127.0.0.2", "paxos_variant: v2", "auto_bootstrap: false"]
        {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        assert!(text.contains("seeds: \"127.0.0.1:9144\""), "{text}");
        for wrong in ["0/3", "4/3", "3", "a/b"] {
            assert!(Place::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lone_node_is_configured_by_its_purpose_alone() {
        let text = By::default().configuration(Purpose::Speed, 9142).expect("it is one");
        assert_eq!(text, configuration(Purpose::Speed, 9142));
        let wrong = By { paxos: Some("v3".to_owned()), ..By::default() };
        assert!(wrong.configuration(Purpose::Speed, 9142).is_err());
    }
}
