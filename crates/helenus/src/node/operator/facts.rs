//! A shard's counters and its view of the node, as operators are told them.

use std::path::Path;

use admin::{
    Answer, Buckets, FailedFacts, KeyspaceFacts, NodeFacts, ProcessFacts, RequestFacts, RingNode, SampledFacts,
    SampledPartition, ShardFigures, SlowQuery, TableFacts, TableName, TlsFacts,
};
use cluster::coordinator::Hints;
use membership::PhiThreshold;
use query::system::{CQL_VERSION, NATIVE_PROTOCOL_VERSION, PARTITIONER, RELEASE_VERSION};
use query::{FAILED_KINDS, FailedCounts, FailedKind};
use schema::Keyspace;
use server::NotableRequest;
use storage::TableFigures;
use tls::FileFigures;
use topology::nodes::NodeState;
use topology::{HostId, NodeIndex, ReplicationStrategy};

use super::audited::audit_figures;
use super::{Cluster, Departures, Done, Operator};

impl Operator {
    pub(super) async fn node(&self) -> Done {
        let (engine, node) = (&self.engine, self.engine.node());
        let schema = engine.schema();
        let mut keyspaces = Vec::new();
        for keyspace in engine.system_schema().keyspaces().values() {
            keyspaces.push(self.keyspace(keyspace, true));
        }
        for keyspace in schema.keyspaces().values() {
            keyspaces.push(self.keyspace(keyspace, false));
            self.runtime.maybe_yield().await;
        }
        keyspaces.sort_by(|one, other| one.name.cmp(&other.name));
        let process = self.process_facts().await;
        Ok(Answer::Node(Box::new(NodeFacts {
            cassandra_version: RELEASE_VERSION,
            cql_version: CQL_VERSION,
            native_protocol_version: NATIVE_PROTOCOL_VERSION,
            partitioner: PARTITIONER,
            reactor: self.runtime.reactor_name(),
            cluster_name: node.cluster_name.clone(),
            snitch: self.snitch,
            schema_version: HostId(schema.version()).to_string(),
            ring: self.ring(),
            keyspaces,
            boot: node.boot,
            generation: self.generation(process.uptime_ms),
            group: self.cluster.as_ref().and_then(Cluster::group_facts),
            phi_threshold: self.cluster.as_ref().map_or(PhiThreshold::default().value(), Cluster::phi_threshold),
            uptime_ms: process.uptime_ms,
            is_native_served: process.is_native_served,
            compaction_throughput: process.compaction_throughput,
            trace_probability: self.engine.trace_probability(),
            resident_bytes: process.resident_bytes,
            cpu_micros: process.cpu_micros,
            memory_budget: process.memory_budget,
            tls: self.tls_facts(),
            audit: audit_figures(self),
        })))
    }

    /// The files of certificates, by who is on the other end.
    fn tls_facts(&self) -> Vec<TlsFacts> {
        let now = self.runtime.wall_clock_micros() / 1_000_000;
        let facts = |peers, figures: FileFigures| TlsFacts {
            peers,
            reloads: figures.reloads,
            failures: figures.failures,
            seconds_left: figures.not_after.and_then(|end| Some(i64::try_from(end).ok()? - now)),
        };
        let clients = self.server.tls_figures().map(|figures| facts("clients", figures));
        let nodes = self.internode_tls.as_ref().map(|identity| facts("nodes", identity.figures()));
        let operators = self.api_tls.as_ref().map(|files| facts("operators", files.figures()));
        [clients, nodes, operators].into_iter().flatten().collect()
    }

    pub(super) async fn process(&self) -> Done {
        Ok(Answer::Process(self.process_facts().await))
    }

    async fn process_facts(&self) -> ProcessFacts {
        let (resident_bytes, cpu_micros) = self.asked_of_kernel().await;
        let uptime = self.runtime.now().saturating_since(self.started);
        ProcessFacts {
            uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
            is_native_served: self.server.is_serving(),
            ring_nodes: self.engine.coordinator().ring().nodes().len(),
            compaction_throughput: self.storage.compaction_throughput() * u64::from(self.runtime.shard_count()),
            resident_bytes,
            cpu_micros,
            memory_budget: self.memory_bytes,
        }
    }

    fn ring(&self) -> Vec<RingNode> {
        let (coordinator, ring) = (self.engine.coordinator(), self.engine.coordinator().ring());
        let nodes = (0u16..).map(NodeIndex).zip(ring.nodes());
        nodes
            .map(|(index, node)| {
                let life = self.cluster.as_ref().and_then(|cluster| cluster.life(node.host_id));
                let is_up = match &life {
                    Some(life) => life.verdict == "up",
                    None => coordinator.is_up(node.host_id),
                };
                let state = self.cluster.as_ref().and_then(|cluster| Departures::of(cluster).state_of(node.host_id));
                RingNode {
                    endpoint: node.address.ip(),
                    host_id: node.host_id.to_string(),
                    datacenter: node.datacenter.clone(),
                    rack: node.rack.clone(),
                    tokens: node.tokens.iter().map(|token| token.0).collect(),
                    is_local: index == ring.local(),
                    is_up,
                    is_joining: state == Some(NodeState::Joining),
                    is_leaving: state == Some(NodeState::Leaving),
                    life,
                }
            })
            .collect()
    }

