//! Whether a server has ceased to answer. Somebody looks at all connections now and then, so that no request needs a timer.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use crate::StressError;

/// How long a server may answer nothing while a request waits: as long as a try may take through the driver.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(12);

/// Looks within that time.
const LOOKS: u32 = 12;

/// The times at which a connection's reader began or ended to wait for bytes, counted: it waits while the number is odd.
#[derive(Debug, Default)]
pub(crate) struct Waits(Cell<u64>);

impl Waits {
    /// A wait has begun, or ended.
    #[inline]
    pub(crate) fn turn(&self) {
        self.0.set(self.0.get() + 1);
    }
}

/// The watch over the answers of all connections.
pub(crate) struct Silence {
    silence_max: Duration,
    lines: Vec<Line>,
}

/// What was seen of a connection.
struct Line {
    address: SocketAddr,
    waits: Rc<Waits>,
    last: u64,
    /// How many looks in a row after the first have seen one and the same wait. Looks are counted, not time, for a generator that was stopped
    /// itself has heard nothing meanwhile.
    looks: u32,
}

impl Silence {
    pub(crate) fn new(silence_max: Duration, connections: impl Iterator<Item = (SocketAddr, Rc<Waits>)>) -> Silence {
        let lines = connections.map(|(address, waits)| Line { address, waits, last: 0, looks: 0 }).collect();
        Silence { silence_max, lines }
    }

    /// How long after one look the next is due.
    pub(crate) fn interval(&self) -> Duration {
        self.silence_max / LOOKS
    }

    /// Looks at each connection. An error is that one has waited too long for anything.
    pub(crate) fn look(&mut self) -> Result<(), StressError> {
        for line in &mut self.lines {
            let number = line.waits.0.get();
            let is_same_wait = number == line.last && !number.is_multiple_of(2);
            line.last = number;
            line.looks = if is_same_wait { line.looks + 1 } else { 0 };
            if line.looks >= LOOKS {
                return Err(StressError::Silent { address: line.address, time: self.silence_max });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wait_without_an_end_is_silence() {
        let connections = [Rc::new(Waits::default()), Rc::new(Waits::default())];
        let [busy, other] = &connections;
        let addresses = ["127.0.0.1:1", "127.0.0.1:2"].map(|address| address.parse().unwrap());
        let mut silence = Silence::new(SILENCE_MAX, addresses.into_iter().zip(connections.iter().cloned()));
        let mut looks = |count: u32, each: &dyn Fn()| {
            for look in 0..count {
                each();
                if let Err(error) = silence.look() {
                    return Some((look, error.to_string()));
                }
            }
            None
        };
        assert_eq!(looks(100, &|| {}), None, "none has asked for anything");
        busy.turn();
        assert_eq!(looks(12, &|| {}), None, "eleven seconds, and up to one more");
        busy.turn();
        assert_eq!(looks(100, &|| {}), None, "that was the answer to the last request");
        other.turn();
        let both = || {
            busy.turn();
            busy.turn();
        };
        let told = "127.0.0.1:2 timed out: no response for 12 s with requests outstanding".to_owned();
        assert_eq!(looks(100, &both), Some((12, told)));
    }
}
