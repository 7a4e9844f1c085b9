//! *two-founders*: A and a wiped B start at once with each other as seeds beside a C that answers late. One group results.
//!
//! | course | before | B |
//! |---|---|---|
//! | fresh | nothing | has an empty disk, as A and C |
//! | member | B and C are a cluster, with a keyspace | is wiped before it starts, and refused |
//! | meanwhile | nothing | is wiped while A and B look for a group, and starts again at once |
//! | restarting | all are a cluster; A's disk is slow, so that its start takes long, or A begins the group again since C is lost | is wiped, and refused |

use std::time::Duration;

use helenus::config::Recover;
use planted::Planted;
use runtime::sim::{DiskSpeed, Link};

use super::course::{self, Course, KEYSPACES, create_keyspace};
use crate::site::Site;

const A: usize = 0;
const B: usize = 1;
const C: usize = 2;
const ALL: [usize; 3] = [A, B, C];

/// A disk with which a start takes seconds.
const SLOW: DiskSpeed = DiskSpeed { latency_min_nanos: 1_000_000, latency_max_nanos: 300_000_000 };
/// The sentence of a wiped node whose address is a member's.
const REPLACE: &str = "--replace";
/// In the line of a node that meets another group.
const OTHER_GROUP: &str = "of another metadata group";
/// Logged by a founder, before its group is on its disk.
const FOUNDING: &str = "founding a metadata group";
/// C starts, or answers in time again, by then.
const LATE_MILLIS: u64 = 8000;
/// Nodes that are not of one group meet each other within this time.
const MEET_WITHIN: Duration = Duration::from_secs(20);
/// In which a node ends that is refused.
const REFUSED_WITHIN: Duration = Duration::from_secs(60);

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| match seed % 4 {
        0 => fresh(course),
        1 => member(course),
        2 => restarting(course),
        _ => meanwhile(course),
    })
}

/// All have empty disks.
fn fresh(course: &mut Course) -> Result<(), String> {
    let knows_c = course.below(2) == 0;
    let seeds: &[usize] = if knows_c { &ALL } else { &[A, B] };
    ALL.into_iter().for_each(|node| course.site.set_seeds(node, seeds));
    course.start(&[A, B]);
    start_late(course);
    course.ready(&ALL, "beside empty disks")?;
    note_order(course)?;
    let foundings = course.said(&[FOUNDING]);
    course.must(foundings.len() == 1, || format!("not one founding: {foundings:?}"));
    one_group(course, &ALL)
}

/// B was a member of C's cluster.
fn member(course: &mut Course) -> Result<(), String> {
    [B, C].into_iter().for_each(|node| course.site.set_seeds(node, &[C]));
    course.start(&[B, C]);
    course.ready(&[B, C], "before the wipe")?;
    course.change_works(C, &create_keyspace("old", 1), "before the wipe")?;
    [B, C].into_iter().for_each(|node| course.cut_power(node));
    wipe_b(course);

    ALL.into_iter().for_each(|node| course.site.set_seeds(node, &ALL));
    course.start(&[A, B]);
    start_late(course);
    course.ready(&[A, C], "beside a wiped member")?;
    refused(course);
    let foundings = course.said(&[FOUNDING]);
    course.must(foundings.len() == 1, || format!("not one founding: {foundings:?}"));
    one_group(course, &[A, C])?;
    let keyspaces = course.names(A, KEYSPACES)?;
    course.must(keyspaces.contains("old"), || format!("the cluster's keyspace is lost: {keyspaces:?}"));
    Ok(())
}

/// A, a member, starts while B asks it for its group.
fn restarting(course: &mut Course) -> Result<(), String> {
    ALL.into_iter().for_each(|node| course.site.set_seeds(node, &[A, B]));
    course.start(&ALL);
    course.ready(&ALL, "before the wipe")?;
    course.run_for(Duration::from_secs(5));
    course.change_works(C, &create_keyspace("old", 1), "before the wipe")?;
    ALL.into_iter().for_each(|node| course.cut_power(node));
    wipe_b(course);
    let host = course.host(A);
    course.site.world().set_disk_speed(host, SLOW);
    let is_lost = course.below(2) == 0;
    if is_lost {
        course.site.set_recover(A, Some(Recover::Begin));
    }
    course.start(&[A, B]);
    let rest: &[usize] = if is_lost { &[A] } else { &[A, C] };
    if !is_lost {
        start_late(course);
    }
    course.ready(rest, "beside a wiped member")?;
    refused(course);
    let foundings = course.said(&[FOUNDING]);
    course.must(foundings.len() == 1, || format!("not one founding: {foundings:?}"));
    one_group(course, rest)
}

