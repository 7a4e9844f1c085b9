//! Where things are: the workspace's root and the target folder.

use std::path::{Path, PathBuf};

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

/// The release binary of that name.
pub fn release_binary(name: &str) -> PathBuf {
    target().join("release").join(name)
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
