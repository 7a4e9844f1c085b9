//! Which keys of a configuration file mean something to Helenus, and what.
//!
//! A key is acted on, or refused because starting without it would break a promise (`refused.rs`, `seeds.rs`), or known and without
//! effect (collected for one warning), or unknown: an error that names the nearest known key.

use std::path::PathBuf;

use internode::Compression;
use membership::PhiThreshold;

use super::audit_log::AuditSettings;
use super::encryption::{ApiEncryption, ClientEncryption, InternodeEncryption};
use super::guardrails;
use super::hints;
use super::place::Place;
use super::refused;
use super::snitch;
use super::timeouts;
use super::yaml::{self, Entry, Node};
use super::{CommitLogSync, ConfigError, Settings};

/// Reads `text` (of the file called `name` in messages) into `settings`; names without effect are added to `pointless`.
pub fn read(name: &str, text: &str, settings: &mut Settings, pointless: &mut Vec<String>) -> Result<(), ConfigError> {
    let unreadable = |reason| ConfigError::FileNotYaml { file: name.to_owned(), reason };
    for entry in yaml::parse(text).map_err(unreadable)? {
        let place = Place { file: name, line: entry.line, key: entry.key.clone() };
        let entry = place.present_name(entry)?;
        if refused::check(&place, &entry)? || settings.seeds.read(&place, &entry.key, &entry.value)? {
            continue;
        }
        if !apply(&place, &entry, settings)? {
            pointless.push(entry.key);
        }
        pointless.append(&mut settings.access.take_pointless());
    }
    Ok(())
}

/// Acts on one key; false when it is known and without effect.
fn apply(place: &Place<'_>, entry: &Entry, settings: &mut Settings) -> Result<bool, ConfigError> {
    let value = &entry.value;
    if *value == Node::Nothing {
        // `initial_token:` with nothing behind it stands in stock files and means the default.
        return Ok(true);
    }
    match entry.key.as_str() {
        "cluster_name" => settings.cluster_name = Some(place.text(value)?.to_owned()),
        "rpc_address" => settings.listen = Some(place.address(value)?),
        "broadcast_rpc_address" => settings.broadcast = Some(place.address(value)?),
        "native_transport_port" => settings.port = Some(place.number(value)?),
        "native_shard_aware_transport_port" => settings.shard_aware_port = Some(place.number(value)?),
        "api_address" => settings.api_address = Some(place.address(value)?),
        "api_port" => settings.api_port = Some(place.number(value)?),
        "api_tls" => settings.api_tls = ApiEncryption::read(place, value)?,
        "prometheus_address" => settings.prometheus_address = Some(place.address(value)?),
        "prometheus_port" => settings.prometheus_port = Some(place.number(value)?),
        "storage_port" => settings.storage_port = Some(place.number(value)?),
        "endpoint_snitch" => {
            settings.placement = snitch::read(place, value)?;
            settings.snitch = Some(snitch::name(place, value)?);
        }
        "phi_convict_threshold" => settings.phi_convict_threshold = Some(phi(place, value)?),
        "num_tokens" => settings.num_tokens = Some(place.number(value)?),
        "auto_finalize" => settings.auto_finalize = Some(place.flag(value)?),
        "auto_bootstrap" => settings.auto_bootstrap = Some(place.flag(value)?),
        "initial_token" => settings.initial_token = Some(place.text(value)?.to_owned()),
        "internode_compression" => settings.internode_compression = Some(compression(place, place.text(value)?)?),
        "internode_secret_file" => settings.internode_secret_file = Some(PathBuf::from(place.text(value)?)),
        "server_encryption_options" => {
            settings.internode_encryption = InternodeEncryption::read(place, value)?;
        }
        "client_encryption_options" => settings.client_encryption = ClientEncryption::read(place, value)?,
        "native_transport_port_ssl" => settings.tls_port = Some(place.number(value)?),
        "native_shard_aware_transport_port_ssl" => settings.shard_aware_tls_port = Some(place.number(value)?),
        "workdir" => settings.data_dir = Some(PathBuf::from(place.text(value)?)),
        "data_file_directories" => settings.data_dir = Some(one_directory(place, value)?),
        "commitlog_sync" => {
            settings.commitlog_sync = Some(place.text(value)?.parse::<CommitLogSync>().map_err(|e| place.wrong(e))?);
        }
        "commitlog_sync_period" => settings.commitlog_sync_period = Some(place.duration(value)?),
        "commitlog_segment_size" => settings.commitlog_segment_bytes = Some(place.size(value)?),
        "commitlog_total_space" => settings.commitlog_total_bytes = Some(place.size(value)?),
        "memtable_heap_space" => settings.memtable_bytes = Some(place.size(value)?),
        "row_cache_size" => settings.row_cache_bytes = Some(place.size(value)?),
        "enable_cache" => settings.enable_cache = Some(place.flag(value)?),
        "compaction_throughput" => settings.compaction_throughput = Some(place.rate(value)?),
        "stream_throughput_outbound" => settings.stream_throughput = Some(place.stream_rate(value)?),
        "min_free_space_per_drive" => settings.disk_reserve = Some(place.size(value)?),
        "auto_snapshot" => settings.auto_snapshot = Some(place.flag(value)?),
        "native_transport_max_frame_size" => settings.frame_bytes_max = Some(place.size(value)?),
        "native_transport_max_request_data_in_flight" => settings.in_flight_bytes_max = Some(place.size(value)?),
        "native_transport_max_concurrent_connections" => {
            // -1 is Cassandra's word for no limit of its own; the default limit then stands.
            let limit: i64 = place.number(value)?;
            settings.connections_max = u32::try_from(limit).ok().filter(|limit| *limit > 0);
        }
        "slow_query_log_timeout" => settings.slow_request = Some(place.duration(value)?),
        "prepared_statements_cache_size" => settings.prepared_bytes_max = Some(place.size(value)?),
        key if settings.access.read(place, key, value)? => {}
        "audit_logging_options" => settings.audit = AuditSettings::read(place, value)?,
        "dynamic_data_masking_enabled" => settings.masks_enabled = place.flag(value)?,
        key if hints::apply(place, key, value, &mut settings.hints)? => {}
        key if timeouts::apply(place, key, value, &mut settings.timeouts)? => {}
        key => return guardrails::apply(place, key, value, &mut settings.guardrails),
    }
    Ok(true)
}

fn compression(place: &Place<'_>, text: &str) -> Result<Compression, ConfigError> {
    match text {
        "none" => Ok(Compression::None),
        "dc" => Ok(Compression::BetweenDatacenters),
        "all" => Ok(Compression::All),
        _ => Err(place.wrong(format!("'{text}' is not an internode compression: none, dc or all"))),
    }
}

fn phi(place: &Place<'_>, node: &Node) -> Result<PhiThreshold, ConfigError> {
    let text = place.text(node)?;
    let threshold = text.parse().ok().and_then(PhiThreshold::new);
    threshold.ok_or_else(|| {
        let (least, most) = PhiThreshold::RANGE.into_inner();
        place.wrong(format!("'{text}' is not a number from {least} to {most}"))
    })
}

fn one_directory(place: &Place<'_>, node: &Node) -> Result<PathBuf, ConfigError> {
    match node {
        Node::Text(text) => Ok(PathBuf::from(text)),
        Node::List(list) => match list.as_slice() {
            [Node::Text(text)] => Ok(PathBuf::from(text)),
            _ => Err(place.wrong(format!("expected exactly one directory, got {}", list.len()))),
        },
        _ => Err(place.wrong("expected a directory or a list of one directory")),
    }
}
