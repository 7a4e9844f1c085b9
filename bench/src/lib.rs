//! Benchmarks: the bare echo server that the cost of a request is measured against, and a load for it.

pub mod echo;
pub mod frame;
pub mod load;
