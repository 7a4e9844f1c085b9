//! Configuration as a whole: start lines, files, and what is refused with which words.

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn big_machine() -> Machine {
    Machine { cpus: (0..176).collect(), memory_bytes: 256 << 30 }
}

fn resolve(line: &str) -> Result<(Config, Vec<String>), ConfigError> {
    let words = std::iter::once("helenus").chain(line.split_ascii_whitespace());
    Config::resolve(&Command::try_parse_from(words).unwrap().arguments, &big_machine())
}

fn with_file(text: &str) -> Result<(Config, Vec<String>), ConfigError> {
    let mut settings = Settings::default();
    let mut pointless = Vec::new();
    file::read("helenus.yaml", text, &mut settings, &mut pointless)?;
    Ok((settings.complete(&big_machine())?, pointless))
}

fn file_error(text: &str) -> String {
    with_file(text).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn without_arguments() {
    let (config, pointless) = resolve("").unwrap();
    assert_eq!(config.listen.native.address.to_string(), "127.0.0.1:9042");
    assert_eq!(config.listen.shard_aware.unwrap().address.to_string(), "127.0.0.1:19042");
    assert_eq!(config.data_dir, PathBuf::from("helenus-data"));
    assert_eq!((config.shards, config.memory_bytes), (176, 128 << 30));
    assert_eq!(config.commitlog_sync, CommitLogSync::Group);
    assert_eq!(pointless, Vec::<String>::new());
}

#[test]
fn the_secret_s_file_is_named_by_key_or_flag() {
    let refused = "cannot use internode_secret_file /nowhere/secret: No such file or directory (os error 2)";
    assert_eq!(file_error("internode_secret_file: /nowhere/secret"), refused);
    let error = resolve("--internode-secret-file /nowhere/secret").map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), refused);
    assert_eq!(resolve("").unwrap().0.internode_secret, None);
}

#[test]
fn files_are_imported_by_either_name_of_the_flag() {
    assert!(!resolve("").unwrap().0.import_sstables);
    for flag in ["--import-sstables", "--take-in-sstables"] {
        assert!(resolve(flag).unwrap().0.import_sstables, "{flag}");
    }
}

#[test]
fn published_start_lines() {
    let (config, pointless) = resolve(
        "--log-to-stdout 1 --memory 200G --default-log-level info --smp 172 --cpuset 4-175 --max-io-requests 480 \
         --num-io-queues 120 --developer-mode false --collectd 0 --prometheus-address 10.0.0.1 \
         --background-writer-scheduling-quota 0.5 --auto-adjust-flush-quota 1 --load-balance none --api-address 10.0.0.2 \
         --collectd-hostname host",
    )
    .unwrap();
    assert_eq!((config.shards, config.memory_bytes, config.log_to_stdout), (172, 200 << 30, true));
    assert_eq!((config.cpus.first(), config.cpus.last()), (Some(&4), Some(&175)));
    assert_eq!(pointless.len(), 8);
    assert_eq!(config.metrics.unwrap().address.to_string(), "10.0.0.1:9180");
    assert_eq!(config.api.unwrap().address.to_string(), "10.0.0.2:10000");

    let (config, _) =
        resolve("--smp 20 --cpuset 12-21,36-45 --memory 100G --max-io-requests 300 --num-io-queues 20").unwrap();
    assert_eq!(config.cpus, (12..=21).chain(36..=45).collect::<Vec<_>>());
    let (config, _) =
        resolve("--smp 80 --cpuset 80-159 --memory 100G --max-io-requests 300 --num-io-queues 75").unwrap();
    assert_eq!(config.cpus.len(), 80);
}

#[test]
fn more_than_there_is() {
    let refused = |line: &str| resolve(line).map(|_| ()).unwrap_err().to_string();
    let text = refused("--smp 177");
    assert!(text.contains("--smp 177") && text.contains("176 processors"), "{text}");
    let text = refused("--memory 300G");
    assert!(text.contains("300 GiB") && text.contains("256 GiB"), "{text}");
    let text = refused("--cpuset 170-180");
    assert!(text.contains("processor 176"), "{text}");
    assert_eq!(resolve("--smp 200 --overprovisioned").unwrap().0.cpus, Vec::<usize>::new());
    assert!(refused("--memory 1M").contains("too small"));
}

