//! Two nodes of a ring that was fixed by hand, RF 2: what is written at ALL is read at ALL and at ONE from either; what
//! differs between them is reconciled; and a logged batch is whole. And a ring of one node on folders from which files are missing.
#![allow(clippy::disallowed_methods)]

mod batches;
mod divergence;
mod harness;
mod levels;
mod lost_manifests;
mod lost_metadata;
