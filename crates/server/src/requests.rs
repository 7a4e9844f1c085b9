//! What requests came to and how long they took, by kind: counted for operators at a few nanoseconds each.
//!
//! The kind of a request is read off its reply, whose first bytes were just written: rows are a read's, nothing at all a write's. A scan's task says that it is one. No clock
//! is read for it: a request's time is from the start of the poll that read it to the start of the poll that sends its reply, both of which
//! the shard's loop knows. (For one that became a task, to its end.)

use cql_protocol::{ErrorCode, Flags, HEADER_LENGTH, Opcode};
use runtime::Instant;
use stdx::LogHistogram;

/// What a request was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// It was answered with rows, which were read by partition keys.
    Read,
    /// It was answered with nothing: an INSERT, UPDATE or DELETE, a BATCH in text, a TRUNCATE.
    Write,
    /// A BATCH message.
    Batch,
    /// A PREPARE.
    Prepare,
    /// It changed the schema.
    Schema,
    /// USE, and what was answered with an error.
    Other,
    /// It was answered with the rows of ranges of tokens. That takes a task, which says so.
    Range,
}

/// How many kinds there are.
const KINDS: usize = 7;
/// The first of them are of requests that are answered within the call.
const KINDS_AT_ONCE: usize = 6;

impl RequestKind {
    /// All, in the order of their numbers.
    pub const ALL: [RequestKind; KINDS] = [
        RequestKind::Read,
        RequestKind::Write,
        RequestKind::Batch,
        RequestKind::Prepare,
        RequestKind::Schema,
        RequestKind::Other,
        RequestKind::Range,
    ];

    /// Its name for operators.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::Read => "read",
            RequestKind::Write => "write",
            RequestKind::Batch => "batch",
            RequestKind::Prepare => "prepare",
            RequestKind::Schema => "schema",
            RequestKind::Other => "other",
            RequestKind::Range => "range",
        }
    }
}

/// Names of errors by their codes.
const ERRORS: [(u32, &str); 20] = [
    (ErrorCode::ServerError as u32, "server_error"),
    (ErrorCode::ProtocolError as u32, "protocol_error"),
    (ErrorCode::BadCredentials as u32, "bad_credentials"),
    (ErrorCode::Unavailable as u32, "unavailable"),
    (ErrorCode::Overloaded as u32, "overloaded"),
    (ErrorCode::IsBootstrapping as u32, "is_bootstrapping"),
    (ErrorCode::TruncateError as u32, "truncate_error"),
    (ErrorCode::WriteTimeout as u32, "write_timeout"),
    (ErrorCode::ReadTimeout as u32, "read_timeout"),
    (ErrorCode::ReadFailure as u32, "read_failure"),
    (ErrorCode::FunctionFailure as u32, "function_failure"),
    (ErrorCode::WriteFailure as u32, "write_failure"),
    (ErrorCode::CdcWriteFailure as u32, "cdc_write_failure"),
    (ErrorCode::CasWriteUnknown as u32, "cas_write_unknown"),
    (ErrorCode::SyntaxError as u32, "syntax_error"),
    (ErrorCode::Unauthorized as u32, "unauthorized"),
    (ErrorCode::Invalid as u32, "invalid"),
    (ErrorCode::ConfigError as u32, "config_error"),
    (ErrorCode::AlreadyExists as u32, "already_exists"),
    (ErrorCode::Unprepared as u32, "unprepared"),
];

/// One shard's counts.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    micros: [LogHistogram; KINDS],
    errors: [u64; ERRORS.len()],
}

/// What a reply says that its request was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Kind(RequestKind),
    /// The place of the error in [`ERRORS`], if it has one.
    Error(Option<usize>),
}

impl Requests {
    /// The kind of a request, told by its reply; an error is counted as such.
    #[inline]
    pub(crate) fn classify(&mut self, request: Opcode, reply: &[u8]) -> RequestKind {
        match told(request, reply) {
            Told::Kind(kind) => kind,
            Told::Error(place) => {
                if let Some(count) = place.and_then(|place| self.errors.get_mut(place)) {
                    *count += 1;
                }
                RequestKind::Other
            }
        }
    }

    /// Counts requests that took from `arrived` to `now`. Gives that in microseconds.
    #[inline]
    pub(crate) fn count(&mut self, kind: RequestKind, arrived: Instant, now: Instant, times: u64) -> u64 {
        let micros = micros_between(arrived, now);
        self.micros[kind as usize].add(micros, times);
        micros
    }

