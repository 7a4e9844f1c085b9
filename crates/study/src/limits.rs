//! What a server may use: processors by `taskset`, memory by a control group of its own.
//!
//! A group's bound holds for the pages of the files that its processes read, too: with it, a table larger than memory stays so.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where control groups of memory are: of the second version, and of the first.
const UNIFIED: &str = "/sys/fs/cgroup";
const FIRST: &str = "/sys/fs/cgroup/memory";

/// A control group; dropped, it is taken away, for which its processes must have ended.
#[derive(Debug)]
pub(crate) struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// A group of that name whose processes hold at most so many bytes. The error says what a user can do.
    pub(crate) fn make(name: &str, bytes: u64) -> Result<MemoryGroup, String> {
        let is_unified = Path::new(UNIFIED).join("cgroup.controllers").exists();
        let (parent, bound) = if is_unified { (UNIFIED, "memory.max") } else { (FIRST, "memory.limit_in_bytes") };
        let folder = Path::new(parent).join(name);
        MemoryGroup::fill(&folder, bound, bytes).map_err(|error| {
            format!(
                "cannot create a memory cgroup at {}: {error}; run as root with the memory controller enabled",
                folder.display()
            )
        })?;
        // Without swap the bound is one of memory. Where swap is not counted, there is no such file.
        let _ = fs::write(folder.join("memory.swap.max"), "0");
        Ok(MemoryGroup { folder })
    }

    fn fill(folder: &Path, bound: &str, bytes: u64) -> io::Result<()> {
        if !folder.exists() {
            fs::create_dir(folder)?;
        }
        fs::write(folder.join(bound), bytes.to_string())
    }

    /// The file into which a process writes its number to be a member.
    pub(crate) fn members(&self) -> PathBuf {
        self.folder.join("cgroup.procs")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // What cannot be taken away is an empty group, which costs nothing.
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The shell's script that becomes the process of `line`: a member of the group, on the processors, ended when its parent ends.
pub(crate) fn script(line: &str, cores: Option<&str>, group: Option<&MemoryGroup>) -> String {
    let join = group.map_or_else(String::new, |group| format!("echo $$ > '{}' && ", group.members().display()));
    let pin = cores.map_or_else(String::new, |cores| format!("taskset -c {cores} "));
    format!("{join}exec setpriv --pdeathsig KILL {pin}{line}")
}

/// Bytes of `2GiB`, `512M` or a number alone; units are of 1024.
pub(crate) fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [("2GiB", 2 << 30), ("512M", 512 << 20), ("4096", 4096), ("1 kb", 1024)] {
            assert_eq!(bytes(text), Some(expected), "{text}");
        }
        for text in ["", "GiB", "2TiBs", "0", "-1", "99999999999999999999G"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_is_bounded_from_its_first_instruction() {
        assert_eq!(script("serve -x", None, None), "exec setpriv --pdeathsig KILL serve -x");
        let group = MemoryGroup { folder: PathBuf::from("/nowhere/g") };
        assert_eq!(
            script("serve", Some("0,2"), Some(&group)),
            "echo $$ > '/nowhere/g/cgroup.procs' && exec setpriv --pdeathsig KILL taskset -c 0,2 serve"
        );
    }
}
