//! Tracing: what a request that asked for it did, step by step. A shard keeps what its clients' requests did for a day, the newest of it, in
//! memory; `system_traces` shows what all shards have. Requests that are not traced know nothing of this. See `docs/internals/query.md`.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::QueryParams;
use runtime::{Instant, Runtime, TRACE_STEPS_MAX, TRACE_TEXT_MAX, TraceStep};

use crate::clock::TimestampClock;

/// How long a trace is kept. Cassandra's `trace_type_query_ttl`.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// What a shard keeps, bytes.
const BYTES_MAX: usize = 1 << 20;
/// Steps of other nodes that are expected after the answer, and the bytes of one.
const LATE_STEPS: usize = 16;
const LATE_STEP_BYTES: usize = 128;
/// One step of a request.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// A time-based UUID, by which steps are ordered.
    pub(crate) id: [u8; 16],
    /// What was done.
    pub(crate) activity: String,
    /// By which node; `None`: by this one.
    pub(crate) source: Option<SocketAddr>,
    /// When, from the request's beginning on the node that did it.
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

/// A request while it is traced. Its steps are in a [`runtime::Trace`], which also has those of other nodes.
pub(crate) struct Trace<'e> {
    runtime: &'e Runtime,
    steps: Rc<runtime::Trace>,
    traced: RefCell<Traced>,
}

impl<'e> Trace<'e> {
    /// The request begins.
    pub(crate) fn begin(runtime: &'e Runtime, clock: &TimestampClock, client: Option<IpAddr>) -> Self {
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
        Trace { runtime, steps: runtime.tracing().begin(traced.id), traced: RefCell::new(traced) }
    }

    /// Where the steps are noted.
    pub(crate) fn steps(&self) -> &Rc<runtime::Trace> {
        &self.steps
    }

    /// What it asks for.
    pub(crate) fn request(&self, request: &'static str, text: Option<&str>, params: Option<&QueryParams<'_>>) {
        let mut traced = self.traced.borrow_mut();
        traced.request = request;
        let mut put = |name: &str, value: String| traced.parameters.insert(name.to_owned(), value);
        if let Some(text) = text {
            put("query", shown(text));
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
        self.runtime.tracing().note(&self.steps, activity);
    }

    /// The request is answered. Steps of other nodes may arrive still.
    pub(crate) fn finish(self) -> (Traced, Rc<runtime::Trace>) {
        let duration_micros = clamp(self.runtime.tracing().elapsed_micros(&self.steps));
        (Traced { duration_micros, ..self.traced.into_inner() }, self.steps)
    }
}

fn clamp(micros: u32) -> i32 {
    i32::try_from(micros).unwrap_or(i32::MAX)
}

/// A statement's text as traces show it: cut, and without passwords. The cut comes first, since a text may be long: of its beginning no password is missed.
pub(crate) fn shown(text: &str) -> String {
    let end = (0..=TRACE_TEXT_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut shown = auth::redact(&text[..end]).into_owned();
    if end < text.len() {
        shown.push('…');
    }
    shown
}

impl Traced {
    fn bytes(&self) -> usize {
        let parameters = self.parameters.iter().map(|(name, value)| name.len() + value.len() + 2 * size_of::<String>());
        size_of::<Self>() + parameters.sum::<usize>()
    }
}

/// One request that is kept.
#[derive(Debug)]
struct Kept {
    at: Instant,
    traced: Traced,
    /// They may grow still.
    steps: Rc<runtime::Trace>,
    /// The bytes that it was counted with.
    bytes: usize,
}

impl Kept {
    /// The request with its steps so far. A step's id follows from the time at which it was noted, so that it is the same in each look.
    fn shown(&self, uuid: impl Fn(i64, &mut u64) -> [u8; 16]) -> Traced {
        let mut last = 0;
        let step = |step: TraceStep| {
            let id = uuid(step.wall_micros, &mut last);
            let TraceStep { activity, source, elapsed_micros, .. } = step;
            Step { id, activity, source, elapsed_micros: clamp(elapsed_micros) }
        };
        Traced { steps: self.steps.steps().into_iter().map(step).collect(), ..self.traced.clone() }
    }
}

/// What a shard keeps of its traced requests: the newest, up to so many bytes and so old.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    kept: VecDeque<Kept>,
    bytes: usize,
}

impl Traces {
    /// Keeps a request. Steps that arrive later are counted ahead, as many as the requests of a ring have.
    pub(crate) fn push(&mut self, now: Instant, traced: Traced, steps: Rc<runtime::Trace>) {
        let of_step = |step: &TraceStep| size_of::<TraceStep>() + step.activity.len();
        let noted = steps.steps();
        let more = LATE_STEPS.min(TRACE_STEPS_MAX - noted.len()) * LATE_STEP_BYTES;
        let bytes = traced.bytes() + noted.iter().map(of_step).sum::<usize>() + more;
        self.bytes += bytes;
        self.kept.push_back(Kept { at: now, traced, steps, bytes });
        while self.bytes > BYTES_MAX && self.kept.len() > 1 {
            self.pop();
        }
        self.forget(now);
    }

    /// The requests that are kept, or the one with this id. `uuid` makes a step's id of its time, later than the one before.
    pub(crate) fn find(
        &mut self,
        now: Instant,
        id: Option<&[u8]>,
        uuid: impl Fn(i64, &mut u64) -> [u8; 16],
    ) -> Vec<Traced> {
        self.forget(now);
        let wanted = |kept: &&Kept| id.is_none_or(|id| kept.traced.id == *id);
        self.kept.iter().filter(wanted).map(|kept| kept.shown(&uuid)).collect()
    }

    fn forget(&mut self, now: Instant) {
        while self.kept.front().is_some_and(|kept| now - kept.at > KEPT) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        if let Some(kept) = self.kept.pop_front() {
            self.bytes -= kept.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(id: u8, length: usize) -> Traced {
        Traced {
            id: [id; 16],
            client: None,
            request: "",
            parameters: BTreeMap::from([("query".to_owned(), "x".repeat(length))]),
            started_at: 0,
            duration_micros: 0,
            shard: 0,
            steps: Vec::new(),
        }
    }

    #[test]
    fn the_newest_are_kept_for_a_day() {
        let mut traces = Traces::default();
        let start = Instant::from_nanos(1);
        for id in 0..8 {
            let now = start + Duration::from_secs(u64::from(id));
            let steps = Rc::new(runtime::Trace::begin([id; 16], Duration::ZERO));
            traces.push(now, traced(id, BYTES_MAX / 4), steps);
        }
        let find = |traces: &mut Traces, now, id| -> Vec<u8> {
            let found = traces.find(now, id, |_, _| panic!("there are no steps"));
            found.iter().map(|traced| traced.id[0]).collect()
        };
        assert_eq!(find(&mut traces, start, None), [5, 6, 7]);
        assert_eq!(find(&mut traces, start, Some(&[6; 16])), [6]);
        assert_eq!(find(&mut traces, start, Some(&[4; 16])), [0; 0]);
        assert_eq!(find(&mut traces, start + KEPT + Duration::from_secs(6), None), [6, 7]);
        assert_eq!(find(&mut traces, start + KEPT * 2, None), [0; 0]);
        assert_eq!(traces.bytes, 0);
    }
}
