//! Settings of the file and the command line, every item optional, and how they become a [`Config`].

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use admin::Endpoint;
use internode::Compression;
use membership::{PhiThreshold, Replaced};
use planted::Planted;
use query::{Guardrails, HintOptions, TimeoutOptions};
use runtime::ReactorKind;
use server::{Limits, Port, Ports, Security};
use storage::StorageOptions;
use topology::nodes::Features;
use topology::{HostId, Strategies};

use super::access::AccessSettings;
use super::arguments::{Arguments, Reactor};
use super::audit_log::AuditSettings;
use super::cluster::{ClusterConfig, LOW_BOUND_AGE, Recover, STORAGE_PORT};
use super::encryption::{ApiEncryption, ClientEncryption, InternodeEncryption};
use super::guardrails;
use super::hints::{self, HintSettings};
use super::machine::{Machine, parse_cpu_list};
use super::seeds::{self, Seeds};
use super::snitch::{self, Placement};
use super::tokens::{self, Tokens};
use super::units::print_size;
use super::{CommitLogSync, Config, ConfigError, address, secret_file};

/// The node that `--replace` names, by its host id or by its address between nodes; `port` is that of an address without one.
fn replaced(node: &str, port: u16) -> Result<Replaced, ConfigError> {
    if let Some(host_id) = stdx::parse_uuid(node) {
        return Ok(Replaced::Host(HostId(host_id)));
    }
    let address = seeds::address_of(node, port);
    let address = address.map_err(|reason| ConfigError::FlagValue { flag: "--replace", reason })?;
    Ok(Replaced::At(address.into()))
}

/// The place of a node that names none, as in Cassandra.
const DATACENTER: &str = "datacenter1";
const RACK: &str = "rack1";
/// Least memory a shard can work with.
const SHARD_MEMORY_BYTES_MIN: u64 = 64 << 20;
/// Least memory that a shard's memtables can work with: a few chunks.
const MEMTABLE_BYTES_MIN: u64 = 4 << 20;
/// Most memory that a shard's memtables are given: half of what one of them can hold at the least, whatever its rows are like.
pub const MEMTABLE_BYTES_MAX: u64 = 16 << 30;
/// About what a sleep and the waking behind it cost a shard.
const IDLE_POLL: Duration = Duration::from_micros(20);

/// Where ScyllaDB answers operators, and Prometheus.
const API_PORT: u16 = 10_000;
const PROMETHEUS_PORT: u16 = 9180;

/// Items that were given; `None` leaves the default.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "the fields are those of Config, which says what they are")]
pub struct Settings {
    pub cluster_name: Option<String>,
    pub data_dir: Option<PathBuf>,
    pub listen: Option<IpAddr>,
    pub broadcast: Option<IpAddr>,
    pub port: Option<u16>,
    pub shard_aware_port: Option<u16>,
    pub client_encryption: Option<ClientEncryption>,
    pub tls_port: Option<u16>,
    pub access: AccessSettings,
    pub audit: AuditSettings,
    pub shard_aware_tls_port: Option<u16>,
    pub api_address: Option<IpAddr>,
    pub api_port: Option<u16>,
    pub api_tls: Option<ApiEncryption>,
    pub prometheus_address: Option<IpAddr>,
    pub prometheus_port: Option<u16>,
    pub insecure: bool,
    pub internode_secret_file: Option<PathBuf>,
    pub internode_compression: Option<Compression>,
    pub internode_encryption: Option<InternodeEncryption>,
    pub smp: Option<u16>,
    pub cpuset: Option<Vec<usize>>,
    pub overprovisioned: bool,
    pub memory_bytes: Option<u64>,
    pub reactor: Option<ReactorKind>,
    pub idle_poll: Option<Duration>,
    pub commitlog_sync: Option<CommitLogSync>,
    pub commitlog_sync_period: Option<Duration>,
    pub commitlog_segment_bytes: Option<u64>,
    pub commitlog_total_bytes: Option<u64>,
    pub memtable_bytes: Option<u64>,
    pub row_cache_bytes: Option<u64>,
    pub enable_cache: Option<bool>,
    pub compaction_throughput: Option<u64>,
    pub stream_throughput: Option<u64>,
    pub disk_reserve: Option<u64>,
    pub hints: HintSettings,
    pub timeouts: TimeoutOptions,
    pub auto_snapshot: Option<bool>,
    pub flush_on_drain: bool,
    pub import_sstables: bool,
    pub salvage_commitlog: bool,
    pub frame_bytes_max: Option<u64>,
    pub in_flight_bytes_max: Option<u64>,
    pub connections_max: Option<u32>,
    pub slow_request: Option<Duration>,
    pub prepared_bytes_max: Option<u64>,
    pub masks_enabled: bool,
    pub guardrails: Guardrails,
    pub seeds: Seeds,
    pub storage_port: Option<u16>,
    pub num_tokens: Option<u16>,
    pub initial_token: Option<String>,
    pub auto_finalize: Option<bool>,
    pub auto_bootstrap: Option<bool>,
    pub placement: Placement,
    pub phi_convict_threshold: Option<PhiThreshold>,
    pub snitch: Option<&'static str>,
    pub datacenter: Option<String>,
    pub rack: Option<String>,
    pub found_cluster: bool,
    pub recover_metadata: Option<String>,
    pub replace: Option<String>,
    pub log_level: Option<tracing::Level>,
    pub log_to_stdout: bool,
    pub planted: Planted,
}

