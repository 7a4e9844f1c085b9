//! The names a configuration file may hold: every key of Cassandra 5.0.6's configuration class, the keys of ScyllaDB's
//! file that its users have in theirs, and the names both used before units moved from the key into the value. Keys of Helenus alone are few.
//!
//! Which of them Helenus acts on is decided in `file.rs`; here a name is merely known, so that a file written for another
//! server starts this one, while a misspelt key is still an error.

use super::units::Unit;

/// True if the key is one of Cassandra's or ScyllaDB's (under its present name), or Helenus' own.
pub fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

/// All present names, for suggestions.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.split_ascii_whitespace().chain(OWN)
}

/// The present name of a key that was renamed, and the unit a bare number had under the old name (`None` where the value
/// never had one).
pub fn renamed(old: &str) -> Option<(&'static str, Option<Unit>)> {
    RENAMED.iter().find(|(name, ..)| *name == old).map(|(_, new, unit)| (*new, *unit))
}

/// Keys of Helenus alone.
const OWN: [&str; 3] = ["api_tls", "auto_finalize", "internode_secret_file"];

/// Present names, in one string because a list of 500 quoted names is harder to read and to compare.
const KNOWN: &str = "
    allocate_tokens_for_keyspace allocate_tokens_for_local_replication_factor allow_extra_insecure_udfs
    allow_filtering_enabled allow_insecure_udfs alter_table_enabled alternator_address alternator_https_port
    alternator_port api_address api_doc_dir api_port api_ui_dir audit_logging_options auth_cache_warming_enabled
    auth_certificate_role_queries
    auth_read_consistency_level auth_superuser_name auth_superuser_salted_password auth_write_consistency_level authenticator authorizer auto_adjust_flush_quota
    auto_bootstrap auto_hints_cleanup_enabled auto_optimise_full_repair_streams auto_optimise_inc_repair_streams
    auto_optimise_preview_repair_streams auto_snapshot auto_snapshot_ttl autocompaction_on_startup_enabled
    automatic_sstable_upgrade available_processors back_pressure_enabled back_pressure_strategy
    background_writer_scheduling_quota batch_size_fail_threshold batch_size_warn_threshold batchlog_endpoint_strategy
    batchlog_replay_throttle block_for_peers_in_remote_dcs block_for_peers_timeout_in_secs broadcast_address
    broadcast_rpc_address buffer_pool_use_heap_if_exhausted cache_index_pages cache_load_timeout
    cas_contention_timeout cdc_block_writes cdc_enabled cdc_free_space_check_interval cdc_on_repair_enabled
    cdc_raw_directory cdc_total_space check_for_duplicate_rows_during_compaction
    check_for_duplicate_rows_during_reads cidr_authorizer client_encryption_options client_error_reporting_exclusions
    client_request_size_metrics_enabled cluster_name collection_size_fail_threshold collection_size_warn_threshold
    column_index_cache_size column_index_size column_value_size_fail_threshold column_value_size_warn_threshold
    columns_per_table_fail_threshold columns_per_table_warn_threshold commit_failure_policy commitlog_compression
    commitlog_directory commitlog_disk_access_mode commitlog_max_compression_buffers_in_pool commitlog_segment_size
    commitlog_sync commitlog_sync_group_window commitlog_sync_period commitlog_total_space
    commitlog_use_hard_size_limit compact_tables_enabled compaction_static_shares compaction_throughput
    compressed_read_ahead_buffer_size concurrent_compactors concurrent_counter_writes concurrent_index_builders
    concurrent_materialized_view_builders concurrent_materialized_view_writes concurrent_merkle_tree_requests
    concurrent_reads concurrent_validations concurrent_writes consecutive_message_errors_threshold
    consistent_cluster_management coordinator_read_size_fail_threshold coordinator_read_size_warn_threshold
    corrupted_tombstone_strategy counter_cache_keys_to_save counter_cache_save_period counter_cache_size
    counter_write_request_timeout cql_start_time credentials_cache_active_update credentials_cache_max_entries
    credentials_update_interval credentials_validity crypto_provider data_disk_usage_max_disk_size
    data_disk_usage_percentage_fail_threshold data_disk_usage_percentage_warn_threshold data_file_directories
    default_compaction default_keyspace_rf default_secondary_index default_secondary_index_enabled
    defragment_memory_on_idle denylist_consistency_level denylist_initial_load_retry denylist_max_keys_per_table
    denylist_max_keys_total denylist_range_reads_enabled denylist_reads_enabled denylist_refresh
    denylist_writes_enabled developer_mode diagnostic_events_enabled disk_access_mode disk_failure_policy
    disk_optimization_estimate_percentile disk_optimization_page_cross_chance disk_optimization_strategy
    drop_compact_storage_enabled drop_keyspace_enabled drop_truncate_table_enabled dump_heap_on_uncaught_exception
    dynamic_data_masking_enabled dynamic_snitch dynamic_snitch_badness_threshold dynamic_snitch_reset_interval
    dynamic_snitch_update_interval enable_cache endpoint_snitch enforce_native_deadline_for_hints
    entire_sstable_inter_dc_stream_throughput_outbound entire_sstable_stream_throughput_outbound experimental
    experimental_features failure_detector fields_per_udt_fail_threshold fields_per_udt_warn_threshold
    file_cache_enabled file_cache_round_up file_cache_size flush_compression force_new_prepared_statement_behaviour
    force_schema_commit_log full_query_logging_options gc_log_threshold gc_warn_threshold group_by_enabled
    heap_dump_path hint_window_persistent_enabled hinted_handoff_disabled_datacenters hinted_handoff_enabled
    hinted_handoff_throttle hints_compression hints_directory hints_flush_period ideal_consistency_level
    in_select_cartesian_product_fail_threshold in_select_cartesian_product_warn_threshold incremental_backups
    index_summary_capacity index_summary_resize_interval initial_range_tombstone_list_allocation_size initial_token
    inter_dc_stream_throughput_outbound inter_dc_tcp_nodelay internode_application_receive_queue_capacity
    internode_application_receive_queue_reserve_endpoint_capacity
    internode_application_receive_queue_reserve_global_capacity internode_application_send_queue_capacity
    internode_application_send_queue_reserve_endpoint_capacity
    internode_application_send_queue_reserve_global_capacity internode_authenticator internode_compression
    internode_error_reporting_exclusions internode_max_message_size internode_socket_receive_buffer_size
    internode_socket_send_buffer_size internode_streaming_tcp_user_timeout internode_tcp_connect_timeout
    internode_tcp_user_timeout internode_timeout intersect_filtering_query_enabled intersect_filtering_query_warned
    invalid_legacy_protocol_magic_no_spam_enabled items_per_collection_fail_threshold
    items_per_collection_warn_threshold key_cache_invalidate_after_sstable_deletion key_cache_keys_to_save
    key_cache_migrate_during_compaction key_cache_save_period key_cache_size keyspaces_fail_threshold
    keyspaces_warn_threshold listen_address listen_interface listen_interface_prefer_ipv6 listen_on_broadcast_address
    local_read_size_fail_threshold local_read_size_warn_threshold local_system_data_file_directory
    log_out_of_token_range_requests maintenance_socket materialized_views_enabled
    materialized_views_per_table_fail_threshold materialized_views_per_table_warn_threshold
    max_concurrent_automatic_sstable_upgrades max_hint_window max_hints_delivery_threads max_hints_file_size
    max_hints_size_per_host max_mutation_size max_networking_io_control_blocks
    max_space_usable_for_compactions_in_percentage max_streaming_retries max_top_size_partition_count
    max_top_tombstone_partition_count max_value_size maximum_replication_factor_fail_threshold
    maximum_replication_factor_warn_threshold maximum_timestamp_fail_threshold maximum_timestamp_warn_threshold
    memtable memtable_allocation_type memtable_cleanup_threshold memtable_flush_static_shares memtable_flush_writers
    memtable_heap_space memtable_offheap_space min_free_space_per_drive min_tracked_partition_size
    min_tracked_partition_tombstone_count minimum_replication_factor_fail_threshold
    minimum_replication_factor_warn_threshold minimum_timestamp_fail_threshold minimum_timestamp_warn_threshold
    murmur3_partitioner_ignore_msb_bits native_shard_aware_transport_port native_shard_aware_transport_port_ssl
    native_transport_allow_older_protocols native_transport_flush_in_batches_legacy native_transport_idle_timeout
    native_transport_max_auth_threads native_transport_max_backoff_on_queue_overload
    native_transport_max_concurrent_connections native_transport_max_concurrent_connections_per_ip
    native_transport_max_frame_size native_transport_max_message_size native_transport_max_request_data_in_flight
    native_transport_max_request_data_in_flight_per_ip native_transport_max_requests_per_second
    native_transport_max_threads native_transport_min_backoff_on_queue_overload native_transport_port
    native_transport_port_ssl native_transport_queue_max_item_age_threshold native_transport_rate_limiting_enabled
    native_transport_receive_queue_capacity native_transport_throw_on_overload native_transport_timeout
    network_authorizer networking_cache_size non_partition_restricted_index_query_enabled num_tokens
    otc_backlog_expiration_interval_ms otc_coalescing_enough_coalesced_messages otc_coalescing_strategy
    otc_coalescing_window_us page_size_fail_threshold page_size_warn_threshold partition_denylist_enabled
    partition_keys_in_select_fail_threshold partition_keys_in_select_warn_threshold partition_size_fail_threshold
    partition_size_warn_threshold partition_tombstones_fail_threshold partition_tombstones_warn_threshold partitioner
    paxos_cache_size paxos_contention_max_wait paxos_contention_min_delta paxos_contention_min_wait
    paxos_contention_wait_randomizer paxos_on_linearizability_violations paxos_purge_grace_period
    paxos_repair_enabled paxos_repair_parallelism paxos_repair_race_wait paxos_state_purging
    paxos_topology_repair_no_dc_checks paxos_topology_repair_strict_each_quorum paxos_variant
    periodic_commitlog_sync_lag_block permissions_cache_active_update permissions_cache_max_entries
    permissions_update_interval permissions_validity phi_convict_threshold prepared_statements_cache_size
    prometheus_address prometheus_port prometheus_prefix range_request_timeout range_tombstone_list_growth_factor
    read_before_write_list_operations_enabled read_consistency_levels_disallowed read_consistency_levels_warned
    read_request_timeout read_thresholds_enabled reader_concurrency_semaphore_cpu_concurrency
    reject_out_of_token_range_requests reject_repair_compaction_threshold repair repair_command_pool_full_strategy
    repair_command_pool_size repair_request_timeout repair_session_max_tree_depth repair_session_space
    repair_state_expires repair_state_size repaired_data_tracking_for_partition_reads_enabled
    repaired_data_tracking_for_range_reads_enabled replica_filtering_protection
    report_unconfirmed_repaired_data_mismatches request_timeout ring_delay_ms role_manager roles_cache_active_update
    roles_cache_max_entries roles_update_interval roles_validity row_cache_class_name row_cache_keys_to_save
    row_cache_save_period row_cache_size row_index_read_size_fail_threshold row_index_read_size_warn_threshold
    rpc_address rpc_interface rpc_interface_prefer_ipv6 rpc_keepalive rpc_port rpc_server_type
    sai_frozen_term_size_fail_threshold sai_frozen_term_size_warn_threshold sai_options
    sai_sstable_indexes_per_query_fail_threshold sai_sstable_indexes_per_query_warn_threshold
    sai_string_term_size_fail_threshold sai_string_term_size_warn_threshold sai_vector_term_size_fail_threshold
    sai_vector_term_size_warn_threshold sasi_indexes_enabled saved_caches_directory
    scripted_user_defined_functions_enabled secondary_indexes_enabled secondary_indexes_per_table_fail_threshold
    secondary_indexes_per_table_warn_threshold seed_provider seeds server_encryption_options
    severity_during_decommission shadow_round_ms simplestrategy_enabled skip_paxos_repair_on_topology_change
    skip_paxos_repair_on_topology_change_keyspaces skip_stream_disk_space_check skip_wait_for_gossip_to_settle
    slow_query_log_timeout snapshot_before_compaction snapshot_links_per_second snapshot_on_duplicate_row_detection
    snapshot_on_repaired_data_mismatch ssl_storage_port sstable sstable_preemptive_open_interval
    sstable_read_rate_persistence_enabled start_native_transport start_rpc startup_checks storage_compatibility_mode
    storage_port stream_entire_sstables stream_throughput_outbound stream_transfer_task_timeout
    streaming_connections_per_host streaming_keep_alive_period streaming_slow_events_log_timeout
    streaming_state_expires streaming_state_size streaming_stats_enabled table_properties_disallowed
    table_properties_ignored table_properties_warned tables_fail_threshold tables_warn_threshold
    tablets_mode_for_new_keyspaces tombstone_failure_threshold tombstone_warn_threshold top_partitions_enabled
    trace_type_query_ttl trace_type_repair_ttl transfer_hints_on_decommission transient_replication_enabled
    transparent_data_encryption_options traverse_auth_from_root trickle_fsync trickle_fsync_interval
    truncate_request_timeout uncompressed_tables_enabled unlogged_batch_across_partitions_warn_threshold
    use_creation_time_for_hint_ttl use_deterministic_table_id use_offheap_merkle_trees use_statements_enabled
    user_defined_functions_enabled user_defined_functions_fail_timeout user_defined_functions_threads_enabled
    user_defined_functions_warn_timeout user_function_timeout_policy user_timestamps_enabled
    uuid_sstable_identifiers_enabled validation_preview_purge_head_start vector_dimensions_fail_threshold
    vector_dimensions_warn_threshold vector_type_enabled view_building windows_timer_interval workdir
    write_consistency_levels_disallowed write_consistency_levels_warned write_request_timeout
    zero_ttl_on_twcs_enabled zero_ttl_on_twcs_warned {}
