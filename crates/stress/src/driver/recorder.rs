//! What the operations took, as histograms, in intervals.
//!
//! A run has several shelves, each behind a lock of its own, and each task lays what it measured on the shelf of its number: a histogram for
//! each of hundreds of tasks would be too large, one for all would be fought over. Who reports takes the shelves' content away,
//! once in an interval.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hdrhistogram::{AdditionError, Histogram};

use super::settings::Kind;
use super::target::Done;

/// The longest time that is told from longer ones: an hour.
const NANOS_MAX: u64 = 3_600_000_000_000;
/// Decimal digits to which times are kept.
const DIGITS: u8 = 3;

/// One operation that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) kind: Kind,
    /// When it was due, if there is a schedule.
    pub(crate) due: Option<Instant>,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    /// What it has written or read.
    pub(crate) done: Done,
    pub(crate) has_failed: bool,
}

/// What all operations of one kind took, or of all kinds. Times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Measures {
    /// From when an operation began.
    pub(crate) service: Histogram<u64>,
    /// With a schedule: from when it was due; and from then until it began.
    pub(crate) scheduled: Option<Scheduled>,
    pub(crate) partitions: u64,
    pub(crate) rows: u64,
    pub(crate) errors: u64,
    /// Operations that were due and had not begun when the run ended. Their response and waiting times are among the others, as long as
    /// these were by then.
    pub(crate) not_begun: u64,
}

/// Which of the times of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    Service,
    Response,
    Wait,
}

impl Time {
    /// As cassandra-stress's logs of histograms call it.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Time::Service => "st",
            Time::Response => "rt",
            Time::Wait => "wt",
        }
    }

    /// The one that is called so.
    pub(crate) fn of_tag(tag: &str) -> Option<Time> {
        [Time::Service, Time::Response, Time::Wait].into_iter().find(|time| time.tag() == tag)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Scheduled {
    pub(crate) response: Histogram<u64>,
    pub(crate) wait: Histogram<u64>,
}

impl Scheduled {
    fn new() -> Scheduled {
        Scheduled { response: histogram(), wait: histogram() }
    }
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, NANOS_MAX, DIGITS).expect("the bounds are valid")
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).max(1)
}

impl Measures {
    pub(crate) fn new() -> Measures {
        Measures { service: histogram(), scheduled: None, partitions: 0, rows: 0, errors: 0, not_begun: 0 }
    }

    fn record(&mut self, sample: &Sample) {
        self.service.saturating_record(nanos(sample.ended - sample.began));
        if let Some(due) = sample.due {
            let scheduled = self.scheduled.get_or_insert_with(Scheduled::new);
            scheduled.response.saturating_record(nanos(sample.ended - due));
            scheduled.wait.saturating_record(nanos(sample.began.saturating_duration_since(due)));
        }
        self.partitions += sample.done.partitions;
        self.rows += sample.done.rows;
        self.errors += u64::from(sample.has_failed);
    }

    /// Records an operation that had not begun when the run ended: it has waited for so long, and would have gone on.
    fn record_not_begun(&mut self, waited: Duration) {
        let scheduled = self.scheduled.get_or_insert_with(Scheduled::new);
        scheduled.response.saturating_record(nanos(waited));
        scheduled.wait.saturating_record(nanos(waited));
        self.not_begun += 1;
    }

    /// Adds what others measured.
    pub(crate) fn add(&mut self, other: &Measures) {
        let add = |mine: &mut Histogram<u64>, theirs| mine.add(theirs).expect("all have the same bounds");
        add(&mut self.service, &other.service);
        if let Some(theirs) = &other.scheduled {
            let mine = self.scheduled.get_or_insert_with(Scheduled::new);
            add(&mut mine.response, &theirs.response);
            add(&mut mine.wait, &theirs.wait);
        }
        self.partitions += other.partitions;
        self.rows += other.rows;
        self.errors += other.errors;
        self.not_begun += other.not_begun;
    }

    /// Adds what a log has of one of the times. Fails if they are beyond what is told apart.
    pub(crate) fn add_times(&mut self, time: Time, times: &Histogram<u64>) -> Result<(), AdditionError> {
        match time {
            Time::Service => self.service.add(times),
            Time::Response => self.scheduled.get_or_insert_with(Scheduled::new).response.add(times),
            Time::Wait => self.scheduled.get_or_insert_with(Scheduled::new).wait.add(times),
        }
    }

    /// Each of the times that are known.
    pub(crate) fn times(&self) -> impl Iterator<Item = (Time, &Histogram<u64>)> {
        let scheduled = self.scheduled.as_ref();
        let of_schedule = scheduled.map(|both| [(Time::Response, &both.response), (Time::Wait, &both.wait)]);
        std::iter::once((Time::Service, &self.service)).chain(of_schedule.into_iter().flatten())
    }

