//! The keys of timeouts: `read_request_timeout` and its like, in milliseconds or longer units, as Cassandra takes them.

use std::time::Duration;

use query::{TimeoutKind, TimeoutOptions};

use super::ConfigError;
use super::place::Place;
use super::units::shown_duration;
use super::yaml::Node;

/// The least time. A lesser one counts as this, as in Cassandra: no request would end in time.
const LEAST: Duration = Duration::from_millis(10);

const KEYS: [(&str, TimeoutKind); 8] = [
    ("read_request_timeout", TimeoutKind::Read),
    ("range_request_timeout", TimeoutKind::Range),
    ("write_request_timeout", TimeoutKind::Write),
    ("counter_write_request_timeout", TimeoutKind::CounterWrite),
    ("cas_contention_timeout", TimeoutKind::CasContention),
    ("truncate_request_timeout", TimeoutKind::Truncate),
    ("request_timeout", TimeoutKind::Other),
    ("internode_tcp_connect_timeout", TimeoutKind::Connect),
];

/// Acts on one key; false if it is none of these.
pub(super) fn apply(
    place: &Place<'_>,
    key: &str,
    value: &Node,
    timeouts: &mut TimeoutOptions,
) -> Result<bool, ConfigError> {
    // Deadlines of requests to other nodes are always their coordinator's, which is what `true` asks for.
    if key == "internode_timeout" {
        return place.flag(value);
    }
    let Some((_, kind)) = KEYS.iter().find(|(name, _)| *name == key) else { return Ok(false) };
    *timeouts.get_mut(*kind) = place.whole_milliseconds(value)?.max(LEAST);
    Ok(true)
}

/// The keys with their values.
pub(super) fn shown(timeouts: &TimeoutOptions) -> Vec<(String, Option<String>)> {
    KEYS.iter().map(|(name, kind)| ((*name).to_owned(), Some(shown_duration(timeouts.get(*kind))))).collect()
}
