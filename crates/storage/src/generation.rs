//! Generations: what tells the SSTables of a table apart.

use std::cell::Cell;

use runtime::Runtime;
use sstable::Generation;

/// Ticks of 100 ns between the beginnings of UUIDs' time (1582-10-15) and of Unix's. (Source: RFC 9562, version 1.)
const UNIX_EPOCH_TICKS: u64 = 0x01b2_1dd2_1381_4000;
const TICKS_PER_SECOND: u64 = 10_000_000;
const SECONDS_PER_DAY: u64 = 86_400;
/// The variant of a UUID, in the upper bits of its lower half.
const VARIANT: u64 = 0b10 << 62;
/// The bit that says that the node's part is no network card's address.
const NO_CARD: u64 = 1 << 40;

/// Makes generations that no other shard or start makes.
#[derive(Debug, Default)]
pub struct Generations {
    last_ticks: Cell<u64>,
}

impl Generations {
    /// The next one: a time-based UUID in Cassandra's short form.
    pub fn next(&self, runtime: &Runtime) -> Generation {
        let micros = u64::try_from(runtime.wall_clock_micros()).unwrap_or(0);
        let ticks = (UNIX_EPOCH_TICKS + micros * 10).max(self.last_ticks.get() + 1);
        self.last_ticks.set(ticks);
        // Random but for the shard, so that two shards never come to the same.
        let random = runtime.random_u64() & !(0b11 << 62) & !0xffff;
        short_form(ticks, VARIANT | NO_CARD | random | u64::from(runtime.shard().0))
    }
}

/// Days, seconds, ticks and the lower half, in base 36. (Source: Cassandra's `UUIDBasedSSTableId`.)
fn short_form(ticks: u64, lower: u64) -> Generation {
    let (seconds, ticks) = (ticks / TICKS_PER_SECOND, ticks % TICKS_PER_SECOND);
    let (days, seconds) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let parts = [base36(days, 4), base36(seconds, 4), base36(ticks, 5) + &base36(lower, 13)];
    Generation::Unique(parts.join("_"))
}

fn base36(mut number: u64, width: usize) -> String {
    let mut digits = Vec::new();
    while number > 0 || digits.len() < width {
        digits.push(char::from_digit((number % 36) as u32, 36).expect("a digit of base 36"));
        number /= 36;
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cassandra's own example of a name, taken apart by hand and put together again.
    #[test]
    fn the_short_form_is_cassandras() {
        let number = |text: &str| u64::from_str_radix(text, 36).expect("base 36");
        let (days, seconds, ticks) = (number("3gw5"), number("0lzc"), number("1cb5c"));
        let ticks = (days * SECONDS_PER_DAY + seconds) * TICKS_PER_SECOND + ticks;
        let made = short_form(ticks, number("2ghfzwy2irqxx"));
        assert_eq!(made, Generation::Unique("3gw5_0lzc_1cb5c2ghfzwy2irqxx".to_owned()));
    }

    #[test]
    fn the_parts_keep_their_width() {
        assert_eq!(base36(0, 4), "0000");
        assert_eq!(base36(35, 4), "000z");
        assert_eq!(base36(u64::MAX, 13).len(), 13);
    }
}
