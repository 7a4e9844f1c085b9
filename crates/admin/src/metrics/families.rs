//! Which metrics there are.

use stdx::LogHistogram;

use super::text::{Kind, Text};
use crate::facts::{AuditFigures, FailedFacts, NodeFacts, ShardFigures, TableFacts, TlsFacts};
use crate::routes::{by_kind, errors, failed};

/// A metric of each shard: name, kind, meaning, and where it is read.
type OfShard = (&'static str, Kind, &'static str, fn(&ShardFigures) -> u64);

use Kind::{Counter, Gauge};

const OF_SHARDS: &[OfShard] = &[
    ("helenus_reactor_polls_total", Counter, "Polls of tasks.", |s| s.runtime.polls),
    ("helenus_reactor_turns_total", Counter, "Turns of the shard's loop.", |s| s.runtime.turns),
    ("helenus_reactor_sleeps_total", Counter, "Times that the idle shard slept.", |s| s.runtime.sleeps),
    ("helenus_reactor_stalls_over_1ms_total", Counter, "Polls that held the core for more than 1 ms.", |s| {
        s.runtime.stalls_over_1ms
    }),
    ("helenus_reactor_stalls_over_5ms_total", Counter, "Polls that held the core for more than 5 ms.", |s| {
        s.runtime.stalls_over_5ms
    }),
    ("helenus_reactor_longest_poll_microseconds", Gauge, "The longest that a poll held the core.", |s| {
        u64::try_from(s.runtime.longest_poll.as_micros()).unwrap_or(u64::MAX)
    }),
    ("helenus_reactor_cpu_microseconds_total", Counter, "Processor time of the shard's thread.", |s| {
        u64::try_from(s.runtime.cpu.as_micros()).unwrap_or(u64::MAX)
    }),
    ("helenus_reactor_tasks", Gauge, "Tasks alive.", |s| s.runtime.tasks),
    ("helenus_reactor_operations", Gauge, "Operations of the kernel in flight.", |s| s.runtime.operations),
    ("helenus_reactor_cross_shard_calls_total", Counter, "Calls sent to other shards.", |s| s.runtime.mesh_calls),
    ("helenus_transport_current_connections", Gauge, "Connections of clients.", |s| s.connections),
    ("helenus_transport_cql_connections_total", Counter, "Connections of clients since the start.", |s| {
        s.connections_total
    }),
    ("helenus_transport_requests_served_total", Counter, "Requests read, of any kind.", |s| s.requests),
    ("helenus_transport_requests_waited_total", Counter, "Requests that waited for anything but a sync.", |s| {
        s.requests_waited
    }),
    (
        "helenus_transport_requests_handed_over_total",
        Counter,
        "Requests forwarded to the shard that owns their partition.",
        |s| s.requests_handed_over,
    ),
    ("helenus_transport_requests_serving", Gauge, "Requests that wait or were forwarded.", |s| s.requests_under_way),
    ("helenus_transport_requests_memory_bytes", Gauge, "Bytes of requests and large replies in flight.", |s| {
        s.bytes_in_flight
    }),
    ("helenus_transport_requests_shed_total", Counter, "Requests refused with OVERLOADED for want of room.", |s| {
        s.overloaded
    }),
    ("helenus_transport_protocol_errors_total", Counter, "Protocol errors of clients.", |s| s.protocol_errors),
    ("helenus_transport_events_dropped_total", Counter, "Events not sent to clients that do not read.", |s| {
        s.events_dropped
    }),
    ("helenus_transport_requests_slow_total", Counter, "Requests that took slow_query_log_timeout or longer.", |s| {
        s.requests_slow
    }),
    ("helenus_transport_replies_large_total", Counter, "Requests whose replies had 1 MiB or more.", |s| {
        s.replies_large
    }),
    ("helenus_query_requests_at_once_total", Counter, "Requests answered without a task.", |s| s.requests_now),
    ("helenus_query_requests_as_tasks_total", Counter, "Requests run as tasks.", |s| s.requests_run),
    ("helenus_query_unprepared_total", Counter, "EXECUTEs of unknown prepared statements.", |s| s.unprepared),
    ("helenus_query_prepared_statements", Gauge, "Statements prepared.", |s| s.prepared),
    ("helenus_query_prepared_statements_evictions_total", Counter, "Prepared statements evicted to make room.", |s| {
        s.prepared_evictions
    }),
    ("helenus_memtables_bytes", Gauge, "Memory of memtables.", |s| s.memtable_bytes),
    ("helenus_memtables_limit_bytes", Gauge, "Memory that memtables may use.", |s| s.memtable_budget),
    ("helenus_memtables_partitions", Gauge, "Partitions in memtables.", |s| s.memtable_partitions),
    ("helenus_memtables_mutations_total", Counter, "Mutations applied.", |s| s.mutations),
    ("helenus_memtables_writes_waiting", Gauge, "Writes that wait for memory.", |s| s.writes_waiting),
    ("helenus_memtables_flushes_total", Counter, "Memtables flushed.", |s| s.flushes),
    ("helenus_memtables_flushes_running", Gauge, "Memtables being written.", |s| s.flushes_active),
    ("helenus_memtables_flushes_pending", Gauge, "Memtables that wait to be written.", |s| s.flushes_waiting),
    ("helenus_memtables_flush_failures_total", Counter, "Flushes that failed; each is retried.", |s| s.flush_failures),
    ("helenus_commitlog_appended_bytes_total", Counter, "Bytes of records.", |s| s.log_appended),
    ("helenus_commitlog_written_bytes_total", Counter, "Bytes written to segments, padding included.", |s| {
        s.log_written
    }),
    ("helenus_commitlog_groups_total", Counter, "Groups of records, each written with one sync.", |s| s.log_groups),
    ("helenus_commitlog_segments", Gauge, "Segments that hold records still needed.", |s| s.log_segments),
    ("helenus_commitlog_replayed_mutations", Gauge, "Mutations replayed at the start.", |s| s.replayed),
    ("helenus_sstables_files", Gauge, "Live SSTables.", |s| s.sstables),
    ("helenus_sstables_live_disk_space_bytes", Gauge, "Bytes of live SSTables.", |s| s.disk_bytes),
    ("helenus_sstables_memory_bytes", Gauge, "Memory of open SSTables: Bloom filters, offsets, checksums.", |s| {
        s.file_memory_bytes
    }),
    ("helenus_sstables_data_reads_total", Counter, "Reads of data files from the device.", |s| s.data_reads),
    ("helenus_sstables_data_read_bytes_total", Counter, "Bytes of those.", |s| s.data_read_bytes),
    ("helenus_sstables_reads_running", Gauge, "Reads of several memtables and SSTables in flight.", |s| s.reads_active),
    ("helenus_sstables_reads_queued", Gauge, "Reads that wait for a place among those.", |s| s.reads_waiting),
    ("helenus_sstables_index_page_hits_total", Counter, "Index pages found in memory.", |s| s.page_hits),
    ("helenus_sstables_index_page_misses_total", Counter, "Index pages read from the device.", |s| s.index_reads),
    ("helenus_sstables_index_page_evictions_total", Counter, "Index pages evicted to make room.", |s| s.page_evictions),
    ("helenus_sstables_index_page_cache_bytes", Gauge, "Memory of index pages.", |s| s.page_bytes),
    ("helenus_sstables_index_page_cache_limit_bytes", Gauge, "Memory that index pages may use.", |s| s.page_bytes_max),
    ("helenus_row_cache_hits_total", Counter, "Reads that the row cache answered.", |s| s.row_hits),
    ("helenus_row_cache_misses_total", Counter, "Reads of one partition that missed the row cache.", |s| s.row_misses),
    ("helenus_row_cache_inserts_total", Counter, "Entries put into the row cache.", |s| s.row_inserts),
    ("helenus_row_cache_evictions_total", Counter, "Entries evicted to make room.", |s| s.row_evictions),
    (
        "helenus_row_cache_fills_refused_total",
        Counter,
        "Entries not inserted: the SSTables changed meanwhile, or there was no room.",
        |s| s.row_fills_refused,
    ),
    ("helenus_row_cache_merges_total", Counter, "Entries that a flush brought up to date.", |s| s.row_merges),
    ("helenus_row_cache_entries", Gauge, "Entries in the row cache.", |s| s.row_entries),
    ("helenus_row_cache_bytes", Gauge, "Memory of the row cache.", |s| s.row_bytes),
    ("helenus_row_cache_limit_bytes", Gauge, "Memory that the row cache may use.", |s| s.row_bytes_max),
    ("helenus_hints_created_total", Counter, "Hints kept for other nodes.", |s| s.hints_created),
    ("helenus_hints_delivered_total", Counter, "Hints delivered.", |s| s.hints_delivered),
    ("helenus_hints_rerouted_total", Counter, "Hints delivered to the present replicas of their rows.", |s| {
        s.hints_rerouted
    }),
    ("helenus_hints_failed_total", Counter, "Hints that a node refused for good.", |s| s.hints_failed),
    ("helenus_hints_dropped_total", Counter, "Hints not kept: no room, past the window, disk error.", |s| {
        s.hints_dropped
    }),
    ("helenus_hints_void_total", Counter, "Mutations of hints that were truncated, dropped or too old.", |s| {
        s.hints_void
    }),
    ("helenus_hints_bytes", Gauge, "Bytes of hints that wait.", |s| s.hints_bytes),
    ("helenus_hints_limit_bytes", Gauge, "Bytes that hints may take.", |s| s.hints_bytes_max),
    (
        "helenus_coordinator_speculative_retries_total",
        Counter,
        "Reads for which another replica was asked beside a silent one.",
        |s| s.speculative_retries,
    ),
    ("helenus_coordinator_speculative_failed_retries_total", Counter, "Those of them that timed out.", |s| {
        s.speculative_failed_retries
    }),
    (
        "helenus_coordinator_speculative_insufficient_replicas_total",
        Counter,
        "Reads of a silent replica for which no other was left.",
        |s| s.speculative_insufficient_replicas,
    ),
    (
        "helenus_coordinator_replaced_replicas_total",
        Counter,
        "Replicas replaced by another in a read: they refused, or their connection ended.",
        |s| s.replaced_replicas,
    ),
    ("helenus_read_repair_reconcile_read_total", Counter, "Reads whose replicas' digests differed.", |s| {
        s.digest_mismatches
    }),
    (
        "helenus_read_repair_repaired_blocking_total",
        Counter,
        "Partitions repaired on a replica before the client was answered.",
        |s| s.repaired_blocking,
    ),
    (
        "helenus_read_repair_speculated_write_total",
        Counter,
        "Repairs written to another replica in place of a silent one.",
        |s| s.speculated_repair_writes,
    ),
    (
        "helenus_coordinator_planned_again_total",
        Counter,
        "Requests planned again, for a change of the ring or of a table.",
        |s| s.planned_again,
    ),
    (
        "helenus_fence_stale_refusals_total",
        Counter,
        "Requests that this shard refused as a replica: their plans did not know a change that it has applied.",
        |s| s.stale_refusals,
    ),
    ("helenus_batchlog_copies_total", Counter, "Copies of logged batches that other nodes keep, or have kept.", |s| {
        s.batch_copies
    }),
    (
        "helenus_batchlog_copies_failed_total",
        Counter,
        "Copies that other nodes refused, or did not keep in time.",
        |s| s.batch_copies_failed,
    ),
    ("helenus_batchlog_copies_kept", Gauge, "Copies of other nodes' batches that are kept.", |s| s.batch_copies_kept),
    (
        "helenus_batchlog_copies_delivered_total",
        Counter,
        "Copies of other nodes' batches delivered in the stead of their coordinators.",
        |s| s.batch_copies_delivered,
    ),
    ("helenus_compaction_manager_completed_compactions_total", Counter, "Compactions.", |s| s.compactions),
    ("helenus_compaction_manager_compactions", Gauge, "Compactions running.", |s| s.compactions_active),
    ("helenus_compaction_manager_pending_compactions", Gauge, "Tables with pending compactions.", |s| {
        s.compactions_waiting
    }),
    ("helenus_compaction_manager_input_files_total", Counter, "SSTables that compactions read.", |s| {
        s.compacted_inputs
    }),
    ("helenus_compaction_manager_output_files_total", Counter, "SSTables that compactions wrote.", |s| {
        s.compacted_outputs
    }),
    (
        "helenus_compaction_manager_written_bytes_total",
        Counter,
        "Bytes of data that compactions wrote, before compression.",
        |s| s.compacted_bytes,
    ),
];

