//! TLS of a connection: the handshake, and a word for who does not speak it.

use std::io;

use tls::OutsideIdentity;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A plain request is answered, so that its user sees why it fails.
const PLAIN: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 71\r\n\r\n\
{\"message\": \"this port requires TLS: use https, or --ssl\", \"code\": 400}";

/// Shakes hands with the certificates of now.
pub(crate) async fn shake(mut stream: TcpStream, identity: &OutsideIdentity) -> io::Result<TlsStream<TcpStream>> {
    let mut first = [0];
    // A method of HTTP begins with a capital, a handshake of TLS with 0x16.
    if stream.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        stream.write_all(PLAIN.as_bytes()).await?;
        // The request is read, as far as one comes: closed with bytes unread, the connection would be reset and the answer be lost.
        stream.shutdown().await?;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        return Err(io::Error::other("the client does not use TLS"));
    }
    TlsAcceptor::from(identity.context()).accept(stream).await
}

#[cfg(test)]
mod tests {
    use super::PLAIN;

    #[test]
    fn the_answer_has_the_length_that_it_says() {
        let (head, body) = PLAIN.split_once("\r\n\r\n").expect("a head and a body");
        assert!(head.contains(&format!("Content-Length: {}", body.len())), "{}", body.len());
        serde_json::from_str::<serde_json::Value>(body).expect("JSON");
    }
}
