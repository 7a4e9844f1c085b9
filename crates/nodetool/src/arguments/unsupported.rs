//! Cassandra's commands that are not supported, each with a sentence about why not and what does it instead.
//!
//! They are parsed, whatever their arguments are, so that a script or a person who knows them from Cassandra reads why, where clap would take them for
//! misspelt. `--help` of all commands does not list them; that of each one is there. A command that becomes supported loses its row.

use std::fmt::{Display, Formatter};

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, FromArgMatches, Subcommand};

/// A command that is not supported.
#[derive(Debug)]
pub(crate) struct Row {
    /// The command's name.
    pub(crate) name: &'static str,
    /// Its purpose in Cassandra.
    about: &'static str,
    /// Why it is not supported, and what does it instead.
    why: &'static str,
}

const VIEWS: &str = "materialized views are not supported yet";
const NO_GOSSIP: &str =
    "there is no gossip: nodes hear of each other by heartbeats, which run as long as the process does";
const NO_QUERY_LOG: &str = "there is no full query log; the audit log records statements (enableauditlog)";
const NO_BACKUPS: &str = "incremental backups are not supported; snapshot keeps the files of a moment";
const CIDR_BY_IMPORT: &str =
    "no command makes, changes or drops CIDR groups yet; import-roles imports those of a Cassandra";
const CIDR_IN_TABLE: &str =
    "not supported yet; SELECT * FROM system_auth.cidr_groups lists the groups with their ranges";
const ALWAYS_SERVED: &str =
    "clients are served from the node's start until drain; the native transport cannot be turned off alone";
const OLD_PROTOCOLS: &str = "versions of the native protocol cannot be turned on or off";
const NO_POOLS: &str = "there are no thread pools: each shard runs its own requests; tpstats prints the stages";
const COMPACTORS: &str =
    "each shard compacts its own files, one set at a time; the limit is that of setcompactionthroughput";
const ROW_INDEX: &str = "the granularity of row indexes cannot be changed";
const BATCHES: &str = "the replay of logged batches is not throttled";
const SNAPSHOT_LINKS: &str = "snapshots are not throttled";
const DEFAULT_RF: &str = "there is no default other than 1; CREATE KEYSPACE names the replication factor";
const SCHEMA_LOG: &str = "the schema is a part of the cluster's log, which each node follows by itself";
const REWRITE: &str =
    "garbagecollect rewrites each SSTable, in the current format and with the table's present compression";

