//! Benchmarks: the bare echo server that the cost of a request is measured against, a load for it, and the bare write that
//! the commit log's sync is measured against.

pub mod echo;
pub mod frame;
pub mod load;
pub mod sync;
