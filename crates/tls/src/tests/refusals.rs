//! Ends that are refused, and the words that each has for it.

use super::*;
use crate::Versions;

/// How a dialler and a listener fare, as their errors' texts; the empty text for one that has none.
fn fare(dialler: &Identity, listener: &Identity) -> [String; 2] {
    let at = address(ADDRESS);
    let (mut dialler, mut listener) = (dialler.dial(NOW, at), listener.accept(NOW, at));
    let outcome = shake(&mut dialler, &mut listener, usize::MAX);
    outcome.map(|result| result.err().map_or_else(String::new, |error| error.to_string()))
}

const ALERT: &str = "the other end refused this end's TLS handshake: ";
const REFUSED: &str = "TLS certificate of the other end refused: ";

#[test]
fn a_certificate_of_another_authority_is_refused_by_either_end() {
    let (one, other) = (Authority::new("one"), Authority::new("other"));
    for versions in [Versions::Tls12, Versions::Tls13] {
        let options = Options { versions, ..Options::default() };
        // It trusts the cluster's authority, and is of another.
        let stranger = identity(&other.issue(&[ADDRESS], VALID), &one.pem, options);
        let member = member(&one, options);
        let refused = format!("{REFUSED}it is not signed by a trusted certificate");
        let told = format!("{ALERT}it does not trust the issuer of this end's certificate");
        assert_eq!(fare(&stranger, &member), [told.clone(), refused.clone()], "{versions:?}");
        assert_eq!(fare(&member, &stranger), [refused, told], "{versions:?}");
    }
}

#[test]
fn an_expired_certificate_and_one_that_is_not_valid_yet_are_refused() {
    let one = Authority::new("one");
    let member = member(&one, Options::default());
    let told = format!("{ALERT}it judges this end's certificate expired or not valid yet");
    for (valid, flaw) in
        [(EXPIRED, "it expired at 2001-01-01T00:00:00Z"), (NOT_YET, "it is not valid before 2089-01-01T00:00:00Z")]
    {
        let late = identity(&one.issue(&[ADDRESS], valid), &one.pem, Options::default());
        let [dialler, listener] = fare(&late, &member);
        assert_eq!(listener, format!("{REFUSED}{flaw}"));
        assert!(dialler.starts_with(ALERT), "{dialler}");
        assert_eq!(fare(&member, &late)[0], format!("{REFUSED}{flaw}"));
    }
    let late = identity(&one.issue(&[ADDRESS], EXPIRED), &one.pem, Options::default());
    assert_eq!(fare(&late, &member)[0], told);
}

#[test]
fn a_certificate_is_judged_by_the_clock_that_is_given() {
    let one = Authority::new("one");
    let identity = identity(&one.issue(&[ADDRESS], (2026, 2027)), &one.pem, Options::default());
    let year = 366 * 24 * 60 * 60 * 1_000_000;
    for (now, is_valid) in [(NOW - 1_000_000, false), (NOW, true), (NOW + year, false)] {
        let (mut dialler, mut listener) =
            (identity.dial(now, address(ADDRESS)), identity.accept(now, address(ADDRESS)));
        let outcome = shake(&mut dialler, &mut listener, usize::MAX);
        assert_eq!(outcome.iter().all(Result::is_ok), is_valid, "{now}: {outcome:?}");
    }
}