impl Settings {
    /// Lets the flags that were given win over what is there.
    pub fn take(&mut self, arguments: &Arguments) -> Result<(), ConfigError> {
        let address = |flag, text: &Option<String>| match text {
            Some(text) => address::parse(text).map(Some).map_err(|reason| ConfigError::FlagValue { flag, reason }),
            None => Ok(None),
        };
        self.listen = address("--listen", &arguments.listen)?.or(self.listen);
        self.broadcast = address("--broadcast-rpc-address", &arguments.broadcast_rpc_address)?.or(self.broadcast);
        self.api_address = address("--api-address", &arguments.api_address)?.or(self.api_address);
        self.prometheus_address =
            address("--prometheus-address", &arguments.prometheus_address)?.or(self.prometheus_address);
        self.api_port = arguments.api_port.or(self.api_port);
        self.prometheus_port = arguments.prometheus_port.or(self.prometheus_port);
        if let Some(list) = &arguments.cpuset {
            let reason = format!("'{list}' is not a list of processors, for example 0-3,8");
            let cpus = parse_cpu_list(list).ok_or(ConfigError::FlagValue { flag: "--cpuset", reason })?;
            self.cpuset = Some(cpus);
        }
        if let Some(Reactor::Forced(kind)) = arguments.reactor {
            self.reactor = Some(kind);
        }
        self.access.take(arguments)?;
        self.seeds.addresses_of_flags(arguments.listen_address.as_ref(), arguments.broadcast_address.as_ref());
        if let Some(parameters) = arguments.pointless.seed_provider_parameters() {
            self.seeds.name_by_flag("--seed-provider-parameters", parameters.trim_start_matches("seeds="));
        }
        if let Some(seeds) = &arguments.seeds {
            self.seeds.name_by_flag("--seeds", seeds);
        }
        self.storage_port = arguments.storage_port.or(self.storage_port);
        self.datacenter = arguments.datacenter.clone().or(self.datacenter.take());
        self.rack = arguments.rack.clone().or(self.rack.take());
        self.found_cluster |= arguments.found_cluster;
        self.recover_metadata = arguments.recover_metadata.clone().or(self.recover_metadata.take());
        self.replace = arguments.replace.clone().or(self.replace.take());
        let given = arguments.clone();
        self.num_tokens = given.num_tokens.or(self.num_tokens);
        self.initial_token = given.initial_token.or(self.initial_token.take());
        self.cluster_name = given.cluster_name.or(self.cluster_name.take());
        self.data_dir = given.data_dir.or(self.data_dir.take());
        self.port = given.port.or(self.port);
        self.shard_aware_port = given.shard_aware_port.or(self.shard_aware_port);
        self.insecure |= given.insecure;
        self.internode_secret_file = given.internode_secret_file.or(self.internode_secret_file.take());
        self.smp = given.smp.or(self.smp);
        self.overprovisioned |= given.overprovisioned.unwrap_or(false);
        self.memory_bytes = given.memory.or(self.memory_bytes);
        self.idle_poll = given.idle_poll_time_us.map(|micros| Duration::from_micros(micros.into())).or(self.idle_poll);
        self.enable_cache = given.enable_cache.or(self.enable_cache);
        self.commitlog_sync = given.commitlog_sync.or(self.commitlog_sync);
        self.commitlog_sync_period = given.commitlog_sync_period.or(self.commitlog_sync_period);
        self.salvage_commitlog |= given.salvage_commitlog;
        self.flush_on_drain |= given.flush_on_drain;
        self.import_sstables |= given.import_sstables;
        self.log_level = given.default_log_level.or(self.log_level);
        self.log_to_stdout = given.log_to_stdout.unwrap_or(self.log_to_stdout);
        #[cfg(feature = "planted")]
        if let Some(planted) = given.plant {
            self.planted = planted;
        }
        Ok(())
    }

