//! The judgement of a run when its operation has ended: who is of the cluster, and what is read.

use std::collections::BTreeSet;
use std::time::Duration;

use admin::{Answer, Question};
use cql_protocol::Consistency;
use runtime::Runtime;
use runtime::sim::Started;

use super::ground::{COUNT, MACHINES, ROWS};
use super::run::Run;
use crate::client::{Client, ClientError, Row};
use crate::site::Site;

/// For an answer, in some tries, of a cluster at rest.
const ANSWER_AT_MOST: Duration = Duration::from_secs(60);
/// Between two tries.
const AGAIN: Duration = Duration::from_millis(200);
const KEYS: &str = "SELECT k FROM s.t";
const COUNTER: &str = "SELECT n FROM s.c WHERE k = 0";
const PAGE_ROWS: i32 = 500;
/// Marks of steps in which a cleanup has dropped something.
const DROPPED: [&str; 2] = ["file without kept tokens removed", "file rewritten without tokens that are not kept"];

/// Sentences about what does not hold. An error: something does not work at all.
pub(super) fn judge(run: &mut Run, writing: Started<()>) -> Result<Vec<String>, String> {
    let mut violations = Vec::new();
    judge_members(run, &mut violations)?;
    // All replicas had these rows before, so whoever has gained some has copied them: nothing has repaired it yet.
    let before: BTreeSet<i32> = (0..ROWS).collect();
    each_has(run, &before, "copied by", &mut violations)?;
    judge_leftovers(run, &mut violations)?;
    run.end_writing(&writing)?;

    let asked = run.present()[0];
    let acknowledged: BTreeSet<i32> = run.written.borrow().acknowledged.union(&before).copied().collect();
    let found = keys(&rows(run, asked, Consistency::Quorum, KEYS)?);
    let lost: Vec<&i32> = acknowledged.difference(&found).collect();
    if !lost.is_empty() {
        violations.push(format!("acknowledged at QUORUM, and not read at QUORUM: {lost:?}"));
    }
    judge_counter(run, asked, &mut violations)?;
    let all = keys(&rows(run, asked, Consistency::All, KEYS)?);
    if !all.is_superset(&acknowledged) {
        violations.push("a read of all replicas has fewer rows than one of a quorum".to_owned());
    }
    each_has(run, &all, "repaired in", &mut violations)?;
    Ok(violations)
}

/// All nodes have the same members in the end, of which none joins or leaves: one that has just started hears of the last changes a moment later.
fn judge_members(run: &mut Run, violations: &mut Vec<String>) -> Result<(), String> {
    let present = run.present();
    if ![MACHINES - 1, MACHINES].contains(&present.len()) {
        violations.push(format!("{present:?} are left"));
    }
    let members: Vec<_> = present.iter().map(|node| run.site.internode_address(*node).ip()).collect();
    let deadline = run.site.world().now() + ANSWER_AT_MOST;
    for node in present {
        loop {
            let facts = run.site.facts(node, ANSWER_AT_MOST).ok_or(format!("node {node} does not answer"))?;
            let mut known: Vec<_> = facts.ring.iter().map(|node| node.endpoint).collect();
            known.sort_unstable();
            let is_moving = |node: &admin::RingNode| node.is_joining || node.is_leaving || node.tokens.is_empty();
            if known == members && !facts.ring.iter().any(is_moving) {
                break;
            }
            if run.site.world().now() >= deadline {
                let shown =
                    |node: &admin::RingNode| (node.endpoint, node.is_joining, node.is_leaving, node.tokens.len());
                let shown: Vec<_> = facts.ring.iter().map(shown).collect();
                violations.push(format!("node {node} has the members {shown:?}, where {members:?} run"));
                break;
            }
            run.site.world().run_for(AGAIN);
        }
    }
    Ok(())
}

/// One more cleanup finds nothing to drop.
fn judge_leftovers(run: &mut Run, violations: &mut Vec<String>) -> Result<(), String> {
    let dropped = || DROPPED.map(stdx::marks::count);
    for node in run.present() {
        let before = dropped();
        match run.site.ask(node, Question::CleanUpAll, ANSWER_AT_MOST) {
            Some(Answer::Done) => {}
            answer => return Err(format!("node {node} does not clean up: {answer:?}")),
        }
        if dropped() != before {
            violations.push(format!("node {node} is clean, and had rows of ranges that it does not keep"));
        }
    }
    Ok(())
}

/// Each node has all rows of its ranges by itself: it reads them from itself first.
fn each_has(run: &mut Run, wanted: &BTreeSet<i32>, when: &str, violations: &mut Vec<String>) -> Result<(), String> {
    for node in run.present() {
        let found = keys(&rows(run, node, Consistency::One, KEYS)?);
        let lost: Vec<&i32> = wanted.difference(&found).collect();
        if !lost.is_empty() {
            violations.push(format!("not {when} node {node}: {lost:?}"));
        }
    }
    Ok(())
}

fn judge_counter(run: &mut Run, asked: usize, violations: &mut Vec<String>) -> Result<(), String> {
    let counted = rows(run, asked, Consistency::Quorum, COUNTER)?;
    let value = counted.first().and_then(|row| row[0].as_deref()?.try_into().ok()).map_or(0, i64::from_be_bytes);
    let written = run.written.borrow();
    let (least, most) = (COUNT + written.added, COUNT + written.added + written.in_doubt);
    if !(least..=most).contains(&value) {
        violations.push(format!("the counter is {value}, and not from {least} to {most}"));
    }
    Ok(())
}

fn keys(rows: &[Row]) -> BTreeSet<i32> {
    let key = |row: &Row| i32::from_be_bytes(row[0].as_deref().expect("a key").try_into().expect("an int"));
    rows.iter().map(key).collect()
}

/// The rows that a node gives at a level, in some tries: it may not know yet that others are up.
fn rows(run: &mut Run, node: usize, level: Consistency, text: &'static str) -> Result<Vec<Row>, String> {
    let deadline = run.site.world().now() + ANSWER_AT_MOST;
    loop {
        let (address, clients) = (run.site.native_address(node), run.site.clients());
        let main = async move |runtime: Runtime| -> Result<Vec<Row>, ClientError> {
            let mut client = Client::connect(&runtime, address).await?;
            client.consistency = level;
            client.rows(text, PAGE_ROWS).await
        };
        let asking = run.site.world().start(clients, false, vec![main]);
        run.site.world().run_until(|_| asking.is_over(), ANSWER_AT_MOST);
        match asking.take_outputs().and_then(|mut outputs| outputs.pop()) {
            Some(Ok(rows)) => return Ok(rows),
            answer if run.site.world().now() >= deadline => {
                return Err(format!("node {node} does not answer {text} at {level:?}: {answer:?}"));
            }
            _ => run.site.world().run_for(AGAIN),
        }
    }
}