#[test]
fn open_to_the_world_only_when_told() {
    let text = resolve("--listen 0.0.0.0").map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("0.0.0.0") && text.contains("--insecure"), "{text}");
    assert!(resolve("--rpc-address 0.0.0.0 --insecure").is_ok());
    assert!(resolve("--listen ::1").is_ok());
    assert!(file_error("rpc_address: 192.168.1.1").contains("--insecure"));
}

#[test]
fn ports() {
    let ports = |line: &str| {
        let config = resolve(line).unwrap().0;
        (config.listen.native.address.port(), config.listen.shard_aware.map(|port| port.address.port()))
    };
    assert_eq!(ports("--port 9999"), (9999, Some(19999)));
    assert_eq!(ports("--port 0"), (0, Some(0)));
    assert_eq!(ports("--port 60000"), (60000, None));
    assert_eq!(ports("--port 60000 --shard-aware-port 1024"), (60000, Some(1024)));
}

#[test]
fn operators_ports() {
    let of = |line: &str| {
        let config = resolve(line).unwrap().0;
        let shown =
            |endpoint: Option<Endpoint>| endpoint.map(|endpoint| (endpoint.address.to_string(), endpoint.is_given));
        (shown(config.api), shown(config.metrics))
    };
    let at = |address: &str, is_given| Some((address.to_owned(), is_given));
    assert_eq!(of(""), (at("127.0.0.1:10000", false), at("127.0.0.1:9180", false)));
    assert_eq!(of("--api-port 0 --prometheus-port 0"), (None, None));
    assert_eq!(of("--api-port 10001"), (at("127.0.0.1:10001", true), at("127.0.0.1:9180", false)));
    assert_eq!(of("--prometheus-address ::1"), (at("127.0.0.1:10000", false), at("[::1]:9180", true)));
    let file = "api_address: 127.0.0.2\napi_port: 10002\nprometheus_address: localhost\nprometheus_port: 9181\n";
    let (config, pointless) = with_file(file).unwrap();
    assert_eq!(pointless, Vec::<String>::new());
    assert_eq!(config.api.unwrap().address.to_string(), "127.0.0.2:10002");
    assert_eq!(config.metrics.unwrap().address.to_string(), "127.0.0.1:9181");
}

#[test]
fn every_key_that_is_acted_on() {
    let (config, pointless) = with_file(
        "cluster_name: 'Ours'\nrpc_address: localhost\nbroadcast_rpc_address: 10.1.1.1\nnative_transport_port: 9142\n\
         native_shard_aware_transport_port: 9143\ndata_file_directories:\n    - /var/lib/helenus\n\
         commitlog_sync: periodic\ncommitlog_sync_period: 10000ms\ncommitlog_segment_size: 64MiB\n\
         native_transport_max_frame_size: 16MiB\nnative_transport_max_request_data_in_flight: 352MiB\n\
         native_transport_max_concurrent_connections: 77\nprepared_statements_cache_size: 8MiB\n\
         slow_query_log_timeout: 750ms\n\
         authenticator:\n  class_name: AllowAllAuthenticator\nauthorizer: AllowAllAuthorizer\n\
         partitioner: org.apache.cassandra.dht.Murmur3Partitioner\nclient_encryption_options:\n  enabled: false\n\
         server_encryption_options:\n  internode_encryption: none\n",
    )
    .unwrap();
    assert_eq!(pointless, Vec::<String>::new());
    assert_eq!(config.cluster_name, "Ours");
    assert_eq!(config.listen.native.address.to_string(), "127.0.0.1:9142");
    assert_eq!(config.listen.shard_aware.unwrap().address.port(), 9143);
    assert_eq!(config.broadcast.unwrap().to_string(), "10.1.1.1");
    assert_eq!(config.data_dir, PathBuf::from("/var/lib/helenus"));
    assert_eq!(config.commitlog_sync, CommitLogSync::Periodic);
    assert_eq!(config.commitlog_sync_period, Duration::from_secs(10));
    assert_eq!(config.commitlog_segment_bytes, 64 << 20);
    assert_eq!(config.prepared_bytes_max, Some(8 << 20));
    assert_eq!(config.limits.frame_bytes_max, 16 << 20);
    assert_eq!(config.limits.shard_bytes_in_flight_max, (352 << 20) / 176);
    assert_eq!(config.limits.connections_max, 77);
    assert_eq!(config.limits.slow_request_micros, 750_000);
}