    /// Fills the gaps with defaults and checks the whole against the machine.
    pub fn complete(mut self, machine: &Machine) -> Result<Config, ConfigError> {
        let address = self.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let (ports, is_proven) = self.client_ports(address)?;
        if !address.is_loopback() && !is_proven && !self.access.requires_login() && !self.insecure {
            return Err(ConfigError::OpenToTheWorld { address });
        }
        let (cluster, tokens) = (self.cluster()?, self.tokens()?);
        // Flags take precedence over the file.
        let (datacenter, rack) = self.placement.of(|| self.address_for_nodes())?.unzip();
        let (datacenter, rack) = (self.datacenter.take().or(datacenter), self.rack.take().or(rack));
        let (shards, cpus) = self.shards(machine)?;
        let memory_bytes = self.memory(machine, shards)?;
        let period = self.commitlog_sync_period.unwrap_or(Duration::from_secs(10));
        in_range("commitlog_sync_period", period, Duration::from_millis(1), Duration::from_secs(3600), |p| {
            format!("{p:?}")
        })?;
        let segment_bytes = self.commitlog_segment_bytes.unwrap_or(32 << 20);
        in_range("commitlog_segment_size", segment_bytes, 1 << 20, 1 << 30, print_size)?;
        if let Some(bytes) = self.memtable_bytes {
            let (least, most) = (MEMTABLE_BYTES_MIN * u64::from(shards), MEMTABLE_BYTES_MAX * u64::from(shards));
            in_range("memtable_heap_space", bytes, least, most.min(memory_bytes), print_size)?;
        }
        if let Some(bytes) = self.row_cache_bytes {
            in_range("row_cache_size", bytes, 0, memory_bytes, print_size)?;
        }
        if let Some(bytes) = self.commitlog_total_bytes {
            in_range("commitlog_total_space", bytes, segment_bytes, u64::MAX, print_size)?;
        }
        guardrails::check(&mut self.guardrails)?;
        let limits = self.limits(memory_bytes, shards)?;
        let data_dir = self.data_dir.unwrap_or_else(|| PathBuf::from("helenus-data"));
        let asked = self.client_encryption.as_ref().map(ClientEncryption::client_certificates);
        let access = self.access.complete(&data_dir, asked)?;
        let audit_dir = data_dir.clone();
        let disk_reserve = self.disk_reserve.unwrap_or(StorageOptions::DISK_RESERVE);
        let hints = HintOptions { disk_reserve, ..complete_hints(self.hints, &data_dir)? };
        Ok(Config {
            cluster_name: self.cluster_name.unwrap_or_else(|| "Test Cluster".to_owned()),
            hints,
            timeouts: self.timeouts,
            data_dir,
            listen: ports,
            proves_clients: is_proven,
            client_tls: self.client_encryption.map(ClientEncryption::credentials).transpose()?,
            access,
            audit: self.audit.complete(&audit_dir),
            broadcast: self.broadcast,
            api: operators_endpoint(self.api_address, self.api_port, API_PORT),
            metrics: operators_endpoint(self.prometheus_address, self.prometheus_port, PROMETHEUS_PORT),
            api_tls: self.api_tls.map(ApiEncryption::credentials).transpose()?,
            insecure: self.insecure,
            shards,
            cpus,
            memory_bytes,
            reactor: self.reactor,
            // Who else is on the shard's processor may be the one that asks.
            idle_poll: self.idle_poll.unwrap_or(if self.overprovisioned { Duration::ZERO } else { IDLE_POLL }),
            snitch: self.snitch.unwrap_or(snitch::SIMPLE),
            datacenter: datacenter.unwrap_or_else(|| DATACENTER.to_owned()),
            rack: rack.unwrap_or_else(|| RACK.to_owned()),
            fixed_ring: None,
            cluster,
            tokens,
            internode_tls: self.internode_encryption.map(InternodeEncryption::credentials).transpose()?,
            internode_secret: self.internode_secret_file.as_deref().map(secret_file::read).transpose()?,
            internode_compression: self.internode_compression.unwrap_or_default(),
            commitlog_sync: self.commitlog_sync.unwrap_or(CommitLogSync::Group),
            commitlog_sync_period: period,
            commitlog_segment_bytes: segment_bytes,
            commitlog_total_bytes: self.commitlog_total_bytes,
            memtable_bytes: self.memtable_bytes,
            row_cache_bytes: match (self.enable_cache, self.row_cache_bytes) {
                (Some(false), _) => Some(0),
                // Every `cassandra.yaml` has 0, for Cassandra has the kernel's page cache; this node has none but this one.
                (_, given) => given.filter(|&bytes| bytes > 0),
            },
            compaction_throughput: self.compaction_throughput.unwrap_or(StorageOptions::COMPACTION_THROUGHPUT),
            stream_throughput: self.stream_throughput.unwrap_or(0),
            disk_reserve,
            auto_snapshot: self.auto_snapshot.unwrap_or(true),
            flush_on_drain: self.flush_on_drain,
            import_sstables: self.import_sstables,
            salvage_commitlog: self.salvage_commitlog,
            prepared_bytes_max: self.prepared_bytes_max,
            masks_enabled: self.masks_enabled,
            guardrails: self.guardrails,
            limits,
            log_level: self.log_level.unwrap_or(tracing::Level::INFO),
            log_to_stdout: self.log_to_stdout,
            strategies: Strategies::default(),
            planted: self.planted,
        })
    }