    /// Operations.
    pub(crate) fn count(&self) -> u64 {
        self.service.len()
    }

    /// What is called latency: the response time where there is a schedule, else the service time.
    pub(crate) fn latency(&self) -> &Histogram<u64> {
        self.scheduled.as_ref().map_or(&self.service, |scheduled| &scheduled.response)
    }
}

/// What was measured in a stretch of time, for each kind that took place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interval {
    kinds: Vec<(Kind, Measures)>,
}

impl Interval {
    fn of(&mut self, kind: Kind) -> &mut Measures {
        let at = match self.kinds.binary_search_by_key(&kind, |(kind, _)| *kind) {
            Ok(at) => at,
            Err(at) => {
                self.kinds.insert(at, (kind, Measures::new()));
                at
            }
        };
        &mut self.kinds[at].1
    }

    /// Has these kinds too, of which nothing may have taken place.
    pub(crate) fn with_kinds(mut self, kinds: &[Kind]) -> Interval {
        for kind in kinds {
            self.of(*kind);
        }
        self
    }

    /// Adds what was measured elsewhere.
    pub(crate) fn add(&mut self, other: &Interval) {
        for (kind, measures) in &other.kinds {
            self.of(*kind).add(measures);
        }
    }

    /// Each kind's, in the order of their names.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (Kind, &Measures)> {
        self.kinds.iter().map(|(kind, measures)| (*kind, measures))
    }

    /// All kinds' together.
    pub(crate) fn total(&self) -> Measures {
        let mut total = Measures::new();
        for (_, measures) in &self.kinds {
            total.add(measures);
        }
        total
    }
}

/// Where tasks lay what they measured.
#[derive(Debug)]
pub(crate) struct Recorder {
    shelves: Vec<Mutex<Interval>>,
}

impl Recorder {
    pub(crate) fn new(shelf_count: usize) -> Recorder {
        Recorder { shelves: (0..shelf_count.max(1)).map(|_| Mutex::default()).collect() }
    }

    /// Records an operation of the task of that number.
    pub(crate) fn record(&self, task: usize, sample: &Sample) {
        let shelf = &self.shelves[task % self.shelves.len()];
        shelf.lock().unwrap_or_else(PoisonError::into_inner).of(sample.kind).record(sample);
    }

    /// Records an operation that was due and had not begun at the end of the run.
    pub(crate) fn record_not_begun(&self, kind: Kind, waited: Duration) {
        self.shelves[0].lock().unwrap_or_else(PoisonError::into_inner).of(kind).record_not_begun(waited);
    }

    /// Takes away what was recorded since the last time.
    pub(crate) fn take(&self) -> Interval {
        let mut all = Interval::default();
        for shelf in &self.shelves {
            let taken = std::mem::take(&mut *shelf.lock().unwrap_or_else(PoisonError::into_inner));
            all.add(&taken);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_laid_down_is_taken_away_once() {
        let recorder = Recorder::new(3);
        let due = Instant::now();
        let sample = |kind, wait: u64, service: u64| {
            let began = due + Duration::from_millis(wait);
            let ended = began + Duration::from_millis(service);
            Sample { kind, due: Some(due), began, ended, done: Done::ROW, has_failed: service > 50 }
        };
        for task in 0..10 {
            recorder.record(task, &sample(Kind::Write, 0, 10));
        }
        recorder.record(4, &sample(Kind::Read, 200, 60));
        let taken = recorder.take();
        let kinds: Vec<_> =
            taken.kinds().map(|(kind, measures)| (kind.name(), measures.count(), measures.errors)).collect();
        assert_eq!(kinds, [("READ", 1, 1), ("WRITE", 10, 0)]);
        let total = taken.total();
        assert_eq!((total.count(), total.rows, total.errors), (11, 11, 1));
        assert_eq!(total.service.max() / 1_000_000, 60);
        assert_eq!(total.latency().max() / 1_000_000, 260);
        assert_eq!(total.scheduled.unwrap().wait.max() / 1_000_000, 200);
        assert_eq!(recorder.take().total().count(), 0);
    }

    #[test]
    fn without_a_schedule_latency_is_service_time() {
        let recorder = Recorder::new(1);
        let began = Instant::now();
        let ended = began + Duration::from_millis(7);
        recorder
            .record(0, &Sample { kind: Kind::Read, due: None, began, ended, done: Done::default(), has_failed: false });
        let total = recorder.take().total();
        assert!(total.scheduled.is_none());
        assert_eq!(total.latency().max() / 1_000_000, 7);
    }
}
