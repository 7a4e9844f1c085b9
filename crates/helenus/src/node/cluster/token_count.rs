//! Another number of tokens for this node: `num_tokens` of a start, where the node has others.

use std::time::Duration;

use membership::OperationRequest;
use metadata::group::{Answer, Driver};
use query::OPERATION;
use runtime::Runtime;
use topology::HostId;

/// Between two tries.
const AGAIN: Duration = Duration::from_millis(500);

/// Asks for `count` tokens instead of those that the node has, however long that takes. The node has them when their operation is done.
pub(super) async fn ask_for(runtime: &Runtime, driver: &Driver, own: HostId, (tokens, count): (usize, u16)) {
    let request = OperationRequest::TokenCount(own, count.into());
    let intention = [&[OPERATION][..], &request.to_bytes()].concat();
    loop {
        match driver.propose(driver.new_id(), intention.clone()).await {
            Answer::Applied { .. } => {
                tracing::info!(num_tokens = count, tokens, "this node gets another number of tokens by an operation");
                return;
            }
            Answer::Refused { reason, .. } if reason.is_empty() => return,
            Answer::Refused { reason, .. } => {
                let reason = String::from_utf8_lossy(&reason);
                tracing::warn!(num_tokens = count, tokens, %reason, "this node keeps its tokens");
                return;
            }
            answer => tracing::warn!(?answer, "request for another number of tokens not answered; retrying"),
        }
        runtime.sleep(AGAIN).await;
    }
}
