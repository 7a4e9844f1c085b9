//! *two-recoveries*, *recovery-cut-short* and *recovery-from-the-shorter*: a majority of the voters is lost for good, and operators begin the group again.

use std::collections::BTreeSet;
use std::time::Duration;

use helenus::config::Recover;
use planted::Planted;
use runtime::sim::Link;

use super::course::{self, Course, KEYSPACES, Told, create_keyspace};
use crate::site::Site;

/// Five nodes, which all vote.
const SHAPE: [usize; 1] = [5];
/// The halves of those that are left. The fifth one is lost.
const HALVES: [[usize; 2]; 2] = [[0, 1], [2, 3]];
const LOST: usize = 4;
/// Nodes of two groups meet each other within this time: connections that a cut held up are given up after 60 s.
const MEET_WITHIN: Duration = Duration::from_secs(90);
/// In the line of a node that meets one of another group or incarnation; it names its own.
const OTHER_GROUP: &str = "of another metadata group";
/// In the lines of nodes that recover, just before they write that down.
const BEGINS: &str = "metadata group begins again";
const FOLLOWS: &str = "following the recovered metadata group";
/// In the sentence of a node that may not begin the group again.
const HAS_LATER: &str = "has a later metadata log";
/// Disk operations of a start after those lines.
const CALLS_MAX: u64 = 12;
/// The longest until a recovering node is ready: it tries each node that is lost for 13 s.
const RECOVERED_WITHIN_MILLIS: u64 = 60_000;

/// Two halves, neither with a majority, are recovered while they do not reach each other.
pub(super) fn halves(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &SHAPE, |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("before", 1), "at the beginning")?;
        let before = course.names(0, KEYSPACES)?;
        course.all_give(&[0, 1, 2, 3, 4], KEYSPACES, &before, "at the beginning");
        (0..5).for_each(|node| course.cut_power(node));
        course.link(&HALVES[0], &HALVES[1], Link { is_cut: true, ..Link::default() });
        let first = recover_half(course, &HALVES[0], "first", &before)?;
        let second = recover_half(course, &HALVES[1], "second", &before)?;

        let said = course.said(&[OTHER_GROUP]).len();
        course.link(&HALVES[0], &HALVES[1], Link::default());
        if course.below(2) == 0 {
            // The lost one comes back, of the group as it was.
            course.start(&[LOST]);
        }
        apart(course, "when the halves reach each other", said, [&first, &second])?;
        let said = course.said(&[OTHER_GROUP]).len();
        for node in HALVES.concat() {
            course.cut_power(node);
            course.site.set_recover(node, None);
        }
        course.start(&HALVES.concat());
        course.ready(&HALVES.concat(), "after a power cut of all")?;
        apart(course, "after a power cut of all", said, [&first, &second])
    })
}

/// One node of the half begins the group again, and the other follows. Gives the half's keyspaces.
fn recover_half(
    course: &mut Course,
    half: &[usize; 2],
    name: &'static str,
    before: &BTreeSet<String>,
) -> Result<BTreeSet<String>, String> {
    let when = format!("in the recovery of the {name} half");
    let at = course.below(2) as usize;
    let (begins, follows) = (half[at], half[1 - at]);
    course.site.set_recover(begins, Some(Recover::Begin));
    let leader = course.site.internode_address(begins);
    course.site.set_recover(follows, Some(Recover::Follow(leader)));
    match course.below(2) {
        0 => course.start(&[begins, follows]),
        _ => {
            course.start(&[begins]);
            course.ready(&[begins], &when)?;
            course.start(&[follows]);
        }
    }
    course.ready(half, &when)?;
    course.change_works(begins, &create_keyspace(name, 1), &when)?;
    course.change_works(follows, &create_keyspace(&format!("{name}_too"), 1), &when)?;
    let mut keyspaces = before.clone();
    keyspaces.extend([name.to_owned(), format!("{name}_too")]);
    course.all_give(half, KEYSPACES, &keyspaces, &when);
    Ok(keyspaces)
}

/// The halves have what they had, change on their own, and nodes of both say that they have met: so many lines said so before.
fn apart(course: &mut Course, when: &str, before: usize, keyspaces: [&BTreeSet<String>; 2]) -> Result<(), String> {
    course.run_for(MEET_WITHIN);
    let said = course.said(&[OTHER_GROUP]).split_off(before);
    let groups: BTreeSet<&str> = said.iter().filter_map(|line| own_incarnation(line)).collect();
    course.must(groups.len() >= 2, || format!("{when} only these groups say that they have met another: {groups:?}"));
    for (half, keyspaces) in HALVES.iter().zip(keyspaces) {
        for node in half {
            let given = course.names(*node, KEYSPACES)?;
            course.must(given == *keyspaces, || format!("{when} node {node} has {given:?}, not {keyspaces:?}"));
            let told = course.change(*node, "ALTER KEYSPACE before WITH durable_writes = true");
            course.must(told == Told::Done, || format!("{when} node {node} answers a change with {told:?}"));
        }
    }
    Ok(())
}

/// The group and the incarnation of the node that logged the line; `None` where it has not been recovered.
fn own_incarnation(line: &str) -> Option<&str> {
    let group = line.split_once(" group=")?.1.split(' ').next()?.trim_matches('"');
    group.contains('.').then_some(group)
}

