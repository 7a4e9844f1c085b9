//! What the disk below the data folder really does: a small file is written as a commit log is, past the page cache and waiting for the
//! disk, for at most two seconds.
//!
//! The file loses its name before the first write, so nothing stays behind, however this process ends. One write that never ends (a server of
//! files that is gone) cannot be given up.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use super::answers::{DiskAnswers, WriteTimes};
use super::plain;

/// The block of a commit log.
const BLOCK_BYTES: usize = 4096;
/// The most writes that are measured, and the time after which none is begun.
const WRITES_MAX: usize = 200;
const WRITES_TIME_MAX: Duration = Duration::from_secs(2);

/// Asks the disk of `folder`, which is there.
pub(super) fn ask(folder: &Path) -> DiskAnswers {
    let name = folder.join(format!(".helenus-doctor-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&name);
    let file = match made {
        Ok(file) => file,
        Err(error) => {
            let reason = format!("cannot create a file in {}: {}", folder.display(), plain(&error));
            return DiskAnswers { direct: Err(reason.clone()), writes: Err(reason) };
        }
    };
    let open = |flags| OpenOptions::new().write(true).custom_flags(flags).open(&name);
    let (direct, synced) = (open(libc::O_DIRECT | libc::O_DSYNC), open(libc::O_DSYNC));
    #[expect(clippy::disallowed_methods, reason = "no shard runs in the doctor")]
    // A name that cannot be taken away again is the folder owner's to see; the measurement stands.
    let _ = std::fs::remove_file(&name);
    let mut buffer = vec![0_u8; 2 * BLOCK_BYTES];
    let at = buffer.as_ptr().align_offset(BLOCK_BYTES);
    let block = &mut buffer[at..at + BLOCK_BYTES];
    // Room first, as a segment has it: what is measured is a write over zeros.
    let prepared =
        (0..WRITES_MAX).try_for_each(|index| file.write_all_at(block, place(index))).and_then(|()| file.sync_all());
    block.fill(0x5a);
    let direct = direct.and_then(|file| file.write_all_at(block, 0).map(|()| file));
    let writes = prepared.and_then(|()| match &direct {
        Ok(file) => measure(file, block),
        Err(_) => measure(&synced?, block),
    });
    DiskAnswers {
        direct: direct.map(|_| ()).map_err(|error| plain(&error)),
        writes: writes.map_err(|error| plain(&error)),
    }
}

fn place(index: usize) -> u64 {
    (index * BLOCK_BYTES) as u64
}

/// Times writes of a block, one after the other.
#[expect(
    clippy::disallowed_methods,
    reason = "no shard runs in the doctor, and nothing but the clock tells how long a write takes"
)]
fn measure(file: &File, block: &[u8]) -> io::Result<WriteTimes> {
    use std::time::Instant;
    let began = Instant::now();
    let mut times = Vec::with_capacity(WRITES_MAX);
    while times.len() < WRITES_MAX && began.elapsed() < WRITES_TIME_MAX {
        let before = Instant::now();
        file.write_all_at(block, place(times.len()))?;
        times.push(before.elapsed());
    }
    times.sort_unstable();
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
    let at = |part: usize| micros(times[(times.len() - 1) * part / 10]);
    Ok(WriteTimes { count: times.len() as u64, tenth_micros: at(1), median_micros: at(5), worst_micros: at(10) })
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes a folder to probe")]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_left_as_it_was() {
        let folder = std::env::temp_dir().join(format!("helenus-doctor-disk-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        let answers = ask(&folder);
        let left = std::fs::read_dir(&folder).expect("it is there").count();
        std::fs::remove_dir_all(&folder).expect("it is ours");
        assert_eq!(left, 0, "the probe left a file behind");
        let times = answers.writes.expect("the folder can be written to");
        assert!(
            times.count > 0 && times.tenth_micros <= times.median_micros && times.median_micros <= times.worst_micros,
            "{times:?}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let answers = ask(Path::new("/there is no such folder"));
        assert_eq!(
            answers.direct,
            Err("cannot create a file in /there is no such folder: No such file or directory".to_owned())
        );
        assert_eq!(
            answers.writes,
            answers.direct.map(|()| WriteTimes { count: 0, tenth_micros: 0, median_micros: 0, worst_micros: 0 })
        );
    }
}
