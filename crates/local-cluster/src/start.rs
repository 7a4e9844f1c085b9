//! `start`, `add` and `replace`: nodes are started, and waited for until the ring is whole.
//!
//! The ring is whole when each node that runs accepts clients, sees all nodes that run as live, and has the same schema as the others: a node may accept clients before it
//! has heard from the leader of schema changes that it missed.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::api::Api;
use crate::arguments::StartArguments;
use crate::commands::check;
use crate::error::LocalClusterError;
use crate::folder::Folder;
use crate::layout::{Disk, Layout};
use crate::process::{PAUSE, Process};

/// The replay of a large commit log included.
const READY_TIME_MAX: Duration = Duration::from_secs(300);
/// The mode of a node without tokens.
const JOINING: &str = "JOINING";
/// The kernel gives back the ports of a killed process a moment after its end.
const PORT_TIME_MAX: Duration = Duration::from_secs(5);

/// Starts the nodes that are down, in a new cluster all, and waits until the ring is whole.
pub(crate) fn start(folder: &Folder, arguments: &StartArguments) -> Result<String, LocalClusterError> {
    let existing = folder.layout_if_any()?;
    // Flags are checked before a folder is made.
    let new = existing.is_none().then(|| Layout::new(arguments)).transpose()?;
    let lock = folder.create()?;
    let layout = match (folder.layout_if_any()?, new) {
        (Some(mut layout), _) => {
            layout.take(arguments, folder.shown())?;
            layout
        }
        (None, Some(layout)) => layout,
        (None, None) => return Err(LocalClusterError::NoCluster { dir: folder.shown().to_owned() }),
    };
    let mut down = Vec::new();
    for number in layout.numbers() {
        match Process::find(folder, number)? {
            None => down.push(number),
            Some(process) if process.is_paused() => return Err(paused(folder, number)),
            Some(_) => {}
        }
    }
    for number in &down {
        wait_for_ports(folder, &layout, *number)?;
    }
    // Only now: a new cluster whose ports are not free may be started again with others.
    folder.keep(&layout, &lock)?;
    let mut started = Vec::new();
    for number in down {
        started.push((number, launch(folder, &layout, number, Disk::Own)?));
    }
    wait_until_whole(folder, &layout, &mut started)?;
    Ok(welcome(folder, &layout))
}

/// Starts one more node, which joins the ring and copies the ranges that it gains.
pub(crate) fn add(folder: &Folder) -> Result<String, LocalClusterError> {
    let (lock, mut layout) = folder.lock_existing()?;
    for number in layout.numbers() {
        if Process::find(folder, number)?.is_some_and(|process| process.is_paused()) {
            return Err(paused(folder, number));
        }
    }
    refuse_without_others(folder, &layout)?;
    let number = layout.add()?;
    wait_for_ports(folder, &layout, number)?;
    // It is known before it runs: a later command finds it whatever happens meanwhile.
    folder.keep(&layout, &lock)?;
    let joined = launch(folder, &layout, number, Disk::Own).and_then(|child| {
        let mut started = [(number, child)];
        wait_until_whole(folder, &layout, &mut started)
    });
    if let Err(LocalClusterError::Spawn { .. } | LocalClusterError::Ended { .. }) = &joined {
        // A later start would fail by it, too. The next node that is added takes its number and its folder.
        folder.keep(&layout.without_last(), &lock)?;
    }
    joined?;
    Ok(format!("node {number} has joined the ring: {}\n", layout.address(number)))
}

/// Starts a node that is down on an empty disk, in its own place. What it had is put aside.
pub(crate) fn replace(folder: &Folder, number: u8) -> Result<String, LocalClusterError> {
    let (_lock, layout) = folder.lock_existing()?;
    check(folder, &layout, number)?;
    if Process::find(folder, number)?.is_some() {
        let hint = format!("; `helenus cluster kill {number}{}` ends it", folder.option());
        return Err(LocalClusterError::State { number, state: "up", hint });
    }
    refuse_without_others(folder, &layout)?;
    wait_for_ports(folder, &layout, number)?;
    let aside = folder.put_data_aside(number)?;
    // An earlier command may have been interrupted: then the node has begun on this disk.
    let mut started = [(number, launch(folder, &layout, number, Disk::Empty)?)];
    wait_until_whole(folder, &layout, &mut started)?;
    let had = aside.map_or_else(String::new, |aside| format!("; its earlier data stays in {}", aside.display()));
    Ok(format!("node {number} has been replaced{had}\n"))
}

/// Fails if no node runs: one that is added would wait for the others.
fn refuse_without_others(folder: &Folder, layout: &Layout) -> Result<(), LocalClusterError> {
    for number in layout.numbers() {
        if Process::find(folder, number)?.is_some() {
            return Ok(());
        }
    }
    let hint = format!("; start the cluster first: `helenus cluster start{}`", folder.option());
    Err(LocalClusterError::State { number: layout.first(), state: "down", hint })
}

