//! The node behind HTTP.
//!
//! One request after the other, over one connection where the node keeps it. An answer is bounded in length and in time; nothing
//! is asked of a proxy, and no redirection is followed: the operator said which node is meant.

use std::io::Write;
use std::net::{IpAddr, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use ureq::http;

use crate::RolesReader;
use crate::access::Access;
use crate::arguments::Arguments;
use crate::error::ToolError;
use crate::surroundings::{Method, Patience, Request, Surroundings};

/// A node with ten thousands of tables answers with less.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// A refusal's sentence is printed. What is longer is no sentence.
const SENTENCE_CHARS_MAX: usize = 2000;
/// Where Cassandra's nodetool looks.
const JMX_PORT: u16 = 7199;

/// A node's address, and the connection to it.
pub(crate) struct Client {
    agent: ureq::Agent,
    host: String,
    port: u16,
    scheme: &'static str,
    /// The value of the header with name and password.
    authorization: Option<String>,
    timeout: Duration,
    bytes_max: u64,
    /// Lines of a command are printed before it ends.
    shows: bool,
    /// The reader of roles.
    roles: RolesReader,
}

impl Client {
    /// Reads the files that the arguments name. No connection is made yet.
    pub(crate) fn new(arguments: &Arguments, roles: RolesReader) -> Result<Client, ToolError> {
        let Access { tls, authorization } = Access::of(arguments)?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("helenus-nodetool");
        let config = match tls {
            Some(tls) => config.tls_config(tls).build(),
            None => config.build(),
        };
        Ok(Client {
            scheme,
            authorization,
            agent: ureq::Agent::new_with_config(config),
            host: arguments.host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: arguments.port,
            timeout: Duration::from_secs(arguments.timeout),
            bytes_max: BODY_BYTES_MAX,
            shows: !arguments.json,
            roles,
        })
    }

    #[cfg(test)]
    pub(crate) fn with_bytes_max(mut self, bytes_max: u64) -> Client {
        self.bytes_max = bytes_max;
        self
    }

    fn send(&self, request: &Request) -> Result<(u16, String), ureq::Error> {
        // An address of version 6 stands in brackets in a URI.
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let uri = format!("{}://{host}:{}{}", self.scheme, self.port, request.target);
        let limit = match request.patience {
            Patience::Short => Some(self.timeout),
            Patience::Longer(more) => Some(self.timeout + more),
            Patience::Endless => None,
        };
        let mut built = http::Request::builder().method(request.method.word()).uri(uri);
        if let Some(authorization) = &self.authorization {
            built = built.header(http::header::AUTHORIZATION, authorization);
        }
        let mut response = match &request.body {
            Some(json) => {
                let built = built.header(http::header::CONTENT_TYPE, "application/json").body(json.as_str())?;
                self.run(built, limit)?
            }
            None => self.run(built.body(())?, limit)?,
        };
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(self.bytes_max).lossy_utf8(true).read_to_string()?;
        Ok((status, body))
    }

    fn run<B: ureq::AsSendBody>(
        &self,
        request: http::Request<B>,
        limit: Option<Duration>,
    ) -> Result<http::Response<ureq::Body>, ureq::Error> {
        let request = self.agent.configure_request(request);
        self.agent.run(request.timeout_connect(Some(self.timeout)).timeout_global(limit).build())
    }

    /// A hint at TLS where one side speaks it and the other does not. A node itself answers plain text on a port of TLS by a sentence; what stands
    /// before one, a proxy of TLS say, answers by an alert or closes. A plain port answers TLS by text.
    fn tls_hint(&self, reason: &str) -> &'static str {
        let is_closed = reason.contains("eof") || reason.contains("disconnected") || reason.contains("reset");
        match self.scheme {
            "https" if is_closed || reason.contains("InvalidContentType") => {
                "; the node's admin API may have no TLS (api_tls): try without --ssl, --cacert and --cert"
            }
            "http" if is_closed || reason.contains("http parse") => {
                "; if the node's admin API has TLS (api_tls), give --ssl and --cacert"
            }
            _ => "",
        }
    }

    fn failed(&self, request: &Request, error: ureq::Error) -> ToolError {
        let (host, port) = (self.host.clone(), self.port);
        let request_name = request.name();
        let hint = hint(port);
        let unreachable = |reason: String| ToolError::Unreachable { host: host.clone(), port, reason, hint };
        match error {
            ureq::Error::HostNotFound => unreachable("no such host".into()),
            ureq::Error::ConnectionFailed => unreachable("connection failed".into()),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => ToolError::usage(format!("`{host}` is not a host name")),
            ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
                unreachable(format!("timed out after {} s", self.timeout.as_secs()))
            }
            ureq::Error::Timeout(_) => {
                let seconds = match request.patience {
                    Patience::Longer(more) => self.timeout + more,
                    Patience::Short | Patience::Endless => self.timeout,
                };
                ToolError::TimedOut { host, port, request: request_name, seconds: seconds.as_secs() }
            }
            ureq::Error::BodyExceedsLimit(bytes_max) => ToolError::TooLong { request: request_name, bytes_max },
            ureq::Error::Io(source) if is_no_connection(source.kind()) => unreachable(source.to_string()),
            // A host that has no address is told as an error of input and output.
            ureq::Error::Io(source) if (host.as_str(), port).to_socket_addrs().is_err() => {
                unreachable(source.to_string())
            }
            other => {
                let reason = other.to_string();
                let hint = self.tls_hint(&reason);
                ToolError::Broken { host, port, request: request_name, reason, hint }
            }
        }
    }
}

/// What may be wrong with a port on which nobody listens.
fn hint(port: u16) -> &'static str {
    if port == JMX_PORT {
        "7199 is Cassandra's JMX port, and the admin API of Helenus listens on 10000"
    } else {
        "the node may be down, or its admin API be closed or elsewhere (its own --api-address, --api-port)"
    }
}

fn is_no_connection(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(kind, ConnectionRefused | HostUnreachable | NetworkUnreachable | AddrNotAvailable)
}

impl Surroundings for Client {
    fn ask(&mut self, request: &Request) -> Result<String, ToolError> {
        assert!(request.method != Method::Get || !matches!(request.patience, Patience::Endless));
        let (status, body) = self.send(request).map_err(|error| self.failed(request, error))?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        Err(ToolError::Refused { status, sentence: sentence(status, &body, request) })
    }

    fn roles_in(&mut self, folder: &Path) -> Result<String, ToolError> {
        (self.roles)(folder).map_err(|sentence| ToolError::Usage { sentence })
    }

    fn show(&mut self, line: &str) {
        if self.shows {
            let mut output = std::io::stdout().lock();
            // Who has closed it wants no more of it; the command goes on.
            let _ = writeln!(output, "{line}").and_then(|()| output.flush());
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a client on no shard: there is no Runtime to ask for the time")]
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn name_of(&self, address: IpAddr) -> Option<String> {
        dns_lookup::lookup_addr(&address).ok()
    }
}

/// An error's body.
#[derive(Deserialize)]
struct Message {
    message: String,
}

/// What the node says in an error, without what would steer a terminal.
fn sentence(status: u16, body: &str, request: &Request) -> String {
    let text = match serde_json::from_str::<Message>(body) {
        Ok(said) => said.message,
        Err(_) => body.trim().to_owned(),
    };
    if text.is_empty() {
        return format!("the node answered {} with status {status} and no message", request.name());
    }
    text.chars().take(SENTENCE_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn who_tries_cassandras_port_is_told_ours() {
        assert!(super::hint(7199).contains("10000"));
        assert!(super::hint(10000).contains("--api-port"));
    }
}
