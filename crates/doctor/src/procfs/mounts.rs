//! `/proc/self/mountinfo`: which file system holds a folder.

use std::path::{Path, PathBuf};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device number, as `259:2`.
    pub(crate) device: String,
    /// Where it is mounted.
    pub(crate) at: PathBuf,
    pub(crate) file_system: String,
    /// What is mounted, as `/dev/nvme0n1p2`.
    pub(crate) source: String,
    /// Options of the mount and of the file system.
    pub(crate) options: Vec<String>,
}

/// The mount that holds `folder`, which is absolute and has no links in it: the last one of those whose place is the longest.
pub(crate) fn holder(text: &str, folder: &Path) -> Option<Mount> {
    let mounts = text.lines().filter_map(mount).filter(|mount| folder.starts_with(&mount.at));
    mounts.max_by_key(|mount| mount.at.as_os_str().len())
}

/// `id parent device root place options [optional …] - type source options`
fn mount(line: &str) -> Option<Mount> {
    let (before, behind) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (device, _root, at, options) = (before.next()?, before.next()?, before.next()?, before.next()?);
    let mut behind = behind.split(' ');
    let (file_system, source, more) = (behind.next()?, behind.next()?, behind.next().unwrap_or_default());
    let options = options.split(',').chain(more.split(',')).filter(|option| !option.is_empty());
    Some(Mount {
        device: device.to_owned(),
        at: PathBuf::from(unescaped(at)),
        file_system: file_system.to_owned(),
        source: unescaped(source),
        options: options.map(str::to_owned).collect(),
    })
}

/// Spaces and their like stand as `\040`, three octal digits.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                out.push(char::from(code));
                out.push_str(&part[3..]);
            }
            None => {
                out.push('\\');
                out.push_str(part);
            }
        }
    }
    out
}
