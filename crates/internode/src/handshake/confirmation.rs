//! The greetings after a welcome, where nodes have a secret: the dialler's proof, and the listener's last word.

use stdx::Reader;

use super::envelope::{open, seal};
use super::verdict::{GreetingError, Verdict};
use crate::secret::PROOF_BYTES;

/// One of the last two greetings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confirmation {
    /// Its sender's verdict.
    pub(crate) verdict: Verdict,
    /// The dialler's proof; none of another length is one.
    pub(crate) proof: Option<[u8; PROOF_BYTES]>,
}

impl Confirmation {
    /// A verdict alone.
    pub(crate) fn of(verdict: Verdict) -> Confirmation {
        Confirmation { verdict, proof: None }
    }

    /// The greeting's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = vec![self.verdict as u8];
        self.proof.iter().for_each(|proof| body.extend_from_slice(proof));
        seal(&body)
    }

    /// The confirmation at the front of `bytes` with its length; `None`: more must come.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<(Confirmation, usize)>, GreetingError> {
        let Some((body, length)) = open(bytes)? else { return Ok(None) };
        let mut reader = Reader::new(body);
        let verdict = Verdict::of(reader.u8()?).ok_or(GreetingError::NotAPeer)?;
        Ok(Some((Confirmation { verdict, proof: reader.rest().try_into().ok() }, length)))
    }
}
