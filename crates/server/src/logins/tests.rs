//! The start of connections with a certificate and without, where it counts and where it does not.

use auth::{AccessChange, Attributes};
use login::{RoleQueries, RoleQuery, RoleSource};
use rcgen::{CertificateParams, DnType, KeyPair, SanType};

use super::*;

const APP: &str = "spiffe://example.com/app";
const MUTUAL_TLS: &str = "org.apache.cassandra.auth.MutualTlsAuthenticator";

/// The bug that `HELENUS_PLANT` names, where bugs are compiled in.
fn planted() -> Planted {
    #[cfg(feature = "planted")]
    if let Ok(name) = std::env::var("HELENUS_PLANT") {
        return Planted::named(&name).expect("HELENUS_PLANT names a bug");
    }
    Planted::NONE
}

fn certificate(name: &str, uris: &[&str]) -> Option<Result<CertificateNames, NamesError>> {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.subject_alt_names =
        uris.iter().map(|uri| SanType::URI((*uri).try_into().expect("a URI is ASCII"))).collect();
    let key = KeyPair::generate().expect("the system has random bytes");
    Some(CertificateNames::parse(params.self_signed(&key).expect("its own key signs").der()))
}

fn access() -> Access {
    let role = |name: &str, may_log_in| {
        AccessChange::PutRole(name.to_owned(), Attributes { may_log_in, ..Attributes::default() })
    };
    let identity = AccessChange::PutIdentity { identity: APP.to_owned(), role: "app".to_owned() };
    Access::default().with_all(&[role("app", true), role("group", false), identity])
}

fn proofs(has_passwords: bool, certificates: Option<Certificates>) -> Proofs {
    Proofs { has_passwords, certificates, planted: planted() }
}

fn queries() -> Certificates {
    let query = RoleQuery::new(RoleSource::Subject, "CN=([^,]+)").expect("a query");
    Certificates::Queries(RoleQueries::new(vec![query]).expect("it is one"))
}

#[test]
fn a_certificate_logs_in_as_its_role_where_it_counts() {
    let logged_in = || Start::LoggedIn("app".to_owned());
    for has_passwords in [true, false] {
        let by_identity = proofs(has_passwords, Some(Certificates::Spiffe));
        assert_eq!(by_identity.start(certificate("x", &[APP]), &access()), logged_in());
        assert_eq!(proofs(has_passwords, Some(queries())).start(certificate("app", &[]), &access()), logged_in());
    }
    let by_password = proofs(true, None);
    assert_eq!(by_password.start(certificate("app", &[APP]), &access()), Start::Asked(PASSWORD_AUTHENTICATOR));
}

#[test]
fn with_a_certificate_that_is_of_no_role_no_password_is_asked_for() {
    let refused = |words: &str| Start::Refused(words.to_owned());
    for has_passwords in [true, false] {
        let proofs = proofs(has_passwords, Some(Certificates::Spiffe));
        let start = |uris: &[&str]| proofs.start(certificate("app", uris), &access());
        assert_eq!(start(&["spiffe://x"]), refused("Certificate identity 'spiffe://x' not authorized"));
        assert_eq!(start(&[]), refused("Unable to extract Spiffe from the certificate"));
        let malformed = Some(Err(NamesError::TooMany));
        assert_eq!(proofs.start(malformed, &access()), refused("certificate has more than 256 names"));
    }
    let by_query = proofs(false, Some(queries()));
    let start = |name| by_query.start(certificate(name, &[APP]), &access());
    assert_eq!(start("group"), refused("group is not permitted to log in"));
    assert_eq!(start("nobody"), refused("nobody is not permitted to log in"));
}

#[test]
fn without_a_certificate_a_client_is_asked_for_what_the_node_takes() {
    for (has_passwords, certificates, class) in [
        (true, None, PASSWORD_AUTHENTICATOR),
        (true, Some(Certificates::Spiffe), PASSWORD_AUTHENTICATOR),
        (false, Some(Certificates::Spiffe), MUTUAL_TLS),
        (false, Some(queries()), "com.scylladb.auth.CertificateAuthenticator"),
    ] {
        assert_eq!(proofs(has_passwords, certificates).start(None, &access()), Start::Asked(class));
    }
}
