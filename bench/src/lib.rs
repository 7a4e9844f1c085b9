//! Benchmarks: the bare echo server that the cost of a request is measured against.
