//! Names of certificates: how they are written, what cannot pass for another, and what is refused.

use rcgen::string::Ia5String;
use rcgen::{CertificateParams, CustomExtension, DnType, DnValue, KeyPair, SanType};

use super::*;

fn certificate(names: Vec<SanType>, subject: &[(DnType, &str)]) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.subject_alt_names = names;
    params.distinguished_name = rcgen::DistinguishedName::new();
    for (kind, value) in subject {
        params.distinguished_name.push(kind.clone(), DnValue::Utf8String((*value).to_owned()));
    }
    der(&params)
}

fn der(params: &CertificateParams) -> Vec<u8> {
    let key = KeyPair::generate().expect("the system has random bytes");
    params.self_signed(&key).expect("its own key signs").der().to_vec()
}

fn ia5(text: &str) -> Ia5String {
    Ia5String::try_from(text).expect("ASCII")
}

fn parse(der: &[u8]) -> CertificateNames {
    CertificateNames::parse(der).expect("it has names")
}

/// A certificate whose subject alternative names are these bytes.
fn with_extension(content: Vec<u8>) -> Vec<u8> {
    let mut params = CertificateParams::default();
    params.custom_extensions = vec![CustomExtension::from_oid_content(&[2, 5, 29, 17], content)];
    der(&params)
}

/// Bytes of DER with their tag and length.
fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("short").to_be_bytes();
    let mut bytes = match content.len() {
        0..128 => vec![tag, length[1]],
        128..256 => vec![tag, 0x81, length[1]],
        _ => vec![tag, 0x82, length[0], length[1]],
    };
    bytes.extend(content);
    bytes
}

#[test]
fn names_are_those_of_the_certificate_in_its_order() {
    let names = vec![
        SanType::DnsName(ia5("app.example.com")),
        SanType::URI(ia5("https://example.com/app")),
        SanType::URI(ia5("spiffe://example.com/app")),
        SanType::URI(ia5("spiffe://example.com/other")),
        SanType::Rfc822Name(ia5("app@example.com")),
        SanType::IpAddress([10, 0, 0, 1].into()),
    ];
    let subject = [(DnType::CountryName, "SE"), (DnType::OrganizationName, "Shop"), (DnType::CommonName, "app")];
    let names = parse(&certificate(names, &subject));
    assert_eq!(names.subject(), "C=SE,O=Shop,CN=app");
    assert_eq!(names.spiffe(), Some("spiffe://example.com/app"));
    let text = "DNS=app.example.com,URI=https://example.com/app,URI=spiffe://example.com/app,URI=spiffe://example.com/other,\
                EMAIL=app@example.com,IP=10.0.0.1";
    assert_eq!(names.alternatives_text(), text);
}

#[test]
fn a_certificate_may_have_no_names() {
    let names = parse(&certificate(vec![], &[]));
    assert_eq!((names.subject(), names.alternatives(), names.spiffe()), ("", &[][..], None));
    let names = parse(&certificate(vec![SanType::DnsName(ia5("spiffe://host"))], &[]));
    assert_eq!(names.spiffe(), None, "a host is no URI");
}

/// A value that an authority signed without a look at its letters.
#[test]
fn no_value_passes_for_another_attribute() {
    let subject = [(DnType::OrganizationName, "x,CN=admin"), (DnType::CommonName, " #a+b=\"c\"\\;<d>\n\u{e9} ")];
    let names = vec![SanType::URI(ia5("spiffe://host/x,DNS=admin")), SanType::DnsName(ia5("app"))];
    let names = parse(&certificate(names, &subject));
    assert_eq!(names.subject(), "O=x\\2CCN\\3Dadmin,CN=\\20#a\\2Bb\\3D\\22c\\22\\5C\\3B\\3Cd\\3E\\0A\u{e9}\\20");
    assert_eq!(names.alternatives_text(), "URI=spiffe://host/x\\2CDNS\\3Dadmin,DNS=app");
    // The identity itself is the URI as it is: it is looked up whole.
    assert_eq!(names.spiffe(), Some("spiffe://host/x,DNS=admin"));
}

#[test]
fn unknown_attributes_have_their_numbers_and_values_that_are_no_text_their_bytes() {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CustomDnType(vec![1, 2, 3]), DnValue::Utf8String("x".to_owned()));
    let bmp = rcgen::string::BmpString::try_from("a").expect("of the plane");
    params.distinguished_name.push(DnType::CommonName, DnValue::BmpString(bmp));
    assert_eq!(parse(&der(&params)).subject(), "1.2.3=x,CN=#1E020061");
}

#[test]
fn names_are_bounded_in_size_and_count() {
    let uris = |count, length| vec![SanType::URI(ia5(&"u".repeat(length))); count];
    let refused = |der: &[u8]| CertificateNames::parse(der).expect_err("it is refused");
    assert_eq!(parse(&certificate(uris(1, NAME_BYTES_MAX), &[])).alternatives().len(), 1);
    assert_eq!(refused(&certificate(uris(1, NAME_BYTES_MAX + 1), &[])), NamesError::NameTooLong);
    assert_eq!(parse(&certificate(uris(NAMES_MAX, 1), &[])).alternatives().len(), NAMES_MAX);
    assert_eq!(refused(&certificate(uris(NAMES_MAX + 1, 1), &[])), NamesError::TooMany);
    assert_eq!(refused(&vec![0x30; CERTIFICATE_BYTES_MAX + 1]), NamesError::TooLong);
    let long = "x".repeat(NAME_BYTES_MAX + 1);
    assert_eq!(refused(&certificate(vec![], &[(DnType::CommonName, &long)])), NamesError::NameTooLong);
}

#[test]
fn malformed_bytes_are_errors() {
    let whole = certificate(vec![SanType::URI(ia5("spiffe://example.com/app"))], &[(DnType::CommonName, "app")]);
    for length in 0..whole.len() {
        assert!(CertificateNames::parse(&whole[..length]).is_err(), "{length} bytes of it");
    }
    for extension in [
        vec![],
        vec![0xff; 40],
        // A length beyond the end, and one of more bytes than there are numbers for.
        vec![0x30, 0x7f, 0x86, 0x01, b'u'],
        vec![0x30, 0x89, 1, 1, 1, 1, 1, 1, 1, 1, 1],
        // A URI with a letter that is no ASCII.
        tagged(0x30, &tagged(0x86, b"spiffe://\xff")),
        // One that seems to end before its end, and one with a line's end.
        tagged(0x30, &tagged(0x86, b"spiffe://app\0.example.com")),
        tagged(0x30, &tagged(0x82, b"app\nadmin")),
        // An address of three bytes.
        tagged(0x30, &tagged(0x87, &[1, 2, 3])),
    ] {
        let refused = CertificateNames::parse(&with_extension(extension.clone()));
        assert!(matches!(refused, Err(NamesError::Malformed { .. })), "{extension:?}: {refused:?}");
    }
    // Two extensions with names: which of them counts would be the reader's choice.
    let mut params = CertificateParams::default();
    let names = |uri: &[u8]| CustomExtension::from_oid_content(&[2, 5, 29, 17], tagged(0x30, &tagged(0x86, uri)));
    params.custom_extensions = vec![names(b"spiffe://one"), names(b"spiffe://two")];
    assert!(CertificateNames::parse(&der(&params)).is_err());
}
