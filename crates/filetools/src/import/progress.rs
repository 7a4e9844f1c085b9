//! How far an import is, on one line of the terminal.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use runtime::Runtime;

const PAUSE: Duration = Duration::from_millis(200);
const WIDTH: usize = 30;

/// The line.
pub(super) struct Progress {
    runtime: Runtime,
    began: runtime::Instant,
    shown: Option<runtime::Instant>,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(runtime: &Runtime) -> Progress {
        let is_shown = std::io::stderr().is_terminal();
        Progress { runtime: runtime.clone(), began: runtime.now(), shown: None, is_shown }
    }

    /// Shows how much of the files was read, if it is time.
    pub(super) fn show(&mut self, (read, all): (u64, u64), rows: u64) {
        let now = self.runtime.now();
        if !self.is_shown || self.shown.is_some_and(|shown| now - shown < PAUSE) {
            return;
        }
        self.shown = Some(now);
        eprint!("\r{}", line(read, all, rows, now - self.began));
        let _ = std::io::stderr().flush();
    }

    /// Leaves the line behind, and says what was done.
    pub(super) fn end(&self, all: u64, rows: u64, writes: u64) -> String {
        let took = self.runtime.now() - self.began;
        if self.is_shown {
            eprintln!("\r{}", line(all, all, rows, took));
        }
        format!("{rows} rows, {writes} statements in {:.1} s", took.as_secs_f64())
    }
}

fn line(read: u64, all: u64, rows: u64, took: Duration) -> String {
    let share = if all == 0 { 1.0 } else { read as f64 / all as f64 };
    let full = (share * WIDTH as f64) as usize;
    let bar = format!("{}{}", "#".repeat(full), ".".repeat(WIDTH - full));
    let rate = rows as f64 / took.as_secs_f64().max(0.001);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!("[{bar}] {:3.0} %  {:.1} of {:.1} MiB  {rows} rows  {rate:.0} rows/s", share * 100.0, mib(read), mib(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills() {
        let half = line(1 << 20, 2 << 20, 500, Duration::from_secs(2));
        assert_eq!(half, "[###############...............]  50 %  1.0 of 2.0 MiB  500 rows  250 rows/s");
        assert!(line(0, 0, 0, Duration::ZERO).starts_with("[##############################] 100 %"));
    }
}
