//! What shards tell: plain data, copied at one moment.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use runtime::RuntimeStats;
use stdx::LogHistogram;

/// A table by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Its keyspace.
    pub keyspace: String,
    /// Its own.
    pub table: String,
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.keyspace, self.table)
    }
}

/// One node of the ring as this one sees it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct RingNode {
    pub endpoint: IpAddr,
    pub host_id: String,
    pub datacenter: String,
    pub rack: String,
    pub tokens: Vec<i64>,
    /// Whether it is this node.
    pub is_local: bool,
    /// Whether it answers; this one does.
    pub is_up: bool,
    /// True if it has no tokens yet.
    pub is_joining: bool,
    /// True if it is to leave the cluster.
    pub is_leaving: bool,
    /// Its life, if it is of a cluster whose nodes find each other.
    pub life: Option<LifeFacts>,
}

/// The life of a node: this node's judgement of it, and what it says of itself.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "docs/internals/admin.md says what each of them means")]
pub struct LifeFacts {
    pub verdict: &'static str,
    pub since_ms: u64,
    pub silence_ms: Option<u64>,
    pub limit_ms: u64,
    pub gap_ms: Option<u64>,
    pub phi: f64,
    pub heartbeats: u64,
    pub is_ready: bool,
    pub generation: Option<u64>,
    pub load_bytes: Option<u64>,
    pub schema_version: Option<String>,
    /// Its wall clock less this node's, and the most by which that is wrong, microseconds.
    pub clock_offset_micros: Option<(i64, i64)>,
    /// Where other nodes, and clients, reach it.
    pub internode: SocketAddr,
    pub native: SocketAddr,
}

/// The metadata group as a member sees it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "docs/internals/admin.md says what each of them means")]
pub struct GroupFacts {
    pub id: String,
    pub incarnation: u64,
    pub epoch: u64,
    /// Changes that are committed, and that not all shards have applied.
    pub pending: u64,
    pub term: u64,
    pub voters: Vec<SocketAddr>,
    pub leader: Option<SocketAddr>,
    pub is_voter: bool,
    /// The voters are being changed.
    pub is_changing: bool,
    /// Nodes that are not known to have applied the epoch.
    pub lagging: usize,
}

/// The operations that move token ranges, and the nodes with leftovers, as a node has applied them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationsFacts {
    /// Those that have not ended, in the order in which they were asked for.
    pub operations: Vec<OperationFacts>,
    /// Host ids of the nodes with leftovers.
    pub unclean: Vec<String>,
    /// True if the asked node leads the metadata group, and so the operations.
    pub leads: bool,
}

/// An operation that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationFacts {
    /// Its number.
    pub number: u64,
    /// Its kind, as operators read it.
    pub kind: String,
    /// Its phase, as operators read it.
    pub phase: String,
    /// Host ids of the nodes whose tokens it changes, or that copy their ranges again.
    pub nodes: Vec<String>,
    /// The host id of the node among them that another one replaces.
    pub replaced: Option<String>,
    /// The keyspace whose replication it changes.
    pub keyspace: Option<String>,
    /// Host ids of the nodes that have copied all that they are to copy.
    pub copied: Vec<String>,
    /// Host ids of the nodes that it has given up as lost, by force: what only they had may be lost.
    pub lost: Vec<String>,
    /// The reason for which it does not go on, as far as the asked node leads and knows it.
    pub waits_for: Option<String>,
}

/// The copies to and from a shard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamFacts {
    /// Copies that other nodes have open at this shard.
    pub open: u64,
    /// The copies that the node makes for an operation; those of shard 0 are of the node.
    pub copying: Option<CopyingFacts>,
}

/// How far the copies are that a node makes for an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CopyingFacts {
    /// The operation's number.
    pub operation: u64,
    /// The part that is copied, from 0 to 1.
    pub part: f64,
    /// Rows received.
    pub rows: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Files written.
    pub files: u64,
    /// Milliseconds since the copies began.
    pub elapsed_ms: u64,
}

/// A repair as its leader knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "docs/internals/admin.md says what each of them means")]
pub struct RepairFacts {
    /// `RUNNING`, `SUCCESSFUL` or `FAILED`.
    pub state: &'static str,
    /// Why it failed.
    pub error: Option<String>,
    /// Lines from the one asked for on, each with the wall clock, milliseconds since 1970.
    pub lines: Vec<(i64, String)>,
    pub units_done: u64,
    pub units: u64,
    pub rows: u64,
    pub bytes: u64,
    pub files: u64,
}

