//! Coordinators of three nodes on simulated machines, without the engine above them: how the fence, hints, deadlines and counters hold between nodes.

mod batches;
mod counters;
mod deadlines;
mod fence;
mod levels;
mod overtaken;
mod timeouts;
mod world;
