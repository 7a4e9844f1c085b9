//! A tool's end: which servers it trusts, and what it shows them.

use super::*;
use crate::{ClientCertificates, ClientIdentity, ServerIdentity, ServerOptions, Versions};

fn client(trusted: &Authority, own: Option<&Issued>) -> ClientIdentity {
    let own = own.map(|issued| (pem("client.crt", &issued.certificate), pem("client.key", &issued.key)));
    let own = own.as_ref().map(|(certificate, key)| (certificate, key));
    ClientIdentity::new(&pem("ca.crt", &trusted.pem), own).expect("the PEM is right")
}

fn server(authority: &Authority, issued: &Issued, client_certificates: ClientCertificates) -> ServerIdentity {
    let options = ServerOptions { versions: Versions::Both, client_certificates };
    ServerIdentity::new(&Material::parse(&pems(issued, &authority.pem)).expect("the PEM is right"), options)
}

fn agree(client: &ClientIdentity, server: &ServerIdentity) -> bool {
    let (mut dialler, mut listener) = (client.dial(address(ADDRESS)), server.accept(NOW));
    shake(&mut dialler, &mut listener, usize::MAX).iter().all(Result::is_ok)
}

#[test]
fn a_server_is_trusted_by_its_authority_address_and_time() {
    let (authority, other) = (Authority::new("one"), Authority::new("other"));
    let ignored = ClientCertificates::Ignored;
    let good = server(&authority, &authority.issue(&[ADDRESS], VALID), ignored);
    assert!(agree(&client(&authority, None), &good));
    assert!(!agree(&client(&other, None), &good), "of another authority");
    for (addresses, years) in [(["127.0.0.2"], VALID), ([ADDRESS], EXPIRED), ([ADDRESS], NOT_YET)] {
        let bad = server(&authority, &authority.issue(&addresses, years), ignored);
        assert!(!agree(&client(&authority, None), &bad), "{addresses:?} {years:?}");
    }
}

#[test]
fn a_client_shows_its_certificate_where_it_is_asked() {
    let authority = Authority::new("one");
    let own = authority.issue(&["127.0.0.9"], VALID);
    let asking = server(&authority, &authority.issue(&[ADDRESS], VALID), ClientCertificates::Required);
    assert!(agree(&client(&authority, Some(&own)), &asking));
    assert!(!agree(&client(&authority, None), &asking));
}

#[test]
fn a_pair_that_does_not_fit_is_refused_by_its_names() {
    let authority = Authority::new("one");
    let (one, other) = (authority.issue(&[ADDRESS], VALID), authority.issue(&[ADDRESS], VALID));
    let (certificate, key) = (pem("client.crt", &one.certificate), pem("client.key", &other.key));
    let refused = ClientIdentity::new(&pem("ca.crt", &authority.pem), Some((&certificate, &key)));
    let error = refused.expect_err("the key is another's").to_string();
    assert!(error.contains("client.crt") && error.contains("client.key"), "{error}");
}
