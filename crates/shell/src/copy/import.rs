//! COPY FROM: records of files to rows, many requests outstanding at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use cql_protocol::{
    Execute, Flags, Prepare, Prepared, QueryParams, Request, Response, ResultBody, Value, ValuesBuffer,
};
use cql_types::CqlType;

use super::csv::{self, Records};
use super::options::Options;
use super::progress::Progress;
use super::rejected::Rejected;
use super::sources::{self, Raw};
use super::{CopyError, Table, quoted_list, text};
use crate::error::CallError;
use crate::input::Input;
use crate::reader::{Line, Reader};
use crate::session::Session;

/// Requests without an answer, at most.
const OUTSTANDING_MAX: usize = 256;
/// The line that ends rows of standard input.
const END_LINES: [&str; 2] = [".", "\\."];

pub(super) fn run(
    session: &mut Session,
    table: &Table,
    file: Option<&str>,
    options: &Options,
    reader: Option<&mut Reader>,
) -> Result<(), CopyError> {
    let skipped = |name: &String| options.columns_skipped.contains(name);
    let columns: Vec<String> = table.columns.iter().filter(|name| !skipped(name)).cloned().collect();
    if columns.is_empty() {
        return Err(CopyError::NoColumns);
    }
    if let Some(key) = table.all.iter().find(|column| column.is_key() && !columns.contains(&column.name)) {
        return Err(CopyError::NoKey { name: key.name.clone() });
    }
    let sources = match file {
        Some(patterns) => sources::named(patterns).map_err(|none| {
            let reason = none.to_string();
            CopyError::File { path: none.pattern, purpose: "reading", reason }
        })?,
        None => Vec::new(),
    };
    let rejected = Rejected::at(&options.error_file).map_err(|error| CopyError::File {
        path: options.error_file.clone(),
        purpose: "writing",
        reason: error.to_string(),
    })?;
    let prepared = prepare(session, &statement(table, &columns, options))?;
    let types: Vec<CqlType> = prepared.markers.iter().map(|marker| marker.ty.clone()).collect();
    let order = order(table, &columns);
    let mut import = Import {
        session,
        table,
        options,
        columns,
        order,
        types,
        prepared,
        outstanding: BTreeMap::new(),
        progress: Progress::new(true),
        rejected,
        counts: Counts::default(),
        start: Instant::now(),
    };
    import.progress.write(&format!("{}\n", table.title(&import.columns)));
    match file {
        Some(_) => {
            for source in &sources {
                if !import.file(source)? {
                    break;
                }
            }
        }
        None => import.lines_of(reader)?,
    }
    import.settle(0)?;
    // The last rows may be too many that failed.
    if !import.counts.is_too_many_told {
        import.has_failed_too_often();
    }
    // Standard input is a file too.
    import.report(if file.is_some() { sources.len() } else { 1 });
    Ok(())
}

/// The statement of a row. Counters are added to; other columns are set.
fn statement(table: &Table, columns: &[String], options: &Options) -> String {
    let quoted = |name: &str| cql_syntax::quote_identifier(name).into_owned();
    let name = table.quoted_name();
    if table.is_counter() {
        let part = |is_key: bool| {
            columns.iter().filter(move |column| table.column(column).is_some_and(|it| it.is_key() == is_key))
        };
        let added: Vec<String> = part(false).map(|column| format!("{0} = {0} + ?", quoted(column))).collect();
        let keys: Vec<String> = part(true).map(|column| format!("{} = ?", quoted(column))).collect();
        return format!("UPDATE {name} SET {} WHERE {}", added.join(", "), keys.join(" AND "));
    }
    let markers = vec!["?"; columns.len()].join(", ");
    let ttl = options.ttl.map(|ttl| format!(" USING TTL {ttl}")).unwrap_or_default();
    format!("INSERT INTO {name} ({}) VALUES ({markers}){ttl}", quoted_list(columns.iter().map(String::as_str)))
}

