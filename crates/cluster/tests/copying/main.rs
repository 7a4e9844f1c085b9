//! Copying between nodes, and repairs on top of it: nodes that differ have the same afterwards, whatever their counts of shards, links and deaths.

mod repairs;
mod world;