/// A keyspace and the names of its tables.
#[derive(Debug, Clone)]
pub struct KeyspaceFacts {
    /// Its name.
    pub name: String,
    /// Whether it is the server's own.
    pub is_system: bool,
    /// Whether each node has its own.
    pub is_local: bool,
    /// Its tables, by name.
    pub tables: Vec<String>,
    /// The replication option: `class`, and what belongs to it.
    pub replication: BTreeMap<String, String>,
    /// For each node of the ring, in its order, what part of the ring it has a copy of.
    pub ownership: Vec<f64>,
}

/// The node as shard 0 knows it.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct NodeFacts {
    pub cassandra_version: &'static str,
    pub cql_version: &'static str,
    pub native_protocol_version: &'static str,
    pub partitioner: &'static str,
    pub reactor: &'static str,
    pub cluster_name: String,
    pub snitch: &'static str,
    pub schema_version: String,
    pub ring: Vec<RingNode>,
    pub keyspaces: Vec<KeyspaceFacts>,
    /// How many times the node was started on its data.
    pub boot: u64,
    /// The start of the process by its wall clock, seconds since 1970.
    pub generation: u64,
    /// The metadata group, of a node that is of one with others.
    pub group: Option<GroupFacts>,
    /// Phi with which a node is convicted.
    pub phi_threshold: f64,
    pub uptime_ms: u64,
    /// Whether clients are served.
    pub is_native_served: bool,
    /// Bytes a second of all shards; 0: no limit.
    pub compaction_throughput: u64,
    /// How likely a request is traced that does not ask for it.
    pub trace_probability: f64,
    /// The process: bytes in memory, microseconds of processor time, open files. `None`: the kernel does not say.
    pub resident_bytes: Option<u64>,
    pub cpu_micros: Option<u64>,
    /// The memory that all shards may use.
    pub memory_budget: u64,
    /// The files of certificates that there are.
    pub tls: Vec<TlsFacts>,
    /// The audit log; `None`: there is none.
    pub audit: Option<AuditFigures>,
}

/// The audit log as it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditFacts {
    /// True if entries are written.
    pub is_on: bool,
    /// Its options by name, in Cassandra's order.
    pub options: Vec<(String, String)>,
}

/// Counts of the audit log.
#[derive(Debug, Clone, Copy)]
pub struct AuditFigures {
    /// Entries that were written.
    pub written: u64,
    /// Entries that were dropped.
    pub dropped: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Writes that failed.
    pub failures: u64,
    /// Bytes that wait.
    pub queue_weight: u64,
    /// True if entries are written.
    pub is_on: bool,
}

/// Files of certificates, as shard 0 follows them.
#[derive(Debug, Clone)]
pub struct TlsFacts {
    /// The other ends of the connections: clients, nodes, operators.
    pub peers: &'static str,
    /// Times that new files were taken.
    pub reloads: u64,
    /// Times that files could not be used.
    pub failures: u64,
    /// Seconds until the certificate in use ends; below 0 after its end; `None`: unknown.
    pub seconds_left: Option<i64>,
}

impl NodeFacts {
    /// This node.
    pub fn local(&self) -> &RingNode {
        self.ring.iter().find(|node| node.is_local).expect("a node is part of its ring")
    }

    /// The user's tables, or all.
    pub fn tables(&self, with_system: bool) -> impl Iterator<Item = TableName> + '_ {
        self.keyspaces.iter().filter(move |keyspace| with_system || !keyspace.is_system).flat_map(|keyspace| {
            let name = |table: &String| TableName { keyspace: keyspace.name.clone(), table: table.clone() };
            keyspace.tables.iter().map(name)
        })
    }

    /// A keyspace by its name.
    pub fn keyspace(&self, name: &str) -> Option<&KeyspaceFacts> {
        self.keyspaces.iter().find(|keyspace| keyspace.name == name)
    }
}

/// The process as shard 0 knows it: what is asked for each second.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ProcessFacts {
    pub uptime_ms: u64,
    /// Whether clients are served.
    pub is_native_served: bool,
    /// The nodes of the ring, this one among them.
    pub ring_nodes: usize,
    /// Bytes a second of all shards; 0: no limit.
    pub compaction_throughput: u64,
    /// Bytes in memory, microseconds of processor time. `None`: the kernel does not say.
    pub resident_bytes: Option<u64>,
    pub cpu_micros: Option<u64>,
    /// The memory that all shards may use.
    pub memory_budget: u64,
}

