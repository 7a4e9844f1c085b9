//! The engine of Cassandra 3.11 from Maven's artefacts, which writes older sstables.
//!
//! Its server wants JDK 8. Its engine writes tables on the JDK of the other servers, if that one's insides are opened to it.

use std::path::Path;
use std::process::Command;

use crate::peers::jars;
use crate::tools::{JDK, MAVEN};
use crate::workspace;

/// The version of the sstables that it writes.
pub const VERSION: &str = "me";

const CONFIGURATION: &str = "\
cluster_name: Test Cluster
num_tokens: 1
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
commitlog_sync: periodic
commitlog_sync_period_in_ms: 10000
listen_address: 127.0.0.1
rpc_address: 127.0.0.1
endpoint_snitch: SimpleSnitch
auto_snapshot: false
disk_optimization_strategy: ssd
disk_access_mode: standard
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters:
      - seeds: \"127.0.0.1\"
";

const LOGBACK: &str = r#"<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %F:%L - %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"#;

const EXPORTED: [&str; 4] = ["sun.nio.ch", "jdk.internal.ref", "jdk.internal.misc", "jdk.internal.perf"];
/// Of what it looks into to know how much memory its objects take.
const OPENED: [&str; 19] = [
    "java.io",
    "java.lang",
    "java.lang.module",
    "java.lang.ref",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.nio.charset",
    "java.nio.file",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "java.util.concurrent.locks",
    "java.util.zip",
    "jdk.internal.misc",
    "jdk.internal.ref",
    "sun.nio.ch",
];

/// The command that has it write, below `folder/data`, what the statements' folder says; `tests/sstables/Legacy.java` tells more.
pub fn command(folder: &Path, statements: &Path) -> Result<Command, String> {
    let jars = jars::fetch("3.11.19", &[JDK, MAVEN])?;
    workspace::write(&folder.join("logback.xml"), LOGBACK)?;
    workspace::write(&folder.join("cassandra.yaml"), CONFIGURATION)?;
    let mut command = Command::new("java");
    command.args(["-Xmx384m", "-XX:TieredStopAtLevel=1"]);
    command.args(EXPORTED.map(|package| format!("--add-exports=java.base/{package}=ALL-UNNAMED")));
    command.args(OPENED.map(|package| format!("--add-opens=java.base/{package}=ALL-UNNAMED")));
    command.arg(format!("-Dcassandra.config=file://{}", folder.join("cassandra.yaml").display()));
    command.arg(format!("-Dlogback.configurationFile={}", folder.join("logback.xml").display()));
    command.arg(format!("-Dcassandra.storagedir={}", folder.join("data").display()));
    command.arg("-cp").arg(format!("{}/*", jars.display()));
    command.arg(workspace::root().join("tests/sstables/Legacy.java")).arg(statements);
    Ok(command)
}