#[test]
fn a_dialler_without_a_certificate_is_refused() {
    use rustls::{ClientConfig, ClientConnection};
    let one = Authority::new("one");
    let mut listener = member(&one, Options::default()).accept(NOW, address(ADDRESS));
    let verifier = crate::verifier::DialledVerifier::new(
        Material::parse(&pems(&one.issue(&[ADDRESS], VALID), &one.pem)).expect("the PEM is right").trusted,
        false,
    );
    let config = ClientConfig::builder_with_provider(std::sync::Arc::new(crate::provider::provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites")
        .dangerous()
        .with_custom_certificate_verifier(std::sync::Arc::new(verifier))
        .with_no_client_auth();
    let mut dialler = ClientConnection::new(config.into(), address(ADDRESS).into()).expect("the address is a name");
    let mut outcome = Ok(0);
    for _ in 0..4 {
        let mut wire = Vec::new();
        while dialler.wants_write() {
            dialler.write_tls(&mut wire).expect("a vector takes all");
        }
        if outcome.is_ok() && !wire.is_empty() {
            outcome = listener.receive(&wire);
        }
        let mut back = Vec::new();
        listener.send(&mut back);
        let mut rest = back.as_slice();
        while !rest.is_empty() && dialler.read_tls(&mut rest).is_ok() {
            let _ = dialler.process_new_packets();
        }
    }
    assert_eq!(outcome, Err(SessionError::NoCertificate));
    assert!(listener.is_handshaking());
}

#[test]
fn an_address_is_judged_where_that_is_asked_for() {
    let one = Authority::new("one");
    let (at, elsewhere) = (one.issue(&[ADDRESS], VALID), one.issue(&["10.9.8.7"], VALID));
    let strict = Options { verifies_addresses: true, ..Options::default() };
    let (right, wrong) = (identity(&at, &one.pem, strict), identity(&elsewhere, &one.pem, strict));
    let refused = format!("{REFUSED}127.0.0.1 is not among its subject alternative names");
    assert_eq!(fare(&right, &right), ["", ""]);
    assert_eq!(fare(&right, &wrong)[0], refused);
    assert_eq!(fare(&wrong, &right), [format!("{ALERT}it does not accept this end's certificate"), refused]);
    let lax = |issued| identity(issued, &one.pem, Options::default());
    assert_eq!(fare(&lax(&elsewhere), &lax(&at)), ["", ""]);
}

#[test]
fn ends_without_a_version_in_common_say_so() {
    let one = Authority::new("one");
    let [old, new] = [Versions::Tls12, Versions::Tls13].map(|versions| {
        let options = Options { versions, ..Options::default() };
        member(&one, options)
    });
    let [dialler, listener] = fare(&old, &new);
    assert_eq!(dialler, format!("{ALERT}it speaks none of this end's TLS versions"));
    assert!(listener.starts_with("no TLS version or cipher suite in common: "), "{listener}");
}

#[test]
fn bytes_that_are_no_tls_are_refused_and_answered_with_an_alert() {
    let identity = member(&Authority::new("one"), Options::default());
    for bytes in [&b"helepeer and more that is no TLS"[..], b"GET / HTTP/1.1\r\n\r\n", &[0; 64], &[0xff; 64]] {
        let mut listener = identity.accept(NOW, address(ADDRESS));
        assert!(matches!(listener.receive(bytes), Err(SessionError::Damaged { .. })), "{bytes:?}");
        let mut alert = Vec::new();
        listener.send(&mut alert);
        assert_eq!(alert.first(), Some(&0x15), "the content type of alerts");
    }
}

#[test]
fn an_ipv4_address_in_ipv6_s_form_is_that_of_the_certificate() {
    let one = Authority::new("one");
    let strict = Options { verifies_addresses: true, ..Options::default() };
    let (right, wrong) = (member(&one, strict), identity(&one.issue(&["10.9.8.7"], VALID), &one.pem, strict));
    // As a listener for both families sees a dialler of IPv4.
    let mapped = address("::ffff:127.0.0.1");
    let meet = |dialler: &Identity, listener: &Identity| {
        let (mut dialler, mut listener) = (dialler.dial(NOW, mapped), listener.accept(NOW, mapped));
        shake(&mut dialler, &mut listener, usize::MAX)
    };
    assert_eq!(meet(&right, &right), [Ok(()), Ok(())]);
    let refused = meet(&right, &wrong)[0].clone().expect_err("it is of another address").to_string();
    assert_eq!(refused, format!("{REFUSED}127.0.0.1 is not among its subject alternative names"));
}
