//! A client of one node at a time, whose requests are recorded.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use cql_protocol::request::{Value, ValuesBuffer};
use cql_protocol::{
    Consistency, ErrorCode, FrameHeader, HEADER_LENGTH, Query, QueryParams, Request, Response, ResultBody, Version,
};
use helenus_tests::{Connection, Random};
use histories::{Answer, History, Row, Statement, Way, Workload};

use crate::clusters::nodes::PATIENCE;

/// The longest that a client waits for an answer: what comes later is unknown to it.
const ANSWER_AT_MOST: Duration = Duration::from_secs(1);
/// Partitions that are used at the same time.
const PARTITIONS: usize = 4;

/// The state that the clients of a run share.
pub struct Shared<W: Workload> {
    /// The history.
    pub history: Mutex<History<W::Asked, W::Told>>,
    /// The nodes.
    pub addresses: Vec<String>,
    /// The clock of all times.
    began: Instant,
    values: AtomicU64,
    /// Each round has partitions of its own, so that no history gets long.
    round: AtomicUsize,
    is_over: AtomicBool,
    answered: Mutex<usize>,
    more: Condvar,
}

/// The end of a request.
enum Ended {
    Answered(Vec<Row>),
    /// With the promise that nothing was done.
    Nothing,
    Unknown,
    /// By words that no request may get.
    Wrong(String),
}

impl<W: Workload> Shared<W> {
    /// Nothing has been sent yet.
    pub fn new(addresses: Vec<String>) -> Shared<W> {
        Shared {
            history: Mutex::default(),
            addresses,
            began: Instant::now(),
            values: AtomicU64::new(1),
            round: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            answered: Mutex::new(0),
            more: Condvar::new(),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).expect("a run takes less than five hundred years")
    }

    /// Waits until clients have received so many answers more.
    pub fn wait_for(&self, more: usize) {
        let deadline = Instant::now() + PATIENCE;
        let mut answered = self.answered.lock().expect("no client panics");
        let enough = *answered + more;
        while *answered < enough {
            assert!(Instant::now() < deadline, "no {more} answers within {PATIENCE:?}");
            answered = self.more.wait_timeout(answered, Duration::from_millis(100)).expect("no client panics").0;
        }
    }

    /// Clients use other partitions from now on.
    pub fn next_round(&self) {
        self.round.fetch_add(1, Ordering::Relaxed);
    }

    /// Clients send nothing more.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// A value that no request had before.
    pub fn fresh(&self) -> u64 {
        self.values.fetch_add(W::VALUES.max(1), Ordering::Relaxed)
    }
}

/// A client.
pub struct Client<'a, W: Workload> {
    shared: &'a Shared<W>,
    random: Random,
    connection: Option<Connection>,
}

impl<'a, W: Workload> Client<'a, W> {
    /// One that is not connected yet.
    pub fn new(shared: &'a Shared<W>, random: Random) -> Client<'a, W> {
        Client { shared, random, connection: None }
    }

    /// Sends requests until it is over.
    pub fn run(mut self) {
        let mut views = std::collections::BTreeMap::<i32, W::View>::new();
        while !self.shared.is_over.load(Ordering::Relaxed) {
            let partition = self.shared.round.load(Ordering::Relaxed) * PARTITIONS + self.random.below(PARTITIONS);
            let partition = i32::try_from(partition).expect("a run has fewer rounds");
            let view = views.entry(partition).or_default();
            let fresh = self.shared.fresh();
            let asked = W::choose(view, fresh, &mut |bound| self.random.next_u64() % bound);
            let told = self.send(partition, &asked);
            if let Some(told) = told {
                W::learn(view, &asked, &told);
            }
            if self.random.below(16) == 0 {
                self.connection = None;
            }
        }
    }

    /// Sends a request, and takes note of its end. Gives what the answer says.
    pub fn send(&mut self, partition: i32, asked: &W::Asked) -> Option<W::Told> {
        let mut connection = self.connect()?;
        let request = W::request(asked, partition);
        let frame = self.frame(&request.statement, request.way);
        let start = self.shared.now();
        let ticket = self.shared.history.lock().expect("no client panics").begin(partition, asked.clone(), start);
        let ended = ask(&mut connection, &frame);
        let end = self.shared.now();
        if let Ok(Ended::Answered(_) | Ended::Nothing | Ended::Unknown) = ended {
            self.connection = Some(connection);
        }
        let mut history = self.shared.history.lock().expect("no client panics");
        match ended {
            Ok(Ended::Answered(rows)) => match W::read(asked, &rows) {
                Ok(told) => {
                    history.end(ticket, Answer::Told(end, told.clone()));
                    *self.shared.answered.lock().expect("no client panics") += 1;
                    self.shared.more.notify_all();
                    return Some(told);
                }
                Err(what) => history.violations.push(format!("partition {partition}: {what}")),
            },
            Ok(Ended::Nothing) => history.end(ticket, Answer::Void),
            Ok(Ended::Wrong(what)) => history.violations.push(format!("{asked:?}: {what}")),
            Ok(Ended::Unknown) | Err(_) => {}
        }
        None
    }

    fn connect(&mut self) -> Option<Connection> {
        if let Some(connection) = self.connection.take() {
            return Some(connection);
        }
        let address = self.random.choose(&self.shared.addresses);
        Connection::start_within(address, ANSWER_AT_MOST).ok()
    }

    /// The frame of a request at levels that give it its promises: any level of a commit does.
    fn frame(&mut self, statement: &Statement, way: Way) -> Vec<u8> {
        // All nodes are of one datacenter, where both serial levels are the same.
        let serial = *self.random.choose(&[Consistency::Serial, Consistency::LocalSerial]);
        let commits = [Consistency::Quorum, Consistency::One, Consistency::Any, Consistency::LocalQuorum];
        let (consistency, serial_consistency) = match way {
            Way::Conditional => (*self.random.choose(&commits), Some(serial)),
            Way::SerialRead => (serial, None),
            Way::Write | Way::Read => (Consistency::Quorum, None),
        };
        let mut buffer = ValuesBuffer::new();
        for value in &statement.values {
            buffer.push(Value::Bytes(value)).expect("a statement has few markers");
        }
        let values = buffer.values();
        let params = QueryParams { values, serial_consistency, ..QueryParams::new(consistency) };
        let mut frame = Vec::new();
        Request::Query(Query { text: statement.text, params }).encode_frame(Version::V4, 1, &mut frame);
        frame
    }
}

fn ask(connection: &mut Connection, frame: &[u8]) -> io::Result<Ended> {
    let (head, body) = connection.ask_whole(frame)?;
    let head: [u8; HEADER_LENGTH] = head.try_into().map_err(|_| io::Error::other("no header"))?;
    let header = FrameHeader::decode(&head).map_err(io::Error::other)?;
    let (_, response) = Response::decode(&header, &body).map_err(io::Error::other)?;
    Ok(match response {
        Response::Error(error) => match error.code() {
            ErrorCode::Unavailable => Ended::Nothing,
            ErrorCode::Invalid | ErrorCode::SyntaxError => Ended::Wrong(error.message.to_string()),
            _ => Ended::Unknown,
        },
        Response::Result(ResultBody::Rows(rows)) => {
            let own = |row: cql_protocol::response::RowValues<'_>| {
                row.map(|value| value.map(<[u8]>::to_vec)).collect::<Row>()
            };
            Ended::Answered(rows.iter().map(own).collect())
        }
        Response::Result(_) => Ended::Answered(Vec::new()),
        other => Ended::Wrong(format!("answered {other:?}")),
    })
}
