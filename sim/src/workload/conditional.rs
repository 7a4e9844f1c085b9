//! Conditional statements on a few partitions of two registers each: INSERT IF NOT EXISTS, compare and set, DELETE IF EXISTS, batches that
//! compare and set both, and SERIAL reads. Everything is recorded, to be judged when all is over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Consistency;
use runtime::{Group, Runtime};

use super::rows::RowsOptions;
use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::NODE;

const INSERT: &str = "INSERT INTO sim.registers (p, c, v) VALUES (?, ?, ?) IF NOT EXISTS";
const SET: &str = "UPDATE sim.registers SET v = ? WHERE p = ? AND c = ? IF v = ?";
const DELETE: &str = "DELETE FROM sim.registers WHERE p = ? AND c = ? IF EXISTS";
const SET_BOTH: &str = "BEGIN BATCH \
    UPDATE sim.registers SET v = ? WHERE p = ? AND c = 0 IF v = ?; \
    UPDATE sim.registers SET v = ? WHERE p = ? AND c = 1 IF v = ?; \
    APPLY BATCH";
const READ: &str = "SELECT c, v FROM sim.registers WHERE p = ?";

/// The longest that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest pause before a client connects anew.
const REST_MICROS: u64 = 20_000;

/// The two registers of a partition.
pub type Registers = [Option<u64>; 2];

/// What was asked of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// To write a register that is not there.
    Insert {
        /// Which.
        register: usize,
        /// The value.
        value: u64,
    },
    /// To write a register that has a value.
    Set {
        /// Which.
        register: usize,
        /// The value that it must have.
        from: u64,
        /// The value that it gets.
        to: u64,
    },
    /// To delete a register that is there.
    Delete {
        /// Which.
        register: usize,
    },
    /// To write both.
    SetBoth {
        /// What they must have.
        from: [u64; 2],
        /// What they get.
        to: [u64; 2],
    },
    /// What they have.
    Read,
}

/// What the client was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// It was applied.
    Applied,
    /// It was not, and what of the registers was seen; `None`: nothing was said of that one.
    NotApplied([Option<Option<u64>>; 2]),
    /// What they have.
    Have(Registers),
    /// Nothing, or an error: it may have happened, or may happen yet, or never.
    Nothing,
}

/// One request to one partition. Times are nanoseconds of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What.
    pub asked: Asked,
    /// When it was sent.
    pub start: u64,
    /// When it was answered.
    pub end: Option<u64>,
    /// What came of it.
    pub told: Told,
}

/// All requests.
#[derive(Debug, Clone, Default)]
pub struct Conditionals {
    /// By partition, in the order in which they were sent.
    pub operations: BTreeMap<i32, Vec<Operation>>,
    /// Values so far; none is written twice.
    pub values: u64,
    /// Requests that the node answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
    /// Answers that cannot be read.
    pub violations: Vec<String>,
}

/// The history that clients share.
pub type SharedConditionals = Rc<RefCell<Conditionals>>;

impl Conditionals {
    /// Requests that were answered.
    pub fn answered_count(&self) -> usize {
        self.operations.values().flatten().filter(|operation| operation.end.is_some()).count()
    }

    /// Requests.
    pub fn count(&self) -> usize {
        self.operations.values().map(Vec::len).sum()
    }
}

/// Makes the table.
pub async fn prepare_conditional(runtime: Runtime) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, NODE).await?;
    client
        .execute(
            "CREATE KEYSPACE IF NOT EXISTS sim WITH replication = \
                 {'class': 'SimpleStrategy', 'replication_factor': 1}",
        )
        .await?;
    client
        .execute("CREATE TABLE IF NOT EXISTS sim.registers (p int, c int, v bigint, PRIMARY KEY (p, c))")
        .await
        .map(drop)
}

