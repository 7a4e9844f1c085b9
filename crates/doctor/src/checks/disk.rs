//! The block device below the data folder.
//!
//! From the mount's device number to the folder of the whole disk in `/sys`; what is built of others (LVM, RAID, encryption) is followed down to the
//! disks that it is built of, and each of them is looked at.

use std::collections::BTreeSet;

use super::file_system::mount;
use super::machine::is_virtual;
use super::{Check, counted};
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};

pub(super) const CHECKS: [Check; 4] = [
    Check {
        area: Area::Disk,
        name: "disk",
        why: "A read that memory cannot answer goes to the disk for one chunk of 16 KiB, wherever it lies, which a disk with a moving head does slowly.",
        judge: kind,
    },
    Check {
        area: Area::Disk,
        name: "disk scheduler",
        why: "Helenus orders its own work by urgency, and a scheduler that orders it again only makes flash wait.",
        judge: scheduler,
    },
    Check {
        area: Area::Disk,
        name: "read-ahead",
        why: "Helenus reads past the page cache, where the kernel reads nothing ahead.",
        judge: read_ahead,
    },
    Check {
        area: Area::Disk,
        name: "write cache",
        why: "A disk with a cache that forgets must flush it for each group of the commit log.",
        judge: write_cache,
    },
];

/// More devices, partitions and disks, than one file system lies on.
const DEVICES_MAX: usize = 256;

/// A disk: its name and its folder below `/sys`.
pub(super) struct Disk {
    pub(super) name: String,
    pub(super) folder: String,
}

impl Disk {
    fn queue(&self, name: &str) -> String {
        format!("{}/queue/{name}", self.folder)
    }

    fn is_rotating(&self, host: &Host) -> Result<bool, NotKnown> {
        Ok(host.number(&self.queue("rotational"))? != 0)
    }
}

/// The disks below the data folder.
pub(super) fn disks(host: &Host) -> Result<Vec<Disk>, NotKnown> {
    let mount = mount(host)?;
    let numbered = format!("/sys/dev/block/{}", mount.device);
    let is_number = mount.device.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
    let folder = match host.resolved(&numbered) {
        Ok(folder) if is_number => folder,
        // Some file systems have a number of their own; what they were mounted from tells the device.
        _ => {
            // Names of volumes are links to those of devices.
            let source = host.resolved(&mount.source).unwrap_or_else(|_| mount.source.clone());
            let name = source.strip_prefix("/dev/").filter(|name| !name.contains(['/', '.']));
            let folder = name.and_then(|name| host.resolved(&format!("/sys/class/block/{name}")).ok());
            folder.ok_or_else(|| NotKnown::because(format!("{} is on no block device", shown(&mount.file_system))))?
        }
    };
    let found = whole_disks(host, folder.clone());
    if found.is_empty() { Err(NotKnown::Absent { path: format!("{folder}/queue") }) } else { Ok(found) }
}

/// Goes from a partition to its disk, and from what is built of others to these.
fn whole_disks(host: &Host, folder: String) -> Vec<Disk> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![folder];
    while let Some(folder) = waiting.pop()
        && seen.len() < DEVICES_MAX
    {
        if !seen.insert(folder.clone()) {
            continue;
        }
        let (parent, name) = folder.rsplit_once('/').unwrap_or(("", &folder));
        if host.has(&format!("{folder}/partition")) {
            waiting.push(parent.to_owned());
            continue;
        }
        let names = host.names(&format!("{folder}/slaves")).unwrap_or_default();
        let below =
            names.iter().take(DEVICES_MAX).filter_map(|name| host.resolved(&format!("{folder}/slaves/{name}")).ok());
        let before = waiting.len();
        waiting.extend(below);
        if waiting.len() == before && host.has(&format!("{folder}/queue")) {
            found.push(Disk { name: shown(name), folder });
        }
    }
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found
}

fn kind(host: &Host) -> Result<Judgement, NotKnown> {
    let disks = disks(host)?;
    let mut rotating = Vec::new();
    for disk in &disks {
        if disk.is_rotating(host)? {
            rotating.push(disk.name.as_str());
        }
    }
    let names = disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ");
    if rotating.is_empty() {
        return Ok(Judgement::ok(format!("{names}, flash")));
    }
    let mend = "use flash, preferably NVMe";
    let found = format!("{}: reported as rotational", rotating.join(", "));
    // The default of many hypervisors, whatever stands behind it.
    if is_virtual(host) {
        return Ok(Judgement::advice(
            format!("{found}, which virtual disks often report wrongly"),
            format!("{mend}, if the report is right"),
        ));
    }
    Ok(Judgement::warning(found, mend))
}

fn scheduler(host: &Host) -> Result<Judgement, NotKnown> {
    let mut found = Vec::new();
    let mut worst: Option<Judgement> = None;
    for disk in disks(host)? {
        let path = disk.queue("scheduler");
        let text = host.value(&path)?;
        let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(chosen, _)| chosen);
        // A disk with one scheduler only has no brackets around it.
        let chosen = chosen.or_else(|| (!text.contains(' ')).then_some(text.as_str()));
        let chosen = chosen.ok_or_else(|| NotKnown::unexpected(&path, &text))?;
        let line = format!("{} on {}", shown(chosen), disk.name);
        found.push(line.clone());
        let wanted = if disk.is_rotating(host)? && !is_virtual(host) { "mq-deadline" } else { "none" };
        let mend = format!("echo {wanted} > {path}, and a udev rule to keep it");
        let judgement = match chosen {
            "none" | "noop" => None,
            "mq-deadline" | "deadline" if wanted == "mq-deadline" => None,
            "mq-deadline" | "deadline" | "kyber" => Some(Judgement::advice(line, mend)),
            _ => Some(Judgement::warning(line, mend)),
        };
        let is_worse = |judgement: &Judgement| worst.as_ref().is_none_or(|worst| judgement.verdict > worst.verdict);
        if let Some(judgement) = judgement.filter(is_worse) {
            worst = Some(judgement);
        }
    }
    let found = found.join(", ");
    Ok(worst.map_or_else(|| Judgement::ok(found.clone()), |worst| Judgement { found: found.clone(), ..worst }))
}

fn read_ahead(host: &Host) -> Result<Judgement, NotKnown> {
    let disks = disks(host)?;
    let kibibytes = host.number(&disks[0].queue("read_ahead_kb"))?;
    let found = format!("{kibibytes} KiB on {}", disks[0].name);
    // Only where direct I/O is refused do files go through the page cache.
    const KIBIBYTES_MAX: u64 = 128;
    let is_refused = host.answers.disk.direct.is_err() && host.answers.disk.writes.is_ok();
    if is_refused && kibibytes > KIBIBYTES_MAX {
        let mend = format!("echo 16 > {}", disks[0].queue("read_ahead_kb"));
        return Ok(Judgement::advice(
            format!("{found}, and files go through the page cache on this file system"),
            mend,
        ));
    }
    Ok(Judgement::ok(found))
}

fn write_cache(host: &Host) -> Result<Judgement, NotKnown> {
    let mut flushing = 0;
    let disks = disks(host)?;
    for disk in &disks {
        let path = disk.queue("write_cache");
        match host.value(&path)?.as_str() {
            "write back" => flushing += 1,
            "write through" => {}
            other => return Err(NotKnown::unexpected(&path, other)),
        }
    }
    let count = counted(disks.len(), "disk");
    Ok(match flushing {
        0 => Judgement::ok(format!("not volatile on {count}")),
        _ => Judgement::ok(format!(
            "volatile on {flushing} of {count}, so syncs must flush it; see synced writes for the cost"
        )),
    })
}
