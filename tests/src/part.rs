//! A part of a list that a run takes: all of it, or one of several parts that are equally long.

/// The places of a list that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    number: u64,
    count: u64,
}

impl Part {
    /// All places.
    pub const ALL: Part = Part { number: 0, count: 1 };

    /// Reads `all`, or `number/count`. The number may be a hash: it counts modulo the count. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Part, String> {
        if text == "all" {
            return Ok(Part::ALL);
        }
        let numbers = text.split_once('/').map(|(number, count)| (number.parse(), count.parse()));
        match numbers {
            Some((Ok(number), Ok(count))) if count > 0 => Ok(Part { number, count }),
            _ => Err(format!("`{text}` is neither `all` nor `number/count`")),
        }
    }

    /// The entries of a list that are in this part.
    pub fn of<T>(self, list: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        let is_own = move |(place, _): &(u64, T)| place % self.count == self.number % self.count;
        (0..).zip(list).filter(is_own).map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_make_up_the_list() {
        let of = |text: &str| Part::parse(text).expect("a part").of("abcde".chars()).collect::<String>();
        assert_eq!([of("0/3"), of("1/3"), of("5/3"), of("all")], ["ad", "be", "c", "abcde"]);
        for wrong in ["", "1", "1/0", "/3", "a/3", "1/3/4"] {
            assert!(Part::parse(wrong).is_err(), "{wrong}");
        }
    }
}
