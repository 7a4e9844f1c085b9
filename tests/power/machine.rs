//! Where the server's data lies: ext4 on a loop device on the forgetful disk. Mounted and unmounted, and always cleared away.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, Config, MountOption, Session};
use helenus_tests::Random;

use super::disk::{Content, Disk, Remains};

/// Room for what the rounds on one disk flush and for what their compactions write beside it.
const DISK_BYTES: u64 = 1 << 30;
/// Room for a load of a moment.
const SMALL_DISK_BYTES: u64 = 96 << 20;
/// How long the kernel may take to let go of a device after the last process did.
const UNMOUNT_TIME_MAX: Duration = Duration::from_secs(20);
const FOLDER_PREFIX: &str = "helenus-power-";
/// Machines that this process has made: each has its own folder.
static MACHINES: AtomicU64 = AtomicU64::new(0);

/// A machine that can lose its power.
pub struct Machine {
    /// Its disk.
    pub disk: Disk,
    /// What a new disk holds: an empty ext4.
    fresh: Content,
    folder: PathBuf,
    /// The file system over the disk; dropped before the folder goes.
    session: Option<BackgroundSession>,
    is_mounted: bool,
}

impl Machine {
    /// Makes the disk and its file system, switched off. Says what is missing on the real machine, if something is.
    pub fn new() -> Machine {
        Machine::of_bytes(DISK_BYTES)
    }

    /// The same with a small disk, which is made and filled sooner.
    pub fn small() -> Machine {
        Machine::of_bytes(SMALL_DISK_BYTES)
    }

