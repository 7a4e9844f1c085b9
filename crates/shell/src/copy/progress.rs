//! How far a copy is: rows, their rate, and of a file its part in a bar.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Between two lines.
const INTERVAL: Duration = Duration::from_millis(250);
const BAR_CHARS: usize = 20;

/// The progress of a copy.
pub(super) struct Progress {
    start: Instant,
    shown: Instant,
    /// Rows when the last line was shown.
    rows_shown: u64,
    rate: f64,
    /// `false`: the rows themselves are on the terminal.
    is_shown: bool,
    /// A bar is for a person.
    has_bar: bool,
}

impl Progress {
    pub(super) fn new(is_shown: bool) -> Progress {
        let now = Instant::now();
        let has_bar = io::stdout().is_terminal();
        Progress { start: now, shown: now, rows_shown: 0, rate: 0.0, is_shown, has_bar }
    }

    /// Shows a line, if the last is old enough. `part`: of the file, from 0 to 1.
    pub(super) fn show(&mut self, rows: u64, part: Option<f64>) {
        if self.shown.elapsed() >= INTERVAL {
            self.line(rows, part);
        }
    }

    fn line(&mut self, rows: u64, part: Option<f64>) {
        let seconds = self.shown.elapsed().as_secs_f64().max(1e-9);
        let rate = (rows - self.rows_shown) as f64 / seconds;
        self.rate = if self.rate == 0.0 { rate } else { (self.rate + rate) / 2.0 };
        (self.shown, self.rows_shown) = (Instant::now(), rows);
        let average = rows as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
        let bar = part.filter(|_| self.has_bar).map(bar).unwrap_or_default();
        let rate = self.rate;
        self.write(&format!("{bar}Processed: {rows} rows; Rate: {rate:7.0} rows/s; Avg. rate: {average:7.0} rows/s\r"));
    }

    /// Shows the last line, and what came of it.
    pub(super) fn end(&mut self, rows: u64, outcome: impl FnOnce(&str) -> String) {
        self.line(rows, Some(1.0));
        let text = format!("\n{}\n", outcome(&interval(self.start.elapsed())));
        self.write(&text);
    }

    /// Shows a text of its own line.
    pub(super) fn write(&self, text: &str) {
        if self.is_shown {
            let mut stdout = io::stdout().lock();
            // A closed output ends the session after the command.
            let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        }
    }
}

fn bar(part: f64) -> String {
    let full = (part.clamp(0.0, 1.0) * BAR_CHARS as f64).round() as usize;
    format!("[{}{}] {:3.0}% ", "#".repeat(full), "-".repeat(BAR_CHARS - full), part.clamp(0.0, 1.0) * 100.0)
}

/// Days, hours, minutes and seconds, as cqlsh means to say them.
pub(super) fn interval(time: Duration) -> String {
    let mut whole = time.as_secs();
    let mut parts = Vec::new();
    for (length, unit) in [(86_400, "day"), (3600, "hour"), (60, "minute")] {
        let count = whole / length;
        if count > 0 {
            parts.push(format!("{count} {unit}{}", if count > 1 { "s" } else { "" }));
        }
        whole %= length;
    }
    let seconds = format!("{:.3} seconds", whole as f64 + f64::from(time.subsec_millis()) / 1000.0);
    match parts.len() {
        0 => seconds,
        1 => format!("{} and {seconds}", parts[0]),
        _ => format!("{}, and {seconds}", parts.join(", ")),
    }
}
