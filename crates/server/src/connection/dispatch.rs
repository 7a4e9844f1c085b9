//! From a decoded header and a body to a reply: at once, held, or by a task.

use std::rc::Rc;

use cql_protocol::request::{self, Batch, Execute, Query, Register, Startup};
use cql_protocol::{ErrorBody, Flags, FrameHeader, Opcode, write_error};
use query::{HandedBack, Outcome};
use runtime::{Group, Instant, ShardId};

use super::held::HeldRequest;
use super::output::Output;
use super::violation::Violation;
use super::{Connection, handshake, login};
use crate::auditing::Audited;
use crate::buffers::Buffer;
use crate::notable::Answered;
use crate::requests::{RequestKind, micros_between};

/// A request that is not answered within the call.
#[derive(Clone)]
struct UnderWay {
    header: FrameHeader,
    /// Bytes of its body.
    length: usize,
    arrived: Instant,
    /// The session's keyspace when it came, where it is audited.
    keyspace: Option<Rc<str>>,
}

impl Connection {
    /// Executes one request; its reply is appended to `output`, now or when its task is done. An error means that the
    /// bytes were no request: the caller reports it.
    #[inline]
    pub(super) fn dispatch(
        self: &Rc<Self>,
        header: &FrameHeader,
        body: &[u8],
        output: &mut Output,
    ) -> Result<(), Violation> {
        self.session.count_request();
        if !self.started.get() {
            return match self.must_log_in().filter(|_| self.is_authenticating.get()) {
                Some(logins) => login::before_login(self, logins, header, body, output),
                None => handshake::before_startup(self, header, body, output),
            };
        }
        if self.server.draining.get() {
            write_error(
                &mut output.ready,
                header.version,
                header.stream,
                &ErrorBody::overloaded("Server is shutting down"),
            );
            return Ok(());
        }
        let is_for_engine = matches!(header.opcode, Opcode::Execute | Opcode::Query | Opcode::Batch | Opcode::Prepare);
        if is_for_engine && self.is_to_be_traced(header) {
            // What is no request is refused here, as it is without.
            request::Request::decode(header, body)?;
            self.spawn(header, Vec::from(body), true, output);
            return Ok(());
        }
        self.server.runtime.label(header.opcode.name());
        let version = header.version;
        let message = request::message(header, body)?;
        let start = output.ready.len();
        let engine = &self.server.engine;
        let outcome = match header.opcode {
            Opcode::Execute => {
                let request = Execute::decode(message, version)?;
                engine.try_execute(&self.session, header, &request, &mut output.ready)
            }
            Opcode::Query => {
                let request = Query::decode(message, version)?;
                engine.try_query(&self.session, header, &request, &mut output.ready)
            }
            Opcode::Batch => {
                let request = Batch::decode(message, version)?;
                engine.try_batch(&self.session, header, &request, &mut output.ready)
            }
            Opcode::Prepare => Outcome::MustWait,
            _ => return self.dispatch_control(header, message, output),
        };
        let reply = output.ready.get(start..).unwrap_or_default();
        let arrived = self.server.runtime.poll_start();
        let synced_by = match outcome {
            Outcome::Ready => None,
            Outcome::AfterSync(sequence) => Some(sequence),
            Outcome::OfShard(shard) => {
                self.hand_over(shard, header, Vec::from(body), output);
                return Ok(());
            }
            Outcome::MustWait => {
                self.spawn(header, Vec::from(body), false, output);
                return Ok(());
            }
        };
        let kind = self.server.requests.borrow_mut().classify(header.opcode, reply);
        if !self.server.auditing.is_off() {
            let keyspace = self.session.keyspace();
            self.server.auditing.request(self, Audited { header, body, reply, keyspace: keyspace.as_deref(), arrived });
        }
        match synced_by {
            None => {
                let reply_bytes = output.ready.len() - start;
                if reply_bytes >= self.server.budget.limits.large_reply_bytes {
                    let micros = micros_between(arrived, self.server.runtime.now());
                    self.note_request(Answered { kind, micros, reply_bytes }, header, body);
                }
                output.unsettled.note(kind, arrived);
            }
            Some(sequence) => {
                // The reply was written where it would have gone without the wait: a copy of a few bytes is cheaper than
                // asking the engine twice or writing all replies to a second buffer.
                let frame = output.ready.get(start..).unwrap_or_default();
                let id = request::first_prepared(header.opcode, message);
                output.held.push(sequence, header.stream, frame, HeldRequest { kind, arrived, id });
                self.has_more_under_way.set(true);
                output.ready.truncate(start);
            }
        }
        Ok(())
    }

    /// [`Connection::dispatch`] for a large request, which is not tried: it has a task from the start.
    #[cold]
    pub(super) fn dispatch_large(
        self: &Rc<Self>,
        header: &FrameHeader,
        body: Buffer,
        output: &mut Output,
    ) -> Result<(), Violation> {
        let is_for_engine = matches!(header.opcode, Opcode::Execute | Opcode::Query | Opcode::Batch | Opcode::Prepare);
        if !self.started.get() || self.server.draining.get() || !is_for_engine {
            return self.dispatch(header, &body, output);
        }
        if matches!(header.opcode, Opcode::Query | Opcode::Prepare)
            && let Some(error) = query::refuse_text(request::message(header, &body)?)
        {
            let start = output.ready.len();
            write_error(&mut output.ready, header.version, header.stream, &error);
            let reply = output.ready.get(start..).unwrap_or_default();
            self.server.auditing.request(
                self,
                Audited { header, body: &body, reply, keyspace: None, arrived: self.server.runtime.poll_start() },
            );
            return Ok(());
        }
        self.session.count_request();
        // What is no request is refused here, as it is when it is small.
        request::Request::decode(header, &body)?;
        self.spawn(header, body, self.is_to_be_traced(header), output);
        Ok(())
    }

