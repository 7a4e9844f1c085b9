//! The client side: a driver's suite, hostile bytes, long requests.

#[path = "drivers/rust/mod.rs"]
mod drivers;
mod hostile;
mod long;
