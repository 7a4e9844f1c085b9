//! Hints: what replicas missed of writes, kept on this shard's disk and sent to them when they are back. See `docs/internals/hints.md`.
//!
//! [`store`] knows files and bytes, [`keep`] decides what is kept, [`delivery`] what is sent and removed. A write that has several replicas
//! asks [`Hints`] to keep its parts; nothing here fails a write.

mod delivery;
mod ending;
mod figures;
mod flight;
mod keep;
mod options;
mod pace;
mod promise;
mod reader;
mod record;
mod store;
mod target;
mod writer;

pub(crate) use delivery::Delivery;
pub(crate) use ending::Ending;
pub use figures::{HintFigures, PendingHints};
pub use keep::Hints;
pub use options::HintOptions;
pub(crate) use promise::{OnDisk, Promise};
pub(crate) use record::Start;

#[cfg(test)]
mod tests;
