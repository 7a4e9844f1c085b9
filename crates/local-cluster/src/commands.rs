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

/// Stops all nodes that run: all get SIGTERM, then the end of each is awaited. One that cannot be stopped does not keep the others from it.
pub(crate) fn stop(folder: &Folder) -> Result<String, LocalClusterError> {
    let (_lock, layout) = folder.lock_existing()?;
    let (mut running, mut errors) = (Vec::new(), Vec::new());
    for number in layout.numbers() {
        match Process::find(folder, number) {
            Ok(found) => running.extend(found.map(|process| (number, process))),
            Err(error) => errors.push(error),
        }
    }
    // A paused process does not see the signal before.
    running.retain(|(_, process)| {
        let sent = process.send(Signal::Terminate).and_then(|()| process.send(Signal::Continue));
        sent.map_err(|error| errors.push(error)).is_ok()
    });
    running.retain(|(number, process)| {
        let hint = format!("; `helenus cluster kill {number}{}` ends it", folder.option());
        process.wait(END_TIME_MAX, &hint).map_err(|error| errors.push(error)).is_ok()
    });
    let stopped = match running.len() {
        0 if errors.is_empty() => "no node was up".to_owned(),
        0 => "no node has stopped".to_owned(),
        1 => "1 node has stopped".to_owned(),
        count => format!("{count} nodes have stopped"),
    };
    match errors.is_empty() {
        true => Ok(stopped + "\n"),
        false => Err(LocalClusterError::NotStopped { stopped, errors }),
    }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process;

    use super::*;
    use crate::arguments::StartArguments;
    use crate::process::tests::write_pid_file;

    #[test]
    fn one_bad_pid_file_does_not_keep_the_other_nodes_from_stopping() {
        let path = std::env::temp_dir().join(format!("helenus-commands-{}", process::id()));
        let folder = Folder::at(&path).expect("a path");
        let lock = folder.create().expect("the temporary folder can be written");
        folder.keep(&Layout::new(&StartArguments::default()).expect("defaults fit"), &lock).expect("it can be written");
        drop(lock);
        for number in 1..=3 {
            drop(folder.open_log(number).expect("the folder is ours"));
        }
        folder.write(&folder.pid_file(1), b"nonsense").expect("the folder is ours");
        let mut nodes = [2, 3].map(|number| {
            let mut command = process::Command::new("cat");
            let child = command.current_dir(folder.node(number)).stdin(process::Stdio::piped()).spawn();
            let child = child.expect("cat is there");
            write_pid_file(&folder, number, child.id());
            child
        });
        let said = stop(&folder).expect_err("of node 1 it is not known").to_string();
        for node in &mut nodes {
            assert_eq!(node.wait().expect("it is a child of ours").signal(), Some(libc::SIGTERM));
        }
        assert!(said.starts_with("2 nodes have stopped; 1 was not stopped: ") && said.contains("node1/pid"), "{said}");
        fs::remove_file(folder.pid_file(1)).expect("it is ours");
        assert_eq!(stop(&folder).expect("all is right"), "no node was up\n");
        fs::remove_dir_all(path).expect("it is ours");
    }
}
