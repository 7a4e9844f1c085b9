//! `snapshot`, `listsnapshots`, `clearsnapshot`.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answers::{Pair, SnapshotTable};
use crate::arguments::{ClearSnapshot, Snapshot};
use crate::error::ToolError;
use crate::layout::{Columns, size};
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const PATH: &str = "/storage_service/snapshots";

#[derive(Serialize)]
struct Taken {
    snapshot: String,
    of: Vec<String>,
    skip_flush: bool,
}

impl Report for Taken {
    fn text(&self) -> String {
        let of = if self.of.is_empty() { "all keyspaces".into() } else { self.of.join(",") };
        format!(
            "Requested creating snapshot(s) for [{of}] with snapshot name [{}] and options {{skipFlush={}}}\n\
             Snapshot directory: {}\n",
            self.snapshot, self.skip_flush, self.snapshot
        )
    }
}

pub(super) fn take(arguments: &Snapshot, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.ttl.is_some() {
        return Err(ToolError::usage("snapshot --ttl is not supported: snapshots stay until they are cleared"));
    }
    let names_others = !arguments.keyspaces.is_empty() || arguments.table.is_some();
    if !arguments.kt_list.is_empty() && names_others {
        return Err(ToolError::usage(
            "When specifying the Keyspace table list (using -kt,--kt-list,-kc,--kc.list), you must not also specify \
             keyspaces to snapshot",
        ));
    }
    if arguments.table.is_some() && arguments.keyspaces.len() != 1 {
        return Err(ToolError::usage(
            "When specifying the table for a snapshot, you must specify one and only one keyspace",
        ));
    }
    let snapshot = arguments.tag.clone().unwrap_or_else(|| node.now_ms().to_string());
    let request =
        Request::post(PATH).with("tag", &snapshot).with("sf", if arguments.skip_flush { "true" } else { "false" });
    if arguments.kt_list.is_empty() {
        let tables: Vec<String> = arguments.table.clone().into_iter().collect();
        node.order(request.with_names("kn", &arguments.keyspaces).with_names("cf", &tables))?;
        return Ok(Answer::of(&Taken { snapshot, of: arguments.keyspaces.clone(), skip_flush: arguments.skip_flush }));
    }
    // A request names tables of one keyspace. A whole keyspace in the list holds its tables that are listed, too.
    let mut by_keyspace: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in &arguments.kt_list {
        let (keyspace, table) = name.split_once('.').unwrap_or((name, ""));
        by_keyspace.entry(keyspace).or_default().push(table.to_owned());
    }
    for (keyspace, tables) in by_keyspace {
        let tables = if tables.iter().any(String::is_empty) { Vec::new() } else { tables };
        node.order(request.clone().with("kn", keyspace).with_names("cf", &tables))?;
    }
    Ok(Answer::of(&Taken { snapshot, of: arguments.kt_list.clone(), skip_flush: arguments.skip_flush }))
}

#[derive(Serialize)]
struct List {
    snapshots: Vec<Kept>,
    true_size_bytes: u64,
}

#[derive(Serialize)]
struct Kept {
    snapshot: String,
    keyspace: String,
    table: String,
    true_size_bytes: u64,
    size_on_disk_bytes: u64,
}

pub(super) fn list(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let pairs: Vec<Pair<Vec<SnapshotTable>>> = node.get(Request::get(PATH))?;
    let kept = |pair: Pair<Vec<SnapshotTable>>| {
        pair.value.into_iter().map(move |part| Kept {
            snapshot: pair.key.clone(),
            keyspace: part.ks,
            table: part.cf,
            true_size_bytes: part.live,
            size_on_disk_bytes: part.total,
        })
    };
    let snapshots = pairs.into_iter().flat_map(kept).collect();
    let true_size_bytes = node.get(Request::get("/storage_service/snapshots/size/true"))?;
    Ok(Answer::of(&List { snapshots, true_size_bytes }))
}

impl Report for List {
    fn text(&self) -> String {
        let mut text = String::from("Snapshot Details: \n");
        if self.snapshots.is_empty() {
            return text + "There are no snapshots\n";
        }
        let mut columns = Columns::new(" ");
        columns.row(["Snapshot name", "Keyspace name", "Column family name", "True size", "Size on disk"]);
        for kept in &self.snapshots {
            columns.row([
                &kept.snapshot,
                &kept.keyspace,
                &kept.table,
                &size(kept.true_size_bytes as f64),
                &size(kept.size_on_disk_bytes as f64),
            ]);
        }
        text += &columns.text("");
        text + &format!("\nTotal TrueDiskSpaceUsed: {}\n\n", size(self.true_size_bytes as f64))
    }
}

#[derive(Serialize)]
struct Cleared {
    of: Vec<String>,
    snapshot: Option<String>,
}

impl Report for Cleared {
    fn text(&self) -> String {
        let of = if self.of.is_empty() { "all keyspaces".into() } else { self.of.join(", ") };
        let what = match &self.snapshot {
            Some(name) => format!("snapshot name [{name}]"),
            None => "[all snapshots]".into(),
        };
        format!("Requested clearing snapshot(s) for [{of}] with {what}\n")
    }
}

pub(super) fn clear(arguments: &ClearSnapshot, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if arguments.older_than.is_some() || arguments.older_than_timestamp.is_some() {
        return Err(ToolError::usage("clearsnapshot by age is not supported: give the snapshot name, or --all"));
    }
    let request = match (&arguments.tag, arguments.all) {
        (None, false) => return Err(ToolError::usage("Specify snapshot name or --all")),
        (Some(_), true) => return Err(ToolError::usage("Specify only one of snapshot name or --all")),
        (Some(tag), false) => Request::delete(PATH).with("tag", tag),
        (None, true) => Request::delete(PATH),
    };
    node.order(request.with_names("kn", &arguments.keyspaces))?;
    Ok(Answer::of(&Cleared { of: arguments.keyspaces.clone(), snapshot: arguments.tag.clone() }))
}