/// One kind of requests on one shard.
#[derive(Debug, Clone)]
pub struct RequestFacts {
    /// The kind's name.
    pub kind: &'static str,
    /// Microseconds from the arrival to the reply of each.
    pub micros: LogHistogram,
}

/// Requests of one kind that too few replicas answered, on one shard.
#[derive(Debug, Clone)]
pub struct FailedFacts {
    /// The kind's name.
    pub kind: &'static str,
    /// Too few answered in time.
    pub timeouts: u64,
    /// Too few were alive.
    pub unavailables: u64,
    /// Too many refused.
    pub failures: u64,
}

/// A request that was slow, or whose reply was large.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "docs/internals/admin.md says what each of them means")]
pub struct SlowQuery {
    pub when_ms: i64,
    pub keyspace: String,
    pub statement: String,
    pub micros: u64,
    pub bytes: u64,
    pub client: String,
    /// Of [`RequestFacts`].
    pub kind: &'static str,
}

/// One shard's counters.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "docs/guide/metrics.md says what each of them means")]
pub struct ShardFigures {
    pub runtime: RuntimeStats,

    pub connections: u64,
    pub connections_total: u64,
    pub requests: u64,
    pub requests_waited: u64,
    /// Requests that another shard was to run, since it has their partition.
    pub requests_handed_over: u64,
    pub requests_under_way: u64,
    pub bytes_in_flight: u64,
    pub overloaded: u64,
    pub protocol_errors: u64,
    pub events_dropped: u64,
    pub requests_slow: u64,
    pub replies_large: u64,
    pub by_kind: Vec<RequestFacts>,
    /// Name of an error and how often it was answered.
    pub errors: Vec<(&'static str, u64)>,
    /// Requests that too few replicas answered.
    pub failed: Vec<FailedFacts>,

    pub requests_now: u64,
    pub requests_run: u64,
    pub unprepared: u64,
    pub prepared: u64,
    pub prepared_evictions: u64,

    pub memtable_bytes: u64,
    pub memtable_budget: u64,
    pub mutations: u64,
    pub memtable_partitions: u64,
    pub replayed: u64,
    pub writes_waiting: u64,
    pub flushes: u64,
    pub flushes_active: u64,
    pub flushes_waiting: u64,
    pub flush_failures: u64,

    pub log_appended: u64,
    pub log_groups: u64,
    pub log_written: u64,
    pub log_segments: u64,

    pub sstables: u64,
    pub disk_bytes: u64,
    pub file_memory_bytes: u64,
    pub reads_active: u64,
    pub reads_waiting: u64,
    pub page_bytes: u64,
    pub page_bytes_max: u64,
    pub page_hits: u64,
    pub page_evictions: u64,
    pub index_reads: u64,
    pub data_reads: u64,
    pub data_read_bytes: u64,

    pub row_hits: u64,
    pub row_misses: u64,
    pub row_inserts: u64,
    pub row_evictions: u64,
    pub row_fills_refused: u64,
    pub row_merges: u64,
    pub row_entries: u64,
    pub row_bytes: u64,
    pub row_bytes_max: u64,

    pub hints_created: u64,
    pub hints_delivered: u64,
    pub hints_rerouted: u64,
    pub hints_failed: u64,
    pub hints_dropped: u64,
    pub hints_void: u64,
    pub hints_bytes: u64,
    pub hints_bytes_max: u64,
    pub speculative_retries: u64,
    pub speculative_failed_retries: u64,
    pub speculative_insufficient_replicas: u64,
    pub replaced_replicas: u64,
    pub digest_mismatches: u64,
    pub repaired_blocking: u64,
    pub speculated_repair_writes: u64,
    pub stale_refusals: u64,
    pub planned_again: u64,
    pub batch_copies: u64,
    pub batch_copies_failed: u64,
    pub batch_copies_delivered: u64,
    pub batch_copies_kept: u64,

    pub compactions: u64,
    pub compactions_active: u64,
    /// Tables with pending compactions.
    pub compactions_waiting: u64,
    pub compacted_inputs: u64,
    pub compacted_outputs: u64,
    pub compacted_bytes: u64,
}

/// One shard's hints, or those of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "docs/internals/hints.md says what each of them means")]
pub struct HintFacts {
    pub is_enabled: bool,
    pub is_paused: bool,
    pub disabled_datacenters: Vec<String>,
    pub window_ms: u64,
    /// Bytes a second of the node to another; 0: no limit.
    pub throttle: u64,
    pub pending: Vec<NodeHintFacts>,
}

/// Hints that wait for one node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct NodeHintFacts {
    pub host_id: String,
    pub files: u64,
    pub bytes: u64,
    /// The times at which the oldest and the newest file were made.
    pub oldest_ms: u64,
    pub newest_ms: u64,
}

