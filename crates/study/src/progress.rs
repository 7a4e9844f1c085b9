//! How far a study is, and how long it still takes by what its runs have taken.
//!
//! A round is a list of steps: for each system its turn's begin (start and warm lines), then each load at each level. The time of a step is expected to be
//! that of the same step one round earlier; in the first round, that of the same load with another system; else the average of its kind.

use std::time::Duration;

use crate::file::Study;

/// Part of a round.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    /// By its place in the study.
    system: usize,
    /// The places of a load and of its level; none: the turn's begin.
    run: Option<(usize, usize)>,
    /// It takes time in the first round alone: the begin of a system that is kept.
    is_once: bool,
    /// When it was taken last.
    taken: Option<Duration>,
}

/// How far a study is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Progress {
    /// Those of one round, in order.
    steps: Vec<Step>,
    rounds: usize,
    /// Steps that have ended, over all rounds.
    ended: usize,
}

impl Progress {
    /// Of a study that begins.
    pub(crate) fn of(study: &Study) -> Progress {
        let mut steps = Vec::new();
        for (at, system) in study.systems.iter().enumerate() {
            steps.push(Step { system: at, run: None, is_once: system.keep, taken: None });
            let loads = study.loads.iter().enumerate().filter(|(_, load)| load.is_for(&system.name));
            let runs = loads.flat_map(|(load, of)| (0..of.each_level().len()).map(move |level| (load, level)));
            steps.extend(runs.map(|run| Step { system: at, run: Some(run), is_once: false, taken: None }));
        }
        Progress { steps, rounds: study.repeats as usize, ended: 0 }
    }

    /// Notes the time of the step that was under way.
    pub(crate) fn step_ended(&mut self, taken: Duration) {
        let count = self.steps.len();
        self.steps[self.ended % count].taken = Some(taken);
        self.ended += 1;
    }

    /// As `run 3 of 12, about 2 min 40 s left`: of the run that has ended, or of the one that has been under way, or is next, since that time.
    pub(crate) fn text(&self, under_way: Option<Duration>) -> String {
        let runs = |steps: usize| {
            let in_round = |steps: &[Step]| steps.iter().filter(|step| step.run.is_some()).count();
            let (rounds, rest) = (steps / self.steps.len(), steps % self.steps.len());
            rounds * in_round(&self.steps) + in_round(&self.steps[..rest])
        };
        let (ended, all) = (runs(self.ended), runs(self.rounds * self.steps.len()));
        let run = (ended + usize::from(under_way.is_some())).min(all);
        match self.left(under_way.unwrap_or_default()).filter(|_| ended < all) {
            Some(left) => format!("run {run} of {all}, about {} left", lasting(left.max(Duration::from_secs(1)))),
            None => format!("run {run} of {all}"),
        }
    }

    /// The time that the steps that have not ended take. None: no run has ended yet.
    fn left(&self, under_way: Duration) -> Option<Duration> {
        let mut left = Duration::ZERO;
        for at in self.ended..self.rounds * self.steps.len() {
            let step = &self.steps[at % self.steps.len()];
            let takes = if step.is_once && at >= self.steps.len() { Duration::ZERO } else { self.expected(step)? };
            left += if at == self.ended { takes.saturating_sub(under_way) } else { takes };
        }
        Some(left)
    }

    fn expected(&self, step: &Step) -> Option<Duration> {
        let of_another = || self.steps.iter().find(|other| other.run == step.run && other.taken.is_some())?.taken;
        let on_average = || {
            let is_alike = |other: &&Step| other.run.is_some() == step.run.is_some();
            let taken: Vec<Duration> = self.steps.iter().filter(is_alike).filter_map(|other| other.taken).collect();
            let count = u32::try_from(taken.len()).ok().filter(|count| *count > 0)?;
            Some(taken.iter().sum::<Duration>() / count)
        };
        step.taken.or_else(of_another).or_else(on_average)
    }
}

/// A time in words: `40 s`, `2 min 40 s`, `3 h 05 min`.
pub(crate) fn lasting(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const STUDY: &str = "
title: t
subject: a
repeats: 2
systems: [{name: a, start: x}, {name: b, start: y, keep: true}]
loads:
  - {name: write, run: '{measure}'}
  - {name: read, run: '{level} {measure}', levels: [1, 2], on: [a]}
";

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_time_left_follows_from_what_was_taken() {
        let mut progress = Progress::of(&Study::parse(Path::new("s"), STUDY).unwrap());
        let mut said = vec![progress.text(None)];
        // The first round: a's begin, write, read 1, read 2; b's begin, write.
        for time in [5, 10, 20, 30, 7, 12] {
            progress.step_ended(seconds(time));
            said.push(progress.text(None));
        }
        assert_eq!(
            said,
            [
                "run 0 of 8",
                "run 0 of 8",
                // 10 for each read, b 5 + 10, then 35 and 0 + 10.
                "run 1 of 8, about 1 min 20 s left",
                // 15 on average for the other read: 15, 15, 50 and 10.
                "run 2 of 8, about 1 min 30 s left",
                // b 5 + 10, then 65 and 10.
                "run 3 of 8, about 1 min 30 s left",
                "run 3 of 8, about 1 min 25 s left",
                "run 4 of 8, about 1 min 17 s left",
            ]
        );
        assert_eq!(progress.text(Some(seconds(3))), "run 5 of 8, about 1 min 14 s left");
        assert_eq!(
            progress.text(Some(seconds(500))),
            "run 5 of 8, about 1 min 12 s left",
            "never less than what follows"
        );
        for time in [5, 10, 20, 30, 0, 13] {
            progress.step_ended(seconds(time));
        }
        assert_eq!(progress.text(None), "run 8 of 8");
        assert_eq!(progress.text(Some(seconds(1))), "run 8 of 8");
    }

    #[test]
    fn times_are_told() {
        let told = [0, 59, 60, 160, 3_600, 11_100].map(|time| lasting(seconds(time)));
        assert_eq!(told, ["0 s", "59 s", "1 min 00 s", "2 min 40 s", "1 h 00 min", "3 h 05 min"]);
    }
}