/// The power of the recovering node is cut at a moment of its start, which is begun again with the same flag. Another node follows later.
pub(super) fn cut_short(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &SHAPE, |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("before", 1), "at the beginning")?;
        let mut keyspaces = course.names(0, KEYSPACES)?;
        course.all_give(&[0, 1, 2, 3, 4], KEYSPACES, &keyspaces, "at the beginning");
        (0..5).for_each(|node| course.cut_power(node));
        let begins = course.below(2) as usize;
        let follows = 1 - begins;

        course.site.set_recover(begins, Some(Recover::Begin));
        let leader = course.site.internode_address(begins);
        course.site.set_recover(follows, Some(Recover::Follow(leader)));
        let waits = course.below(2) == 0;
        if waits {
            course.start(&[follows]);
        }
        let mut cuts = 0;
        while cuts < 3 && (cuts == 0 || course.below(2) == 0) {
            course.start(&[begins]);
            run_into(course, begins, BEGINS);
            course.cut_power(begins);
            cuts += 1;
        }
        course.start(&[begins]);
        course.ready(&[begins], "begun again with the same flag")?;
        course.change_works(begins, &create_keyspace("first", 1), "begun again")?;
        keyspaces.insert("first".to_owned());
        course.all_give(&[begins], KEYSPACES, &keyspaces, "begun again");

        if !waits {
            course.start(&[follows]);
        }
        if !waits && course.below(2) == 0 {
            run_into(course, follows, FOLLOWS);
            course.cut_power(follows);
            course.start(&[follows]);
        }
        course.ready(&[follows], "as one that follows")?;
        course.change_works(follows, &create_keyspace("second", 1), "by the one that follows")?;
        keyspaces.insert("second".to_owned());
        course.all_give(&[begins, follows], KEYSPACES, &keyspaces, "when both are there");

        for node in [begins, follows] {
            course.cut_power(node);
            course.site.set_recover(node, None);
        }
        course.start(&[begins, follows]);
        course.ready(&[begins, follows], "without the flag")?;
        course.change_works(begins, &create_keyspace("third", 1), "without the flag")?;
        keyspaces.insert("third".to_owned());
        course.all_give(&[begins, follows], KEYSPACES, &keyspaces, "without the flag");
        Ok(())
    })
}

/// Of two nodes that are left the one with the shorter log begins, while the other is started to follow it.
pub(super) fn from_the_shorter(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &SHAPE, |course| {
        const SHORTER: usize = 1;
        const LATER: usize = 0;
        course.form()?;
        course.change_works(LATER, &create_keyspace("before", 1), "at the beginning")?;
        let mut keyspaces = course.names(LATER, KEYSPACES)?;
        course.all_give(&[0, 1, 2, 3, 4], KEYSPACES, &keyspaces, "at the beginning");
        let others = [0, 2, 3, 4];
        course.link(&[SHORTER], &others, Link { is_cut: true, ..Link::default() });
        course.change_works(LATER, &create_keyspace("later", 1), "without one node")?;
        keyspaces.insert("later".to_owned());
        (0..5).for_each(|node| course.cut_power(node));
        course.link(&[SHORTER], &others, Link::default());

        let leader = course.site.internode_address(SHORTER);
        course.site.set_recover(SHORTER, Some(Recover::Begin));
        course.site.set_recover(LATER, Some(Recover::Follow(leader)));
        let order = if course.below(2) == 0 { [SHORTER, LATER] } else { [LATER, SHORTER] };
        course.start(&order);
        let Some(sentence) = course.refusal(SHORTER, 2 * Duration::from_millis(RECOVERED_WITHIN_MILLIS)) else {
            return Err("a node begins the group again although one that answers has a later log".to_owned());
        };
        course.must(sentence.contains(HAS_LATER), || format!("the node with the shorter log says: {sentence}"));

        course.cut_power(LATER);
        let leader = course.site.internode_address(LATER);
        course.site.set_recover(LATER, Some(Recover::Begin));
        course.site.set_recover(SHORTER, Some(Recover::Follow(leader)));
        course.start(&[LATER, SHORTER]);
        course.ready(&[LATER, SHORTER], "the other way round")?;
        course.all_give(&[LATER, SHORTER], KEYSPACES, &keyspaces, "the other way round");
        Ok(())
    })
}

/// Runs until a moment of the start of a node: any, or one of its disk operations after it has said these words. It may be ready by then.
fn run_into(course: &mut Course, node: usize, words: &str) {
    let host = course.host(node);
    let at_most = match course.below(3) {
        0 => Duration::from_millis(course.below(RECOVERED_WITHIN_MILLIS)),
        _ => {
            course.run_until_said(words, 2 * Duration::from_millis(RECOVERED_WITHIN_MILLIS));
            Duration::from_secs(1)
        }
    };
    let calls = course.site.world().disk_calls(host) + 1 + course.below(CALLS_MAX);
    course.site.world().run_until(|world| world.disk_calls(host) >= calls, at_most);
    match course.site.is_ready(node) {
        true => stdx::sometimes!("power cut after a recovery"),
        false => stdx::sometimes!("power cut within a recovery"),
    }
}
