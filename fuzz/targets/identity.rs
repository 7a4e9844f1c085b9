//! A client's certificate, from its DER to the role that it logs in as: by its SPIFFE identity, and by a query of its names.
//!
//! An input is the length of a query in two bytes, the query, and the certificate. The handshake verifies certificates before; an authority may sign what it is asked to.

use auth::{Access, AccessChange, Attributes, bounds};
use login::{Certificates, RoleQueries, RoleQuery, RoleSource};
use tls::{AlternativeName, CERTIFICATE_BYTES_MAX, CertificateNames, NAME_BYTES_MAX, NAMES_MAX};

/// Longer ones cost the time of their compiler, and are of the node's own configuration.
const QUERY_BYTES_MAX: usize = 64;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let length = usize::from(u16::from_be_bytes(*length)).min(rest.len()).min(QUERY_BYTES_MAX);
    let (query, der) = rest.split_at(length);
    let names = match CertificateNames::parse(der) {
        Ok(names) => names,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    check(&names, der);
    let access = access(&names);
    let by_identity = Certificates::Spiffe.log_in(&names, &access);
    assert_eq!(by_identity.is_ok(), names.spiffe().is_some_and(|identity| access.role_of_identity(identity).is_some()));
    assert!(Certificates::Spiffe.log_in(&names, &Access::default()).is_err(), "no identity is known");
    let Ok(query) = std::str::from_utf8(query) else { return };
    let sources = [RoleSource::Subject, RoleSource::AlternativeNames];
    let Ok(queries) = sources.into_iter().map(|source| RoleQuery::new(source, query)).collect::<Result<Vec<_>, _>>()
    else {
        return;
    };
    let rule = Certificates::Queries(RoleQueries::new(queries).expect("there are two"));
    match rule.log_in(&names, &access) {
        Ok(role) => assert!(access.may_log_in(&role)),
        Err(error) => assert!(error.0.len() < 2 * bounds::NAME_BYTES_MAX, "{} bytes for a client", error.0.len()),
    }
}

/// Asserts the rules of the names of any certificate.
fn check(names: &CertificateNames, der: &[u8]) {
    assert!(der.len() <= CERTIFICATE_BYTES_MAX && names.alternatives().len() <= NAMES_MAX);
    let (subject, alternatives) = (names.subject(), names.alternatives_text());
    assert!(!subject.contains(char::is_control) && !alternatives.contains(char::is_control));
    // No value passes for another attribute: each piece has one type and one value.
    let pieces = subject.split([',', '+']).filter(|_| !subject.is_empty());
    let is_one = |piece: &str| piece.matches('=').count() == 1 && !piece.starts_with('=');
    assert!(pieces.clone().count() <= NAMES_MAX && pieces.clone().all(is_one), "{subject}");
    let count = alternatives.split(',').filter(|piece| is_one(piece)).count();
    assert_eq!(count, names.alternatives().len(), "{alternatives}");
    for name in names.alternatives() {
        let text = match name {
            AlternativeName::Dns(text) | AlternativeName::Email(text) | AlternativeName::Uri(text) => text,
            AlternativeName::Ip(_) => continue,
        };
        assert!(text.len() <= NAME_BYTES_MAX);
    }
}

/// A state in which the certificate's identity is one, if it may be.
fn access(names: &CertificateNames) -> Access {
    let attributes = Attributes { may_log_in: true, ..Attributes::default() };
    let mut changes = vec![AccessChange::PutRole("app".to_owned(), attributes)];
    if let Some(identity) = names.spiffe() {
        changes.push(AccessChange::PutIdentity { identity: identity.to_owned(), role: "app".to_owned() });
    }
    Access::default().with_all(&changes)
}
