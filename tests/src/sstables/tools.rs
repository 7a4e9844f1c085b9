//! Cassandra's own tools, run on files and against a server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::sstables::folders::Table;

/// As the server, plus leave to keep the tools from ending the JVM.
const JVM: [&str; 10] = [
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.security.manager=allow",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
];

const CONFIGURATION: &str = "\
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
commitlog_sync: periodic
commitlog_sync_period: 10s
endpoint_snitch: SimpleSnitch
storage_compatibility_mode: NONE
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: \"127.0.0.1\"
";

const LOGBACK: &str = "\
<configuration>
  <appender name=\"ERR\" class=\"ch.qos.logback.core.ConsoleAppender\">
    <target>System.err</target>
    <encoder><pattern>%-5level %msg%n</pattern></encoder>
  </appender>
  <root level=\"WARN\"><appender-ref ref=\"ERR\"/></root>
</configuration>
";

/// Where the tools are, and where they write what they need.
pub struct Tools {
    jars: PathBuf,
    scratch: PathBuf,
}

/// A call of one tool.
pub struct Job {
    /// The class, without its package.
    pub class: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The file that takes its standard output.
    pub output: PathBuf,
}

/// What `sstableverify` says of a table.
#[derive(Debug)]
pub struct Verified {
    /// Whether it found nothing wrong.
    pub is_good: bool,
    /// What it said.
    pub said: String,
}

/// What a tool ended with.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; 99 if it threw.
    pub code: i32,
    /// What it said on standard error.
    pub errors: String,
}

impl Tools {
    /// With the jars of that folder, and a folder for scratch files.
    pub fn new(jars: &Path, scratch: &Path) -> Result<Tools, String> {
        std::fs::create_dir_all(scratch).map_err(|error| format!("cannot make {}: {error}", scratch.display()))?;
        let tools = Tools { jars: jars.into(), scratch: scratch.into() };
        tools.write("tool.yaml", CONFIGURATION)?;
        tools.write("logback-tools.xml", LOGBACK)?;
        Ok(tools)
    }

    /// Flushes all tables of the server whose operators' port that is.
    pub fn flush(&self, port: u16) -> Result<(), String> {
        self.node_tool(port, &["flush"])
    }

    /// Has the server make one file of each of a keyspace's tables.
    pub fn compact(&self, port: u16, keyspace: &str) -> Result<(), String> {
        self.node_tool(port, &["compact", keyspace])
    }

    fn node_tool(&self, port: u16, words: &[&str]) -> Result<(), String> {
        let port = port.to_string();
        let arguments = ["-h", "127.0.0.1", "-p", &port].iter().chain(words).map(|word| (*word).to_string()).collect();
        let ended =
            self.run(&[Job { class: "NodeTool", arguments, output: self.scratch.join("nodetool.txt") }], None)?;
        if ended[0].code == 0 { Ok(()) } else { Err(format!("nodetool {words:?} failed: {}", ended[0].errors)) }
    }

    /// Has a server look for new files of tables.
    pub fn refresh(&self, port: u16, tables: &[(String, String)]) -> Result<Vec<Ended>, String> {
        let job = |(keyspace, table): &(String, String)| {
            let port = port.to_string();
            let arguments = ["-h", "127.0.0.1", "-p", &port, "refresh", keyspace, table].map(String::from).into();
            Job { class: "NodeTool", arguments, output: self.scratch.join("nodetool.txt") }
        };
        self.run(&tables.iter().map(job).collect::<Vec<_>>(), None)
    }

    /// Verifies tables of a server that has ended, by keyspace, with all that its tool can look at.
    pub fn verify(&self, storage: &Path, tables: &[(String, Table)]) -> Result<Vec<Verified>, String> {
        let scratch = self.scratch("verified")?;
        let jobs: Vec<Job> = tables
            .iter()
            .enumerate()
            .map(|(at, (keyspace, table))| Job {
                class: "StandaloneVerifier",
                arguments: ["-f", "-e", keyspace, &table.name].map(String::from).into(),
                output: scratch.join(format!("{at}.txt")),
            })
            .collect();
        let ended = self.run(&jobs, Some(storage))?;
        let outcomes = jobs.iter().zip(ended).map(|(job, ended)| {
            let said = std::fs::read_to_string(&job.output).unwrap_or_default();
            Verified { is_good: ended.code == 0, said: said + &ended.errors }
        });
        Ok(outcomes.collect())
    }

    /// An empty folder of that name.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.scratch.join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(|error| format!("cannot empty {}: {error}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Runs the tools one after the other, with the schema of a stopped server whose folder `storage` is.
    pub fn run(&self, jobs: &[Job], storage: Option<&Path>) -> Result<Vec<Ended>, String> {
        let lines: Vec<String> = jobs
            .iter()
            .map(|job| {
                let class = format!("org.apache.cassandra.tools.{}", job.class);
                let output = job.output.display().to_string();
                [vec![output, class], job.arguments.clone()].concat().join("\t")
            })
            .collect();
        let list = self.write("jobs.txt", &(lines.join("\n") + "\n"))?;
        let nowhere = self.scratch.join("storage");
        let mut command = Command::new("java");
        command.args(JVM);
        command.arg(format!("-Dcassandra.config=file://{}", self.scratch.join("tool.yaml").display()));
        command.arg(format!("-Dlogback.configurationFile={}", self.scratch.join("logback-tools.xml").display()));
        command.arg(format!("-Dcassandra.storagedir={}", storage.unwrap_or(&nowhere).display()));
        command.arg("-cp").arg(format!("{}/*", self.jars.display()));
        command.arg(crate::oracle::root().join("tests/sstables/Tools.java")).arg(list);
        let output = command.stdin(Stdio::null()).output().map_err(|error| format!("cannot start java: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let ended: Vec<Ended> = said.lines().filter_map(Ended::parse).collect();
        if ended.len() == jobs.len() {
            return Ok(ended);
        }
        Err(format!(
            "{} of {} tools ended: {said}\n{}",
            ended.len(),
            jobs.len(),
            String::from_utf8_lossy(&output.stderr)
        ))
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.scratch.join(name);
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Ended {
    fn parse(line: &str) -> Option<Ended> {
        let (code, errors) = line.split_once('\t')?;
        Some(Ended { code: code.parse().ok()?, errors: errors.replace("\\n", "\n") })
    }
}
