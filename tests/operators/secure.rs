//! Operators under TLS: REST, metrics and nodetool with certificates, plain requests refused with a word, and certificates exchanged while the node runs.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::authority::{Authority, Issued, VALID};
use helenus_tests::{Builder, Server, http, nodetool};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

const IP: &str = "127.0.0.1";
const PATIENCE: Duration = Duration::from_secs(20);

/// Settings of an operator's sessions.
pub(super) struct Client(Arc<ClientConfig>);

impl Client {
    /// It trusts the authority, and has a certificate or none.
    pub(super) fn new(authority: &Authority, issued: Option<&Issued>) -> Client {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).expect("PEM")).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("the provider has suites of both versions").with_root_certificates(roots);
        Client(Arc::new(match issued {
            None => builder.with_no_client_auth(),
            Some(issued) => {
                let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM")];
                let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
                builder.with_client_auth_cert(chain, key).expect("the key is the certificate's")
            }
        }))
    }

    /// A session on a new socket, before its handshake.
    fn dial(&self, port: u16) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let socket = TcpStream::connect((IP, port))?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let name = ServerName::from(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST));
        let session = ClientConnection::new(Arc::clone(&self.0), name).map_err(io::Error::other)?;
        Ok(StreamOwned::new(session, socket))
    }
}

/// Puts a certificate with its key in the place of another at once.
fn write_pair(path: &Path, issued: &Issued) {
    let part = path.with_extension("part");
    std::fs::write(&part, format!("{}{}", issued.key, issued.certificate))
        .expect("the temporary folder can be written");
    std::fs::rename(part, path).expect("the temporary folder can be written");
}

pub(super) fn write(path: PathBuf, text: &str) -> String {
    std::fs::write(&path, text).expect("the temporary folder can be written");
    path.display().to_string()
}

fn start(builder: Builder, authority: &Authority, options: &str) -> Server {
    start_with(builder, authority, options, "")
}

/// A node with TLS for operators, with these options, and further lines of its configuration.
pub(super) fn start_with(builder: Builder, authority: &Authority, options: &str, more: &str) -> Server {
    let folder = builder.folder();
    write_pair(&folder.join("api.pem"), &authority.issue(&[IP], VALID));
    let truststore = write(folder.join("ca.crt"), &authority.pem);
    let keystore = folder.join("api.pem");
    let lines = format!(
        "api_tls:\n  enabled: true\n  keystore: {}\n  truststore: {truststore}\n{options}{more}",
        keystore.display()
    );
    builder.configured(&lines).for_operators().start()
}

/// The whole answer to a request; nothing, if there is no session.
pub(super) fn ask(client: &Client, port: u16, method: &str, path: &str, lines: &str, body: &str) -> Option<String> {
    let mut stream = client.dial(port).ok()?;
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {IP}:{port}\r\nConnection: close\r\n{lines}\r\n{body}");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    Some(String::from_utf8(answer).expect("an answer is text"))
}

fn get(client: &Client, port: u16, path: &str) -> String {
    ask(client, port, "GET", path, "", "").unwrap_or_else(|| panic!("GET {path} has no answer"))
}

