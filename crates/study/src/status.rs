//! A line on the terminal that says each second which step is under way, and is gone afterwards.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time from one writing of it to the next.
const PERIOD: Duration = Duration::from_secs(1);
/// A longer line would wrap, and a wrapped one cannot be written over.
const LETTERS_MAX: usize = 79;
/// Back to the line's start, and the rest of it cleared.
const CLEARED: &str = "\r\u{1b}[K";

/// A line that is shown until this is dropped.
#[derive(Debug)]
pub(crate) struct Status {
    /// The thread that writes it, and the socket whose end it waits for. None: there is no terminal.
    writer: Option<(JoinHandle<()>, UnixStream)>,
}

impl Status {
    /// Shows the words of `text` for the time since now: on standard error if that is a terminal, else nowhere.
    pub(crate) fn show(text: impl Fn(Duration) -> String + Send + 'static) -> Status {
        match io::stderr().is_terminal() {
            true => Status::on(io::stderr(), PERIOD, text),
            false => Status { writer: None },
        }
    }

    /// Without a socket there is no line: a study does not fail for it.
    fn on(
        mut terminal: impl Write + Send + 'static,
        period: Duration,
        text: impl Fn(Duration) -> String + Send + 'static,
    ) -> Status {
        let began = Instant::now();
        let Ok((end, mut ended)) = UnixStream::pair() else { return Status { writer: None } };
        if ended.set_read_timeout(Some(period)).is_err() {
            return Status { writer: None };
        }
        let thread = std::thread::spawn(move || {
            // A terminal that takes nothing does not stop a study.
            loop {
                let line: String = text(began.elapsed()).chars().take(LETTERS_MAX).collect();
                let _ = write!(terminal, "{CLEARED}{line}").and_then(|()| terminal.flush());
                if !is_timeout(&ended.read(&mut [0])) {
                    break;
                }
            }
            let _ = write!(terminal, "{CLEARED}").and_then(|()| terminal.flush());
        });
        Status { writer: Some((thread, end)) }
    }
}

fn is_timeout(read: &io::Result<usize>) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(read, Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted))
}

impl Drop for Status {
    fn drop(&mut self) {
        if let Some((thread, end)) = self.writer.take() {
            drop(end);
            // The next text must not follow the line.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A terminal whose letters are kept.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_is_written_anew_and_leaves_nothing() {
        let paper = Paper::default();
        let text = |since: Duration| format!("{} s {}", since.as_secs(), "x".repeat(200));
        let status = Status::on(paper.clone(), Duration::from_millis(1), text);
        while paper.text().matches("0 s xxx").count() < 3 {
            std::thread::yield_now();
        }
        drop(status);
        let text = paper.text();
        assert!(text.ends_with(&format!("x{CLEARED}")), "{text:?}");
        assert!(text.split(CLEARED).all(|line| line.chars().count() <= LETTERS_MAX), "{text:?}");
    }
}
