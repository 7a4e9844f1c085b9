//! The folder of a cluster:
//!
//! ```text
//! helenus-cluster/   mode 0700, of the user who works with it
//!   lock           held by the command at work
//!   secret         mode 0600: the nodes prove it to each other
//!   cluster.json   the description (layout.rs); its presence makes the folder a cluster
//!   node1/         data/ · data.replaced.1/ · log · log.old · pid
//! ```
//!
//! Files are replaced as a whole. A crash before `cluster.json` exists leaves a folder that the next start completes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::LocalClusterError;
use crate::layout::Layout;
use crate::ownership;

const LOCK: &str = "lock";
const SECRET: &str = "secret";
const LAYOUT: &str = "cluster.json";
/// Random bytes of a secret, which is written in hexadecimal.
const SECRET_BYTES: usize = 32;
/// The most bytes that are read of a small file.
const SMALL_FILE_BYTES_MAX: u64 = 64 << 10;
/// The end of a log in which its last line is looked for.
const LOG_END_BYTES: u64 = 16 << 10;
/// Length from which a log makes room for a new one at the node's next start.
const LOG_BYTES_MAX: u64 = 64 << 20;
/// Characters of a log's line that a sentence quotes.
const LINE_CHARS_MAX: usize = 500;

/// The folder, which may not exist yet.
#[derive(Debug)]
pub(crate) struct Folder {
    /// As the user wrote it.
    shown: PathBuf,
    path: PathBuf,
}

/// The right to change the cluster, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Folder {
    /// The folder at a path.
    pub(crate) fn at(dir: &Path) -> Result<Folder, LocalClusterError> {
        // Nodes have other working directories.
        let path = std::path::absolute(dir).map_err(failed("use", dir))?;
        Ok(Folder { shown: dir.to_owned(), path })
    }

    /// The folder, as the user wrote it.
    pub(crate) fn shown(&self) -> &Path {
        &self.shown
    }

    /// The option that names the folder in a command; empty for the default one.
    pub(crate) fn option(&self) -> String {
        match self.shown.to_str() {
            Some("helenus-cluster") => String::new(),
            _ => format!(" --dir {}", self.shown.display()),
        }
    }

    /// Makes the folder and its secret, where they are missing, and locks it. Fails if it has files of others.
    pub(crate) fn create(&self) -> Result<Lock, LocalClusterError> {
        ownership::create_private(&self.path).map_err(failed("create", &self.shown))?;
        ownership::check_folder(&self.path, &self.shown)?;
        if !self.path.join(LAYOUT).exists() {
            let entries = fs::read_dir(&self.path).map_err(failed("read", &self.shown))?;
            for entry in entries {
                let name = entry.map_err(failed("read", &self.shown))?.file_name();
                // As left by a start that ended early.
                if ![LOCK, SECRET, &temporary(SECRET), &temporary(LAYOUT)].iter().any(|known| name == **known) {
                    return Err(LocalClusterError::OtherFiles { dir: self.shown.clone() });
                }
            }
        }
        let lock = self.lock()?;
        if !ownership::check_secret(&self.secret())? {
            self.write(&self.secret(), new_secret()?.as_bytes())?;
        }
        Ok(lock)
    }

    /// Locks the folder of a cluster.
    pub(crate) fn lock_existing(&self) -> Result<(Lock, Layout), LocalClusterError> {
        // A folder without a cluster is left as it is.
        self.layout()?;
        let lock = self.lock()?;
        // Another command may have changed it meanwhile.
        Ok((lock, self.layout()?))
    }

    fn lock(&self) -> Result<Lock, LocalClusterError> {
        let path = self.path.join(LOCK);
        let opened =
            OpenOptions::new().create(true).truncate(false).write(true).custom_flags(libc::O_NOFOLLOW).open(&path);
        let file = opened.map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(LocalClusterError::Busy { dir: self.shown.clone() }),
            Err(TryLockError::Error(source)) => Err(failed("lock", &path)(source)),
        }
    }

    /// The description of the cluster in the folder.
    pub(crate) fn layout(&self) -> Result<Layout, LocalClusterError> {
        self.layout_if_any()?.ok_or_else(|| LocalClusterError::NoCluster { dir: self.shown.clone() })
    }

    /// The description of the cluster, if the folder has one.
    pub(crate) fn layout_if_any(&self) -> Result<Option<Layout>, LocalClusterError> {
        if !ownership::check_folder(&self.path, &self.shown)? {
            return Ok(None);
        }
        let path = self.path.join(LAYOUT);
        let Some(text) = read_small(&path)? else { return Ok(None) };
        let layout = Layout::parse(&text);
        layout.map(Some).map_err(|reason| LocalClusterError::Description { path, reason })
    }

    /// Replaces the description.
    pub(crate) fn keep(&self, layout: &Layout, _lock: &Lock) -> Result<(), LocalClusterError> {
        self.write(&self.path.join(LAYOUT), layout.text().as_bytes())
    }

    /// The file with the secret.
    pub(crate) fn secret(&self) -> PathBuf {
        self.path.join(SECRET)
    }

    /// The folder of a node.
    pub(crate) fn node(&self, number: u8) -> PathBuf {
        self.path.join(format!("node{number}"))
    }

    /// The data directory of a node.
    pub(crate) fn data(&self, number: u8) -> PathBuf {
        self.node(number).join("data")
    }

    /// Gives a node's data another name; `None` if it has none.
    pub(crate) fn put_data_aside(&self, number: u8) -> Result<Option<PathBuf>, LocalClusterError> {
        let data = self.data(number);
        if !data.exists() {
            return Ok(None);
        }
        let asides = (1u32..).map(|count| self.node(number).join(format!("data.replaced.{count}")));
        let aside = asides.into_iter().find(|path| !path.exists()).expect("there are fewer");
        fs::rename(&data, &aside).map_err(failed("rename", &data))?;
        Ok(Some(aside))
    }

    /// The log of a node.
    pub(crate) fn log(&self, number: u8) -> PathBuf {
        self.node(number).join("log")
    }

    /// The pid file of a node.
    pub(crate) fn pid_file(&self, number: u8) -> PathBuf {
        self.node(number).join("pid")
    }

    /// Opens a node's log for its next lines, and makes the node's folder. A long log becomes `log.old`, in place of the one before.
    pub(crate) fn open_log(&self, number: u8) -> Result<File, LocalClusterError> {
        let (node, log) = (self.node(number), self.log(number));
        fs::create_dir_all(&node).map_err(failed("create", &node))?;
        if fs::metadata(&log).is_ok_and(|about| about.len() >= LOG_BYTES_MAX) {
            fs::rename(&log, log.with_extension("old")).map_err(failed("rename", &log))?;
        }
        let opened = OpenOptions::new().create(true).append(true).custom_flags(libc::O_NOFOLLOW).open(&log);
        opened.map_err(failed("open", &log))
    }

    /// The last line of a node's log.
    pub(crate) fn last_line(&self, number: u8) -> String {
        let end = || -> io::Result<Vec<u8>> {
            use std::io::{Seek, SeekFrom};
            let mut file = File::open(self.log(number))?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LOG_END_BYTES)))?;
            let mut bytes = Vec::new();
            file.take(LOG_END_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let text = String::from_utf8_lossy(&end().unwrap_or_default()).into_owned();
        let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        let line = line.strip_prefix("helenus: ").unwrap_or(line);
        line.chars().filter(|letter| !letter.is_control()).take(LINE_CHARS_MAX).collect()
    }

    /// Replaces a file as a whole; no other user may read it.
    pub(crate) fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), LocalClusterError> {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name of this module");
        let beside = path.with_file_name(temporary(name));
        let write = || -> io::Result<()> {
            // One that is there is of a command that ended early. It is never written to: it may be a link, or have another mode.
            match fs::remove_file(&beside) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&beside, path)
        };
        write().map_err(failed("write", path))
    }
}

