//! Power cuts at each boundary of a log that is compacted while it is open, and each of its disk calls failed once, on simulated machines.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use runtime::sim::{Disk, DiskError, DiskFault, Ended, HostId as Machine, Keep, World, WorldOptions};

use super::*;

const DATA: &str = "/data";
/// Of the world's time.
const AT_MOST: Duration = Duration::from_secs(3600);
/// Two of them precede the first compaction, and there are two compactions.
const APPENDS: u64 = 50;

fn world(disk: Option<Disk>) -> (World<'static>, Machine) {
    let mut world = World::new(WorldOptions::new(1));
    let disk = disk.unwrap_or_else(|| {
        let mut disk = Disk::default();
        disk.prepare_directory(DATA);
        disk
    });
    let machine = world.add_host_with(&[], disk);
    (world, machine)
}

/// The number of the last start that the log knows, 0 without any.
async fn last(rt: &Runtime) -> u64 {
    let (_, records) = open_small(rt, Path::new(DATA)).await;
    let boots = boots(&records);
    assert!(boots.is_sorted_by(|one, next| one + 1 == *next), "{boots:?}");
    boots.last().copied().unwrap_or(0)
}

/// The last start that a node with this disk knows.
fn last_on(disk: Disk) -> u64 {
    let (mut world, machine) = world(Some(disk));
    let started = world.start(machine, false, vec![|rt: Runtime| async move { last(&rt).await }]);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    started.take_outputs().expect("it is over")[0]
}

#[test]
fn a_power_cut_loses_no_acknowledged_record() {
    let (mut world, machine) = world(None);
    let acknowledged = Rc::new(Cell::new(0));
    let (begun, count) = (Rc::new(Cell::new(false)), acknowledged.clone());
    let begins = begun.clone();
    let main = move |rt: Runtime| async move {
        let (log, _) = open_small(&rt, Path::new(DATA)).await;
        begun.set(true);
        rt.yield_now().await;
        for number in 1..=APPENDS {
            log.append(&boot(number)).await.expect("a record is appended");
            count.set(number);
            // So that no call of the disk begins before the test has seen it.
            rt.sleep(Duration::from_millis(1)).await;
        }
    };
    let started = world.start(machine, false, vec![main]);
    assert_eq!(world.run_until(|_| begins.get(), AT_MOST), Ended::Condition);
    world.keep_boundaries(machine);
    // With each boundary, what was acknowledged before it.
    let mut images: Vec<(u64, Disk)> = Vec::new();
    loop {
        let before = acknowledged.get();
        let is_over = world.run_until(|_| started.is_over() || acknowledged.get() > before, AT_MOST);
        assert_eq!(is_over, Ended::Condition);
        images.extend(world.take_boundaries(machine).into_iter().map(|disk| (before, disk)));
        if started.is_over() {
            break;
        }
        world.keep_boundaries(machine);
    }
    assert!(images.len() as u64 > 2 * APPENDS, "{}", images.len());
    let mut seen = BTreeSet::new();
    for (number, (before, image)) in images.iter().enumerate() {
        let base = number as u64 * 8;
        let reordered = (0..4).map(|order| Keep::Reordered { seed: base + order });
        for keep in [Keep::Everything, Keep::Nothing, Keep::Torn { seed: base }].into_iter().chain(reordered) {
            let disk = image.after_power_cut(keep);
            if seen.insert((*before, disk.digest())) {
                let last = last_on(disk);
                assert!(last == *before || last == before + 1, "boundary {number}, {keep:?}: {last} of {before}");
            }
        }
    }
    assert!(seen.len() as u64 > APPENDS, "{} images of {} boundaries", seen.len(), images.len());
}

/// Outcome of a run of a log, one of whose disk calls may have failed.
struct Run {
    disk_calls: u64,
    has_opened: bool,
    is_fault_hit: bool,
    appends_refused: u64,
}

/// Appends to a log, has the power cut, and asks what is there.
fn run_with(fault: Option<DiskFault>) -> Run {
    let (mut world, machine) = world(None);
    world.set_disk_faults(machine, fault.into_iter().collect());
    let (opened, acknowledged, refused) = <(Rc<Cell<bool>>, Rc<Cell<u64>>, Rc<Cell<u64>>)>::default();
    let (opens, counts, refuses) = (opened.clone(), acknowledged.clone(), refused.clone());
    let main = move |rt: Runtime| async move {
        let opening = MetadataLog::open_bounded(&rt, Path::new(DATA), &domains(), SMALL).await;
        let Ok(Opened { log, .. }) = opening else { return };
        opens.set(true);
        for _ in 0..APPENDS {
            match log.append(&boot(counts.get() + 1)).await {
                Ok(()) => counts.set(counts.get() + 1),
                Err(_) => refuses.set(refuses.get() + 1),
            }
        }
    };
    let started = world.start(machine, false, vec![main]);
    assert_eq!(world.run_until(|_| started.is_over(), AT_MOST), Ended::Condition);
    let (disk_calls, is_fault_hit) = (world.disk_calls(machine), world.disk_faults_hit(machine) > 0);
    world.set_disk_faults(machine, Vec::new());
    let (acknowledged, appends_refused) = (acknowledged.get(), refused.get());
    for keep in [Keep::Everything, Keep::Nothing, Keep::Reordered { seed: 3 }, Keep::Torn { seed: 4 }] {
        let last = last_on(world.fork_disk(machine).after_power_cut(keep));
        let is_right = last == acknowledged || last == acknowledged + 1;
        assert!(is_right, "{fault:?}, {keep:?}: {last} of {acknowledged}, {appends_refused} refused");
    }
    Run { disk_calls, has_opened: opened.get(), is_fault_hit, appends_refused }
}

#[test]
fn each_call_of_the_disk_fails_once() {
    let (mut refusing, mut going_on) = (0, 0);
    for call in 0..run_with(None).disk_calls {
        for error in [DiskError::Medium, DiskError::Full] {
            let run = run_with(Some(DiskFault::at(call, error)));
            if run.has_opened && run.is_fault_hit {
                *if run.appends_refused > 0 { &mut refusing } else { &mut going_on } += 1;
            }
        }
    }
    // Where only the compaction failed no append was refused.
    assert!(refusing > 0 && going_on > 0, "{refusing} runs with appends that failed, {going_on} without");
}