/// A metric of each table, summed over the shards.
type OfTable = (&'static str, Kind, &'static str, fn(&TableFacts) -> u64);

const OF_TABLES: &[OfTable] = &[
    ("helenus_table_live_sstables", Gauge, "Live SSTables of the table.", |t| t.sstables + t.sstables_shared),
    ("helenus_table_live_disk_space_bytes", Gauge, "Bytes of the table's live SSTables.", |t| t.disk_bytes),
    ("helenus_table_memtable_bytes", Gauge, "Memory of the table's memtables.", |t| t.memtable_bytes),
    ("helenus_table_reads_total", Counter, "Reads of the table begun, later pages aside.", |t| t.reads),
    (
        "helenus_table_read_microseconds_total",
        Counter,
        "Time of the table's reads, estimated from some of them.",
        |t| t.read_micros.sum(),
    ),
    (
        "helenus_table_write_microseconds_total",
        Counter,
        "Time of the table's writes, estimated from some of them.",
        |t| t.write_micros.sum(),
    ),
    ("helenus_table_mutations_total", Counter, "Mutations applied to the table.", |t| t.writes),
    (
        "helenus_table_bloom_filter_false_positives_total",
        Counter,
        "Reads of one partition that a Bloom filter let through to an SSTable without it.",
        |t| t.filter_false_positives,
    ),
    ("helenus_table_flushes_total", Counter, "Memtables of the table flushed.", |t| t.flushes),
];

