//! What the kernel answered to the calls that no file stands for, as values, so that a faked host can bring its own.

use std::path::{Path, PathBuf};

use super::{disk, kernel, plain};

/// Room of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub(crate) total_bytes: u64,
    /// What somebody without privileges may still take.
    pub(crate) free_bytes: u64,
}

/// How long blocks took to be written and synced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteTimes {
    pub(crate) count: u64,
    /// A tenth of them took no longer.
    pub(crate) tenth_micros: u64,
    pub(crate) median_micros: u64,
    pub(crate) worst_micros: u64,
}

/// What the kernel thinks of its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Synchronisation {
    pub(crate) is_synchronised: bool,
    pub(crate) error_micros_max: u64,
}

/// What became of the probe's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskAnswers {
    /// Whether a write past the page cache is taken.
    pub(crate) direct: Result<(), String>,
    pub(crate) writes: Result<WriteTimes, String>,
}

/// What the kernel answered; an error is its reason in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// The processor's architecture, as Rust names it.
    pub(crate) architecture: String,
    /// The data folder as it was named, and the nearest folder that is there, without links.
    pub(crate) data_folder: PathBuf,
    pub(crate) existing_folder: PathBuf,
    pub(crate) space: Result<Space, String>,
    pub(crate) disk: DiskAnswers,
    pub(crate) uring: Result<(), String>,
    pub(crate) linux_aio: Result<(), String>,
    pub(crate) clock: Result<Synchronisation, String>,
}

impl Answers {
    /// Asks this host's kernel.
    pub(super) fn ask(data_folder: &Path) -> Answers {
        let existing = nearest_existing(data_folder);
        let words = |error: std::io::Error| plain(&error);
        Answers {
            architecture: std::env::consts::ARCH.to_owned(),
            data_folder: data_folder.to_owned(),
            space: kernel::space(&existing).map_err(words),
            disk: disk::ask(&existing),
            existing_folder: existing,
            uring: kernel::uring().map_err(words),
            linux_aio: kernel::linux_aio().map_err(words),
            clock: kernel::synchronisation().map_err(words),
        }
    }

    /// Reads a faked host's answers: a line `name = value` each, and a value that begins with `refused: ` is an error. See the
    /// `answers.txt` of the faked hosts.
    pub fn parse(text: &str) -> Result<Answers, String> {
        let field = |name: &str| -> Result<&str, String> {
            let found = text.lines().filter_map(|line| line.split_once('=')).find(|(key, _)| key.trim() == name);
            found.map(|(_, value)| value.trim()).ok_or_else(|| format!("answer '{name}' is missing"))
        };
        let numbers = |name: &str, value: &str, count: usize| -> Result<Vec<u64>, String> {
            let numbers: Vec<u64> = value.split(' ').filter_map(|number| number.parse().ok()).collect();
            if numbers.len() == count {
                Ok(numbers)
            } else {
                Err(format!("'{name}' takes {count} numbers, got '{value}'"))
            }
        };
        let refusal = |name: &str| field(name).map(|value| value.strip_prefix("refused: ").map_or(Ok(value), Err));
        let permission = |name: &str| -> Result<Result<(), String>, String> {
            Ok(refusal(name)?.map(|_| ()).map_err(str::to_owned))
        };
        let space = match refusal("space: bytes, free bytes")? {
            Ok(value) => {
                let numbers = numbers("space", value, 2)?;
                Ok(Space { total_bytes: numbers[0], free_bytes: numbers[1] })
            }
            Err(reason) => Err(reason.to_owned()),
        };
        let writes = match refusal("synced writes: count, tenth µs, median µs, worst µs")? {
            Ok(value) => {
                let numbers = numbers("synced writes", value, 4)?;
                Ok(WriteTimes {
                    count: numbers[0],
                    tenth_micros: numbers[1],
                    median_micros: numbers[2],
                    worst_micros: numbers[3],
                })
            }
            Err(reason) => Err(reason.to_owned()),
        };
        let clock = match refusal("clock: synchronised 0 or 1, greatest error µs")? {
            Ok(value) => {
                let numbers = numbers("clock", value, 2)?;
                Ok(Synchronisation { is_synchronised: numbers[0] != 0, error_micros_max: numbers[1] })
            }
            Err(reason) => Err(reason.to_owned()),
        };
        let folder = PathBuf::from(field("data folder")?);
        Ok(Answers {
            architecture: field("architecture")?.to_owned(),
            data_folder: folder.clone(),
            existing_folder: folder,
            space,
            disk: DiskAnswers { direct: permission("direct")?, writes },
            uring: permission("io_uring")?,
            linux_aio: permission("linux-aio")?,
            clock,
        })
    }
}

/// The folder itself or the nearest one above it that is there, without links; the root where nothing can be told.
fn nearest_existing(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| PathBuf::from("/"));
    let mut nearest = absolute.ancestors().filter_map(|folder| std::fs::canonicalize(folder).ok());
    nearest.find(|folder| folder.is_dir()).unwrap_or_else(|| PathBuf::from("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_folder_that_is_there() {
        assert_eq!(nearest_existing(Path::new("/there/is/no/such folder")), Path::new("/"));
        assert_eq!(nearest_existing(Path::new("/proc/self/status")), nearest_existing(Path::new("/proc/self")));
        assert!(nearest_existing(Path::new("nowhere/near")).is_absolute());
    }

    #[test]
    fn answers_that_lack_something_are_refused() {
        assert_eq!(
            Answers::parse("architecture = x86_64\n"),
            Err("answer 'space: bytes, free bytes' is missing".into())
        );
    }
}
