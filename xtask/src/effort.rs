//! How hard a run tries: what a change has time for, or a night.

/// How hard the tests try.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Short settings, for a change's 25 minutes. Nothing fails by the clock.
    Ci,
    /// Long settings, and judgement by the clock.
    Soak,
}
