//! Handshakes, transfers, and what is refused.

pub(crate) mod authority;
mod client;
mod material;
mod refusals;
mod reload;
mod server;
mod transfers;

use std::net::IpAddr;

use authority::{Authority, Issued, VALID};

use crate::{Identity, Material, Options, Pem, Pems, Session, SessionError};

/// 2026-01-01, in microseconds since the Unix epoch.
const NOW: i64 = 1_767_225_600_000_000;
/// Years of certificates that are not valid now.
const EXPIRED: (i32, i32) = (2000, 2001);
const NOT_YET: (i32, i32) = (2089, 2090);
const ADDRESS: &str = "127.0.0.1";

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn pem(name: &str, text: &str) -> Pem {
    Pem { name: name.to_owned(), bytes: text.as_bytes().to_vec() }
}

pub(crate) fn pems(issued: &Issued, trusted: &str) -> Pems {
    Pems {
        certificate: pem("node.crt", &issued.certificate),
        key: pem("node.key", &issued.key),
        trusted: Some(pem("ca.crt", trusted)),
    }
}

fn identity(issued: &Issued, trusted: &str, options: Options) -> Identity {
    Identity::new(&Material::parse(&pems(issued, trusted)).expect("the PEM is right"), options)
}

/// An identity of its authority that trusts it.
fn member(authority: &Authority, options: Options) -> Identity {
    identity(&authority.issue(&[ADDRESS], VALID), &authority.pem, options)
}

/// Moves what one has to send to the other, `step` bytes at a time. Gives how many bytes went.
fn carry(from: &mut Session, to: &mut Session, step: usize) -> Result<usize, SessionError> {
    let mut bytes = Vec::new();
    from.send(&mut bytes);
    for piece in bytes.chunks(step) {
        assert_eq!(to.receive(piece)?, piece.len(), "no plain text waits");
    }
    Ok(bytes.len())
}

/// Shakes hands until neither has anything to send: how each end fared.
fn shake(dialler: &mut Session, listener: &mut Session, step: usize) -> [Result<(), SessionError>; 2] {
    let mut outcome = [Ok(()), Ok(())];
    // A handshake takes two rounds; a refusal one more.
    for _ in 0..8 {
        if let Err(error) = carry(dialler, listener, step) {
            outcome[1] = Err(error);
        }
        if let Err(error) = carry(listener, dialler, step) {
            outcome[0] = Err(error);
        }
    }
    outcome
}

/// Two ends that have shaken hands.
fn pair(identity: &Identity) -> (Session, Session) {
    let (mut dialler, mut listener) = (identity.dial(NOW, address(ADDRESS)), identity.accept(NOW, address(ADDRESS)));
    assert_eq!(shake(&mut dialler, &mut listener, usize::MAX), [Ok(()), Ok(())]);
    assert!(!dialler.is_handshaking() && !listener.is_handshaking());
    (dialler, listener)
}

fn read_all(session: &mut Session) -> Vec<u8> {
    let mut plain = Vec::with_capacity(1 << 20);
    session.read(&mut plain);
    plain
}
