//! TLS between nodes as files of Cassandra and ScyllaDB configure it, and what is refused with which words.

use super::*;
use crate::config::encryption::testing::{Authority, Folder, VALID, config_of};
use tls::Versions;

/// A mapping of options, of which some are given.
fn options(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("server_encryption_options:\n{lines}")
}

fn credentials(lines: &[&str]) -> Result<Option<Credentials>, String> {
    config_of(&options(lines)).map(|config| config.internode_tls)
}

fn refused(lines: &[&str]) -> String {
    let refused = credentials(lines).map(|_| ()).expect_err("it is refused");
    let words = refused.strip_prefix("c.yaml, line 1: server_encryption_options: ");
    words.unwrap_or(&refused).to_owned()
}

#[test]
fn cassandra_s_keystore_and_truststore_are_pem_files() {
    let (folder, authority) = (Folder::new("cassandra"), Authority::new("one"));
    let node = authority.issue(&["127.0.0.1"], VALID);
    let keystore = folder.file("keystore", &format!("{}{}", node.key, node.certificate));
    let truststore = folder.file("truststore", &authority.pem);
    let all = ["internode_encryption: all", &keystore, &truststore];
    let found = credentials(&all).expect("it is right").expect("it is on");
    assert_eq!(found.options(), Options::default());
    let stock = [
        "ssl_context_factory:",
        "  class_name: org.apache.cassandra.security.PEMBasedSslContextFactory",
        "keystore_password: cassandra",
        "truststore_password: cassandra",
        "require_client_auth: true",
        "require_endpoint_verification: true",
        "optional: false",
        "enabled: true",
        "protocol: TLS",
        "accepted_protocols: [TLSv1.3]",
        "algorithm: SunX509",
        "store_type: PEM",
        "legacy_ssl_storage_port_enabled: false",
    ];
    let found = credentials(&[&all[..], &stock].concat()).expect("it is right").expect("it is on");
    assert_eq!(found.options(), Options { versions: Versions::Tls13, verifies_addresses: true });
}

#[test]
fn scylladb_s_certificate_and_keyfile_are_two_files() {
    let (folder, authority) = (Folder::new("scylladb"), Authority::new("one"));
    let node = authority.issue(&["127.0.0.1"], VALID);
    let certificate = folder.file("certificate", &node.certificate);
    let keyfile = folder.file("keyfile", &node.key);
    let truststore = folder.file("truststore", &authority.pem);
    let lines = ["internode_encryption: all", &certificate, &keyfile, &truststore, "require_client_auth: False"];
    assert!(credentials(&lines[..4]).expect("it is right").is_some());
    assert!(refused(&[lines[0], lines[1], lines[3]]).starts_with("internode_encryption: all needs a private key"));
    let other = authority.issue(&["127.0.0.1"], VALID);
    let keyfile = folder.file("keyfile", &other.key);
    let mismatch = refused(&[lines[0], lines[1], &keyfile, lines[3]]);
    assert!(mismatch.starts_with("server_encryption_options: the private key in "), "{mismatch}");
    assert!(mismatch.contains("does not belong to the certificate in "), "{mismatch}");
}

#[test]
fn a_factory_s_parameters_may_have_the_pem_itself() {
    let authority = Authority::new("one");
    let node = authority.issue(&["127.0.0.1"], VALID);
    let block = |text: &str| text.lines().map(|line| format!("        {line}\n")).collect::<String>();
    let text = format!(
        "server_encryption_options:\n  internode_encryption: all\n  keystore: /nowhere/keystore\n  ssl_context_factory:\n    \
         class_name: org.apache.cassandra.security.PEMBasedSslContextFactory\n    parameters:\n      private_key: |\n{}{}      \
         private_key_password: \"\"\n      trusted_certificates: |\n{}",
        block(&node.key),
        block(&node.certificate),
        block(&authority.pem)
    );
    let found = config_of(&text).expect("it is right").internode_tls.expect("it is on");
    let name = "parameter private_key";
    assert_eq!((found.sources().certificate.name(), found.sources().key.name()), (name.to_owned(), name.to_owned()));
    let wrong = text.replace("trusted_certificates", "trusted_certs");
    let sentence = config_of(&wrong).map(|_| ()).expect_err("it is misspelt");
    assert!(sentence.ends_with("trusted_certs is not a supported parameter of ssl_context_factory"), "{sentence}");
}