    /// The ports for clients, and whether a client on any of them has proven itself before its first request.
    fn client_ports(&self, ip: IpAddr) -> Result<(Ports, bool), ConfigError> {
        let wrong = |key: &'static str, reason: &str| ConfigError::Port { key, reason: reason.to_owned() };
        let port = self.port.unwrap_or(9042);
        let shard_aware = self.shard_aware_port.or_else(|| shard_aware_port(port));
        let at = |security| move |port| Port { address: SocketAddr::new(ip, port), security };
        // 0 is ScyllaDB's word for none.
        let shard_aware_tls = self.shard_aware_tls_port.filter(|port| *port != 0);
        let Some(encryption) = &self.client_encryption else {
            let given = [
                ("native_transport_port_ssl", self.tls_port),
                ("native_shard_aware_transport_port_ssl", shard_aware_tls),
            ];
            if let Some((key, _)) = given.into_iter().find(|(_, port)| port.is_some()) {
                return Err(wrong(key, "needs client_encryption_options with enabled: true"));
            }
            let address = |port| SocketAddr::new(ip, port);
            return Ok((Ports::plain(address(port), shard_aware.map(address)), false));
        };
        let tls = if encryption.is_optional { Security::Either } else { Security::Tls };
        match self.tls_port.filter(|tls_port| *tls_port != port) {
            None => {
                let shard_aware = shard_aware_tls.or(shard_aware);
                let (native, shard_aware) = (at(tls)(port), shard_aware.map(at(tls)));
                Ok((
                    Ports { native, shard_aware, native_tls: None, shard_aware_tls: None },
                    encryption.proves_clients(),
                ))
            }
            Some(0) => Err(wrong("native_transport_port_ssl", "must be a port from 1 to 65535")),
            Some(tls_port) => {
                let shard_aware_tls = match self.shard_aware_tls_port {
                    None => shard_aware_port(tls_port),
                    Some(_) => shard_aware_tls,
                };
                let native = at(Security::Plain)(port);
                let shard_aware = shard_aware.map(at(Security::Plain));
                let (native_tls, shard_aware_tls) = (Some(at(tls)(tls_port)), shard_aware_tls.map(at(tls)));
                Ok((Ports { native, shard_aware, native_tls, shard_aware_tls }, false))
            }
        }
    }

