//! The store alone: hints that are kept, written, delivered in part and found again, whatever power cuts leave and however many shards there are.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use runtime::sim::{Disk, Ended, Keep, World, WorldOptions};
use runtime::sync::Notify;
use runtime::{OpenOptions, Runtime};
use storage::ReplayPosition;
use topology::HostId;

use crate::hints::OnDisk;
use crate::hints::options::HintOptions;
use crate::hints::reader::HintReader;
use crate::hints::record::Start;
use crate::hints::store::{HintStore, aligned};
use crate::hints::target::HintFile;

const DIR: &str = "/data/hints";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);
const SEEDS: u64 = 60;

/// The record of hints that were kept, synced and delivered.
#[derive(Debug, Default)]
struct Known {
    next: u64,
    /// Each hint's target.
    kept: BTreeMap<u64, HostId>,
    /// Those that a ticket said are on the disk.
    synced: BTreeSet<u64>,
    delivered: BTreeSet<u64>,
    /// Files whose heads are damaged: nothing of them is delivered.
    headless: usize,
}

fn target(number: u64) -> HostId {
    HostId([1 + number as u8; 16])
}

fn options() -> HintOptions {
    HintOptions { dir: Some(DIR.into()), file_bytes_max: 4096, ..HintOptions::default() }
}

/// Several mutations, the first of which is the hint's number.
fn mutations(number: u64) -> Vec<Vec<u8>> {
    let length = usize::try_from(number * 37 % 600).expect("it is short");
    vec![number.to_be_bytes().to_vec(), vec![number as u8; length]]
}

fn open(runtime: &Runtime, boot: u64) -> HintStore {
    let store = HintStore::new(runtime, options(), Path::new(DIR), boot);
    store.start();
    store
}

async fn keep_some(store: &HintStore, known: &RefCell<Known>, runtime: &Runtime, boot: u64) {
    let number = {
        let mut known = known.borrow_mut();
        known.next += 1;
        let number = known.next;
        known.kept.insert(number, target(number % 3));
        number
    };
    let position = ReplayPosition { boot, shard: runtime.shard().0, sequence: number };
    let start = Start { created: number as i64, epoch: 1, position };
    let waits = runtime.random_u64().is_multiple_of(5).then(Notify::new);
    let mutations = mutations(number);
    let slices: Vec<&[u8]> = mutations.iter().map(Vec::as_slice).collect();
    let kept = store.keep(target(number % 3), &start, &slices, waits.as_ref()).expect("there is room");
    if let (Some(promise), Some(changed)) = (kept, waits) {
        store.hurry();
        while promise.state() == OnDisk::Open {
            changed.notified().await;
        }
        if promise.state() == OnDisk::Synced {
            known.borrow_mut().synced.insert(number);
        }
    }
}

/// Delivers so many hints of a target.
async fn deliver(store: &HintStore, known: &RefCell<Known>, runtime: &Runtime, host: HostId, mut left: usize) {
    while let Some(file) = store.next_file(host).await {
        let mut position = store.position(&file).await;
        let mut reader = match HintReader::open(runtime, &file.path, position).await {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                known.borrow_mut().headless += 1;
                for _ in 0..3 {
                    store.failed(host, &file, &error).await;
                }
                continue;
            }
            opened => opened.expect("the disk works"),
        };
        while let Some(hint) = reader.next().await.expect("the disk works") {
            if left == 0 {
                return store.note_position(host, &file, position).await;
            }
            left -= 1;
            position = hint.end;
            let number = hint.mutations.first().and_then(|first| first.first_chunk()).expect("it has a number");
            let number = u64::from_be_bytes(*number);
            let mut known = known.borrow_mut();
            assert_eq!(known.kept.get(&number), Some(&host), "hint {number} was kept for this target");
            assert_eq!(hint.mutations, mutations(number), "hint {number} has its bytes");
            assert_eq!(hint.start.created, number as i64);
            known.delivered.insert(number);
        }
        store.remove(host, &file).await;
    }
}

