//! Coordinators of three nodes on simulated machines, without the engine above them: how the fence, hints, deadlines, counters and Paxos hold between nodes.

mod batches;
mod counters;
mod deadlines;
mod fence;
mod leaving;
mod levels;
mod moving;
mod operations;
mod overtaken;
mod sequences;
mod serial;
mod tenures;
mod timeouts;
mod world;
