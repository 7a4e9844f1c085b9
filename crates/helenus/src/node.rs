//! A node's start and end, the same for the binary and for the simulator.
//!
//! Every shard runs [`run`] with its seat. Shard 0 leads: it locks the data folder, unless that holds data and no metadata log,
//! opens the metadata log, and then has all
//! shards (itself too) take the same steps by commands over a mesh:
//!
//! ```text
//! Open    each shard builds the schema, opens its storage and replays its log
//! (0)     the ports are bound: their true numbers are part of what the next step tells clients
//! Serve   each shard makes its engine and its server
//! Finish  logged batches that were not delivered are, before anyone can see them in part
//! Retire  logs of another shard count are removed, now that every shard has made the records its own; operators are answered
//! (0)     accepts connections; the node is ready; waits for the signal to end; stops accepting
//! Drain   each shard answers what is under way, clients first, then other nodes, and closes the connections
//! Sync    each shard syncs its log, to which the others' last requests may have written
//! End     each shard's main returns
//! ```
//!
//! Everything goes through [`Runtime`]. A step that fails anywhere ends the node with one sentence.

mod boot_sequence;
mod cluster;
mod error;
mod first_superuser;
mod hasher_of_statements;
mod operator;
mod shard;

pub use error::NodeError;

use admin::{QuestionSeat, Questions};
use query::EngineSeats;
use runtime::sync::Queue;
use runtime::{Group, MeshSeat, Responder, Runtime, ShardId};
use server::Listening;

use crate::config::{AuditOptions, Config};
use boot_sequence::BootSequence;
use shard::{Command, ShardNode, ShardSeats};

/// A shard's answer to a command; the error is a whole sentence, since it may cross shards.
type Answer = Result<(), String>;

/// One shard's place in all meshes of a node, on its way to the shard's thread.
pub struct Seat {
    commands: MeshSeat<Command, Answer>,
    engine: EngineSeats,
    server: server::Seat,
    /// Where operators ask the shard, if they may.
    questions: Option<QuestionSeat>,
    /// Where the shard has passwords' hashes computed; `None`: by itself.
    passwords: Option<login::Seat>,
    /// Where the shard puts entries of the audit log; `None`: nowhere.
    audit: Option<audit::Seat>,
}

/// One seat per shard, to be made before the shards run. Nobody asks them from outside.
pub fn seats(shards: u16) -> Vec<Seat> {
    let commands = runtime::mesh(shards, COMMANDS_MAX);
    let rest = query::engine_seats(shards).into_iter().zip(server::seats(shards));
    let seat =
        |(commands, (engine, server))| Seat { commands, engine, server, questions: None, passwords: None, audit: None };
    commands.into_iter().zip(rest).map(seat).collect()
}

/// [`seats`] of shards that operators may ask, and how.
pub fn seats_for_operators(shards: u16) -> (Vec<Seat>, Questions) {
    let (asker, questions) = admin::questions(shards);
    let seat = |(seat, questions)| Seat { questions: Some(questions), ..seat };
    (seats(shards).into_iter().zip(questions).map(seat).collect(), asker)
}

/// The seats of a process's shards, and what the threads beside them are made of.
pub struct ProcessSeats {
    /// One per shard.
    pub seats: Vec<Seat>,
    /// How operators ask.
    pub questions: Questions,
    /// The threads that compute hashes of passwords.
    pub passwords: login::Threads,
    /// The thread that writes the audit log.
    pub audit: audit::Thread,
}

/// [`seats_for_operators`] of shards that have threads beside them, and these threads.
pub fn seats_of_process(shards: u16, logins: login::Settings, audit: AuditOptions) -> ProcessSeats {
    let (seats, questions) = seats_for_operators(shards);
    let (threads, passwords) = login::seats(shards, logins);
    let (thread, audits) = audit::seats(shards, audit);
    let seat = |(seat, (passwords, audit))| Seat { passwords: Some(passwords), audit: Some(audit), ..seat };
    let seats = seats.into_iter().zip(passwords.into_iter().zip(audits)).map(seat).collect();
    ProcessSeats { seats, questions, passwords: threads, audit: thread }
}

/// Commands under way from shard 0 to one shard. They come one after another.
const COMMANDS_MAX: usize = 4;

/// Facts that are known when the node is ready.
#[derive(Debug, Clone)]
pub struct Ready {
    /// The ports that were really taken.
    pub listening: Listening,
    /// The reactor that runs.
    pub reactor: &'static str,
    /// Shards.
    pub shards: u16,
    /// How many times the node was started on this data, this time included.
    pub boot: u64,
}

/// A shard's main: runs the node's part on this shard until the node ends. `ready` is called on shard 0, once.
pub async fn run(
    runtime: Runtime,
    seat: Seat,
    config: Config,
    taken: impl FnOnce(),
    ready: impl FnOnce(Ready),
) -> Result<(), NodeError> {
    let commands: Queue<(Command, Responder<Answer>)> = Queue::new(COMMANDS_MAX);
    let inbox = commands.clone();
    let mesh = seat.commands.open(&runtime, move |_, command, responder| {
        // Full only if shard 0 sent more than the mesh's credits allow.
        if inbox.try_push((command, responder)).is_err() {
            tracing::error!("node command lost; this shard does not execute it");
        }
    });
    let seats = ShardSeats {
        engine: seat.engine,
        server: seat.server,
        questions: seat.questions,
        passwords: seat.passwords,
        audit: seat.audit,
    };
    let node = ShardNode::new(runtime.clone(), config.clone(), seats);
    if runtime.shard() != ShardId(0) {
        node.follow(commands).await;
        return Ok(());
    }
    let local = node.handles();
    let following = runtime.spawn(Group::Query, node.follow(commands));
    let sequence = BootSequence { runtime, config, mesh, local };
    // The folder is this process's until every shard has ended.
    let lock = match sequence.check_metadata().await {
        Ok(()) => sequence.lock_folder().await,
        Err(error) => Err(error),
    };
    let result = match &lock {
        Ok(_) => sequence.run(taken, ready).await,
        Err(_) => Ok(()),
    };
    sequence.end_all().await;
    following.await;
    lock.and(result)
}
