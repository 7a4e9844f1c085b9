//! MariaDB from Debian's package: the other side of the published comparison with a relational server.
//!
//! It runs as the package has it where that matters for speed, and without the machine's own configuration: its data lie in the folder
//! that is said, or in a scratch folder, and `root` needs no password there.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools::{self, MARIADB};
use crate::{process, workspace};

/// Where the package has it, which is not in every user's path.
const SERVER: &str = "/usr/sbin/mariadbd";
const PORT: u16 = 9152;

/// When a transaction is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
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

/// What is asked for behind `cargo xtask mariadb`.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    port: u16,
    durability: Durability,
    folder: Option<PathBuf>,
}

fn parse(arguments: &[String]) -> Result<Asked, String> {
    let mut asked = Asked { port: PORT, durability: Durability::Periodic, folder: None };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--synced" => asked.durability = Durability::Synced,
            "--folder" => {
                asked.folder = Some(PathBuf::from(words.next().ok_or("--folder: its value is missing")?));
            }
            _ => asked.port = word.parse().map_err(|_| format!("`{word}` is no port"))?,
        }
    }
    Ok(asked)
}

/// `cargo xtask mariadb [PORT] [--synced] [--folder FOLDER]`: a server with nothing in it.
pub fn run_in_foreground(arguments: &[String]) -> Result<(), String> {
    let asked = parse(arguments)?;
    tools::require(&[MARIADB])?;
    let folder = match asked.folder {
        Some(folder) => folder,
        None => workspace::scratch("mariadb")?,
    };
    let user = process::quiet(Command::new("id").arg("--user").arg("--name"))?.trim().to_owned();
    make_data(&folder, &user)?;
    println!("MariaDB will listen on 127.0.0.1:{} in some seconds", asked.port);
    // It takes this process's place, so that whoever ends the one ends the other.
    let error = Command::new(SERVER).args(options(&folder, &user, asked.port, asked.durability)).exec();
    Err(format!("cannot start {SERVER}: {error}"))
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

    #[test]
    fn port_durability_and_folder_are_heard_in_any_order() {
        let of = |line: &str| parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let nothing_said = Asked { port: PORT, durability: Durability::Periodic, folder: None };
        assert_eq!(of(""), Ok(nothing_said));
        let all = Asked { port: 3390, durability: Durability::Synced, folder: Some("/a".into()) };
        assert_eq!(of("--folder /a 3390 --synced"), Ok(all));
        for wrong in ["--sync", "--folder", "high"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
