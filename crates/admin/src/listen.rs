//! The ports, bound before the shards run: a port that is taken is known at once.

use std::io;
use std::net::{SocketAddr, TcpListener};

use thiserror::Error;

/// Where to listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The address and port.
    pub address: SocketAddr,
    /// Whether somebody asked for it. A default that is taken is no reason not to start.
    pub is_given: bool,
}

/// Why the node does not start.
#[derive(Debug, Error)]
#[error("cannot listen on {address} for the {what}: {source}; choose another port with {flag}, 0 disables it")]
pub struct ListenError {
    address: SocketAddr,
    what: &'static str,
    flag: &'static str,
    source: io::Error,
}

/// The ports that were bound.
#[derive(Debug, Default)]
pub struct Bound {
    /// For REST.
    pub(crate) api: Option<(TcpListener, SocketAddr)>,
    /// For metrics.
    pub(crate) metrics: Option<(TcpListener, SocketAddr)>,
    /// Defaults that another process has.
    pub(crate) refused: Vec<Refused>,
}

/// A default port that another process has.
#[derive(Debug)]
pub struct Refused {
    address: SocketAddr,
    what: &'static str,
    flag: &'static str,
    error: io::Error,
}

impl Refused {
    /// Logs it, as a warning.
    pub fn log(&self) {
        let Refused { address, what, flag, error } = self;
        tracing::warn!(%address, %error, "{what} not started: port in use; choose another with {flag}");
    }
}

impl Bound {
    /// Where REST is answered.
    pub fn api(&self) -> Option<SocketAddr> {
        self.api.as_ref().map(|(_, address)| *address)
    }

    /// Takes out the default ports that another process has. A start that fails for another reason does not speak of them.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
    }

    /// Where metrics are answered.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|(_, address)| *address)
    }
}

/// Binds both ports, as far as they are wanted.
pub fn bind(api: Option<Endpoint>, metrics: Option<Endpoint>) -> Result<Bound, ListenError> {
    let mut refused = Vec::new();
    Ok(Bound {
        api: bind_one(api, "admin API", "--api-port", &mut refused)?,
        metrics: bind_one(metrics, "metrics", "--prometheus-port", &mut refused)?,
        refused,
    })
}

fn bind_one(
    endpoint: Option<Endpoint>,
    what: &'static str,
    flag: &'static str,
    refused: &mut Vec<Refused>,
) -> Result<Option<(TcpListener, SocketAddr)>, ListenError> {
    let Some(Endpoint { address, is_given }) = endpoint else { return Ok(None) };
    match listen(address) {
        Ok(bound) => Ok(Some(bound)),
        Err(source) if is_given => Err(ListenError { address, what, flag, source }),
        Err(error) => {
            refused.push(Refused { address, what, flag, error });
            Ok(None)
        }
    }
}

// This is a thread of its own, beside the shards, whose door is not for it.
#[allow(clippy::disallowed_methods)]
fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(port: u16, is_given: bool) -> Option<Endpoint> {
        Some(Endpoint { address: SocketAddr::from(([127, 0, 0, 1], port)), is_given })
    }

    #[test]
    fn a_taken_port_stops_who_asked_for_it_alone() {
        let first = bind(endpoint(0, true), None).expect("any port");
        let taken = first.api().expect("it is bound").port();
        let error = bind(endpoint(taken, true), None).expect_err("it is taken").to_string();
        assert!(error.contains(&taken.to_string()) && error.contains("--api-port"), "{error}");
        let error = bind(None, endpoint(taken, true)).expect_err("it is taken").to_string();
        assert!(error.contains("metrics") && error.contains("--prometheus-port"), "{error}");
        let mut second = bind(endpoint(taken, false), endpoint(0, false)).expect("a default gives way");
        assert_eq!((second.api(), second.take_refused().len()), (None, 1));
        assert!(second.metrics().is_some());
    }
}
