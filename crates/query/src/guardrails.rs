//! Guardrails: bounds that an operator sets on what statements may do, as Cassandra 5.0 has them. Of most there are two ends: beyond the
//! one the client is warned, beyond the other the statement is refused. See `docs/internals/guardrails.md`.
//!
//! Here are the settings and the words. Where each is looked at: `engine/guarded.rs`.

pub(crate) mod batch_size;
mod check;
mod settings;

pub(crate) use check::{GuardrailCheck, WatchLog, refused};
pub(crate) use settings::TombstoneLimits;
pub use settings::{ConsistencyLevels, Guardrails, Listed, Threshold, ThresholdUnit};
