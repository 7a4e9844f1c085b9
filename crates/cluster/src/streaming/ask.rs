//! Asking a source, again where that may help.

use std::time::Duration;

use internode::Peer;
use runtime::Runtime;
use topology::Epoch;

use super::error::CopyFailed;
use super::message::{CopyAnswer, CopyRequest};
use super::verbs::ask;
use crate::replica::ReplicaError;

/// The longest that a source may be without a connection.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The longest that a source may have too much to do.
const BUSY_MAX: Duration = Duration::from_secs(60);
/// The rest before it is asked again.
const REST: Duration = Duration::from_millis(200);

/// The time of an answer: of an open, which flushes a table, and of everything else.
pub(super) const OPEN_TIME: Duration = Duration::from_secs(600);
pub(super) const PAGE_TIME: Duration = Duration::from_secs(60);

/// Asks, and asks again while there is no answer, or the source has too much to do.
pub(super) async fn ask_patiently(
    runtime: &Runtime,
    peer: &Peer,
    request: &CopyRequest,
    (time, planned): (Duration, Epoch),
) -> Result<CopyAnswer, CopyFailed> {
    let mut since = None;
    loop {
        let error = match ask(runtime, peer, request, (time, planned)).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (patience, failed) = match &error {
            ReplicaError::Gone { .. } => (SILENCE_MAX, CopyFailed::Silent { node: peer.address() }),
            ReplicaError::Overloaded { .. } | ReplicaError::Lags { .. } => (BUSY_MAX, CopyFailed::Refused(error)),
            ReplicaError::Stale { .. } => return Err(CopyFailed::Changed),
            _ => return Err(CopyFailed::Refused(error)),
        };
        let now = runtime.now();
        if now - *since.get_or_insert(now) >= patience {
            return Err(failed);
        }
        stdx::sometimes!("a source is asked again");
        runtime.sleep(REST).await;
    }
}
