//! Conditional statements of one node: [`cas_register`] on a few partitions. Everything is recorded, to be judged when all is over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::Consistency;
use histories::cas_register::{self, Asked, CasRegister, Registers, Told};
use histories::{Answer, Workload};
use runtime::{Group, Runtime};

use super::rows::RowsOptions;
use crate::client::{Client, ClientError};
use crate::cluster::NODE;

/// The longest that a client waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// The longest pause before a client connects anew.
const REST_MICROS: u64 = 20_000;

/// All requests.
#[derive(Debug, Clone, Default)]
pub struct Conditionals {
    /// Their history.
    pub history: cas_register::History,
    /// Values so far; none is written twice.
    pub values: u64,
    /// Requests that the node answered with an error, by the error's code.
    pub refused: BTreeMap<String, u64>,
}

/// The history that clients share.
pub type SharedConditionals = Rc<RefCell<Conditionals>>;

impl Conditionals {
    /// Requests that were answered.
    pub fn answered_count(&self) -> usize {
        self.history.all().filter(|operation| operation.end().is_some()).count()
    }

    /// Requests.
    pub fn count(&self) -> usize {
        self.history.all().count()
    }
}

/// Makes the table.
pub async fn prepare_conditional(runtime: Runtime) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, NODE).await?;
    client
        .execute(
            "CREATE KEYSPACE IF NOT EXISTS ring WITH replication = \
                 {'class': 'SimpleStrategy', 'replication_factor': 1}",
        )
        .await?;
    for table in CasRegister::TABLES {
        client.execute(table).await?;
    }
    Ok(())
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
        if worker.ask(partition, Asked::Read).await.is_none() {
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
            let view = self.known.get(&partition).copied().unwrap_or_default();
            let asked = CasRegister::choose(&view, self.fresh(), &mut |bound| self.below(bound));
            self.ask(partition, asked).await;
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn fresh(&self) -> u64 {
        let mut history = self.history.borrow_mut();
        history.values += CasRegister::VALUES;
        history.values
    }

    /// Sends a request, and takes note of its answer.
    async fn ask(&mut self, partition: i32, asked: Asked) -> Option<Told> {
        let mut client = self.client().await?;
        let ticket = self.history.borrow_mut().history.begin(partition, asked, self.runtime.now().as_nanos());
        let request = CasRegister::request(&asked, partition);
        client.consistency = if asked == Asked::Read { Consistency::Serial } else { Consistency::One };
        let answer = self.runtime.timeout(PATIENCE, client.run(&request.statement, None)).await;
        let end = self.runtime.now().as_nanos();
        let all = &mut *self.history.borrow_mut();
        let told = match answer {
            Ok(Ok(rows)) => {
                self.connection = Some(client);
                CasRegister::read(&asked, &rows)
            }
            Ok(Err(ClientError::Refused(error))) => {
                self.connection = Some(client);
                *all.refused.entry(format!("{:?}", error.code())).or_default() += 1;
                return None;
            }
            Ok(Err(ClientError::Malformed(what))) => Err(what),
            Ok(Err(ClientError::Connection(_) | ClientError::Closed)) | Err(_) => return None,
        };
        match told {
            Ok(told) => {
                all.history.end(ticket, Answer::Told(end, told));
                CasRegister::learn(self.known.entry(partition).or_default(), &asked, &told);
                Some(told)
            }
            Err(what) => {
                all.history.violations.push(format!("{asked:?}: {what}"));
                None
            }
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
