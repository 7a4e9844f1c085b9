//! The engine of Cassandra 3.11 from Maven's artefacts, which writes older sstables.
//!
//! Its server wants JDK 8. Its engine writes tables on the JDK of the other servers, if that one's insides are opened to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{self, JDK, MAVEN};
use crate::{process, workspace};

/// The version of the sstables that it writes.
pub const VERSION: &str = "me";

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>helenus</groupId><artifactId>peer-cassandra-legacy</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>3.11.19</version></dependency>
  </dependencies>
</project>
"#;

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
    let jars = fetch()?;
    write(&folder.join("logback.xml"), LOGBACK)?;
    write(&folder.join("cassandra.yaml"), CONFIGURATION)?;
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

/// Fetches the jars through Maven, once.
fn fetch() -> Result<PathBuf, String> {
    tools::require(&[JDK, MAVEN])?;
    let folder = workspace::target().join("peers/cassandra-3.11.19");
    let jars = folder.join("lib");
    let stamp = folder.join("complete");
    if stamp.exists() {
        return Ok(jars);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    write(&folder.join("pom.xml"), POM)?;
    println!("fetching Cassandra 3.11.19 into {}", folder.display());
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]).current_dir(&folder);
    process::quiet(&mut maven)?;
    write(&stamp, "")?;
    Ok(jars)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
