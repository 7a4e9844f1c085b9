//! A flipped bit in any page of any file: an error that names the file and the place, or the right answer.
#![allow(clippy::disallowed_methods)]

use mutation::KeyRange;
use sstable::Component;

use super::same_as_memtable::{Shape, fill};
use super::*;

/// All that the SSTable tells: a scan forwards, one backwards, each key.
async fn read_everything(sstable: &Sstable, keys: &[Vec<u8>], is_own: bool) -> Result<Vec<String>, ReadError> {
    let mut told = Calls::new(usize::MAX, true);
    let mut commands =
        vec![ReadCommand::all(TABLE, NOW), ReadCommand { reversed: true, ..ReadCommand::all(TABLE, NOW) }];
    commands.extend(keys.iter().map(|key| ReadCommand::partition(TABLE, token_of(key), key, NOW)));
    for command in commands {
        let mut after: Option<Position> = None;
        loop {
            let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
            match sstable.read_data(&command, &mut told).await? {
                ReadEnd::Complete => break,
                ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
            }
        }
        if let KeyRange::Partition { token, key } = command.keys {
            assert!(!is_own || sstable.may_contain(token, key));
        }
    }
    Ok(told.once)
}

fn keys_of(told: &[String]) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = told
        .iter()
        .filter(|call| call.starts_with("partition"))
        .map(|call| {
            let list = call.split(['[', ']']).nth(1).expect("a key");
            list.split(", ").map(|byte| byte.parse().expect("a byte")).collect()
        })
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

async fn open(runtime: &Runtime, folder: &Path, model: &Model, info: &SstableInfo) -> Result<Rc<Sstable>, ReadError> {
    Sstable::open(runtime, &PageCache::new(1 << 20), folder, info.descriptor.clone(), &model.table).await
}

async fn flip_all(
    runtime: Runtime,
    folder: PathBuf,
    compression: &'static [(&'static str, &'static str)],
    is_own: bool,
) {
    let mut random = Random(5);
    let clustering = &[("int", Order::Asc), ("text", Order::Desc)];
    let shape = Shape { clustering, compression, partitions: 40, rows: 250, few: 26, value_bytes: 120 };
    let model = fill(&shape, &mut random);
    let info = model.flush(&runtime, &folder).await;
    let helenus = folder.join(info.descriptor.file_name(Component::Helenus));
    if !is_own {
        std::fs::remove_file(&helenus).expect("it can be removed");
    }
    let sstable = open(&runtime, &folder, &model, &info).await.expect("it is sound");
    let keys = keys_of(&read_everything(&sstable, &[], is_own).await.expect("it is sound"));
    let right = read_everything(&sstable, &keys, is_own).await.expect("it is sound");
    assert!(right.len() > 3000 && keys.len() > 20);
    let (mut errors, mut right_answers) = (0, 0);
    for component in Component::ALL {
        let path = folder.join(info.descriptor.file_name(component));
        let Ok(sound) = std::fs::read(&path) else { continue };
        let pages = sound.len().div_ceil(4096);
        // Several in a small file, each kind of which has its own fields.
        let flips = if pages < 3 { 24 } else { pages * 2 };
        for flip in 0..flips {
            let page = flip % pages.max(1) * 4096;
            let Some(room) = sound.len().checked_sub(page).filter(|room| *room > 0) else { continue };
            let at = page + random.below(room.min(4096) as u64) as usize;
            let mut broken = sound.clone();
            broken[at] ^= 1 << random.below(8);
            std::fs::write(&path, &broken).expect("it can be written");
            let answer = match open(&runtime, &folder, &model, &info).await {
                Ok(sstable) => {
                    let read = read_everything(&sstable, &keys, is_own);
                    runtime.timeout(Duration::from_secs(60), read).await.expect("a read ends")
                }
                Err(error) => Err(error),
            };
            match answer {
                // These have no checksums of their own: whatever comes of it, it comes to an end.
                Ok(_) if !is_own && is_unchecked(component) => {}
                Ok(told) => {
                    right_answers += 1;
                    assert!(told == right, "byte {at} of {component:?}: a wrong answer");
                }
                Err(error) => {
                    errors += 1;
                    if !is_own {
                        assert!(error.path().starts_with(&folder), "byte {at} of {component:?}: {error}");
                        continue;
                    }
                    assert_eq!(error.path(), path, "byte {at} of {component:?}: {error}");
                    if matches!(component, Component::Partitions | Component::Rows) {
                        assert_eq!(error.offset() / 4096, at as u64 / 4096, "byte {at} of {component:?}: {error}");
                    }
                    assert!(error.to_string().contains("at byte"), "{error}");
                }
            }
        }
        std::fs::write(&path, &sound).expect("it can be written");
    }
    assert!(errors > 60 && right_answers >= 24, "{errors} errors, {right_answers} right answers");
}

/// Whether Cassandra has no checksum of the component.
fn is_unchecked(component: Component) -> bool {
    matches!(component, Component::Partitions | Component::Rows | Component::Filter)
}

/// As Cassandra writes it: without Helenus.db.
#[test]
fn without_our_checksums_it_comes_to_an_end() {
    const LZ4: &[(&str, &str)] = &[("class", "LZ4Compressor"), ("chunk_length_in_kb", "4")];
    on_disk("flips-foreign", |runtime, folder| flip_all(runtime, folder, LZ4, false));
}

#[test]
fn compressed() {
    const LZ4: &[(&str, &str)] = &[("class", "LZ4Compressor"), ("chunk_length_in_kb", "4")];
    on_disk("flips-lz4", |runtime, folder| flip_all(runtime, folder, LZ4, true));
}

#[test]
fn uncompressed() {
    on_disk("flips-plain", |runtime, folder| flip_all(runtime, folder, &[("enabled", "false")], true));
}
