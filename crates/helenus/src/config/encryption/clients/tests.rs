//! TLS with clients as files of Cassandra and ScyllaDB configure it, the ports that follow, and what is refused with which words.

use server::{Port, Security};
use tls::Versions;

use super::*;
use crate::config::Config;
use crate::config::encryption::testing::{Authority, Folder, VALID, config_of};

/// A mapping of options.
fn options(lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    format!("client_encryption_options:\n{lines}")
}

/// A folder with a keystore and a truststore, and the lines that name them.
fn stores(name: &str) -> (Folder, [String; 2]) {
    let (folder, authority) = (Folder::new(name), Authority::new("one"));
    let node = authority.issue(&["127.0.0.1"], VALID);
    let keystore = folder.file("keystore", &format!("{}{}", node.key, node.certificate));
    let truststore = folder.file("truststore", &authority.pem);
    (folder, [keystore, truststore])
}

fn config(before: &str, lines: &[&str]) -> Config {
    config_of(&format!("{before}{}", options(lines))).expect("it is right")
}

fn refused(lines: &[&str]) -> String {
    let refused = config_of(&options(lines)).map(|_| ()).expect_err("it is refused");
    refused.strip_prefix("c.yaml, line 1: client_encryption_options: ").unwrap_or(&refused).to_owned()
}

/// The four ports with how they speak.
fn ports(config: &Config) -> [Option<(u16, Security)>; 4] {
    let ports = config.listen;
    [Some(ports.native), ports.shard_aware, ports.native_tls, ports.shard_aware_tls]
        .map(|port| port.map(|Port { address, security }| (address.port(), security)))
}

use Security::{Either, Plain, Tls};

#[test]
fn with_enabled_alone_both_ports_speak_tls() {
    let (_folder, [keystore, _]) = stores("enabled");
    let config = config("", &["enabled: true", &keystore]);
    assert_eq!(ports(&config), [Some((9042, Tls)), Some((19042, Tls)), None, None]);
    let credentials = config.client_tls.expect("it is on");
    assert_eq!(credentials.options(), ServerOptions::default());
    assert!(credentials.sources().trusted.is_none());
}

#[test]
fn optional_serves_plain_clients_too_with_enabled_and_without() {
    let (_folder, [keystore, _]) = stores("optional");
    for enabled in ["enabled: true", "enabled: false"] {
        let config = config("native_transport_port: 9050\n", &[enabled, "optional: true", &keystore]);
        assert_eq!(ports(&config), [Some((9050, Either)), Some((19050, Either)), None, None]);
    }
}

#[test]
fn ports_for_tls_leave_the_others_plain() {
    let (_folder, [keystore, _]) = stores("ports");
    let lines = ["enabled: true", keystore.as_str()];
    let plain = [Some((9042, Plain)), Some((19042, Plain))];
    for (keys, [tls, shard_aware]) in [
        ("native_transport_port_ssl: 9142\n", [Some((9142, Tls)), Some((19142, Tls))]),
        ("native_transport_port_ssl: 9142\nnative_shard_aware_transport_port_ssl: 0\n", [Some((9142, Tls)), None]),
        ("native_transport_port_ssl: 1\nnative_shard_aware_transport_port_ssl: 2\n", [Some((1, Tls)), Some((2, Tls))]),
    ] {
        assert_eq!(ports(&config(keys, &lines)), [plain[0], plain[1], tls, shard_aware], "{keys}");
    }
    // The same port, as Cassandra has it; and no plain port where the shard-aware one alone is named.
    let same = config("native_transport_port_ssl: 9042\n", &lines);
    assert_eq!(ports(&same), [Some((9042, Tls)), Some((19042, Tls)), None, None]);
    let one = config("native_shard_aware_transport_port_ssl: 19142\n", &lines);
    assert_eq!(ports(&one), [Some((9042, Tls)), Some((19142, Tls)), None, None]);
    let optional = config("native_transport_port_ssl: 9142\n", &[&lines[..], &["optional: true"]].concat());
    assert_eq!(ports(&optional), [plain[0], plain[1], Some((9142, Either)), Some((19142, Either))]);
}

#[test]
fn a_port_for_tls_needs_certificates() {
    for key in ["native_transport_port_ssl: 9142", "native_shard_aware_transport_port_ssl: 19142"] {
        for options in ["", "\nclient_encryption_options:\n  enabled: false\n"] {
            let sentence = config_of(&format!("{key}{options}")).map(|_| ()).expect_err("nothing is encrypted");
            let name = key.split(':').next().expect("a key");
            assert_eq!(sentence, format!("{name}: needs client_encryption_options with enabled: true"));
        }
    }
    assert!(config_of("native_shard_aware_transport_port_ssl: 0\nnative_transport_port_ssl:\n").is_ok());
}

