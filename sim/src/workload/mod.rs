//! What clients do, and what they are told.

mod conditional;
mod counts;
mod history;
mod node_events;
mod replicated;
mod replicated_history;
pub mod requests;
mod rows;
mod schema;
mod schema_history;

pub use conditional::{Conditionals, SharedConditionals, prepare_conditional, read_conditional, work_conditional};
pub use counts::{Add, Adder, Counts, Place, SELECT_COUNTS, prepare_counts, read_count, read_one};
pub use history::{Batched, History, Key, Restore, Shared, Truncate, Write, padding};
pub use node_events::{NodeEvents, SharedNodeEvents, listen_to_nodes};
pub use replicated::{SELECT_PARTITION, prepare_replicated, read_row, work_replicated};
pub use replicated_history::{Change, Effect, Extent, Replicated, Seen, SharedReplicated};
pub use rows::{RowsOptions, SELECT_ALL, prepare, work};
pub use schema::{SchemaOptions, look_at_schema, work_schema};
pub use schema_history::{
    KeyspaceNumber, KeyspaceState, SchemaAsked, SchemaHistory, SchemaStatement, SchemaTold, SchemaView, SharedSchema,
    TableNumber, TableState, Tag,
};
