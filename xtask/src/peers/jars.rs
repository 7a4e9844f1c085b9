//! The jars of a version of Cassandra, from Maven's artefacts.

use std::path::PathBuf;
use std::process::Command;

use crate::tools::{self, Tool};
use crate::{process, workspace};

/// Fetches the jars of `version` through Maven, once. Gives their folder.
pub fn fetch(version: &str, tools: &[Tool]) -> Result<PathBuf, String> {
    tools::require(tools)?;
    let folder = workspace::target().join(format!("peers/cassandra-{version}"));
    let jars = folder.join("lib");
    let stamp = folder.join("complete");
    if stamp.exists() {
        return Ok(jars);
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    workspace::write(&folder.join("pom.xml"), &pom(version))?;
    println!("fetching Cassandra {version} into {}", folder.display());
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"]).current_dir(&folder);
    process::quiet(&mut maven)?;
    workspace::write(&stamp, "")?;
    Ok(jars)
}

fn pom(version: &str) -> String {
    format!(
        r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>helenus</groupId><artifactId>peer-cassandra</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId><version>{version}</version></dependency>
  </dependencies>
</project>
"#
    )
}
