//! Asking a source, again where that may help.

use std::time::Duration;

use internode::Peer;
use runtime::{Instant, Runtime};
use topology::Epoch;

use super::error::CopyFailed;
use super::message::{CopyAnswer, CopyRequest};
use super::verbs::ask;
use crate::replica::ReplicaError;

/// The longest that a source may be without a connection.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The longest that a source may lag, or have too much to do.
pub(super) const BUSY_MAX: Duration = Duration::from_secs(60);
/// The rest before it is asked again, and the longest one.
const REST_MIN: Duration = Duration::from_millis(200);
const REST_MAX: Duration = Duration::from_secs(2);

/// The time of an answer: of an open, which flushes a table, and of everything else.
pub(super) const OPEN_TIME: Duration = Duration::from_secs(600);
pub(super) const PAGE_TIME: Duration = Duration::from_secs(60);

/// Asks, and asks again while there is no answer, or the source has too much to do: for `busy_max`.
pub(super) async fn ask_patiently(
    runtime: &Runtime,
    peer: &Peer,
    request: &CopyRequest,
    (time, busy_max, planned): (Duration, Duration, Epoch),
) -> Result<CopyAnswer, CopyFailed> {
    // Since when it gives no answer, lags, or has too much to do: one after the other is no sign that it stays so.
    let mut since: Option<(std::mem::Discriminant<ReplicaError>, Instant)> = None;
    let mut rest = REST_MIN;
    loop {
        let error = match ask(runtime, peer, request, (time, planned)).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let (patience, failed) = match &error {
            ReplicaError::Gone { .. } => (SILENCE_MAX, CopyFailed::Silent { node: peer.address() }),
            ReplicaError::Overloaded { .. } => (busy_max, CopyFailed::Refused(error.clone())),
            ReplicaError::Lags { .. } => (BUSY_MAX, CopyFailed::Refused(error.clone())),
            ReplicaError::Stale { .. } => return Err(CopyFailed::Changed),
            _ => return Err(CopyFailed::Refused(error)),
        };
        let (kind, now) = (std::mem::discriminant(&error), runtime.now());
        let began = match since {
            Some((known, began)) if known == kind => began,
            _ => {
                rest = REST_MIN;
                now
            }
        };
        since = Some((kind, began));
        if now - began >= patience {
            return Err(failed);
        }
        stdx::sometimes!("a source is asked again");
        runtime.sleep(rest).await;
        rest = (rest * 2).min(REST_MAX);
    }
}
