//! Files that a real Cassandra wrote are read, and written again to the same bytes.

#![allow(clippy::disallowed_methods, reason = "a test reads fixtures from the source tree")]

#[path = "../fixtures/mod.rs"]
mod fixtures;
#[path = "../items/mod.rs"]
mod items;
#[path = "../tables/mod.rs"]
mod tables;
#[path = "../writing/mod.rs"]
mod writing;

mod data;
mod files;
mod index;
