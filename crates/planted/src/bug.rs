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
    /// `crates/raft/tests/consensus/`: the core of consensus alone.
    Consensus,
    /// `crates/metadata/src/tests/`: nodes of a group whose disks are lists of records.
    Group,
    /// `crates/cluster/src/`: requests over many replicas.
    Requests,
    /// `crates/membership/src/`: who may be a node, found a group or recover one.
    Membership,
    /// `crates/query/tests/engine/`: engines on a real runtime, without sockets.
    Query,
    /// `crates/audit/src/`: entries of the audit log, and its files.
    Audit,
    /// `crates/server/src/`: connections of clients.
    Connections,
    /// `crates/cluster/tests/coordinator/`: coordinators of three nodes on simulated machines, without the engine above them.
    Coordinator,
    /// `crates/index/src/tests/`: components in memory.
    Index,
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
    /// The quickest of the suite's tests that notices, by its name.
    pub witness: &'static str,
}

macro_rules! bugs {
    ($($bug:ident, $name:literal, $suite:ident, $witness:literal, $sentence:literal;)*) => {
        /// A bug that can be planted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Bug {
            $(#[doc = $sentence] $bug,)*
        }

        /// All of them.
        pub const BUGS: &[Description] = &[
            $(Description {
                bug: Bug::$bug,
                name: $name,
                sentence: $sentence,
                suite: Suite::$suite,
                witness: $witness,
            },)*
        ];
    };
}

