//! A count has each acknowledged amount once, and each other one that was sent once or not at all. None that a read has shown is taken back.

use histories::counter::{OPEN_MAX, explained};

use crate::workload::requests::{CountSeen, Sum, Sums};

/// Judges a read of a counter, and notes which amounts it has shown.
pub fn judge(sums: &mut Sums, seen: &CountSeen, factors: &[u32]) -> Result<(), String> {
    let is_due = |sum: &Sum| {
        let is_told = sum.acknowledged.is_some_and(|told| told < seen.start) && sum.reach.meets(&seen.reach, factors);
        let is_known = |(reach, at): &(_, u64)| *at < seen.start && seen.reach.meets(reach, factors);
        is_told || sum.known.iter().any(is_known)
    };
    let is_possible = |sum: &&Sum| sum.place == seen.place && sum.start <= seen.end && !sum.is_void;
    let (mut due, mut open) = (0_i64, Vec::new());
    for (number, sum) in sums.all.iter().enumerate().filter(|(_, sum)| is_possible(sum)) {
        match is_due(sum) {
            true => due = due.wrapping_add(sum.amount),
            false => open.push((number, sum.amount)),
        }
    }
    let place = seen.place;
    if open.len() > OPEN_MAX {
        // Of some read at a low level, after long troubles: what the replicas have together is judged in the end.
        stdx::sometimes!("a count with too many open amounts");
        return Ok(());
    }
    let amounts: Vec<i64> = open.iter().map(|(_, amount)| *amount).collect();
    let choice = explained(due, &amounts, seen.count).map_err(|what| format!("{place:?}: {what}"))?;
    let shown = open.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1).map(|(_, (number, _))| *number);
    for number in shown {
        let known = &mut sums.all[number].known;
        if !known.iter().any(|(reach, _)| *reach == seen.reach) {
            known.push((seen.reach.clone(), seen.end));
        }
    }
    Ok(())
}
