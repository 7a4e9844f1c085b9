//! What came of a client's requests.

use std::time::Duration;

/// Why a request did not do what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The server refused it.
    Refused(String),
    /// The connection is over, and so is the client.
    Lost(String),
    /// The row is not there.
    Missing(u64),
    /// The row is not as it was written, or a write changed none.
    Wrong(u64),
}

/// Requests that ended, well or not, and how long each took.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// In nanoseconds.
    latencies: Vec<u64>,
    /// Requests that failed.
    pub errors: u64,
    /// Rows that were not there.
    pub missing: u64,
    /// Rows with other values than were written.
    pub wrong: u64,
    /// The first failure, in words: the others are mostly the same.
    pub first_failure: Option<String>,
}

impl Tally {
    /// Of no request, with room for so many.
    pub fn with_room(requests: u64) -> Tally {
        Tally { latencies: Vec::with_capacity(requests as usize), ..Tally::default() }
    }

    /// Adds a request. Whether its client can go on.
    pub fn add(&mut self, latency: Duration, result: Result<(), Fault>) -> bool {
        self.latencies.push(u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX));
        let Err(fault) = result else { return true };
        let goes_on = !matches!(fault, Fault::Lost(_));
        let (counter, words) = match fault {
            Fault::Refused(words) | Fault::Lost(words) => (&mut self.errors, words),
            Fault::Missing(row) => (&mut self.missing, format!("row {row} is missing")),
            Fault::Wrong(row) => (&mut self.wrong, format!("row {row} has other values than were written")),
        };
        *counter += 1;
        self.first_failure.get_or_insert(words);
        goes_on
    }

    /// Adds those of another client.
    pub fn join(&mut self, other: Tally) {
        self.latencies.extend(other.latencies);
        self.errors += other.errors;
        self.missing += other.missing;
        self.wrong += other.wrong;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }

    /// Requests that ended.
    pub fn operations(&self) -> u64 {
        self.latencies.len() as u64
    }

    /// How long they took.
    pub fn latencies(&self) -> Latencies {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        Latencies { sorted }
    }
}

/// How long requests took, the shortest first.
#[derive(Debug)]
pub struct Latencies {
    sorted: Vec<u64>,
}

impl Latencies {
    /// The microseconds that so many of 1000 requests did not exceed; zero if there was none.
    pub fn quantile(&self, per_mille: usize) -> f64 {
        let rank = (self.sorted.len() * per_mille).div_ceil(1000);
        self.sorted.get(rank.saturating_sub(1)).map_or(0.0, |&nanos| micros(nanos))
    }

    /// The mean in microseconds; zero if there was none.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.sorted.iter().map(|&nanos| micros(nanos)).sum();
        sum / self.sorted.len().max(1) as f64
    }

    /// The longest in microseconds; zero if there was none.
    pub fn max(&self) -> f64 {
        self.sorted.last().map_or(0.0, |&nanos| micros(nanos))
    }
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    #[test]
    fn each_fault_is_counted_as_what_it_is() {
        let mut tally = Tally::default();
        assert!(tally.add(MICRO, Ok(())));
        assert!(tally.add(MICRO, Err(Fault::Refused("full".to_owned()))));
        assert!(tally.add(MICRO, Err(Fault::Missing(3))));
        assert!(tally.add(MICRO, Err(Fault::Wrong(4))));
        assert!(!tally.add(MICRO, Err(Fault::Lost("gone".to_owned()))), "a client without a connection ends");
        assert_eq!((tally.operations(), tally.errors, tally.missing, tally.wrong), (5, 2, 1, 1));
        assert_eq!(tally.first_failure.as_deref(), Some("full"));
    }

    #[test]
    fn tallies_are_added() {
        let (mut tally, mut other) = (Tally::default(), Tally::default());
        tally.add(MICRO, Ok(()));
        other.add(3 * MICRO, Err(Fault::Missing(1)));
        tally.join(other);
        assert_eq!((tally.operations(), tally.missing), (2, 1));
        assert_eq!((tally.latencies().mean(), tally.latencies().max()), (2.0, 3.0));
        assert_eq!(tally.first_failure.as_deref(), Some("row 1 is missing"));
    }

    #[test]
    fn percentiles_are_of_the_requests_themselves() {
        let mut tally = Tally::default();
        for micros in (1..=1000).rev() {
            tally.add(micros * MICRO, Ok(()));
        }
        let latencies = tally.latencies();
        let found = [500, 990, 999, 1000].map(|per_mille| latencies.quantile(per_mille));
        assert_eq!(found, [500.0, 990.0, 999.0, 1000.0]);
        let none = Tally::default().latencies();
        assert_eq!((none.quantile(500), none.mean(), none.max()), (0.0, 0.0, 0.0));
    }
}
