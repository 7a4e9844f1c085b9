//! `remove`: a node leaves the ring for good. It asks for that itself if it runs; else another node does.
//!
//! The description is changed last: where the command is interrupted, the next one finds the node gone from the ring, and changes the description alone.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::api::Api;
use crate::arguments::RemoveArguments;
use crate::commands::{END_TIME_MAX, check};
use crate::error::LocalClusterError;
use crate::folder::Folder;
use crate::layout::Layout;
use crate::process::{PAUSE, Process};
use crate::start::paused;

/// The longest until the others notice that a node's process has ended, and have another leader if it was theirs.
const NOTICE_TIME_MAX: Duration = Duration::from_secs(15);
/// In the refusals of a node until then.
const NOT_NOTICED: [&str; 2] = ["is alive and owns this ID", "metadata group does not answer"];

/// Removes a node from the ring.
pub(crate) fn remove(folder: &Folder, arguments: &RemoveArguments) -> Result<String, LocalClusterError> {
    let RemoveArguments { number, force } = *arguments;
    let (lock, layout) = folder.lock_existing()?;
    check(folder, &layout, number)?;
    match Process::find(folder, number)? {
        Some(process) if process.is_paused() => return Err(paused(folder, number)),
        Some(process) => decommission(folder, &layout, &process, arguments)?,
        None => remove_by_another(folder, &layout, number, force)?,
    }
    folder.keep(&layout.without(number), &lock)?;
    Ok(format!("node {number} has left the ring; its data stays in {}\n", folder.node(number).display()))
}

fn decommission(
    folder: &Folder,
    layout: &Layout,
    process: &Process,
    arguments: &RemoveArguments,
) -> Result<(), LocalClusterError> {
    let RemoveArguments { number, force } = *arguments;
    let path = format!("/storage_service/decommission?force={force}");
    let left = Api::new().leave(layout.api(number), &path);
    left.map_err(|reason| LocalClusterError::Stays { number, reason })?;
    let hint = format!("; `helenus cluster kill {number}{}` ends it", folder.option());
    process.wait(END_TIME_MAX, &hint)
}

/// Asks the first node that runs.
fn remove_by_another(folder: &Folder, layout: &Layout, number: u8, force: bool) -> Result<(), LocalClusterError> {
    let mut others = layout.numbers().filter(|other| *other != number);
    let runs = |other: &u8| Ok(Process::find(folder, *other)?.is_some_and(|process| !process.is_paused()));
    let asked = others.find_map(|other| runs(&other).map(|runs| runs.then_some(other)).transpose()).transpose()?;
    let Some(asked) = asked else {
        let hint = format!("; start another node first: `helenus cluster start{}`", folder.option());
        return Err(LocalClusterError::State { number, state: "down, and so are all others", hint });
    };
    let (api, node) = (Api::new(), layout.api(asked));
    let host_id = api.host_id(node, IpAddr::V4(layout.address(number)));
    let host_id = host_id.map_err(|reason| LocalClusterError::Api { number: asked, reason })?;
    // None: an earlier command was interrupted when it was gone.
    let Some(host_id) = host_id else { return Ok(()) };
    let path = format!("/storage_service/remove_node?host_id={host_id}&force={force}");
    let deadline = Instant::now() + NOTICE_TIME_MAX;
    loop {
        match api.leave(node, &path) {
            Ok(()) => return Ok(()),
            Err(reason) if NOT_NOTICED.iter().any(|words| reason.contains(words)) && Instant::now() < deadline => {
                std::thread::sleep(PAUSE);
            }
            Err(reason) => return Err(LocalClusterError::Stays { number, reason }),
        }
    }
}