    /// The address that other nodes would reach this one at.
    fn address_for_nodes(&self) -> Result<IpAddr, ConfigError> {
        let given =
            self.seeds.broadcast_address()?.map_or_else(|| self.seeds.listen_address(), |given| Ok(Some(given)))?;
        Ok(given.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)))
    }

    /// The cluster that the node is to be of.
    fn cluster(&self) -> Result<Option<ClusterConfig>, ConfigError> {
        let ip = self.seeds.listen_address()?.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let port = self.storage_port.unwrap_or(STORAGE_PORT);
        let seeds = self.seeds.addresses(ip, port)?;
        if seeds.is_empty() {
            let needing = [("--recover-metadata", &self.recover_metadata), ("--replace", &self.replace)];
            let reason = "this node is alone: it has no seeds".to_owned();
            return match needing.into_iter().find(|(_, value)| value.is_some()) {
                Some((flag, _)) => Err(ConfigError::FlagValue { flag, reason }),
                None => Ok(None),
            };
        }
        let replaces = match &self.replace {
            None => None,
            Some(node) => Some(replaced(node, port)?),
        };
        let recover = match self.recover_metadata.as_deref() {
            None => None,
            Some("") => Some(Recover::Begin),
            Some(node) => {
                let address = seeds::address_of(node, port);
                let address =
                    address.map_err(|reason| ConfigError::FlagValue { flag: "--recover-metadata", reason })?;
                Some(Recover::Follow(address))
            }
        };
        let is_proven = self.internode_secret_file.is_some() || self.internode_encryption.is_some();
        if !ip.is_loopback() && !is_proven && !self.insecure {
            return Err(ConfigError::OpenCluster { address: ip });
        }
        in_range("storage_port", port, 1, u16::MAX, |port| port.to_string())?;
        Ok(Some(ClusterConfig {
            listen: SocketAddr::new(ip, port),
            broadcast: SocketAddr::new(self.seeds.broadcast_address()?.unwrap_or(ip), port),
            seeds,
            features: Features::KNOWN,
            auto_finalize: self.auto_finalize.unwrap_or(false),
            is_without_copy: !self.auto_bootstrap.unwrap_or(true),
            token_count: self.num_tokens,
            replaces,
            found_without_silent: self.found_cluster,
            recover,
            phi_convict_threshold: self.phi_convict_threshold.unwrap_or_default(),
            low_bound_age: LOW_BOUND_AGE,
        }))
    }

    /// The tokens of a node that has none yet.
    fn tokens(&self) -> Result<Tokens, ConfigError> {
        if let Some(count) = self.num_tokens {
            in_range("num_tokens", count, 1, tokens::COUNT_MAX, |count| count.to_string())?;
        }
        Tokens::of(self.num_tokens, self.initial_token.as_deref())
    }

    /// How many shards, and on which processors.
    fn shards(&self, machine: &Machine) -> Result<(u16, Vec<usize>), ConfigError> {
        let mut cpus = machine.cpus.clone();
        if let Some(cpuset) = &self.cpuset {
            if let Some(cpu) = cpuset.iter().find(|cpu| !machine.cpus.contains(cpu)) {
                return Err(ConfigError::CpuNotThere { cpu: *cpu, allowed: machine.cpus.clone() });
            }
            cpus.clone_from(cpuset);
        }
        let shards = self.smp.unwrap_or_else(|| u16::try_from(cpus.len()).unwrap_or(u16::MAX));
        in_range("--smp", shards, 1, 1024, |shards| shards.to_string())?;
        if self.overprovisioned {
            return Ok((shards, Vec::new()));
        }
        if usize::from(shards) > cpus.len() {
            return Err(ConfigError::TooManyShards { asked: shards, there: cpus.len() });
        }
        cpus.truncate(usize::from(shards));
        Ok((shards, cpus))
    }

    fn memory(&self, machine: &Machine, shards: u16) -> Result<u64, ConfigError> {
        let bytes = self.memory_bytes.unwrap_or(machine.memory_bytes / 2);
        if bytes > machine.memory_bytes {
            return Err(ConfigError::TooMuchMemory {
                asked: print_size(bytes),
                there: print_size(machine.memory_bytes),
            });
        }
        if bytes / u64::from(shards) < SHARD_MEMORY_BYTES_MIN {
            return Err(ConfigError::TooLittleMemory {
                asked: print_size(bytes),
                shards,
                least: print_size(SHARD_MEMORY_BYTES_MIN),
            });
        }
        Ok(bytes)
    }

    fn limits(&self, memory_bytes: u64, shards: u16) -> Result<Limits, ConfigError> {
        let mut limits = Limits::default();
        if let Some(bytes) = self.frame_bytes_max {
            in_range("native_transport_max_frame_size", bytes, 1 << 10, 1 << 30, print_size)?;
            limits.frame_bytes_max = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(connections) = self.connections_max {
            limits.set_connections_max(connections);
        }
        if let Some(slow) = self.slow_request {
            // 0 is Cassandra's word for noting none.
            let micros = u64::try_from(slow.as_micros()).unwrap_or(u64::MAX);
            limits.slow_request_micros = if slow.is_zero() { u64::MAX } else { micros.max(1) };
        }
        // A tenth of the memory, as in Cassandra.
        let in_flight = self.in_flight_bytes_max.unwrap_or(memory_bytes / 10) / u64::from(shards);
        limits.shard_bytes_in_flight_max = usize::try_from(in_flight).unwrap_or(usize::MAX).max(1 << 20);
        limits.connection_bytes_in_flight_max = limits.shard_bytes_in_flight_max / 4;
        Ok(limits)
    }
}

