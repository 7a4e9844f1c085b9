//! Sessions of clients: with and without certificates, resumed, and what is kept of a client's chain.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::*;
use crate::server::Tickets;
use crate::{ClientCertificates, ServerIdentity, ServerOptions, Versions};

const REQUIRED: ServerOptions =
    ServerOptions { versions: Versions::Both, client_certificates: ClientCertificates::Required };
const OPTIONAL: ServerOptions =
    ServerOptions { versions: Versions::Both, client_certificates: ClientCertificates::Optional };

fn server_of(authority: &Authority, issued: &Issued, options: ServerOptions) -> ServerIdentity {
    let mut pems = pems(issued, &authority.pem);
    if options.client_certificates == ClientCertificates::Ignored {
        pems.trusted = None;
    }
    ServerIdentity::new(&Material::parse(&pems).expect("the PEM is right"), options)
}

/// A server of the authority, which trusts it where certificates of clients are asked for.
fn server(authority: &Authority, options: ServerOptions) -> ServerIdentity {
    server_of(authority, &authority.issue(&[ADDRESS], VALID), options)
}

/// A driver's settings: it trusts the authority, and has a certificate or none.
fn client(authority: &Authority, issued: Option<&Issued>) -> Arc<ClientConfig> {
    client_of(authority, issued, Versions::Both)
}

fn client_of(authority: &Authority, issued: Option<&Issued>, versions: Versions) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).expect("PEM")).expect("a certificate");
    let clock = Arc::new(crate::clock::Clock::default());
    clock.set(NOW);
    let builder = ClientConfig::builder_with_details(Arc::new(crate::provider::provider()), clock)
        .with_protocol_versions(versions.supported())
        .expect("the provider has suites of both versions")
        .with_root_certificates(roots);
    let mut config = match issued {
        None => builder.with_no_client_auth(),
        Some(issued) => {
            let chain = vec![CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM")];
            let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("PEM");
            builder.with_client_auth_cert(chain, key).expect("the key is the certificate's")
        }
    };
    config.resumption = Resumption::in_memory_sessions(8);
    Arc::new(config)
}

fn dial(config: &Arc<ClientConfig>) -> Session {
    Session::dial(Arc::clone(config), address(ADDRESS))
}

/// Both ends after a handshake, and how it went.
fn meet(client: &Arc<ClientConfig>, server: &ServerIdentity) -> (Session, Session, [Result<(), SessionError>; 2]) {
    let (mut dialler, mut listener) = (dial(client), server.accept(NOW));
    let outcome = shake(&mut dialler, &mut listener, 11);
    (dialler, listener, outcome)
}

fn chain(session: &Session) -> Option<Vec<Vec<u8>>> {
    session.peer_chain().map(|chain| chain.map(<[u8]>::to_vec).collect())
}

#[test]
fn a_client_without_a_certificate_talks_where_none_is_required() {
    let authority = Authority::new("one");
    for versions in [Versions::Both, Versions::Tls12, Versions::Tls13] {
        for client_certificates in [ClientCertificates::Ignored, ClientCertificates::Optional] {
            let server = server(&authority, ServerOptions { versions, client_certificates });
            let (mut client, mut served, outcome) = meet(&client(&authority, None), &server);
            assert_eq!(outcome, [Ok(()), Ok(())], "{versions:?}, {client_certificates:?}");
            assert_eq!(chain(&served), None);
            assert_eq!(client.write(b"question"), Ok(8));
            carry(&mut client, &mut served, 3).expect("it is what was sent");
            assert_eq!(read_all(&mut served), b"question");
            assert_eq!(served.write(b"answer"), Ok(6));
            carry(&mut served, &mut client, 3).expect("it is what was sent");
            assert_eq!(read_all(&mut client), b"answer");
            let (version, suite) = served.agreed().expect("the handshake is over");
            assert_eq!(version, if versions == Versions::Tls12 { "TLSv1.2" } else { "TLSv1.3" });
            assert!(suite.starts_with("TLS_"), "{suite}");
        }
    }
}

