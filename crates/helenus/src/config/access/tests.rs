//! Keys and flags of access, in Cassandra's words and in ScyllaDB's.

use auth::networks::CidrMode;
use clap::Parser;
use login::{RoleQueries, RoleQuery, RoleSource};

use super::*;
use crate::config::encryption::testing::{Authority, Folder, VALID};
use crate::config::{Config, Machine, Settings, file};

const HASH: &str = "$2a$10$abcdefghijklmnopqrstuuMoDrhIhDgUqbdSNZcoNfCqWG2JqGG62";

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn resolve(text: &str, line: &str) -> Result<Config, ConfigError> {
    let (mut settings, mut pointless) = (Settings::default(), Vec::new());
    file::read("helenus.yaml", text, &mut settings, &mut pointless)?;
    assert!(pointless.iter().all(|key| key.ends_with("_validity") || key.contains("_cache_")), "{pointless:?}");
    let words = std::iter::once("helenus").chain(line.split_ascii_whitespace());
    settings.take(&Command::try_parse_from(words).expect("they are flags").arguments)?;
    settings.complete(&Machine { cpus: vec![0, 1], memory_bytes: 8 << 30 })
}

fn access(text: &str, line: &str) -> AccessConfig {
    resolve(text, line).expect("it is right").access
}

fn error(text: &str, line: &str) -> String {
    resolve(text, line).map(drop).expect_err("it is wrong").to_string()
}

#[test]
fn without_a_word_all_may_do_everything_and_the_socket_is_in_the_data_folder() {
    let config = access("", "--data-dir data");
    let socket = Some(PathBuf::from("data/maintenance/cql.m"));
    assert_eq!(config, AccessConfig { maintenance_socket: socket, ..AccessConfig::open() });
    let checks = config.checks();
    assert!(!checks.authenticates && !checks.has_passwords && !checks.authorizes);
    assert_eq!(config.logins, login::Settings { threads: 1, validity: Duration::from_secs(600) });
}

#[test]
fn classes_are_named_as_in_cassandra_and_on_the_command_line() {
    for (text, line) in [
        ("authenticator: PasswordAuthenticator", ""),
        ("authenticator: org.apache.cassandra.auth.PasswordAuthenticator", ""),
        ("authenticator:\n  class_name: PasswordAuthenticator\nrole_manager:\n  class_name: CassandraRoleManager", ""),
        ("authenticator: AllowAllAuthenticator", "--authenticator org.apache.cassandra.auth.PasswordAuthenticator"),
        ("", "--authenticator PasswordAuthenticator --role-manager CassandraRoleManager"),
    ] {
        let config = access(text, line);
        assert_eq!(config.authenticator, Authenticator::Password, "{text} {line}");
        assert_eq!(config.authorizer, Authorizer::Cassandra, "left out, it means permissions");
        assert!(config.checks().authenticates && config.checks().authorizes);
    }
    let all = "authenticator: PasswordAuthenticator\nauthorizer:\n  class_name: AllowAllAuthorizer";
    assert_eq!(access(all, "").authorizer, Authorizer::AllowAll);
    assert_eq!(access(all, "--authorizer CassandraAuthorizer").authorizer, Authorizer::Cassandra);
}

#[test]
fn logins_have_the_files_times_and_threads() {
    let text = "credentials_validity: 2000ms\nnative_transport_max_auth_threads: 4\npermissions_validity: 2s\n\
                roles_validity: 2s\ncredentials_cache_max_entries: 1000";
    let logins = access(text, "").logins;
    assert_eq!(logins, login::Settings { threads: 4, validity: Duration::from_secs(2) });
    for (text, line) in
        [("credentials_validity_in_ms: 0", ""), ("credentials_validity: 2s", "--credentials-validity-in-ms 0")]
    {
        assert_eq!(access(text, line).logins.validity, Duration::ZERO);
    }
    assert_eq!(access("native_transport_max_auth_threads: 0", "").logins.threads, 1);
    let many = error("native_transport_max_auth_threads: 129", "");
    assert_eq!(many, "native_transport_max_auth_threads may be 128 at most, got 129");
}

#[test]
fn the_first_superuser_has_the_name_and_the_hash_that_are_given() {
    let text = format!("auth_superuser_name: admin\nauth_superuser_salted_password: {HASH}");
    let config = access(&text, "");
    assert_eq!(config.superuser, "admin");
    assert_eq!(config.superuser_hash, Some(PasswordHash::parse(HASH).expect("a hash")));
    let config = access(&text, "--auth-superuser-name root");
    assert_eq!(config.superuser, "root");
    let shown = access("", &format!("--auth-superuser-salted-password {HASH}")).shown();
    assert!(!format!("{shown:?}").contains(HASH), "{shown:?}");
    let refused = error("auth_superuser_salted_password: geheim", "");
    assert!(refused.contains("no hash of a password") && !refused.contains("geheim"), "{refused}");
    assert!(error("", "--auth-superuser-salted-password geheim").starts_with("--auth-superuser-salted-password: "));
    assert!(error(&format!("auth_superuser_name: {}", "x".repeat(256)), "").contains("255 bytes"));
}