#[test]
fn a_shards_memtables_are_no_larger_than_a_memtable_can_be() {
    let on_two_shards = |text: &str| {
        let mut settings = Settings::default();
        file::read("helenus.yaml", text, &mut settings, &mut Vec::new())?;
        settings.complete(&Machine { cpus: vec![0, 1], memory_bytes: 256 << 30 })
    };
    assert_eq!(on_two_shards("memtable_heap_space: 32GiB").unwrap().memtable_bytes, Some(32 << 30));
    let error = on_two_shards("memtable_heap_space: 33GiB").unwrap_err().to_string();
    assert!(error.contains("memtable_heap_space") && error.contains("32 GiB"), "{error}");
    assert!(on_two_shards("memtable_heap_space: 7MiB").is_err());
}

#[test]
fn the_row_cache_has_a_size_and_can_be_off() {
    let of_file = |text: &str| with_file(text).unwrap().0.row_cache_bytes;
    assert_eq!(of_file("cluster_name: a"), None);
    assert_eq!(of_file("row_cache_size: 2GiB"), Some(2 << 30));
    assert_eq!(of_file("row_cache_size_in_mb: 64"), Some(64 << 20));
    assert_eq!(of_file("row_cache_size: 0MiB"), None);
    assert_eq!(of_file("row_cache_size: 2GiB\nenable_cache: false"), Some(0));
    assert!(file_error("row_cache_size: 300GiB").contains("row_cache_size"));
    assert_eq!(resolve("--enable-cache 0").unwrap().0.row_cache_bytes, Some(0));
    assert_eq!(resolve("--enable-cache 1").unwrap().0.row_cache_bytes, None);
}

#[test]
fn hints() {
    let (config, pointless) = with_file(
        "data_file_directories: /var/lib/helenus\nhinted_handoff_enabled: false\n\
         hinted_handoff_disabled_datacenters:\n    - DC1\n    - DC2\nmax_hint_window: 2h\n\
         hinted_handoff_throttle: 2048KiB\nmax_hints_file_size: 128MiB\nmax_hints_size_per_host: 4GiB\n\
         hints_flush_period: 10000ms\n",
    )
    .unwrap();
    assert_eq!(pointless, Vec::<String>::new());
    let HintOptions { dir, is_enabled, disabled_datacenters, window, throttle, file_bytes_max, host_bytes_max, .. } =
        config.hints;
    assert_eq!(dir, Some(PathBuf::from("/var/lib/helenus/hints")));
    assert!(!is_enabled && disabled_datacenters.into_iter().eq(["DC1", "DC2"]));
    assert_eq!((window, throttle), (Duration::from_secs(7200), 2 << 20));
    assert_eq!((file_bytes_max, host_bytes_max), (128 << 20, Some(4 << 30)));
    let (config, _) = with_file(
        "hints_directory: /hints\nmax_hint_window_in_ms: 1\nmax_hints_size_per_host: 0B\nmin_free_space_per_drive: 1GiB\n",
    )
    .unwrap();
    assert_eq!((config.hints.dir, config.hints.window), (Some("/hints".into()), Duration::from_millis(1)));
    assert_eq!((config.hints.host_bytes_max, config.hints.disk_reserve), (None, 1 << 30));
    assert!(file_error("max_hints_file_size: 1KiB").contains("between 1 MiB and 1 GiB"));
    assert!(file_error("hinted_handoff_disabled_datacenters: DC1").contains("expected a list of datacenters"));
}

#[test]
fn old_names_with_their_units() {
    let (config, pointless) = with_file(
        "commitlog_sync: periodic\ncommitlog_sync_period_in_ms: 2500\ncommitlog_segment_size_in_mb: 16\n\
         native_transport_max_frame_size_in_mb: 32\nprepared_statements_cache_size_mb: 4\n\
         repair_request_timeout_in_ms: 5000\nslow_query_log_timeout_in_ms: 0\n",
    )
    .unwrap();
    assert_eq!(config.commitlog_sync_period, Duration::from_millis(2500));
    assert_eq!(config.commitlog_segment_bytes, 16 << 20);
    assert_eq!(config.limits.frame_bytes_max, 32 << 20);
    assert_eq!(config.prepared_bytes_max, Some(4 << 20));
    assert_eq!(config.limits.slow_request_micros, u64::MAX, "0 is for none");
    assert_eq!(pointless, ["repair_request_timeout"]);
}

