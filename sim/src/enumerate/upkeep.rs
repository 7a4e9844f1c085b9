//! What an operator does to a node's files, each step of it under power cuts: compactions with writes beside them, a snapshot while files are
//! exchanged, a TRUNCATE, the snapshot laid into `upload/` and taken in by a start or a refresh, and compactions of what came of it.
//!
//! Boundaries are kept of these steps alone. Beside the rows, each image is asked for its snapshots: one that says that it is whole is brought
//! back to an emptied table, and must give the rows of its moment.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use admin::{Answer, Question, Questions, TableName, take_snapshot};
use planted::Planted;
use runtime::{AlignedBuf, OpenOptions, Runtime, ShardId};

use super::{Recorded, SHARDS, WORKLOAD_AT_MOST, begin_load, load, node_options, rows_options};
use crate::checker::{self, Promises};
use crate::client::Client;
use crate::cluster::{Cluster, DATA, NODE, NodeOptions};
use crate::run::{ask, read_all};
use crate::workload::{Restore, RowsOptions, Shared, Truncate, prepare};

/// Files that each shard has, about, when a compaction begins.
pub(super) const FILES: usize = 3;
/// The longest that a step may take.
pub(super) const STEP_AT_MOST: Duration = Duration::from_secs(300);
/// The snapshot.
const TAG: &str = "kept";

/// A snapshot that was made. Nothing was written while it was.
pub(super) struct Taken {
    /// When it was asked for.
    pub(super) began: u64,
    /// When it was there.
    pub(super) ended: u64,
}

fn table() -> TableName {
    TableName { keyspace: "sim".to_owned(), table: "rows".to_owned() }
}

/// What clients do: one TRUNCATE, which is the operator's.
fn writes() -> RowsOptions {
    RowsOptions { truncate_per_mille: 0, ..rows_options() }
}

/// Has all shards do something.
async fn tell_all(questions: &Questions, question: Question) -> Result<(), String> {
    let calls: Vec<_> =
        (0..questions.shard_count()).map(|shard| questions.call(ShardId(shard), question.clone())).collect();
    for call in calls {
        match call.await {
            Ok(Answer::Refusal(refusal)) => return Err(format!("{question:?}: {refusal:?}")),
            Ok(_) => {}
            Err(unanswered) => return Err(format!("{question:?}: {unanswered}")),
        }
    }
    Ok(())
}

/// Runs an operator's step to its end.
fn step(cluster: &mut Cluster, what: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    cluster.run_beside(what, STEP_AT_MOST).unwrap_or_else(|| Err("an operator's step took too long".to_owned()))
}

/// Starts the node; its table is compacted only when it is told to.
pub(super) fn start(cluster: &mut Cluster, shards: u16) -> Result<(), String> {
    cluster.start(shards).map_err(|error| format!("a start with {shards} shards failed: {error}"))?;
    let questions = cluster.questions();
    match step(cluster, tell_all(&questions, Question::SetAutocompaction { tables: vec![table()], is_on: false })) {
        // The table is made later.
        Err(refusal) if refusal.contains("NotFound") => Ok(()),
        done => done,
    }
}

/// Writes, and has what was written become files, so many times.
pub(super) fn fill(cluster: &mut Cluster, history: &Shared, times: usize) -> Result<(), String> {
    for _ in 0..times {
        load(cluster, history, writes())?;
        let questions = cluster.questions();
        step(cluster, tell_all(&questions, Question::Flush(vec![table()])))?;
    }
    Ok(())
}

fn compaction(questions: &Questions) -> impl Future<Output = Result<(), String>> + use<> {
    let questions = questions.clone();
    async move { tell_all(&questions, Question::Compact(vec![table()])).await }
}

