//! Data after a restart, a kill, a power cut and on a failing disk.

mod crash;
mod durability;
mod power;
