//! The programs that the tasks call, and the apt line that brings a missing one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A program and the Debian package that holds it.
pub struct Tool {
    program: &'static str,
    package: &'static str,
}

/// A C compiler: the allocator, libFuzzer and the drivers' extensions are built from source.
pub const CC: Tool = Tool { program: "cc", package: "gcc g++" };
/// A C++ compiler, for libFuzzer.
pub const CXX: Tool = Tool { program: "c++", package: "g++" };
/// Python with venv, for the drivers and cqlsh.
pub const PYTHON: Tool = Tool { program: "python3", package: "python3 python3-venv" };
/// A C compiler for static binaries.
pub const MUSL_CC: Tool = Tool { program: "musl-gcc", package: "musl-tools" };
/// Writes Debian packages, and unpacks them.
pub const DPKG_DEB: Tool = Tool { program: "dpkg-deb", package: "dpkg" };
/// Says what a binary needs.
pub const READELF: Tool = Tool { program: "readelf", package: "binutils" };
/// Takes the symbols out of a binary.
pub const STRIP: Tool = Tool { program: "strip", package: "binutils" };
/// Writes archives.
pub const TAR: Tool = Tool { program: "tar", package: "tar" };
/// Presses them together.
pub const GZIP: Tool = Tool { program: "gzip", package: "gzip" };
/// Sums files.
pub const SHA256SUM: Tool = Tool { program: "sha256sum", package: "coreutils" };
/// Judges the service's unit.
pub const SYSTEMD_ANALYZE: Tool = Tool { program: "systemd-analyze", package: "systemd" };
/// Pins a process to a core.
pub const TASKSET: Tool = Tool { program: "taskset", package: "util-linux" };
/// Runs a program in a network namespace of its own.
pub const UNSHARE: Tool = Tool { program: "unshare", package: "util-linux" };
/// Runs a program in another's namespace.
pub const NSENTER: Tool = Tool { program: "nsenter", package: "util-linux" };
/// Ends a program with its parent.
pub const SETPRIV: Tool = Tool { program: "setpriv", package: "util-linux" };
/// Connects namespaces.
pub const IP: Tool = Tool { program: "ip", package: "iproute2" };
/// Drops packets.
pub const TC: Tool = Tool { program: "tc", package: "iproute2" };
/// Makes the file systems that lose their power.
pub const MKFS: Tool = Tool { program: "mkfs.ext4", package: "e2fsprogs" };
/// Mounts them.
pub const MOUNT: Tool = Tool { program: "mount", package: "mount" };
/// Counts instructions.
pub const VALGRIND: Tool = Tool { program: "valgrind", package: "valgrind" };
/// Runs the real Cassandra.
pub const JAVA: Tool = Tool { program: "java", package: "openjdk-17-jre-headless" };
/// Compiles the Java driver's suite.
pub const JDK: Tool = Tool { program: "javac", package: "openjdk-17-jdk-headless" };
/// Fetches the real Cassandra and the Java driver.
pub const MAVEN: Tool = Tool { program: "mvn", package: "maven" };
/// Runs MariaDB.
pub const MARIADB: Tool = Tool { program: "mariadbd", package: "mariadb-server" };
/// Fetches and compiles gocql and its suite.
pub const GO: Tool = Tool { program: "go", package: "golang-go" };
/// Runs the Node driver.
pub const NODE: Tool = Tool { program: "node", package: "nodejs" };
/// Fetches the Node driver.
pub const NPM: Tool = Tool { program: "npm", package: "npm" };

/// Fails with one line per missing program and the apt line for all of them.
pub fn require(tools: &[Tool]) -> Result<(), String> {
    require_in(&std::env::var("PATH").unwrap_or_default(), tools)
}

fn require_in(path: &str, tools: &[Tool]) -> Result<(), String> {
    // Where administrators' programs lie may be missing from PATH.
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders: Vec<PathBuf> = std::env::split_paths(path).chain(more).collect();
    let missing: Vec<&Tool> =
        tools.iter().filter(|tool| !folders.iter().any(|folder| folder.join(tool.program).is_file())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let programs: Vec<&str> = missing.iter().map(|tool| tool.program).collect();
    let packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    Err(format!("missing: {}\nthis helps: apt-get install -y {}", programs.join(", "), packages.join(" ")))
}

/// Fails with the devices that are missing, or that this user may not open.
pub fn require_devices(paths: &[&str]) -> Result<(), String> {
    let missing: Vec<&str> = paths
        .iter()
        .copied()
        .filter(|path| std::fs::OpenOptions::new().read(true).write(true).open(path).is_err())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("cannot be opened: {}\nthis helps: run as root, modprobe -a fuse loop ext4", missing.join(", ")))
}

/// Fails when the disk that holds `folder` has fewer bytes left than `needed`: a build that fills it fails with less to go by.
pub fn require_disk(folder: &Path, needed: u64) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let said = crate::process::quiet(Command::new("df").args(["--block-size=1", "--output=avail"]).arg(folder))?;
    let left: u64 =
        said.lines().nth(1).and_then(|line| line.trim().parse().ok()).ok_or_else(|| format!("df said {said:?}"))?;
    if left >= needed {
        return Ok(());
    }
    Err(format!("{} has {} MiB left; this needs {} MiB", folder.display(), left >> 20, needed >> 20))
}

/// Fails when rustup has no nightly toolchain.
pub fn require_nightly() -> Result<(), String> {
    let said = crate::process::quiet(Command::new("rustc").args(["+nightly", "--version"]));
    said.map(drop).map_err(|_| "missing: a nightly compiler, for the fuzz targets\nthis helps: rustup toolchain install nightly --profile minimal".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_named_with_what_is_needed() {
        let folder = std::env::temp_dir();
        require_disk(&folder, 0).expect("no byte is asked for");
        let message = require_disk(&folder, u64::MAX).expect_err("no disk has that");
        assert!(message.contains(&*folder.to_string_lossy()) && message.contains("MiB left"), "{message}");
    }

    #[test]
    fn a_missing_tool_names_its_apt_line() {
        let message = require_in("/nowhere", &[CC, MAVEN]).expect_err("nothing is there");
        assert!(message.contains("cc, mvn") && message.contains("apt-get install -y gcc g++ maven"), "{message}");
    }
}