    fn of_bytes(bytes: u64) -> Machine {
        require();
        clear_leftovers();
        let number = MACHINES.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}-{number}", std::process::id()));
        for name in ["disk", "data"] {
            std::fs::create_dir_all(folder.join(name)).expect("the temporary folder can be written");
        }
        let fresh = Content::of(&format(&folder, bytes));
        let disk = Disk::new(fresh.clone());
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("helenus-power".into())];
        let session = Session::new(disk.clone(), folder.join("disk"), &config)
            .and_then(Session::spawn)
            .unwrap_or_else(|error| panic!("cannot mount a FUSE file system: {error}\n{NEEDS}"));
        Machine { disk, fresh, folder, session: Some(session), is_mounted: false }
    }

    /// The folder for the server's data.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Puts in a new disk.
    pub fn replace_disk(&mut self) {
        assert!(!self.is_mounted);
        self.disk.replace(&self.fresh);
    }

    /// Mounts what is on the disk; ext4 recovers from the cut.
    pub fn start(&mut self) {
        let image = self.folder.join("disk").join(self.disk.file_name());
        let mut mount = Command::new("mount");
        // By itself ext4 would commit every five seconds, which flushes the disk and hides that the server does not.
        mount.args(["-t", "ext4", "-o", "loop,noatime,commit=3600"]).arg(image).arg(self.data());
        let output = mount.output().expect("mount was found");
        assert!(output.status.success(), "{}\n{NEEDS}", String::from_utf8_lossy(&output.stderr));
        self.is_mounted = true;
    }

    /// The power goes: nothing that reaches the disk from here on counts. [`Machine::restart`] follows, when no process uses
    /// the data any more.
    pub fn cut(&self, random: &mut Random) {
        let remains = *random.choose(&[Remains::Nothing, Remains::Prefix, Remains::AnySectors, Remains::AnySectors]);
        self.disk.cut(random, remains);
    }

    /// The same, and nothing is left of what was not flushed.
    pub fn cut_losing_all(&self) {
        self.disk.cut(&mut Random::new(0), Remains::Nothing);
    }

    /// The power comes back.
    pub fn restart(&mut self) {
        self.unmount();
        self.disk.power_on();
        self.start();
    }

    /// Unmounts the data. The kernel ends the last operations of a killed process in its own time, hence the tries.
    pub fn unmount(&mut self) {
        let deadline = Instant::now() + UNMOUNT_TIME_MAX;
        while !try_unmount(&self.data(), &[]) {
            assert!(Instant::now() < deadline, "{} cannot be unmounted", self.data().display());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.is_mounted = false;
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // Also when a test failed. Nothing may wait for the disk then.
        self.disk.cut(&mut Random::new(0), Remains::Nothing);
        let deadline = Instant::now() + Duration::from_secs(5);
        while self.is_mounted && !try_unmount(&self.data(), &[]) {
            if Instant::now() > deadline {
                let _ = try_unmount(&self.data(), &["--lazy"]);
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // The loop device lets go of the disk's file a moment after its file system was unmounted.
        while !try_unmount(&self.folder.join("disk"), &[]) {
            if Instant::now() > deadline {
                let _ = try_unmount(&self.folder.join("disk"), &["--lazy"]);
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(self.session.take());
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const NEEDS: &str = "the power-cut tests need root, /dev/fuse, loop devices, mount and mkfs.ext4\n\
                     this helps: apt-get install -y e2fsprogs mount (and modprobe fuse loop ext4, as root)";

/// What the tests cannot do without.
fn require() {
    let is_there = |program: &str| {
        let path = std::env::var("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .chain(["/usr/sbin".into(), "/sbin".into()])
            .any(|folder: PathBuf| folder.join(program).is_file())
    };
    let mut missing: Vec<&str> =
        ["mkfs.ext4", "mount", "umount"].into_iter().filter(|program| !is_there(program)).collect();
    missing.extend(["/dev/fuse", "/dev/loop-control"].into_iter().filter(|device| !Path::new(device).exists()));
    assert!(missing.is_empty(), "missing: {}\n{NEEDS}", missing.join(", "));
}

/// An empty ext4, as bytes.
fn format(folder: &Path, bytes: u64) -> Vec<u8> {
    let image = folder.join("image");
    std::fs::File::create(&image).and_then(|file| file.set_len(bytes)).expect("an image can be made");
    let mut mkfs = Command::new("mkfs.ext4");
    mkfs.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()));
    // Nothing is left for the kernel to do in the background.
    mkfs.args(["-q", "-F", "-b", "4096", "-N", "512", "-m", "0", "-J", "size=4"]);
    mkfs.args(["-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"]).arg(&image);
    let output = mkfs.output().unwrap_or_else(|error| panic!("mkfs.ext4: {error}\n{NEEDS}"));
    assert!(output.status.success(), "mkfs.ext4: {}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&image).expect("the image was just made");
    std::fs::remove_file(&image).expect("the image was just made");
    bytes
}

fn try_unmount(path: &Path, flags: &[&str]) -> bool {
    let output = Command::new("umount").args(flags).arg(path).output().expect("umount was found");
    output.status.success() || String::from_utf8_lossy(&output.stderr).contains("not mounted")
}

/// Unmounts and removes what a killed earlier run left. Its process is gone; a living one's is left alone.
fn clear_leftovers() {
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("/proc is mounted");
    let prefix = std::env::temp_dir().join(FOLDER_PREFIX);
    let prefix = prefix.to_string_lossy();
    let mut points: Vec<&str> = mounts.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    points.retain(|point| point.starts_with(&*prefix) && !is_alive(&point[prefix.len()..]));
    // The data before the disk under it.
    for point in points.iter().rev() {
        if !try_unmount(Path::new(point), &[]) {
            try_unmount(Path::new(point), &["--lazy"]);
        }
    }
    let entries = std::fs::read_dir(std::env::temp_dir()).expect("the temporary folder can be read");
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(rest) = name.strip_prefix(FOLDER_PREFIX)
            && !is_alive(rest)
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether the process whose id begins `text` runs.
fn is_alive(text: &str) -> bool {
    let id = text.split(['/', '-']).next().unwrap_or_default();
    Path::new("/proc").join(id).exists()
}