/// A metric of each kind of requests, summed over the shards.
type OfKind = (&'static str, &'static str, fn(&FailedFacts) -> u64);

const OF_KINDS: &[OfKind] = &[
    ("helenus_coordinator_timeouts_total", "Requests that too few replicas answered in time, by kind.", |f| f.timeouts),
    ("helenus_coordinator_unavailables_total", "Requests for which too few replicas were alive, by kind.", |f| {
        f.unavailables
    }),
    ("helenus_coordinator_failures_total", "Requests that too many replicas refused, by kind.", |f| f.failures),
];

const LATENCY: &str = "helenus_transport_request_latency_seconds";
const ERRORS: &str = "helenus_transport_errors_total";
const LEFT_OUT: &str = "helenus_tables_left_out";
const VERSION: &str = "helenus_build_info";
const UPTIME: &str = "helenus_uptime_seconds";
const MEMORY_LIMIT: &str = "helenus_memory_limit_bytes";
const THROUGHPUT: &str = "helenus_compaction_manager_throughput_limit_bytes";
const TLS_RELOADS: &str = "helenus_tls_reloads_total";
const TLS_FAILURES: &str = "helenus_tls_reload_failures_total";
const TLS_DAYS: &str = "helenus_tls_certificate_days";
const AUDIT_ON: &str = "helenus_audit_log_enabled";
const AUDIT_ENTRIES: &str = "helenus_audit_log_entries_total";
const AUDIT_DROPPED: &str = "helenus_audit_log_entries_dropped_total";
const AUDIT_BYTES: &str = "helenus_audit_log_written_bytes_total";
const AUDIT_FAILURES: &str = "helenus_audit_log_write_failures_total";
const AUDIT_QUEUE: &str = "helenus_audit_log_queue_bytes";
const RESIDENT: &str = "process_resident_memory_bytes";
const CPU: &str = "process_cpu_seconds_total";

