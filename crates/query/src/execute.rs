//! Running plans: binding values, building mutations and read commands, writing replies.

pub(crate) mod bind;
mod bounds;
pub(crate) mod command_text;
pub(crate) mod conditional;
mod counts;
mod elements;
pub(crate) mod expressions;
pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod key;
pub(crate) mod lists;
pub(crate) mod modify;
pub(crate) mod parts;
mod row_source;
pub(crate) mod rows;
pub(crate) mod slices;
pub(crate) mod tombstones;