#[test]
fn both_ports_speak_tls_alone_and_nodetool_by_its_options() {
    let (authority, other) = (Authority::new("cluster"), Authority::new("other"));
    let builder = Builder::new("uring", 2);
    let folder = builder.folder();
    let server = start(builder, &authority, "");
    let client = Client::new(&authority, None);
    assert!(get(&client, server.api_port, "/health").starts_with("HTTP/1.1 200"));
    let metrics = get(&client, server.metrics_port, "/metrics");
    let days = metrics.lines().find_map(|line| line.strip_prefix("helenus_tls_certificate_days{peers=\"operators\"} "));
    assert!(days.is_some_and(|days| days.parse::<u32>().is_ok_and(|days| days > 10_000)), "{days:?}");
    assert!(ask(&Client::new(&other, None), server.api_port, "GET", "/health", "", "").is_none(), "another authority");
    for port in [server.api_port, server.metrics_port] {
        let plain = http(port, "GET", "/health").expect("is answered");
        assert!(plain.status == 400 && plain.body.contains("requires TLS"), "{plain:?}");
    }
    // The origin of a page is that of https, whose name the certificate has.
    let post = |origin: &str| {
        let lines = format!("Origin: {origin}\r\nContent-Length: 0\r\n");
        ask(&client, server.api_port, "POST", "/storage_service/flush", &lines, "").expect("is answered")
    };
    assert!(post(&format!("https://{IP}:{}", server.api_port)).starts_with("HTTP/1.1 200"));
    assert!(post(&format!("http://{IP}:{}", server.api_port)).starts_with("HTTP/1.1 403"));
    assert!(post("https://evil.example").starts_with("HTTP/1.1 403"));
    let trusted = write(folder.join("trusted.crt"), &authority.pem);
    let printed = nodetool(&server, &format!("--ssl --cacert {trusted} version"));
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{}", printed.output);
    let printed = nodetool(&server, "version");
    assert!(printed.code == 1 && printed.errors.contains("requires TLS"), "{}", printed.errors);
    let strange = write(folder.join("strange.crt"), &other.pem);
    let printed = nodetool(&server, &format!("--cacert {strange} version"));
    assert!(printed.code == 2 && printed.errors.contains("certificate"), "{}", printed.errors);
    server.stop();
}

#[test]
fn certificates_of_operators_are_required_where_they_are_asked_for() {
    let authority = Authority::new("cluster");
    let builder = Builder::new("epoll", 1);
    let folder = builder.folder();
    let server = start(builder, &authority, "  require_client_auth: true\n");
    let own = authority.issue(&["127.0.0.9"], VALID);
    assert!(get(&Client::new(&authority, Some(&own)), server.api_port, "/health").starts_with("HTTP/1.1 200"));
    assert!(ask(&Client::new(&authority, None), server.api_port, "GET", "/health", "", "").is_none());
    let trusted = write(folder.join("trusted.crt"), &authority.pem);
    let pair = write(folder.join("operator.pem"), &format!("{}{}", own.key, own.certificate));
    let printed = nodetool(&server, &format!("--cacert {trusted} --cert {pair} status"));
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""), "{}", printed.output);
    assert_ne!(nodetool(&server, &format!("--cacert {trusted} status")).code, 0);
    let key = write(folder.join("other.key"), &authority.issue(&[IP], VALID).key);
    let printed = nodetool(&server, &format!("--cacert {trusted} --cert {pair} --key {key} status"));
    assert!(printed.code == 1 && printed.errors.contains("other.key"), "{}", printed.errors);
    server.stop();
}

#[test]
fn certificates_are_exchanged_and_a_bad_pair_leaves_the_old_one_in_use() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let builder = Builder::new("uring", 1);
    let folder = builder.folder();
    let mut server = start(builder, &old, "");
    let (of_old, of_new) = (Client::new(&old, None), Client::new(&new, None));
    assert!(get(&of_old, server.api_port, "/health").starts_with("HTTP/1.1 200"));
    std::fs::write(folder.join("api.pem"), "no PEM").expect("the temporary folder can be written");
    server.wait_for_line(&["ERROR", "cannot reload TLS certificates; keeping those in use", "operators", "is not PEM"]);
    let failures = "helenus_tls_reload_failures_total{peers=\"operators\"} 1\n";
    assert!(get(&of_old, server.metrics_port, "/metrics").contains(failures));
    write_pair(&folder.join("api.pem"), &new.issue(&[IP], VALID));
    let trusted = write(folder.join("trusted.crt"), &format!("{}{}", old.pem, new.pem));
    let printed = nodetool(&server, &format!("--cacert {trusted} reloadssl"));
    assert_eq!((printed.code, printed.errors.as_str()), (0, ""));
    server.wait_for_line(&["INFO", "TLS certificates reloaded", "operators"]);
    assert!(get(&of_new, server.api_port, "/health").starts_with("HTTP/1.1 200"));
    // A client of before may resume its session.
    assert!(ask(&Client::new(&old, None), server.api_port, "GET", "/health", "", "").is_none(), "of the old authority");
    let said = server.kill_without_judging();
    assert!(!said.iter().any(|line| line.contains("panicked")), "{said:?}");
}