impl HintFacts {
    /// Adds what waits on another shard. What is set is the same on all.
    pub fn merge(&mut self, other: HintFacts) {
        for pending in other.pending {
            match self.pending.iter_mut().find(|own| own.host_id == pending.host_id) {
                Some(own) => {
                    own.files += pending.files;
                    own.bytes += pending.bytes;
                    own.oldest_ms = own.oldest_ms.min(pending.oldest_ms);
                    own.newest_ms = own.newest_ms.max(pending.newest_ms);
                }
                None => self.pending.push(pending),
            }
        }
        self.pending.sort_by(|one, other| one.host_id.cmp(&other.host_id));
    }
}

/// Values by size: `counts[i]` of them are at most `offsets[i]`, and above the offset before; the last count is of those above all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Buckets {
    /// The buckets' upper bounds.
    pub offsets: Vec<u64>,
    /// One more than there are offsets, or none.
    pub counts: Vec<u64>,
}

impl Buckets {
    /// Adds what another shard has counted. Where the bounds differ, by the bounds.
    pub fn merge(&mut self, other: &Buckets) {
        if self.counts.is_empty() {
            *self = other.clone();
            return;
        }
        for (bucket, count) in other.counts.iter().enumerate() {
            let place = match other.offsets.get(bucket) {
                Some(offset) => self.offsets.partition_point(|own| own < offset),
                None => self.offsets.len(),
            };
            self.counts[place] += count;
        }
    }

    fn used(&self) -> impl DoubleEndedIterator<Item = u64> + '_ {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(bucket, _)| self.offsets.get(bucket).or(self.offsets.last()).copied().unwrap_or(0))
    }

    /// The bound of the first bucket that has any, and of the last.
    pub fn range(&self) -> Option<(u64, u64)> {
        Some((self.used().next()?, self.used().next_back()?))
    }

    /// About what the values are in the mean.
    pub fn mean(&self) -> Option<u64> {
        let count: u64 = self.counts.iter().sum();
        let offset = |bucket: usize| self.offsets.get(bucket).or(self.offsets.last()).copied().unwrap_or(0);
        let sum: f64 =
            self.counts.iter().enumerate().map(|(bucket, count)| offset(bucket) as f64 * *count as f64).sum();
        (count > 0).then(|| (sum / count as f64) as u64)
    }
}

/// One table on one shard, or summed over all.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "storage's figures say what each of them means")]
pub struct TableFacts {
    pub name: Option<TableName>,
    pub id: String,
    pub sstables: u64,
    pub sstables_shared: u64,
    pub sstables_per_level: Vec<u64>,
    pub disk_bytes: u64,
    pub compressible_bytes: u64,
    pub compressed_bytes: u64,
    pub partitions: u64,
    pub partition_sizes: Buckets,
    pub cell_counts: Buckets,
    pub cells: f64,
    pub droppable: u64,
    pub filter_bytes: u64,
    pub filter_true_positives: u64,
    pub filter_false_positives: u64,
    pub filter_negatives: u64,
    pub memtable_bytes: u64,
    pub memtable_partitions: u64,
    pub memtables_frozen: u64,
    pub flushes: u64,
    pub reads: u64,
    pub writes: u64,
    pub read_micros: LogHistogram,
    pub write_micros: LogHistogram,
    pub files_per_read: LogHistogram,
    pub compactions_waiting: u64,
    pub is_autocompaction_on: bool,
}