#[test]
fn the_socket_is_where_it_is_asked_for_or_nowhere() {
    assert_eq!(access("maintenance_socket: ignore", "").maintenance_socket, None);
    let given = access("maintenance_socket: ignore", "--maintenance-socket /run/helenus/cql.m");
    assert_eq!((given.maintenance_socket, given.is_socket_given), (Some(PathBuf::from("/run/helenus/cql.m")), true));
    let workdir = access("maintenance_socket: workdir", "--data-dir d");
    assert_eq!(
        (workdir.maintenance_socket, workdir.is_socket_given),
        (Some(PathBuf::from("d/maintenance/cql.m")), false)
    );
}

#[test]
fn what_is_less_safe_than_it_reads_is_refused() {
    let refused = error("authorizer: CassandraAuthorizer", "");
    assert_eq!(refused, "AllowAllAuthenticator can't be used with CassandraAuthorizer");
    let refused = error("", "--authenticator LdapAuthenticator");
    let words = "LdapAuthenticator is not supported yet, only AllowAllAuthenticator, PasswordAuthenticator, MutualTlsAuthenticator, MutualTlsWithPasswordFallbackAuthenticator and CertificateAuthenticator";
    assert_eq!(refused, format!("--authenticator: {words}"));
    let refused = error("", "--role-manager LdapRoleManager");
    assert_eq!(refused, "--role-manager: LdapRoleManager is not supported yet, only CassandraRoleManager");
    // With passwords, other hosts may be served; without, not.
    assert!(error("", "--listen 192.0.2.1").contains("PasswordAuthenticator"));
    resolve("", "--listen 192.0.2.1 --authenticator PasswordAuthenticator").expect("clients log in");
}

const VALIDATOR: &str = "org.apache.cassandra.auth.SpiffeCertificateValidator";

/// The options of clients' TLS that ask for certificates so far.
fn tls(folder: &Folder, asked: &str) -> String {
    let authority = Authority::new("one");
    let node = authority.issue(&["127.0.0.1"], VALID);
    let keystore = folder.file("keystore", &format!("{}{}", node.key, node.certificate));
    let truststore = folder.file("truststore", &authority.pem);
    format!(
        "client_encryption_options:\n  enabled: true\n  require_client_auth: {asked}\n  {keystore}\n  {truststore}\n"
    )
}

fn with_validator(class: &str) -> String {
    format!("authenticator:\n  class_name: {class}\n  parameters:\n    validator_class_name: {VALIDATOR}\n")
}

#[test]
fn certificates_log_in_by_cassandras_classes_or_by_scylladbs_queries() {
    let folder = Folder::new("certificates");
    let (required, optional) = (tls(&folder, "true"), tls(&folder, "optional"));
    for class in ["MutualTlsAuthenticator", "org.apache.cassandra.auth.MutualTlsAuthenticator"] {
        let config = access(&format!("{}{required}", with_validator(class)), "");
        assert_eq!((config.authenticator, config.authorizer), (Authenticator::MutualTls, Authorizer::Cassandra));
        assert_eq!(config.certificates, Some(Certificates::Spiffe));
        assert!(!config.authenticator.has_passwords() && config.checks().has_passwords, "operators have passwords");
    }
    let fallback = with_validator("MutualTlsWithPasswordFallbackAuthenticator");
    for asked in [&required, &optional] {
        let config = access(&format!("{fallback}{asked}"), "");
        assert_eq!(config.certificates, Some(Certificates::Spiffe));
        assert!(config.authenticator.has_passwords());
    }
    // The list that Cassandra's file has for parameters, a short name, and the class on the command line.
    let list = "authenticator:\n  class_name: AllowAllAuthenticator\n  parameters:\n    - validator_class_name: SpiffeCertificateValidator\n";
    let config = access(&format!("{list}{required}"), "--authenticator MutualTlsAuthenticator");
    assert_eq!(config.certificates, Some(Certificates::Spiffe));

    let query = |source, query| RoleQuery::new(source, query).expect("a query");
    let rule = |queries| Some(Certificates::Queries(RoleQueries::new(queries).expect("queries")));
    let scylla = "authenticator: com.scylladb.auth.CertificateAuthenticator\n";
    let config = access(&format!("{scylla}{required}"), "");
    assert_eq!(config.certificates, rule(vec![query(RoleSource::Subject, "CN=([^,]+)")]));
    let list = "auth_certificate_role_queries:\n  - source: altname\n    query: DNS=([^,\\s]+)\n  - source: SUBJECT\n    query: CN\\s*=\\s*([^,\\s]+)\n";
    let config = access(&format!("{scylla}{list}{required}"), "");
    let queries = vec![
        query(RoleSource::AlternativeNames, "DNS=([^,\\s]+)"),
        query(RoleSource::Subject, "CN\\s*=\\s*([^,\\s]+)"),
    ];
    assert_eq!(config.certificates, rule(queries));
    let shown = ("auth_certificate_role_queries", "ALTNAME: DNS=([^,\\s]+); SUBJECT: CN\\s*=\\s*([^,\\s]+)");
    assert!(config.shown().contains(&(shown.0.to_owned(), Some(shown.1.to_owned()))));
}