bugs! {
    SyncLeftOut, "sync-left-out", Power, "directed::the_last_answers_survive_a_cut",
        "Groups are written to the page cache and never synced.";
    AcknowledgeBeforeSync, "acknowledge-before-sync", Power, "directed::the_last_answers_survive_a_cut",
        "A write is answered when it is appended, not when its group is on the disk.";
    PeriodIgnored, "period-ignored", Power, "directed::a_period_later_all_survives_a_cut",
        "In `periodic` nothing is synced when the period is over.";
    MetadataNotSynced, "metadata-not-synced", Power, "directed::the_last_answers_survive_a_cut",
        "A schema change is answered before the metadata log is on the disk.";
    BootNotAdvanced, "boot-not-advanced", Power, "directed::the_last_answers_survive_a_cut",
        "A start does not count itself, so that positions of two starts are taken for each other.";
    TruncationNotLogged, "truncation-not-logged", Power, "directed::the_last_answers_survive_a_cut",
        "TRUNCATE empties memory and makes no position durable.";
    PoisonIgnored, "poison-ignored", Faults, "faults::a_failed_disk_ends_acknowledgements_on_uring",
        "A group whose write failed counts as synced.";
    FullDiskAcknowledged, "full-disk-acknowledged", Faults, "directed::what_a_full_disk_acknowledges_survives_a_cut",
        "While no segment can be made, writes are answered from memory.";
    PlaceIgnored, "place-ignored", Storage, "restart::periodic_acknowledges_nothing_that_has_no_place_on_the_disk",
        "In `periodic` a write is answered although no segment is there that it will fit.";
    RecordChecksumIgnored, "record-checksum-ignored", Storage, "files::damage_in_the_middle_is_refused_with_file_and_offset",
        "A record's checksum is not compared.";
    GroupChecksumIgnored, "group-checksum-ignored", Storage, "files::a_torn_last_group_is_dropped",
        "A group head's checksum is not compared.";
    TornTailAccepted, "torn-tail-accepted", Storage, "files::what_a_power_cut_took_in_periodic_is_no_damage",
        "What stands behind a group that was torn is applied.";
    DamageTakenForTornTail, "damage-taken-for-torn-tail", Storage, "files::damage_in_the_middle_is_refused_with_file_and_offset",
        "A group that cannot be read ends the log, although later ones say that it was synced.";
    GroupMissingIgnored, "group-missing-ignored", Storage, "files::damage_in_the_middle_is_refused_with_file_and_offset",
        "A gap between two groups' sequences is passed over.";
    BatchNotLogged, "batch-not-logged", Storage, "restart::a_batch_is_one_record",
        "A batch is applied in memory, and its record is not written.";
    BatchInPieces, "batch-in-pieces", Storage, "restart::a_batch_is_one_record",
        "A batch's mutations are separate records, which groups may part.";
    TurnsIgnored, "turns-ignored", Storage, "counters::tasks_that_add_to_one_partition_take_turns",
        "Tasks that change the counters of one partition do not wait for each other.";
    AnyOwnPartTrusted, "any-own-part-trusted", Storage, "counters::a_part_that_comes_back_late_is_not_counted_on",
        "An own part that others have sent to the memtable counts as the newest.";
    UnfinishedBatchForgotten, "unfinished-batch-forgotten", Storage, "batches::a_batch_is_found_until_it_is_finished",
        "A start does not hand out the logged batches that were not delivered.";
    BatchOutlivesGrace, "batch-outlives-grace", Storage, "batches::a_batch_older_than_gc_grace_is_not_delivered",
        "A logged batch is delivered however old it is.";
    DeliveredBatchNotNoted, "delivered-batch-not-noted", Storage, "batches::a_batch_is_found_until_it_is_finished",
        "The log is not told that a logged batch is delivered.";
    ReplayToFormerOwner, "replay-to-former-owner", Storage, "reshard::records_are_taken_over_whatever_the_keyspace_asks_for_today",
        "After a change of the shard count records go to the shard that owned them before.";
    PositionsComparedAcrossShards, "positions-compared-across-shards", Storage, "reshard::a_truncation_position_speaks_of_one_shard",
        "A truncation position of one shard is held against records of another.";
    TruncationIgnored, "truncation-ignored", Storage, "restart::truncated_and_dropped_tables_do_not_come_back",
        "Replay applies what was truncated.";
    TruncatedAgainAtStart, "truncated-again-at-start", Simulation, "truncated-and-started-twice",
        "A start truncates again what it has truncated, with what was written since.";
    TruncationEmptiesEarly, "truncation-empties-early", Storage, "truncations::truncate_crash",
        "TRUNCATE empties memory before its position is durable: the next start takes what was written meanwhile.";
    RetiredBeforeSynced, "retired-before-synced", Storage, "reshard::records_are_taken_over_whatever_the_keyspace_asks_for_today",
        "Segments of the old shard count go before their records are on the disk anew.";
    DurabilityOfToday, "durability-of-today", Storage, "reshard::records_are_taken_over_whatever_the_keyspace_asks_for_today",
        "Records of a table that is not logged any more are left out when the shard count changes.";
    SaltIgnored, "salt-ignored", Storage, "restart::a_recycled_segment_has_one_life_only",
        "Groups of a recycled segment's earlier life pass for its own.";
    SegmentReusedWhileNeeded, "segment-reused-while-needed", Storage, "restart::segments_stay_while_any_table_needs_them",
        "A sealed segment is reused although tables have records in it.";
    SegmentHeadNotWritten, "segment-head-not-written", Storage, "restart::a_recycled_segment_has_one_life_only",
        "A recycled segment keeps the head of its earlier life.";
    ManifestBeforeData, "manifest-before-data", Simulation, "flush-cut-short",
        "A file is named live before it is written.";
    SegmentFreedEarly, "segment-freed-early", Simulation, "flush-not-live",
        "Segments of the log go before the manifest says that a file has what they hold.";
    BloomFilterWrong, "bloom-filter-wrong", Storage, "operators::what_filters_do_is_counted",
        "A Bloom filter is asked for another key than the one that is looked for.";
    DigestIgnored, "digest-ignored", Storage, "flushes::a_flipped_bit_in_a_file_is_an_error_or_nothing",
        "The checksums that Helenus.db has of a file's components are not compared when it is opened.";
    CrcUnchecked, "crc-unchecked", Storage, "flushes::a_flipped_bit_in_a_file_is_an_error_or_nothing",
        "The checksums of the data's chunks are not compared.";
    ShortWriteAccepted, "short-write-accepted", Simulation, "long-groups",
        "A write that left out the last block of a long group is taken for a whole one.";
    FolderNotSynced, "folder-not-synced", Simulation, "fresh-log",
        "A new segment's name is not synced with its folder.";
    ShardFolderNotSynced, "shard-folder-not-synced", Simulation, "fresh-log",
        "The names of the commit log's folders are not synced.";
    GoneSegmentsNotSynced, "gone-segments-not-synced", Simulation, "truncated-under-another-count",
        "A start under another shard count does not make durable which segments of the log are gone.";
    ShardAnswersBeforeSync, "shard-answers-before-sync", Simulation, "slow-disk-cut",
        "A shard that writes for another answers when the record is appended, not when it is on the disk.";
    BatchLogNotWritten, "batch-log-not-written", Simulation, "batches-cut-short",
        "A logged batch over several shards or nodes is delivered without its record.";
    BatchDoneBeforeDelivered, "batch-done-before-delivered", Simulation, "batches-cut-short",
        "A logged batch is marked as done before it is delivered.";
    BatchNotReplayed, "batch-not-replayed", Simulation, "batches-cut-short",
        "A start does not deliver the unfinished batches that it finds.";
    AnswerCountedTwice, "answer-counted-twice", Simulation, "written-at-all-to-one",
        "A replica's answer to a write is counted twice.";
    ReplyBeforeQuorum, "reply-before-quorum", Simulation, "written-at-all-to-one",
        "A write is answered when the first replica has it, whatever the level.";
    RangeTombstoneIgnored, "range-tombstone-ignored", Simulation, "replica-away-meanwhile",
        "Reconciliation ignores what another replica has deleted by range.";
    LaneEndsWithItsPage, "lane-ends-with-its-page", Simulation, "replica-away-meanwhile",
        "Reconciliation takes the end of a replica's page for the end of its rows.";
    TombstonePurgedEarly, "tombstone-purged-early", Storage, "compactions::a_tombstone_stays_while_a_file_outside_holds_what_it_hides",
        "A compaction drops a tombstone that hides something in a file outside it.";
    InputRemovedBeforeManifest, "input-removed-before-manifest", Storage, "compactions::shared_files_are_compacted_by_each_shard_and_go_when_all_have_done_so",
        "A compaction removes its inputs before the manifest says that its outputs count.";
    OverlappingLevel, "overlapping-level", Storage, "compactions::files_of_a_level_do_not_overlap",
        "A leveled compaction leaves out what its inputs overlap in the next level.";
    FlushNotCached, "flush-not-cached", Storage, "cache::a_flush_brings_entries_up_to_date",
        "A flush does not update the row cache's entries.";
    OldFillKept, "old-fill-kept", Storage, "cache::a_fill_under_way_is_dropped_when_the_files_change",
        "An entry of the row cache that was filled from files which are others meanwhile is kept.";
    PurgedStaysCached, "purged-stays-cached", Storage, "cache::a_purged_tombstone_hides_nothing_any_more",
        "The row cache keeps a tombstone that a compaction has purged.";
    AlteredStaysCached, "altered-stays-cached", Storage, "cache::an_altered_table_is_read_anew",
        "The row cache keeps what it has of a table that was altered.";
    SnapshotBeforeItsFiles, "snapshot-before-its-files", Simulation, "snapshot-cut-short",
        "A snapshot says that it is whole before its files have their names.";
    TakenInUnlisted, "taken-in-unlisted", Simulation, "refresh-cut-short",
        "Files that are taken in while the node runs are not listed before the first shard names them.";
    RepairWritesOwnRow, "repair-writes-own-row", Simulation, "replica-away-meanwhile",
        "Read repair writes to a replica what that replica has itself, not what all came to.";
    HintRemovedUndelivered, "hint-removed-undelivered", Requests, "hints::tests::nodes::what_a_node_missed_is_delivered_though_it_dies_again_meanwhile",
        "A file of hints is removed although its node died before it had all of them.";
    HintOutlivesTruncate, "hint-outlives-truncate", Requests, "hints::tests::nodes::what_was_truncated_since_is_not_delivered",
        "Hints of a table that was truncated since are delivered.";
    HintToAFormerReplica, "hint-to-a-former-replica", Coordinator, "leaving::hint_to_the_leftovers",
        "A hint is delivered to a node that is no replica any more, in place of those that are.";
    AnyBeforeHintSynced, "any-before-hint-synced", Requests, "hints::tests::nodes::a_write_at_any_is_on_the_disk_when_it_is_answered",
        "A write at ANY that no replica has is answered before its hint is on the disk.";
    SpeculatedCountedTwice, "speculated-counted-twice", Requests, "read::contacts::tests::a_replica_that_is_asked_in_addition_counts_once",
        "The answer of a replica that was asked in addition to a silent one counts for the silent one too.";
    DigestWithoutTimestamps, "digest-without-timestamps", Requests, "replica::digest::tests::equal_values_of_other_timestamps_differ",
        "Digests leave out timestamps: replicas of which one lacks the later write of the same value are taken to be equal.";
    DigestWithPurgeable, "digest-with-purgeable", Requests, "replica::digest::tests::what_a_compaction_purges_or_rewrites_makes_no_difference",
        "Digests cover what compactions may purge, so that they differ where the data does not.";
    CounterShownBeforeSynced, "counter-shown-before-synced", Simulation, "counter-clock-back",
        "A read by other replicas shows an addition to a counter that its leader has not synced.";
    LwtReplyBeforeSync, "lwt-reply-before-sync", Simulation, "slow-conditional-cut",
        "A conditional statement is answered before what it saw and wrote is on the disk.";
    OldTermCommittedByCount, "old-term-committed-by-count", Consensus, "bugs::an_entry_of_an_earlier_term_is_not_committed_by_its_copies",
        "A leader commits an entry of an earlier term as soon as a majority has it.";
    OneMajorityOfJoint, "one-majority-of-joint", Consensus, "bugs::a_joint_configuration_commits_by_both_halves",
        "While the voters change, a majority of the new ones commits.";
    CommittedCutOff, "committed-cut-off", Consensus, "bugs::what_is_committed_is_not_cut_off",
        "A follower lets a leader replace what is committed.";
    ProposalAppliedTwice, "proposal-applied-twice", Group, "tests::bugs::a_proposal_that_is_sent_again_is_applied_once",
        "A proposal that was applied is logged and applied again when it is sent again.";
    EpochSkipped, "epoch-skipped", Group, "tests::bugs::shards_get_each_epoch_in_order",
        "Of several entries that are committed at once the shards get the last one alone.";
    SchemaAnsweredEarly, "schema-answered-early", Group, "tests::bugs::a_change_waits_for_all_nodes_that_are_up",
        "A change is answered when the leader has applied it, whoever else is up.";
    SnapshotForgetsVoters, "snapshot-forgets-voters", Group, "tests::bugs::a_snapshot_names_the_voters",
        "A snapshot for a node that lags names its sender as the only voter.";
    CommitIndexNotKept, "commit-index-not-kept", Group, "tests::bugs::a_start_has_what_was_committed_and_no_more",
        "The commit index is not written, so that a start forgets what was committed.";
    VoteNotSynced, "vote-not-synced", Group, "tests::bugs::a_vote_outlives_a_restart",
        "A vote is answered without a record of it, so that a restart forgets it.";
    EntryAckedBeforeSync, "entry-acked-before-sync", Group, "tests::driver::an_entry_is_acknowledged_when_it_is_on_the_disk",
        "The driver sends messages before the records that they rest on are written.";
    TwoFoundings, "two-foundings", Membership, "founding::tests::two_nodes_found_one_group_in_all_orders",
        "A node without a group does not take note of those that ask it before it founds one.";
    OldDiskLetIn, "old-disk-let-in", Membership, "fence::tests::a_lower_boot_and_the_same_boot_with_another_word_are_an_old_disk",
        "A node whose boot is below the registered one is accepted.";
    RemovedLetIn, "removed-let-in", Membership, "fence::tests::a_removed_host_id_is_refused_whatever_else_it_says",
        "A host id that was removed from the cluster is judged as if it never had been of it.";
    PositionsNotPersisted, "positions-not-persisted", Simulation, "all-peers-restart",
        "A node does not keep on disk what the others have reported of their disks.";
    RecoveryFromTheShorter, "recovery-from-the-shorter", Membership, "recovery::tests::only_the_latest_log_recovers",
        "A node begins a recovery although another that answers has a later log.";
    PauseConvictsOthers, "pause-convicts-others", Membership, "liveness::tests::a_pause_of_the_judge_convicts_no_other",
        "A node that was paused takes its own silence for that of the others.";
    UpByOnePong, "up-by-one-pong", Membership, "liveness::tests::a_node_is_up_after_a_handshake_and_two_pongs",
        "A node is up from the first pong on a connection.";
    OffsetByTheLongestWay, "offset-by-the-longest-way", Membership, "liveness::tests::the_offset_is_that_of_the_least_round_trip",
        "The offset of a clock is taken from the answer with the longest round trip.";
    ConditionReadUnclaimed, "condition-read-unclaimed", Simulation, "conditions-from-files",
        "Conditions are judged by what was read before another conditional statement wrote.";
    StalePlanServed, "stale-plan-served", Coordinator, "fence::a_write_of_a_table_that_was_dropped_and_made_again_is_not_served",
        "A shard serves a request whose plan is older than a change of the ring or of the table.";
    NewerPlanNotWaitedFor, "newer-plan-not-waited-for", Coordinator, "fence::a_write_that_is_newer_than_a_truncation_is_not_truncated",
        "A shard serves a request without what the request's plan rests on.";
    DeadlineFromReceipt, "deadline-from-receipt", Coordinator, "deadlines::a_frame_that_the_link_held_is_not_served",
        "The time of a request counts from its receipt, however long the link held it.";
    TruncateMissesTheDown, "truncate-misses-the-down", Simulation, "truncate-with-one-down",
        "TRUNCATE is answered as done when the nodes that are up have done it.";
    BatchCopyOnItself, "batch-copy-on-itself", Coordinator, "batches::a_batch_is_whole_though_its_coordinator_is_gone",
        "The copies of a logged batch stay on its coordinator.";
    BatchDoneForgotten, "batch-done-forgotten", Requests, "batches::tests::a_copy_that_is_synced_after_its_batch_is_done_is_not_kept",
        "A keeper that learns that a batch is done before it has the copy keeps the copy.";
    DeltaSentTwice, "delta-sent-twice", Coordinator, "counters::a_delta_whose_answer_is_lost_is_not_sent_again",
        "A counter's delta is sent again when no answer came.";
    TenureKept, "tenure-kept", Coordinator, "counters::a_range_that_was_lost_and_gained_again_is_counted_in_another_part",
        "A node that gains a range again counts under the id that it had before it lost the range.";
    NewSetNotCounted, "new-set-not-counted", Coordinator, "moving::a_write_counts_in_both_sets",
        "A write to a range that moves is acknowledged by the replicas before alone.";
    PendingNotWritten, "pending-not-written", Coordinator, "moving::a_write_counts_in_both_sets",
        "A write to a range that moves is not sent to the replicas that gain it.";
    ReadsFlipBeforeCopy, "reads-flip-before-copy", Coordinator, "moving::the_new_replicas_are_read_when_they_have_copied",
        "Replicas that gain a range are read before they have copied it.";
    LosingNotWrittenAfterFlip, "losing-not-written-after-flip", Coordinator, "moving::what_is_written_after_the_flip_is_at_the_losing_replicas_too",
        "Replicas that lose a range are not written any more while lagging coordinators may read them.";
    SchemaPlacesAtOnce, "schema-places-at-once", Coordinator, "moving::a_keyspace_that_gains_replicas_is_written_to_both_sets",
        "Requests use the replication that the schema has while its operation is queued or copies.";
    CommitWithoutFence, "commit-without-fence", Coordinator, "moving::a_commit_at_one_replica_is_planned_again_when_its_range_moves",
        "A conditional statement of one replica commits by a plan from before a change of the ring or of the table.";
    PaxosNotCopied, "paxos-not-copied", Coordinator, "operations::registers_of_conditional_statements_move_with_their_rows",
        "A node that gains a range copies the rows, and not the registers of conditional statements.";
    CleanupOfPending, "cleanup-of-pending", Requests, "plan::kept::tests::a_node_keeps_what_it_is_a_replica_of_before_or_after",
        "A cleanup drops the ranges that an operation gives to the node.";
    SourceServesOldEpoch, "source-serves-old-epoch", Coordinator, "operations::a_source_gives_nothing_before_it_refuses_plans_from_before",
        "A node gives what it has of a range that moves while it acknowledges writes by plans from before.";
    LateCopyApplied, "late-copy-applied", Coordinator, "operations::nothing_is_copied_for_an_operation_that_was_aborted",
        "What is copied for an operation is applied after the operation has ended.";
    OneSourceForTheDead, "one-source-for-the-dead", Requests, "operations::receiving::tests::the_place_of_a_dead_replica_is_filled_from_one_in_every_quorum",
        "A node that takes a dead replica's place copies from one of the others alone.";
    LeftoversComeBack, "leftovers-come-back", Membership, "operations::tests::a_node_with_leftovers_gains_no_range",
        "A node that has not dropped what it lost gains ranges.";
    CleanedOfLaterLeftovers, "cleaned-of-later-leftovers", Membership, "operations::tests::a_node_that_loses_ranges_while_it_cleans_up_stays_unclean",
        "A node that has cleaned up is clean of what it has lost meanwhile, too.";
    TokenGivenTwice, "token-given-twice", Membership, "operations::tests::nodes_join_one_after_the_other_on_the_ring_that_they_find",
        "A node that waited for its turn gets the tokens that were chosen for it when it began to wait, whoever has them by now.";
    AbortLeavesPending, "abort-leaves-pending", Membership, "operations::tests::replicas_that_were_pending_are_unclean_after_an_abort",
        "After an abort nodes keep what they have received of ranges that they do not gain.";
    LeadForgetsPhase, "lead-forgets-phase", Membership, "operations::tests::a_step_that_is_asked_for_twice_is_taken_once",
        "A leader's step does not say from which phase: one that comes twice passes a phase whose condition no leader looked at.";
    PurgedWhileReceiving, "purged-while-receiving", Storage, "copying::nothing_is_purged_while_a_range_is_received",
        "Compaction purges tombstones of a table while older rows of it are received.";
    UnitListedUnsynced, "unit-listed-unsynced", Storage, "copying_crashes::a_power_cut_at_any_step_leaves_all_of_the_unit_or_nothing",
        "A received file is named live before it is written and synced.";
    UnitSkippedAtResume, "unit-skipped-at-resume", Coordinator, "operations::a_copy_goes_on_where_a_power_cut_ended_it",
        "A copy that goes on after a restart leaves out a range that was not confirmed.";
    LocalCountsRemote, "local-counts-remote", Coordinator, "counters::a_local_level_counts_no_answers_of_other_datacenters",
        "Levels of this datacenter count the answers of others.";
    EachCountsOne, "each-counts-one", Coordinator, "levels::a_level_of_each_datacenter_waits_for_all_of_them",
        "EACH_QUORUM waits for a quorum of the first datacenter alone.";
    PromiseNotSynced, "promise-not-synced", Coordinator, "serial::what_was_promised_and_accepted_survives_a_power_cut",
        "An acceptor answers before its promise or acceptance is on the disk.";
    AcceptedOverLaterPromise, "accepted-over-later-promise", Coordinator, "serial::a_proposal_is_not_accepted_over_a_later_promise",
        "An acceptor accepts a proposal although it has promised a later attempt.";
    UnfinishedNotFinished, "unfinished-not-finished", Coordinator, "serial::what_another_has_left_is_finished_first",
        "An attempt goes on although a proposal is accepted that was not committed.";
    FastReadOverAccepted, "fast-read-over-accepted", Coordinator, "serial::a_read_that_was_answered_is_not_overtaken_by_what_it_did_not_see",
        "A SERIAL read is answered in one round although a promise to a write is later than the last commit.";
    PagesBeforeCommit, "pages-before-commit", Coordinator, "serial::a_page_from_before_a_commit_does_not_count",
        "A page that a replica read before it was sent a commit counts beside one that was read after it.";
    LowBoundForgotten, "low-bound-forgotten", Coordinator, "serial::what_was_not_chosen_below_the_low_bound_never_is",
        "An acceptor neither refuses ballots up to the low bound nor ignores registers up to it.";
    RegistersDeletedBesideCleanup, "registers-deleted-beside-cleanup", Coordinator, "serial::registers_are_not_deleted_beside_a_cleanup",
        "Old registers are deleted while a cleanup drops those that the node does not keep.";
    SerialAsQuorum, "serial-as-quorum", Simulation, "serial-read",
        "A SERIAL read is a read at QUORUM.";
    MaskLeftOut, "mask-left-out", Query, "masks::no_form_of_selector_gives_a_masked_value",
        "SELECT JSON gives the values of masked columns to clients without UNMASK.";
    AllKeyspacesInSystem, "all-keyspaces-in-system", Query, "permissions::what_is_granted_on_all_keyspaces_does_not_hold_in_those_of_the_system",
        "What is granted on ALL KEYSPACES holds in the system's keyspaces too.";
    ReadableIsWritable, "readable-is-writable", Query, "permissions::tables_that_all_may_read_are_written_by_none",
        "Whatever is asked of a table that each role may read is allowed.";
    PassedKeptOverRevoke, "passed-kept-over-revoke", Query, "permissions::a_revoke_ends_a_loop_of_a_prepared_statement",
        "A plan that has passed once passes after a REVOKE too: the epoch of access is not compared.";
    PassedForAll, "passed-for-all", Query, "permissions::what_one_session_may_run_another_may_not",
        "Sessions of a shard share the memory of the plans that have passed.";
    UseChangesNothing, "use-changes-nothing", Query, "permissions::use_gives_a_text_another_plan",
        "A text that has passed passes in another keyspace too, where its names mean other tables.";
    IfWithoutSelect, "if-without-select", Query, "permissions::conditions_need_select",
        "A conditional statement, which tells what a row has, needs MODIFY alone.";
    PagedWithoutCheck, "paged-without-check", Query, "permissions::each_page_is_checked",
        "A request for the next page is not checked.";
    BatchCheckedOnce, "batch-checked-once", Query, "permissions::each_statement_of_a_batch_is_checked",
        "Of the statements of a BATCH the first alone is checked.";
    BatchTextUnchecked, "batch-text-unchecked", Query, "permissions::each_statement_of_a_batch_message_is_checked",
        "Statements of a batch message that are not prepared are not checked.";
    NetworkRulesAtLoginOnly, "network-rules-at-login-only", Query, "permissions::network_rules_hold_from_the_next_request_on",
        "The datacenters and addresses of a role are looked at once in a session, not after changes.";
    LeaderDoesNotCheck, "leader-does-not-check", Query, "permissions::a_revoke_that_is_logged_first_refuses_a_schema_statement",
        "A schema statement is planned although its role has lost the permission since it was asked for.";
    TruncateJudgedByTheAsker, "truncate-judged-by-the-asker", Simulation, "truncate-revoked",
        "The leader plans the TRUNCATE of a role whose permission was revoked before it in the log, of which the asking node has not heard.";
    PasswordInAudit, "password-in-audit", Audit, "entry::tests::no_password_is_in_a_line",
        "Texts and messages are written to the audit log as they came, passwords too.";
    FallbackDespiteCertificate, "fallback-despite-certificate", Connections, "logins::tests::with_a_certificate_that_is_of_no_role_no_password_is_asked_for",
        "A client whose certificate is of no role is asked for a password.";
    PostingLostAtSegmentEnd, "posting-lost-at-segment-end", Index, "tests::witnesses::every_posting_is_in_some_segment",
        "The end of a segment loses the posting that was added last.";
    MergedListMissesABlock, "merged-list-misses-a-block", Index, "tests::witnesses::a_range_over_whole_nodes_has_every_posting",
        "The merged lists of an index's inner nodes lack their second block.";
    ComponentOfAnotherGeneration, "component-of-another-generation", Index, "tests::witnesses::a_component_of_another_file_is_refused",
        "A component of another SSTable is used for the one that it lies beside.";
}