/// The whole text.
pub(super) fn write(
    node: &NodeFacts,
    version: &str,
    shards: &[ShardFigures],
    tables: &[TableFacts],
    left_out: usize,
) -> String {
    let mut text = Text::default();
    write_node(&mut text, node, version, shards.len());
    let numbers: Vec<String> = (0..shards.len()).map(|shard| shard.to_string()).collect();
    for (name, kind, help, of) in OF_SHARDS {
        text.family(name, *kind, help);
        for (shard, number) in shards.iter().zip(&numbers) {
            text.sample(name, &[("shard", number)], of(shard) as f64);
        }
    }
    text.family(ERRORS, Counter, "Requests answered with an error, by the error.");
    for (error, count) in errors(shards) {
        text.sample(ERRORS, &[("error", error)], count as f64);
    }
    let failed = failed(shards);
    for (name, help, of) in OF_KINDS {
        text.family(name, Counter, help);
        for facts in &failed {
            text.sample(name, &[("kind", facts.kind)], of(facts) as f64);
        }
    }
    text.family(
        LATENCY,
        Kind::Histogram,
        "Time from a request's arrival until its reply is ready to be sent, by kind.",
    );
    for (kind, micros) in by_kind(shards) {
        write_histogram(&mut text, kind, &micros);
    }
    for (name, kind, help, of) in OF_TABLES {
        text.family(name, *kind, help);
        for table in tables {
            let Some(table_name) = &table.name else { continue };
            let labels = [("keyspace", table_name.keyspace.as_str()), ("table", table_name.table.as_str())];
            text.sample(name, &labels, of(table) as f64);
        }
    }
    text.family(LEFT_OUT, Gauge, "Tables without metrics of their own, beyond the limit.");
    text.sample(LEFT_OUT, &[], left_out as f64);
    text.finish()
}