/// Runs the course once, with boundaries of its steps.
pub(super) fn record(seed: u64, planted: Planted) -> Result<Recorded, String> {
    let (mut cluster, history) = (new_cluster(seed, planted), Shared::default());
    let table_made = begin(&mut cluster)?;

    fill(&mut cluster, &history, FILES)?;
    cluster.keep_boundaries();
    compact_beside_writes(&mut cluster, &history)?;
    fill(&mut cluster, &history, FILES - 1)?;
    let taken = snapshot_beside_compaction(&mut cluster)?;
    load(&mut cluster, &history, writes())?;
    restore(&mut cluster, &history, &taken, 1 + (seed % 3) as u16)?;
    fill(&mut cluster, &history, 1)?;
    compact_beside_writes(&mut cluster, &history)?;
    end(&mut cluster, &history)?;

    let boundaries = cluster.take_boundaries();
    drop(cluster);
    Ok(Recorded { seed, history: history.take(), boundaries, table_made, snapshots: vec![taken] })
}

fn compact_beside_writes(cluster: &mut Cluster, history: &Shared) -> Result<(), String> {
    let compacting = compaction(&cluster.questions());
    let working = begin_load(cluster, history, writes());
    step(cluster, compacting)?;
    cluster.run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
    if working.is_over() { Ok(()) } else { Err("the workload did not end".to_owned()) }
}

/// Both at once, and nothing is written meanwhile, so that it is known what the snapshot has.
fn snapshot_beside_compaction(cluster: &mut Cluster) -> Result<Taken, String> {
    let began = cluster.world.now().as_nanos();
    let questions = cluster.questions();
    let both = async {
        let mut compacting = std::pin::pin!(compaction(&questions));
        let mut compacted = None;
        let mut taking = std::pin::pin!(snapshot(&questions));
        let mut taken = None;
        std::future::poll_fn(|context| {
            if compacted.is_none()
                && let std::task::Poll::Ready(done) = compacting.as_mut().poll(context)
            {
                compacted = Some(done);
            }
            if taken.is_none()
                && let std::task::Poll::Ready(done) = taking.as_mut().poll(context)
            {
                taken = Some(done);
            }
            match (&compacted, &taken) {
                (Some(compacted), Some(taken)) => std::task::Poll::Ready(compacted.clone().and(taken.clone())),
                _ => std::task::Poll::Pending,
            }
        })
        .await
    };
    step(cluster, both)?;
    Ok(Taken { began, ended: cluster.world.now().as_nanos() })
}

/// Runs the course of a refresh once, with boundaries of it alone: beside clients that write, and compacted behind it.
pub(super) fn record_refresh(seed: u64, planted: Planted) -> Result<Recorded, String> {
    let (mut cluster, history) = (new_cluster(seed, planted), Shared::default());
    let table_made = ready_to_refresh(&mut cluster, &history, SHARDS[seed as usize % SHARDS.len()])?;

    cluster.keep_boundaries();
    let working = begin_load(&mut cluster, &history, writes());
    let questions = cluster.questions();
    step(&mut cluster, refresh(&questions))?;
    is_back(&cluster, &history);
    cluster.run_until(|_| working.is_over(), WORKLOAD_AT_MOST);
    let compacting = compaction(&cluster.questions());
    step(&mut cluster, compacting)?;
    end(&mut cluster, &history)?;

    let boundaries = cluster.take_boundaries();
    drop(cluster);
    Ok(Recorded { seed, history: history.take(), boundaries, table_made, snapshots: Vec::new() })
}

/// Has a node of so many shards run beside a snapshot's files, which lie in `upload/`. When the table was made.
pub(super) fn ready_to_refresh(cluster: &mut Cluster, history: &Shared, shards: u16) -> Result<u64, String> {
    let table_made = begin(cluster)?;
    fill(cluster, history, FILES - 1)?;
    let questions = cluster.questions();
    step(cluster, snapshot(&questions))?;
    let of = cluster.world.now().as_nanos();
    empty(cluster, history)?;
    let start_of_restore = cluster.world.now().as_nanos();
    lay_back(cluster)?;
    start(cluster, shards)?;
    let restore = Restore { of, start: start_of_restore, acknowledged: None, by_refresh: true };
    history.borrow_mut().restores.push(restore);
    Ok(table_made)
}

