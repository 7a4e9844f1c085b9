//! Seeds of logins and of the state of access: certificates with queries of their names, and entries with each kind of change.

use std::collections::BTreeSet;

use auth::{AccessChange, Attributes, PasswordHash, Permission, Resource, codec};
use cql_types::CqlType;
use rcgen::{CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, SanType};

/// Certificates with names of each kind, and without, each after a query.
pub fn certificates() -> Vec<Vec<u8>> {
    let uri = |text: &str| SanType::URI(text.try_into().expect("a URI is ASCII"));
    let ascii = |text: &str| text.try_into().expect("it is ASCII");
    let names = vec![
        SanType::DnsName(ascii("app.example.com")),
        uri("spiffe://example.com/app"),
        SanType::Rfc822Name(ascii("app@example.com")),
        SanType::IpAddress([10, 0, 0, 1].into()),
        SanType::IpAddress([0; 16].into()),
    ];
    let subject = [
        (DnType::CountryName, DnValue::PrintableString("SE".try_into().expect("letters"))),
        (DnType::OrganizationName, DnValue::Utf8String("x,CN=admin+\"\\ ".to_owned())),
        (DnType::CommonName, DnValue::Utf8String("app".to_owned())),
        (DnType::CustomDnType(vec![1, 2, 3]), DnValue::BmpString("a".try_into().expect("of the plane"))),
    ];
    [
        ("CN=([^,]+)", names, subject.to_vec()),
        ("URI=spiffe://example.com/([^,]*)", vec![uri("spiffe://example.com/app")], vec![]),
        ("", vec![], subject[2..3].to_vec()),
    ]
    .into_iter()
    .map(|(query, names, subject)| {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.distinguished_name = DistinguishedName::new();
        subject.into_iter().for_each(|(kind, value)| params.distinguished_name.push(kind, value));
        let key = KeyPair::generate().expect("the system has random bytes");
        let certificate = params.self_signed(&key).expect("its own key signs");
        [&(query.len() as u16).to_be_bytes(), query.as_bytes(), certificate.der()].concat()
    })
    .collect()
}

/// Entries: each kind of change, in an order in which all have an effect; and alone.
pub fn entries() -> Vec<Vec<u8>> {
    let text = str::to_owned;
    let texts = |names: &[&str]| names.iter().copied().map(text).collect::<BTreeSet<_>>();
    let options = [(text("x"), String::new()), (text("y"), text("1"))].into();
    let attributes =
        Attributes { is_superuser: true, may_log_in: true, hash: Some(PasswordHash::dummy()), options };
    let grants = [
        Resource::AllKeyspaces,
        Resource::table("ks", "t"),
        Resource::Role(text("b")),
        Resource::function("ks", "f", &[CqlType::Int]),
    ]
    .map(|resource| (resource, Permission::Alter.into()));
    let mut grants = grants.to_vec();
    grants.sort_by(|(one, _), (other, _)| one.cmp(other));
    let changes = [
        AccessChange::PutRole(text("a"), attributes),
        AccessChange::PutRole(text("b"), Attributes::default()),
        AccessChange::AddMember { role: text("a"), member: text("b") },
        AccessChange::Grant(text("a"), grants.clone()),
        AccessChange::Revoke(text("a"), grants[..1].to_vec()),
        AccessChange::PutDatacenters(text("a"), texts(&["dc1", "dc2"])),
        AccessChange::PutCidrGroups(text("a"), texts(&["g"])),
        AccessChange::PutCidrGroup(text("g"), ["10.0.0.0/8", "::/0"].map(|range| range.parse().expect("a range")).into()),
        AccessChange::PutIdentity { identity: text("spiffe://example.com/app"), role: text("a") },
        AccessChange::BootstrapDone,
        AccessChange::RemoveMember { role: text("a"), member: text("b") },
        AccessChange::DropIdentity(text("spiffe://example.com/app")),
        AccessChange::DropRole(text("a")),
    ];
    let alone = changes.iter().map(|change| codec::encode(std::slice::from_ref(change)));
    [&changes[..10], &changes].map(codec::encode).into_iter().chain(alone).collect()
}
