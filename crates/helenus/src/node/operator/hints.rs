//! A shard's hints, as operators see and set them.

use admin::{HintFacts, HintSwitch, NodeHintFacts, Refusal};
use cluster::coordinator::{Hints, PendingHints};
use topology::HostId;

/// The settings of hints, and what waits.
pub(super) fn hint_facts(hints: &Hints) -> HintFacts {
    let pending = |pending: PendingHints| NodeHintFacts {
        host_id: pending.host_id.to_string(),
        files: pending.files,
        bytes: pending.bytes,
        oldest_ms: pending.oldest_ms,
        newest_ms: pending.newest_ms,
    };
    HintFacts {
        is_enabled: hints.is_enabled(),
        is_paused: hints.is_paused(),
        disabled_datacenters: hints.disabled_datacenters(),
        window_ms: u64::try_from(hints.window().as_millis()).unwrap_or(u64::MAX),
        throttle: hints.throttle(),
        pending: hints.pending().into_iter().map(pending).collect(),
    }
}

/// Sets something of hints on this shard.
pub(super) fn set_hints(hints: &Hints, switch: HintSwitch) -> Result<(), Refusal> {
    match switch {
        HintSwitch::Enabled(is_enabled) => hints.enable(is_enabled),
        HintSwitch::Datacenter { name, is_enabled } => hints.enable_datacenter(&name, is_enabled),
        HintSwitch::Paused(is_paused) => hints.pause(is_paused),
        HintSwitch::Window(window) => hints.set_window(window),
        HintSwitch::Throttle(bytes) => hints.set_throttle(bytes),
        HintSwitch::Remove { host_id: None } => hints.remove(None),
        HintSwitch::Remove { host_id: Some(host_id) } => {
            let bytes = stdx::parse_uuid(&host_id);
            let bytes = bytes.ok_or_else(|| Refusal::Refused(format!("Invalid UUID string: {host_id}")))?;
            hints.remove(Some(HostId(bytes)));
        }
    }
    Ok(())
}