/// All, by name.
pub(crate) const ALL: [Row; 65] = [
    row(
        "bootstrap",
        "Monitor/manage node's bootstrap process",
        "a node joins by itself, at its start; operations prints how far it is, abortbootstrap ends it",
    ),
    row(
        "checktokenmetadata",
        "Compare the tokens of gossip and of the ring",
        "there is no gossip whose tokens could differ from the ring's",
    ),
    row(
        "cidrfilteringstats",
        "Print statistics on CIDR filtering",
        "decisions of the CIDR authorizer are not counted yet",
    ),
    row(
        "describering",
        "Show the token ranges info of a given keyspace",
        "not supported yet; ring prints the tokens, getendpoints the replicas of a partition",
    ),
    row("disablebackup", "Disable incremental backup", NO_BACKUPS),
    row("disablebinary", "Disable native transport (binary protocol)", ALWAYS_SERVED),
    row("disablefullquerylog", "Disable the full query log", NO_QUERY_LOG),
    row("disablegossip", "Disable gossip (effectively marking the node down)", NO_GOSSIP),
    row("disableoldprotocolversions", "Disable old protocol versions", OLD_PROTOCOLS),
    row("dropcidrgroup", "Drop an existing CIDR group", CIDR_BY_IMPORT),
    row("enablebackup", "Enable incremental backup", NO_BACKUPS),
    row("enablebinary", "Reenable native transport (binary protocol)", ALWAYS_SERVED),
    row("enablefullquerylog", "Enable full query logging", NO_QUERY_LOG),
    row("enablegossip", "Reenable gossip", NO_GOSSIP),
    row("enableoldprotocolversions", "Enable old protocol versions", OLD_PROTOCOLS),
    row(
        "forcecompact",
        "Force a (major) compaction of partitions, whatever gc_grace_seconds is",
        "deletions are kept for gc_grace_seconds; ALTER TABLE lowers it, and compact removes them then",
    ),
    row(
        "gcstats",
        "Print GC statistics",
        "there is no garbage collector; the metric helenus_reactor_stalls_over_5ms_total counts pauses",
    ),
    row("getbatchlogreplaythrottle", "Print batchlog replay throttle in KB/s", BATCHES),
    row("getcidrgroupsofip", "Print CIDR groups associated with given IP", CIDR_IN_TABLE),
    row("getcolumnindexsize", "Print the granularity of the index of rows within a partition in KiB", ROW_INDEX),
    row("getconcurrency", "Get maximum concurrency for processing stages", NO_POOLS),
    row("getconcurrentcompactors", "Get the number of concurrent compactors in the system", COMPACTORS),
    row("getconcurrentviewbuilders", "Get the number of concurrent view builders in the system", VIEWS),
    row("getdefaultrf", "Get default keyspace replication factor", DEFAULT_RF),
    row("getfullquerylog", "Print configuration of the full query log", NO_QUERY_LOG),
    row(
        "getguardrailsconfig",
        "Print runtime configuration of guardrails",
        "not supported yet; SELECT * FROM system_views.settings shows the guardrails among all settings",
    ),
    row(
        "getinterdcstreamthroughput",
        "Print the throughput cap for inter-datacenter streaming",
        "streams between datacenters have no limit of their own; getstreamthroughput prints that of all streams",
    ),
    row("getseeds", "Get the seed node IP list in use", "not supported yet; status prints all nodes of the cluster"),
    row("getsnapshotthrottle", "Print the throttle for snapshot/clearsnapshot in links per second", SNAPSHOT_LINKS),
    row(
        "getsstables",
        "Print the SSTable filenames that own the key",
        "not supported yet; helenus sstable dump prints the partitions of a file",
    ),
    row(
        "import",
        "Import new SSTables to the system",
        "place the SSTables in the table's upload/ folder, and run refresh",
    ),
    row(
        "invalidaterowcache",
        "Invalidate the row cache",
        "not supported yet: the row cache is emptied at a restart alone",
    ),
    row("join", "Join the ring", "a node joins the ring by itself, at its start"),
    row("listcidrgroups", "List existing CIDR groups", CIDR_IN_TABLE),
    row(
        "rangekeysample",
        "Show the sampled keys held across all keyspaces",
        "there are no index summaries, whose keys it prints",
    ),
    row(
        "rebuild_index",
        "A full rebuild of native secondary indexes for a given table",
        "secondary indexes are not supported yet",
    ),
    row("recompress_sstables", "Rewrite SSTables that have another compression than the table", REWRITE),
    row(
        "refreshsizeestimates",
        "Refresh system.size_estimates",
        "system.size_estimates is empty: token ranges are not estimated yet",
    ),
    row("reloadlocalschema", "Reload local node schema from system tables", SCHEMA_LOG),
    row("reloadseeds", "Reload the seed node list from the seed node provider", "seeds are read at a start alone"),
    row("reloadtriggers", "Reload trigger classes", "triggers are not supported"),
    row("relocatesstables", "Relocate SSTables to the correct disk", "a node has a single data directory"),
    row(
        "repair_admin",
        "List and fail incremental repair sessions",
        "there are no incremental repairs, and so no sessions of them",
    ),
    row(
        "replaybatchlog",
        "Kick off batchlog replay and wait for finish",
        "logged batches are replayed by themselves, and cannot be hurried",
    ),
    row("resetfullquerylog", "Stop the full query log and clean its files", NO_QUERY_LOG),
    row("resetlocalschema", "Reset node's local schema and resync", SCHEMA_LOG),
    row("setbatchlogreplaythrottle", "Set batchlog replay throttle in KB per second", BATCHES),
    row(
        "setcachecapacity",
        "Set global key, row, and counter cache capacities (in MB units)",
        "the row cache is the one cache of the three, and its size is set in cassandra.yaml: row_cache_size",
    ),
    row(
        "setcachekeystosave",
        "Set number of keys saved by each cache",
        "caches are not saved: they are empty at a start",
    ),
    row("setcolumnindexsize", "Set the granularity of the index of rows within a partition in KiB", ROW_INDEX),
    row(
        "setcompactionthreshold",
        "Set min and max compaction thresholds for a given table",
        "ALTER TABLE … WITH compaction sets min_threshold and max_threshold, on all nodes",
    ),
    row("setconcurrency", "Set maximum concurrency for processing stage", NO_POOLS),
    row("setconcurrentcompactors", "Set number of concurrent compactors in the system", COMPACTORS),
    row("setconcurrentviewbuilders", "Set the number of concurrent view builders in the system", VIEWS),
    row("setdefaultrf", "Set default keyspace replication factor", DEFAULT_RF),
    row(
        "setguardrailsconfig",
        "Modify runtime configuration of guardrails",
        "guardrails are set in cassandra.yaml, and hold from the next start",
    ),
    row(
        "setinterdcstreamthroughput",
        "Set the throughput cap for inter-datacenter streaming",
        "streams between datacenters have no limit of their own; setstreamthroughput sets that of all streams",
    ),
    row("setsnapshotthrottle", "Set the throttle for snapshot and clearsnapshot in links per second", SNAPSHOT_LINKS),
    row("sjk", "Run commands of 'Swiss Java Knife'", "its commands inspect a Java process, and there is none"),
    row("statusbackup", "Status of incremental backup", NO_BACKUPS),
    row("stopdaemon", "Stop the daemon", "SIGTERM ends the process in order; the system's service manager sends it"),
    row("updatecidrgroup", "Insert/Update a CIDR group", CIDR_BY_IMPORT),
    row("upgradesstables", "Rewrite SSTables that are not on the current version", REWRITE),
    row(
        "verify",
        "Verify (check data checksum for) one or more tables",
        "not supported yet on a running node; helenus sstable verify checks files, scrub repairs damaged ones",
    ),
    row("viewbuildstatus", "Show progress of a materialized view build", VIEWS),
];

const fn row(name: &'static str, about: &'static str, why: &'static str) -> Row {
    Row { name, about, why }
}

/// One of them, as it was asked for.
#[derive(Debug)]
pub(crate) struct Unsupported(&'static Row);

impl Display for Unsupported {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.name, self.0.why)
    }
}

fn find(name: &str) -> Option<&'static Row> {
    static ROWS: &[Row] = &ALL;
    ROWS.iter().find(|row| row.name == name)
}

impl FromArgMatches for Unsupported {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Unsupported, clap::Error> {
        let found = matches.subcommand_name().and_then(find);
        found.map(Unsupported).ok_or_else(|| clap::Error::new(ErrorKind::InvalidSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Unsupported::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Unsupported {
    fn augment_subcommands(command: Command) -> Command {
        let of_row = |row: &Row| {
            let any = Arg::new("any").hide(true).num_args(0..).trailing_var_arg(true).allow_hyphen_values(true);
            Command::new(row.name)
                .about(row.about)
                .after_help(format!("It is refused. {}: {}.", row.name, row.why))
                .hide(true)
                .arg(any)
        };
        command.subcommands(ALL.iter().map(of_row))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Unsupported::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some()
    }
}
