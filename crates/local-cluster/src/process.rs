//! The process of a node: found by its pid file, checked, signalled.
//!
//! A pid file has the pid, the time of its start in the kernel's ticks since the boot, and the id of that boot. The three name one process of all that this machine ever ran. A process is opened first
//! and compared afterwards, and signals go through the opened descriptor, so no other process gets one, not even one that gets the same pid meanwhile. Its working directory must be the node's folder
//! besides, whatever its path: a folder that was copied from another machine, or into a container, has pid files too.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::error::LocalClusterError;
use crate::folder::{Folder, failed, read_small};
use crate::layout::{Disk, Layout};
use crate::pidfd::{PidFd, Signal};
use crate::system::SignalsWait;

/// Between two looks at a process or a node.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
/// A process that gets SIGSTOP or SIGKILL has nothing to finish.
const REACTION_TIME_MAX: Duration = Duration::from_secs(30);

/// The process of a node that has not ended.
#[derive(Debug)]
pub(crate) struct Process {
    number: u8,
    pid: u32,
    opened: PidFd,
    is_paused: bool,
}

/// The content of a pid file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    pid: u32,
    started: u64,
    boot: String,
}

impl Identity {
    /// The identity of a running process, or of one that has ended and was not waited for.
    fn of(pid: u32) -> Option<Identity> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Identity { pid, started: started(&stat)?, boot: boot.trim().to_owned() })
    }

    fn parse(text: &str) -> Option<Identity> {
        let mut words = text.split_whitespace();
        let (pid, started, boot) = (words.next()?, words.next()?, words.next()?);
        let identity = Identity { pid: pid.parse().ok()?, started: started.parse().ok()?, boot: boot.to_owned() };
        words.next().is_none().then_some(identity)
    }

    fn text(&self) -> String {
        format!("{} {} {}\n", self.pid, self.started, self.boot)
    }
}

impl Process {
    /// The process of a node; `None` if it is down.
    pub(crate) fn find(folder: &Folder, number: u8) -> Result<Option<Process>, LocalClusterError> {
        let path = folder.pid_file(number);
        let Some(text) = read_small(&path)? else { return Ok(None) };
        let Some(identity) = Identity::parse(&text) else {
            let reason = "it is not a pid, a start time and a boot id".to_owned();
            return Err(LocalClusterError::Description { path, reason });
        };
        let pid = identity.pid;
        let Some(opened) = PidFd::open(pid).map_err(failed("open the process of", &path))? else { return Ok(None) };
        // Whoever has the identity now had the pid before it was opened.
        let is_ours = Identity::of(pid).as_ref() == Some(&identity)
            && works_in(pid, &folder.node(number)).map_err(failed("find the process of", &path))?;
        match state(pid) {
            Some(letter) if is_ours && !matches!(letter, 'Z' | 'X') => {
                Ok(Some(Process { number, pid, opened, is_paused: letter == 'T' }))
            }
            _ => Ok(None),
        }
    }

    /// Starts the process of a node.
    pub(crate) fn spawn(
        folder: &Folder,
        layout: &Layout,
        number: u8,
        disk: Disk,
        binary: &Path,
    ) -> Result<Child, LocalClusterError> {
        let log = folder.open_log(number)?;
        let errors = log.try_clone().map_err(failed("open", &folder.log(number)))?;
        let mut command = Command::new(binary);
        command.args(layout.arguments(number, disk, &folder.data(number), &folder.secret()));
        command.current_dir(folder.node(number));
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        // Ctrl-C in the terminal ends the command that waits, not the nodes.
        command.process_group(0);
        let cannot_run = |source| LocalClusterError::Spawn { number, binary: binary.to_owned(), source };
        // Ctrl-C between the start and the file would leave a node that no later command finds.
        let signals = SignalsWait::begin().map_err(cannot_run)?;
        signals.do_not_wait_in(&mut command);
        let mut child = command.spawn().map_err(cannot_run)?;
        let kept = match Identity::of(child.id()) {
            Some(identity) => folder.write(&folder.pid_file(number), identity.text().as_bytes()),
            None => Err(cannot_run(io::Error::other("/proc does not show the process; is it mounted?"))),
        };
        if let Err(error) = kept {
            // Without the file no later command would find it.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        drop(signals);
        Ok(child)
    }

    /// Its pid.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// True if it was stopped by SIGSTOP when it was found.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Sends a signal.
    pub(crate) fn send(&self, signal: Signal) -> Result<(), LocalClusterError> {
        let (number, pid) = (self.number, self.pid);
        self.opened.send(signal).map_err(|source| LocalClusterError::Signal {
            signal: signal.name(),
            number,
            pid,
            source,
        })
    }

    /// Waits for its end.
    pub(crate) fn wait(&self, time: Duration, hint: &str) -> Result<(), LocalClusterError> {
        let deadline = Instant::now() + time;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let waited = self.opened.wait(left);
            let is_over = waited.map_err(|source| LocalClusterError::Signal {
                signal: "a wait",
                number: self.number,
                pid: self.pid,
                source,
            })?;
            if is_over {
                return Ok(());
            }
            if left.is_zero() {
                return Err(self.slow("end", time, hint));
            }
        }
    }

    /// Kills it and waits for its end.
    pub(crate) fn kill(&self) -> Result<(), LocalClusterError> {
        self.send(Signal::Kill)?;
        self.wait(REACTION_TIME_MAX, "")
    }

