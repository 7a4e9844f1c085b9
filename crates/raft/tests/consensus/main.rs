//! The core of consensus: histories that a person can read, a search of all that can happen in a small group, and planted bugs.

mod bugs;
mod histories;
mod hostile;
mod search;
mod world;
