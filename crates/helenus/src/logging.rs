//! The log: where it goes, and its level, which an operator may change while the node runs.
//!
//! An event is one line. What a client sends may stand in it, such as a name that no role has: it neither begins a line of its own nor steers a terminal (CWE-117).

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
    let target = LogTarget { to_stdout, has_colours: is_terminal };
    let lines = fmt::layer().with_target(false).with_writer(target).with_ansi(is_terminal);
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
    has_colours: bool,
}

impl<'a> MakeWriter<'a> for LogTarget {
    type Writer = Line<Box<dyn Write>>;

    fn make_writer(&'a self) -> Self::Writer {
        let target: Box<dyn Write> = if self.to_stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) };
        Line { target, has_colours: self.has_colours }
    }
}

/// Writes an event, which comes as one text that ends with the end of the line.
struct Line<W> {
    target: W,
    /// Escape characters are the formatter's own, which escapes those of values.
    has_colours: bool,
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        match line.chars().any(|letter| self.is_hidden(letter)) {
            false => self.target.write_all(event)?,
            true => self.target.write_all(self.escaped(line, text.len() > line.len()).as_bytes())?,
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

impl<W> Line<W> {
    fn is_hidden(&self, letter: char) -> bool {
        const ESCAPE: char = '\x1b';
        letter.is_control() && letter != '\t' && !(letter == ESCAPE && self.has_colours)
    }

    #[cold]
    fn escaped(&self, line: &str, is_ended: bool) -> String {
        let mut out = String::with_capacity(line.len() + 16);
        for letter in line.chars() {
            match self.is_hidden(letter) {
                true => out.extend(letter.escape_default()),
                false => out.push(letter),
            }
        }
        if is_ended {
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: &str, has_colours: bool) -> String {
        let mut line = Line { target: Vec::new(), has_colours };
        line.write_all(event.as_bytes()).expect("memory takes it");
        String::from_utf8(line.target).expect("it was a text")
    }

    #[test]
    fn an_event_is_one_line_whatever_a_client_sends() {
        let event = "DEBUG client login refused message=username low\n2026-01-01 INFO forged\r\0\u{9b} é\ttab\n";
        let expected =
            "DEBUG client login refused message=username low\\n2026-01-01 INFO forged\\r\\u{0}\\u{9b} é\ttab\n";
        assert_eq!(written(event, false), expected);
        assert_eq!(written("INFO ready\n", false), "INFO ready\n");
        assert_eq!(written("no end", false), "no end");
        assert_eq!(written("\x1b[32mINFO\x1b[0m a\nb\n", true), "\x1b[32mINFO\x1b[0m a\\nb\n");
        assert_eq!(written("a \x1b[2J b\n", false), "a \\u{1b}[2J b\n");
    }
}
