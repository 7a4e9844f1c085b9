//! Each call of the disk failed once, with EIO and with ENOSPC: a write that fails leaves nothing, a read that fails says where, and what is
//! read is right.

use runtime::sim::DiskError;

use super::same_as_memtable::{LZ4, Shape, fill};
use super::*;

struct Outcome {
    written: Result<(), String>,
    left: usize,
    read: Option<Result<Vec<String>, ReadError>>,
}

async fn write_and_read(runtime: Runtime, folder: PathBuf) -> Outcome {
    let clustering = &[("int", Order::Asc), ("text", Order::Desc)];
    let shape = Shape { clustering, compression: LZ4, partitions: 12, rows: 300, few: 26, value_bytes: 600 };
    let model = fill(&shape, &mut Random(9));
    let written = model.try_flush(&runtime, &folder).await;
    let left = loop {
        match runtime.read_dir(&folder).await {
            Ok(entries) => break entries.len(),
            // The failing call.
            Err(_) => continue,
        }
    };
    let read = match &written {
        Ok(info) => Some(read(&runtime, &folder, &model, info).await),
        Err(_) => None,
    };
    Outcome { written: written.map(|_| ()).map_err(|error| error.to_string()), left, read }
}

async fn read(runtime: &Runtime, folder: &Path, model: &Model, info: &SstableInfo) -> Result<Vec<String>, ReadError> {
    let pages = PageCache::new(1 << 20);
    let sstable = Sstable::open(runtime, &pages, folder, info.descriptor.clone(), &model.table).await?;
    let mut told = Calls::new(usize::MAX, true);
    for reversed in [false, true] {
        let mut after: Option<Position> = None;
        loop {
            let after_ref = after.as_ref().map(Position::as_ref);
            let command = ReadCommand { after: after_ref, reversed, ..ReadCommand::all(TABLE, NOW) };
            match sstable.read_data(&command, &mut told).await? {
                ReadEnd::Complete => break,
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
            }
        }
    }
    Ok(told.once)
}

#[test]
fn each_call_of_the_disk_fails_once() {
    let (sound, calls) = simulated_with(1, None, write_and_read);
    let right = sound.read.expect("it was written").expect("it can be read");
    assert_eq!((sound.written, sound.left), (Ok(()), 9));
    assert!(right.len() > 500 && calls > 50, "{} calls of the sink, {calls} of the disk", right.len());
    let (mut writes, mut reads) = (0, 0);
    for number in 0..calls {
        for error in [DiskError::Medium, DiskError::Full] {
            let (outcome, _) = simulated_with(1, Some(DiskFault::at(number, error)), write_and_read);
            match (outcome.written, outcome.read) {
                (Err(what), _) => {
                    writes += 1;
                    assert_eq!(outcome.left, 0, "call {number}: {what}");
                    assert!(what.starts_with("/data"), "call {number}: {what}");
                }
                (Ok(()), Some(Ok(told))) => assert!(told == right, "call {number}: a wrong answer"),
                (Ok(()), Some(Err(error))) => {
                    reads += 1;
                    assert!(matches!(error, ReadError::Io { .. }), "call {number}: {error}");
                    assert!(error.path().starts_with("/data"), "call {number}: {error}");
                }
                (Ok(()), None) => unreachable!("what was written is read"),
            }
        }
    }
    assert!(writes > 40 && reads > 10, "{writes} writes and {reads} reads failed");
}