/// All clients do all their requests.
pub async fn work_conditional(runtime: Runtime, options: RowsOptions, history: SharedConditionals) {
    let client = |_| {
        let (runtime, history) = (runtime.clone(), history.clone());
        Worker { runtime, options, history, connection: None, known: BTreeMap::new() }.run()
    };
    let clients: Vec<_> = (0..options.clients).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

/// Reads all partitions, once.
pub async fn read_conditional(
    runtime: Runtime,
    options: RowsOptions,
    history: SharedConditionals,
) -> Result<(), String> {
    let mut worker = Worker { runtime, options, history, connection: None, known: BTreeMap::new() };
    for partition in 0..options.partitions as i32 {
        if worker.ask(partition, Asked::Read).await == Told::Nothing {
            return Err(format!("partition {partition} cannot be read"));
        }
    }
    Ok(())
}

/// One client.
struct Worker {
    runtime: Runtime,
    options: RowsOptions,
    history: SharedConditionals,
    connection: Option<Client>,
    /// What it saw last.
    known: BTreeMap<i32, Registers>,
}

impl Worker {
    async fn run(mut self) {
        for _ in 0..self.options.requests {
            if self.options.pause_micros > 0 {
                let pause = self.below(self.options.pause_micros);
                self.runtime.sleep(Duration::from_micros(pause)).await;
            }
            let partition = self.below(u64::from(self.options.partitions)) as i32;
            let asked = self.choose(partition);
            self.ask(partition, asked).await;
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn fresh(&self) -> u64 {
        let mut history = self.history.borrow_mut();
        history.values += 1;
        history.values
    }

    fn choose(&self, partition: i32) -> Asked {
        let known = self.known.get(&partition).copied().unwrap_or_default();
        let register = self.below(2) as usize;
        match (self.below(10), known[register], known) {
            (0..2, ..) => Asked::Read,
            (2, ..) => Asked::Delete { register },
            (3..6, _, [Some(first), Some(second)]) => {
                Asked::SetBoth { from: [first, second], to: [self.fresh(), self.fresh()] }
            }
            (_, Some(from), _) => Asked::Set { register, from, to: self.fresh() },
            (_, None, _) => Asked::Insert { register, value: self.fresh() },
        }
    }

    /// Asks, and takes note of what was said.
    async fn ask(&mut self, partition: i32, asked: Asked) -> Told {
        let Some(mut client) = self.client().await else { return Told::Nothing };
        let start = self.runtime.now().as_nanos();
        let place = {
            let mut history = self.history.borrow_mut();
            let operations = history.operations.entry(partition).or_default();
            operations.push(Operation { asked, start, end: None, told: Told::Nothing });
            operations.len() - 1
        };
        let statement = statement(partition, asked);
        client.consistency = if asked == Asked::Read { Consistency::Serial } else { Consistency::One };
        let answer = self.runtime.timeout(PATIENCE, client.run(&statement, None)).await;
        let end = self.runtime.now().as_nanos();
        let mut history = self.history.borrow_mut();
        let told = match answer {
            Ok(Ok(rows)) => {
                self.connection = Some(client);
                read_answer(asked, &rows)
            }
            Ok(Err(ClientError::Refused(error))) => {
                self.connection = Some(client);
                *history.refused.entry(format!("{:?}", error.code())).or_default() += 1;
                return Told::Nothing;
            }
            Ok(Err(ClientError::Malformed(what))) => Err(what),
            Ok(Err(ClientError::Connection(_) | ClientError::Closed)) | Err(_) => return Told::Nothing,
        };
        match told {
            Ok(told) => {
                let operations = history.operations.get_mut(&partition).expect("it was noted above");
                (operations[place].end, operations[place].told) = (Some(end), told);
                drop(history);
                self.learn(partition, asked, told);
                told
            }
            Err(what) => {
                history.violations.push(format!("{asked:?}: {what}"));
                Told::Nothing
            }
        }
    }

    fn learn(&mut self, partition: i32, asked: Asked, told: Told) {
        let known = self.known.entry(partition).or_default();
        match (told, asked) {
            (Told::Have(registers), _) => *known = registers,
            (Told::NotApplied(seen), _) => {
                for (register, seen) in seen.into_iter().enumerate() {
                    known[register] = seen.unwrap_or(known[register]);
                }
            }
            (Told::Applied, Asked::Insert { register, value }) => known[register] = Some(value),
            (Told::Applied, Asked::Set { register, to, .. }) => known[register] = Some(to),
            (Told::Applied, Asked::Delete { register }) => known[register] = None,
            (Told::Applied, Asked::SetBoth { to, .. }) => *known = to.map(Some),
            (Told::Applied, Asked::Read) | (Told::Nothing, _) => {}
        }
    }

    /// The connection, or a new one; none if nobody answers now.
    async fn client(&mut self) -> Option<Client> {
        if let Some(client) = self.connection.take() {
            return Some(client);
        }
        match self.runtime.timeout(PATIENCE, Client::connect(&self.runtime, NODE)).await {
            Ok(Ok(client)) => Some(client),
            _ => {
                let rest = self.below(REST_MICROS);
                self.runtime.sleep(Duration::from_micros(rest)).await;
                None
            }
        }
    }
}

fn statement(partition: i32, asked: Asked) -> Statement {
    let p = || partition.to_be_bytes().to_vec();
    let c = |register: usize| (register as i32).to_be_bytes().to_vec();
    let v = |value: u64| value.to_be_bytes().to_vec();
    let (text, values) = match asked {
        Asked::Insert { register, value } => (INSERT, vec![p(), c(register), v(value)]),
        Asked::Set { register, from, to } => (SET, vec![v(to), p(), c(register), v(from)]),
        Asked::Delete { register } => (DELETE, vec![p(), c(register)]),
        Asked::SetBoth { from, to } => (SET_BOTH, vec![v(to[0]), p(), v(from[0]), v(to[1]), p(), v(from[1])]),
        Asked::Read => (READ, vec![p()]),
    };
    Statement { text, values }
}

/// What an answer says.
fn read_answer(asked: Asked, rows: &[Row]) -> Result<Told, String> {
    let unreadable = || format!("{rows:?} is no answer");
    let value = |row: &Row, at: usize| -> Result<Option<u64>, String> {
        match row.get(at) {
            Some(Some(bytes)) => Ok(Some(u64::from_be_bytes(bytes.as_slice().try_into().map_err(|_| unreadable())?))),
            Some(None) | None => Ok(None),
        }
    };
    let register = |row: &Row, at: usize| -> Result<usize, String> {
        let bytes = row.get(at).and_then(Option::as_ref).and_then(|bytes| bytes.as_slice().try_into().ok());
        let register = bytes.map(i32::from_be_bytes).and_then(|register| usize::try_from(register).ok());
        register.filter(|register| *register < 2).ok_or_else(unreadable)
    };
    if asked == Asked::Read {
        let mut registers = Registers::default();
        for row in rows {
            registers[register(row, 0)?] = Some(value(row, 1)?.ok_or_else(unreadable)?);
        }
        return Ok(Told::Have(registers));
    }
    let first = rows.first().ok_or_else(unreadable)?;
    match first.first().and_then(Option::as_deref) {
        Some([1]) if rows.len() == 1 => return Ok(Told::Applied),
        Some([0]) => {}
        _ => return Err(unreadable()),
    }
    let mut seen = [None; 2];
    match asked {
        // [applied], p, c, v
        Asked::Insert { register, .. } => seen[register] = Some(Some(value(first, 3)?.ok_or_else(unreadable)?)),
        // [applied], v
        Asked::Set { register, .. } => seen[register] = Some(value(first, 1)?),
        Asked::Delete { register } => seen[register] = Some(None),
        // [applied], p, c, v of those that are there
        Asked::SetBoth { .. } => {
            seen = [Some(None); 2];
            for row in rows.iter().filter(|row| row.len() > 1) {
                seen[register(row, 2)?] = Some(value(row, 3)?);
            }
        }
        Asked::Read => {}
    }
    Ok(Told::NotApplied(seen))
}