#[test]
fn timeouts_by_kind() {
    let (config, pointless) = with_file("cluster_name: a\n").unwrap();
    assert_eq!((config.timeouts, pointless), (TimeoutOptions::default(), Vec::new()));
    let (config, pointless) = with_file(
        "read_request_timeout: 3s\nrange_request_timeout: 1m\nwrite_request_timeout: 250ms\n\
         counter_write_request_timeout_in_ms: 750\ncas_contention_timeout_in_ms: 1s\ntruncate_request_timeout: 1h\n\
         request_timeout: 3ms\ninternode_timeout: true\ninternode_tcp_connect_timeout_in_ms: 700\n",
    )
    .unwrap();
    assert_eq!(pointless, Vec::<String>::new());
    let expected = TimeoutOptions {
        read: Duration::from_secs(3),
        range: Duration::from_secs(60),
        write: Duration::from_millis(250),
        counter_write: Duration::from_millis(750),
        cas_contention: Duration::from_secs(1),
        truncate: Duration::from_secs(3600),
        other: Duration::from_millis(10),
        connect: Duration::from_millis(700),
    };
    assert_eq!(config.timeouts, expected, "what is below 10 ms counts as 10 ms");
    let shown = config.shown();
    let value = |key: &str| shown.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.clone());
    assert_eq!(value("write_request_timeout").as_deref(), Some("250ms"));
    assert_eq!(value("truncate_request_timeout").as_deref(), Some("3600s"));
    assert_eq!(
        file_error("write_request_timeout: 100us\n"),
        "helenus.yaml, line 1: write_request_timeout: '100us' is not a duration: write a whole number and one of d, h, m, s, ms, for example 5000ms"
    );
    assert!(file_error("read_request_timeout: 5000\n").contains("'5000' is not a duration"));
    assert!(file_error("read_request_timeout_in_ms: -1\n").contains("'-1' is not a duration"));
    // Deadlines are the coordinator's in any case.
    assert_eq!(with_file("cross_node_timeout: false\n").unwrap().1, ["internode_timeout"]);
    assert!(file_error("internode_timeout: 5s\n").contains("'5s' is neither true nor false"));
}

#[test]
fn known_keys_without_effect_are_collected() {
    let (_, pointless) = with_file("concurrent_reads: 16\nlisten_address: 10.0.0.1\ninitial_token:\n").unwrap();
    assert_eq!(pointless, ["concurrent_reads"]);
}

#[test]
fn an_unknown_key_names_its_line_and_the_nearest_one() {
    assert_eq!(
        file_error("cluster_name: a\ncomitlog_sync: group\n"),
        "helenus.yaml, line 2: unknown configuration key 'comitlog_sync'; did you mean 'commitlog_sync'?"
    );
    assert_eq!(
        file_error("favourite_colour_of_the_operator: blue\n"),
        "helenus.yaml, line 1: unknown configuration key 'favourite_colour_of_the_operator'"
    );
}

#[test]
fn wrong_values_say_what_is_wanted() {
    let contains = |text: &str, wanted: &str| {
        let error = file_error(text);
        assert!(error.contains(wanted), "{error:?} does not contain {wanted:?}");
    };
    contains("commitlog_sync_period: 10", "not a duration");
    contains("commitlog_segment_size: 32MB", "not a size");
    contains("commitlog_segment_size: 1B", "between 1 MiB and 1 GiB");
    contains("native_transport_port: 99999", "not a whole number in range");
    contains("native_transport_port: [1]", "expected a single value");
    contains("commitlog_sync: never", "group, batch or periodic");
    contains("rpc_address: not an address", "neither an IP address nor a resolvable name");
    contains("data_file_directories: [a, b]", "exactly one directory");
    contains("a: [1", "cannot parse configuration file");
}