/// Asks for a refresh: the node imports the files in `upload/`.
pub(super) async fn refresh(questions: &Questions) -> Result<(), String> {
    match questions.call(ShardId(0), Question::Refresh(table())).await {
        Ok(Answer::Done) => Ok(()),
        other => Err(format!("a refresh: {other:?}")),
    }
}

/// Makes the snapshot.
pub(super) fn snapshot(questions: &Questions) -> impl Future<Output = Result<(), String>> {
    take_snapshot(questions, TAG.to_owned(), vec![table()])
}

/// A node's machine, which has nothing yet.
pub(super) fn new_cluster(seed: u64, planted: Planted) -> Cluster {
    let options = NodeOptions { auto_snapshot: false, ..node_options(seed, planted) };
    Cluster::new(seed, options, None)
}

/// Starts a node and makes the table, which is compacted only when it is told to. When that was.
pub(super) fn begin(cluster: &mut Cluster) -> Result<u64, String> {
    start(cluster, SHARDS[0])?;
    let made = ask(cluster, prepare).ok_or("the table was not made in time")?;
    made.map_err(|error| error.to_string())?;
    let table_made = cluster.world.now().as_nanos();
    let questions = cluster.questions();
    step(cluster, tell_all(&questions, Question::SetAutocompaction { tables: vec![table()], is_on: false }))?;
    Ok(table_made)
}

/// TRUNCATE, and the snapshot's files laid back while the node is down.
fn restore(cluster: &mut Cluster, history: &Shared, taken: &Taken, shards: u16) -> Result<(), String> {
    empty(cluster, history)?;
    let begun = cluster.world.now().as_nanos();
    history.borrow_mut().restores.push(Restore {
        of: taken.ended,
        start: begun,
        acknowledged: None,
        by_refresh: false,
    });
    lay_back(cluster)?;
    cluster.set_takes_in_sstables(true);
    start(cluster, shards)?;
    cluster.set_takes_in_sstables(false);
    is_back(cluster, history);
    Ok(())
}

/// What was being brought back is there.
fn is_back(cluster: &Cluster, history: &Shared) {
    let now = cluster.world.now().as_nanos();
    if let Some(restore) = history.borrow_mut().restores.last_mut() {
        restore.acknowledged = Some(now);
    }
}

/// TRUNCATE, and the node's end.
fn empty(cluster: &mut Cluster, history: &Shared) -> Result<(), String> {
    let start_of_truncate = cluster.world.now().as_nanos();
    history.borrow_mut().truncates.push(Truncate { start: start_of_truncate, acknowledged: None });
    truncate(cluster)?;
    let now = cluster.world.now().as_nanos();
    if let Some(truncate) = history.borrow_mut().truncates.last_mut() {
        truncate.acknowledged = Some(now);
    }
    end(cluster, history)
}

fn truncate(cluster: &mut Cluster) -> Result<(), String> {
    let truncated = ask(cluster, async |runtime: Runtime| {
        let mut client = Client::connect(&runtime, NODE).await?;
        client.execute("TRUNCATE sim.rows").await
    });
    truncated.ok_or("TRUNCATE took too long")?.map(drop).map_err(|error| format!("TRUNCATE: {error}"))
}

fn end(cluster: &mut Cluster, history: &Shared) -> Result<(), String> {
    cluster.terminate().map_err(|error| format!("the orderly end failed: {error}"))?;
    let now = cluster.world.now().as_nanos();
    history.borrow_mut().ends.push(now);
    Ok(())
}

/// Copies the snapshot's files to `upload/`, as `cp` does, which syncs nothing.
fn lay_back(cluster: &mut Cluster) -> Result<(), String> {
    on_node(cluster, async |runtime: Runtime| {
        let folder = table_folder(&runtime).await?;
        let upload = folder.join("upload");
        runtime.create_dir_all(&upload).await?;
        let snapshot = folder.join("snapshots").join(TAG);
        for entry in runtime.read_dir(&snapshot).await? {
            let bytes = runtime.read_file(&snapshot.join(&entry.name)).await?;
            let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
            let file = runtime.open(&upload.join(&entry.name), options).await?;
            if !bytes.is_empty() {
                file.write_at(AlignedBuf::from(&bytes[..]), 0).await.0?;
            }
        }
        Ok(())
    })
}

