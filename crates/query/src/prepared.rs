//! Prepared statements: their ids, and the shard's bounded store of them.

mod cache;
mod id;

pub(crate) use cache::{Prepared, PreparedCache};
pub use id::StatementId;
pub(crate) use id::{statement_id, statement_id_in_steps};
