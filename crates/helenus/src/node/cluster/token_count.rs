//! Another number of tokens for this node: `num_tokens` of a start, where the node has others.

use membership::OperationRequest;
use metadata::group::Answer;
use query::OPERATION;
use topology::nodes::NodeState;

use super::{AGAIN, Inner};

/// Asks for as many tokens as this start is to have, however long that takes. The node has them when their operation is done.
pub(super) async fn ask_for_token_count(inner: &Inner) {
    let Some(count) = inner.config.token_count else { return };
    let own = inner.local.host_id();
    let has = inner.registry.borrow().node(own).map(|node| (node.state, node.tokens.len()));
    let Some((NodeState::Normal, tokens)) = has else { return };
    if tokens == usize::from(count) {
        return;
    }
    let driver = inner.driver.get().expect("the engine runs");
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
        inner.runtime.sleep(AGAIN).await;
    }
}
