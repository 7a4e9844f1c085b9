//! Data after a restart, a kill, a power cut and on a failing disk; and clusters of several nodes.

mod clusters;
mod crash;
mod durability;
mod power;