#[test]
fn certificates_that_no_client_could_log_in_by_are_refused() {
    let folder = Folder::new("no-certificates");
    let with = |asked: &str| tls(&folder, asked);
    let requires = |class: &str, values: &str| {
        format!(
            "{class} requires client_encryption_options.enabled to be true & client_encryption_options.require_client_auth to be {values}"
        )
    };
    for asked in [String::new(), with("false"), with("optional")] {
        let refused = error(&format!("{}{asked}", with_validator("MutualTlsAuthenticator")), "");
        assert_eq!(refused, requires("MutualTlsAuthenticator", "true"));
        let refused = error(&format!("authenticator: com.scylladb.auth.CertificateAuthenticator\n{asked}"), "");
        assert_eq!(refused, requires("CertificateAuthenticator", "true"));
    }
    let fallback = "MutualTlsWithPasswordFallbackAuthenticator";
    for asked in [String::new(), with("false")] {
        let refused = error(&format!("{}{asked}", with_validator(fallback)), "");
        assert_eq!(refused, requires(fallback, "optional/true"));
    }
    let refused = error(&format!("authenticator: MutualTlsAuthenticator\n{}", with("true")), "");
    assert_eq!(refused, "authenticator.parameters.validator_class_name is not set");
    let no_truststore = "client_encryption_options:\n  enabled: true\n  keystore: k.pem\n  require_client_auth: true\n";
    let refused = error(&format!("{}{no_truststore}", with_validator("MutualTlsAuthenticator")), "");
    assert!(refused.contains("require_client_auth needs trusted certificates: set truststore"), "{refused}");
    for (text, words) in [
        (
            "authenticator:\n  class_name: MutualTlsAuthenticator\n  parameters:\n    validator_class_name: com.example.Validator",
            "authenticator: Validator is not supported yet, only SpiffeCertificateValidator",
        ),
        (
            "authenticator:\n  class_name: MutualTlsAuthenticator\n  parameters:\n    validator: x",
            "authenticator: validator is not a supported parameter",
        ),
        ("auth_certificate_role_queries: x", "expected a list of source and query"),
        ("auth_certificate_role_queries: []", "at least one query is needed"),
        ("auth_certificate_role_queries:\n  - x", "expected a mapping of source and query"),
        ("auth_certificate_role_queries:\n  - source: SUBJECT", "a query needs source and query"),
        (
            "auth_certificate_role_queries:\n  - source: ISSUER\n    query: (x)",
            "source ISSUER is neither SUBJECT nor ALTNAME",
        ),
        (
            "auth_certificate_role_queries:\n  - source: SUBJECT\n    query: CN=.*",
            "'CN=.*' has 0 groups; one is needed",
        ),
        ("auth_certificate_role_queries:\n  - source: SUBJECT\n    query: CN=(", "'CN=(' is no regular expression"),
        ("auth_certificate_role_queries:\n  - role: x", "role is not a part of a query, only source and query"),
    ] {
        let refused = error(text, "");
        assert!(refused.contains(words), "{text}: {refused}");
    }
}

const PASSWORDS: &str = "authenticator: PasswordAuthenticator\n";

fn networks(text: &str) -> NetworkRules {
    access(&format!("{PASSWORDS}{text}"), "").networks
}

fn cidr(parameters: &str) -> String {
    format!("cidr_authorizer:\n  class_name: CassandraCIDRAuthorizer\n  parameters:\n    {parameters}")
}

