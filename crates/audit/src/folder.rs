//! The files: `audit-<moment>.log`, of which the newest is written to. Names ascend, whatever the clock does.
//!
//! A line is in one file, whole: a file rolls between lines. A write that failed amid a line is gone on with in the same file. A start opens a file of its own, so a line that
//! a kill has torn is the last of its file.
// Not on a shard: a thread beside them blocks as it likes, and no simulated node has one.
#![cfg_attr(not(test), allow(clippy::disallowed_methods))]

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::date;
use crate::options::RollCycle;

const PREFIX: &str = "audit-";
const SUFFIX: &str = ".log";

/// Lines that are to be written, of which some may be.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    lines: VecDeque<String>,
    /// Bytes of the first line that are written.
    at: usize,
}

impl Lines {
    pub(crate) fn push(&mut self, line: String) {
        assert!(line.ends_with('\n') && line.matches('\n').count() == 1, "an entry is one line");
        self.lines.push_back(line);
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Writes the first line again from its start: it goes to another folder.
    pub(crate) fn rewind(&mut self) {
        self.at = 0;
    }

    /// The next bytes to be written, at most `bytes` beyond the first line.
    fn next(&self, bytes: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for (index, line) in self.lines.iter().enumerate() {
            if index > 0 && (out.len() + line.len()) as u64 > bytes {
                break;
            }
            out.extend_from_slice(line.as_bytes().get(if index == 0 { self.at } else { 0 }..).unwrap_or_default());
        }
        out
    }

    /// So many bytes are written. Gives how many lines that ends.
    fn advance(&mut self, mut bytes: usize) -> u64 {
        let mut ended = 0;
        while let Some(line) = self.lines.front() {
            let left = line.len() - self.at;
            if bytes < left {
                self.at += bytes;
                return ended;
            }
            bytes -= left;
            self.at = 0;
            self.lines.pop_front();
            ended += 1;
        }
        assert_eq!(bytes, 0, "no more is written than there is");
        ended
    }
}

/// How files roll and how many there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) cycle: RollCycle,
    pub(crate) file_bytes_max: u64,
    pub(crate) log_bytes_max: u64,
}

/// Lines and bytes that were written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
    period: i64,
}

/// A folder of files.
#[derive(Debug)]
pub(crate) struct Folder {
    dir: PathBuf,
    open: Option<Open>,
}

impl Folder {
    /// Nothing is touched before the first line.
    pub(crate) fn new(dir: &Path) -> Folder {
        Folder { dir: dir.to_owned(), open: None }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes lines, all of them if there is no error. What is written is taken off `lines` and counted, also then.
    pub(crate) fn write(
        &mut self,
        lines: &mut Lines,
        limits: Limits,
        now_ms: i64,
        written: &mut Written,
    ) -> io::Result<()> {
        while let Some(first) = lines.lines.front() {
            let is_torn = lines.at > 0;
            let length = first.len() as u64;
            let is_over = self.open.as_ref().is_some_and(|open| {
                let is_long = open.bytes > 0 && open.bytes + length > limits.file_bytes_max;
                !is_torn && (is_long || open.period != limits.cycle.period(now_ms))
            });
            if is_over {
                self.close()?;
            }
            if self.open.is_none() {
                self.begin(limits, now_ms)?;
            }
            let Some(open) = &mut self.open else { continue };
            let bytes = lines.next(limits.file_bytes_max.saturating_sub(open.bytes));
            let count = match open.file.write(&bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            open.bytes += count as u64;
            written.bytes += count as u64;
            written.lines += lines.advance(count);
        }
        Ok(())
    }

    /// Syncs the file and leaves it; the next line begins another.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if let Some(open) = &self.open {
            open.file.sync_all()?;
            self.open = None;
        }
        Ok(())
    }

    /// Makes a file, and removes the oldest ones for it.
    fn begin(&mut self, limits: Limits, now_ms: i64) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        let files = self.files()?;
        let last = files.last().map(|(name, _)| name.clone()).unwrap_or_default();
        let name = name_after(&last, now_ms);
        assert!(name > last, "names of files ascend");
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(self.dir.join(&name))?;
        // The name is as durable as what is synced under it.
        File::open(&self.dir)?.sync_all()?;
        self.open = Some(Open { file, bytes: 0, period: limits.cycle.period(now_ms) });
        self.remove_oldest(&files, limits);
        Ok(())
    }

    /// Removes old files until a full new one fits. One that cannot be removed is left: the log goes on.
    fn remove_oldest(&self, files: &[(String, u64)], limits: Limits) {
        let mut bytes: u64 = files.iter().map(|(_, bytes)| bytes).sum();
        for (name, length) in files {
            if bytes + limits.file_bytes_max <= limits.log_bytes_max {
                return;
            }
            match std::fs::remove_file(self.dir.join(name)) {
                Ok(()) => bytes -= length,
                Err(error) => tracing::warn!(file = name, %error, "cannot remove old file of the audit log"),
            }
        }
    }

    /// The files that are there, oldest first, and their lengths.
    fn files(&self) -> io::Result<Vec<(String, u64)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
                files.push((name, entry.metadata()?.len()));
            }
        }
        files.sort();
        Ok(files)
    }
}

/// The name of a file that begins now. Where the clock went back, or two files are of one millisecond, it is the last one's and a number, which sorts after it.
fn name_after(last: &str, now_ms: i64) -> String {
    let name = format!("{PREFIX}{}{SUFFIX}", date::of_file(now_ms));
    if name.as_str() > last {
        return name;
    }
    let stem = last.strip_suffix(SUFFIX).unwrap_or(last);
    let (moment, number) = stem.split_once('_').unwrap_or((stem, "0"));
    let number = number.parse::<u64>().unwrap_or(0) + 1;
    format!("{moment}_{number:06}{SUFFIX}")
}

#[cfg(test)]
mod tests;
