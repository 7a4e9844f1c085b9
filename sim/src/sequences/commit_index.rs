//! *commit-index*: a voter whose log ends in an uncommitted TRUNCATE restarts while there is no majority.
//!
//! ```text
//! three voters, rows and a last table ─▶ links are cut, TRUNCATE is logged by the leader, or by a follower too ─▶ power cut of all
//!   ─▶ the voter starts alone, twice: all rows and tables are there ─▶ a majority is back: the entry is replaced or committed, on all
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::Link;

use super::course::{self, Course, KEYS, TABLES, Told, create_keyspace, create_table, keys, names};

/// Until the TRUNCATE is in the logs that it reaches, and before another leader is elected.
const LOGGED_WITHIN: Duration = Duration::from_millis(400);
/// A voter that is alone is looked at for so long.
const ALONE_FOR: Duration = Duration::from_secs(8);

/// The way in which a majority comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The other two, which elect a leader without the entry. The voter comes later.
    Replaced,
    /// The voter and one other: only the voter can be elected, since its log is later.
    Committed,
    /// All at once.
    Either,
    /// All at once, where the entry is in the logs of two: no other leader can be elected.
    OfTwo,
}

const ENDINGS: [Ending; 4] = [Ending::Replaced, Ending::Committed, Ending::Either, Ending::OfTwo];
const ALL: [usize; 3] = [0, 1, 2];

pub(super) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    let ending = ENDINGS[(seed % ENDINGS.len() as u64) as usize];
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &[1, 2, 3, 4])?;
        course.change_works(0, &create_table("last"), "at the beginning")?;

        let voter = usize::from(ending == Ending::OfTwo);
        let told = log_a_truncate(course, ending);
        course.must(!matches!(told, Told::Done), || "a TRUNCATE that no majority has was answered as done".to_owned());

        let mut has_promised = true;
        for when in ["at its first start alone", "at its second start alone"] {
            course.start(&[voter]);
            course.ready(&[voter], when)?;
            let until = course.now() + ALONE_FOR;
            while course.now() < until {
                let (rows, tables) = (course.names(voter, KEYS)?, course.names(voter, TABLES)?);
                course.must(rows == keys(1..=4), || format!("{when} the voter has the rows {rows:?}"));
                course.must(tables == names(&["last", "t"]), || format!("{when} the voter has the tables {tables:?}"));
                course.run_for(Duration::from_secs(2));
            }
            let lone = course.change(voter, &create_table("lone"));
            course.must(lone != Told::Done, || format!("{when} the voter changes the schema without a majority"));
            has_promised &= matches!(lone, Told::NothingDone(_));
            course.cut_power(voter);
        }
        let rows = bring_back(course, ending, voter)?;
        course.must(!matches!((&told, rows.is_empty()), (Told::NothingDone(_), true)), || {
            format!("the TRUNCATE was answered with {told:?}, and is done")
        });
        go_on(course, rows, has_promised)
    })
}

/// Has the first node, which leads, log a TRUNCATE that is not committed, and cuts the power of all.
fn log_a_truncate(course: &mut Course, ending: Ending) -> Told {
    let cut = Link { is_cut: true, ..Link::default() };
    course.link(&[0], &[2], cut);
    match ending {
        Ending::OfTwo => course.link_to(1, 0, cut),
        _ => course.link(&[0], &[1], cut),
    }
    let asking = course.begin_change(0, "TRUNCATE s.t");
    course.run_for(LOGGED_WITHIN);
    let waits = course.below(2) == 0;
    let order = if waits { [1, 2, 0] } else { [0, 1, 2] };
    let mut told = Told::Unknown("the node's power was cut".to_owned());
    for node in order {
        if waits && node == 0 {
            told = course.told(&asking);
        }
        course.cut_power(node);
    }
    course.link(&ALL, &ALL, Link::default());
    told
}

/// Brings a majority back, and then all. Gives the rows that all have then.
fn bring_back(course: &mut Course, ending: Ending, voter: usize) -> Result<BTreeSet<String>, String> {
    let others: Vec<usize> = ALL.into_iter().filter(|node| *node != voter).collect();
    let one = others[course.below(2) as usize];
    let first = match ending {
        Ending::Replaced => others,
        Ending::Committed => vec![voter, one],
        Ending::Either | Ending::OfTwo => ALL.to_vec(),
    };
    let when = "with a majority";
    course.start(&first);
    course.ready(&first, when)?;
    course.change_works(first[0], &create_table("after"), when)?;
    let expected = match ending {
        Ending::Replaced => keys(1..=4),
        Ending::Committed | Ending::OfTwo => BTreeSet::new(),
        Ending::Either => course.names(first[0], KEYS)?,
    };
    match expected.is_empty() {
        true => stdx::sometimes!("uncommitted truncate committed later"),
        false => stdx::sometimes!("uncommitted truncate replaced"),
    }
    course.must(expected.is_empty() || expected == keys(1..=4), || format!("{when} a part of the rows: {expected:?}"));
    course.all_give(&first, KEYS, &expected, when);
    let late: Vec<usize> = ALL.into_iter().filter(|node| !first.contains(node)).collect();
    course.start(&late);
    course.ready(&late, "after a majority was back")?;
    course.all_give(&ALL, KEYS, &expected, "after all were back");
    Ok(expected)
}

/// All work as before, and no start truncates again. `has_promised`: each change that the voter was asked for alone was refused.
fn go_on(course: &mut Course, mut rows: BTreeSet<String>, has_promised: bool) -> Result<(), String> {
    let when = "in the end";
    course.write(0, Consistency::All, &[5])?;
    rows.extend(keys([5]));
    ALL.into_iter().for_each(|node| course.cut_power(node));
    course.start(&ALL);
    course.ready(&ALL, when)?;
    course.all_give(&ALL, KEYS, &rows, when);
    // Its answer comes when the node has applied all before it.
    course.change_works(0, "ALTER TABLE s.t WITH comment = 'in the end'", when)?;
    let tables = course.names(0, TABLES)?;
    let known: BTreeSet<String> = tables.iter().filter(|name| has_promised || *name != "lone").cloned().collect();
    course.must(known == names(&["after", "last", "t"]), || format!("{when} the tables are {tables:?}"));
    course.all_give(&ALL, TABLES, &tables, when);
    course.change_works(1, "TRUNCATE s.t", when)?;
    course.all_give(&ALL, KEYS, &BTreeSet::new(), "after a TRUNCATE that was done");
    Ok(())
}
