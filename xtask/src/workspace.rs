//! Where things are: the workspace's root and the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::process;

/// Whether cargo keeps what the next build of a changed crate could use again.
static BUILDS_ONCE: AtomicBool = AtomicBool::new(false);

/// How the binary under test is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The build of `cargo run --release`, which a change is tested with: quick to build.
    Release,
    /// As optimised as the compiler can: what is shipped, compared with others, and soaked.
    Dist,
}

impl Profile {
    /// Cargo's name of it, and its folder's.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Dist => "dist",
        }
    }
}

static IS_DIST: AtomicBool = AtomicBool::new(false);

/// Chooses the profile of the binary under test, for all that this process builds and runs.
pub fn choose(profile: Profile) {
    IS_DIST.store(profile == Profile::Dist, Ordering::Relaxed);
}

/// The profile of the binary under test: `release` where none was chosen.
pub fn profile() -> Profile {
    if IS_DIST.load(Ordering::Relaxed) { Profile::Dist } else { Profile::Release }
}

/// Says that this run builds everything once: what cargo would keep for a next build takes twice the disk of what it builds.
pub fn build_once() {
    BUILDS_ONCE.store(true, Ordering::Relaxed);
}

/// Cargo, in the workspace's root, as a person calls it there: without the variables of this package that `cargo xtask` has set. Build scripts read them, and
/// dependencies would be built again whenever a person and a task took turns.
pub fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root());
    let of_package =
        |name: &str| name == "CARGO_MANIFEST_DIR" || name == "CARGO_MANIFEST_PATH" || name.starts_with("CARGO_PKG_");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
    if BUILDS_ONCE.load(Ordering::Relaxed) {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// The workspace's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// Cargo's target folder, which also holds what the tasks fetch and write.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The last commit's hash, its first sixteen digits: a seed that differs between changes and stays when one is run again.
pub fn commit_hash() -> Result<u64, String> {
    let hash = process::quiet(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()))?;
    let digits = hash.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    digits.ok_or_else(|| format!("`{}` is no commit's hash", hash.trim()))
}

/// The binary of that name, as the chosen profile builds it.
pub fn product(name: &str) -> PathBuf {
    target().join(profile().name()).join(name)
}

/// An empty folder of that name for a task's scratch files.
pub fn scratch(name: &str) -> Result<PathBuf, String> {
    let folder = target().join("scratch").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|error| format!("cannot empty {}: {error}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    Ok(folder)
}

/// Writes a file.
pub fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