fn write_node(text: &mut Text, node: &NodeFacts, version: &str, shards: usize) {
    text.family(VERSION, Gauge, "1; its labels say what runs.");
    let count = shards.to_string();
    let labels =
        [("version", version), ("cassandra", node.cassandra_version), ("reactor", node.reactor), ("shards", &count)];
    text.sample(VERSION, &labels, 1.0);
    text.family(UPTIME, Gauge, "Time since the node was ready.");
    text.sample(UPTIME, &[], node.uptime_ms as f64 / 1000.0);
    text.family(MEMORY_LIMIT, Gauge, "Memory that all shards may use.");
    text.sample(MEMORY_LIMIT, &[], node.memory_budget as f64);
    text.family(THROUGHPUT, Gauge, "Compaction throughput limit in bytes a second; 0 is unlimited.");
    text.sample(THROUGHPUT, &[], node.compaction_throughput as f64);
    write_tls(text, &node.tls);
    node.audit.iter().for_each(|audit| write_audit(text, audit));
    if let Some(bytes) = node.resident_bytes {
        text.family(RESIDENT, Gauge, "Resident memory of the process.");
        text.sample(RESIDENT, &[], bytes as f64);
    }
    if let Some(micros) = node.cpu_micros {
        text.family(CPU, Counter, "Processor time of the process.");
        text.sample(CPU, &[], micros as f64 / 1e6);
    }
}

fn write_audit(text: &mut Text, audit: &AuditFigures) {
    text.family(AUDIT_ON, Gauge, "1 while requests are written to the audit log.");
    text.sample(AUDIT_ON, &[], f64::from(u8::from(audit.is_on)));
    text.family(AUDIT_ENTRIES, Counter, "Entries written to the audit log's files.");
    text.sample(AUDIT_ENTRIES, &[], audit.written as f64);
    text.family(AUDIT_DROPPED, Counter, "Entries of the audit log that were dropped because its queue was full.");
    text.sample(AUDIT_DROPPED, &[], audit.dropped as f64);
    text.family(AUDIT_BYTES, Counter, "Bytes written to the audit log's files.");
    text.sample(AUDIT_BYTES, &[], audit.bytes as f64);
    text.family(AUDIT_FAILURES, Counter, "Writes of the audit log that failed; they are tried again.");
    text.sample(AUDIT_FAILURES, &[], audit.failures as f64);
    text.family(AUDIT_QUEUE, Gauge, "Bytes of entries that wait to be written to the audit log.");
    text.sample(AUDIT_QUEUE, &[], audit.queue_weight as f64);
}

/// The files of certificates, by who is on the other end of the connections.
fn write_tls(text: &mut Text, files: &[TlsFacts]) {
    if files.is_empty() {
        return;
    }
    text.family(TLS_RELOADS, Counter, "Times that changed TLS certificates were taken into use.");
    for facts in files {
        text.sample(TLS_RELOADS, &[("peers", facts.peers)], facts.reloads as f64);
    }
    text.family(TLS_FAILURES, Counter, "Times that changed TLS certificates could not be used; those in use stay.");
    for facts in files {
        text.sample(TLS_FAILURES, &[("peers", facts.peers)], facts.failures as f64);
    }
    text.family(TLS_DAYS, Gauge, "Days until the TLS certificate in use ends; below 0 after its end.");
    for facts in files {
        let Some(seconds) = facts.seconds_left else { continue };
        text.sample(TLS_DAYS, &[("peers", facts.peers)], seconds.div_euclid(86_400) as f64);
    }
}

