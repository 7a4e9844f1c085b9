//! What a study ran on: without it a figure says nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use doctor::Host;
use serde::{Deserialize, Serialize};

/// The host, and what is to be said against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) kernel: String,
    pub(crate) system: String,
    /// What the doctor found, the whole of it.
    pub(crate) findings: Vec<Finding>,
}

/// One of the doctor's findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finding {
    pub(crate) check: String,
    pub(crate) verdict: String,
    pub(crate) found: String,
}

impl Machine {
    /// This one, for servers whose data are in that folder.
    pub(crate) fn this(data: &Path) -> Machine {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let of = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name));
            line.and_then(|line| line.split_once([':', '=']))
                .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        };
        let findings = doctor::examine(&Host::this(data)).into_iter().map(|finding| Finding {
            check: finding.check.to_owned(),
            verdict: finding.verdict.name().to_owned(),
            found: finding.found,
        });
        let memory = of(&read("/proc/meminfo"), "MemTotal");
        let kib = memory.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
        Machine {
            processor: of(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "not known".to_owned()),
            processors: std::thread::available_parallelism().map_or(1, |count| count.get()),
            memory_bytes: kib.unwrap_or(0) << 10,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            system: of(&read("/etc/os-release"), "PRETTY_NAME").unwrap_or_else(|| "not known".to_owned()),
            findings: findings.collect(),
        }
    }
}

/// Now, as `2026-11-23T07:30:00Z`.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let text = cql_types::timestamp_of_era(since.as_millis() as i64, 'T');
    match text.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => text,
    }
}
