//! Entries of the audit log: of a request when it is answered, of a login when that is decided.
//!
//! A request whose category is not audited costs a look at its reply, and at its first word or at a memory of prepared statements; where the log is off, one comparison.
//! Texts are redacted here, before they leave the shard; the log's thread does the rest. Not done: an entry for what was refused before it was looked at, by a limit of the
//! server or as no request.

use audit::{Audit, Entry, EntryType, Operation, Put, kind_of};
use cql_protocol::Opcode;
use cql_protocol::request::{self, Batch, BatchQuery, Request};
use planted::Planted;

use crate::auditing::{Audited, Auditing};
use crate::connection::Connection;
use crate::ports::Standing;
use crate::requests::{Reply, micros_between};

/// The parts of an entry that are the same in all entries of a request.
struct Common<'a> {
    connection: &'a Connection,
    timestamp_ms: i64,
    batch: Option<[u8; 16]>,
    error: Option<String>,
}

impl<'a> Common<'a> {
    /// Those of an entry that is made now.
    fn now(connection: &'a Connection, error: Option<&str>) -> Common<'a> {
        let timestamp_ms = connection.server.runtime.wall_clock_micros() / 1000;
        Common { connection, timestamp_ms, batch: None, error: error.map(str::to_owned) }
    }

    fn entry(&self, kind: EntryType, operation: Operation) -> Entry {
        let Connection { session, .. } = self.connection;
        Entry {
            kind,
            user: session.actor().name().to_owned(),
            source: self.connection.address(),
            timestamp_ms: self.timestamp_ms,
            keyspace: None,
            operation,
            batch: self.batch,
            prepared: None,
            error: self.error.clone(),
        }
    }
}

impl Auditing {
    /// Writes a request of a connection to the audit log, if it is on.
    #[inline]
    pub(crate) fn request(&self, connection: &Connection, request: Audited<'_>) {
        if !self.is_off() {
            self.answered(connection, request);
        }
    }

    fn answered(&self, connection: &Connection, request: Audited<'_>) {
        let (Some(audit), Some(reply)) = (self.audit(), Reply::read(request.reply)) else { return };
        let Some(kind) = self.kind(connection, audit, &request, &reply) else { return };
        if audit.wants_user(connection.session.actor().name()) {
            self.put_request(connection, audit, kind, &request, &reply);
        }
    }

    /// The type of an entry; `None`: no such entries are written.
    #[inline]
    fn kind(
        &self,
        connection: &Connection,
        audit: &Audit,
        request: &Audited<'_>,
        reply: &Reply<'_>,
    ) -> Option<EntryType> {
        let kind = match (reply, request.header.opcode) {
            (Reply::Error { is_unauthorized: true, .. }, _) => EntryType::UnauthorizedAttempt,
            (Reply::Error { .. }, _) => EntryType::RequestFailure,
            (_, Opcode::Prepare) => EntryType::PrepareStatement,
            (_, Opcode::Batch) => EntryType::Batch,
            (reply, opcode) => {
                let message = request::message(request.header, request.body).ok()?;
                match request::first_prepared(opcode, message) {
                    Some(id) => self.kind_of_prepared(connection, &id, reply),
                    // The text's length is before it.
                    None => kind_of_bytes(message.get(4..)?).unwrap_or_else(|| kind_of_reply(reply)),
                }
            }
        };
        audit.wants(kind.category()).then_some(kind)
    }

    fn kind_of_prepared(&self, connection: &Connection, id: &[u8; 16], reply: &Reply<'_>) -> EntryType {
        self.known(id).unwrap_or_else(|| {
            let text = connection.server.engine.prepared_text(id).unwrap_or_default();
            let Some(kind) = kind_of(&text) else { return kind_of_reply(reply) };
            self.remember(*id, kind);
            kind
        })
    }

    #[cold]
    fn put_request(
        &self,
        connection: &Connection,
        audit: &Audit,
        kind: EntryType,
        request: &Audited<'_>,
        reply: &Reply<'_>,
    ) {
        let (runtime, planted) = (&connection.server.runtime, self.planted());
        let micros = micros_between(request.arrived, runtime.now());
        let arrived = runtime.wall_clock_micros().saturating_sub(i64::try_from(micros).unwrap_or(i64::MAX));
        let mut common = Common { connection, timestamp_ms: arrived / 1000, batch: None, error: None };
        let error = match reply {
            Reply::Error { message, .. } => Some(*message),
            _ => None,
        };
        let of_session = || request.keyspace.map(str::to_owned);
        let text = |text: &str, keyspace: Option<&str>| {
            let error = error.map(|message| Operation::message(message, text, planted));
            let entry = common.entry(kind, Operation::statement(text, planted));
            Entry { keyspace: keyspace.map(str::to_owned).or_else(of_session), error, ..entry }
        };
        let entry = match Request::decode(request.header, request.body) {
            Ok(Request::Query(query)) => text(query.text, query.params.keyspace),
            Ok(Request::Prepare(prepare)) => {
                let prepared = reply.prepared_id();
                Entry { prepared, ..text(prepare.text, prepare.keyspace) }
            }
            Ok(Request::Execute(execute)) => {
                common.error = error.map(|message| Operation::message(message, "", planted));
                self.entry_of_prepared(&common, kind, execute.id)
            }
            Ok(Request::Batch(batch)) => {
                common.error = error.map(|message| message_about(&batch, message, planted));
                return self.put_batch(audit, kind, common, request, &batch);
            }
            _ => return,
        };
        put(connection, audit, entry);
    }

