//! The configuration as `system_views.settings` shows it: the keys that are acted on, with the values in effect.

use super::guardrails;
use super::timeouts;
use super::units::{shown_duration as duration, shown_size as size};
use super::{AuditOptions, CommitLogSync, Config, HintOptions};

impl Config {
    /// Names of the file's keys and their values; `None` is what was left open.
    pub fn shown(&self) -> Vec<(String, Option<String>)> {
        let sync = match self.commitlog_sync {
            CommitLogSync::Group => "group",
            CommitLogSync::Batch => "batch",
            CommitLogSync::Periodic => "periodic",
        };
        let folder = self.data_dir.display();
        let in_flight = self.limits.shard_bytes_in_flight_max as u64 * u64::from(self.shards);
        let all = [
            ("api_address", self.api.map(|api| api.address.ip().to_string())),
            ("api_port", Some(self.api.map_or(0, |api| api.address.port()).to_string())),
            ("auto_snapshot", Some(self.auto_snapshot.to_string())),
            ("broadcast_rpc_address", self.broadcast.map(|address| address.to_string())),
            ("cluster_name", Some(self.cluster_name.clone())),
            ("commitlog_segment_size", Some(size(self.commitlog_segment_bytes))),
            ("commitlog_sync", Some(sync.to_owned())),
            ("commitlog_sync_period", Some(duration(self.commitlog_sync_period))),
            ("commitlog_total_space", self.commitlog_total_bytes.map(size)),
            ("compaction_throughput", Some(format!("{}/s", size(self.compaction_throughput)))),
            ("data_file_directories", Some(format!("[{folder}]"))),
            ("dynamic_data_masking_enabled", Some(self.masks_enabled.to_string())),
            ("enable_cache", Some((self.row_cache_bytes != Some(0)).to_string())),
            ("memtable_heap_space", self.memtable_bytes.map(size)),
            ("min_free_space_per_drive", Some(size(self.disk_reserve))),
            ("native_shard_aware_transport_port", self.listen.shard_aware.map(|port| port.address.port().to_string())),
            ("native_transport_max_concurrent_connections", Some(self.limits.connections_max.to_string())),
            ("native_transport_max_frame_size", Some(size(self.limits.frame_bytes_max as u64))),
            ("native_transport_max_request_data_in_flight", Some(size(in_flight))),
            ("native_transport_port", Some(self.listen.native.address.port().to_string())),
            ("partitioner", Some("org.apache.cassandra.dht.Murmur3Partitioner".to_owned())),
            ("prepared_statements_cache_size", self.prepared_bytes_max.map(size)),
            ("prometheus_address", self.metrics.map(|metrics| metrics.address.ip().to_string())),
            ("prometheus_port", Some(self.metrics.map_or(0, |metrics| metrics.address.port()).to_string())),
            ("row_cache_size", self.row_cache_bytes.map(size)),
            ("rpc_address", Some(self.listen.native.address.ip().to_string())),
            ("slow_query_log_timeout", Some(slow(self.limits.slow_request_micros))),
            ("stream_throughput_outbound", Some(format!("{}/s", size(self.stream_throughput)))),
        ];
        let mut all: Vec<_> = all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        all.extend(guardrails::shown(&self.guardrails));
        all.extend(self.access.shown());
        all.extend(shown_audit(&self.audit));
        all.extend(shown_hints(&self.hints));
        all.extend(timeouts::shown(&self.timeouts));
        all.sort();
        all
    }
}

/// As Cassandra's table of settings has them: the key, and the option behind it.
fn shown_audit(options: &AuditOptions) -> Vec<(String, Option<String>)> {
    let enabled = ("enabled", options.enabled.to_string());
    let all = options.shown().into_iter().chain([enabled]);
    all.map(|(name, value)| (format!("audit_logging_options_{name}"), Some(value))).collect()
}

fn shown_hints(options: &HintOptions) -> Vec<(String, Option<String>)> {
    let datacenters: Vec<&str> = options.disabled_datacenters.iter().map(String::as_str).collect();
    let all = [
        ("hinted_handoff_disabled_datacenters", format!("[{}]", datacenters.join(", "))),
        ("hinted_handoff_enabled", options.is_enabled.to_string()),
        ("hinted_handoff_throttle", size(options.throttle)),
        ("hints_directory", options.dir.as_ref().map(|dir| dir.display().to_string()).unwrap_or_default()),
        ("hints_flush_period", duration(options.flush_period)),
        ("max_hint_window", duration(options.window)),
        ("max_hints_file_size", size(options.file_bytes_max)),
        ("max_hints_size_per_host", size(options.host_bytes_max.unwrap_or(0))),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect()
}

/// The limit that means none is Cassandra's 0.
fn slow(micros: u64) -> String {
    match micros {
        u64::MAX => "0ms".to_owned(),
        micros if micros.is_multiple_of(1000) => format!("{}ms", micros / 1000),
        micros => format!("{micros}us"),
    }
}
