//! Requests between two simulated machines: their terms, and diallers that keep to no measure.

mod bounds;
mod terms;
mod traces;
mod world;
