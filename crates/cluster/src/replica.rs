//! A replica as other nodes ask it: this crate's verbs, and the bytes of their requests and answers.

mod codec;
mod peer_message;
mod verbs;

pub use codec::{decode_answer, decode_request, encode_answer, encode_request};
pub use peer_message::{PeerAnswer, PeerRead, PeerRequest, PeerShard};

pub(crate) use verbs::{ask, register};
