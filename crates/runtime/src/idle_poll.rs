//! Whether a shard that has nothing to do goes on looking for work for a moment before it sleeps.
//!
//! Who asks one thing after another waits each time until the kernel has woken the shard, and has to ask it to. Neither is so while the shard
//! still looks when the next request comes. A sleep and the waking behind it cost a shard some 20 µs of its core, so that looking as long
//! for work that does not come at most doubles what the rest costs. It is done only
//!
//! - behind the work of one who asks alone, see [`Work::is_lone`]: with two, waiting a little makes groups, which are cheaper;
//! - while most looks find something. Whoever shares the core with the shard, or comes at his own times, makes them fail, and then it is
//!   tried again after ever more rests that would have been short enough.
//!
//! Seastar looks for 200 µs (`--idle-poll-time-us`) whatever comes of it.

use std::time::Duration;

use crate::time::Instant;

/// A rest that was slept through ends later than one that was looked through, by the waking. So many windows is one that may have been worth a look.
const SHORT_WINDOWS: u32 = 4;
/// Credit that looking begins with, what a look in vain takes of it, and what it grows to, by one for each that finds work: one in five may fail.
const CREDIT_START: i32 = 8;
const CREDIT_LOST: i32 = 4;
const CREDIT_MAX: i32 = 16;
/// Short rests in a row before looking is tried, and before it is tried again after it failed time and again.
const TRIAL_FIRST: i32 = 4;
const TRIAL_MAX: i32 = 1024;
/// Polls in the work of one who asks alone: his connection's reader, and its writer.
const LONE_POLLS_MAX: u32 = 2;
/// Pieces of work in a row that nobody else had a part in, before somebody is held to be alone: of three who ask, two may be heard in turn for a while.
const LONE_REPEATS: u32 = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Works,
    /// Nothing to do, and awake.
    Looks,
    /// Nothing to do, and no look at this rest any more.
    Sleeps,
}

/// Tells tasks apart that are alive: where they lie in memory.
pub(crate) type TaskId = usize;

/// What a shard did between two rests.
#[derive(Debug)]
struct Work {
    start: Instant,
    end: Instant,
    polls: u32,
    /// The task that was polled first, and that of the work before.
    first_tasks: [TaskId; 2],
    /// Pieces of work up to this one that began with either of the first tasks before.
    repeats: u32,
}

impl Work {
    fn next(&self, task: TaskId, start: Instant) -> Work {
        let [last, _] = self.first_tasks;
        let repeats = if self.first_tasks.contains(&task) { self.repeats.saturating_add(1) } else { 0 };
        Work { start, end: start, polls: 0, first_tasks: [task, last], repeats }
    }

    /// Whether it is that of one who asks alone: hardly any, and of the same tasks again and again. A request is two pieces of work, the second begins
    /// when the reply is sent.
    #[inline]
    fn is_lone(&self, window: Duration) -> bool {
        self.polls <= LONE_POLLS_MAX && self.repeats >= LONE_REPEATS && self.end - self.start <= window
    }
}

/// What one shard knows of its rests.
#[derive(Debug)]
pub(crate) struct IdlePoll {
    /// How long to look; zero: never.
    window: Duration,
    state: State,
    work: Work,
    /// Not negative: looking is worth it. Negative: so many short rests are missing until it is tried.
    credit: i32,
    /// Short rests before the next trial.
    trial: i32,
}

impl IdlePoll {
    pub(crate) fn new(window: Duration, now: Instant) -> Self {
        let (state, credit, trial) = (State::Works, -TRIAL_FIRST, TRIAL_FIRST);
        IdlePoll {
            window,
            state,
            work: Work { start: now, end: now, polls: 0, first_tasks: [0; 2], repeats: 0 },
            credit,
            trial,
        }
    }

    /// Takes note of a poll of a task.
    #[inline]
    pub(crate) fn worked(&mut self, task: TaskId, start: Instant, end: Instant) {
        if self.state != State::Works {
            self.rested(start - self.work.end);
            self.state = State::Works;
            self.work = self.work.next(task, start);
        }
        self.work.end = end;
        self.work.polls += 1;
    }

    fn rested(&mut self, rest: Duration) {
        if self.state == State::Looks {
            self.credit = (self.credit + 1).min(CREDIT_MAX);
            if self.credit == CREDIT_MAX {
                self.trial = TRIAL_FIRST;
            }
        } else if self.credit < 0 {
            let is_short = rest <= self.window * SHORT_WINDOWS && self.work.is_lone(self.window);
            self.credit = match self.credit + 1 {
                _ if !is_short => -self.trial,
                0 => CREDIT_START,
                missing => missing,
            };
        }
    }

    /// Whether to look once more, with nothing to do, in place of sleeping. The clock is read only where that depends on it.
    #[inline]
    pub(crate) fn looks(&mut self, now: impl FnOnce() -> Instant) -> bool {
        match self.state {
            State::Works if self.is_worth_it() => self.state = State::Looks,
            State::Looks if now() - self.work.end < self.window => {}
            State::Looks => {
                self.looked_in_vain();
                self.state = State::Sleeps;
            }
            State::Works | State::Sleeps => self.state = State::Sleeps,
        }
        self.state == State::Looks
    }

