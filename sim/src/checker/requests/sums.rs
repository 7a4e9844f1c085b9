//! A count has each acknowledged amount once, and each other one that was sent once or not at all. None that a read has shown is taken back.

use std::collections::BTreeMap;

use crate::workload::requests::{CountSeen, Sum, Sums};

/// More amounts that may be in a count or not are not tried: such a count is not judged.
const OPEN_MAX: usize = 32;

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
    let off = seen.count.wrapping_sub(due);
    let Some(choice) = choice_of(&amounts, off) else {
        let (count, open) = (seen.count, open.len());
        return Err(format!("{place:?}: the count is {count}, off by {off} of what must be in it ({open} may be too)"));
    };
    let shown = open.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1).map(|(_, (number, _))| *number);
    for number in shown {
        let known = &mut sums.all[number].known;
        if !known.iter().any(|(reach, _)| *reach == seen.reach) {
            known.push((seen.reach.clone(), seen.end));
        }
    }
    Ok(())
}

/// The amounts whose sum it is, as bits; `None`: no choice of them has it. All sums of one half are met with all of the other.
fn choice_of(amounts: &[i64], sum: i64) -> Option<u64> {
    let (first, second) = amounts.split_at(amounts.len() / 2);
    let sums_of = |half: &[i64]| -> Vec<i64> {
        let of = |choice: u64| {
            let chosen = half.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
            chosen.fold(0_i64, |sum, (_, amount)| sum.wrapping_add(*amount))
        };
        (0..1_u64 << half.len()).map(of).collect()
    };
    let of_first: BTreeMap<i64, u64> = sums_of(first).into_iter().zip(0..).collect();
    let met = |(choice, of_second): (u64, i64)| {
        let of_first = of_first.get(&sum.wrapping_sub(of_second))?;
        Some(of_first | choice << first.len())
    };
    (0..).zip(sums_of(second)).find_map(met)
}
