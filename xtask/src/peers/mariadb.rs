//! MariaDB from Debian's package: the other side of the published comparison with a relational server.
//!
//! It runs as the package has it where that matters for speed, and without the machine's own configuration: its data lie in a scratch
//! folder, and `root` needs no password there.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::tools::{self, MARIADB};
use crate::{process, workspace};

/// Where the package has it, which is not in every user's path.
const SERVER: &str = "/usr/sbin/mariadbd";
const START_TIME_MAX: Duration = Duration::from_secs(60);

/// When a transaction is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Within a second: the counterpart of `commitlog_sync: periodic`.
    Periodic,
    /// Before it is acknowledged.
    Synced,
}

impl Durability {
    /// InnoDB's number for it.
    fn flush_log_at_commit(self) -> u8 {
        match self {
            Durability::Periodic => 2,
            Durability::Synced => 1,
        }
    }
}

/// A running server; dropped, it is ended.
pub struct MariaDb {
    child: Child,
    /// Where it listens.
    pub address: String,
}

impl MariaDb {
    /// Starts a server with nothing in it on the port, to stay on the core, and waits until it takes connections.
    pub fn start(port: u16, core: usize, durability: Durability) -> Result<MariaDb, String> {
        tools::require(&[MARIADB])?;
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Err(format!("something listens on port {port} already: a MariaDB that was left behind?"));
        }
        let folder = workspace::scratch("mariadb")?;
        let user = process::quiet(Command::new("id").arg("--user").arg("--name"))?.trim().to_owned();
        make_data(&folder, &user)?;
        let log_path = folder.join("log.txt");
        let log = std::fs::File::create(&log_path).map_err(|error| format!("cannot write MariaDB's log: {error}"))?;
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string(), SERVER]).args(options(&folder, &user, port, durability));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn().map_err(|error| format!("cannot start {SERVER}: {error}"))?;
        let mut server = MariaDb { child, address: format!("127.0.0.1:{port}") };
        server.wait_until_it_listens(&log_path)?;
        Ok(server)
    }

    /// The server's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_it_listens(&mut self, log: &Path) -> Result<(), String> {
        let deadline = Instant::now() + START_TIME_MAX;
        while Instant::now() < deadline {
            if TcpStream::connect(&self.address).is_ok() {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("MariaDB ended with {status}: see {}", log.display()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Err(format!("MariaDB does not listen: see {}", log.display()))
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        // Its folder is scratch: nothing needs to be put in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the system tables, with a `root` that needs no password.
fn make_data(folder: &Path, user: &str) -> Result<(), String> {
    let mut command = Command::new("mariadb-install-db");
    command.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--skip-name-resolve",
    ]);
    command.arg(format!("--user={user}")).arg(format!("--datadir={}", folder.join("data").display()));
    process::quiet(&mut command).map(drop)
}

fn options(folder: &Path, user: &str, port: u16, durability: Durability) -> Vec<String> {
    vec![
        "--no-defaults".to_owned(),
        // It refuses to run as root unless it is told to; of anybody else's name it only warns.
        format!("--user={user}"),
        format!("--datadir={}", folder.join("data").display()),
        format!("--socket={}", folder.join("socket").display()),
        format!("--pid-file={}", folder.join("pid").display()),
        format!("--port={port}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--max-connections=1000".to_owned(),
        // As the package configures it.
        "--character-set-server=utf8mb4".to_owned(),
        "--collation-server=utf8mb4_general_ci".to_owned(),
        "--innodb-buffer-pool-size=1G".to_owned(),
        format!("--innodb-flush-log-at-trx-commit={}", durability.flush_log_at_commit()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_durabilities_differ_in_when_the_log_is_flushed() {
        let of = |durability| options(Path::new("/folder"), "root", 3390, durability).join(" ");
        assert!(of(Durability::Periodic).ends_with("--innodb-flush-log-at-trx-commit=2"));
        assert!(of(Durability::Synced).ends_with("--innodb-flush-log-at-trx-commit=1"));
        assert!(of(Durability::Synced).starts_with("--no-defaults "), "it is only heard as the first");
    }
}
