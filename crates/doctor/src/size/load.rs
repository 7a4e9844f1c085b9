//! The load that a cluster must carry, checked.

use serde::{Serialize, Serializer};

use crate::DoctorError;
use crate::arguments::{SizeArguments, Strategy};

/// Maximum number of rows: more than there are tokens for in any cluster.
const ROWS_MAX: u64 = 1_000_000_000_000_000;
/// The most operations a second.
const OPERATIONS_MAX: u64 = 1_000_000_000_000;
/// The longest row: half of the greatest frame.
const ROW_BYTES_MAX: u64 = 128 << 20;
const REPLICATION_MAX: u32 = 100;

/// What is asked of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Load {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) partition_rows: u64,
    pub(crate) operations_per_second: u64,
    pub(crate) read_share: f64,
    pub(crate) replication: u32,
    pub(crate) read_copies: u32,
    pub(crate) compression_ratio: f64,
    pub(crate) overhead: f64,
    #[serde(serialize_with = "named")]
    pub(crate) strategy: Strategy,
    pub(crate) index_in_memory: f64,
    pub(crate) utilisation: f64,
    pub(crate) node_cores: u32,
    pub(crate) node_disk_bytes: u64,
}

fn named<S: Serializer>(strategy: &Strategy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name(*strategy))
}

/// The strategy as on the command line.
pub(super) fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::SizeTiered => "size-tiered",
        Strategy::Leveled => "leveled",
        Strategy::TimeWindow => "time-window",
        Strategy::Unified => "unified",
    }
}

impl Load {
    /// Reads it from the command line, and refuses what cannot be.
    pub(crate) fn of(arguments: &SizeArguments) -> Result<Load, DoctorError> {
        let refuse = |flag, reason: String| Err(DoctorError::Flag { flag, reason });
        if arguments.ops > OPERATIONS_MAX {
            return refuse("--ops", format!("at most {OPERATIONS_MAX} operations a second"));
        }
        if !(1..=REPLICATION_MAX).contains(&arguments.replication) {
            return refuse("--replication", format!("from 1 to {REPLICATION_MAX} copies"));
        }
        let read_copies = arguments.read_copies.unwrap_or(arguments.replication / 2 + 1);
        if !(1..=arguments.replication).contains(&read_copies) {
            return refuse("--read-copies", format!("from 1 to the {} copies that there are", arguments.replication));
        }
        if !(1..=ROW_BYTES_MAX).contains(&arguments.row_bytes) {
            return refuse("--row-bytes", format!("from 1 to {ROW_BYTES_MAX} bytes"));
        }
        if arguments.partition_rows == 0 {
            return refuse("--partition-rows", "at least 1".to_owned());
        }
        if arguments.compression_ratio < 0.01 {
            return refuse("--compression-ratio", "at least 0.01; 1 is no compression".to_owned());
        }
        if arguments.utilisation < 0.01 {
            return refuse("--utilisation", "at least 0.01".to_owned());
        }
        if arguments.node_cores == 0 {
            return refuse("--node-cores", "at least 1".to_owned());
        }
        Ok(Load {
            rows: rows(arguments)?,
            row_bytes: arguments.row_bytes,
            partition_rows: arguments.partition_rows,
            operations_per_second: arguments.ops,
            read_share: arguments.read_share,
            replication: arguments.replication,
            read_copies,
            compression_ratio: arguments.compression_ratio,
            overhead: arguments.overhead,
            strategy: arguments.strategy,
            index_in_memory: arguments.index_in_memory,
            utilisation: arguments.utilisation,
            node_cores: arguments.node_cores,
            node_disk_bytes: arguments.node_disk,
        })
    }

    pub(crate) fn reads_per_second(&self) -> f64 {
        self.operations_per_second as f64 * self.read_share
    }

    pub(crate) fn writes_per_second(&self) -> f64 {
        self.operations_per_second as f64 - self.reads_per_second()
    }
}

/// The rows that are named, or those that are written within the retention.
fn rows(arguments: &SizeArguments) -> Result<u64, DoctorError> {
    let (flag, rows) = match (arguments.rows, arguments.retention) {
        (Some(rows), _) => ("--rows", rows),
        (None, Some(seconds)) => {
            let written = arguments.ops as f64 * (1.0 - arguments.read_share) * seconds as f64;
            // A product beyond 64 bits becomes the greatest number, which is refused below.
            ("--retention", written.round() as u64)
        }
        (None, None) => (("--rows"), 0),
    };
    if (1..=ROWS_MAX).contains(&rows) {
        return Ok(rows);
    }
    let reason = if rows == 0 {
        "there must be at least 1 row".to_owned()
    } else {
        format!("{rows} rows exceed the limit of {ROWS_MAX}")
    };
    Err(DoctorError::Flag { flag, reason })
}