#[test]
fn a_client_with_a_certificate_is_proven_and_its_chain_is_kept_if_it_was_judged() {
    let authority = Authority::new("one");
    let issued = authority.issue(&[ADDRESS], VALID);
    let der = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).expect("PEM").to_vec();
    for versions in [Versions::Tls12, Versions::Tls13] {
        for options in [REQUIRED, OPTIONAL] {
            let server = server(&authority, ServerOptions { versions, ..options });
            let (mut client, mut served) = (dial(&client(&authority, Some(&issued))), server.accept(NOW));
            assert_eq!(chain(&served), None, "nothing is proven yet");
            assert_eq!(shake(&mut client, &mut served, usize::MAX), [Ok(()), Ok(())], "{versions:?}");
            assert_eq!(chain(&served), Some(vec![der.clone()]));
        }
        let server = server(&authority, ServerOptions { versions, ..ServerOptions::default() });
        let (_, served, outcome) = meet(&client(&authority, Some(&issued)), &server);
        assert_eq!((outcome, chain(&served)), ([Ok(()), Ok(())], None), "it is not asked for its certificate");
    }
}

#[test]
fn names_of_a_session_are_those_of_a_client_that_was_verified() {
    let (authority, other) = (Authority::new("one"), Authority::new("other"));
    let uri = "spiffe://example.com/app";
    let (member, stranger) = (authority.issue_as("app", &[], &[uri], VALID), other.issue_as("app", &[], &[uri], VALID));
    for versions in [Versions::Tls12, Versions::Tls13] {
        let optional = server(&authority, ServerOptions { versions, ..OPTIONAL });
        let (mut dialler, mut served) = (dial(&client(&authority, Some(&member))), optional.accept(NOW));
        assert!(served.peer_names().is_none(), "nothing is proven yet");
        assert_eq!(shake(&mut dialler, &mut served, usize::MAX), [Ok(()), Ok(())]);
        let names = served.peer_names().expect("it has a certificate").expect("it has names");
        assert_eq!((names.spiffe(), names.subject()), (Some(uri), "CN=app"));
        let (_, refused, outcome) = meet(&client(&authority, Some(&stranger)), &optional);
        assert!(outcome[1].is_err() && refused.peer_names().is_none(), "of another authority");
        let (_, nameless, _) = meet(&client(&authority, None), &optional);
        assert!(nameless.peer_names().is_none());
        let ignoring = server(&authority, ServerOptions { versions, ..ServerOptions::default() });
        let (_, unasked, _) = meet(&client(&authority, Some(&member)), &ignoring);
        assert!(unasked.peer_names().is_none(), "it is not asked for its certificate");
    }
}

#[test]
fn a_client_that_lacks_the_required_certificate_or_has_a_bad_one_is_refused_and_learns_why() {
    let (authority, other) = (Authority::new("one"), Authority::new("other"));
    let (stranger, late) = (other.issue(&[ADDRESS], VALID), authority.issue(&[ADDRESS], EXPIRED));
    for versions in [Versions::Tls12, Versions::Tls13] {
        let required = server(&authority, ServerOptions { versions, ..REQUIRED });
        let optional = server(&authority, ServerOptions { versions, ..OPTIONAL });
        let (client_end, served, outcome) = meet(&client(&authority, None), &required);
        assert_eq!(outcome[1], Err(SessionError::NoCertificate), "{versions:?}");
        assert!(matches!(outcome[0], Err(SessionError::Alert { .. })), "{versions:?}: {outcome:?}");
        assert_eq!(chain(&served), None);
        drop(client_end);
        for (issued, words) in [(&stranger, "not signed by a trusted certificate"), (&late, "it expired at 2001")] {
            for server in [&required, &optional] {
                let (_, served, outcome) = meet(&client(&authority, Some(issued)), server);
                let error = outcome[1].as_ref().expect_err("it is refused").to_string();
                assert!(error.contains(words), "{versions:?}: {error}");
                assert!(matches!(outcome[0], Err(SessionError::Alert { .. })), "{versions:?}: {outcome:?}");
                assert_eq!(chain(&served), None, "a refused chain is not given");
            }
        }
    }
}

