//! What a check comes to.

use serde::Serialize;

/// How a check ended, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// As it should be.
    #[serde(rename = "ok")]
    Ok,
    /// It could not be read; what it would mean is anybody's guess, so none is made.
    #[serde(rename = "not known")]
    NotKnown,
    /// It works; it would be better otherwise.
    #[serde(rename = "advice")]
    Advice,
    /// It costs much speed, or makes latencies erratic.
    #[serde(rename = "warning")]
    Warning,
    /// A node must not run so: it would lose data, or fail.
    #[serde(rename = "problem")]
    Problem,
}

impl Verdict {
    /// All of them, the worst first.
    pub const ALL: [Verdict; 5] = [Verdict::Problem, Verdict::Warning, Verdict::Advice, Verdict::NotKnown, Verdict::Ok];

    /// The word that is printed.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::NotKnown => "not known",
            Verdict::Advice => "advice",
            Verdict::Warning => "warning",
            Verdict::Problem => "problem",
        }
    }
}

/// What part of the host a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// The kernel and what it runs on.
    Machine,
    /// Processors.
    Processors,
    /// Memory.
    Memory,
    /// The disk and the file system of the data folder.
    Disk,
    /// Interrupts and sockets.
    Network,
    /// What the kernel grants a process.
    Limits,
    /// Clocks.
    Time,
}

impl Area {
    /// The heading in the report.
    pub fn name(self) -> &'static str {
        match self {
            Area::Machine => "machine",
            Area::Processors => "processors",
            Area::Memory => "memory",
            Area::Disk => "disk",
            Area::Network => "network",
            Area::Limits => "limits",
            Area::Time => "time",
        }
    }
}

/// One check's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What part of the host it is about.
    pub area: Area,
    /// The check's name.
    pub check: &'static str,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found, or why it is not known.
    pub found: String,
    /// Why it matters to Helenus.
    pub why: &'static str,
    /// What mends it; none when there is nothing to do.
    pub mend: Option<String>,
}

/// What a check says of a host: the part of a [`Finding`] that differs from host to host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    pub(crate) found: String,
    pub(crate) mend: Option<String>,
}

impl Judgement {
    pub(crate) fn ok(found: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Ok, found: found.into(), mend: None }
    }

    pub(crate) fn advice(found: impl Into<String>, mend: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Advice, found: found.into(), mend: Some(mend.into()) }
    }

    pub(crate) fn warning(found: impl Into<String>, mend: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Warning, found: found.into(), mend: Some(mend.into()) }
    }

    pub(crate) fn problem(found: impl Into<String>, mend: impl Into<String>) -> Judgement {
        Judgement { verdict: Verdict::Problem, found: found.into(), mend: Some(mend.into()) }
    }
}
