//! Statements and their results, page by page.

use cql_protocol::{Flags, Query, QueryParams, Request, Response, ResultBody, Rows};

use super::Session;
use super::header::Kinds;
use crate::error::CallError;
use crate::format::{self, Shown};

/// How the rows of a statement are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// With their count after them: SELECT and LIST.
    Counted,
    /// A batch's or a conditional statement's, of which there is a page.
    Uncounted,
}

impl Layout {
    fn of(statement: &str) -> Layout {
        let begins = |word: &str| statement.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if begins("select") || begins("list") { Layout::Counted } else { Layout::Uncounted }
    }
}

impl Session {
    /// Runs a statement and prints its result, its warnings and its trace.
    pub(super) fn perform(&mut self, statement: &str) {
        let mut traces = Vec::new();
        let mut warnings = Vec::new();
        let done = self.pages(statement, &mut traces, &mut warnings);
        if let Err(error) = done {
            self.failed(&error);
            return;
        }
        self.warnings(&warnings);
        for trace in traces {
            self.trace(trace);
        }
    }

    fn pages(
        &mut self,
        statement: &str,
        traces: &mut Vec<[u8; 16]>,
        warnings: &mut Vec<String>,
    ) -> Result<(), CallError> {
        let layout = Layout::of(statement);
        let mut state: Option<Vec<u8>> = None;
        let mut count = 0;
        loop {
            let is_first = state.is_none();
            let answer = {
                let params = QueryParams {
                    serial_consistency: Some(self.modes.serial_consistency),
                    // A page of no rows is none: all rows come at once, as the Python driver has it.
                    page_size: Some(self.modes.page_rows).filter(|rows| self.modes.pages && *rows > 0),
                    paging_state: state.as_deref(),
                    ..QueryParams::new(self.modes.consistency)
                };
                let traces_it = self.modes.traces && self.keyspace.as_deref() != Some("system_traces");
                let flags = if traces_it { Flags::TRACING } else { Flags::NONE };
                self.server.borrow_mut().call(&Request::Query(Query { text: statement, params }), flags)?
            };
            traces.extend(answer.tracing_id());
            // Those of the last page alone, as cqlsh has them: a server warns with each page in the same words.
            warnings.clear();
            warnings.extend(answer.warnings().iter().cloned());
            let rows = match answer.response()? {
                Response::Result(ResultBody::Rows(rows)) => rows,
                Response::Result(ResultBody::SetKeyspace(keyspace)) => {
                    self.server.borrow_mut().entered(keyspace);
                    self.keyspace = Some(keyspace.to_owned());
                    return Ok(());
                }
                Response::Result(ResultBody::SchemaChange(_)) => {
                    self.server.borrow_mut().schema_changes += 1;
                    self.kinds = Kinds::default();
                    return Ok(());
                }
                _ => return Ok(()),
            };
            if is_first {
                self.output.result("\n");
            }
            self.page(&rows, is_first, count);
            count += rows.row_count;
            state = rows.paging_state.map(<[u8]>::to_vec);
            if state.is_none() {
                break;
            }
            let is_shown = self.is_interactive && self.output.captured().is_none();
            if let Some(editor) = self.editor.as_mut().filter(|_| is_shown)
                && !editor.waits_for_enter("---MORE---")
            {
                return Ok(());
            }
            if self.output.is_closed() {
                return Ok(());
            }
        }
        if layout == Layout::Counted {
            if !self.is_interactive {
                self.output.result("\n");
            }
            self.output.result(&format!("({count} rows)\n"));
        }
        Ok(())
    }

    /// Prints a page; `before`: rows of the pages before it.
    fn page(&mut self, rows: &Rows<'_>, is_first: bool, before: usize) {
        if rows.row_count == 0 && !is_first {
            return;
        }
        let style = self.shown_style();
        let names = self.kinds.names(&mut self.server.borrow_mut(), rows, &style);
        let shown: Vec<Vec<Shown>> = rows
            .iter()
            .map(|row| {
                row.zip(&rows.columns)
                    .map(|(value, column)| match value {
                        Some(bytes) => format::value(&column.ty, bytes, &style),
                        None => format::null(&style),
                    })
                    .collect()
            })
            .collect();
        let text = match self.modes.expands && !shown.is_empty() {
            true => format::expanded(&names, &shown, before, style.is_coloured),
            false => format::table(&names, &shown, is_first || self.is_interactive, style.is_coloured),
        };
        self.output.result(&text);
        if self.is_interactive && !shown.is_empty() && !self.modes.expands {
            self.output.result("\n");
        }
    }

    /// The style of what is printed now: colours are not for files.
    pub(super) fn shown_style(&self) -> format::Style {
        format::Style { is_coloured: self.output.is_coloured(), ..self.style.clone() }
    }

    /// Prints warnings of the server.
    pub(super) fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        self.output.described("\nWarnings :\n");
        for warning in warnings {
            self.output.described(&format!("{warning}\n\n"));
        }
    }
}