/// B is wiped while the nodes look for a group, or soon after.
fn meanwhile(course: &mut Course) -> Result<(), String> {
    match course.below(2) {
        0 => {
            ALL.into_iter().for_each(|node| course.site.set_seeds(node, &[A, B]));
            course.start(&[A, B]);
            let until = 1 << (6 + course.below(17));
            course.run_for(Duration::from_micros(until));
            course.cut_power(B);
            wipe_b(course);
            course.start(&[B]);
            start_late(course);
        }
        // None founds without C, whose answers reach both at the same moment. A's word of B is of before the wipe as long as A rests between two
        // tries to reach B again.
        _ => {
            ALL.into_iter().for_each(|node| course.site.set_seeds(node, &ALL));
            let cut = Link { is_cut: true, ..Link::default() };
            [A, B].into_iter().for_each(|node| course.link_to(C, node, cut));
            course.start(&ALL);
            let until = Duration::from_millis(course.below(5000));
            course.run_for(until);
            course.cut_power(B);
            wipe_b(course);
            let down = Duration::from_millis(course.below(8000));
            course.run_for(down);
            course.start(&[B]);
            let late = Duration::from_millis(course.below(1000));
            course.run_for(late);
            [A, B].into_iter().for_each(|node| course.link_to(C, node, Link::default()));
        }
    }
    course.run_for(REFUSED_WITHIN);
    let Some(sentence) = course.site.take_refusal(B) else {
        stdx::sometimes!("wiped before it was a member");
        course.ready(&ALL, "beside a wiped node that was no member")?;
        note_order(course)?;
        return one_group(course, &ALL);
    };
    stdx::sometimes!("wiped when it was a member");
    course.must(sentence.contains(REPLACE), || format!("the wiped member has ended by itself: {sentence}"));
    // Its vote may have been the only one: then the group has no leader, and none is founded beside it.
    match course.site.is_ready(C) {
        true => one_group(course, &[A, C]),
        false => nothing_beside(course),
    }
}

/// Starts C late, or at once with links that are slow for a time.
fn start_late(course: &mut Course) {
    let late = Duration::from_millis(course.below(LATE_MILLIS));
    if course.below(2) == 0 {
        course.run_for(late);
        course.start(&[C]);
        return;
    }
    let slow = Link { latency_min_nanos: 200_000_000, latency_max_nanos: 3_000_000_000, ..Link::default() };
    course.link(&[A, B], &[C], slow);
    course.start(&[C]);
    course.run_for(late);
    course.link(&[A, B], &[C], Link::default());
}

fn wipe_b(course: &mut Course) {
    let (host, disk) = (course.host(B), course.site.empty_disk());
    course.site.world().exchange_disk(host, disk);
}

/// B ends, and names what is to be done.
fn refused(course: &mut Course) {
    let sentence = course.refusal(B, REFUSED_WITHIN);
    let is_named = sentence.as_ref().is_some_and(|sentence| sentence.contains(REPLACE));
    course.must(is_named, || format!("the wiped member does not end and name {REPLACE}: {sentence:?}"));
}

/// Marks which of A and B has the lower host id.
fn note_order(course: &mut Course) -> Result<(), String> {
    let mut host_id = |node| course.names(node, "SELECT host_id FROM system.local");
    match host_id(A)? < host_id(B)? {
        true => stdx::sometimes!("A has the lower id"),
        false => stdx::sometimes!("B has the lower id"),
    }
    Ok(())
}

/// A keyspace that any of them makes is on all, and none meets another group.
fn one_group(course: &mut Course, nodes: &[usize]) -> Result<(), String> {
    let mut keyspaces = course.names(nodes[0], KEYSPACES)?;
    for (node, name) in nodes.iter().zip(["of_one", "of_another", "of_the_third"]) {
        course.change_works(*node, &create_keyspace(name, 1), "in one group")?;
        keyspaces.insert(name.to_owned());
    }
    course.all_give(nodes, KEYSPACES, &keyspaces, "in one group");
    nothing_beside(course)
}

/// No node meets one of another group.
fn nothing_beside(course: &mut Course) -> Result<(), String> {
    course.run_for(MEET_WITHIN);
    let met = course.said(&[OTHER_GROUP]);
    course.must(met.is_empty(), || format!("nodes of two groups met: {met:?}"));
    Ok(())
}
