//! What a request asks of its reply, and the writing of errors.

use cql_protocol::response::{RowsHead, Specs, insert_warnings};
use cql_protocol::{Flags, FrameHeader, QueryParams, Version, write_error};

use crate::Session;
use crate::error::QueryError;
use crate::plan::ResultColumns;
use crate::prepared::Prepared;

/// Room that most replies fit in: one with a row or a few is not moved while it grows.
pub(super) const REPLY_BYTES_USUAL: usize = 512;

/// How the reply is to be written.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyTo<'a> {
    pub(super) version: Version,
    pub(super) stream: i16,
    pub(super) skip_metadata: bool,
    /// The id of the result's columns as the client knows them (version 5).
    pub(super) known_columns: Option<&'a [u8]>,
    /// True if what a conditional statement found is shown through masks.
    pub(super) masked: bool,
}

impl<'a> ReplyTo<'a> {
    #[inline]
    pub(super) fn new(header: &FrameHeader, params: &QueryParams<'_>, known_columns: Option<&'a [u8]>) -> Self {
        let (version, stream, skip_metadata) = (header.version, header.stream, params.skip_metadata);
        ReplyTo { version, stream, skip_metadata, known_columns, masked: false }
    }

    /// The same for a client that sees values of masked columns as their masks show them, or not.
    #[inline]
    pub(super) fn masked(self, masked: bool) -> Self {
        ReplyTo { masked, ..self }
    }

    /// What comes before the rows: the columns' description, unless the client has it and it is still right.
    #[inline]
    pub(super) fn head<'c>(&self, columns: &'c ResultColumns) -> RowsHead<'c> {
        match self.known_columns {
            Some(known) if known != columns.id() => {
                RowsHead { columns: Specs::Encoded(columns.encoded(self.version)), new_metadata_id: Some(columns.id()) }
            }
            _ if self.skip_metadata => {
                RowsHead { columns: Specs::Skip { count: columns.count() }, new_metadata_id: None }
            }
            _ => RowsHead { columns: Specs::Encoded(columns.encoded(self.version)), new_metadata_id: None },
        }
    }
}

/// Replaces what was appended since `start` by the error.
#[cold]
pub(super) fn replace_by_error(out: &mut Vec<u8>, start: usize, header: &FrameHeader, mut error: QueryError) {
    out.truncate(start);
    let warnings = error.warnings();
    write_error(out, header.version, header.stream, &error.into_body());
    insert_warnings(out, start, &warnings);
}

/// Adds what [`Session::warning_of_use`] says to the reply that begins at `start`. A frame has one list of warnings: if there is one, the
/// client is told with a later reply.
pub(super) fn warn_of_use(session: &Session, prepared: &Prepared, start: usize, out: &mut Vec<u8>) {
    const FLAGS_AT: usize = 1;
    let has_warnings = out.get(start + FLAGS_AT).is_some_and(|flags| Flags(*flags).contains(Flags::WARNING));
    if !has_warnings {
        insert_warnings(out, start, session.warning_of_use(prepared).as_slice());
    }
}