    /// Each kind with what its requests took, microseconds.
    pub(crate) fn by_kind(&self) -> Vec<(&'static str, LogHistogram)> {
        RequestKind::ALL.iter().map(|kind| (kind.name(), self.micros[*kind as usize].clone())).collect()
    }

    /// Each error and how often it was answered.
    pub(crate) fn errors(&self) -> Vec<(&'static str, u64)> {
        ERRORS.iter().zip(self.errors).map(|((_, name), count)| (*name, count)).collect()
    }
}

/// What a request took.
#[inline]
pub(crate) fn micros_between(arrived: Instant, now: Instant) -> u64 {
    u64::try_from(now.saturating_since(arrived).as_micros()).unwrap_or(u64::MAX)
}

#[inline]
fn told(request: Opcode, reply: &[u8]) -> Told {
    const RESULT: u8 = Opcode::Result as u8;
    let other = Told::Kind(RequestKind::Other);
    let (Some(flags), Some(opcode)) = (reply.get(1), reply.get(4)) else { return other };
    if request == Opcode::Prepare && *opcode == RESULT {
        return Told::Kind(RequestKind::Prepare);
    }
    let Some(body) = body_start(*flags, reply) else { return other };
    let Some(code) = reply.get(body..).and_then(<[u8]>::first_chunk::<4>) else { return other };
    let code = u32::from_be_bytes(*code);
    match (*opcode, code) {
        (RESULT, 1) if request == Opcode::Batch => Told::Kind(RequestKind::Batch),
        (RESULT, 1) => Told::Kind(RequestKind::Write),
        (RESULT, 2) => Told::Kind(RequestKind::Read),
        (RESULT, 5) => Told::Kind(RequestKind::Schema),
        (RESULT, _) => other,
        _ => Told::Error(ERRORS.iter().position(|(known, _)| *known == code)),
    }
}

/// A reply, as the audit log has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply<'a> {
    /// A refusal.
    Error {
        /// Its sentence.
        message: &'a str,
        /// The client lacks a permission, or its login.
        is_unauthorized: bool,
    },
    /// Rows.
    Rows,
    /// The id of a prepared statement.
    Prepared([u8; 16]),
    /// Any other success.
    Done,
}

impl<'a> Reply<'a> {
    /// Reads a whole frame; `None`: it is none that answers a request of the engine.
    #[inline]
    pub(crate) fn read(reply: &'a [u8]) -> Option<Reply<'a>> {
        const RESULT: u8 = Opcode::Result as u8;
        const ERROR: u8 = Opcode::Error as u8;
        let (flags, opcode) = (*reply.get(1)?, *reply.get(4)?);
        let body = reply.get(body_start(flags, reply)?..)?;
        let code = u32::from_be_bytes(*body.first_chunk()?);
        match (opcode, code) {
            (RESULT, 2) => Some(Reply::Rows),
            (RESULT, 4) => {
                Some(body.get(6..).and_then(<[u8]>::first_chunk).map_or(Reply::Done, |id| Reply::Prepared(*id)))
            }
            (RESULT, _) => Some(Reply::Done),
            (ERROR, code) => {
                let length = usize::from(u16::from_be_bytes(*body.get(4..)?.first_chunk()?));
                let message = std::str::from_utf8(body.get(6..6 + length)?).unwrap_or_default();
                Some(Reply::Error { message, is_unauthorized: code == ErrorCode::Unauthorized as u32 })
            }
            _ => None,
        }
    }

    /// The id of the statement that was prepared.
    pub(crate) fn prepared_id(self) -> Option<[u8; 16]> {
        match self {
            Reply::Prepared(id) => Some(id),
            _ => None,
        }
    }
}

/// Where a reply's message begins: after the trace's id and the warnings, if it has any.
#[inline]
fn body_start(flags: u8, reply: &[u8]) -> Option<usize> {
    /// Of a trace's id.
    const TRACE_BYTES: usize = 16;
    let start = if flags & Flags::TRACING.0 == 0 { HEADER_LENGTH } else { HEADER_LENGTH + TRACE_BYTES };
    if flags & Flags::WARNING.0 == 0 {
        return Some(start);
    }
    let number = |at: usize| Some(u16::from_be_bytes(*reply.get(at..)?.first_chunk()?));
    let mut at = start + 2;
    for _ in 0..number(start)? {
        at += 2 + usize::from(number(at)?);
    }
    Some(at)
}

/// Requests of a connection whose replies are ready and not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Unsettled {
    /// When the first of them arrived.
    since: Option<Instant>,
    counts: [u32; KINDS_AT_ONCE],
}

