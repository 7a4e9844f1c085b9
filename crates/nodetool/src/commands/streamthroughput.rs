//! `getstreamthroughput`, `setstreamthroughput`: the rate at which data is copied to other nodes. Cassandra's unit is megabits.

use serde::Serialize;

use crate::arguments::{GetStreamThroughput, SetStreamThroughput};
use crate::error::ToolError;
use crate::layout::double;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const PATH: &str = "/storage_service/stream_throughput";
const MIB: f64 = 1_048_576.0;
const MEGABIT: f64 = 125_000.0;

#[derive(Serialize)]
struct Throughput {
    bytes_per_second: u64,
    #[serde(skip)]
    in_mib: bool,
    #[serde(skip)]
    is_precise: bool,
}

impl Report for Throughput {
    fn text(&self) -> String {
        let bytes = self.bytes_per_second as f64;
        let shown = match (self.in_mib, self.is_precise) {
            (true, _) => format!("{} MiB/s", double(bytes / MIB)),
            (false, true) => format!("{} Mb/s", double(bytes / MEGABIT)),
            (false, false) => format!("{} Mb/s", (bytes / MEGABIT).round()),
        };
        format!("Current stream throughput: {shown}\n")
    }
}

pub(super) fn get(arguments: &GetStreamThroughput, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.mib && arguments.precise_mbit {
        return Err(ToolError::usage("You cannot use -m and -d at the same time"));
    }
    let bytes_per_second = node.get(Request::get(PATH))?;
    let report = Throughput { bytes_per_second, in_mib: arguments.mib, is_precise: arguments.precise_mbit };
    Ok(Answer::of(&report))
}

pub(super) fn set(arguments: &SetStreamThroughput, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let unit = if arguments.mib { 1 << 20 } else { 125_000 };
    let value = arguments.value.parse::<u32>().map_err(|_| {
        ToolError::usage(format!("`{}` is not a throughput: use a whole number, 0 for no limit", arguments.value))
    })?;
    node.order(Request::post(PATH).with("value", &(u64::from(value) * unit).to_string()))?;
    Ok(Answer::nothing())
}
