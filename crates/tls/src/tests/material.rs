//! PEM that cannot be used, and the sentence for each.

use super::*;
use crate::MaterialError;

fn refused(pems: &Pems) -> String {
    Material::parse(pems).map(|_| ()).expect_err("it cannot be used").to_string()
}

fn right() -> (Authority, Pems) {
    let authority = Authority::new("one");
    let pems = pems(&authority.issue(&[ADDRESS], VALID), &authority.pem);
    (authority, pems)
}

#[test]
fn certificate_and_key_may_be_one_file_and_a_chain_may_have_several() {
    let (authority, pems) = right();
    // Text before and between sections is a comment, whatever it begins with.
    let all = [b"0 s:CN = node\n", &pems.key.bytes[..], &pems.certificate.bytes, authority.pem.as_bytes()].concat();
    let one = Pem { name: "node.pem".to_owned(), bytes: all };
    let material = Material::parse(&Pems { certificate: one.clone(), key: one, trusted: pems.trusted });
    assert_eq!(material.expect("the PEM is right").own.cert.len(), 2);
}

#[test]
fn keystores_of_other_formats_are_refused_by_name() {
    let (_, right) = right();
    let with = |bytes: &[u8]| {
        let name = "conf/.keystore".to_owned();
        refused(&Pems { certificate: Pem { name, bytes: bytes.to_vec() }, ..right.clone() })
    };
    let java = with(&[0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]);
    assert!(java.starts_with("conf/.keystore is a Java keystore, and only PEM is supported"), "{java}");
    for pkcs12 in [&[0x30, 0x82, 0x0a, 0x10, 0x02, 0x01, 0x03, 0x30][..], &[0x30, 0x40, 0x02, 0x01, 0x03]] {
        let text = with(pkcs12);
        assert!(text.starts_with("conf/.keystore is a PKCS #12 keystore, and only PEM is supported"), "{text}");
    }
    let der = with(&[0x30, 0x82, 0x01, 0x10, 0x30, 0x82]);
    assert!(der.starts_with("conf/.keystore is DER, and only PEM is supported"), "{der}");
    for other in [&b""[..], b"hello\n", &[0x30]] {
        let text = with(other);
        assert!(text.starts_with("conf/.keystore is"), "{text}");
    }
}

#[test]
fn what_is_missing_damaged_or_encrypted_is_named_with_its_file() {
    let (_, right) = right();
    let key = right.key.bytes.clone();
    let certificate = right.certificate.bytes.clone();
    assert_eq!(refused(&Pems { certificate: pem("c", text(&key)), ..right.clone() }), "c has no certificate");
    assert_eq!(refused(&Pems { key: pem("k", text(&certificate)), ..right.clone() }), "k has no private key");
    assert_eq!(refused(&Pems { trusted: Some(pem("t", text(&key))), ..right.clone() }), "t has no certificate");
    let cut = text(&certificate).lines().take(4).collect::<Vec<_>>().join("\n");
    assert_eq!(
        refused(&Pems { trusted: Some(pem("t", &cut)), ..right.clone() }),
        "t is damaged: a section has no END line"
    );
    let wrong = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    assert_eq!(
        refused(&Pems { trusted: Some(pem("t", wrong)), ..right.clone() }),
        "t is damaged: a section is not base64"
    );
    let empty = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let malformed = "cannot use a certificate in t: it is malformed";
    assert_eq!(refused(&Pems { trusted: Some(pem("t", empty)), ..right.clone() }), malformed);
    for encrypted in
        ["-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"]
    {
        let sentence = refused(&Pems { key: pem("k", encrypted), ..right.clone() });
        assert!(sentence.starts_with("the private key in k is encrypted, which is not supported"), "{sentence}");
        let both = format!("{encrypted}{}", text(&certificate));
        let sentence = refused(&Pems { certificate: pem("k", &both), ..right.clone() });
        assert!(sentence.starts_with("the private key in k is encrypted, which is not supported"), "{sentence}");
    }
    let garbage = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    let sentence = refused(&Pems { key: pem("k", garbage), ..right });
    assert!(sentence.starts_with("cannot use the private key in k"), "{sentence}");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let (authority, right) = right();
    let other = authority.issue(&[ADDRESS], VALID);
    let mixed = Pems { key: pem("k", &other.key), ..right };
    assert_eq!(
        Material::parse(&mixed).map(|_| ()),
        Err(MaterialError::KeyMismatch { key: "k".to_owned(), certificate: "node.crt".to_owned() })
    );
}

#[test]
fn a_key_is_never_shown() {
    let (_, right) = right();
    let shown = format!("{right:?}");
    assert_eq!(shown, "Pems { certificate: Pem(node.crt), key: Pem(node.key), trusted: Some(Pem(ca.crt)) }");
}

#[test]
fn a_node_sees_the_flaws_that_others_would() {
    let authority = Authority::new("one");
    let flaw = |valid, trusted: &str| {
        let pems = pems(&authority.issue(&[ADDRESS], valid), trusted);
        let flaw = Material::parse(&pems).expect("the PEM is right").own_flaw(NOW);
        flaw.map(|flaw| flaw.to_string())
    };
    assert_eq!(flaw(VALID, &authority.pem), None);
    assert_eq!(flaw(EXPIRED, &authority.pem).as_deref(), Some("it expired at 2001-01-01T00:00:00Z"));
    assert_eq!(flaw(NOT_YET, &authority.pem).as_deref(), Some("it is not valid before 2089-01-01T00:00:00Z"));
    let other = Authority::new("other");
    assert_eq!(flaw(VALID, &other.pem).as_deref(), Some("it is not signed by a trusted certificate"));
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("PEM is text")
}