/// A promise that would not be kept: the node says so instead of starting, and names the key.
#[test]
fn what_is_not_there_is_refused() {
    for (text, words) in [
        (
            "authenticator:\n  class_name: com.scylladb.auth.TransitionalAuthenticator",
            "TransitionalAuthenticator is not supported yet, only AllowAllAuthenticator, PasswordAuthenticator, MutualTlsAuthenticator, MutualTlsWithPasswordFallbackAuthenticator and CertificateAuthenticator",
        ),
        (
            "authorizer: com.example.Authorizer",
            "Authorizer is not supported yet, only AllowAllAuthorizer and CassandraAuthorizer",
        ),
        ("role_manager: LdapRoleManager", "LdapRoleManager is not supported yet, only CassandraRoleManager"),
        (
            "network_authorizer: com.example.NetworkAuthorizer",
            "NetworkAuthorizer is not supported yet, only AllowAllNetworkAuthorizer and CassandraNetworkAuthorizer",
        ),
        (
            "cidr_authorizer:\n  class_name: com.example.Ranges",
            "Ranges is not supported yet, only AllowAllCIDRAuthorizer and CassandraCIDRAuthorizer",
        ),
        ("partitioner: RandomPartitioner", "RandomPartitioner is not supported yet, only Murmur3Partitioner"),
        ("transparent_data_encryption_options:\n  enabled: true", "enabled: true is not supported yet"),
        ("full_query_logging_options:\n  enabled: true", "enabled: true is not supported yet"),
        ("startup_checks:\n  check_data_resurrection:\n    enabled: true", "enabled: true is not supported yet"),
        ("cdc_enabled: true", "true is not supported yet, only false"),
        ("enable_materialized_views: true", "true is not supported yet, only false"),
        ("user_defined_functions_enabled: true", "true is not supported yet, only false"),
        ("sasi_indexes_enabled: true", "true is not supported yet, only false"),
        ("incremental_backups: true", "true is not supported yet, only false"),
        ("default_keyspace_rf: 3", "3 is not supported yet, only 1"),
        ("start_native_transport: false", "false is not supported yet, only true"),
        ("rpc_interface: eth0", "eth0 is not supported yet: name the address with rpc_address"),
        ("alternator_port: 8000", "8000 is not supported yet, only 0"),
        ("experimental_features:\n  - udf", "udf is not supported yet"),
        (
            "seed_provider:\n  - class_name: com.example.Ec2Seeds",
            "Ec2Seeds is not supported yet, only SimpleSeedProvider",
        ),
    ] {
        let key = text.split(':').next().unwrap_or_default();
        assert_eq!(file_error(text), format!("helenus.yaml, line 1: {key}: {words}"));
    }
}

#[test]
fn what_is_off_is_accepted_silently() {
    let (_, pointless) = with_file(
        "authenticator: org.apache.cassandra.auth.AllowAllAuthenticator\nrole_manager:\n  class_name: CassandraRoleManager\n\
         network_authorizer: AllowAllNetworkAuthorizer\ncidr_authorizer:\n  class_name: AllowAllCIDRAuthorizer\n\
         cdc_enabled: false\nmaterialized_views_enabled: false\nuser_defined_functions_enabled: false\n\
         scripted_user_defined_functions_enabled: false\nsasi_indexes_enabled: false\ntransient_replication_enabled: false\n\
         drop_compact_storage_enabled: false\nincremental_backups: false\nsnapshot_before_compaction: false\n\
         start_native_transport: true\nnative_transport_allow_older_protocols: true\nnative_transport_port_ssl:\n\
         diagnostic_events_enabled: false\nmaintenance_socket: ignore\nexperimental_features: []\n\
         audit_logging_options:\n  enabled: false\n  logger:\n    - class_name: BinAuditLogger\n\
         transparent_data_encryption_options:\n  enabled: false\n  cipher: AES/CBC/PKCS5Padding\n  key_provider:\n    - class_name: X\n\
         server_encryption_options:\n  internode_encryption: none\n  require_client_auth: false\n",
    )
    .unwrap();
    assert_eq!(pointless, Vec::<String>::new());
}

