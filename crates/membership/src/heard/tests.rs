//! Heartbeats against what was heard before: sound nodes after any restart, and images of their disks.

use metadata::Position;
use metadata::group::{Heartbeat, Index};

use super::{Finding, HEAD_BYTES, Heard};
use crate::examples::host;

const GROUP: u128 = 7;

/// Boot, shard, sequence.
type End = (u64, u16, u64);

/// The first heartbeat of a connection, of boot 3; ends are boot, shard and sequence.
fn whole(epoch: u64, ends: &[End]) -> Heartbeat {
    let position = |(boot, shard, sequence): &End| Position { boot: *boot, shard: *shard, sequence: *sequence };
    let positions = ends.iter().map(position).collect();
    Heartbeat {
        is_whole: true,
        older: None,
        is_ready: true,
        is_lost: false,
        epoch: Index(epoch),
        boot: 3,
        began: Index(epoch),
        positions,
        vitals: None,
    }
}

/// A later one, of that boot's ends alone.
fn later(epoch: u64, ends: &[End]) -> Heartbeat {
    Heartbeat { is_whole: false, ..whole(epoch, ends) }
}

/// Node 1 at epoch 20, with 500 bytes of boot 2 on shard 0 and 300 of boot 1 on shard 1.
fn heard() -> Heard {
    let mut heard = Heard::default();
    let first = Heartbeat { boot: 2, ..whole(20, &[(1, 0, 900), (2, 0, 500), (1, 1, 300)]) };
    assert_eq!(heard.hear(host(1), None, &first), Finding::Whole);
    heard
}

#[test]
fn a_node_with_less_than_it_reported_is_older() {
    let older: [(u64, &[End]); 5] = [
        (19, &[(2, 0, 500), (1, 1, 300)]),
        (20, &[(2, 0, 499), (1, 1, 300)]),
        (20, &[(1, 0, 900), (1, 1, 300)]),
        // The next boot has written, on a disk of the middle of the one before.
        (30, &[(2, 0, 499), (3, 0, 9_000), (1, 1, 300)]),
        (20, &[(2, 0, 500), (1, 1, 299)]),
    ];
    for (epoch, ends) in older {
        let mut heard = heard();
        assert_eq!(heard.hear(host(1), None, &whole(epoch, ends)), Finding::Older, "{epoch} {ends:?}");
        assert!(heard.is_older(host(1)) && !heard.is_older(host(2)));
        assert_eq!(heard.epoch(host(1)), Index(20), "what was heard stays");
        // It has caught up with the log; its data is as old as before.
        assert_eq!(heard.hear(host(1), None, &later(40, &[(3, 0, 10_000)])), Finding::Older);
        // A process on the right disk.
        let sound = Heartbeat { boot: 4, ..whole(40, &[(2, 0, 500), (1, 1, 300)]) };
        assert_eq!(heard.hear(host(1), None, &sound), Finding::Whole);
        assert!(!heard.is_older(host(1)));
    }
}

/// It followed the log before it was heard, by another peer that had heard less.
#[test]
fn what_a_node_has_caught_up_with_is_not_what_its_disk_had() {
    let mut heard = heard();
    let caught_up = Heartbeat { began: Index(19), ..whole(40, &[(2, 0, 500), (1, 1, 300)]) };
    assert_eq!(heard.hear(host(1), None, &caught_up), Finding::Older);
}

#[test]
fn a_sound_node_is_not_older_after_any_restart() {
    let sound: [(u64, &[End]); 6] = [
        (20, &[(1, 0, 900), (2, 0, 500), (1, 1, 300)]),
        (21, &[(2, 0, 501), (1, 1, 300), (1, 2, 5)]),
        (21, &[(2, 0, 500), (3, 0, 1), (1, 1, 300), (3, 1, 1)]),
        // Its list of segments was lost, or it has fewer shards: nothing is known of them.
        (20, &[]),
        (20, &[(2, 0, 500)]),
        // It keeps the ends of a few boots.
        (20, &[(7, 0, 1), (8, 0, 1), (7, 1, 1)]),
    ];
    for (epoch, ends) in sound {
        assert_eq!(heard().hear(host(1), None, &whole(epoch, ends)), Finding::Whole, "{epoch} {ends:?}");
    }
}

