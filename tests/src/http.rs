//! HTTP as far as operators' requests need it: one request per connection, in raw bytes.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A flush or a compaction may take a while.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// What a server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpAnswer {
    /// Its status.
    pub status: u16,
    /// The lines of its head, in small letters.
    pub head: String,
    /// Its body.
    pub body: String,
}

/// Sends a request without a body to a port of this machine.
pub fn http(port: u16, method: &str, target: &str) -> io::Result<HttpAnswer> {
    http_with(port, method, target, &[])
}

/// [`http`] with these lines in its head; a `Host` among them takes the place of the usual one.
pub fn http_with(port: u16, method: &str, target: &str, lines: &[&str]) -> io::Result<HttpAnswer> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !lines.iter().any(|line| line.starts_with("Host:")) {
        head.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    for line in lines {
        head.push_str(line);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    http_raw(port, head.as_bytes())
}

/// Sends a request with a body in JSON.
pub fn http_json(port: u16, method: &str, target: &str, body: &str) -> io::Result<HttpAnswer> {
    let head = format!(
        "{method} {target} HTTP/1.1\r\nConnection: close\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    http_raw(port, format!("{head}{body}").as_bytes())
}

/// Sends these bytes and reads the answer.
pub fn http_raw(port: u16, bytes: &[u8]) -> io::Result<HttpAnswer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
    stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
    // A server that refuses a request may not read it to its end.
    let written = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(_) if !answer.is_empty() => {}
        Err(error) => return Err(written.err().unwrap_or(error)),
    }
    let answer = String::from_utf8_lossy(&answer);
    let malformed = || io::Error::other(format!("this is no HTTP: {answer:?}"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(malformed)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(malformed)?;
    Ok(HttpAnswer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}