    /// The start of this process by its wall clock, seconds, as other nodes hear it.
    fn generation(&self, uptime_ms: u64) -> u64 {
        let of_start = || u64::try_from(self.runtime.wall_clock_micros() / 1000).unwrap_or(0).saturating_sub(uptime_ms);
        self.cluster.as_ref().map_or_else(|| of_start() / 1000, Cluster::generation)
    }

    fn keyspace(&self, keyspace: &Keyspace, is_system: bool) -> KeyspaceFacts {
        KeyspaceFacts {
            name: keyspace.name().to_owned(),
            is_system,
            is_local: matches!(keyspace.strategy(), ReplicationStrategy::Local),
            tables: keyspace.tables.keys().cloned().collect(),
            replication: keyspace.def.replication.clone(),
            ownership: self.engine.ownership(keyspace.name()),
        }
    }

    /// What the kernel says of the process: resident bytes, and microseconds of processor time.
    async fn asked_of_kernel(&self) -> (Option<u64>, Option<u64>) {
        let text = async |path: &str| {
            let bytes = self.runtime.read_file(Path::new(path)).await.ok()?;
            String::from_utf8(bytes).ok()
        };
        let (status, stat) = (text("/proc/self/status").await, text("/proc/self/stat").await);
        let cpu_micros = |stat: String| u64::try_from(stdx::procfs::cpu_time(&stat)?.as_micros()).ok();
        (status.and_then(|status| stdx::procfs::resident_bytes(&status)), stat.and_then(cpu_micros))
    }

    pub(super) async fn figures(&self) -> Done {
        let (served, asked) = (self.server.stats(), self.engine.stats());
        let (stored, load, rows) = (self.storage.stats(), self.storage.load(), self.storage.cache_counters());
        let hints = self.engine.coordinator().hints().map(Hints::figures).unwrap_or_default();
        let mut compactions_waiting = 0;
        for table in self.storage.table_ids() {
            compactions_waiting += u64::from(self.storage.wants_compaction(table));
            self.runtime.maybe_yield().await;
        }
        let ring = self.engine.coordinator().counters();
        let read = ring.reads;
        let kinds = self.server.requests_by_kind().into_iter();
        Ok(Answer::Figures(Box::new(ShardFigures {
            runtime: self.runtime.stats(),
            connections: served.connections,
            connections_total: served.connections_total,
            requests: served.requests,
            requests_waited: served.requests_waited,
            requests_handed_over: served.requests_handed_over,
            requests_under_way: served.requests_under_way,
            bytes_in_flight: served.bytes_in_flight,
            overloaded: served.overloaded,
            protocol_errors: served.protocol_errors,
            events_dropped: served.events_dropped,
            requests_slow: served.requests_slow,
            replies_large: served.replies_large,
            by_kind: kinds.map(|(kind, micros)| RequestFacts { kind, micros }).collect(),
            errors: self.server.errors(),
            requests_now: asked.requests_now,
            requests_run: asked.requests_run,
            unprepared: asked.unprepared,
            prepared: asked.prepared,
            prepared_evictions: asked.prepared_evictions,
            memtable_bytes: stored.memory_used as u64,
            memtable_budget: stored.memory_budget as u64,
            mutations: stored.mutations,
            memtable_partitions: stored.partitions,
            replayed: stored.replayed,
            writes_waiting: load.writes_waiting,
            flushes: stored.flushes,
            flushes_active: load.flushes_active,
            flushes_waiting: load.flushes_waiting,
            flush_failures: load.flush_failures,
            log_appended: stored.log_appended,
            log_groups: stored.log_groups,
            log_written: stored.log_written,
            log_segments: stored.log_segments,
            sstables: stored.files,
            disk_bytes: load.disk_bytes,
            file_memory_bytes: load.file_memory_bytes,
            reads_active: load.reads_active,
            reads_waiting: load.reads_waiting,
            page_bytes: load.page_bytes,
            page_bytes_max: load.page_bytes_max,
            page_hits: load.reads.index_hits,
            page_evictions: load.reads.index_evictions,
            index_reads: load.reads.index_reads,
            data_reads: load.reads.data_reads,
            data_read_bytes: load.reads.data_bytes,
            row_hits: rows.hits,
            row_misses: rows.misses,
            row_inserts: rows.inserts,
            row_evictions: rows.evictions,
            row_fills_refused: rows.refused,
            row_merges: rows.merged,
            row_entries: rows.entries,
            row_bytes: rows.bytes,
            row_bytes_max: rows.bytes_max,
            hints_created: hints.created,
            hints_delivered: hints.delivered,
            hints_rerouted: hints.rerouted,
            hints_failed: hints.failed,
            hints_dropped: hints.dropped,
            hints_void: hints.void,
            hints_bytes: hints.bytes,
            hints_bytes_max: hints.bytes_max,
            speculative_retries: read.speculative_retries,
            speculative_failed_retries: read.speculative_failed_retries,
            speculative_insufficient_replicas: read.speculative_insufficient_replicas,
            replaced_replicas: read.replaced_replicas,
            digest_mismatches: read.digest_mismatches,
            repaired_blocking: read.repaired_blocking,
            speculated_repair_writes: read.speculated_repair_writes,
            stale_refusals: ring.stale_refusals,
            planned_again: ring.planned_again,
            batch_copies: ring.batch_copies,
            batch_copies_failed: ring.batch_copies_failed,
            batch_copies_delivered: ring.batch_copies_delivered,
            batch_copies_kept: ring.batch_copies_kept,
            failed: failed_facts(&asked.failed),
            compactions: stored.compactions,
            compactions_active: u64::from(self.storage.running_compaction().is_some()),
            compactions_waiting,
            compacted_inputs: stored.compacted.inputs,
            compacted_outputs: stored.compacted.outputs,
            compacted_bytes: stored.compacted.bytes,
        })))
    }

