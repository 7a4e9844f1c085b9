//! `netstats`: the node's mode, and the copies of data between it and others.

use serde::{Deserialize, Serialize};

use crate::arguments::NetStats as Arguments;
use crate::error::ToolError;
use crate::layout::{bytes, hours};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

/// Characters of a whole bar.
const BAR: usize = 40;

/// The copies, as the node tells them.
#[derive(Debug, Deserialize)]
struct Streams {
    open: u64,
    copying: Option<Copying>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Copying {
    operation: u64,
    /// Of 1.
    part: f64,
    rows: u64,
    bytes: u64,
    files: u64,
    elapsed_ms: u64,
}

#[derive(Debug, Serialize)]
struct NetStats {
    mode: String,
    /// Copies that other nodes make of this one's data.
    sending: u64,
    receiving: Option<Copying>,
    #[serde(skip)]
    human: bool,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let mode = node.get(Request::get("/storage_service/operation_mode"))?;
    let Streams { open, copying } = node.get(Request::get("/helenus/streams"))?;
    Ok(Answer::of(&NetStats { mode, sending: open, receiving: copying, human: arguments.human_readable }))
}

impl Copying {
    /// Bytes a second.
    fn rate(&self) -> f64 {
        self.bytes as f64 * 1000.0 / self.elapsed_ms.max(1) as f64
    }

    /// Seconds, if the rest takes as long as what is done. None: nothing is done yet.
    fn left(&self) -> Option<u64> {
        let elapsed = self.elapsed_ms as f64 / 1000.0;
        (self.part > 0.0).then(|| (elapsed / self.part - elapsed).max(0.0).round() as u64)
    }

    fn bar(&self) -> String {
        let filled = (self.part.clamp(0.0, 1.0) * BAR as f64) as usize;
        format!("[{}{}]", "#".repeat(filled), " ".repeat(BAR - filled))
    }
}

impl Report for NetStats {
    fn text(&self) -> String {
        let mut text = format!("Mode: {}\n", self.mode);
        if let Some(copying) = &self.receiving {
            text += &format!("Receiving for operation {}:\n", copying.operation);
            text += &format!("    {} {:.1} %\n", copying.bar(), copying.part * 100.0);
            let (received, rate) = (bytes(copying.bytes, self.human), bytes(copying.rate() as u64, self.human));
            let left = copying.left().map_or_else(|| "unknown".to_owned(), hours);
            text += &format!(
                "    {} rows, {received} received, {rate}/s, {} files written; time left: {left}\n",
                copying.rows, copying.files
            );
        }
        text += &match self.sending {
            0 => "Not sending any streams.\n".to_owned(),
            1 => "Sending 1 stream.\n".to_owned(),
            count => format!("Sending {count} streams.\n"),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_part_that_is_copied() {
        let copying = |part, elapsed_ms| Copying { operation: 1, part, rows: 0, bytes: 1 << 20, files: 0, elapsed_ms };
        assert_eq!(copying(0.25, 10_000).left(), Some(30));
        assert_eq!(copying(1.0, 10_000).left(), Some(0));
        assert_eq!(copying(0.0, 10_000).left(), None);
        assert_eq!(copying(0.5, 0).bar().matches('#').count(), BAR / 2);
        assert_eq!(copying(0.5, 2_000).rate(), f64::from(1 << 19));
    }
}