/// Waits for the ports that were the node's own a moment ago. Fails if another process listens on one.
fn wait_for_ports(folder: &Folder, layout: &Layout, number: u8) -> Result<(), LocalClusterError> {
    let patience = if folder.pid_file(number).exists() { PORT_TIME_MAX } else { Duration::ZERO };
    let deadline = Instant::now() + patience;
    for (flag, port) in layout.ports() {
        let address = SocketAddr::from((layout.address(number), port));
        while let Err(source) = TcpListener::bind(address) {
            if Instant::now() >= deadline {
                return Err(LocalClusterError::PortInUse { number, address, flag, source });
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// Starts a node's process.
fn launch(folder: &Folder, layout: &Layout, number: u8, disk: Disk) -> Result<Child, LocalClusterError> {
    let binary = std::env::current_exe();
    let binary =
        binary.map_err(|source| LocalClusterError::Spawn { number, binary: PathBuf::from("helenus"), source })?;
    Process::spawn(folder, layout, number, disk, &binary)
}

/// Waits until the ring of all nodes that run is whole. Fails as soon as one of those that were started ends.
fn wait_until_whole(folder: &Folder, layout: &Layout, started: &mut [(u8, Child)]) -> Result<(), LocalClusterError> {
    let api = Api::new();
    let mut deadline = Instant::now() + READY_TIME_MAX;
    loop {
        for (number, child) in started.iter_mut() {
            if matches!(child.try_wait(), Ok(Some(_))) {
                let (reason, log) = (folder.last_line(*number), folder.log(*number));
                return Err(LocalClusterError::Ended { number: *number, reason, log });
            }
        }
        let numbers: Vec<u8> = started.iter().map(|(number, _)| *number).collect();
        let Some((number, reason)) = not_whole(folder, layout, &numbers, &api)? else { return Ok(()) };
        if reason.contains(JOINING) {
            // Its ranges are copied, however long that takes.
            deadline = Instant::now() + READY_TIME_MAX;
        }
        if Instant::now() >= deadline {
            let (seconds, log) = (READY_TIME_MAX.as_secs(), folder.log(number));
            return Err(LocalClusterError::NotReady { number, seconds, reason, log });
        }
        std::thread::sleep(PAUSE);
    }
}

/// The first node that is not as it is in a whole ring, and why. Those that were `started` count as running: one that has ended does not answer.
fn not_whole(
    folder: &Folder,
    layout: &Layout,
    started: &[u8],
    api: &Api,
) -> Result<Option<(u8, String)>, LocalClusterError> {
    let mut running = Vec::new();
    for number in layout.numbers() {
        match Process::find(folder, number)? {
            Some(process) if process.is_paused() => return Err(paused(folder, number)),
            found if found.is_some() || started.contains(&number) => running.push(number),
            _ => {}
        }
    }
    let addresses: BTreeSet<IpAddr> = running.iter().map(|number| IpAddr::V4(layout.address(*number))).collect();
    let mut schema: Option<(u8, String)> = None;
    for &number in &running {
        let node = layout.api(number);
        let (mode, view, version) = match (api.mode(node), api.view(node), api.schema_version(node)) {
            (Ok(mode), Ok(view), Ok(version)) => (mode, view, version),
            (Err(reason), _, _) | (_, Err(reason), _) | (_, _, Err(reason)) => return Ok(Some((number, reason))),
        };
        if mode != "NORMAL" {
            return Ok(Some((number, format!("its mode is {mode}"))));
        }
        if let Some(missing) = addresses.difference(&view.live).next() {
            return Ok(Some((number, format!("it does not see {missing} as live"))));
        }
        match &schema {
            Some((other, of_other)) if *of_other != version => {
                return Ok(Some((number, format!("its schema is not that of node {other}"))));
            }
            _ => schema = Some((number, version)),
        }
        match api.group(node) {
            Ok(group) if group.is_settled(running.len()) => {}
            Ok(_) => return Ok(Some((number, "its metadata group has not all of its voters yet".to_owned()))),
            Err(reason) => return Ok(Some((number, reason))),
        }
    }
    Ok(None)
}

pub(crate) fn paused(folder: &Folder, number: u8) -> LocalClusterError {
    let hint = format!("; resume it first: `helenus cluster resume {number}{}`", folder.option());
    LocalClusterError::State { number, state: "paused", hint }
}

/// The ways to use the cluster.
fn welcome(folder: &Folder, layout: &Layout) -> String {
    let (first, api, option) = (layout.native(layout.first()), layout.api(layout.first()), folder.option());
    let addresses: Vec<String> = layout.numbers().map(|number| layout.address(number).to_string()).collect();
    let count = match layout.count() {
        1 => "1 node is up".to_owned(),
        count => format!("{count} nodes are up"),
    };
    format!(
        "{count}: CQL on port {} of {}\n\n  cqlsh {} {}\n  helenus nodetool -h {} -p {} status\n  helenus cluster status{option}\n  helenus cluster stop{option}\n",
        first.port(),
        addresses.join(", "),
        first.ip(),
        first.port(),
        api.ip(),
        api.port(),
    )
}
