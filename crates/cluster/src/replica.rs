//! A replica: what this node does with the data that it owns, for its own coordinator, for its other shards and for other nodes.
//!
//! It knows no ring and no plan. The shard that is asked applies and reads at once where it can; what must wait is a task.

mod acceptor;
mod answer;
mod apply;
mod batch_log;
mod codec;
mod digest;
mod error;
mod message;
mod page;
mod paxos_message;
mod peer_message;
mod serve;
mod shards;
mod unsynced;
mod verbs;

pub(crate) use codec::{FAILED, MUTATIONS_MAX, decode_failure, encode_failure, push_mutations, read_mutations};
pub use codec::{decode_answer, decode_request, encode_answer, encode_request};
pub use error::{ReplicaError, ReplicaShard};
pub use message::{PageLimits, ReadRequest, ReplicaReply, ReplicaRequest, WriteTerms};
pub use page::{PageWriter, rebuild_row};
pub use paxos_message::{Accept, Accepted, Prepare, Prepared, Promised};
pub use peer_message::{PeerAnswer, PeerRead, PeerRequest, PeerShard};
pub use unsynced::Unsynced;

pub(crate) use answer::{answer, reach};
pub(crate) use apply::{apply_error, apply_planned, unreadable};
pub(crate) use batch_log::{append_batch, log_batch, synced_batch};
pub(crate) use digest::{Digest, DigestRule, digest_of};
pub(crate) use page::{PageItem, PageReader};
pub(crate) use shards::{ByShard, Shards, add};
pub(crate) use verbs::{
    Compared, ask_about_batches, ask_for_digest, ask_to_accept, ask_to_commit, ask_to_copy, ask_to_count,
    ask_to_prepare, ask_to_read, ask_to_write, ask_to_write_in_bulk, register, tell_batches_done,
};
