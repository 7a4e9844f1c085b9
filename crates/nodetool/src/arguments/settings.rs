//! Options of the commands that read and set limits, levels and timeouts.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct GetCompactionThroughput {
    /// Print with decimals
    #[arg(short = 'd', long)]
    pub(crate) precise_mib: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetCompactionThroughput {
    /// MiB/s for the whole node; 0 is unlimited
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct GetStreamThroughput {
    /// Print MiB/s
    #[arg(short = 'm', long)]
    pub(crate) mib: bool,
    /// Print Mb/s with decimals
    #[arg(short = 'd', long)]
    pub(crate) precise_mbit: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SetStreamThroughput {
    /// The value is in MiB/s
    #[arg(short = 'm', long)]
    pub(crate) mib: bool,
    /// Megabits/s for the whole node; 0 is unlimited
    #[arg(allow_negative_numbers = true)]
    pub(crate) value: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetLoggingLevel {
    /// Logger: root [default: all]
    pub(crate) target: Option<String>,
    /// Log level: ERROR, WARN, INFO, DEBUG, TRACE
    pub(crate) level: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SetTraceProbability {
    /// Probability from 0 to 1
    #[arg(allow_negative_numbers = true)]
    pub(crate) probability: f64,
}

#[derive(Debug, Args)]
pub(crate) struct Datacenter {
    /// Name of the datacenter
    pub(crate) datacenter: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetHandoffThrottle {
    /// KiB/s of this node to another; 0 is unlimited
    pub(crate) value: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SetMaxHintWindow {
    /// Milliseconds after the oldest hint of a node after which no further one is kept for it
    pub(crate) value: u64,
}

#[derive(Debug, Args)]
pub(crate) struct GetTimeout {
    /// read, range, write, counterwrite, cascontention, truncate, internodeconnect or misc
    pub(crate) timeout_type: String,
}

#[derive(Debug, Args)]
pub(crate) struct SetTimeout {
    /// read, range, write, counterwrite, cascontention, truncate, internodeconnect or misc
    pub(crate) timeout_type: String,
    /// Milliseconds
    #[arg(allow_negative_numbers = true)]
    pub(crate) timeout_in_ms: i64,
}

#[derive(Debug, Args)]
pub(crate) struct TruncateHints {
    /// Addresses of nodes [default: all]
    pub(crate) endpoints: Vec<std::net::IpAddr>,
}