";

/// Old name, present name, unit of the old name's number.
const RENAMED: &[(&str, &str, Option<Unit>)] = &[
    ("permissions_validity_in_ms", "permissions_validity", Some(Unit::Milliseconds)),
    ("permissions_update_interval_in_ms", "permissions_update_interval", Some(Unit::Milliseconds)),
    ("roles_validity_in_ms", "roles_validity", Some(Unit::Milliseconds)),
    ("roles_update_interval_in_ms", "roles_update_interval", Some(Unit::Milliseconds)),
    ("credentials_validity_in_ms", "credentials_validity", Some(Unit::Milliseconds)),
    ("credentials_update_interval_in_ms", "credentials_update_interval", Some(Unit::Milliseconds)),
    ("max_hint_window_in_ms", "max_hint_window", Some(Unit::Milliseconds)),
    ("native_transport_idle_timeout_in_ms", "native_transport_idle_timeout", Some(Unit::Milliseconds)),
    ("request_timeout_in_ms", "request_timeout", Some(Unit::Milliseconds)),
    ("read_request_timeout_in_ms", "read_request_timeout", Some(Unit::Milliseconds)),
    ("range_request_timeout_in_ms", "range_request_timeout", Some(Unit::Milliseconds)),
    ("write_request_timeout_in_ms", "write_request_timeout", Some(Unit::Milliseconds)),
    ("counter_write_request_timeout_in_ms", "counter_write_request_timeout", Some(Unit::Milliseconds)),
    ("cas_contention_timeout_in_ms", "cas_contention_timeout", Some(Unit::Milliseconds)),
    ("truncate_request_timeout_in_ms", "truncate_request_timeout", Some(Unit::Milliseconds)),
    ("repair_request_timeout_in_ms", "repair_request_timeout", Some(Unit::Milliseconds)),
    ("streaming_keep_alive_period_in_secs", "streaming_keep_alive_period", Some(Unit::Seconds)),
    ("cross_node_timeout", "internode_timeout", None),
    ("slow_query_log_timeout_in_ms", "slow_query_log_timeout", Some(Unit::Milliseconds)),
    ("memtable_heap_space_in_mb", "memtable_heap_space", Some(Unit::Mebibytes)),
    ("memtable_offheap_space_in_mb", "memtable_offheap_space", Some(Unit::Mebibytes)),
    ("repair_session_space_in_mb", "repair_session_space", Some(Unit::Mebibytes)),
    ("internode_max_message_size_in_bytes", "internode_max_message_size", Some(Unit::Bytes)),
    ("internode_socket_send_buffer_size_in_bytes", "internode_socket_send_buffer_size", Some(Unit::Bytes)),
    ("internode_send_buff_size_in_bytes", "internode_socket_send_buffer_size", Some(Unit::Bytes)),
    ("internode_socket_receive_buffer_size_in_bytes", "internode_socket_receive_buffer_size", Some(Unit::Bytes)),
    ("internode_recv_buff_size_in_bytes", "internode_socket_receive_buffer_size", Some(Unit::Bytes)),
    (
        "internode_application_send_queue_capacity_in_bytes",
        "internode_application_send_queue_capacity",
        Some(Unit::Bytes),
    ),
    (
        "internode_application_send_queue_reserve_endpoint_capacity_in_bytes",
        "internode_application_send_queue_reserve_endpoint_capacity",
        Some(Unit::Bytes),
    ),
    (
        "internode_application_send_queue_reserve_global_capacity_in_bytes",
        "internode_application_send_queue_reserve_global_capacity",
        Some(Unit::Bytes),
    ),
    (
        "internode_application_receive_queue_capacity_in_bytes",
        "internode_application_receive_queue_capacity",
        Some(Unit::Bytes),
    ),
    (
        "internode_application_receive_queue_reserve_endpoint_capacity_in_bytes",
        "internode_application_receive_queue_reserve_endpoint_capacity",
        Some(Unit::Bytes),
    ),
    (
        "internode_application_receive_queue_reserve_global_capacity_in_bytes",
        "internode_application_receive_queue_reserve_global_capacity",
        Some(Unit::Bytes),
    ),
    ("internode_tcp_connect_timeout_in_ms", "internode_tcp_connect_timeout", Some(Unit::Milliseconds)),
    ("internode_tcp_user_timeout_in_ms", "internode_tcp_user_timeout", Some(Unit::Milliseconds)),
    ("internode_streaming_tcp_user_timeout_in_ms", "internode_streaming_tcp_user_timeout", Some(Unit::Milliseconds)),
    ("native_transport_max_frame_size_in_mb", "native_transport_max_frame_size", Some(Unit::Mebibytes)),
    (
        "native_transport_max_concurrent_requests_in_bytes_per_ip",
        "native_transport_max_request_data_in_flight_per_ip",
        Some(Unit::Bytes),
    ),
    (
        "native_transport_max_concurrent_requests_in_bytes",
        "native_transport_max_request_data_in_flight",
        Some(Unit::Bytes),
    ),
    ("native_transport_receive_queue_capacity_in_bytes", "native_transport_receive_queue_capacity", Some(Unit::Bytes)),
    ("max_value_size_in_mb", "max_value_size", Some(Unit::Mebibytes)),
    ("column_index_size_in_kb", "column_index_size", Some(Unit::Kibibytes)),
    ("column_index_cache_size_in_kb", "column_index_cache_size", Some(Unit::Kibibytes)),
    ("batch_size_warn_threshold_in_kb", "batch_size_warn_threshold", Some(Unit::Kibibytes)),
    ("batch_size_fail_threshold_in_kb", "batch_size_fail_threshold", Some(Unit::Kibibytes)),
    ("compaction_throughput_mb_per_sec", "compaction_throughput", None),
    ("min_free_space_per_drive_in_mb", "min_free_space_per_drive", Some(Unit::Mebibytes)),
    ("stream_throughput_outbound_megabits_per_sec", "stream_throughput_outbound", None),
    ("inter_dc_stream_throughput_outbound_megabits_per_sec", "inter_dc_stream_throughput_outbound", None),
    ("commitlog_total_space_in_mb", "commitlog_total_space", Some(Unit::Mebibytes)),
    ("commitlog_sync_group_window_in_ms", "commitlog_sync_group_window", Some(Unit::Milliseconds)),
    ("commitlog_sync_period_in_ms", "commitlog_sync_period", Some(Unit::Milliseconds)),
    ("commitlog_segment_size_in_mb", "commitlog_segment_size", Some(Unit::Mebibytes)),
    ("periodic_commitlog_sync_lag_block_in_ms", "periodic_commitlog_sync_lag_block", Some(Unit::Milliseconds)),
    ("max_mutation_size_in_kb", "max_mutation_size", Some(Unit::Kibibytes)),
    ("cdc_total_space_in_mb", "cdc_total_space", Some(Unit::Mebibytes)),
    ("cdc_free_space_check_interval_ms", "cdc_free_space_check_interval", Some(Unit::Milliseconds)),
    ("dynamic_snitch_update_interval_in_ms", "dynamic_snitch_update_interval", Some(Unit::Milliseconds)),
    ("dynamic_snitch_reset_interval_in_ms", "dynamic_snitch_reset_interval", Some(Unit::Milliseconds)),
    ("hinted_handoff_throttle_in_kb", "hinted_handoff_throttle", Some(Unit::Kibibytes)),
    ("batchlog_replay_throttle_in_kb", "batchlog_replay_throttle", Some(Unit::Kibibytes)),
    ("hints_flush_period_in_ms", "hints_flush_period", Some(Unit::Milliseconds)),
    ("max_hints_file_size_in_mb", "max_hints_file_size", Some(Unit::Mebibytes)),
    ("trickle_fsync_interval_in_kb", "trickle_fsync_interval", Some(Unit::Kibibytes)),
    ("sstable_preemptive_open_interval_in_mb", "sstable_preemptive_open_interval", Some(Unit::Mebibytes)),
    ("key_cache_size_in_mb", "key_cache_size", Some(Unit::Mebibytes)),
    ("row_cache_size_in_mb", "row_cache_size", Some(Unit::Mebibytes)),
    ("counter_cache_size_in_mb", "counter_cache_size", Some(Unit::Mebibytes)),
    ("cache_load_timeout_seconds", "cache_load_timeout", Some(Unit::Seconds)),
    ("networking_cache_size_in_mb", "networking_cache_size", Some(Unit::Mebibytes)),
    ("file_cache_size_in_mb", "file_cache_size", Some(Unit::Mebibytes)),
    ("index_summary_capacity_in_mb", "index_summary_capacity", Some(Unit::Mebibytes)),
    ("index_summary_resize_interval_in_minutes", "index_summary_resize_interval", Some(Unit::Minutes)),
    ("gc_log_threshold_in_ms", "gc_log_threshold", Some(Unit::Milliseconds)),
    ("gc_warn_threshold_in_ms", "gc_warn_threshold", Some(Unit::Milliseconds)),
    ("tracetype_query_ttl", "trace_type_query_ttl", Some(Unit::Seconds)),
    ("tracetype_repair_ttl", "trace_type_repair_ttl", Some(Unit::Seconds)),
    ("prepared_statements_cache_size_mb", "prepared_statements_cache_size", Some(Unit::Mebibytes)),
    ("enable_user_defined_functions", "user_defined_functions_enabled", None),
    ("enable_scripted_user_defined_functions", "scripted_user_defined_functions_enabled", None),
    ("enable_materialized_views", "materialized_views_enabled", None),
    ("enable_transient_replication", "transient_replication_enabled", None),
    ("enable_sasi_indexes", "sasi_indexes_enabled", None),
    ("enable_drop_compact_storage", "drop_compact_storage_enabled", None),
    ("enable_user_defined_functions_threads", "user_defined_functions_threads_enabled", None),
    ("user_defined_function_warn_timeout", "user_defined_functions_warn_timeout", Some(Unit::Milliseconds)),
    ("user_defined_function_fail_timeout", "user_defined_functions_fail_timeout", Some(Unit::Milliseconds)),
    ("validation_preview_purge_head_start_in_sec", "validation_preview_purge_head_start", Some(Unit::Seconds)),
    ("keyspace_count_warn_threshold", "keyspaces_warn_threshold", None),
    ("table_count_warn_threshold", "tables_warn_threshold", None),
    ("compaction_large_partition_warning_threshold_mb", "partition_size_warn_threshold", None),
    ("compaction_large_partition_warning_threshold", "partition_size_warn_threshold", None),
    ("compaction_tombstone_warning_threshold", "partition_tombstones_warn_threshold", None),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_new_name_of_a_renamed_key_is_known() {
        for (old, new, _) in RENAMED {
            assert!(is_known(new), "{old} leads to {new}, which is not in the list");
            assert!(!is_known(old), "{old} is both old and present");
        }
    }
}