#[test]
fn seeds_make_a_node_one_of_a_cluster() {
    let provider = |seeds: &str| {
        format!(
            "seed_provider:\n  - class_name: org.apache.cassandra.locator.SimpleSeedProvider\n    parameters:\n      - seeds: \"{seeds}\"\n"
        )
    };
    let addresses = |config: Config| {
        let cluster = config.cluster?;
        Some((cluster.listen.to_string(), cluster.seeds.iter().map(ToString::to_string).collect::<Vec<_>>()))
    };
    // Every `cassandra.yaml` has these: a node alone.
    for (more, seeds) in [("", "127.0.0.1"), ("listen_address: localhost\n", "127.0.0.1:7000"), ("", "")] {
        let (config, _) = with_file(&format!("{}{more}", provider(seeds))).unwrap();
        assert_eq!(config.cluster, None, "{more}{seeds}");
    }
    for (line, listen, seeds) in [
        ("--seeds 127.0.0.1", "127.0.0.1:7000", &["127.0.0.1:7000"][..]),
        (
            "--seeds 127.0.0.1:7001,127.0.0.2 --storage-port 7002",
            "127.0.0.1:7002",
            &["127.0.0.1:7001", "127.0.0.2:7002"],
        ),
        (
            "--seed-provider-parameters seeds=127.0.0.3 --listen-address 127.0.0.2",
            "127.0.0.2:7000",
            &["127.0.0.3:7000"],
        ),
        ("--seeds [fd00::7]:7000 --listen-address fd00::8 --insecure", "[fd00::8]:7000", &["[fd00::7]:7000"]),
    ] {
        let (config, _) = resolve(line).unwrap();
        let seeds = seeds.iter().map(ToString::to_string).collect();
        assert_eq!(addresses(config), Some((listen.to_owned(), seeds)), "{line}");
    }
    let refused = |line: &str| resolve(line).map(|_| ()).unwrap_err().to_string();
    assert!(refused("--seeds 10.0.0.7 --listen-address 10.0.0.7").contains("there is neither internode_secret_file"));
    assert_eq!(
        refused("--seeds other.nodes.invalid"),
        "--seeds: 'other.nodes.invalid' is neither an IP address nor a resolvable name"
    );
    assert!(refused("--recover-metadata").contains("it has no seeds"));
    let recover = |line: &str| resolve(line).unwrap().0.cluster.unwrap().recover;
    assert_eq!(recover("--seeds 127.0.0.2 --recover-metadata"), Some(Recover::Begin));
    assert_eq!(
        recover("--seeds 127.0.0.2 --recover-metadata 127.0.0.3"),
        Some(Recover::Follow("127.0.0.3:7000".parse().unwrap()))
    );
}

#[test]
fn silence_of_nodes_is_judged_as_the_file_says() {
    let seeds = "seed_provider:\n  - parameters:\n      - seeds: \"127.0.0.2\"\n";
    let threshold = |more: &str| {
        let (config, pointless) = with_file(&format!("{seeds}{more}")).unwrap();
        assert!(pointless.is_empty(), "{pointless:?}");
        config.cluster.unwrap().phi_convict_threshold.value()
    };
    assert_eq!(threshold(""), 8.0);
    assert_eq!(threshold("phi_convict_threshold: 12\n"), 12.0);
    assert_eq!(threshold("phi_convict_threshold: 5.5\n"), 5.5);
    for wrong in ["4", "17", "NaN", "often"] {
        let error = file_error(&format!("{seeds}phi_convict_threshold: {wrong}\n"));
        assert!(error.ends_with(&format!("'{wrong}' is not a number from 5 to 16")), "{error}");
    }
}

#[test]
fn flags_win_over_the_file() {
    let mut settings = Settings::default();
    file::read("f", "native_transport_port: 1\ncluster_name: file\n", &mut settings, &mut Vec::new()).unwrap();
    let command = Command::try_parse_from(["helenus", "--port", "2"]).unwrap();
    settings.take(&command.arguments).unwrap();
    let config = settings.complete(&big_machine()).unwrap();
    assert_eq!((config.listen.native.address.port(), config.cluster_name.as_str()), (2, "file"));
}