#[test]
fn heartbeats_that_are_late_or_say_nothing_are_not_judged() {
    let mut heard = heard();
    let (starting, unheard) = (whole(0, &[]), later(30, &[(3, 0, 1)]));
    let of_earlier_boot = Heartbeat { boot: 1, ..whole(10, &[]) };
    for heartbeat in [starting, unheard, of_earlier_boot] {
        assert_eq!(heard.hear(host(1), None, &heartbeat), Finding::Unknown, "{heartbeat:?}");
        assert!(!heard.is_older(host(1)));
    }
    // The link held it up, and a later one came on another connection.
    let late = Heartbeat { boot: 2, ..whole(19, &[(2, 0, 400)]) };
    assert_eq!(heard.hear(host(1), None, &late), Finding::Whole);
    assert_eq!(heard.epoch(host(1)), Index(20));
}

#[test]
fn what_a_node_in_doubt_reports_counts_from_there_on() {
    let mut heard = heard();
    let ends = [(2, 0, 400), (1, 1, 300)];
    assert_eq!(heard.hear(host(1), None, &whole(10, &ends)), Finding::Older);
    assert_eq!(heard.hear(host(1), Some(3), &later(20, &[(3, 0, 1)])), Finding::Whole);
    let next = Heartbeat { boot: 4, ..whole(20, &[(2, 0, 400), (3, 0, 1), (1, 1, 300)]) };
    assert_eq!(heard.hear(host(1), Some(3), &next), Finding::Whole);
    let older = Heartbeat { boot: 5, ..whole(20, &ends) };
    assert_eq!(heard.hear(host(1), Some(3), &older), Finding::Older, "it was noted of another start");
    assert_eq!(heard.hear(host(1), Some(5), &older), Finding::Whole);
}

/// This node was down while the other one was noted, or has found it out and was down then.
#[test]
fn what_was_heard_before_a_node_was_in_doubt_is_over() {
    for has_found_out in [false, true] {
        let mut heard = heard();
        let ends = [(2, 0, 400), (1, 1, 300)];
        if has_found_out {
            assert_eq!(heard.hear(host(1), None, &whole(10, &ends)), Finding::Older);
        }
        let next = Heartbeat { boot: 4, ..whole(30, &ends) };
        assert_eq!(heard.hear(host(1), Some(3), &next), Finding::Whole, "found out: {has_found_out}");
        let older = Heartbeat { boot: 5, ..whole(20, &ends) };
        assert_eq!(heard.hear(host(1), Some(3), &older), Finding::Older);
    }
}

#[test]
fn what_was_heard_outlasts_a_restart_of_this_node() {
    let mut heard = heard();
    let bytes = heard.take_changes(GROUP).expect("something was heard");
    assert_eq!(heard.take_changes(GROUP), None);
    let expected = format!("{:032x}01{}00 0000000000000002 0000000000000014 02", GROUP, "01".repeat(16));
    let positions = "0000000000000002 0000 00000000000001f4 0000000000000001 0001 000000000000012c";
    let text: String = bytes[HEAD_BYTES..].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(text, (expected + positions).replace(' ', ""));
    let mut read = Heard::decode(GROUP, &bytes).expect("it was written so");
    assert_eq!(read.take_changes(GROUP), None);
    assert_eq!(read.hear(host(1), None, &whole(19, &[])), Finding::Older);
    let mut of_other_group = Heard::decode(GROUP + 1, &bytes).expect("it was written so");
    assert_eq!(of_other_group.hear(host(1), None, &whole(19, &[])), Finding::Whole);
    assert!((0..bytes.len()).all(|length| Heard::decode(GROUP, &bytes[..length]).is_err()));
    for place in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[place] ^= 1;
        assert!(Heard::decode(GROUP, &flipped).is_err(), "byte {place}");
    }
    assert_eq!(heard.hear(host(1), None, &whole(19, &[])), Finding::Older);
    let bytes = heard.take_changes(GROUP).expect("it is older");
    let mut read = Heard::decode(GROUP, &bytes).expect("it was written so");
    assert_eq!(read.hear(host(1), None, &later(30, &[])), Finding::Older, "this node has restarted meanwhile");
    heard.put_back();
    assert_eq!(heard.take_changes(GROUP), Some(bytes));
    heard.retain(|id| id != host(1));
    assert!(heard.take_changes(GROUP).is_some());
}
