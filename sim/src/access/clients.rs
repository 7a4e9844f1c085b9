//! Clients that change roles and permissions, each its own, one statement after the other, until one has no answer: what becomes of that is not known.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use cql_protocol::{ErrorBody, ErrorCode};
use runtime::{Group, Runtime};

use super::login::{PASSWORD, PATIENCE, SUPERUSER};
use super::model::{self, Answer, Model, ROLES, Resource, RoleNumber, Statement};
use crate::client::{Client, ClientError};

/// Clients at a time.
pub const CLIENTS: usize = 3;
/// Tries to reach a node that does not answer, before a client ends.
const CONNECTS_MAX: u32 = 200;
/// The longest pause between two statements, and before a client connects again.
const PAUSE_MICROS: u64 = 20_000;
const REST_MICROS: u64 = 300_000;
/// A client goes to another node after one statement of so many.
const MOVES_EVERY: u64 = 6;

/// A client's roles as it knows them.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// After the last answer.
    pub model: Model,
    /// The statement that was sent and not answered, and the roles after it.
    pub open: Option<(Statement, Model)>,
}

/// The knowledge of all clients.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Of each client.
    pub clients: [Progress; CLIENTS],
    /// Statements that were answered as done.
    pub acknowledged: u64,
    /// Of those, GRANT and REVOKE.
    pub granted_or_revoked: u64,
    /// Answers that cannot be.
    pub violations: Vec<String>,
}

/// It, shared with the clients.
pub type Shared = Rc<RefCell<History>>;

/// All clients send so many statements each, through any of the nodes.
pub async fn work(runtime: Runtime, addresses: Vec<SocketAddr>, statements: u32, history: Shared) {
    let client = |number: usize| {
        let (runtime, addresses, history) = (runtime.clone(), addresses.clone(), history.clone());
        Worker { runtime, addresses, history, number, connection: None }.run(statements)
    };
    let clients: Vec<_> = (0..CLIENTS).map(|number| runtime.spawn(Group::Query, client(number))).collect();
    for client in clients {
        client.await;
    }
}

struct Worker {
    runtime: Runtime,
    addresses: Vec<SocketAddr>,
    history: Shared,
    number: usize,
    connection: Option<Client>,
}

impl Worker {
    async fn run(mut self, statements: u32) {
        for _ in 0..statements {
            let pause = self.below(PAUSE_MICROS);
            self.runtime.sleep(Duration::from_micros(pause)).await;
            if self.below(MOVES_EVERY) == 0 {
                self.connection = None;
            }
            let Some(client) = self.connect().await else { return };
            let statement = self.choose();
            if !self.ask(client, statement).await {
                return;
            }
        }
    }

    fn below(&self, bound: u64) -> u64 {
        self.runtime.random_u64() % bound
    }

    fn role(&self) -> RoleNumber {
        self.below(u64::from(ROLES)) as RoleNumber
    }

    /// A statement that may be refused; more often one whose role is there.
    fn choose(&self) -> Statement {
        let history = self.history.borrow();
        let model = &history.clients[self.number].model;
        let there: Vec<RoleNumber> = (0..ROLES).filter(|role| model.has(*role)).collect();
        let any = self.role();
        let known = match self.below(8) {
            0 => any,
            _ => *there.get(self.below(there.len().max(1) as u64) as usize).unwrap_or(&any),
        };
        let (coin, hash) = (self.below(2) == 0, self.below(26) as u8);
        match self.below(12) {
            0 | 1 => {
                let hash = Some(hash).filter(|_| self.below(2) == 0);
                Statement::Create { role: any, login: coin, hash, if_not_exists: self.below(4) == 0 }
            }
            2 if coin => Statement::Drop { role: known, if_exists: self.below(2) == 0 },
            2 | 3 => match coin {
                true => Statement::Alter { role: known, login: Some(self.below(2) == 0), hash: None },
                false => Statement::Alter { role: known, login: None, hash: Some(hash) },
            },
            4..7 => {
                let role = known.min(ROLES - 2);
                let above = role + 1 + self.below(u64::from(ROLES - 1 - role)) as RoleNumber;
                Statement::Member { role, member: above, is_granted: self.below(3) > 0 }
            }
            _ => {
                let on = match self.below(4) {
                    0 => Resource::Keyspaces,
                    1 => Resource::Roles,
                    2 => Resource::MBeans,
                    _ => Resource::Role(any),
                };
                let permission = model::permissions(on)[usize::from(coin)];
                Statement::Permission { permission, on, role: known, is_granted: self.below(3) > 0 }
            }
        }
    }

