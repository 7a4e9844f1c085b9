//! Tracing: what a request that asked for it did, step by step. A shard keeps what its clients' requests did for a day, the newest of it, in
//! memory; `system_traces` shows what all shards have. Requests that are not traced know nothing of this. See `docs/internals/query.md`.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use cql_protocol::QueryParams;
use runtime::{Instant, Runtime};

use crate::clock::TimestampClock;

/// How long a trace is kept. Cassandra's `trace_type_query_ttl`.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// What a shard keeps, bytes.
const BYTES_MAX: usize = 1 << 20;
/// The steps of one request that are noted.
const STEPS_MAX: usize = 200;
/// The most of a text that is noted, bytes.
const TEXT_MAX: usize = 1024;

/// One step of a request.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// A time-based UUID, by which steps are ordered.
    pub(crate) id: [u8; 16],
    /// What was done.
    pub(crate) activity: String,
    /// When, from the request's beginning.
    pub(crate) elapsed_micros: i32,
}

/// A request that was traced. `Send`, since shards tell each other.
#[derive(Debug, Clone)]
pub(crate) struct Traced {
    /// What the client was told.
    pub(crate) id: [u8; 16],
    /// Who asked, if it is known.
    pub(crate) client: Option<IpAddr>,
    /// What kind of request it was.
    pub(crate) request: &'static str,
    /// What it said.
    pub(crate) parameters: BTreeMap<String, String>,
    /// Milliseconds since 1970.
    pub(crate) started_at: i64,
    /// What it took.
    pub(crate) duration_micros: i32,
    /// The shard that worked on it.
    pub(crate) shard: u16,
    /// What was done.
    pub(crate) steps: Vec<Step>,
}

/// A request while it is traced.
pub(crate) struct Trace<'e> {
    runtime: &'e Runtime,
    clock: &'e TimestampClock,
    began: Instant,
    traced: RefCell<Traced>,
}

impl<'e> Trace<'e> {
    /// The request begins.
    pub(crate) fn begin(runtime: &'e Runtime, clock: &'e TimestampClock, client: Option<IpAddr>) -> Self {
        let traced = Traced {
            id: clock.time_uuid(),
            client,
            request: "",
            parameters: BTreeMap::new(),
            started_at: clock.wall_micros() / 1000,
            duration_micros: 0,
            shard: runtime.shard().0,
            steps: Vec::new(),
        };
        Trace { runtime, clock, began: runtime.now(), traced: RefCell::new(traced) }
    }

    /// What it asks for.
    pub(crate) fn request(&self, request: &'static str, text: Option<&str>, params: Option<&QueryParams<'_>>) {
        let mut traced = self.traced.borrow_mut();
        traced.request = request;
        let mut put = |name: &str, value: String| traced.parameters.insert(name.to_owned(), value);
        if let Some(text) = text {
            put("query", cut(text.to_owned()));
        }
        let Some(params) = params else { return };
        put("consistency_level", params.consistency.name().to_owned());
        if let Some(serial) = params.serial_consistency {
            put("serial_consistency_level", serial.name().to_owned());
        }
        if let Some(page_size) = params.page_size.filter(|size| *size > 0) {
            put("page_size", page_size.to_string());
        }
    }

    /// A step is done, or begins.
    pub(crate) fn step(&self, activity: String) {
        let mut traced = self.traced.borrow_mut();
        if traced.steps.len() < STEPS_MAX {
            let (id, elapsed_micros) = (self.clock.time_uuid(), self.elapsed_micros());
            traced.steps.push(Step { id, activity: cut(activity), elapsed_micros });
        }
    }

    fn elapsed_micros(&self) -> i32 {
        i32::try_from((self.runtime.now() - self.began).as_micros()).unwrap_or(i32::MAX)
    }

    /// The request is answered.
    pub(crate) fn finish(self) -> Traced {
        let duration_micros = self.elapsed_micros();
        Traced { duration_micros, ..self.traced.into_inner() }
    }
}

fn cut(mut text: String) -> String {
    if text.len() > TEXT_MAX {
        let end = (0..=TEXT_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

impl Traced {
    fn bytes(&self) -> usize {
        let steps = self.steps.iter().map(|step| size_of::<Step>() + step.activity.len());
        let parameters = self.parameters.iter().map(|(name, value)| name.len() + value.len() + 2 * size_of::<String>());
        size_of::<Self>() + steps.sum::<usize>() + parameters.sum::<usize>()
    }
}

/// What a shard keeps of its traced requests: the newest, up to so many bytes and so old.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    kept: VecDeque<(Instant, Traced)>,
    bytes: usize,
}

impl Traces {
    /// Keeps a request.
    pub(crate) fn push(&mut self, now: Instant, traced: Traced) {
        self.bytes += traced.bytes();
        self.kept.push_back((now, traced));
        while self.bytes > BYTES_MAX && self.kept.len() > 1 {
            self.pop();
        }
        self.forget(now);
    }

    /// The requests that are kept, or the one with this id.
    pub(crate) fn find(&mut self, now: Instant, id: Option<&[u8]>) -> Vec<Traced> {
        self.forget(now);
        let wanted = |(_, traced): &&(Instant, Traced)| id.is_none_or(|id| traced.id == *id);
        self.kept.iter().filter(wanted).map(|(_, traced)| traced.clone()).collect()
    }

    fn forget(&mut self, now: Instant) {
        while self.kept.front().is_some_and(|(at, _)| now - *at > KEPT) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some((_, traced)) = self.kept.pop_front() {
            self.bytes -= traced.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(id: u8, length: usize) -> Traced {
        let step = Step { id: [0; 16], activity: "x".repeat(length), elapsed_micros: 0 };
        Traced {
            id: [id; 16],
            client: None,
            request: "",
            parameters: BTreeMap::new(),
            started_at: 0,
            duration_micros: 0,
            shard: 0,
            steps: vec![step],
        }
    }

    #[test]
    fn the_newest_are_kept_for_a_day() {
        let mut traces = Traces::default();
        let start = Instant::from_nanos(1);
        for id in 0..8 {
            traces.push(start + Duration::from_secs(u64::from(id)), traced(id, BYTES_MAX / 4));
        }
        let ids =
            |traces: &mut Traces, now| traces.find(now, None).iter().map(|traced| traced.id[0]).collect::<Vec<_>>();
        assert_eq!(ids(&mut traces, start), [5, 6, 7]);
        assert_eq!(traces.find(start, Some(&[6; 16])).len(), 1);
        assert_eq!(traces.find(start, Some(&[4; 16])).len(), 0);
        assert_eq!(ids(&mut traces, start + KEPT + Duration::from_secs(6)), [6, 7]);
        assert_eq!(ids(&mut traces, start + KEPT * 2), [0; 0]);
        assert_eq!(traces.bytes, 0);
    }
}
