//! Keyspaces, tables, columns and user-defined types; a schema change as a pure function; DESCRIBE's text. And which truncation of a table is the last.
//!
//! Nothing here reads a clock, a file or a socket. See `docs/internals/schema.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod change;
pub mod codec;
pub mod column;
pub mod compact;
pub mod describe;
pub mod domain;
pub mod error;
pub mod event;
pub mod ids;
mod java;
pub mod keyspace;
pub mod mask;
pub mod options;
pub mod plan;
mod properties;
pub mod snapshot;
pub mod system_keyspaces;
pub mod table;
pub mod truncations;
pub mod user_type;

pub use change::{DecodeError, SchemaChange};
pub use column::{Column, ColumnKind, Order};
pub use compact::HiddenColumn;
pub use error::SchemaError;
pub use event::{ChangeTarget, ChangeType, SchemaEvent};
pub use ids::{ColumnId, TableId};
pub use keyspace::{Keyspace, KeyspaceDef};
pub use mask::{ColumnMask, MaskArgument};
pub use options::{SpeculativeRetry, TableOptions, compaction_strategy};
pub use plan::{DdlContext, DdlPlan, is_ddl, plan_ddl, sets_mask};
pub use snapshot::Schema;
pub use table::{DroppedColumn, Table, compare_names};
pub use user_type::{UserType, UserTypes};
