//! The keys of hints: `hinted_handoff_*`, `max_hint*` and `hints_*`, with Cassandra's units.

use std::path::{Path, PathBuf};
use std::time::Duration;

use query::HintOptions;

use super::place::Place;
use super::settings::in_range;
use super::units::{print_size, shown_size};
use super::yaml::Node;
use super::{ConfigError, shown};

/// The folder in the data folder.
const FOLDER: &str = "hints";
/// The least and the greatest length of a file.
const FILE_BYTES: (u64, u64) = (1 << 20, 1 << 30);
/// The least and the greatest time between two syncs.
const FLUSH_PERIOD: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3600));

/// Items that the file gives, and defaults; its folder aside.
#[derive(Debug, Default)]
pub struct HintSettings {
    options: HintOptions,
    dir: Option<PathBuf>,
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

impl HintSettings {
    /// Checks the whole, and puts the folder where nothing else was said.
    pub(super) fn complete(self, data_dir: &Path, disk_reserve: u64) -> Result<HintOptions, ConfigError> {
        let HintSettings { options, dir } = self;
        in_range("max_hints_file_size", options.file_bytes_max, FILE_BYTES.0, FILE_BYTES.1, print_size)?;
        let (least, most) = FLUSH_PERIOD;
        in_range("hints_flush_period", options.flush_period, least, most, |period| format!("{period:?}"))?;
        let dir = Some(dir.unwrap_or_else(|| data_dir.join(FOLDER)));
        Ok(HintOptions { dir, disk_reserve, ..options })
    }
}

/// Names of the keys and the values in effect.
pub(super) fn shown(options: &HintOptions) -> Vec<(String, Option<String>)> {
    let datacenters: Vec<&str> = options.disabled_datacenters.iter().map(String::as_str).collect();
    let all = [
        ("hinted_handoff_disabled_datacenters", format!("[{}]", datacenters.join(", "))),
        ("hinted_handoff_enabled", options.is_enabled.to_string()),
        ("hinted_handoff_throttle", shown_size(options.throttle)),
        ("hints_directory", options.dir.as_ref().map(|dir| dir.display().to_string()).unwrap_or_default()),
        ("hints_flush_period", shown::duration(options.flush_period)),
        ("max_hint_window", shown::duration(options.window)),
        ("max_hints_file_size", shown_size(options.file_bytes_max)),
        ("max_hints_size_per_host", shown_size(options.host_bytes_max.unwrap_or(0))),
    ];
    all.into_iter().map(|(name, value)| (name.to_owned(), Some(value))).collect()
}
