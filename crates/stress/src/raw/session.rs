//! A run from its first connection to its report.

use std::rc::Rc;
use std::time::Duration;

use runtime::{Group, OpenOptions, Runtime};
use stdx::AlignedBuf;

use crate::StressError;
use crate::cpu_time::CpuTimes;
use crate::raw::arguments::{Arguments, Workload};
use crate::raw::connection::Connection;
use crate::raw::control::Control;
use crate::raw::phase::{Phase, Plan};
use crate::raw::report::Report;
use crate::raw::scan::Scan;
use crate::raw::setup::{self, Statements};
use crate::raw::silence::Silence;
use crate::raw::statistics::Statistics;
use crate::raw::template::Statement;
use crate::raw::wire;

/// Bytes of a prepared statement's id: an MD5.
const ID_BYTES: usize = 16;
/// How often two nodes are asked for the versions of their schemas.
const AGREEMENT_PAUSE: Duration = Duration::from_millis(50);

/// Sets up, warms up, measures and reports.
pub(crate) async fn run(runtime: &Runtime, arguments: &Arguments) -> Result<(), StressError> {
    if arguments.spin {
        runtime.never_sleep();
    }
    let access = arguments.access_options.resolve(runtime).await?;
    let arguments = &Arguments { access, ..arguments.clone() };
    let load = Load::prepare(runtime, arguments).await?;
    let before = CpuTimes::so_far(&arguments.pid)?;
    let start = runtime.now();
    let statistics = load.run(runtime, arguments).await?;
    let elapsed = runtime.now() - start;
    let cpu = before.until_now(&arguments.pid)?;

    let report = Report { arguments, reactor: runtime.reactor_name(), elapsed, statistics: &statistics, cpu };
    print!("{}", report.text());
    if let Some(path) = &arguments.json {
        let written = write_file(runtime, path, report.json().as_bytes()).await;
        written.map_err(|source| StressError::Report { path: path.clone(), source })?;
    }
    report.verdict()
}

/// What is measured, ready to begin.
enum Load {
    Requests { connections: Vec<Connection>, plan: Rc<Plan> },
    Scan(Scan),
}

impl Load {
    /// Sets up and warms up.
    async fn prepare(runtime: &Runtime, arguments: &Arguments) -> Result<Load, StressError> {
        if arguments.workload == Workload::Scan {
            return Ok(Load::Scan(Scan::prepare(runtime, arguments).await?));
        }
        let (statements, mut connections) = connect(runtime, arguments).await?;
        let plan = Rc::new(Plan::new(arguments, &statements)?);
        if arguments.warmup > 0 {
            let warmup = Phase::new(plan.clone(), arguments.warmup, !arguments.order_seed(), runtime.now());
            connections = drive(runtime, arguments, connections, &warmup).await?;
        }
        Ok(Load::Requests { connections, plan })
    }

    async fn run(self, runtime: &Runtime, arguments: &Arguments) -> Result<Statistics, StressError> {
        match self {
            Load::Scan(scan) => scan.run(runtime, arguments).await,
            Load::Requests { connections, plan } => {
                let phase = Phase::new(plan, arguments.operation_count(), arguments.order_seed(), runtime.now());
                drive(runtime, arguments, connections, &phase).await?;
                Ok(phase.finish())
            }
        }
    }
}

/// Prepares the statements and opens the connections.
async fn connect(runtime: &Runtime, arguments: &Arguments) -> Result<(Statements, Vec<Connection>), StressError> {
    let count = usize::from(arguments.connections);
    let mut connections = Vec::with_capacity(count);
    if arguments.echo {
        for connection in 0..count {
            let ends = wire::connect(runtime, arguments.node_of(connection), None).await?;
            connections.push(Connection::new(ends, arguments.depth));
        }
        let statement =
            Statement { id: vec![0; ID_BYTES], result_metadata_id: vec![0; ID_BYTES], ..Statement::default() };
        let (write, read) = (statement.clone(), statement);
        return Ok((Statements::Rows { write, read }, connections));
    }
    let statements = prepare(runtime, arguments).await?;
    for connection in 0..count {
        let control = Control::open(runtime, arguments, arguments.node_of(connection)).await?;
        connections.push(Connection::new(control.into_ends(), arguments.depth));
    }
    Ok((statements, connections))
}

/// Sets up on the first node and prepares on all. Requests are built once, so that an id must mean the same to all nodes.
async fn prepare(runtime: &Runtime, arguments: &Arguments) -> Result<Statements, StressError> {
    let mut first = Control::open(runtime, arguments, arguments.first_node()).await?;
    setup::make(&mut first, arguments).await?;
    let statements = setup::prepare(&mut first, arguments).await?;
    for node in &arguments.node[1..] {
        let mut other = Control::open(runtime, arguments, *node).await?;
        agree(runtime, arguments, &mut first, &mut other).await?;
        if setup::prepare(&mut other, arguments).await? != statements {
            let reason = "prepared statement differs from that of the first node".to_owned();
            return Err(StressError::Malformed { address: *node, reason });
        }
    }
    Ok(statements)
}

/// Waits until two nodes have the same schema, as drivers do after a schema change: not every server waits for that before it answers one.
async fn agree(
    runtime: &Runtime,
    arguments: &Arguments,
    first: &mut Control,
    other: &mut Control,
) -> Result<(), StressError> {
    let deadline = runtime.now() + arguments.silence_max;
    while first.schema_version().await? != other.schema_version().await? {
        if runtime.now() >= deadline {
            return Err(StressError::Schema { address: other.address(), time: arguments.silence_max });
        }
        runtime.sleep(AGREEMENT_PAUSE).await;
    }
    Ok(())
}

/// Does a phase on all connections at once. Ends with the first failure of one, or if a server is silent; the others are dropped then.
async fn drive(
    runtime: &Runtime,
    arguments: &Arguments,
    connections: Vec<Connection>,
    phase: &Rc<Phase>,
) -> Result<Vec<Connection>, StressError> {
    let mut silence = Silence::new(arguments.silence_max, connections.iter().map(Connection::watched));
    let run = |mut connection: Connection| {
        let (runtime, phase) = (runtime.clone(), phase.clone());
        async move { connection.run(&runtime, &phase).await.map(|()| connection) }
    };
    let tasks: Vec<_> =
        connections.into_iter().map(|connection| runtime.spawn(Group::Query, run(connection))).collect();
    let mut done = Vec::with_capacity(tasks.len());
    for mut task in tasks {
        let ended = loop {
            match runtime.timeout(silence.interval(), &mut task).await {
                Ok(ended) => break ended,
                Err(_) => silence.look()?,
            }
        };
        done.push(ended?);
    }
    Ok(done)
}

async fn write_file(runtime: &Runtime, path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(path, options).await?;
    let mut buffer = AlignedBuf::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    file.write_at(buffer, 0).await.0
}
