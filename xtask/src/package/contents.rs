//! The files of packages, and folders whose modes and times are set and not inherited.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::process;

/// Where the files come from.
pub struct Contents {
    /// The stripped binary.
    pub binary: PathBuf,
    /// Man pages and completions.
    pub pages: PathBuf,
    /// The workspace's root.
    pub root: PathBuf,
}

impl Contents {
    /// The man pages, sorted.
    pub fn man_pages(&self) -> Result<Vec<PathBuf>, String> {
        let folder = self.pages.join("man1");
        let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
        let entries = std::fs::read_dir(&folder).map_err(unreadable)?;
        let mut pages: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>().map_err(unreadable)?;
        pages.sort();
        Ok(pages)
    }

    /// The completions of a shell, by the name that clap gives the file.
    pub fn completions(&self, name: &str) -> PathBuf {
        self.pages.join("completions").join(name)
    }
}

/// A folder that is made for packing.
pub struct Folder(PathBuf);

impl Folder {
    /// An empty one; what was there is deleted.
    pub fn empty(path: &Path) -> Result<Folder, String> {
        if path.exists() {
            std::fs::remove_dir_all(path).map_err(|error| format!("cannot empty {}: {error}", path.display()))?;
        }
        std::fs::create_dir_all(path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
        // Absolute, since tools run in other folders.
        let path = path.canonicalize().map_err(|error| format!("cannot find {}: {error}", path.display()))?;
        Ok(Folder(path))
    }

    /// A path below it.
    pub fn path(&self, below: &str) -> PathBuf {
        self.0.join(below)
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// Copies a file to a path below this folder.
    pub fn copy(&self, from: &Path, to: &str, mode: u32) -> Result<(), String> {
        let bytes = std::fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
        self.put(&bytes, to, mode)
    }

    /// Writes a file below this folder.
    pub fn put(&self, bytes: &[u8], to: &str, mode: u32) -> Result<(), String> {
        let path = self.path(to);
        let parent = path.parent().expect("it lies below this folder");
        let unwritable = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        std::fs::create_dir_all(parent).map_err(unwritable)?;
        std::fs::write(&path, bytes).map_err(unwritable)?;
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(unwritable)
    }

    /// Writes a file through `gzip`, whose header then holds no time and no name. Its name ends in `.gz`.
    pub fn put_pressed(&self, from: &Path, to: &str) -> Result<(), String> {
        self.copy(from, to, 0o644)?;
        process::quiet(Command::new("gzip").args(["-n", "-9", "-f"]).arg(self.path(to))).map(drop)
    }

    /// Bytes of all files, each rounded up to the KiB.
    pub fn kibibytes(&self) -> Result<u64, String> {
        let mut sum = 0;
        for path in self.walk()? {
            let about = std::fs::metadata(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            sum += if about.is_file() { about.len().div_ceil(1024) } else { 1 };
        }
        Ok(sum)
    }

    /// Gives folders their mode, and everything its time. The last step: whatever writes here later changes a time.
    pub fn settle(&self, date: SystemTime) -> Result<(), String> {
        for path in self.walk()? {
            let set = || {
                if path.is_dir() {
                    std::fs::set_permissions(&path, Permissions::from_mode(0o755))?;
                }
                File::open(&path)?.set_modified(date)
            };
            set().map_err(|error| format!("cannot set the time of {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Everything in it and itself, what lies in a folder before the folder.
    pub fn walk(&self) -> Result<Vec<PathBuf>, String> {
        let mut found = Vec::new();
        walk(&self.0, &mut found).map_err(|error| format!("cannot read {}: {error}", self.0.display()))?;
        Ok(found)
    }

    /// Deletes it.
    pub fn remove(self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.0).map_err(|error| format!("cannot delete {}: {error}", self.0.display()))
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            walk(&entry, found)?;
        } else {
            found.push(entry);
        }
    }
    found.push(folder.to_path_buf());
    Ok(())
}