    pub(super) fn sampled(&self) -> SampledFacts {
        let sampled = self.storage.end_sampling();
        // A table may have been dropped meanwhile.
        let partition = |sampled: &storage::SampledPartition| {
            let (keyspace, table, key) = self.engine.partition_text(sampled.table, &sampled.key)?;
            let table = TableName { keyspace, table };
            Some(SampledPartition { table, key, count: sampled.count, error: sampled.error })
        };
        SampledFacts {
            reads: sampled.reads.iter().filter_map(partition).collect(),
            writes: sampled.writes.iter().filter_map(partition).collect(),
        }
    }

    /// Oldest first.
    pub(super) fn slow_queries(&self) -> Vec<SlowQuery> {
        let query = |request: NotableRequest| SlowQuery {
            when_ms: request.when_ms,
            keyspace: request.asked.keyspace,
            statement: request.asked.statement,
            micros: request.micros,
            bytes: request.reply_bytes as u64,
            client: request.client,
            kind: request.kind.name(),
        };
        self.server.notable_requests().into_iter().map(query).collect()
    }

    pub(super) async fn tables(&self, names: &[TableName], is_brief: bool) -> Done {
        let ids = match names {
            [] => self.storage.table_ids(),
            names => self.find_all(names)?.iter().map(|table| table.id).collect(),
        };
        let mut tables = Vec::with_capacity(ids.len());
        for id in ids {
            // A table may be dropped while this goes over them.
            if let Some(figures) = self.storage.table_figures(id, is_brief) {
                tables.push(facts_of(figures));
            }
            self.runtime.maybe_yield().await;
        }
        Ok(Answer::Tables(tables))
    }
}

fn failed_facts(failed: &[FailedCounts; FAILED_KINDS]) -> Vec<FailedFacts> {
    let of = |(kind, counts): (FailedKind, &FailedCounts)| FailedFacts {
        kind: kind.name(),
        timeouts: counts.timeouts,
        unavailables: counts.unavailables,
        failures: counts.failures,
    };
    FailedKind::ALL.into_iter().zip(failed).map(of).collect()
}

fn facts_of(figures: TableFigures) -> TableFacts {
    let buckets = |buckets: storage::Buckets| Buckets { offsets: buckets.offsets, counts: buckets.counts };
    TableFacts {
        name: Some(TableName { keyspace: figures.keyspace, table: figures.name }),
        id: HostId(figures.id.0).to_string(),
        sstables: figures.sstables,
        sstables_shared: figures.sstables_shared,
        sstables_per_level: figures.sstables_per_level,
        disk_bytes: figures.disk_bytes,
        compressible_bytes: figures.compressible_bytes,
        compressed_bytes: figures.compressed_bytes,
        partitions: figures.partitions,
        partition_sizes: buckets(figures.partition_sizes),
        cell_counts: buckets(figures.cell_counts),
        cells: figures.cells,
        droppable: figures.droppable,
        filter_bytes: figures.filter_bytes,
        filter_true_positives: figures.filter_counts.true_positives,
        filter_false_positives: figures.filter_counts.false_positives,
        filter_negatives: figures.filter_negatives,
        memtable_bytes: figures.memtable_bytes,
        memtable_partitions: figures.memtable_partitions,
        memtables_frozen: figures.memtables_frozen,
        flushes: figures.flushes,
        reads: figures.reads,
        writes: figures.writes,
        read_micros: figures.read_micros,
        write_micros: figures.write_micros,
        files_per_read: figures.files_per_read,
        compactions_waiting: u64::from(figures.wants_compaction),
        is_autocompaction_on: figures.is_autocompaction_on,
    }
}
