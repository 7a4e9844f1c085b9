//! Planted bugs: mistakes that somebody might make, each of which some suite must catch.
//!
//! A suite that finds nothing may be a good one on good code, or one that cannot fail. `cargo xtask planted` tells the two apart: it
//! builds with the feature `planted`, plants one bug after the other and runs the suite that must catch it.
//!
//! The code asks `planted.is(Bug::SyncLeftOut)` at the place of the mistake. [`Planted`] is a value that is passed, as the options are that
//! hold it, never a static: simulated nodes share a process. Without the feature it takes no memory, cannot hold a bug, and
//! [`Planted::is`] is `false` for the compiler, which leaves the mistake out of the product.
//!
//! See `docs/internals/planted-bugs.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod bug;

pub use bug::{BUGS, Bug, Description, Suite};

/// The bug that a process, a shard or a simulated node was started with, if any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Planted {
    #[cfg(feature = "planted")]
    bug: Option<Bug>,
}

impl Planted {
    /// None: what the product runs with.
    pub const NONE: Planted = Planted {
        #[cfg(feature = "planted")]
        bug: None,
    };

    /// The one with that name.
    #[cfg(feature = "planted")]
    pub fn named(name: &str) -> Result<Planted, String> {
        let found = BUGS.iter().find(|description| description.name == name);
        let bug = found.ok_or_else(|| format!("there is no planted bug {name}"))?.bug;
        Ok(Planted { bug: Some(bug) })
    }

    /// Whether this bug is planted.
    #[cfg(feature = "planted")]
    #[inline]
    pub fn is(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Whether this bug is planted: no.
    #[cfg(not(feature = "planted"))]
    #[inline(always)]
    pub const fn is(self, _: Bug) -> bool {
        false
    }
}

#[cfg(not(feature = "planted"))]
const _: () = assert!(size_of::<Planted>() == 0);
