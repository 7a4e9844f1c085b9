//! Reads all rows of the table, page by page.

use runtime::Runtime;

use crate::StressError;
use crate::raw::arguments::{Arguments, PAGE_ROWS};
use crate::raw::control::Control;
use crate::raw::setup;
use crate::raw::statistics::Statistics;

/// A scan that may begin.
pub(crate) struct Scan {
    control: Control,
    statement: String,
}

impl Scan {
    /// Connects. The table must be there.
    pub(crate) async fn prepare(runtime: &Runtime, arguments: &Arguments) -> Result<Scan, StressError> {
        let control = Control::open(runtime, arguments, arguments.first_node()).await?;
        Ok(Scan { control, statement: setup::select_all(arguments) })
    }

    /// Asks for as many pages as there are operations, from the start again after the last. Each whole scan must have found as many rows as the
    /// table has, if that is to be verified.
    pub(crate) async fn run(mut self, runtime: &Runtime, arguments: &Arguments) -> Result<Statistics, StressError> {
        let mut statistics = Statistics::new();
        let (mut next, mut found): (Option<Vec<u8>>, u64) = (None, 0);
        for _ in 0..arguments.operation_count() {
            let since = runtime.now();
            let (rows, following) =
                self.control.page(&self.statement, arguments.consistency, PAGE_ROWS, next.as_deref()).await?;
            statistics.reads.record(runtime.now() - since);
            found += rows;
            next = following;
            if next.is_none() {
                if found < arguments.rows && !arguments.no_verify {
                    statistics.missing += arguments.rows - found;
                    statistics.note_failure(|| format!("scan found {found} rows, expected {}", arguments.rows));
                }
                found = 0;
            }
        }
        Ok(statistics)
    }
}
