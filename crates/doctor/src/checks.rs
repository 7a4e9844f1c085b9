//! What is looked at, and what of it is good.
//!
//! A check is a name, a sentence about why it matters to Helenus, and a function from the host to a judgement. What the function cannot read
//! makes the finding "not known" with the reason; no check guesses.

mod disk;
mod file_system;
mod limits;
mod machine;
mod memory;
mod network;
mod numa;
mod processors;
mod time;

use crate::finding::{Area, Finding, Judgement, Verdict};
use crate::host::{Host, NotKnown};

/// One thing that is looked at.
struct Check {
    area: Area,
    name: &'static str,
    /// One sentence: what Helenus does with it.
    why: &'static str,
    judge: fn(&Host) -> Result<Judgement, NotKnown>,
}

/// In the order of the report.
const CHECKS: [&[Check]; 9] = [
    &machine::CHECKS,
    &processors::CHECKS,
    &memory::CHECKS,
    &numa::CHECKS,
    &file_system::CHECKS,
    &disk::CHECKS,
    &network::CHECKS,
    &limits::CHECKS,
    &time::CHECKS,
];

/// Looks at everything.
pub fn examine(host: &Host) -> Vec<Finding> {
    CHECKS.into_iter().flatten().map(|check| check.finding(host)).collect()
}

impl Check {
    fn finding(&self, host: &Host) -> Finding {
        let judgement = (self.judge)(host).unwrap_or_else(|reason| Judgement {
            verdict: Verdict::NotKnown,
            found: reason.to_string(),
            mend: None,
        });
        let Judgement { verdict, found, mend } = judgement;
        Finding { area: self.area, check: self.name, verdict, found, why: self.why, mend }
    }
}

/// `1 processor`, `2 processors`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sentences_end() {
        let checks: Vec<&Check> = CHECKS.into_iter().flatten().collect();
        for check in &checks {
            assert!(
                check.why.ends_with('.') && !check.why.trim_end_matches('.').contains(". "),
                "{}: one sentence",
                check.name
            );
            let same = checks.iter().filter(|other| other.name == check.name).count();
            assert_eq!(same, 1, "two checks are called {}", check.name);
        }
    }
}
