//! Orders: the outcome of a leader's step, as data.
//!
//! A leader's part cannot reach the outbox, nor change the role of its node: it says what is to be done, and the state machine does it.

use crate::barriers::BarrierId;
use crate::entry::{Index, NodeId};
use crate::message::Message;
use crate::ready::Trouble;

/// The outcome of a leader's step.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// Messages to send, in order.
    pub(crate) messages: Vec<(NodeId, Message)>,
    /// Troubles to report.
    pub(crate) troubles: Vec<Trouble>,
    /// Barriers that are passed.
    pub(crate) passed: Vec<(BarrierId, Index)>,
    /// The node leads no more.
    pub(crate) makes_way: bool,
}

impl Orders {
    /// Sends a message after those before it.
    pub(crate) fn send(&mut self, to: NodeId, message: Message) {
        self.messages.push((to, message));
    }
}