impl TableFacts {
    /// Adds another shard's part.
    pub fn merge(&mut self, other: &TableFacts) {
        self.sstables += other.sstables;
        // Each shard that reads a shared file counts it.
        self.sstables_shared = self.sstables_shared.max(other.sstables_shared);
        let levels = self.sstables_per_level.len().max(other.sstables_per_level.len());
        self.sstables_per_level.resize(levels, 0);
        for (own, more) in self.sstables_per_level.iter_mut().zip(&other.sstables_per_level) {
            *own += more;
        }
        self.disk_bytes += other.disk_bytes;
        self.compressible_bytes += other.compressible_bytes;
        self.compressed_bytes += other.compressed_bytes;
        self.partitions += other.partitions;
        self.partition_sizes.merge(&other.partition_sizes);
        self.cell_counts.merge(&other.cell_counts);
        self.cells += other.cells;
        self.droppable += other.droppable;
        self.filter_bytes += other.filter_bytes;
        self.filter_true_positives += other.filter_true_positives;
        self.filter_false_positives += other.filter_false_positives;
        self.filter_negatives += other.filter_negatives;
        self.memtable_bytes += other.memtable_bytes;
        self.memtable_partitions += other.memtable_partitions;
        self.memtables_frozen += other.memtables_frozen;
        self.flushes += other.flushes;
        self.reads += other.reads;
        self.writes += other.writes;
        self.read_micros.merge(&other.read_micros);
        self.write_micros.merge(&other.write_micros);
        self.files_per_read.merge(&other.files_per_read);
        self.compactions_waiting += other.compactions_waiting;
        self.is_autocompaction_on &= other.is_autocompaction_on;
    }
}

/// What came of scrubbing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct ScrubFacts {
    /// Files that were read through, and those of them that were damaged and written anew.
    pub files: u64,
    pub damaged: u64,
    /// Partitions of the damaged ones: kept, kept in part, and lost.
    pub kept: u64,
    pub in_part: u64,
    pub lost: u64,
}

/// A compaction under way on one shard.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct CompactionFacts {
    pub number: u64,
    pub is_cleanup: bool,
    pub table: TableName,
    pub written: u64,
    pub input: u64,
}

/// A compaction that ended on one shard.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "storage's figures say what each of them means")]
pub struct EndedCompactionFacts {
    pub number: u64,
    pub table: TableName,
    pub ended_ms: i64,
    pub bytes_in: u64,
    pub bytes_out: u64,
    pub merged: Vec<u64>,
}

/// A partition and how often it was seen on one shard.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SampledPartition {
    pub table: TableName,
    /// Its key, for people.
    pub key: String,
    pub count: u64,
    /// By how much the count may be too high.
    pub error: u64,
}

/// The partitions of one shard that were seen most.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SampledFacts {
    pub reads: Vec<SampledPartition>,
    pub writes: Vec<SampledPartition>,
}

/// A table's part of a snapshot.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "the names say it")]
pub struct SnapshotFacts {
    pub tag: String,
    pub table: TableName,
    /// Bytes of its files, and of those that the table itself does not have any more.
    pub total: u64,
    pub only: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_shards_add_up() {
        let mut all = Buckets::default();
        assert_eq!((all.range(), all.mean()), (None, None));
        all.merge(&Buckets { offsets: vec![1, 10, 100], counts: vec![1, 0, 0, 0] });
        all.merge(&Buckets { offsets: vec![5, 100], counts: vec![0, 2, 1] });
        assert_eq!(all.counts, [1, 0, 2, 1]);
        assert_eq!(all.range(), Some((1, 100)));
        assert_eq!(all.mean(), Some((1 + 100 + 100 + 100) / 4));
    }

    #[test]
    fn hints_of_shards_add_up_by_node() {
        let of = |host_id: &str, oldest_ms| NodeHintFacts {
            host_id: host_id.to_owned(),
            files: 1,
            bytes: 10,
            oldest_ms,
            newest_ms: oldest_ms + 5,
        };
        let mut all = HintFacts { pending: vec![of("b", 7)], ..HintFacts::default() };
        all.merge(HintFacts { pending: vec![of("a", 3), of("b", 2)], ..HintFacts::default() });
        let sum = NodeHintFacts { files: 2, bytes: 20, oldest_ms: 2, newest_ms: 12, ..of("b", 0) };
        assert_eq!(all.pending, [of("a", 3), sum]);
    }

    #[test]
    fn a_shared_file_counts_once() {
        let own = |shared| TableFacts {
            sstables: 2,
            sstables_shared: shared,
            is_autocompaction_on: true,
            ..TableFacts::default()
        };
        let mut all = own(3);
        all.merge(&own(2));
        assert_eq!((all.sstables, all.sstables_shared, all.is_autocompaction_on), (4, 3, true));
    }
}

/// The features of a cluster. Names, with commas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpgradeFacts {
    /// Those that may be used.
    pub enabled: String,
    /// Those that some node knows, and that are not enabled.
    pub waiting: String,
    /// The nodes.
    pub nodes: Vec<UpgradeNode>,
}

/// A node in an upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradeNode {
    /// Where clients reach it.
    pub endpoint: IpAddr,
    /// The release of its program.
    pub release: String,
    /// Features that other nodes know, and it does not.
    pub lacks: String,
}