    /// Asks, and notes the answer. False if there is none, or one that promises nothing.
    async fn ask(&mut self, mut client: Client, statement: Statement) -> bool {
        let text = model::text(self.number, &statement);
        let (expected, after) = {
            let mut history = self.history.borrow_mut();
            let progress = &mut history.clients[self.number];
            let (expected, after) = progress.model.after(&statement);
            progress.open = Some((statement.clone(), after.clone()));
            (expected, after)
        };
        let answer = self.runtime.timeout(PATIENCE, client.change(&text)).await;
        let mut history = self.history.borrow_mut();
        let told = match answer {
            Ok(Ok(_)) => Told::Answer(Answer::Done, String::new()),
            Ok(Err(ClientError::Refused(error))) => told(&error),
            Ok(Err(ClientError::Malformed(what))) => Told::Wrong(what),
            Ok(Err(ClientError::Connection(_) | ClientError::Closed)) | Err(_) => Told::Nothing,
        };
        match told {
            Told::Nothing => return false,
            Told::NothingDone => history.clients[self.number].open = None,
            Told::Answer(answer, words) if answer == expected => {
                let progress = &mut history.clients[self.number];
                (progress.model, progress.open) = (after, None);
                if answer == Answer::Done {
                    history.acknowledged += 1;
                    let is_grant = matches!(statement, Statement::Member { .. } | Statement::Permission { .. });
                    history.granted_or_revoked += u64::from(is_grant);
                } else {
                    stdx::sometimes!("statement about roles refused as its model refuses it");
                }
                drop(words);
            }
            Told::Answer(answer, words) => {
                let model = history.clients[self.number].model.facts(self.number);
                history.violations.push(format!("{text}: {answer:?} ({words}), not {expected:?}, with {model:?}"));
                return false;
            }
            Told::Wrong(what) => {
                history.violations.push(format!("{text}: {what}"));
                return false;
            }
        }
        drop(history);
        self.connection = Some(client);
        true
    }

    /// The connection, or a new one to any node, which has logged in.
    async fn connect(&mut self) -> Option<Client> {
        if let Some(client) = self.connection.take() {
            return Some(client);
        }
        for _ in 0..CONNECTS_MAX {
            let address = self.addresses[self.below(self.addresses.len() as u64) as usize];
            let connecting = Client::log_in(&self.runtime, address, SUPERUSER, PASSWORD);
            if let Ok(Ok(client)) = self.runtime.timeout(PATIENCE, connecting).await {
                return Some(client);
            }
            let rest = self.below(REST_MICROS);
            self.runtime.sleep(Duration::from_micros(rest)).await;
        }
        None
    }
}

enum Told {
    /// One that the model foresees or not, with the error's words.
    Answer(Answer, String),
    /// Promised that nothing was done.
    NothingDone,
    /// Nothing is known.
    Nothing,
    /// No client could know what this means.
    Wrong(String),
}

fn told(error: &ErrorBody) -> Told {
    let says = |words: &str| error.message.contains(words);
    match error.code() {
        ErrorCode::Invalid => Told::Answer(Answer::Refused, error.message.clone()),
        ErrorCode::ServerError if says("may have been applied") || says("could not be made durable") => Told::Nothing,
        ErrorCode::ServerError if says("nothing was") || says("changes wait") || says("changed too often") => {
            Told::NothingDone
        }
        ErrorCode::Overloaded | ErrorCode::IsBootstrapping => Told::NothingDone,
        code => Told::Wrong(format!("no reason: {code:?}: {}", error.message)),
    }
}
