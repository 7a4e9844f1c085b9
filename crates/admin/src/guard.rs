//! Who may ask: not a page of some other origin in an operator's browser.
//!
//! A browser lets any page send requests to this machine's ports. Two things give such a page away: the name it reached the
//! port by (a name that was pointed at 127.0.0.1 after the page was loaded stands in `Host`), and, for what changes
//! something, the `Origin` it was loaded from.

use std::net::IpAddr;

use axum::http::{HeaderMap, Method, Uri, header};

use crate::problem::Problem;

/// The port of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PortKind {
    /// Its address.
    pub(crate) ip: IpAddr,
    /// Its number.
    pub(crate) number: u16,
    /// It speaks TLS.
    pub(crate) is_tls: bool,
}

/// Refuses a request that a stranger's page may have sent.
pub(crate) fn check(port: PortKind, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    };
    let host = host.ok_or_else(|| Problem::bad_request("exactly one Host header is required"))?;
    // Under TLS a browser has found the name in the certificate, where no other page's name is.
    let allowed = |host: &str| port.is_tls || is_allowed(port.ip, host);
    if !allowed(host) || uri.authority().is_some_and(|authority| !allowed(authority.as_str())) {
        return Err(Problem::forbidden("unknown Host: use the node's address, or localhost on the same machine"));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let scheme = if port.is_tls { "https://" } else { "http://" };
        let is_own = origin.to_str().is_ok_and(|origin| origin.strip_prefix(scheme) == Some(host));
        if !is_own {
            return Err(Problem::forbidden("requests from pages of other origins are refused"));
        }
    }
    let is_cross_site = headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site");
    if is_cross_site && !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Problem::forbidden("changes from pages of other sites are refused"));
    }
    Ok(())
}

/// Whether a `Host` header names this machine, or the address that is listened on.
fn is_allowed(listening: IpAddr, host: &str) -> bool {
    let Some(name) = without_port(host) else { return false };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    match bare.parse::<IpAddr>() {
        // A literal address is no name that somebody could point here.
        Ok(address) => address.is_loopback() || address == listening || listening.is_unspecified(),
        Err(_) => false,
    }
}

/// `name` of `name:port`, `[::1]` of `[::1]:port`.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.starts_with('[') {
        true => host.find(']')? + 1,
        false => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    (port.is_empty() || port.strip_prefix(':').is_some_and(is_port)).then_some(name)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn of(listening: &str, method: Method, lines: &[(&'static str, &str)]) -> Result<(), u16> {
        on(PortKind { ip: listening.parse().unwrap(), number: 10000, is_tls: false }, method, lines)
    }

    fn on(port: PortKind, method: Method, lines: &[(&'static str, &str)]) -> Result<(), u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        let result = check(port, &method, &Uri::from_static("/health"), &headers);
        result.map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn names_of_this_machine_pass() {
        for host in ["localhost", "LocalHost:10000", "127.0.0.1:10000", "127.1.2.3", "[::1]:9", "[::1]"] {
            assert!(is_allowed(HERE, host), "{host}");
        }
        assert_eq!(of("192.168.1.5", Method::GET, &[("host", "192.168.1.5:10000")]), Ok(()));
        assert_eq!(of("0.0.0.0", Method::GET, &[("host", "10.1.1.1:10000")]), Ok(()));
        assert_eq!(of("::", Method::GET, &[("host", "[fe80::1]:10000")]), Ok(()));
    }

    #[test]
    fn a_rebound_name_is_refused() {
        for host in [
            "evil.example",
            "evil.example:10000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "",
            "[::1",
            "a:b",
            "127.0.0.1:100000",
        ] {
            assert_eq!(of("127.0.0.1", Method::GET, &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(of("127.0.0.1", Method::GET, &[("host", "10.0.0.1")]), Err(403), "another machine's address");
        assert_eq!(of("0.0.0.0", Method::GET, &[("host", "evil.example")]), Err(403));
        assert_eq!(of("127.0.0.1", Method::GET, &[]), Err(400));
        assert_eq!(of("127.0.0.1", Method::GET, &[("host", "localhost"), ("host", "evil.example")]), Err(400));
        let absolute = Uri::from_static("http://evil.example/health");
        let mut headers = HeaderMap::new();
        headers.append("host", HeaderValue::from_static("localhost"));
        assert!(check(PortKind { ip: HERE, number: 10000, is_tls: false }, &Method::GET, &absolute, &headers).is_err());
    }

    #[test]
    fn under_tls_the_certificate_has_proven_the_name_and_the_origin_is_of_https() {
        let port = PortKind { ip: HERE, number: 10000, is_tls: true };
        let post = |host, origin| on(port, Method::POST, &[("host", host), ("origin", origin)]);
        assert_eq!(post("db1.example.com:10000", "https://db1.example.com:10000"), Ok(()));
        assert_eq!(post("127.0.0.1:10000", "https://127.0.0.1:10000"), Ok(()));
        assert_eq!(post("127.0.0.1:10000", "http://127.0.0.1:10000"), Err(403));
        assert_eq!(post("127.0.0.1:10000", "https://evil.example"), Err(403));
    }

    #[test]
    fn a_page_elsewhere_cannot_post() {
        let host = ("host", "127.0.0.1:10000");
        let post = |line| of("127.0.0.1", Method::POST, &[host, line]);
        assert_eq!(post(("origin", "http://127.0.0.1:10000")), Ok(()));
        assert_eq!(post(("origin", "http://evil.example")), Err(403));
        assert_eq!(post(("origin", "http://127.0.0.1:8000")), Err(403));
        assert_eq!(post(("origin", "null")), Err(403));
        assert_eq!(post(("sec-fetch-site", "cross-site")), Err(403));
        assert_eq!(post(("sec-fetch-site", "same-origin")), Ok(()));
        assert_eq!(of("127.0.0.1", Method::GET, &[host, ("sec-fetch-site", "cross-site")]), Ok(()));
    }
}
