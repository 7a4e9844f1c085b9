//! The raw data of a study: all that was measured, and on what. Everything that is told follows from it.

use serde::{Deserialize, Serialize};

use crate::figures::{Figures, Metric};
use crate::file::Study;
use crate::machine::Machine;
use crate::said;

/// A study that has run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The version of the program that ran it.
    pub(crate) version: String,
    /// The study, with the variables and rounds that it ran with.
    pub(crate) study: Study,
    pub(crate) machine: Machine,
    pub(crate) began: String,
    pub(crate) ended: String,
    pub(crate) samples: Vec<Sample>,
}

/// One run of the generator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) load: String,
    pub(crate) level: Option<f64>,
    pub(crate) system: String,
    /// From 1.
    pub(crate) round: u32,
    /// The generator's line, as it was run.
    pub(crate) line: String,
    /// What it measured, if it wrote a report.
    pub(crate) figures: Option<Figures>,
    /// Why it ended with an error, in one line; of results that were written before `stderr` was kept, all that it said. A rate that was not kept is one;
    /// its figures count all the same.
    pub(crate) error: Option<String>,
    /// Its output, if it ended with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stderr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdout: Option<String>,
    /// Of the start before the load, if there was one.
    pub(crate) start_seconds: Option<f64>,
    pub(crate) idle_bytes: Option<u64>,
    /// What the server held in memory after it.
    pub(crate) resident_bytes: Option<u64>,
}

impl Sample {
    /// Whether its figures count: it did all that it should, or all but keep a rate.
    pub(crate) fn is_sound(&self) -> bool {
        self.errors() == 0 && (self.error.is_none() || self.has_lost_rate())
    }

    /// The line that says why it ended with an error.
    pub(crate) fn message(&self) -> Option<&str> {
        self.error.as_deref().map(said::message)
    }

    /// The output that came with its error, if that is more than the message.
    pub(crate) fn printed(&self) -> Option<String> {
        let message = self.message()?;
        let of_before = self.error.as_deref().filter(|_| self.stderr.is_none() && self.stdout.is_none());
        let parts: Vec<&str> =
            [self.stderr.as_deref(), self.stdout.as_deref(), of_before].into_iter().flatten().collect();
        let text = parts.join("\n");
        (!text.is_empty() && !message.ends_with(&text)).then_some(text)
    }

    /// Operations that failed, also where the generator was told not to mind.
    pub(crate) fn errors(&self) -> u64 {
        self.figures.as_ref().map_or(0, |figures| figures.errors)
    }

    /// Whether the server did not keep up with the rate that was asked for.
    pub(crate) fn has_lost_rate(&self) -> bool {
        self.figures.as_ref().is_some_and(|figures| figures.is_rate_kept == Some(false))
    }

    /// A figure that systems are compared by.
    pub(crate) fn metric(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Start => self.start_seconds,
            Metric::IdleMemory => self.idle_bytes.map(|bytes| bytes as f64),
            _ => self.figures.as_ref()?.metric(metric),
        }
    }
}
