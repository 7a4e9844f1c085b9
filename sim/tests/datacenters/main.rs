//! Consistency levels in several datacenters, and a replication strategy of the test's own: whole nodes on simulated machines, of which some are down or
//! reached by none.

mod levels;
mod ring;
mod strategy;