/// For each marker the place of its column among those that are imported.
fn order(table: &Table, columns: &[String]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..columns.len()).collect();
    if table.is_counter() {
        places.sort_by_key(|place| table.column(&columns[*place]).is_some_and(super::Column::is_key));
    }
    places
}

fn prepare(session: &mut Session, text: &str) -> Result<Prepared, CopyError> {
    let answer = session.server.borrow_mut().call(&Request::Prepare(Prepare { text, keyspace: None }), Flags::NONE)?;
    match answer.response()? {
        Response::Result(ResultBody::Prepared(prepared)) => Ok(prepared),
        _ => Err(CallError::Unexpected { reason: "the answer to PREPARE is no statement".to_owned() }.into()),
    }
}

/// A row whose write has no answer yet.
struct Row {
    record: Vec<String>,
    values: Vec<Option<Vec<u8>>>,
    attempts: u32,
}

#[derive(Default)]
struct Counts {
    /// Records that were read.
    read: u64,
    skipped: u64,
    /// Rows that were tried, or given up.
    done: u64,
    parse_errors: u64,
    insert_errors: u64,
    /// It was said that more rows failed than may.
    is_too_many_told: bool,
}

struct Import<'i> {
    session: &'i mut Session,
    table: &'i Table,
    options: &'i Options,
    /// Those that are imported, in the order of the command.
    columns: Vec<String>,
    order: Vec<usize>,
    types: Vec<CqlType>,
    prepared: Prepared,
    outstanding: BTreeMap<i16, Row>,
    progress: Progress,
    rejected: Rejected,
    counts: Counts,
    start: Instant,
}

