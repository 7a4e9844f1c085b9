//! Messages between nodes: frames over TCP, the handshake, and one registry of verbs.
//!
//! A shard dials each other node once and makes its requests on that connection; the node that was dialled answers. A request is a verb
//! and a body, an answer is a kind and a body. The owner of a verb registers its handler; this crate knows frames and connections, and
//! neither tables nor mutations. See `docs/internals/messaging.md`.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod accept;
mod clock;
mod connection;
mod control;
mod frame;
mod greeting;
mod handshake;
mod identity;
mod incoming;
mod local_node;
mod memory;
mod news;
mod outbox;
mod peer;
mod peers;
mod places;
mod purpose;
mod recent_times;
mod request;
mod responsiveness;
mod secret;
mod send_queue;
mod steps;
mod stream;
mod suspicion;
mod verbs;

pub use accept::{Answering, Judge, Listening, listen_for_peers};
pub use connection::{PeerSocket, Reply};
pub use control::{Control, GROUP, HEARTBEAT, ask, control_verbs, register_asked};
pub use frame::{Body, FRAME_BODY_MAX, Frame, FrameError, FrameReader, Head, write_frame};
pub use handshake::{GreetingError, Hello, VERSION, VERSION_MIN, Verdict, Welcome};
pub use identity::{ANY_NODE, Boot, GroupTag};
pub use incoming::Incoming;
pub use local_node::{Compression, LocalNode};
pub use news::{News, Watch};
pub use peer::{Answer, CallError, Peer, PeerParts};
pub use peers::{Other, Peers};
pub use purpose::Purpose;
pub use recent_times::RecentTimes;
pub use request::Request;
pub use secret::{PROOF_BYTES, Secret, ShortSecret};
pub use verbs::{CANCEL, Caller, Malformed, PING, PONG, Verbs};

#[cfg(test)]
mod tests;
