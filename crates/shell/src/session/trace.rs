//! Traces, as the server wrote them into system_traces.

use std::time::{Duration, Instant};

use cql_protocol::Consistency;
use cql_types::{CqlType, timeuuid};

use super::Session;
use crate::error::CallError;
use crate::format::{self, Colour, Shown, Style, painted};
use crate::server::Found;

/// Between two looks at a trace that is not complete.
const PAUSE: Duration = Duration::from_millis(50);
const NAMES: [&str; 5] = ["activity", "timestamp", "source", "source_elapsed", "client"];

impl Session {
    /// Prints a trace; waits until it is complete, for as long as the settings say.
    pub(super) fn trace(&mut self, id: [u8; 16]) {
        let shown_id = cql_types::print(&CqlType::Uuid, &id);
        match self.found_trace(&shown_id) {
            Err(error) => {
                self.failed(&error);
            }
            Ok((session, events)) if session.rows.is_empty() => {
                drop(events);
                self.error(&format!("Session {shown_id} wasn't found."));
            }
            Ok((session, events)) => self.print_trace(&shown_id, &session, &events),
        }
    }

    fn found_trace(&mut self, id: &str) -> Result<(Found, Found), CallError> {
        let deadline = Instant::now() + self.trace_wait;
        let level = Consistency::LocalOne;
        loop {
            let text = format!("SELECT * FROM system_traces.sessions WHERE session_id = {id}");
            let session = self.server.borrow_mut().rows(&text, level)?;
            let is_complete = session.bytes(0, "duration").is_some();
            if is_complete || Instant::now() >= deadline {
                if !is_complete && !session.rows.is_empty() {
                    let waited = self.trace_wait.as_secs();
                    let text = format!(
                        "Statement trace did not complete within {waited} seconds; trace data may be incomplete."
                    );
                    let colour = self.output.is_coloured().then_some(Colour::Red);
                    self.output.result(&format!("{}\n", painted(&text, colour)));
                }
                let text = format!("SELECT * FROM system_traces.events WHERE session_id = {id}");
                let events = self.server.borrow_mut().rows(&text, level)?;
                return Ok((session, events));
            }
            if self.server.borrow().way().interrupts.take() {
                return Err(CallError::Interrupted);
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn print_trace(&mut self, id: &str, session: &Found, events: &Found) {
        let style = self.shown_style();
        let client = address(session, 0, "client");
        let coordinator = address(session, 0, "coordinator");
        let started: Option<i64> = bigint(session.bytes(0, "started_at")).map(|millis| millis * 1000);
        let mut rows = vec![row(&[&session.text(0, "request"), &time(started), &coordinator, "0", &client], &style)];
        for event in 0..events.rows.len() {
            let activity = format!("{} [{}]", events.text(event, "activity"), events.text(event, "thread"));
            let at = events.bytes(event, "event_id").and_then(|id| id.try_into().ok()).map(micros);
            let elapsed = events.int(event, "source_elapsed").map_or("--".to_owned(), |micros| micros.to_string());
            rows.push(row(&[&activity, &time(at), &address(events, event, "source"), &elapsed, &client], &style));
        }
        if let Some(duration) = session.int(0, "duration") {
            let ended = started.map(|micros| micros + i64::from(duration));
            rows.push(row(&["Request complete", &time(ended), &coordinator, &duration.to_string(), &client], &style));
        }
        let names: Vec<Shown> = NAMES.map(|name| format::name(name, Colour::Magenta, &style)).to_vec();
        let title = painted("Tracing session: ", style.is_coloured.then_some(Colour::Magenta));
        let table = format::table(&names, &rows, true, style.is_coloured);
        let after = if self.is_interactive { "\n" } else { "" };
        self.output.result(&format!("\n{title}{id}\n\n{table}{after}\n"));
    }
}

fn row(texts: &[&str; 5], style: &Style) -> Vec<Shown> {
    let last = [false, false, false, true, false];
    let shown = |(text, is_number): (&&str, bool)| match is_number {
        true => Shown::of(text, Colour::SCALAR),
        false => format::name(text, Colour::TEXT, style),
    };
    texts.iter().zip(last).map(shown).collect()
}

fn address(found: &Found, row: usize, name: &str) -> String {
    let bytes = found.bytes(row, name).unwrap_or_default();
    format::value(&CqlType::Inet, bytes, &Style::default()).text(false).to_owned()
}

fn bigint(bytes: Option<&[u8]>) -> Option<i64> {
    bytes?.try_into().ok().map(i64::from_be_bytes)
}

/// Microseconds since the epoch of a timeuuid.
fn micros(id: [u8; 16]) -> i64 {
    let below = timeuuid::steps(&id) % 10_000 / 10;
    timeuuid::unix_millis(&id) * 1000 + i64::try_from(below).unwrap_or(0)
}

fn time(micros: Option<i64>) -> String {
    let Some(micros) = micros else { return "None".to_owned() };
    let seconds = Style { time_format: "%Y-%m-%d %H:%M:%S".to_owned(), ..Style::default() };
    let millis = micros.div_euclid(1000).to_be_bytes();
    let text = format::value(&CqlType::Timestamp, &millis, &seconds).text(false).to_owned();
    format!("{text}.{:06}", micros.rem_euclid(1_000_000))
}
