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
    let mut out: Box<dyn Write> = match file {
        Some(path) => {
            let opened = File::create(files::expanded(Path::new(path)));
            let failed = |error: io::Error| CopyError::File {
                path: path.to_owned(),
                purpose: "writing",
                reason: error.to_string(),
            };
            Box::new(BufWriter::new(opened.map_err(failed)?))
        }
        None => {
            // No control character of a value reaches a terminal.
            style.is_raw = !io::stdout().is_terminal();
            Box::new(io::stdout())
        }
    };
    let mut progress = Progress::new(file.is_some());
    progress.write(&format!("{}\n", table.title()));
    let mut text = String::new();
    if options.has_header {
        csv::write(&table.columns, &options.dialect, &mut text);
    }
    let select = select(table, options);
    let mut state: Option<Vec<u8>> = None;
    let mut count = 0_u64;
    loop {
        let params = QueryParams {
            page_size: Some(options.page_rows),
            paging_state: state.as_deref(),
            ..QueryParams::new(session.consistency())
        };
        let request = Request::Query(Query { text: &select, params });
        let answer = session.server.borrow_mut().call(&request, Flags::NONE)?;
        let Response::Result(ResultBody::Rows(rows)) = answer.response()? else {
            let reason = "the answer to SELECT has no rows".to_owned();
            return Err(CallError::Unexpected { reason }.into());
        };
        write_rows(&rows, options, &style, &mut text);
        out.write_all(text.as_bytes()).map_err(CopyError::Write)?;
        text.clear();
        count += rows.row_count as u64;
        progress.show(count, None);
        state = rows.paging_state.map(<[u8]>::to_vec);
        if state.is_none() {
            break;
        }
    }
    out.flush().map_err(CopyError::Write)?;
    progress.end(count, |time| format!("{count} rows exported to 1 files in {time}."));
    Ok(())
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

fn write_rows(rows: &Rows<'_>, options: &Options, style: &Style, out: &mut String) {
    for row in rows.iter() {
        let fields: Vec<String> = row
            .zip(&rows.columns)
            .map(|(value, column)| match value {
                Some(bytes) => format::value(&column.ty, bytes, style).text(false).to_owned(),
                None => style.null.clone(),
            })
            .collect();
        csv::write(&fields, &options.dialect, out);
    }
}
