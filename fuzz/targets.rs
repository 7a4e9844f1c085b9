//! The targets by name, a file each: a function that runs one input and panics at what must not be.

mod access_entry;
mod client_hello;
mod cql_text;
mod decompression;
mod group_messages;
mod identity;
mod index_component;
mod internode;
mod log_records;
mod mutations;
mod requests;
mod responses;
mod sasl;
mod segments;
mod sstable_data;
mod sstable_files;
mod sstable_index;
mod sstable_statistics;

pub use client_hello::pems;
pub use index_component::identity as index_identity;

/// Runs one input.
pub type Target = fn(&[u8]);

/// Every target. `xtask/src/fuzz/targets.rs` lists the same names, with the files that each covers.
const TARGETS: [(&str, Target); 18] = [
    ("access_entry", access_entry::run),
    ("client_hello", client_hello::run),
    ("cql_text", cql_text::run),
    ("decompression", decompression::run),
    ("group_messages", group_messages::run),
    ("identity", identity::run),
    ("index_component", index_component::run),
    ("internode", internode::run),
    ("log_records", log_records::run),
    ("mutations", mutations::run),
    ("requests", requests::run),
    ("responses", responses::run),
    ("sasl", sasl::run),
    ("segments", segments::run),
    ("sstable_data", sstable_data::run),
    ("sstable_files", sstable_files::run),
    ("sstable_index", sstable_index::run),
    ("sstable_statistics", sstable_statistics::run),
];

/// The target of that name.
pub fn named(name: &str) -> Option<Target> {
    TARGETS.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
}

/// All names, for people.
pub fn names() -> String {
    TARGETS.map(|(name, _)| name).join(", ")
}