#[test]
fn certificates_of_clients_are_asked_for_as_the_option_says() {
    let (_folder, [keystore, truststore]) = stores("auth");
    for (value, certificates) in [
        ("true", ClientCertificates::Required),
        ("required", ClientCertificates::Required),
        ("optional", ClientCertificates::Optional),
        ("false", ClientCertificates::Ignored),
        ("not_required", ClientCertificates::Ignored),
    ] {
        let auth = format!("require_client_auth: {value}");
        let config = config("", &["enabled: true", &keystore, &truststore, &auth, "accepted_protocols: [TLSv1.2]"]);
        let credentials = config.client_tls.expect("it is on");
        let options = ServerOptions { versions: Versions::Tls12, client_certificates: certificates };
        assert_eq!(credentials.options(), options, "{value}");
        assert_eq!(credentials.sources().trusted.is_some(), certificates != ClientCertificates::Ignored);
    }
    let lacking = refused(&["enabled: true", &keystore, "require_client_auth: optional"]);
    assert!(lacking.starts_with("require_client_auth needs trusted certificates: set truststore"), "{lacking}");
}

#[test]
fn a_stock_file_that_is_off_means_nothing() {
    let stock = [
        "enabled: false",
        "keystore: conf/.keystore",
        "keystore_password: cassandra",
        "require_client_auth: false",
        "truststore: conf/.truststore",
        "store_type: JKS",
        "cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]",
    ];
    let config = config("", &stock);
    assert!(config.client_tls.is_none());
    assert_eq!(ports(&config), [Some((9042, Plain)), Some((19042, Plain)), None, None]);
}

#[test]
fn what_is_not_there_is_refused_in_one_sentence() {
    let (_folder, [keystore, _]) = stores("refused");
    let on = |line| refused(&["enabled: true", &keystore, line]);
    for (lines, words) in [
        (refused(&["enabled: true"]), "enabled: true needs a certificate: set keystore to a PEM file"),
        (refused(&["optional: true"]), "optional: true needs a certificate: set keystore to a PEM file"),
        (refused(&["enabled: yes please"]), "'yes please' is neither true nor false"),
        (on("require_client_auth: perhaps"), "require_client_auth: 'perhaps' is not true, false or optional"),
        (on("require_endpoint_verification: true"), "require_endpoint_verification is not supported: the certificate"),
        (on("cipher_suites: [TLS_RSA_WITH_AES_128_CBC_SHA]"), "cipher_suites is not supported"),
        (on("protocol: TLSv1.1"), "protocol TLSv1.1 is not supported, only TLSv1.2 and TLSv1.3"),
        (on("keystroke: conf/.keystore"), "keystroke is not a supported option"),
        (
            refused(&["enabled: true", "keystore: /nowhere/k"]),
            "client_encryption_options: cannot read /nowhere/k: No such file or directory",
        ),
    ] {
        assert!(lines.starts_with(words), "{lines}\n{words}");
    }
}

#[test]
fn keystores_of_java_are_refused_with_the_command_that_converts_them() {
    let folder = Folder::new("keystores");
    for (name, bytes, command) in [
        ("a.jks", &[0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2][..], "keytool -importkeystore"),
        ("a.p12", &[0x30, 0x03, 0x02, 0x01, 0x03], "openssl pkcs12 -in "),
    ] {
        let path = folder.0.join(name);
        std::fs::write(&path, bytes).expect("the file can be written");
        let sentence = refused(&["enabled: true", &format!("keystore: {}", path.display())]);
        assert!(sentence.starts_with("client_encryption_options: ") && sentence.contains(command), "{sentence}");
    }
}

#[test]
fn required_certificates_do_for_an_address_beyond_loopback_unless_a_port_is_plain() {
    let (_folder, [keystore, truststore]) = stores("open");
    let open = "rpc_address: 10.0.0.7\n";
    let of = |auth: &str, more: &str| {
        let auth = format!("require_client_auth: {auth}");
        options(&["enabled: true", &keystore, &truststore, &auth, more])
    };
    assert!(config_of(&format!("{open}{}", of("true", "protocol: TLS"))).is_ok());
    for (keys, options) in [
        ("", of("optional", "protocol: TLS")),
        ("", of("true", "optional: true")),
        ("native_transport_port_ssl: 9142\n", of("true", "protocol: TLS")),
    ] {
        let sentence = config_of(&format!("{open}{keys}{options}")).map(|_| ()).expect_err("it is open");
        assert!(
            sentence.starts_with("listen address 10.0.0.7 is not loopback and clients prove nothing"),
            "{sentence}"
        );
    }
}

#[test]
fn operators_are_unproven_where_a_certificate_is_all_that_clients_are_asked_for() {
    let (_folder, [keystore, truststore]) = stores("unproven");
    let of = |before: &str, more: &[&str]| {
        let all = [&["enabled: true", &keystore, &truststore], more].concat();
        config_of(&format!("{before}{}", options(&all))).expect("it is right").are_operators_unproven()
    };
    let required = "require_client_auth: true";
    assert!(of("", &[required]));
    assert!(!of("", &[]) && !of("", &["require_client_auth: optional"]) && !of("", &[required, "optional: true"]));
    assert!(!of("native_transport_port_ssl: 9142\n", &[required]), "there is a plain port");
    assert!(!of("authenticator: PasswordAuthenticator\n", &[required]));
    let api = |line: &str| format!("api_tls:\n  enabled: true\n  {keystore}\n  {truststore}\n  {line}\n");
    assert!(!of(&api(required), &[required]) && of(&api("require_client_auth: false"), &[required]));
}