    /// Stops all of its threads, and waits until they stand still.
    pub(crate) fn pause(&self) -> Result<(), LocalClusterError> {
        self.send(Signal::Stop)?;
        let deadline = Instant::now() + REACTION_TIME_MAX;
        while !all_threads_are_stopped(self.pid) {
            if Instant::now() >= deadline {
                return Err(self.slow("stand still", REACTION_TIME_MAX, ""));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn slow(&self, verb: &'static str, time: Duration, hint: &str) -> LocalClusterError {
        let (number, pid, seconds) = (self.number, self.pid, time.as_secs());
        LocalClusterError::Slow { number, pid, verb, seconds, hint: hint.to_owned() }
    }
}

/// The fields of `/proc/PID/stat` that follow the name. The name is in brackets, and may have any character.
fn after_name(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

/// The time of the start, in ticks since the boot: the 22nd field. The first after the name is the third.
fn started(stat: &str) -> Option<u64> {
    after_name(stat)?.nth(22 - 3)?.parse().ok()
}

/// The letter of the state of a process.
fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    after_name(&stat)?.next()?.chars().next()
}

/// True if the kernel runs no thread of the process.
fn all_threads_are_stopped(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok()).all(|stat| {
        let letter = after_name(&stat).and_then(|mut fields| fields.next());
        matches!(letter, Some("T" | "Z" | "X"))
    })
}

/// True if the folder is the working directory of the process. It is compared by device and inode: a folder has as many paths as links and mounts lead to it.
fn works_in(pid: u32, folder: &Path) -> io::Result<bool> {
    let identity = |path: &Path| match fs::metadata(path) {
        Ok(about) => Ok(Some((about.dev(), about.ino()))),
        // The process ended, or the folder is gone.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH)) => Ok(None),
        Err(error) => Err(error),
    };
    let working = identity(Path::new(&format!("/proc/{pid}/cwd")))?;
    Ok(working.is_some() && working == identity(folder)?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Has a node's pid file name a process that runs.
    pub(crate) fn write_pid_file(folder: &Folder, number: u8, pid: u32) {
        let identity = Identity::of(pid).expect("it runs");
        folder.write(&folder.pid_file(number), identity.text().as_bytes()).expect("the folder can be written");
    }

    #[test]
    fn a_start_is_read_however_the_process_is_called() {
        let stat = "7 (a) b (c) T 1 7 7 0 -1 4194560 100 0 0 0 25 5 7 1 20 0 4 0 4711 1 2";
        assert_eq!(started(stat), Some(4711));
        assert_eq!(after_name(stat).and_then(|mut fields| fields.next()), Some("T"));
        assert_eq!(started("7 (a) S 1"), None);
        assert_eq!(started("nonsense"), None);
    }

    #[test]
    fn a_pid_file_is_read_back_and_nothing_else_is_taken_for_one() {
        let own = Identity::of(std::process::id()).expect("this process runs");
        assert_eq!(Identity::parse(&own.text()), Some(own));
        for wrong in ["", "1", "1 2", "a 2 b", "1 b c", "1 2 b more"] {
            assert_eq!(Identity::parse(wrong), None, "{wrong:?}");
        }
    }

    /// A folder in which the pid file of node 1 names a process.
    fn with_pid_file(name: &str, text: &str) -> (std::path::PathBuf, Folder) {
        let path = std::env::temp_dir().join(format!("helenus-process-{}-{name}", std::process::id()));
        let folder = Folder::at(&path).expect("a path");
        drop(folder.open_log(1).expect("the temporary folder can be written"));
        folder.write(&folder.pid_file(1), text.as_bytes()).expect("it can be written");
        (path, folder)
    }

    #[test]
    fn another_process_is_never_found() {
        let own = Identity::of(std::process::id()).expect("this process runs");
        let recycled = Identity { started: own.started + 1, ..own.clone() };
        let rebooted = Identity { boot: "other".to_owned(), ..own.clone() };
        // The last is a process with the right identity that serves another folder.
        for (name, identity) in [("recycled", recycled), ("rebooted", rebooted), ("other", own)] {
            let (path, folder) = with_pid_file(name, &identity.text());
            assert!(Process::find(&folder, 1).expect("the file is right").is_none(), "{name}");
            fs::remove_dir_all(path).expect("it is ours");
        }
        let (path, folder) = with_pid_file("nonsense", "nonsense");
        assert!(matches!(Process::find(&folder, 1), Err(LocalClusterError::Description { .. })));
        fs::remove_dir_all(path).expect("it is ours");
    }

    #[test]
    fn a_process_in_the_node_s_folder_is_found_by_any_path_paused_and_killed() {
        let (path, folder) = with_pid_file("found", "");
        let mut command = Command::new("sh");
        command.args(["-c", "read line; exit 0"]).current_dir(folder.node(1)).stdin(Stdio::piped());
        let mut child = command.spawn().expect("sh is there");
        let identity = Identity::of(child.id()).expect("it runs");
        folder.write(&folder.pid_file(1), identity.text().as_bytes()).expect("it can be written");
        let find = || Process::find(&folder, 1).expect("the file is right");
        let process = find().expect("it runs");
        assert!(!process.is_paused());
        let link = path.with_extension("link");
        std::os::unix::fs::symlink(&path, &link).expect("the temporary folder can be written");
        let by_link = Folder::at(&link).expect("a path");
        assert!(Process::find(&by_link, 1).expect("the file is right").is_some(), "it is the same folder");
        fs::remove_file(link).expect("it is ours");
        // A copy has the pid file, and another folder.
        let (other_path, other) = with_pid_file("copy", &identity.text());
        assert!(Process::find(&other, 1).expect("the file is right").is_none());
        fs::remove_dir_all(other_path).expect("it is ours");
        process.pause().expect("it is ours");
        assert!(find().expect("it is there").is_paused());
        process.send(Signal::Continue).expect("it is ours");
        process.kill().expect("it is ours");
        assert!(find().is_none(), "a process that was not waited for is down too");
        child.wait().expect("it is a child of ours");
        fs::remove_dir_all(path).expect("it is ours");
    }
}