/// Bounds that are told: each fourth of the buckets, so powers of two of microseconds, from 64 µs on.
fn write_histogram(text: &mut Text, kind: &str, micros: &LogHistogram) {
    const FIRST_MICROS: u64 = 64;
    let bucket = format!("{LATENCY}_bucket");
    let mut count = 0;
    for (bound, more) in stdx::upper_bounds().zip(micros.counts()) {
        count += more;
        let next = bound + 1;
        if next.is_power_of_two() && next >= FIRST_MICROS {
            let seconds = (next as f64 / 1e6).to_string();
            text.sample(&bucket, &[("kind", kind), ("le", &seconds)], count as f64);
        }
    }
    text.sample(&bucket, &[("kind", kind), ("le", "+Inf")], micros.count() as f64);
    text.sample(&format!("{LATENCY}_sum"), &[("kind", kind)], micros.sum() as f64 / 1e6);
    text.sample(&format!("{LATENCY}_count"), &[("kind", kind)], micros.count() as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide is this file's twin.
    #[test]
    fn the_guide_lists_every_metric_and_no_other() {
        let guide = include_str!("../../../../docs/guide/metrics.md");
        let fixed = [LATENCY, ERRORS, LEFT_OUT, VERSION, UPTIME, MEMORY_LIMIT, THROUGHPUT, RESIDENT, CPU];
        let of_tls = [TLS_RELOADS, TLS_FAILURES, TLS_DAYS];
        let of_audit = [AUDIT_ON, AUDIT_ENTRIES, AUDIT_DROPPED, AUDIT_BYTES, AUDIT_FAILURES, AUDIT_QUEUE];
        let mut names: Vec<&str> =
            OF_SHARDS.iter().map(|of| of.0).chain(OF_TABLES.iter().map(|of| of.0)).chain(fixed).chain(of_tls).collect();
        names.extend(of_audit);
        names.extend(OF_KINDS.iter().map(|of| of.0));
        let mut listed: Vec<&str> = guide
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .filter(|name| name.starts_with("helenus_") || name.starts_with("process_"))
            .collect();
        names.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, names);
    }

    #[test]
    fn names_say_their_kind() {
        for (name, kind) in OF_SHARDS.iter().map(|of| (of.0, of.1)).chain(OF_TABLES.iter().map(|of| (of.0, of.1))) {
            assert_eq!(name.ends_with("_total"), kind == Counter, "{name}");
        }
    }

    #[test]
    fn days_of_a_certificate_are_whole_and_fall_below_zero() {
        let facts = |peers, seconds_left| TlsFacts { peers, reloads: 2, failures: 3, seconds_left };
        let mut text = Text::default();
        write_tls(
            &mut text,
            &[facts("clients", Some(3 * 86_400 + 5)), facts("nodes", Some(-1)), facts("operators", None)],
        );
        let text = text.finish();
        assert!(text.contains("helenus_tls_certificate_days{peers=\"clients\"} 3\n"), "{text}");
        assert!(text.contains("helenus_tls_certificate_days{peers=\"nodes\"} -1\n"), "{text}");
        assert!(!text.contains("helenus_tls_certificate_days{peers=\"operators\"}"), "{text}");
        assert!(text.contains("helenus_tls_reload_failures_total{peers=\"operators\"} 3\n"), "{text}");
    }

    #[test]
    fn a_histogram_is_cumulative() {
        let mut micros = LogHistogram::default();
        micros.add(10, 2);
        micros.add(100, 3);
        micros.add(u64::MAX, 1);
        let mut text = Text::default();
        write_histogram(&mut text, "read", &micros);
        let text = text.finish();
        assert!(text.contains("_bucket{kind=\"read\",le=\"0.000064\"} 2\n"), "{text}");
        assert!(text.contains("_bucket{kind=\"read\",le=\"0.000128\"} 5\n"), "{text}");
        assert!(text.contains("_bucket{kind=\"read\",le=\"16.777216\"} 5\n"), "{text}");
        assert!(text.contains("_bucket{kind=\"read\",le=\"+Inf\"} 6\n"), "{text}");
        assert!(text.contains("_count{kind=\"read\"} 6\n"), "{text}");
    }
}
