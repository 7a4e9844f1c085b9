//! Merging of what is all here: pages that are whole lanes.

use mutation::{DecodeError, Position, ReadCommand};
use schema::Table;

use crate::reader::lane::{Lane, Page, Source};
use crate::reader::merge::{Merge, Progress};
use crate::reader::output::AsData;
use crate::sink::DataSink;

/// A lane that has no further page.
struct Here;

impl Source for Here {
    type Error = std::convert::Infallible;

    const IS_TRUSTED: bool = true;

    async fn fetch(&mut self, _: Option<&Position>) -> Result<Page, Self::Error> {
        unreachable!("the only page is the last")
    }

    fn malformed(&self, problem: DecodeError) -> Self::Error {
        panic!("internal error: this shard built an invalid page: {problem}")
    }
}

/// Merges pages of data, each all that its source has of what `command` asks for, into `sink`.
pub(crate) async fn combine(
    pages: Vec<Vec<u8>>,
    table: &Table,
    command: &ReadCommand<'_>,
    pause: impl AsyncFn(),
    sink: &mut impl DataSink,
) {
    let lane = |items| Lane::new(Here, Page { items, more_after: None }, table);
    let Ok(mut lanes) = pages.into_iter().map(lane).collect::<Result<Vec<_>, _>>();
    let mut output = AsData::new(sink, command);
    let mut progress = Progress::from(command.after);
    let Ok(_) = Merge::new(&mut lanes, table, command.reversed, &mut output, &mut progress).run(pause).await;
}
