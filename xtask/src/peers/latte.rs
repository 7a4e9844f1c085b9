//! latte, another load generator, from crates.io: a second opinion on our own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{process, workspace};

const VERSION: &str = "0.29.0";

/// Where latte takes the folder of its logs from; it leaves one for each run, by itself in the folder where it is started.
const LOG_FOLDER: &str = "LATTE_LOG_DIR";

/// `cargo xtask latte WORDS…`: takes this process's place with latte, which is built the first time.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let mut command = Command::new(fetch()?);
    if std::env::var_os(LOG_FOLDER).is_none() {
        command.env(LOG_FOLDER, workspace::target().join("peers/latte/logs"));
    }
    let error = command.args(arguments).exec();
    Err(format!("cannot start latte: {error}"))
}

/// Builds it with the versions of its libraries that it was published with, once. Gives the program.
fn fetch() -> Result<PathBuf, String> {
    let folder = workspace::target().join("peers/latte");
    let program = folder.join("bin/latte");
    if !program.exists() {
        // Nothing on standard output: that is latte's.
        eprintln!("building latte {VERSION} in {}", folder.display());
        let cargo = Path::new(env!("CARGO"));
        let mut install = Command::new(cargo);
        // The compiler of this very Cargo: a library brings a file along that asks for one of its own.
        install.env("RUSTC", cargo.with_file_name("rustc"));
        install.args(["install", "--quiet", "--locked", "--version", VERSION, "--root"]).arg(&folder).arg("latte-cli");
        process::quiet(&mut install)?;
    }
    Ok(program)
}
