//! Two nodes of a ring that was fixed by hand, RF 2: what is written at ALL is read at ALL and at ONE from either; what
//! differs between them is reconciled; and a logged batch is whole. A ring of one node on folders from which files are missing. And three nodes that found
//! their cluster by a seed, whose tables are truncated and written to conditionally.
#![allow(clippy::disallowed_methods)]

mod batches;
mod conditional;
mod divergence;
mod harness;
mod levels;
mod lost_manifests;
mod lost_metadata;
mod several_keys;
mod truncations;
