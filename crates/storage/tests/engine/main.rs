//! The engine on real files: what is written is there after a start, whatever was done to the files in between.

mod batches;
mod cache;
mod cleanup;
mod compaction_crashes;
mod compactions;
mod copying;
mod copying_crashes;
mod counters;
mod files;
mod flushes;
mod foreign;
mod harness;
mod import_checks;
mod lost_segments;
mod malformed;
mod model;
mod operators;
mod reads;
mod reshard;
mod restart;
mod room;
mod steps;
mod truncations;
