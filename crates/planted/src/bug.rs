//! The list: one line per bug.

/// Which suite must catch a bug. `cargo xtask planted` knows how each is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// `tests/power/`: the real binary on a disk that forgets.
    Power,
    /// `tests/power/faults.rs`: the real binary on a disk that fails or is full.
    Faults,
    /// `crates/storage/tests/engine/`: one engine on real files.
    Storage,
    /// `sim/`: nodes on simulated machines, alone and in a ring of two.
    Simulation,
}

/// What is said of a bug.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// The bug.
    pub bug: Bug,
    /// What `--plant` calls it.
    pub name: &'static str,
    /// What goes wrong.
    pub sentence: &'static str,
    /// Who must notice.
    pub suite: Suite,
}

macro_rules! bugs {
    ($($bug:ident, $name:literal, $suite:ident, $sentence:literal;)*) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $sentence] $bug,)*
        }

        /// All of them.
        pub const BUGS: &[Description] = &[
            $(Description { bug: Bug::$bug, name: $name, sentence: $sentence, suite: Suite::$suite },)*
        ];
    };
}

bugs! {
    SyncLeftOut, "sync-left-out", Power,
        "Groups are written to the page cache and never synced.";
    AcknowledgeBeforeSync, "acknowledge-before-sync", Power,
        "A write is answered when it is appended, not when its group is on the disk.";
    PeriodIgnored, "period-ignored", Power,
        "In `periodic` nothing is synced when the period is over.";
    MetadataNotSynced, "metadata-not-synced", Power,
        "A schema change is answered before the metadata log is on the disk.";
    BootNotAdvanced, "boot-not-advanced", Power,
        "A start does not count itself, so that positions of two starts are taken for each other.";
    TruncationNotLogged, "truncation-not-logged", Power,
        "TRUNCATE empties memory and makes no position durable.";
    PoisonIgnored, "poison-ignored", Faults,
        "A group whose write failed counts as synced.";
    FullDiskAcknowledged, "full-disk-acknowledged", Faults,
        "While no segment can be made, writes are answered from memory.";
    RecordChecksumIgnored, "record-checksum-ignored", Storage,
        "A record's checksum is not compared.";
    GroupChecksumIgnored, "group-checksum-ignored", Storage,
        "A group head's checksum is not compared.";
    TornTailAccepted, "torn-tail-accepted", Storage,
        "What stands behind a group that was torn is applied.";
    DamageTakenForTornTail, "damage-taken-for-torn-tail", Storage,
        "A group that cannot be read ends the log, although later ones say that it was synced.";
    GroupMissingIgnored, "group-missing-ignored", Storage,
        "A gap between two groups' sequences is passed over.";
    BatchNotLogged, "batch-not-logged", Storage,
        "A batch is applied in memory, and its record is not written.";
    BatchInPieces, "batch-in-pieces", Storage,
        "A batch's mutations are separate records, which groups may part.";
    TurnsIgnored, "turns-ignored", Storage,
        "Tasks that change the counters of one partition do not wait for each other.";
    UnfinishedBatchForgotten, "unfinished-batch-forgotten", Storage,
        "A start does not hand out the logged batches that were not delivered.";
    DeliveredBatchNotNoted, "delivered-batch-not-noted", Storage,
        "The log is not told that a logged batch is delivered.";
    ReplayToFormerOwner, "replay-to-former-owner", Storage,
        "After a change of the shard count records go to the shard that owned them before.";
    PositionsComparedAcrossShards, "positions-compared-across-shards", Storage,
        "A truncation position of one shard is held against records of another.";
    TruncationIgnored, "truncation-ignored", Storage,
        "Replay applies what was truncated.";
    OpenTruncationCovered, "open-truncation-covered", Storage,
        "A flush has the log forget what a truncation took from memory, before the truncation is durable.";
    RetiredBeforeSynced, "retired-before-synced", Storage,
        "Segments of the old shard count go before their records are on the disk anew.";
    DurabilityOfToday, "durability-of-today", Storage,
        "Records of a table that is not logged any more are left out when the shard count changes.";
    SaltIgnored, "salt-ignored", Storage,
        "Groups of a recycled segment's earlier life pass for its own.";
    SegmentReusedWhileNeeded, "segment-reused-while-needed", Storage,
        "A sealed segment is reused although tables have records in it.";
    SegmentHeadNotWritten, "segment-head-not-written", Storage,
        "A recycled segment keeps the head of its earlier life.";
    ManifestBeforeData, "manifest-before-data", Simulation,
        "A file is named live before it is written.";
    SegmentFreedEarly, "segment-freed-early", Simulation,
        "Segments of the log go before the manifest says that a file has what they hold.";
    BloomFilterWrong, "bloom-filter-wrong", Storage,
        "A Bloom filter is asked for another key than the one that is looked for.";
    DigestIgnored, "digest-ignored", Storage,
        "The checksums that Helenus.db has of a file's components are not compared when it is opened.";
    CrcUnchecked, "crc-unchecked", Storage,
        "The checksums of the data's chunks are not compared.";
    ShortWriteAccepted, "short-write-accepted", Simulation,
        "A write that left out the last block of a long group is taken for a whole one.";
    FolderNotSynced, "folder-not-synced", Simulation,
        "A new segment's name is not synced with its folder.";
    ShardFolderNotSynced, "shard-folder-not-synced", Simulation,
        "The names of the commit log's folders are not synced.";
    GoneSegmentsNotSynced, "gone-segments-not-synced", Simulation,
        "A start under another shard count does not make durable which segments of the log are gone.";
    ShardAnswersBeforeSync, "shard-answers-before-sync", Simulation,
        "A shard that writes for another answers when the record is appended, not when it is on the disk.";
    BatchLogNotWritten, "batch-log-not-written", Simulation,
        "A logged batch over several shards or nodes is delivered without its record.";
    BatchDoneBeforeDelivered, "batch-done-before-delivered", Simulation,
        "A logged batch is marked as done before it is delivered.";
    BatchNotReplayed, "batch-not-replayed", Simulation,
        "A start does not deliver the unfinished batches that it finds.";
    AnswerCountedTwice, "answer-counted-twice", Simulation,
        "A replica's answer to a write is counted twice.";
    ReplyBeforeQuorum, "reply-before-quorum", Simulation,
        "A write is answered when the first replica has it, whatever the level.";
    RangeTombstoneIgnored, "range-tombstone-ignored", Simulation,
        "Reconciliation ignores what another replica has deleted by range.";
    LaneEndsWithItsPage, "lane-ends-with-its-page", Simulation,
        "Reconciliation takes the end of a replica's page for the end of its rows.";
    TombstonePurgedEarly, "tombstone-purged-early", Storage,
        "A compaction drops a tombstone that hides something in a file outside it.";
    InputRemovedBeforeManifest, "input-removed-before-manifest", Storage,
        "A compaction removes its inputs before the manifest says that its outputs count.";
    OverlappingLevel, "overlapping-level", Storage,
        "A leveled compaction leaves out what its inputs overlap in the next level.";
    FlushNotCached, "flush-not-cached", Storage,
        "A flush does not update the row cache's entries.";
    OldFillKept, "old-fill-kept", Storage,
        "An entry of the row cache that was filled from files which are others meanwhile is kept.";
    PurgedStaysCached, "purged-stays-cached", Storage,
        "The row cache keeps a tombstone that a compaction has purged.";
    AlteredStaysCached, "altered-stays-cached", Storage,
        "The row cache keeps what it has of a table that was altered.";
    SnapshotBeforeItsFiles, "snapshot-before-its-files", Simulation,
        "A snapshot says that it is whole before its files have their names.";
    TakenInUnlisted, "taken-in-unlisted", Simulation,
        "Files that are taken in while the node runs are not listed before the first shard names them.";
    RepairWritesOwnRow, "repair-writes-own-row", Simulation,
        "Read repair writes to a replica what that replica has itself, not what all came to.";
    LwtReplyBeforeSync, "lwt-reply-before-sync", Simulation,
        "A conditional statement is answered before what it saw and wrote is on the disk.";
    ConditionReadUnclaimed, "condition-read-unclaimed", Simulation,
        "Conditions are judged by what was read before another conditional statement wrote.";
}