impl Import<'_> {
    /// Imports a file. False: the import is to end.
    fn file(&mut self, path: &Path) -> Result<bool, CopyError> {
        let failed = |error: io::Error| CopyError::File {
            path: path.display().to_string(),
            purpose: "reading",
            reason: error.to_string(),
        };
        let file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_or(0, |metadata| metadata.len()).max(1);
        let mut lines = BufReader::with_capacity(1 << 20, file);
        let mut records = Records::new(self.options.dialect.clone());
        let (mut bytes, mut line, mut is_first) = (0_u64, Vec::new(), self.options.has_header);
        let mut raw = Raw::default();
        loop {
            line.clear();
            let count = sources::read_line(&mut lines, &mut line).map_err(failed)?;
            if count == 0 {
                break;
            }
            bytes += count as u64;
            let text = raw.text(&line);
            // The mark of a file's encoding is at its start alone; elsewhere it is of a value.
            let is_start = bytes == count as u64;
            let text = text.strip_prefix('\u{feff}').filter(|_| is_start).unwrap_or(&text);
            let record = records.line(text).map_err(|error| failed(io::Error::other(error)))?;
            if let Some(record) = record {
                let is_header = std::mem::take(&mut is_first);
                if !is_header && !self.record(record, raw.damaged())? {
                    return Ok(false);
                }
                raw.clear();
            }
            self.progress.show(self.counts.done, Some(bytes as f64 / length as f64));
        }
        match records.end() {
            Some(record) if !is_first => self.record(record, raw.damaged()),
            _ => Ok(true),
        }
    }

    /// Imports lines of the session's own reader, up to one with a point.
    fn lines_of(&mut self, reader: Option<&mut Reader>) -> Result<(), CopyError> {
        let Some(reader) = reader else {
            let reason = "statements of the command line leave no input".to_owned();
            return Err(CopyError::File { path: "STDIN".to_owned(), purpose: "reading", reason });
        };
        self.progress.write("[Use . on a line by itself to end input]\n");
        let mut records = Records::new(self.options.dialect.clone());
        let mut is_first = self.options.has_header;
        let mut raw = Raw::default();
        loop {
            let line = match reader.line("[copy] ", &Input::default()) {
                Line::Text(line) => line.into_bytes(),
                Line::NoText(line) => line,
                Line::Interrupted => return Err(CallError::Interrupted.into()),
                Line::End | Line::Failed(_) => break,
            };
            let text = raw.text(&line);
            if END_LINES.contains(&text.trim_end()) {
                break;
            }
            let failed = |error: csv::TooLong| CopyError::Write(io::Error::other(error));
            let Some(record) = records.line(&text).map_err(failed)? else { continue };
            let is_header = std::mem::take(&mut is_first);
            if !is_header && !self.record(record, raw.damaged())? {
                break;
            }
            raw.clear();
        }
        Ok(())
    }

    /// Sends a record's row. `damaged`: its bytes, if they are no text. False: as many were read as were asked for, or too many failed.
    fn record(&mut self, record: Vec<String>, damaged: Option<&[u8]>) -> Result<bool, CopyError> {
        if self.counts.skipped < self.options.rows_skipped {
            self.counts.skipped += 1;
            return Ok(true);
        }
        // Rows that were skipped are among those of MAXROWS, as in cqlsh.
        if self.options.rows_max.is_some_and(|max| self.counts.skipped + self.counts.read >= max) {
            return Ok(false);
        }
        self.counts.read += 1;
        let values = match damaged {
            // Other letters in the place of its bytes would be written as if they were the file's.
            Some(_) => Err("the row is not UTF-8".to_owned()),
            None => self.values(&record),
        };
        match values {
            Ok(values) => {
                self.keep_rate();
                self.settle(OUTSTANDING_MAX - 1)?;
                self.send(Row { record, values, attempts: 1 })?;
            }
            Err(reason) => {
                self.counts.parse_errors += 1;
                let text = format!("Failed to import 1 rows: ParseError - {reason},  given up without retries");
                self.session.error(&text);
                match damaged {
                    Some(bytes) => self.reject(bytes),
                    None => self.reject_record(&record),
                }
            }
        }
        Ok(!self.has_failed_too_often())
    }

    /// Says so, if more rows failed than may.
    fn has_failed_too_often(&mut self) -> bool {
        let over = |count: u64, max: Option<u64>| max.is_some_and(|max| count > max);
        let what = if over(self.counts.parse_errors, self.options.parse_errors_max) {
            "parse"
        } else if over(self.counts.insert_errors, self.options.insert_errors_max) {
            "insert"
        } else {
            return false;
        };
        let max = if what == "parse" { self.options.parse_errors_max } else { self.options.insert_errors_max };
        self.session.error(&format!("Exceeded maximum number of {what} errors {}", max.unwrap_or(0)));
        self.counts.is_too_many_told = true;
        true
    }

    /// The values of a record, in the order of the markers.
    fn values(&self, record: &[String]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let all = self.table.columns.len();
        let fields: Vec<&str> = match record.len() {
            // Skipped columns are in the file.
            count if count == all => self
                .table
                .columns
                .iter()
                .zip(record)
                .filter(|(name, _)| self.columns.contains(name))
                .map(|(_, field)| field.as_str())
                .collect(),
            count => return Err(format!("Invalid row length {count} should be {all}")),
        };
        let null = &self.options.style.null;
        let value = |(place, ty): (&usize, &CqlType)| {
            let (name, field) = (&self.columns[*place], fields[*place]);
            let is_key = self.table.column(name).is_some_and(super::Column::is_key);
            if field == null {
                if is_key {
                    return Err(null_key(name, null));
                }
                // Nothing is added to a counter that has no value.
                return Ok((*ty == CqlType::Counter).then(|| vec![0; 8]));
            }
            match text::value(ty, field, &self.options.style) {
                Ok(bytes) => Ok(Some(bytes)),
                // With another mark for null an empty field is an empty text, and null where there is none.
                Err(_) if field.is_empty() && !is_key => Ok(None),
                Err(error) => Err(error.to_string()),
            }
        };
        self.order.iter().zip(&self.types).map(value).collect()
    }

    /// Waits while rows go faster than they are to.
    fn keep_rate(&self) {
        let rate = self.options.ingest_rate.max(1) as f64;
        let due = self.start + Duration::from_secs_f64(self.counts.read as f64 / rate);
        let now = Instant::now();
        // A millisecond is not worth a pause.
        if due > now + Duration::from_millis(1) {
            std::thread::sleep(due - now);
        }
    }

    fn send(&mut self, row: Row) -> Result<(), CopyError> {
        let mut values = ValuesBuffer::new();
        for value in &row.values {
            // A table has far fewer columns than values may be.
            let _ = values.push(value.as_deref().map_or(Value::Null, Value::Bytes));
        }
        let params = QueryParams { values: values.values(), ..QueryParams::new(self.session.consistency()) };
        let result_metadata_id = self.prepared.result_metadata_id.as_deref();
        let execute = Execute { id: &self.prepared.id, result_metadata_id, params };
        let mut server = self.session.server.borrow_mut();
        let sent = server.connection()?.send(&Request::Execute(execute), Flags::NONE);
        let stream = server.noted(sent)?;
        drop(server);
        self.outstanding.insert(stream, row);
        Ok(())
    }

    /// Takes answers until so many requests at most have none.
    fn settle(&mut self, outstanding_max: usize) -> Result<(), CopyError> {
        while self.outstanding.len() > outstanding_max {
            let (stream, outcome) = {
                let mut server = self.session.server.borrow_mut();
                let next = server.connection()?.next_answer();
                server.noted(next)?
            };
            let Some(row) = self.outstanding.remove(&stream) else { continue };
            match outcome {
                Ok(_) => self.counts.done += 1,
                Err(CallError::Server(error)) => self.refused(row, &crate::error::server_error(&error))?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A row that the server did not write: it is tried again, or given up.
    fn refused(&mut self, row: Row, reason: &str) -> Result<(), CopyError> {
        let (class, message) = reason.split_once(": ").unwrap_or(("Error", reason));
        let (attempt, max) = (row.attempts, self.options.attempts_max);
        let is_final = matches!(class, "InvalidRequest" | "Unauthorized" | "SyntaxException");
        let begin = format!("Failed to import 1 rows: {class} - {message}, ");
        if !is_final && attempt < max {
            self.session.error(&format!("{begin} will retry later, attempt {attempt} of {max}"));
            return self.send(Row { attempts: attempt + 1, ..row });
        }
        let end =
            if is_final { "given up without retries".to_owned() } else { format!("given up after {attempt} attempts") };
        self.session.error(&format!("{begin} {end}"));
        self.counts.insert_errors += 1;
        self.reject_record(&row.record);
        Ok(())
    }

    fn reject_record(&mut self, record: &[String]) {
        let mut text = String::new();
        csv::write(record, &self.options.dialect, &mut text);
        self.reject(text.as_bytes());
    }

    /// Gives a record up, and keeps its bytes.
    fn reject(&mut self, record: &[u8]) {
        self.counts.done += 1;
        let written = self.rejected.write(record);
        if let Err(error) = written {
            let path = self.rejected.path.display();
            let text = format!("cannot write the rows that failed to {path}: {error}");
            self.session.error(&text);
        }
    }

    fn report(&mut self, sources: usize) {
        if self.rejected.rows > 0 {
            let (rows, path) = (self.rejected.rows, self.rejected.path.display());
            let text = format!("Failed to process {rows} rows; failed rows written to {path}");
            self.session.error(&text);
        }
        let imported = self.counts.done - self.rejected.rows;
        let skipped = self.counts.skipped;
        self.progress.end(self.counts.done, |time| {
            format!("{imported} rows imported from {sources} files in {time} ({skipped} skipped).")
        });
    }
}

fn null_key(name: &str, null: &str) -> String {
    let mut text = format!("Cannot insert null value for primary key column '{name}'.");
    if null.is_empty() {
        text.push_str(" If you want to insert empty strings, consider using the WITH NULL=<marker> option for COPY.");
    }
    text
}
