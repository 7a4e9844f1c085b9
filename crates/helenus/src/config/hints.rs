//! The keys of hints: `hinted_handoff_*`, `max_hint*` and `hints_*`, with Cassandra's units.

use std::path::PathBuf;
use std::time::Duration;

use query::HintOptions;

use super::ConfigError;
use super::place::Place;
use super::yaml::Node;

/// The least and the greatest length of a file.
pub(super) const FILE_BYTES: (u64, u64) = (1 << 20, 1 << 30);
/// The least and the greatest time between two syncs.
pub(super) const FLUSH_PERIOD: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

/// Items that the file gives, and defaults; its folder aside.
#[derive(Debug, Default)]
pub struct HintSettings {
    pub(super) options: HintOptions,
    pub(super) dir: Option<PathBuf>,
}

/// Acts on one key; false if it is none of these.
pub(super) fn apply(
    place: &Place<'_>,
    key: &str,
    value: &Node,
    settings: &mut HintSettings,
) -> Result<bool, ConfigError> {
    let options = &mut settings.options;
    match key {
        "hinted_handoff_enabled" => options.is_enabled = place.flag(value)?,
        "hinted_handoff_disabled_datacenters" => {
            let Node::List(names) = value else { return Err(place.wrong("expected a list of datacenters")) };
            let names = names.iter().map(|name| place.text(name).map(str::to_owned));
            options.disabled_datacenters = names.collect::<Result<_, _>>()?;
        }
        "max_hint_window" => options.window = place.duration(value)?,
        "hinted_handoff_throttle" => options.throttle = place.size(value)?,
        "max_hints_file_size" => options.file_bytes_max = place.size(value)?,
        // 0 is Cassandra's word for no bound of one's own; the default bound then stands.
        "max_hints_size_per_host" => options.host_bytes_max = Some(place.size(value)?).filter(|bytes| *bytes > 0),
        "hints_flush_period" => options.flush_period = place.duration(value)?,
        "hints_directory" => settings.dir = Some(PathBuf::from(place.text(value)?)),
        _ => return Ok(false),
    }
    Ok(true)
}
