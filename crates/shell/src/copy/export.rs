//! COPY TO: a table's rows, page by page, to a file.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use cql_protocol::{Flags, Query, QueryParams, Request, Response, ResultBody, Rows};

use super::csv;
use super::options::Options;
use super::progress::Progress;
use super::{CopyError, Table, quoted_list};
use crate::error::CallError;
use crate::files;
use crate::format::{self, Style};
use crate::session::Session;

pub(super) fn run(
    session: &mut Session,
    table: &Table,
    file: Option<&str>,
    options: &Options,
) -> Result<(), CopyError> {
    let mut style = options.style.clone();
    let mut target = match file {
        Some(path) => Target::file(path, options.file_rows_max)?,
        None => {
            // No control character of a value reaches a terminal.
            style.is_raw = !io::stdout().is_terminal();
            if let Some(rows) = options.file_rows_max {
                session.error(&format!("WARNING: maxoutputsize {rows} ignored when writing to STDOUT"));
            }
            Target::stdout()
        }
    };
    let mut progress = Progress::new(file.is_some());
    progress.write(&format!("{}\n", table.title(&table.columns)));
    let mut text = String::new();
    if options.has_header {
        csv::write(&table.columns, &options.dialect, &mut text);
        target.write(&mut text, 0)?;
    }
    let select = select(table, options);
    let mut state: Option<Vec<u8>> = None;
    let mut count = 0_u64;
    loop {
        let params = QueryParams {
            // A page of no rows is none: all rows come at once, as the Python driver has it.
            page_size: Some(options.page_rows).filter(|rows| *rows > 0),
            paging_state: state.as_deref(),
            ..QueryParams::new(session.consistency())
        };
        let request = Request::Query(Query { text: &select, params });
        let answer = session.server.borrow_mut().call(&request, Flags::NONE)?;
        let Response::Result(ResultBody::Rows(rows)) = answer.response()? else {
            let reason = "the answer to SELECT has no rows".to_owned();
            return Err(CallError::Unexpected { reason }.into());
        };
        write_rows(&rows, options, &style, &mut target)?;
        count += rows.row_count as u64;
        progress.show(count, None);
        state = rows.paging_state.map(<[u8]>::to_vec);
        if state.is_none() {
            break;
        }
    }
    target.out.flush().map_err(CopyError::Write)?;
    let files = target.files;
    progress.end(count, |time| format!("{count} rows exported to {files} files in {time}."));
    Ok(())
}

/// Where rows go: standard output, or a file and those after it.
struct Target {
    out: Box<dyn Write>,
    /// `None`: standard output.
    path: Option<String>,
    /// Files that were made.
    files: u64,
    /// Rows of the file that is written.
    rows: u64,
    /// The most rows of a file.
    rows_max: u64,
}

impl Target {
    fn stdout() -> Target {
        Target { out: Box::new(io::stdout()), path: None, files: 0, rows: 0, rows_max: u64::MAX }
    }

    fn file(path: &str, rows_max: Option<u64>) -> Result<Target, CopyError> {
        let (out, path) = (created(path)?, Some(path.to_owned()));
        Ok(Target { out, path, files: 1, rows: 0, rows_max: rows_max.unwrap_or(u64::MAX) })
    }

    /// Rows that fit into the file; if it is full, into the next, whose name ends with its number.
    fn room(&mut self) -> Result<u64, CopyError> {
        if let Some(path) = self.path.as_ref().filter(|_| self.rows >= self.rows_max) {
            self.out.flush().map_err(CopyError::Write)?;
            self.out = created(&format!("{path}.{}", self.files))?;
            self.files += 1;
            self.rows = 0;
        }
        Ok(self.rows_max - self.rows)
    }

    /// Writes the text of so many rows, and leaves it empty.
    fn write(&mut self, text: &mut String, rows: u64) -> Result<(), CopyError> {
        self.out.write_all(text.as_bytes()).map_err(CopyError::Write)?;
        self.rows += rows;
        text.clear();
        Ok(())
    }
}

fn created(path: &str) -> Result<Box<dyn Write>, CopyError> {
    let failed =
        |error: io::Error| CopyError::File { path: path.to_owned(), purpose: "writing", reason: error.to_string() };
    let file = File::create(files::expanded(Path::new(path))).map_err(failed)?;
    Ok(Box::new(BufWriter::new(file)))
}

/// The statement: all rows, or those of a range of tokens.
fn select(table: &Table, options: &Options) -> String {
    let columns = quoted_list(table.columns.iter().map(String::as_str));
    let keys = table.all.iter().filter(|column| column.kind == "partition_key").map(|column| column.name.as_str());
    let keys = quoted_list(keys);
    let begin = options.begin_token.map(|token| format!("token({keys}) > {token}"));
    let end = options.end_token.map(|token| format!("token({keys}) <= {token}"));
    let bounds: Vec<String> = begin.into_iter().chain(end).collect();
    let condition = if bounds.is_empty() { String::new() } else { format!(" WHERE {}", bounds.join(" AND ")) };
    format!("SELECT {columns} FROM {}{condition}", table.quoted_name())
}

fn write_rows(rows: &Rows<'_>, options: &Options, style: &Style, target: &mut Target) -> Result<(), CopyError> {
    let (mut text, mut written) = (String::new(), 0);
    let mut room = if rows.row_count > 0 { target.room()? } else { 0 };
    for row in rows.iter() {
        if written == room {
            target.write(&mut text, written)?;
            (room, written) = (target.room()?, 0);
        }
        let fields: Vec<String> = row
            .zip(&rows.columns)
            .map(|(value, column)| match value {
                Some(bytes) => format::value(&column.ty, bytes, style).text(false).to_owned(),
                None => style.null.clone(),
            })
            .collect();
        csv::write(&fields, &options.dialect, &mut text);
        written += 1;
    }
    target.write(&mut text, written)
}