#[test]
fn with_none_the_other_options_mean_nothing() {
    let stock = [
        "internode_encryption: none",
        "legacy_ssl_storage_port_enabled: false",
        "keystore: conf/.keystore",
        "require_client_auth: false",
        "truststore: conf/.truststore",
        "require_endpoint_verification: false",
    ];
    assert!(credentials(&stock).expect("it is what Cassandra ships").is_none());
    assert!(credentials(&["keystore: conf/.keystore"]).expect("none is the default").is_none());
    assert!(refused(&["enabled: true"]).starts_with("enabled: true encrypts nothing between nodes"));
    assert!(refused(&["internode_encryption: none", "enabled: true"]).starts_with("enabled: true encrypts nothing"));
}

#[test]
fn what_is_not_there_is_refused_in_one_sentence() {
    let all = |line| refused(&["internode_encryption: all", line]);
    for (lines, words) in [
        (refused(&["internode_encryption: dc"]), "internode_encryption: dc is not supported: a plain connection"),
        (refused(&["internode_encryption: rack"]), "internode_encryption: rack is not supported: a plain connection"),
        (
            refused(&["internode_encryption: transitional"]),
            "internode_encryption: transitional is not supported; set all",
        ),
        (refused(&["legacy_ssl_storage_port_enabled: true"]), "legacy_ssl_storage_port_enabled: true is not supported"),
        (all("optional: true"), "optional is not supported: a node of a cluster with TLS accepts no plain connection"),
        (all("cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]"), "cipher_suites is not supported"),
        (all("priority_string: SECURE128"), "priority_string is not supported"),
        (all("outbound_keystore: conf/.keystore"), "outbound_keystore is not supported"),
        (all("certficate_revocation_list: crl.pem"), "certficate_revocation_list is not supported"),
        (all("store_type: JKS"), "store_type: JKS is not supported, only PEM"),
        (all("protocol: TLSv1.1"), "protocol TLSv1.1 is not supported, only TLSv1.2 and TLSv1.3"),
        (all("accepted_protocols: [TLSv1]"), "protocol TLSv1 is not supported, only TLSv1.2 and TLSv1.3"),
        (all("accepted_protocols: []"), "accepted_protocols: name TLSv1.2, TLSv1.3 or both"),
        (all("require_client_auth: perhaps"), "require_client_auth: 'perhaps' is neither true nor false"),
        (all("keystroke: conf/.keystore"), "keystroke is not a supported option"),
        (
            all("ssl_context_factory: {class_name: com.example.Own}"),
            "Own is not supported, only PEMBasedSslContextFactory",
        ),
        (all("protocol: TLS"), "internode_encryption: all needs a certificate: set keystore to a PEM file"),
        (all("keystore: /nowhere"), "internode_encryption: all needs trusted certificates: set truststore"),
        (
            refused(&["internode_encryption: all", "keystore: /nowhere/k", "truststore: /nowhere/t"]),
            "server_encryption_options: cannot read /nowhere/k: No such file or directory",
        ),
        (
            refused(&["internode_encryption: all", "keystore: /", "truststore: /nowhere/t"]),
            "server_encryption_options: cannot read /: it is not a regular file",
        ),
    ] {
        assert!(lines.starts_with(words), "{lines}\n{words}");
    }
}

#[test]
fn a_keystore_of_java_is_refused_by_name() {
    let folder = Folder::new("java");
    let path = folder.0.join("keystore.jks");
    std::fs::write(&path, [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]).expect("the file can be written");
    let keystore = format!("keystore: {}", path.display());
    let sentence = refused(&["internode_encryption: all", &keystore, "truststore: /nowhere/t"]);
    assert!(sentence.contains("/nowhere/t"), "all files are read before one is judged: {sentence}");
    let truststore = format!("truststore: {}", path.display());
    let sentence = refused(&["internode_encryption: all", &keystore, &truststore]);
    assert!(sentence.contains("keystore.jks is a Java keystore, and only PEM is supported"), "{sentence}");
}

#[test]
fn certificates_do_for_an_address_beyond_loopback() {
    let (folder, authority) = (Folder::new("open"), Authority::new("one"));
    let node = authority.issue(&["10.0.0.7"], VALID);
    let keystore = folder.file("keystore", &format!("{}{}", node.key, node.certificate));
    let truststore = folder.file("truststore", &authority.pem);
    let open = "listen_address: 10.0.0.7\nseeds: 10.0.0.7\n";
    let sentence = config_of(open).map(|_| ()).expect_err("it is open to the world");
    assert!(sentence.contains("there is neither internode_secret_file nor internode_encryption: all"), "{sentence}");
    let closed = format!("{open}{}", options(&["internode_encryption: all", &keystore, &truststore]));
    let config = config_of(&closed).expect("it is right");
    assert!(config.cluster.is_some() && config.internode_tls.is_some());
}