    #[inline]
    fn is_worth_it(&self) -> bool {
        self.credit >= 0 && self.work.is_lone(self.window) && !self.window.is_zero()
    }

    fn looked_in_vain(&mut self) {
        self.credit -= CREDIT_LOST;
        if self.credit < 0 {
            self.trial = (self.trial * 2).min(TRIAL_MAX);
            self.credit = -self.trial;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_micros(20);

    /// A shard that gets a piece of work each time so many microseconds after the last one.
    struct Shard {
        poll: IdlePoll,
        now: Instant,
    }

    impl Shard {
        fn new(window: Duration) -> Self {
            let now = Instant::from_nanos(0);
            Shard { poll: IdlePoll::new(window, now), now }
        }

        /// Rests, then polls the tasks for as long: whether it looked, and whether work came meanwhile.
        fn rest(&mut self, rest: Duration, work: Duration, tasks: &[TaskId]) -> (bool, bool) {
            let end = self.now + rest;
            let has_looked = self.poll.looks(|| self.now);
            let mut finds = has_looked;
            while finds && self.now < end {
                self.now += Duration::from_micros(1);
                finds = self.poll.looks(|| self.now);
            }
            self.now = end;
            assert!(finds || !self.poll.looks(|| end), "who sleeps does not look again before it has worked");
            for &task in tasks {
                let start = self.now;
                self.now += work / tasks.len() as u32;
                self.poll.worked(task, start, self.now);
            }
            (has_looked, finds)
        }

        fn looks_of(&mut self, rests: usize, rest: u64, work: u64) -> usize {
            let [rest, work] = [rest, work].map(Duration::from_micros);
            (0..rests).filter(|_| self.rest(rest, work, &[1]).0).count()
        }
    }

    #[test]
    fn who_asks_alone_is_looked_for() {
        let mut shard = Shard::new(WINDOW);
        assert_eq!(shard.looks_of(12, 60, 5), 0, "its first rests are slept through");
        let [until_sent, until_asked] = [3, 12].map(Duration::from_micros);
        for _ in 0..100 {
            let (reader, writer) = (1, 2);
            shard.rest(until_asked, Duration::from_micros(5), &[reader, writer]);
            shard.rest(until_sent, Duration::from_micros(1), &[writer]);
        }
        assert_eq!(shard.rest(until_asked, Duration::from_micros(5), &[1, 2]), (true, true));
        assert_eq!(shard.rest(until_sent, Duration::from_micros(1), &[2]), (true, true));
    }

    #[test]
    fn one_look_in_five_may_fail() {
        let mut shard = Shard::new(WINDOW);
        shard.looks_of(13, 60, 5);
        let looks: usize = (0..100).map(|_| shard.looks_of(4, 12, 5) + shard.looks_of(1, 60, 5)).sum();
        assert_eq!(looks, 500);
    }

    #[test]
    fn looks_in_vain_become_rare() {
        // Work at even times, a little longer apart than the window.
        let mut shard = Shard::new(WINDOW);
        let first = shard.looks_of(100, 30, 10);
        assert!((3..=12).contains(&first), "{first}");
        shard.looks_of(2000, 30, 10);
        let late = shard.looks_of(10_000, 30, 10);
        assert!((20..=40).contains(&late), "{late}");
        // And who asks alone after that is looked for before long.
        let alone = shard.looks_of(2000, 12, 5);
        assert!(alone > 900, "{alone}");
        assert_eq!(shard.looks_of(100, 12, 5), 100);
    }

    #[test]
    fn nobody_looks_after_long_rests_or_much_work() {
        assert_eq!(Shard::new(WINDOW).looks_of(1000, 200, 5), 0);
        assert_eq!(Shard::new(WINDOW).looks_of(1000, 10, 100), 0);
        let mut shard = Shard::new(WINDOW);
        shard.looks_of(100, 12, 5);
        assert_eq!(shard.looks_of(100, 12, 100), 1, "only behind the last little work");
    }

    #[test]
    fn nobody_looks_for_several() {
        let (rest, work) = (Duration::from_micros(12), Duration::from_micros(5));
        let mut shard = Shard::new(WINDOW);
        shard.looks_of(20, 12, 5);
        let mut looks = 0;
        for _ in 0..100 {
            // One twice, then the other, then both at once.
            for tasks in [&[11, 12][..], &[12], &[11, 12], &[12], &[21, 22], &[22], &[21, 11, 22, 12]] {
                looks += usize::from(shard.rest(rest, work, tasks).0);
            }
        }
        assert_eq!(looks, 1, "only behind the last lone work");
    }

    #[test]
    fn no_window_is_never() {
        assert_eq!(Shard::new(Duration::ZERO).looks_of(1000, 0, 0), 0);
    }
}
