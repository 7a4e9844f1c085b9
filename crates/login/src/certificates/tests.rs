//! Roles of certificates: identities, queries, and certificates that are of no role.

use auth::{AccessChange, Attributes};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, SanType};

use super::*;

fn names(subject: &[(DnType, &str)], uris: &[&str]) -> CertificateNames {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    subject.iter().for_each(|(kind, value)| params.distinguished_name.push(kind.clone(), *value));
    params.subject_alt_names =
        uris.iter().map(|uri| SanType::URI((*uri).try_into().expect("a URI is ASCII"))).collect();
    let key = KeyPair::generate().expect("the system has random bytes");
    let certificate = params.self_signed(&key).expect("its own key signs");
    CertificateNames::parse(certificate.der()).expect("it has names")
}

fn access() -> Access {
    let role = |name: &str, may_log_in| {
        AccessChange::PutRole(name.to_owned(), Attributes { may_log_in, ..Attributes::default() })
    };
    let identity =
        |identity: &str, role: &str| AccessChange::PutIdentity { identity: identity.into(), role: role.into() };
    let changes = [
        role("app", true),
        role("group", false),
        identity("spiffe://example.com/app", "app"),
        identity("spiffe://example.com/group", "group"),
        identity("app", "app"),
    ];
    Access::default().with_all(&changes)
}

fn queries(list: &[(RoleSource, &str)]) -> Certificates {
    let list = list.iter().map(|(source, query)| RoleQuery::new(*source, query).expect("it is a query")).collect();
    Certificates::Queries(RoleQueries::new(list).expect("there are some"))
}

fn outcome(rule: &Certificates, names: &CertificateNames) -> Result<String, String> {
    rule.log_in(names, &access()).map_err(|error| error.to_string())
}

use RoleSource::{AlternativeNames, Subject};

#[test]
fn an_identity_logs_in_as_its_role_if_that_may_log_in() {
    let by = |uris: &[&str]| outcome(&Certificates::Spiffe, &names(&[(DnType::CommonName, "app")], uris));
    assert_eq!(by(&["spiffe://example.com/app"]), Ok("app".to_owned()));
    assert_eq!(by(&["https://app", "spiffe://example.com/app", "spiffe://example.com/group"]), Ok("app".to_owned()));
    assert_eq!(by(&["spiffe://example.com/group"]), Err("group is not permitted to log in".to_owned()));
    let unknown = "spiffe://example.com/App";
    assert_eq!(by(&[unknown]), Err(format!("Certificate identity '{unknown}' not authorized")));
    // Neither the subject nor a URI of another kind is an identity.
    assert_eq!(by(&[]), Err("Unable to extract Spiffe from the certificate".to_owned()));
    assert_eq!(by(&["app"]), Err("Unable to extract Spiffe from the certificate".to_owned()));
}

#[test]
fn the_first_query_that_matches_names_the_role() {
    let certificate = names(&[(DnType::OrganizationName, "app"), (DnType::CommonName, "group")], &["urn:app"]);
    let by = |list: &[(RoleSource, &str)]| outcome(&queries(list), &certificate);
    assert_eq!(by(&[(Subject, "O=([^,]+)"), (Subject, "CN=([^,]+)")]), Ok("app".to_owned()));
    assert_eq!(by(&[(Subject, "CN=([^,]+)")]), Err("group is not permitted to log in".to_owned()));
    assert_eq!(by(&[(AlternativeNames, "DNS=([^,]+)"), (AlternativeNames, "URI=urn:([^,]+)")]), Ok("app".to_owned()));
    // One that matches ends the search, whatever it has found.
    assert_eq!(
        by(&[(Subject, "CN=([^,]+)"), (Subject, "O=([^,]+)")]),
        Err("group is not permitted to log in".to_owned())
    );
    assert_eq!(by(&[(Subject, "O=(x*)")]), by(&[(AlternativeNames, "CN=([^,]+)")]), "an empty name is none");
    assert_eq!(
        by(&[(Subject, "O=ap(p|x)|(?:y)")]),
        Err("p is not permitted to log in".to_owned()),
        "it does not exist"
    );
    let long = "x".repeat(bounds::NAME_BYTES_MAX + 1);
    let refused = outcome(&queries(&[(Subject, "CN=(.*)")]), &names(&[(DnType::CommonName, &long)], &[]));
    assert_eq!(refused, by(&[(Subject, "no (match)")]));
}

/// An authority that signs what it is asked to: a value has the letters of another attribute.
#[test]
fn a_value_is_no_other_attribute() {
    let certificate = names(&[(DnType::OrganizationName, "x,CN=app"), (DnType::CommonName, "other")], &["x,DNS=app"]);
    let list = [(AlternativeNames, r"DNS=([^,\s]+)"), (Subject, r"CN=([^,\s]+)")];
    assert_eq!(outcome(&queries(&list), &certificate), Err("other is not permitted to log in".to_owned()));
}

#[test]
fn queries_have_one_group() {
    let refused = |query: &str| RoleQuery::new(Subject, query).expect_err("it is refused").to_string();
    assert!(refused("CN=(").starts_with("'CN=(' is no regular expression: "));
    assert_eq!(refused("CN=.*"), "'CN=.*' has 0 groups; one is needed, the role's name");
    assert_eq!(refused("(CN)=(.*)"), "'(CN)=(.*)' has 2 groups; one is needed, the role's name");
    assert_eq!(refused(&"x".repeat(QUERY_BYTES_MAX + 1)), "a query may have 1024 bytes at most");
    let query = RoleQuery::new(Subject, "(?:C|c)N=(.*)").expect("a group that captures nothing is none");
    assert_eq!(RoleQueries::new(vec![]), Err(QueryError::None));
    assert_eq!(RoleQueries::new(vec![query; QUERIES_MAX + 1]), Err(QueryError::TooMany));
}