/// The name under which a file is written before it replaces the other.
fn temporary(name: &str) -> String {
    format!("{name}.new")
}

/// A random secret.
fn new_secret() -> Result<String, LocalClusterError> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; SECRET_BYTES];
    File::open(path).and_then(|mut file| file.read_exact(&mut bytes)).map_err(failed("read", path))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect())
}

/// The text of a small file, if there is one.
pub(crate) fn read_small(path: &Path) -> Result<Option<String>, LocalClusterError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed("open", path)(source)),
    };
    let mut text = String::new();
    file.take(SMALL_FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed("read", path))?;
    Ok(Some(text))
}

/// The error of an operation on a file.
pub(crate) fn failed(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LocalClusterError + use<> {
    let path = path.to_owned();
    move |source| LocalClusterError::File { verb, path, source }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::arguments::StartArguments;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("helenus-cluster-{}-{name}", std::process::id()));
            ownership::create_private(&path).expect("the temporary folder can be written");
            Scratch(path)
        }

        fn folder(&self) -> Folder {
            Folder::at(&self.0).expect("a path")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The result of `work` once the folder is unlocked. The child that another test starts has this process's files, and with them a lock that was
    /// dropped here, from its fork to its exec.
    fn unlocked<T>(work: impl Fn() -> Result<T, LocalClusterError>) -> Result<T, LocalClusterError> {
        for _ in 0..10_000 {
            match work() {
                Err(LocalClusterError::Busy { .. }) => std::thread::sleep(std::time::Duration::from_millis(1)),
                result => return result,
            }
        }
        work()
    }

    #[test]
    fn a_new_folder_has_a_secret_of_its_owner_and_the_description_is_kept() {
        let scratch = Scratch::new("new");
        let folder = scratch.folder();
        assert!(matches!(folder.layout(), Err(LocalClusterError::NoCluster { .. })));
        let lock = folder.create().expect("it is empty");
        assert!(matches!(folder.create(), Err(LocalClusterError::Busy { .. })));
        let secret = fs::read_to_string(folder.secret()).expect("there is one");
        assert_eq!(secret.trim().len(), 2 * SECRET_BYTES);
        let mode = fs::metadata(folder.secret()).expect("there is one").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let layout = Layout::new(&StartArguments::default()).expect("defaults fit");
        folder.keep(&layout, &lock).expect("it can be written");
        drop(lock);
        let (_lock, kept) = unlocked(|| folder.lock_existing()).expect("there is a cluster");
        assert_eq!(kept, layout);
    }

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let scratch = Scratch::new("other");
        fs::write(scratch.0.join("thesis.tex"), "x").expect("it can be written");
        let said = scratch.folder().create().expect_err("it is not ours").to_string();
        assert!(said.ends_with("has other files and no cluster; choose another directory with --dir"), "{said}");
        assert_eq!(fs::read_dir(&scratch.0).expect("it is there").count(), 1);
    }

    #[test]
    fn the_secret_of_a_start_that_ended_early_is_kept() {
        let scratch = Scratch::new("early");
        drop(scratch.folder().create().expect("it is empty"));
        let secret = fs::read(scratch.folder().secret()).expect("there is one");
        drop(unlocked(|| scratch.folder().create()).expect("it has only what a start leaves"));
        assert_eq!(fs::read(scratch.folder().secret()).expect("there is one"), secret);
    }

    #[test]
    fn a_folder_that_others_may_write_to_has_no_cluster_for_any_command() {
        let scratch = Scratch::new("prepared");
        let folder = scratch.folder();
        let lock = folder.create().expect("it is empty");
        folder.keep(&Layout::new(&StartArguments::default()).expect("defaults fit"), &lock).expect("it can be written");
        drop(lock);
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o777)).expect("it is ours");
        let refused = |error| matches!(error, LocalClusterError::Unsafe { .. });
        assert!(folder.create().is_err_and(refused));
        assert!(folder.lock_existing().is_err_and(refused));
        assert!(folder.layout().is_err_and(refused));
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o755)).expect("it is ours");
        folder.layout().expect("others may look");
        fs::set_permissions(folder.secret(), fs::Permissions::from_mode(0o644)).expect("it is ours");
        assert!(unlocked(|| folder.create()).is_err_and(refused), "others may know the secret");
    }

    #[test]
    fn a_file_is_never_written_through_a_link_that_is_there() {
        let scratch = Scratch::new("link");
        let folder = scratch.folder();
        let elsewhere = scratch.0.join("elsewhere");
        fs::write(&elsewhere, "precious").expect("it can be written");
        std::os::unix::fs::symlink(&elsewhere, scratch.0.join(temporary(SECRET))).expect("it can be written");
        folder.write(&folder.secret(), b"secret").expect("it can be written");
        assert_eq!(fs::read_to_string(&elsewhere).expect("it is there"), "precious");
        assert_eq!(fs::read_to_string(folder.secret()).expect("it is there"), "secret");
        assert!(fs::symlink_metadata(folder.secret()).expect("it is there").is_file());
        std::os::unix::fs::symlink(&elsewhere, scratch.0.join(LOCK)).expect("it can be written");
        assert!(folder.lock().is_err(), "a lock is no link");
    }

    #[test]
    fn a_long_log_makes_room() {
        let scratch = Scratch::new("long");
        let folder = scratch.folder();
        folder.open_log(1).expect("it can be written").set_len(LOG_BYTES_MAX).expect("a file without blocks");
        folder.open_log(1).expect("it can be written").write_all(b"new\n").expect("it can be written");
        assert_eq!(folder.last_line(1), "new");
        let old = folder.log(1).with_extension("old");
        assert_eq!(fs::metadata(old).expect("it is kept").len(), LOG_BYTES_MAX);
        folder.open_log(1).expect("it can be written").write_all(b"more\n").expect("it can be written");
        assert_eq!(fs::read_to_string(folder.log(1)).expect("it is there"), "new\nmore\n");
    }

    #[test]
    fn the_last_line_of_a_log_is_found() {
        let scratch = Scratch::new("log");
        let folder = scratch.folder();
        assert_eq!(folder.last_line(1), "it said nothing");
        let mut log = folder.open_log(1).expect("it can be written");
        log.write_all(b"INFO one\nhelenus: it does not work\n\n").expect("it can be written");
        assert_eq!(folder.last_line(1), "it does not work");
        log.write_all(&vec![b'x'; 1 << 20]).expect("it can be written");
        assert_eq!(folder.last_line(1).len(), LINE_CHARS_MAX);
    }
}
