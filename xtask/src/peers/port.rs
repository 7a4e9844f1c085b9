//! Free ports for foreign servers.

use std::net::TcpListener;

/// A port that is free, and the two after it.
pub fn free_port() -> Result<u16, String> {
    let bind = |port| TcpListener::bind(("127.0.0.1", port));
    for _ in 0..100 {
        let first = bind(0).map_err(|error| format!("no port can be had: {error}"))?;
        let port = first.local_addr().map_err(|error| format!("a port has no number: {error}"))?.port();
        if port < u16::MAX - 2 && bind(port + 1).is_ok() && bind(port + 2).is_ok() {
            return Ok(port);
        }
    }
    Err("no three free ports in a row were found".into())
}