impl Unsettled {
    /// A request of a poll that began at `arrived` is answered.
    #[inline]
    pub(crate) fn note(&mut self, kind: RequestKind, arrived: Instant) {
        self.since.get_or_insert(arrived);
        self.counts[kind as usize] += 1;
    }

    /// Their replies are sent from now on.
    #[inline]
    pub(crate) fn settle(&mut self, requests: &mut Requests, now: Instant) {
        let Some(since) = self.since.take() else { return };
        for &kind in &RequestKind::ALL[..KINDS_AT_ONCE] {
            let times = std::mem::take(&mut self.counts[kind as usize]);
            if times > 0 {
                requests.count(kind, since, now, u64::from(times));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use cql_protocol::response::insert_warnings;
    use cql_protocol::{ErrorBody, Version, write_error, write_set_keyspace, write_void};

    use super::*;

    fn reply(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn a_reply_says_what_its_request_was() {
        let mut requests = Requests::default();
        let void = reply(|out| write_void(out, Version::V4, 1));
        assert_eq!(requests.classify(Opcode::Execute, &void), RequestKind::Write);
        assert_eq!(requests.classify(Opcode::Batch, &void), RequestKind::Batch);
        let warned = reply(|out| {
            write_void(out, Version::V4, 1);
            insert_warnings(out, 0, &["one".to_owned(), "another".to_owned()]);
        });
        assert_eq!(requests.classify(Opcode::Query, &warned), RequestKind::Write);
        let used = reply(|out| write_set_keyspace(out, Version::V4, 1, "k"));
        assert_eq!(requests.classify(Opcode::Query, &used), RequestKind::Other);
        let mut rows = void.clone();
        rows[HEADER_LENGTH + 3] = 2;
        assert_eq!(requests.classify(Opcode::Execute, &rows), RequestKind::Read);
        assert_eq!(requests.classify(Opcode::Prepare, &rows), RequestKind::Prepare);
        for cut in 0..void.len() {
            assert_eq!(requests.classify(Opcode::Execute, &void[..cut]), RequestKind::Other);
        }
        assert!(requests.errors().iter().all(|(_, count)| *count == 0));
    }

    #[test]
    fn errors_are_counted_by_their_code() {
        let mut requests = Requests::default();
        for error in [ErrorBody::invalid("x"), ErrorBody::invalid("y"), ErrorBody::overloaded("z")] {
            let error = reply(|out| write_error(out, Version::V4, 1, &error));
            assert_eq!(requests.classify(Opcode::Query, &error), RequestKind::Other);
        }
        let counted: Vec<_> = requests.errors().into_iter().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [("overloaded", 1), ("invalid", 2)]);
    }

    #[test]
    fn a_reply_says_what_the_audit_log_has_of_it() {
        let read = |frame: &[u8]| Reply::read(frame).map(|reply| format!("{reply:?}")).unwrap_or_default();
        let refused = |error: &ErrorBody| reply(|out| write_error(out, Version::V4, 1, error));
        assert_eq!(read(&refused(&ErrorBody::invalid("why"))), "Error { message: \"why\", is_unauthorized: false }");
        let unauthorized = ErrorBody::new(cql_protocol::ErrorKind::Unauthorized, "no");
        assert_eq!(read(&refused(&unauthorized)), "Error { message: \"no\", is_unauthorized: true }");
        let mut void = reply(|out| write_void(out, Version::V4, 1));
        assert_eq!(Reply::read(&void), Some(Reply::Done));
        insert_warnings(&mut void, 0, &["one".to_owned()]);
        // A trace's id is before the warnings.
        void[1] |= Flags::TRACING.0;
        void.splice(HEADER_LENGTH..HEADER_LENGTH, [0xff; 16]);
        assert_eq!(Reply::read(&void), Some(Reply::Done));
        for cut in 0..void.len() {
            assert_eq!(Reply::read(&void[..cut]), None, "{cut}");
        }
        let mut prepared = void[..HEADER_LENGTH].to_vec();
        prepared[1] = 0;
        prepared.extend([0, 0, 0, 4, 0, 16]);
        prepared.extend([7; 16]);
        assert_eq!(Reply::read(&prepared).and_then(Reply::prepared_id), Some([7; 16]));
    }
}
