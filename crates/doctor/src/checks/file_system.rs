//! The file system of the data folder.

use super::Check;
use super::processors::allowed;
use crate::finding::{Area, Judgement};
use crate::host::{Host, NotKnown, shown};
use crate::procfs::{Mount, holder};
use crate::units::print_disk_bytes;

pub(super) const CHECKS: [Check; 5] = [
    Check {
        area: Area::Disk,
        name: "file system",
        why: "A write is acknowledged when the file system says that it is on the disk, so that must be true, and quick.",
        judge: file_system,
    },
    Check {
        area: Area::Disk,
        name: "mount options",
        why: "Noting the time of each access costs a write for reads, and without barriers a power cut takes what was acknowledged.",
        judge: mount_options,
    },
    Check {
        area: Area::Disk,
        name: "free space",
        why: "A compaction may need as much room as the files that it merges, and without room for the commit log writes are refused.",
        judge: free_space,
    },
    Check {
        area: Area::Disk,
        name: "direct i/o",
        why: "Helenus reads and writes its files past the page cache; where that is refused, data is copied once more and cached twice.",
        judge: direct,
    },
    Check {
        area: Area::Disk,
        name: "synced writes",
        why: "A write waits for the log's block to be on the disk; all that arrive meanwhile share the next one.",
        judge: synced_writes,
    },
];

/// The mount that holds the data folder.
pub(super) fn mount(host: &Host) -> Result<Mount, NotKnown> {
    const PATH: &str = "/proc/self/mountinfo";
    let text = host.text(PATH)?;
    let folder = &host.answers.existing_folder;
    holder(&text, folder)
        .ok_or_else(|| NotKnown::because(format!("{PATH} names nothing that holds {}", folder.display())))
}

fn file_system(host: &Host) -> Result<Judgement, NotKnown> {
    let mount = mount(host)?;
    let kind = shown(&mount.file_system);
    let found = format!(
        "{kind} at {}, for {}",
        shown(&mount.at.to_string_lossy()),
        shown(&host.answers.data_folder.to_string_lossy())
    );
    let elsewhere = "put the data directory on xfs or ext4 (--data-dir)";
    Ok(match mount.file_system.as_str() {
        "xfs" | "ext4" => Judgement::ok(found),
        memory if is_memory(memory) => {
            Judgement::problem(format!("{found}: in memory, so all data is lost at reboot"), elsewhere)
        }
        layers if is_layered(layers) => Judgement::warning(
            format!("{found}: a container layer, which is deleted with the container"),
            "mount a volume at the data directory (docker run -v)",
        ),
        remote if is_remote(remote) => {
            Judgement::warning(format!("{found}: each synced write crosses the network"), elsewhere)
        }
        "btrfs" | "zfs" | "bcachefs" => Judgement::advice(
            format!("{found}: copy-on-write, which is slow for the commit log's overwrites"),
            elsewhere,
        ),
        _ => Judgement::advice(format!("{found}: not tested with Helenus"), elsewhere),
    })
}

fn is_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs")
}

fn is_layered(file_system: &str) -> bool {
    matches!(file_system, "overlay" | "aufs" | "fuse.fuse-overlayfs")
}

fn is_remote(file_system: &str) -> bool {
    const REMOTE: [&str; 9] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "glusterfs", "virtiofs"];
    REMOTE.contains(&file_system)
}

fn mount_options(host: &Host) -> Result<Judgement, NotKnown> {
    let mount = mount(host)?;
    let has = |name: &str| mount.options.iter().any(|option| option == name);
    let place = shown(&mount.at.to_string_lossy());
    if has("ro") {
        return Ok(Judgement::problem("read only (ro)", format!("mount -o remount,rw {place}")));
    }
    if has("nobarrier") || has("barrier=0") {
        return Ok(Judgement::problem(
            "without barriers",
            format!("mount -o remount,barrier=1 {place}, and in /etc/fstab"),
        ));
    }
    let kind = mount.file_system.as_str();
    if is_memory(kind) || is_layered(kind) || is_remote(kind) {
        return Ok(Judgement::ok(format!("those of {} do not matter", shown(kind))));
    }
    let remount = format!("mount -o remount,noatime {place}, and in /etc/fstab");
    Ok(match () {
        () if has("noatime") => Judgement::ok("noatime"),
        () if has("relatime") => Judgement::advice("relatime: access times are updated once a day", remount),
        () => Judgement::warning("strictatime: each access updates the access time", remount),
    })
}

