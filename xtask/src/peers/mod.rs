//! Foreign programs that the tests and benchmarks hold Helenus against, fetched into the target folder.

pub mod cassandra;
pub mod cassandra_stress;
pub mod chromium;
pub mod go;
pub mod jars;
pub mod java;
pub mod latte;
pub mod legacy;
pub mod mariadb;
pub mod node;
pub mod port;
pub mod python;
