//! Runs that failed, in words. A typo fails in each round alike, and is listed once.

use std::fmt;

use super::named;
use crate::results::{Results, Sample};

/// A failure of a system under a load, in one round or in several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failure {
    rounds: Vec<u32>,
    system: String,
    /// The load, with its level.
    load: String,
    /// The reason, in one line.
    message: String,
    /// The line that was run, in the first of the rounds.
    pub(crate) line: String,
    /// The output there, if that is more than the message.
    pub(crate) printed: Option<String>,
}

impl Failure {
    /// All of them, in the order of their first rounds.
    pub(crate) fn all_of(results: &Results) -> Vec<Failure> {
        let mut failures: Vec<Failure> = Vec::new();
        for sample in results.samples.iter().filter(|sample| !sample.is_sound()) {
            let failure = Failure::of(sample);
            match failures.iter_mut().find(|known| known.is_like(&failure)) {
                Some(known) => known.rounds.push(sample.round),
                None => failures.push(failure),
            }
        }
        failures
    }

    fn of(sample: &Sample) -> Failure {
        Failure {
            rounds: vec![sample.round],
            system: sample.system.clone(),
            load: named(&sample.load, sample.level),
            message: match sample.message() {
                Some(message) => message.to_owned(),
                None => format!("{} operations failed", sample.errors()),
            },
            line: sample.line.clone(),
            printed: sample.printed(),
        }
    }

    fn is_like(&self, other: &Failure) -> bool {
        (&self.system, &self.load, &self.message) == (&other.system, &other.load, &other.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { rounds, system, load, message, .. } = self;
        match rounds.as_slice() {
            [round] => write!(formatter, "round {round}")?,
            [first, second] => write!(formatter, "rounds {first} and {second}")?,
            [first, .., last] if (last - first) as usize + 1 == rounds.len() => {
                write!(formatter, "rounds {first} to {last}")?;
            }
            _ => {
                let rounds: Vec<String> = rounds.iter().map(u32::to_string).collect();
                write!(formatter, "rounds {}", rounds.join(", "))?;
            }
        }
        write!(formatter, ", {system}, {load}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::results;

    #[test]
    fn what_fails_alike_is_told_once() {
        let mut results = results();
        let mut failing: Vec<&mut Sample> =
            results.samples.iter_mut().filter(|sample| sample.system == "ours" && sample.load == "write").collect();
        for sample in &mut failing {
            sample.error = Some("exit status: 2: error: typo".into());
            sample.stderr = Some("error: typo\n\nUsage: x".into());
            sample.figures = None;
        }
        let failures = Failure::all_of(&results);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].to_string(), "rounds 1 to 3, ours, write: exit status: 2: error: typo");
        assert_eq!(failures[0].printed.as_deref(), Some("error: typo\n\nUsage: x"));
        let ours = |sample: &&mut Sample| sample.system == "ours" && sample.load == "write" && sample.round == 2;
        results.samples.iter_mut().find(ours).unwrap().error = Some("exit status: 1: helenus: it is late".into());
        let told: Vec<String> = Failure::all_of(&results).iter().map(Failure::to_string).collect();
        assert_eq!(told[0], "rounds 1 and 3, ours, write: exit status: 2: error: typo");
        assert_eq!(told[1], "round 2, ours, write: exit status: 1: helenus: it is late");
    }

    /// Results of before `stderr` was kept have all of it in `error`.
    #[test]
    fn an_old_error_is_parted_into_message_and_text() {
        let mut results = results();
        let old = "exit status: 1: error: unexpected argument '--rwos' found\n\nFor more information, try '--help'.";
        results.samples[0].error = Some(old.into());
        let failure = &Failure::all_of(&results)[0];
        assert!(failure.to_string().ends_with("write: exit status: 1: error: unexpected argument '--rwos' found"));
        assert_eq!(failure.printed.as_deref(), Some(old));
    }
}