/// The port beside a native one that lets clients choose their shard. Ports beyond 65535 are not there to be listened on; such a node simply has none.
fn shard_aware_port(port: u16) -> Option<u16> {
    if port == 0 { Some(0) } else { port.checked_add(10_000) }
}

/// The settings of hints, checked, with their folder where nothing else was said.
fn complete_hints(settings: HintSettings, data_dir: &Path) -> Result<HintOptions, ConfigError> {
    let HintSettings { options, dir } = settings;
    let ((least, most), (soonest, latest)) = (hints::FILE_BYTES, hints::FLUSH_PERIOD);
    in_range("max_hints_file_size", options.file_bytes_max, least, most, print_size)?;
    in_range("hints_flush_period", options.flush_period, soonest, latest, |period| format!("{period:?}"))?;
    let dir = dir.or_else(|| HintOptions::in_data_dir(data_dir).dir);
    Ok(HintOptions { dir, ..options })
}

/// Where operators are answered; `None`: nowhere.
fn operators_endpoint(address: Option<IpAddr>, port: Option<u16>, default: u16) -> Option<Endpoint> {
    let number = port.unwrap_or(default);
    let ip = address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let is_given = address.is_some() || port.is_some();
    (number != 0).then(|| Endpoint { address: SocketAddr::new(ip, number), is_given })
}

fn in_range<T: PartialOrd + Copy>(
    key: &'static str,
    value: T,
    least: T,
    most: T,
    print: impl Fn(T) -> String,
) -> Result<(), ConfigError> {
    if value < least || value > most {
        return Err(ConfigError::OutOfRange { key, value: print(value), least: print(least), most: print(most) });
    }
    Ok(())
}
