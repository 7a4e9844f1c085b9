//! Benchmarks: the bare echo server that the cost of a request is measured against, a load for it, the bare write that
//! the commit log's sync is measured against, and a load for MariaDB.

pub mod echo;
pub mod frame;
pub mod load;
#[cfg(feature = "mariadb")]
pub mod mariadb;
pub mod sync;