#[test]
fn network_rules_are_those_of_the_classes() {
    let off = NetworkRules::default();
    let datacenters = NetworkRules { checks_datacenters: true, ..off };
    let addresses = |cidr_mode, cidr_checks_superusers| NetworkRules { cidr_mode, cidr_checks_superusers, ..off };
    assert!(off.are_off());
    for text in [
        "",
        "network_authorizer: AllowAllNetworkAuthorizer\ncidr_authorizer: AllowAllCIDRAuthorizer",
        "network_authorizer:\n  class_name: org.apache.cassandra.auth.AllowAllNetworkAuthorizer\n  parameters:",
        "cidr_authorizer:\n  class_name: AllowAllCIDRAuthorizer",
    ] {
        assert_eq!(networks(text), off, "{text}");
    }
    for text in [
        "network_authorizer: CassandraNetworkAuthorizer",
        "network_authorizer:\n  class_name: org.apache.cassandra.auth.CassandraNetworkAuthorizer",
    ] {
        assert_eq!(networks(text), datacenters, "{text}");
    }
    for (text, rules) in [
        ("cidr_authorizer: CassandraCIDRAuthorizer".to_owned(), addresses(CidrMode::Monitor, false)),
        (cidr("cidr_authorizer_mode: MONITOR"), addresses(CidrMode::Monitor, false)),
        (cidr("cidr_authorizer_mode: enforce"), addresses(CidrMode::Enforce, false)),
        (cidr("cidr_checks_for_superusers: true"), addresses(CidrMode::Monitor, true)),
        (
            cidr("cidr_authorizer_mode: ENFORCE\n    cidr_checks_for_superusers: true"),
            addresses(CidrMode::Enforce, true),
        ),
    ] {
        assert_eq!(networks(&text), rules, "{text}");
    }
}

#[test]
fn wrong_network_rules_are_refused() {
    for (text, words) in [
        (
            "network_authorizer: CassandraNetworkAuthorizer",
            "CassandraNetworkAuthorizer can't be used with AllowAllAuthenticator",
        ),
        (
            "cidr_authorizer: CassandraCIDRAuthorizer",
            "CassandraCIDRAuthorizer can't be used with AllowAllAuthenticator",
        ),
    ] {
        assert_eq!(error(text, ""), words);
    }
    for (text, words) in [
        (cidr("cidr_authorizer_mode: REFUSE"), "cidr_authorizer_mode REFUSE is neither MONITOR nor ENFORCE"),
        (cidr("cidr_checks_for_superusers: perhaps"), "'perhaps' is neither true nor false"),
        (cidr("cidr_mode: ENFORCE"), "cidr_mode is not a supported parameter"),
        (
            "cidr_authorizer:\n  class_name: CassandraCIDRAuthorizer\n  parameters: ENFORCE".to_owned(),
            "expected a mapping of parameters",
        ),
    ] {
        assert_eq!(
            error(&format!("{text}\n{PASSWORDS}"), ""),
            format!("helenus.yaml, line 1: cidr_authorizer: {words}")
        );
    }
    let text = "network_authorizer:\n  class_name: CassandraNetworkAuthorizer\n  parameters:\n    a: b";
    assert_eq!(error(text, ""), "helenus.yaml, line 1: network_authorizer: a is not a supported parameter");
}

#[test]
fn parameters_without_an_effect_are_told() {
    let pointless = |text: &str| {
        let (mut settings, mut pointless) = (Settings::default(), Vec::new());
        file::read("helenus.yaml", text, &mut settings, &mut pointless).expect("it is right");
        pointless
    };
    let all = "cidr_authorizer_mode: ENFORCE\n    cidr_checks_for_superusers: false\n    \
               cidr_groups_cache_refresh_interval: 5\n    ip_cache_max_size: 100";
    let of_caches = ["cidr_authorizer.cidr_groups_cache_refresh_interval", "cidr_authorizer.ip_cache_max_size"];
    assert_eq!(pointless(&cidr(all)), of_caches);
    let of_none = cidr(all).replace("CassandraCIDR", "AllowAllCIDR");
    let named = ["cidr_authorizer.cidr_authorizer_mode", "cidr_authorizer.cidr_checks_for_superusers"];
    assert_eq!(pointless(&of_none), [named, of_caches].concat());
}

#[test]
fn network_rules_are_shown_as_cassandra_writes_them() {
    let shown = |text: &str| {
        let shown = access(&format!("{PASSWORDS}{text}"), "").shown();
        let of = |key: &str| shown.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.clone());
        [of("network_authorizer"), of("cidr_authorizer")].map(|value| value.expect("it is shown"))
    };
    assert_eq!(shown(""), ["AllowAllNetworkAuthorizer", "AllowAllCIDRAuthorizer"]);
    let text = format!("network_authorizer: CassandraNetworkAuthorizer\n{}", cidr("cidr_authorizer_mode: ENFORCE"));
    let parameters = "{cidr_authorizer_mode=ENFORCE, cidr_checks_for_superusers=false}";
    assert_eq!(shown(&text), ["CassandraNetworkAuthorizer".to_owned(), format!("CassandraCIDRAuthorizer{parameters}")]);
}