/// One start of a shard: `rounds` of keeping, resting and delivering in part; or everything is delivered.
async fn live(runtime: Runtime, known: Rc<RefCell<Known>>, boot: u64, rounds: Option<u64>) {
    let store = open(&runtime, boot);
    let Some(rounds) = rounds else {
        while store.room().1 == 0 {
            runtime.sleep(Duration::from_millis(1)).await;
        }
        for number in 0..3 {
            deliver(&store, &known, &runtime, target(number), usize::MAX).await;
        }
        assert!(store.pending_hosts().is_empty());
        return store.end().await;
    };
    for _ in 0..rounds {
        match runtime.random_u64() % 8 {
            0 => runtime.sleep(Duration::from_millis(runtime.random_u64() % 300)).await,
            1 => {
                let host = target(runtime.random_u64() % 3);
                deliver(&store, &known, &runtime, host, (runtime.random_u64() % 12) as usize).await;
            }
            _ => keep_some(&store, &known, &runtime, boot).await,
        }
    }
    store.end().await;
}

fn mains(
    known: &Rc<RefCell<Known>>,
    shards: u64,
    boot: u64,
    rounds: Option<u64>,
) -> Vec<impl FnOnce(Runtime) -> std::pin::Pin<Box<dyn Future<Output = ()>>> + use<>> {
    let main = |_| {
        let known = Rc::clone(known);
        move |runtime: Runtime| {
            Box::pin(live(runtime, known, boot, rounds)) as std::pin::Pin<Box<dyn Future<Output = ()>>>
        }
    };
    (0..shards).map(main).collect()
}

fn keep_of(kind: u64, seed: u64) -> Keep {
    match kind % 4 {
        0 => Keep::Everything,
        1 => Keep::Nothing,
        2 => Keep::Torn { seed },
        _ => Keep::Reordered { seed },
    }
}

fn disk() -> Disk {
    let mut disk = Disk::default();
    disk.prepare_directory("/data");
    disk
}

#[test]
fn what_was_synced_is_delivered_whatever_power_cuts_leave() {
    let (mut synced, mut lost) = (0, 0);
    for seed in 0..SEEDS {
        let mut world = World::new(WorldOptions::new(seed));
        let host = world.add_host_with(&[], disk());
        let known = Rc::<RefCell<Known>>::default();
        for boot in 1..=4 {
            let shards = 1 + world.random() % 3;
            let started = world.start(host, false, mains(&known, shards, boot, Some(60)));
            // At any call of the disk.
            let calls = world.disk_calls(host) + world.random() % 120;
            world.run_until(|world| world.disk_calls(host) >= calls || started.is_over(), AT_MOST);
            let keep = keep_of(world.random(), world.random());
            world.crash(host, keep);
        }
        let shards = 1 + world.random() % 3;
        let started = world.start(host, false, mains(&known, shards, 5, None));
        let ended = world.run_until(|_| started.is_over(), AT_MOST);
        assert_eq!(ended, Ended::Condition, "seed {seed}: all is delivered");
        let known = known.borrow();
        let missing: Vec<&u64> = known.synced.difference(&known.delivered).collect();
        assert!(missing.is_empty(), "seed {seed}: hints {missing:?} were synced and are lost");
        synced += known.synced.len();
        lost += known.kept.len() - known.delivered.len();
    }
    assert!(
        synced > 100 && lost > 0,
        "{synced} hints were synced, {lost} not delivered: the cuts come at no good time"
    );
}

#[test]
fn an_orderly_end_loses_nothing_under_any_number_of_shards() {
    for seed in 0..10 {
        let mut world = World::new(WorldOptions::new(seed));
        let host = world.add_host_with(&[], disk());
        let known = Rc::<RefCell<Known>>::default();
        for (boot, shards) in [(1, 3), (2, 1), (3, 2)] {
            let started = world.start(host, false, mains(&known, shards, boot, Some(50)));
            assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition, "seed {seed}");
        }
        let started = world.start(host, false, mains(&known, 1, 4, None));
        assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition, "seed {seed}");
        let known = known.borrow();
        assert!(known.kept.keys().eq(&known.delivered), "seed {seed}: {known:?}");
    }
}

