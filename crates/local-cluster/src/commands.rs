//! `stop`, `kill`, `pause`, `resume` and `status`.

use std::net::IpAddr;
use std::time::Duration;

use crate::api::{Api, View};
use crate::error::LocalClusterError;
use crate::folder::Folder;
use crate::layout::Layout;
use crate::pidfd::Signal;
use crate::process::Process;
use crate::table;

/// A node answers the requests in flight and syncs its log.
pub(crate) const END_TIME_MAX: Duration = Duration::from_secs(60);

/// Stops all nodes that run: all get SIGTERM, then the end of each is awaited.
pub(crate) fn stop(folder: &Folder) -> Result<String, LocalClusterError> {
    let (_lock, layout) = folder.lock_existing()?;
    let mut running = Vec::new();
    for number in layout.numbers() {
        running.extend(Process::find(folder, number)?.map(|process| (number, process)));
    }
    for (_, process) in &running {
        process.send(Signal::Terminate)?;
        // A paused process does not see the signal before.
        process.send(Signal::Continue)?;
    }
    for (number, process) in &running {
        let hint = format!("; `helenus cluster kill {number}{}` ends it", folder.option());
        process.wait(END_TIME_MAX, &hint)?;
    }
    Ok(match running.len() {
        0 => "no node was up\n".to_owned(),
        1 => "1 node has stopped\n".to_owned(),
        count => format!("{count} nodes have stopped\n"),
    })
}

/// Kills nodes.
pub(crate) fn kill(folder: &Folder, numbers: &[u8]) -> Result<String, LocalClusterError> {
    each(folder, numbers, |number, process| {
        process.kill()?;
        Ok(format!(
            "node {number} (pid {}) is killed; `helenus cluster start{}` starts it again\n",
            process.pid(),
            folder.option()
        ))
    })
}

/// Stops the processes of nodes for a while.
pub(crate) fn pause(folder: &Folder, numbers: &[u8]) -> Result<String, LocalClusterError> {
    each(folder, numbers, |number, process| {
        process.pause()?;
        Ok(format!("node {number} (pid {}) is paused\n", process.pid()))
    })
}

/// Lets paused nodes go on.
pub(crate) fn resume(folder: &Folder, numbers: &[u8]) -> Result<String, LocalClusterError> {
    each(folder, numbers, |number, process| {
        if !process.is_paused() {
            return Err(LocalClusterError::State { number, state: "not paused", hint: String::new() });
        }
        process.send(Signal::Continue)?;
        Ok(format!("node {number} (pid {}) is resumed\n", process.pid()))
    })
}

/// Does something with the process of each of the nodes. All of them must exist and run before anything is done.
fn each(
    folder: &Folder,
    numbers: &[u8],
    mut work: impl FnMut(u8, &Process) -> Result<String, LocalClusterError>,
) -> Result<String, LocalClusterError> {
    let (_lock, layout) = folder.lock_existing()?;
    let mut processes = Vec::new();
    for &number in numbers {
        check(folder, &layout, number)?;
        let down = || LocalClusterError::State { number, state: "down", hint: String::new() };
        processes.push((number, Process::find(folder, number)?.ok_or_else(down)?));
    }
    processes.iter().map(|(number, process)| work(*number, process)).collect()
}

/// Fails if the cluster has no node of this number.
pub(crate) fn check(folder: &Folder, layout: &Layout, number: u8) -> Result<(), LocalClusterError> {
    if layout.has_left(number) {
        return Err(LocalClusterError::Left { number });
    }
    if !layout.numbers().any(|existing| existing == number) {
        let (count, dir) = (layout.last(), folder.shown().to_owned());
        return Err(LocalClusterError::NoNode { number, count, dir });
    }
    Ok(())
}

/// A table of all nodes: their processes, and their states in the ring as one of them sees it.
pub(crate) fn status(folder: &Folder) -> Result<String, LocalClusterError> {
    let layout = folder.layout()?;
    let mut processes = Vec::new();
    for number in layout.numbers() {
        processes.push((number, Process::find(folder, number)?));
    }
    let view = view(&layout, &processes);
    let mut rows = vec![["node", "address", "pid", "state", "ring"].map(str::to_owned)];
    for (number, process) in &processes {
        let address = layout.address(*number);
        let state = match process {
            None => "down",
            Some(process) if process.is_paused() => "paused",
            Some(_) => "up",
        };
        let pid = process.as_ref().map_or_else(|| "-".to_owned(), |process| process.pid().to_string());
        let ring = view.as_ref().map_or("?", |(_, view)| in_ring(view, IpAddr::V4(address)));
        rows.push([number.to_string(), address.to_string(), pid, state.to_owned(), ring.to_owned()]);
    }
    let seen = match view {
        Some((number, _)) => {
            format!("\nThe ring is as node {number} sees it: UN is up, DN is down, - is not a member.\n")
        }
        None => "\nNo node answers, so the state of the ring is not known.\n".to_owned(),
    };
    Ok(table::lines(&rows) + &seen)
}

/// The view of the first node that answers.
fn view(layout: &Layout, processes: &[(u8, Option<Process>)]) -> Option<(u8, View)> {
    let api = Api::new();
    let asked = processes.iter().filter(|(_, process)| process.as_ref().is_some_and(|process| !process.is_paused()));
    asked.into_iter().find_map(|(number, _)| api.view(layout.api(*number)).ok().map(|view| (*number, view)))
}

/// The state of a node in the ring, as nodetool writes it.
fn in_ring(view: &View, address: IpAddr) -> &'static str {
    match () {
        () if view.live.contains(&address) => "UN",
        () if view.down.contains(&address) => "DN",
        () => "-",
    }
}