/// Runs a program on the node's machine, on which the node does not run.
fn on_node<T: 'static, Fut: Future<Output = std::io::Result<T>> + 'static>(
    cluster: &mut Cluster,
    main: impl FnOnce(Runtime) -> Fut,
) -> Result<T, String> {
    let working = cluster.world.start(cluster.node, false, vec![main]);
    cluster.run_until(|_| working.is_over(), STEP_AT_MOST);
    let output = working.take_outputs().and_then(|mut outputs| outputs.pop());
    output.ok_or("a program took too long")?.map_err(|error| error.to_string())
}

async fn table_folder(runtime: &Runtime) -> std::io::Result<PathBuf> {
    let keyspace = Path::new(DATA).join("data/sim");
    let entries = runtime.read_dir(&keyspace).await?;
    let folder = entries.into_iter().find(|entry| entry.is_dir && entry.name.starts_with("rows-"));
    let folder = folder.ok_or_else(|| std::io::Error::other("the table has no folder"))?;
    Ok(keyspace.join(folder.name))
}

/// What lies in a snapshot's folder: names, and the text of its manifest.
async fn found(runtime: Runtime) -> std::io::Result<(BTreeSet<String>, Option<String>)> {
    let Ok(folder) = table_folder(&runtime).await else { return Ok((BTreeSet::new(), None)) };
    let snapshot = folder.join("snapshots").join(TAG);
    if !runtime.exists(&snapshot).await? {
        return Ok((BTreeSet::new(), None));
    }
    let names: BTreeSet<String> = runtime.read_dir(&snapshot).await?.into_iter().map(|entry| entry.name).collect();
    if !names.contains("manifest.json") {
        return Ok((names, None));
    }
    let bytes = runtime.read_file(&snapshot.join("manifest.json")).await?;
    Ok((names, Some(String::from_utf8_lossy(&bytes).into_owned())))
}

impl Taken {
    /// Judges what a disk has of it. The node does not run.
    pub(super) fn check(&self, cluster: &mut Cluster, recorded: &Recorded, as_of: u64) -> Vec<String> {
        self.judge(cluster, recorded, as_of).unwrap_or_else(|what| vec![format!("the snapshot: {what}")])
    }

    fn judge(&self, cluster: &mut Cluster, recorded: &Recorded, as_of: u64) -> Result<Vec<String>, String> {
        let (names, manifest) = on_node(cluster, found)?;
        let Some(manifest) = manifest else {
            return match self.ended <= as_of {
                true => Err("it was there, and does not say so any more".to_owned()),
                false => Ok(Vec::new()),
            };
        };
        if !manifest.starts_with("{\"files\":[") || !manifest.ends_with("]}\n") || !names.contains("schema.cql") {
            return Err(format!("its manifest or its schema is not whole: {manifest:?}, {names:?}"));
        }
        let files = manifest.split('"').filter(|word| word.ends_with("-Data.db"));
        let missing: Vec<&str> = files.filter(|name| !names.contains(*name)).collect();
        if !missing.is_empty() {
            return Err(format!("it names files that it does not have: {missing:?}"));
        }
        cluster.set_takes_in_sstables(false);
        start(cluster, SHARDS[0])?;
        truncate(cluster)?;
        cluster.terminate()?;
        lay_back(cluster)?;
        cluster.set_takes_in_sstables(true);
        start(cluster, SHARDS[as_of as usize % SHARDS.len()])?;
        let rows = read_all(cluster)?;
        cluster.world.kill(cluster.node);
        let violations = checker::check(&recorded.history, &rows, self.began, Promises::TODAY);
        Ok(violations.into_iter().map(|what| format!("the snapshot, brought back: {what}")).collect())
    }
}
