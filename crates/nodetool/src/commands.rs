//! The commands: each asks, and makes a report of the answers.

mod auditlog;
mod auth_caches;
mod autocompaction;
mod clientstats;
mod cms;
mod compaction;
mod compactionhistory;
mod compactionstats;
mod cql;
mod datapaths;
mod departures;
mod describecluster;
mod failuredetector;
mod getcompactionthreshold;
mod getendpoints;
mod gossipinfo;
mod handoff;
mod import_roles;
mod info;
mod logging;
mod netstats;
mod operations;
mod proxyhistograms;
mod repair;
mod ring;
mod scrub;
mod services;
mod snapshots;
mod status;
mod streamthroughput;
mod tablehistograms;
mod tables;
mod tablestats;
mod timeouts;
mod toppartitions;
mod tpstats;
mod upgrade;
mod version;

use auth_caches::Cache;
use services::Service;

use crate::arguments::Command;
use crate::error::ToolError;
use crate::report::{Answer, Format};
use crate::surroundings::{Request, Surroundings};

/// Runs one command.
pub(crate) fn run(command: &Command, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    match command {
        Command::Status(arguments) => status::run(arguments, node),
        Command::Info(arguments) => info::run(arguments, node),
        Command::DescribeCluster => describecluster::run(node),
        Command::Ring(arguments) => ring::run(arguments, node),
        Command::GossipInfo => gossipinfo::run(node),
        Command::FailureDetector => failuredetector::run(node),
        Command::GetEndpoints(arguments) => getendpoints::run(arguments, node),
        Command::Decommission(arguments) => departures::decommission(arguments, node),
        Command::Operations(arguments) => operations::run(arguments, node),
        Command::AbortBootstrap(arguments) => operations::abort_bootstrap(arguments, node),
        Command::Rebuild(arguments) => operations::rebuild(arguments, node),
        Command::NetStats(arguments) => netstats::run(arguments, node),
        Command::Move(arguments) => operations::exchange_token(arguments, node),
        Command::RemoveNode(arguments) => departures::remove(arguments, node),
        Command::Assassinate(arguments) => departures::assassinate(arguments, node),
        Command::Cms(arguments) => cms::run(arguments, node),
        Command::Upgrade(arguments) => upgrade::run(arguments, node),
        Command::Version(arguments) => version::run(arguments, node),
        Command::Flush(arguments) => tables::flush(arguments, node),
        Command::Drain => done(node, Request::post("/storage_service/drain")),
        Command::Compact(arguments) => compaction::compact(arguments, node),
        Command::GarbageCollect(arguments) => compaction::collect_garbage(arguments, node),
        Command::Cleanup(arguments) => compaction::clean_up(arguments, node),
        Command::Scrub(arguments) => scrub::run(arguments, node),
        Command::Repair(arguments) => repair::run(arguments, node),
        Command::CompactionStats(arguments) => compactionstats::run(arguments, node),
        Command::CompactionHistory(arguments) => compactionhistory::run(arguments, node),
        Command::Stop(arguments) => compaction::stop(arguments, node),
        Command::GetCompactionThroughput(arguments) => compaction::throughput(arguments, node),
        Command::SetCompactionThroughput(arguments) => compaction::set_throughput(arguments, node),
        Command::GetStreamThroughput(arguments) => streamthroughput::get(arguments, node),
        Command::SetStreamThroughput(arguments) => streamthroughput::set(arguments, node),
        Command::EnableAutoCompaction(arguments) => autocompaction::turn(arguments, true, node),
        Command::DisableAutoCompaction(arguments) => autocompaction::turn(arguments, false, node),
        Command::StatusAutoCompaction(arguments) => autocompaction::status(arguments, node),
        Command::Snapshot(arguments) => snapshots::take(arguments, node),
        Command::ListSnapshots(_) => snapshots::list(node),
        Command::ClearSnapshot(arguments) => snapshots::clear(arguments, node),
        Command::Refresh(arguments) => tables::refresh(arguments, node),
        Command::TableStats(arguments) => tablestats::run(arguments, node),
        Command::TableHistograms(arguments) => tablehistograms::run(arguments, node),
        Command::ClientStats(arguments) => clientstats::run(arguments, node),
        Command::DataPaths(arguments) => datapaths::run(arguments, node),
        Command::GetCompactionThreshold(arguments) => getcompactionthreshold::run(arguments, node),
        Command::StatusBinary => services::status(Service::Native, node),
        Command::StatusGossip => services::status(Service::Gossip, node),
        Command::ProxyHistograms => proxyhistograms::run(node),
        Command::ThreadPoolStats(arguments) => tpstats::run(arguments, node),
        Command::GetLoggingLevels => logging::levels(node),
        Command::SetLoggingLevel(arguments) => logging::set_level(arguments, node),
        Command::ReloadSsl => done(node, Request::post("/helenus/tls/reload")),
        Command::SetTraceProbability(arguments) => logging::set_trace_probability(arguments, node),
        Command::GetTraceProbability => logging::trace_probability(node),
        Command::StatusHandoff => handoff::status(node),
        Command::EnableHandoff => handoff::enable(true, node),
        Command::DisableHandoff => handoff::enable(false, node),
        Command::PauseHandoff => handoff::pause(true, node),
        Command::ResumeHandoff => handoff::pause(false, node),
        Command::EnableHintsForDatacenter(arguments) => handoff::datacenter(arguments, true, node),
        Command::DisableHintsForDatacenter(arguments) => handoff::datacenter(arguments, false, node),
        Command::SetHandoffThrottle(arguments) => handoff::set_throttle(arguments, node),
        Command::GetMaxHintWindow => handoff::window(node),
        Command::SetMaxHintWindow(arguments) => handoff::set_window(arguments, node),
        Command::TruncateHints(arguments) => handoff::truncate(arguments, node),
        Command::ListPendingHints => handoff::pending(node),
        Command::GetTimeout(arguments) => timeouts::get(arguments, node),
        Command::SetTimeout(arguments) => timeouts::set(arguments, node),
        Command::InvalidatePermissionsCache(arguments) => auth_caches::invalidate_permissions(arguments, node),
        Command::InvalidateRolesCache(_) => auth_caches::invalidate(Cache::Roles, node),
        Command::InvalidateCredentialsCache(_) => auth_caches::invalidate(Cache::Credentials, node),
        Command::InvalidateNetworkPermissionsCache(_) => auth_caches::invalidate(Cache::NetworkPermissions, node),
        Command::InvalidateJmxPermissionsCache(_) => auth_caches::invalidate(Cache::JmxPermissions, node),
        Command::InvalidateCidrPermissionsCache(_) => auth_caches::invalidate(Cache::CidrPermissions, node),
        Command::ReloadCidrGroupsCache => auth_caches::reload(Cache::CidrGroups, node),
        Command::InvalidateKeyCache => auth_caches::invalidate(Cache::Key, node),
        Command::InvalidateCounterCache => auth_caches::invalidate(Cache::Counter, node),
        Command::GetAuthCacheConfig(arguments) => auth_caches::config(&arguments.cache_name, node),
        Command::SetAuthCacheConfig(arguments) => auth_caches::set_config(arguments, node),
        Command::EnableAuditLog(arguments) => auditlog::enable(arguments, node),
        Command::DisableAuditLog => auditlog::disable(node),
        Command::GetAuditLog => auditlog::get(node),
        Command::ImportRoles(arguments) => import_roles::run(arguments, node),
        Command::TopPartitions(arguments) => toppartitions::run(arguments, node),
        Command::Unsupported(command) => Err(ToolError::usage(command.to_string())),
    }
}

/// Has the node do something of which there is nothing to tell.
fn done(node: &mut dyn Surroundings, request: Request) -> Result<Answer, ToolError> {
    node.order(request)?;
    Ok(Answer::nothing())
}