/// True if the second of two sessions of one client is resumed, where the node's shards differ.
fn resumes(authority: &Authority, options: ServerOptions, client: &Arc<ClientConfig>) -> bool {
    let issued = authority.issue(&[ADDRESS], VALID);
    let mut pems = pems(&issued, &authority.pem);
    pems.trusted = pems.trusted.filter(|_| options.client_certificates != ClientCertificates::Ignored);
    let (material, tickets) = (Material::parse(&pems).expect("the PEM is right"), Tickets::new());
    let shards = [0, 1].map(|_| ServerIdentity::with_tickets(&material, options, tickets.clone()));
    let [first, second] = shards.each_ref().map(|shard| {
        let (mut client, served, outcome) = meet(client, shard);
        assert_eq!(outcome, [Ok(()), Ok(())]);
        // Tickets come with the first bytes that it reads.
        read_all(&mut client);
        served.is_resumed()
    });
    assert!(!first, "there is nothing to be resumed");
    second
}

#[test]
fn sessions_are_resumed_on_any_shard_where_no_certificate_was_judged_and_never_else() {
    let authority = Authority::new("one");
    let issued = authority.issue(&[ADDRESS], VALID);
    for versions in [Versions::Tls12, Versions::Tls13] {
        let options = ServerOptions { versions, ..ServerOptions::default() };
        assert!(resumes(&authority, options, &client_of(&authority, None, versions)), "{versions:?}");
        for options in [REQUIRED, OPTIONAL] {
            let client = client_of(&authority, Some(&issued), versions);
            assert!(!resumes(&authority, ServerOptions { versions, ..options }, &client), "{versions:?}");
        }
    }
}

#[test]
fn tickets_of_another_node_are_no_tickets_and_new_material_keeps_those_of_this_one() {
    let authority = Authority::new("one");
    let client = client(&authority, None);
    let (one, other) = (server(&authority, ServerOptions::default()), server(&authority, ServerOptions::default()));
    let is_resumed = |server: &ServerIdentity| {
        let (_, served, outcome) = meet(&client, server);
        assert_eq!(outcome, [Ok(()), Ok(())]);
        served.is_resumed()
    };
    assert_eq!((is_resumed(&one), is_resumed(&one), is_resumed(&other)), (false, true, false));
    assert!(is_resumed(&other));
    let issued = authority.issue(&[ADDRESS], VALID);
    other.replace(&Material::parse(&Pems { trusted: None, ..pems(&issued, "") }).expect("the PEM is right"));
    assert!(is_resumed(&other));
}

#[test]
fn bytes_that_are_no_hello_end_the_session_with_an_alert_and_keep_little() {
    let server = server(&Authority::new("one"), ServerOptions::default());
    for bytes in [&b"\x04\x00\x00\x00\x05\x00\x00\x00\x00"[..], &[0x16; 64], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut session = server.accept(NOW);
        assert!(session.receive(bytes).is_err(), "{bytes:?}");
        assert!(session.is_handshaking() && session.peer_chain().is_none() && session.agreed().is_none());
        let mut alert = Vec::new();
        session.send(&mut alert);
        assert!(alert.len() < 64, "{} bytes are said to a stranger", alert.len());
    }
    // Half of a hello: it is kept, and more is awaited.
    let mut session = server.accept(NOW);
    assert_eq!(session.receive(&[0x16, 3, 1, 2, 0, 1, 0]), Ok(7));
    assert!(session.is_handshaking() && !session.has_output());
}

#[test]
fn an_own_certificate_is_judged_for_its_time_alone() {
    let authority = Authority::new("one");
    let flaw = |issued: &Issued| {
        let pems = Pems { trusted: None, ..pems(issued, "") };
        Material::parse(&pems).expect("the PEM is right").time_flaw(NOW).map(|flaw| flaw.to_string())
    };
    assert_eq!(flaw(&authority.issue(&[ADDRESS], VALID)), None, "its issuer is of no interest");
    assert_eq!(flaw(&authority.issue(&[ADDRESS], EXPIRED)).as_deref(), Some("it expired at 2001-01-01T00:00:00Z"));
    let early = flaw(&authority.issue(&[ADDRESS], NOT_YET)).expect("it is early");
    assert_eq!(early, "it is not valid before 2089-01-01T00:00:00Z");
}
