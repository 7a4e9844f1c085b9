//! This node's own facts: identity, starts, and the positions up to which tables were truncated. They are never sent to another node.

mod fact;
mod position;
mod state;
mod truncation;

pub use fact::Fact;
pub use position::{Position, decode_positions, encode_positions};
pub use state::LocalState;
pub use truncation::{Mark, TableKey, Truncation};