#[test]
fn guardrails() {
    let (config, pointless) = with_file(
        "batch_size_warn_threshold: 6KiB\nbatch_size_fail_threshold_in_kb: 50\npage_size_warn_threshold: 100\n\
         page_size_fail_threshold: -1\nallow_filtering_enabled: false\nread_consistency_levels_disallowed: [ALL, ANY]\n\
         table_properties_warned:\n  - Comment\nmaximum_timestamp_warn_threshold: 1d\n\
         unlogged_batch_across_partitions_warn_threshold: 5\nminimum_replication_factor_warn_threshold: 3\n\
         minimum_replication_factor_fail_threshold: 2\ncolumn_value_size_warn_threshold: 1MiB\n\
         column_value_size_fail_threshold:\nitems_per_collection_fail_threshold: 7\nzero_ttl_on_twcs_warned: true\n",
    )
    .unwrap();
    assert_eq!(pointless, Vec::<String>::new());
    let rails = &config.guardrails;
    assert_eq!((rails.batch_size.warn, rails.batch_size.fail), (Some(6 << 10), Some(50 << 10)));
    assert_eq!((rails.page_size.warn, rails.page_size.fail), (Some(100), None));
    assert_eq!(rails.maximum_timestamp.warn, Some(86_400_000_000));
    assert!(!rails.allow_filtering_enabled);
    assert_eq!((rails.column_value_size.warn, rails.column_value_size.fail), (Some(1 << 20), None));
    assert_eq!((rails.items_per_collection.warn, rails.items_per_collection.fail), (None, Some(7)));
    assert!(rails.zero_ttl_on_twcs_warned && rails.zero_ttl_on_twcs_enabled);
    let shown = config.shown();
    let of = |key: &str| shown.iter().find(|(name, _)| name == key).and_then(|(_, value)| value.as_deref());
    assert_eq!(of("batch_size_warn_threshold"), Some("6KiB"));
    assert_eq!(of("page_size_warn_threshold"), Some("100"));
    assert_eq!(of("page_size_fail_threshold"), Some("-1"));
    assert_eq!(of("minimum_timestamp_warn_threshold"), None);
    assert_eq!(of("read_consistency_levels_disallowed"), Some("[ANY, ALL]"));
    assert_eq!(of("table_properties_warned"), Some("[comment]"));
    assert_eq!(of("unlogged_batch_across_partitions_warn_threshold"), Some("5"));
    assert!(shown.is_sorted());
}

#[test]
fn guardrails_that_are_refused() {
    for (file, words) in [
        (
            "page_size_warn_threshold: 0\n",
            "Invalid value for page_size_warn_threshold: 0 is not allowed; if attempting to disable use -1",
        ),
        (
            "tables_fail_threshold: -2\n",
            "Invalid value -2 for tables_fail_threshold: negative values are not allowed, outside of -1 which disables the guardrail",
        ),
        (
            "page_size_warn_threshold: 10\npage_size_fail_threshold: 9\n",
            "The warn threshold 10 for page_size_warn_threshold should be lower than the fail threshold 9",
        ),
        (
            "minimum_replication_factor_warn_threshold: 2\nminimum_replication_factor_fail_threshold: 3\n",
            "The warn threshold 2 for minimum_replication_factor_warn_threshold should be greater than the fail threshold 3",
        ),
        (
            "collection_size_warn_threshold: 2KiB\ncollection_size_fail_threshold: 1KiB\n",
            "The warn threshold 2KiB for collection_size_warn_threshold should be lower than the fail threshold 1KiB",
        ),
        (
            "column_value_size_fail_threshold: 0B\n",
            "Invalid value for column_value_size_fail_threshold: 0 is not allowed; if attempting to disable use an empty value",
        ),
        ("read_consistency_levels_warned: [MOST]\n", "'MOST' is not a consistency level"),
        ("group_by_enabled: maybe\n", "'maybe' is neither true nor false"),
    ] {
        let error = file_error(file);
        assert!(error.ends_with(words), "{error}");
    }
}

#[test]
fn a_node_alone_does_not_resolve_the_address_that_others_would_reach_it_at() {
    // RFC 6761: it is no name of any host.
    let config = with_file("broadcast_address: no-such-host.invalid\n").expect("no other node asks for it").0;
    assert!(config.cluster.is_none());
    let said = file_error("broadcast_address: no-such-host.invalid\nseeds: 127.0.0.2\n");
    assert!(said.contains("no-such-host.invalid"), "{said}");
}
