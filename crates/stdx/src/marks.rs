//! Marks at rare paths: [`sometimes!`](crate::sometimes) says that some test must come by here. A rare path that no test
//! reaches is one that nobody knows to work.
//!
//! Without the feature `invariants`, as in every product build, a mark is nothing. With it, marks are counted per thread,
//! which is per simulated world.

/// Says that this place must be reached sometimes, by some test.
#[macro_export]
macro_rules! sometimes {
    ($name:literal) => {
        $crate::marks::reached($name)
    };
}

/// A mark was reached.
#[cfg(not(feature = "invariants"))]
#[inline(always)]
pub fn reached(_name: &'static str) {}

#[cfg(feature = "invariants")]
pub use counting::{count, reached, take};

#[cfg(feature = "invariants")]
mod counting {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    thread_local! {
        static COUNTS: RefCell<BTreeMap<&'static str, u64>> = const { RefCell::new(BTreeMap::new()) };
    }

    /// A mark was reached.
    pub fn reached(name: &'static str) {
        COUNTS.with_borrow_mut(|counts| *counts.entry(name).or_default() += 1);
    }

    /// How often this mark was reached on this thread since the last [`take`].
    pub fn count(name: &str) -> u64 {
        COUNTS.with_borrow(|counts| counts.get(name).copied().unwrap_or_default())
    }

    /// How often each mark was reached on this thread since the last call.
    pub fn take() -> BTreeMap<&'static str, u64> {
        COUNTS.take()
    }
}

#[cfg(all(test, feature = "invariants"))]
mod tests {
    #[test]
    fn marks_are_counted_by_name() {
        for _ in 0..3 {
            crate::sometimes!("a rare path");
        }
        assert_eq!((super::count("a rare path"), super::count("another one")), (3, 0));
        assert_eq!(super::take().into_iter().collect::<Vec<_>>(), [("a rare path", 3)]);
        assert!(super::take().is_empty());
    }
}