fn free_space(host: &Host) -> Result<Judgement, NotKnown> {
    let space = host.answers.space.clone().map_err(NotKnown::because)?;
    if space.total_bytes == 0 {
        return Err(NotKnown::because("the file system does not report its size"));
    }
    let part = space.free_bytes as f64 / space.total_bytes as f64;
    let found = format!(
        "{} of {} ({:.0} %)",
        print_disk_bytes(space.free_bytes),
        print_disk_bytes(space.total_bytes),
        part * 100.0
    );
    let mend = "free disk space, or put the data directory on a larger disk (--data-dir)";
    Ok(match part {
        ..0.05 => Judgement::problem(found, mend),
        ..0.2 => Judgement::warning(found, mend),
        ..0.5 => Judgement::advice(found, mend),
        _ => Judgement::ok(found),
    })
}

fn direct(host: &Host) -> Result<Judgement, NotKnown> {
    match (&host.answers.disk.direct, &host.answers.disk.writes) {
        (Ok(()), _) => Ok(Judgement::ok("works")),
        // What kept even the file from being made says nothing about direct I/O.
        (Err(reason), Err(other)) if reason == other => Err(NotKnown::because(reason.clone())),
        (Err(reason), _) => Ok(Judgement::warning(
            format!("refused: {}", shown(reason)),
            "put the data directory on xfs or ext4 (--data-dir)",
        )),
    }
}

fn synced_writes(host: &Host) -> Result<Judgement, NotKnown> {
    if mount(host).is_ok_and(|mount| is_memory(&mount.file_system)) {
        return Err(NotKnown::because("no disk to wait for"));
    }
    let times = host.answers.disk.writes.clone().map_err(NotKnown::because)?;
    let found = format!(
        "{} writes of 4 KiB, half of them within {} µs, the longest {} µs",
        times.count, times.median_micros, times.worst_micros
    );
    // The way to a device and back takes longer, even to one that needs no flush.
    const MICROS_HONEST: u64 = 5;
    const MICROS_GOOD: u64 = 2_000;
    let is_slow = times.median_micros >= MICROS_GOOD;
    // On a host without a free processor a write waits for one when it is done, in steps of the scheduler's.
    if is_slow && times.tenth_micros < MICROS_GOOD && is_busy(host)? {
        return Err(NotKnown::because(format!(
            "{found}, a tenth within {} µs, on a host without an idle processor; repeat the check on an idle host",
            times.tenth_micros
        )));
    }
    let lie = "disable the hypervisor's write cache for this disk (cache=none or directsync), and do not run under libeatmydata";
    Ok(match times.median_micros {
        ..MICROS_HONEST => Judgement::warning(
            format!("{found}: no disk is that quick, so writes are acknowledged before they are durable"),
            lie,
        ),
        20_000.. => Judgement::warning(found, "use a flash disk: each write waits that long"),
        MICROS_GOOD.. => {
            Judgement::advice(found, "use a disk that syncs faster, for example NVMe with power loss protection")
        }
        _ => Judgement::ok(found),
    })
}

/// Whether as many processes as there are processors, or more, have wanted one lately.
fn is_busy(host: &Host) -> Result<bool, NotKnown> {
    const PATH: &str = "/proc/loadavg";
    let text = host.value(PATH)?;
    let load = text.split(' ').next().and_then(|word| word.parse::<f64>().ok());
    let load = load.ok_or_else(|| NotKnown::unexpected(PATH, &text))?;
    Ok(load >= allowed(host)?.len() as f64)
}
