//! The client side: a driver's suites, hostile bytes, long requests, TLS.

#[path = "drivers/rust/mod.rs"]
mod drivers;
mod hostile;
mod logins;
mod long;
#[path = "drivers/rust/ring.rs"]
mod ring;
mod tls;
#[path = "drivers/rust/troubles.rs"]
mod troubles;