#[test]
fn of_a_damaged_file_all_is_delivered_that_can_be_read() {
    for seed in 0..30 {
        let mut world = World::new(WorldOptions::new(seed));
        let host = world.add_host_with(&[], disk());
        let known = Rc::<RefCell<Known>>::default();
        let started = world.start(host, false, mains(&known, 1, 1, Some(80)));
        assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
        let before = known.borrow().delivered.len();
        let flips = 1 + (seed % 3) as usize;
        let mut random = seed;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random >> 16
        };
        let flipped = world.with_disk(host, |disk| disk.flip_bits(".hints", flips, &mut next));
        assert!(flipped > 0 || known.borrow().kept.len() == before, "seed {seed}: nothing is left to be damaged");
        let started = world.start(host, false, mains(&known, 1, 2, None));
        assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
        let known = known.borrow();
        let lost = known.kept.len() - known.delivered.len();
        assert!(known.headless <= flipped, "seed {seed}: {flipped} bits cost {} files", known.headless);
        assert!(lost <= flipped || known.headless > 0, "seed {seed}: {flipped} bits cost {lost} hints");
    }
}

/// Runs `work` on a machine of its own.
pub(super) fn on_a_machine<Fut: Future<Output = ()> + 'static>(work: impl FnOnce(Runtime) -> Fut + 'static) {
    let mut world = World::new(WorldOptions::new(1));
    let host = world.add_host_with(&[], disk());
    let started = world.start(host, false, vec![work]);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition, "the work ends");
}

#[test]
fn a_file_is_put_aside_for_its_content_alone() {
    on_a_machine(async |runtime| {
        let (store, host) = (open(&runtime, 1), target(1));
        let position = ReplayPosition { boot: 1, shard: 0, sequence: 1 };
        let start = Start { created: 1, epoch: 1, position };
        assert!(store.keep(host, &start, &[b"hint"], None).is_ok());
        let file = store.next_file(host).await.expect("one waits");
        const EMFILE: i32 = 24;
        const ENOMEM: i32 = 12;
        for error in [EMFILE, ENOMEM, EMFILE, ENOMEM, EMFILE, ENOMEM] {
            store.failed(host, &file, &io::Error::from_raw_os_error(error)).await;
        }
        assert!(store.has(host, &file), "the process lacked something, the file nothing");
        for failures in 1..=3 {
            assert!(store.has(host, &file), "{failures}");
            store.failed(host, &file, &io::Error::new(io::ErrorKind::InvalidData, "its head is damaged")).await;
        }
        assert!(!store.has(host, &file) && store.pending_hosts().is_empty());
        store.end().await;
    });
}

#[test]
fn what_is_put_back_is_on_the_disk_with_its_own_start() {
    on_a_machine(async |runtime| {
        let (store, host) = (open(&runtime, 1), target(1));
        let position = ReplayPosition { boot: 1, shard: 0, sequence: 1 };
        let start = Start { created: 77, epoch: 1, position };
        assert!(store.keep(host, &start, &[b"hint"], None).is_ok());
        let first = store.next_file(host).await.expect("one waits");
        let mut reader = HintReader::open(&runtime, &first.path, 0).await.expect("it is there");
        let hint = reader.next().await.expect("the disk works").expect("it has a hint");
        assert!(store.put_back(host, &hint.start, &[b"hint"]).await);
        store.remove(host, &first).await;
        let second = store.next_file(host).await.expect("it waits again");
        assert_ne!(first.path, second.path);
        let mut reader = HintReader::open(&runtime, &second.path, 0).await.expect("it is there");
        let again = reader.next().await.expect("the disk works").expect("it has the hint");
        assert_eq!((again.start, again.mutations), (start, hint.mutations));
        store.end().await;
    });
}

#[test]
fn a_file_that_a_crash_left_without_its_head_is_done() {
    on_a_machine(async |runtime| {
        let (host, folder) = (target(1), Path::new(DIR).join("shard-0"));
        runtime.create_dir_all(&folder).await.expect("the disk works");
        for (created_ms, length) in [(1, 0), (2, 20)] {
            let options = OpenOptions { write: true, create: true, ..OpenOptions::default() };
            let path = HintFile::new(&folder, host, created_ms).path;
            let file = runtime.open(&path, options).await.expect("the disk works");
            if length > 0 {
                file.write_at(aligned(&vec![7; length]), 0).await.0.expect("the disk works");
            }
        }
        let store = open(&runtime, 2);
        while store.room().1 == 0 {
            runtime.sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(store.pending_hosts(), [host]);
        let known = RefCell::default();
        deliver(&store, &known, &runtime, host, usize::MAX).await;
        assert_eq!((known.borrow().headless, store.pending_hosts().len()), (0, 0));
        store.end().await;
    });
}
