//! Bytes of a client that has proven nothing: those of a TLS handshake, into sessions that ask for certificates and that do not.

use std::sync::OnceLock;

use rcgen::{CertificateParams, KeyPair};
use tls::{ClientCertificates, Material, Pem, Pems, ServerIdentity, ServerOptions};

/// 2026-01-01, in microseconds since the Unix epoch.
const NOW: i64 = 1_767_225_600_000_000;
/// The most that a session says to a stranger: its own part of a handshake, or an alert.
const SAID_MAX: usize = 8 << 10;

/// A certificate that is its own authority, made once.
pub fn pems() -> &'static Pems {
    static PEMS: OnceLock<Pems> = OnceLock::new();
    PEMS.get_or_init(|| {
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        let key = KeyPair::generate().expect("the system has random bytes");
        let certificate = params.self_signed(&key).expect("its own key signs").pem();
        let pem = |name: &str, text: String| Pem { name: name.to_owned(), bytes: text.into_bytes() };
        let certificate = pem("certificate", certificate);
        Pems { trusted: Some(certificate.clone()), certificate, key: pem("key", key.serialize_pem()) }
    })
}

/// Feeds the bytes in pieces of the size that the first of them says.
pub fn run(data: &[u8]) {
    let Some((&step, bytes)) = data.split_first() else { return };
    let material = Material::parse(pems()).expect("the PEM is right");
    for client_certificates in [ClientCertificates::Ignored, ClientCertificates::Required] {
        let options = ServerOptions { client_certificates, ..ServerOptions::default() };
        let mut session = ServerIdentity::new(&material, options).accept(NOW);
        let (mut said, mut plain) = (Vec::new(), Vec::with_capacity(64));
        for piece in bytes.chunks(usize::from(step).max(1)) {
            let taken = session.receive(piece);
            session.send(&mut said);
            session.read(&mut plain);
            assert!(plain.is_empty(), "a stranger's bytes are no plain text");
            assert!(said.len() <= SAID_MAX, "{} bytes are said to a stranger", said.len());
            match taken {
                Ok(taken) => assert_eq!(taken, piece.len(), "nothing waits to be read"),
                Err(_) => {
                    assert!(session.receive(piece).is_err(), "a failed session takes nothing more");
                    break;
                }
            }
        }
        assert!(session.is_handshaking(), "no input knows the session's keys");
        assert!(session.peer_chain().is_none() && session.agreed().is_none());
        assert_eq!(session.write(b"reply").unwrap_or(0), 0, "nothing is said to a stranger");
    }
}