    /// What is neither data nor a statement.
    #[cold]
    fn dispatch_control(&self, header: &FrameHeader, message: &[u8], output: &mut Output) -> Result<(), Violation> {
        match header.opcode {
            Opcode::Options => handshake::supported(self, header, output),
            Opcode::Register => {
                let register = Register::decode(message)?;
                self.events.set(self.events.get().with(register.events));
                cql_protocol::write_ready(&mut output.ready, header.version, header.stream);
            }
            Opcode::Startup => {
                Startup::decode(message)?;
                let text = "Unexpected message STARTUP, the connection is already initialized";
                write_error(&mut output.ready, header.version, header.stream, &ErrorBody::protocol_error(text));
            }
            opcode => {
                let text = format!("Unexpected message {}, no authentication is under way", opcode.name());
                write_error(&mut output.ready, header.version, header.stream, &ErrorBody::protocol_error(text));
            }
        }
        Ok(())
    }

    fn is_to_be_traced(&self, header: &FrameHeader) -> bool {
        header.flags.contains(Flags::TRACING) || self.server.engine.is_traced_by_chance()
    }

    /// Gives a request that must wait a task of its own.
    #[cold]
    fn spawn(
        self: &Rc<Self>,
        header: &FrameHeader,
        body: impl AsRef<[u8]> + 'static,
        is_traced: bool,
        output: &mut Output,
    ) {
        if let Some(under_way) = self.take_task(header, body.as_ref().len(), output) {
            self.run(under_way, body, is_traced);
        }
    }

    /// Has the shard run a request that has its partition. Where too many are on their way there it is a task, which waits.
    fn hand_over(self: &Rc<Self>, shard: ShardId, header: &FrameHeader, body: Vec<u8>, output: &mut Output) {
        let Some(under_way) = self.take_task(header, body.len(), output) else { return };
        let (connection, as_task) = (self.clone(), under_way.clone());
        let handed = self.server.engine.hand_over(shard, header, body, move |HandedBack { frame, body }| {
            connection.answer(under_way, body, frame, false);
        });
        match handed {
            Ok(()) => self.server.count(|stats| stats.requests_handed_over += 1),
            Err(body) => self.run(as_task, body, false),
        }
    }

    /// Takes note of a request that is not answered within the call, unless there are too many.
    fn take_task(&self, header: &FrameHeader, length: usize, output: &mut Output) -> Option<UnderWay> {
        if !self.server.budget.take_task(length) {
            let error = ErrorBody::overloaded("Too many requests are under way on this shard");
            write_error(&mut output.ready, header.version, header.stream, &error);
            return None;
        }
        self.tasks.set(self.tasks.get() + 1);
        self.task_bytes.set(self.task_bytes.get() + length);
        self.has_more_under_way.set(true);
        let keyspace = if self.server.auditing.is_off() { None } else { self.session.keyspace() };
        Some(UnderWay { header: *header, length, arrived: self.server.runtime.poll_start(), keyspace })
    }

    /// Runs a request as a task.
    fn run(self: &Rc<Self>, under_way: UnderWay, body: impl AsRef<[u8]> + 'static, is_traced: bool) {
        self.server.count(|stats| stats.requests_waited += 1);
        let connection = self.clone();
        self.server.runtime.spawn(Group::Query, async move {
            let (engine, session) = (&connection.server.engine, &connection.session);
            let ran = match is_traced {
                true => engine.run_traced(session, &under_way.header, body.as_ref()).await,
                false => engine.run(session, &under_way.header, body.as_ref()).await,
            };
            connection.answer(under_way, body, ran.frame, ran.is_scan);
        });
    }

    /// Counts a request that took more than the call, and has its reply sent.
    fn answer(&self, under_way: UnderWay, body: impl AsRef<[u8]>, reply: Vec<u8>, is_scan: bool) {
        let UnderWay { header, length, arrived, keyspace } = under_way;
        let server = &self.server;
        let mut requests = server.requests.borrow_mut();
        let kind = match requests.classify(header.opcode, &reply) {
            RequestKind::Read if is_scan => RequestKind::Range,
            kind => kind,
        };
        let micros = requests.count(kind, arrived, server.runtime.now(), 1);
        drop(requests);
        let answered = Answered { kind, micros, reply_bytes: reply.len() };
        if answered.is_notable(self) {
            self.note_request(answered, &header, body.as_ref());
        }
        let keyspace = keyspace.as_deref();
        self.server
            .auditing
            .request(self, Audited { header: &header, body: body.as_ref(), reply: &reply, keyspace, arrived });
        drop(body);
        self.server.budget.give_task(length);
        self.tasks.set(self.tasks.get() - 1);
        self.task_bytes.set(self.task_bytes.get() - length);
        let mut output = self.output.borrow_mut();
        if !output.broken {
            output.push_reply(&header, reply, |bytes, in_any_case| self.server.budget.hold(bytes, in_any_case));
        }
        drop(output);
        self.to_write.notify();
        self.room.notify();
    }
}
