//! The log: where it goes, and its level, which an operator may change while the node runs.

use std::io::{self, Write};
use std::sync::Arc;

use admin::LogLevel;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{fmt, reload};

/// Starts logging. Nothing on the way of a request logs below `debug`, so the lock inside the writer is not met there.
pub(crate) fn start(level: Level, to_stdout: bool) -> LogLevel {
    // Colours are for people at terminals, not for files.
    let is_terminal =
        if to_stdout { io::IsTerminal::is_terminal(&io::stdout()) } else { io::IsTerminal::is_terminal(&io::stderr()) };
    let lines = fmt::layer().with_target(false).with_writer(LogTarget { to_stdout }).with_ansi(is_terminal);
    let (filter, handle) = reload::Layer::new(LevelFilter::from_level(level));
    tracing_subscriber::registry().with(filter).with(lines).init();
    let reader = handle.clone();
    LogLevel {
        get: Arc::new(move || reader.clone_current().and_then(|filter| filter.into_level()).unwrap_or(level)),
        set: Arc::new(move |level| handle.reload(LevelFilter::from_level(level)).is_ok()),
    }
}

struct LogTarget {
    to_stdout: bool,
}

impl<'a> MakeWriter<'a> for LogTarget {
    type Writer = Box<dyn Write>;

    fn make_writer(&'a self) -> Box<dyn Write> {
        if self.to_stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) }
    }
}
