//! Operations, against the functions that the product uses: all orders of what replicas and coordinators do, each rule broken in turn, and the sequences
//! that break careless versions.

mod ends;
mod rules;
mod search;
mod sequences;
mod sets;
