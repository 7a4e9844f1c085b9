//! Bounds that what was measured must meet.

/// A figure, and the most that it may be.
pub struct Bound {
    what: String,
    found: f64,
    most: f64,
}

impl Bound {
    /// Of this name.
    pub fn at_most(what: impl Into<String>, found: f64, most: f64) -> Bound {
        Bound { what: what.into(), found, most }
    }

    /// What is not a number holds nothing.
    fn holds(&self) -> bool {
        self.found <= self.most
    }
}

/// Tells all; an error if one does not hold.
pub fn judge(bounds: &[Bound]) -> Result<(), String> {
    for bound in bounds {
        let word = if bound.holds() { "ok    " } else { "FAILED" };
        println!("{word} {}: {:.3} (at most {})", bound.what, bound.found, bound.most);
    }
    match bounds.iter().all(Bound::holds) {
        true => Ok(()),
        false => Err("a bound is not met".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_its_bound_or_not_a_number_fails() {
        assert!(judge(&[Bound::at_most("a", 1.0, 1.0)]).is_ok());
        assert!(judge(&[Bound::at_most("a", 1.0, 1.0), Bound::at_most("b", 1.1, 1.0)]).is_err());
        assert!(judge(&[Bound::at_most("c", f64::NAN, 1.0)]).is_err());
    }
}
