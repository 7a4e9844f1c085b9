//! A workload as its clients see it.

use std::fmt::Debug;

use crate::{History, Row, Statement};

/// The way in which a request is to be sent, which decides on its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A conditional statement: a serial level, and a level of the commit.
    Conditional,
    /// A read at a serial level.
    SerialRead,
    /// A write that a quorum has.
    Write,
    /// A read of a quorum.
    Read,
}

/// A statement, and the way in which it is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The statement.
    pub statement: Statement,
    /// The way.
    pub way: Way,
}

impl Request {
    /// A request.
    pub fn new(way: Way, text: &'static str, values: Vec<Vec<u8>>) -> Request {
        Request { statement: Statement { text, values }, way }
    }
}

/// A source of random numbers below a bound, which is at least 1.
pub type Random<'a> = &'a mut dyn FnMut(u64) -> u64;

/// A workload. Its tables are in the keyspace `ring`, which whoever runs it makes.
pub trait Workload: Sized {
    /// Its name in Jepsen's tests.
    const NAME: &'static str;
    /// Statements that make its tables; they may be sent again.
    const TABLES: &'static [&'static str];
    /// True if what its last reads must show comes by itself, some time after the last request.
    const SETTLES: bool = false;

    /// A request for one partition.
    type Asked: Clone + Debug + PartialEq;
    /// The content of an answer.
    type Told: Clone + Debug + PartialEq;
    /// A client's knowledge of a partition.
    type View: Default + Debug;

    /// The next request of a client. `fresh` is a value that no request had before; a request may take some values from there on.
    fn choose(view: &Self::View, fresh: u64, random: Random<'_>) -> Self::Asked;

    /// Values that [`Workload::choose`] takes at most.
    const VALUES: u64 = 1;

    /// The requests whose answers are judged as the end of a partition's history.
    fn last() -> Vec<Self::Asked>;

    /// A write that is sent when all is quiet, and applies; `None` where none is needed.
    fn finish(_view: &Self::View, _fresh: u64) -> Option<Self::Asked> {
        None
    }

    /// The statement of a request.
    fn request(asked: &Self::Asked, partition: i32) -> Request;

    /// The content of an answer. An error: it cannot be right.
    fn read(asked: &Self::Asked, rows: &[Row]) -> Result<Self::Told, String>;

    /// True if the request changes nothing.
    fn is_read(asked: &Self::Asked) -> bool {
        matches!(Self::request(asked, 0).way, Way::Read | Way::SerialRead)
    }

    /// Takes note of what an answer says of the partition.
    fn learn(_view: &mut Self::View, _asked: &Self::Asked, _told: &Self::Told) {}

    /// Judges the history of one partition.
    fn check(operations: &[crate::Operation<Self::Asked, Self::Told>]) -> Vec<String>;

    /// Judges the whole history: sentences about what does not hold.
    fn judge(history: &History<Self::Asked, Self::Told>) -> Vec<String> {
        let of_partition = |(partition, operations): (&i32, &Vec<_>)| {
            let violations = Self::check(operations).into_iter();
            violations.map(|what| format!("{}, partition {partition}: {what}", Self::NAME)).collect::<Vec<_>>()
        };
        history.violations.iter().cloned().chain(history.partitions.iter().flat_map(of_partition)).collect()
    }
}