    /// An entry of a prepared statement, whose text is known to the engine alone.
    #[cold]
    fn entry_of_prepared(&self, common: &Common<'_>, kind: EntryType, id: &[u8]) -> Entry {
        let connection = common.connection;
        let engine = &connection.server.engine;
        let summary = engine.summary_by_id(&connection.session, id);
        let text = engine.prepared_text(id).unwrap_or_default();
        let entry = common.entry(kind, Operation::statement(&text, self.planted()));
        let keyspace = Some(summary.keyspace).filter(|keyspace| !keyspace.is_empty());
        Entry { keyspace, prepared: id.try_into().ok(), ..entry }
    }

    /// A batch has an entry of its own, and one for each of its statements; one that is refused has its own alone, as in Cassandra.
    fn put_batch(
        &self,
        audit: &Audit,
        kind: EntryType,
        mut common: Common<'_>,
        request: &Audited<'_>,
        batch: &Batch<'_>,
    ) {
        let (connection, planted) = (common.connection, self.planted());
        common.batch = Some(random_uuid(connection));
        let count = batch.len();
        let told = match common.error {
            Some(_) => format!("BATCH of {count} statements at consistency {}", batch.params.consistency.name()),
            None => format!("BATCH of [{count}] statements"),
        };
        put(connection, audit, common.entry(kind, Operation::told(told)));
        if common.error.is_some() {
            return;
        }
        for statement in batch.statements() {
            let entry = match statement.query {
                BatchQuery::Prepared(id) => {
                    let entry = self.entry_of_prepared(&common, EntryType::Update, id);
                    let kind = kind_of(entry.text()).unwrap_or(EntryType::Update);
                    Entry { kind, ..entry }
                }
                BatchQuery::Text(text) => {
                    let kind = kind_of(text).unwrap_or(EntryType::Update);
                    let keyspace = batch.params.keyspace.or(request.keyspace).map(str::to_owned);
                    Entry { keyspace, ..common.entry(kind, Operation::statement(text, planted)) }
                }
            };
            put(connection, audit, entry);
        }
    }

    /// The log, if entries of this type and user are written.
    fn wanting(&self, kind: EntryType, user: &str) -> Option<&Audit> {
        self.audit().filter(|audit| audit.wants(kind.category()) && audit.wants_user(user))
    }

    /// Writes a request whose write the commit log could not sync: its entry says that it succeeded, and the client hears that it did not.
    #[cold]
    pub(crate) fn failed_sync(&self, connection: &Connection, id: Option<[u8; 16]>, error: &str) {
        let kind = EntryType::RequestFailure;
        let Some(audit) = self.wanting(kind, connection.session.actor().name()) else { return };
        let common = Common::now(connection, Some(error));
        let entry = match id {
            Some(id) => self.entry_of_prepared(&common, kind, &id),
            None => common.entry(kind, Operation::told("commit log sync failed")),
        };
        put(connection, audit, entry);
    }

    /// Writes a login, that of `name` if it gave one; `error` is its refusal.
    #[cold]
    pub(crate) fn login(&self, connection: &Connection, name: Option<&str>, error: Option<&str>) {
        let (kind, told) = match error {
            None => (EntryType::LoginSuccess, "LOGIN SUCCESSFUL"),
            Some(_) => (EntryType::LoginError, "LOGIN FAILURE"),
        };
        let name = name.unwrap_or_else(|| connection.session.actor().name());
        let Some(audit) = self.wanting(kind, name) else { return };
        let entry = Common::now(connection, error).entry(kind, Operation::told(told));
        put(connection, audit, Entry { user: name.to_owned(), ..entry });
    }

    /// Writes that the owner of the process has come, who needs no login.
    pub(crate) fn maintenance(&self, connection: &Connection) {
        if matches!(connection.counted.standing(), Standing::Maintenance) {
            self.login(connection, None, None);
        }
    }
}

fn put(connection: &Connection, audit: &Audit, entry: Entry) {
    if audit.put(entry) == Put::KeptFull {
        connection.wait_for_audit();
    }
}

/// Of version 4, as Java's random ones are.
fn random_uuid(connection: &Connection) -> [u8; 16] {
    let runtime = &connection.server.runtime;
    let random = (u128::from(runtime.random_u64()) << 64) | u128::from(runtime.random_u64());
    ((random & !(0xf000 << 64) & !(3 << 62)) | (0x4000 << 64) | (2 << 62)).to_be_bytes()
}

/// A message about a batch, without the passwords of its statements.
fn message_about(batch: &Batch<'_>, message: &str, planted: Planted) -> String {
    let texts = batch.statements().filter_map(|statement| match statement.query {
        BatchQuery::Text(text) => Some(text),
        BatchQuery::Prepared(_) => None,
    });
    let message = Operation::message(message, "", planted);
    texts.fold(message, |message, text| Operation::message(&message, text, planted))
}

/// The type of a statement, by the first words of a text whose end does not matter.
fn kind_of_bytes(text: &[u8]) -> Option<EntryType> {
    /// As many bytes as hold the words, with comments of some length before them.
    const BEGIN: usize = 256;
    let begin = text.get(..BEGIN).unwrap_or(text);
    let valid = begin.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    kind_of(valid).or_else(|| kind_of(std::str::from_utf8(text).ok()?))
}

/// The type where the text of a statement that was answered says nothing.
fn kind_of_reply(reply: &Reply<'_>) -> EntryType {
    match reply {
        Reply::Rows => EntryType::Select,
        _ => EntryType::Update,
    }
}
