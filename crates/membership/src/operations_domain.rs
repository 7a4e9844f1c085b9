//! The operations as a domain of the cluster's state.

use metadata::{DecodeError, Domain, DomainId, Part};
use topology::operations::{self, OperationChange, Operations};

/// The operations that are queued or run. A node's start registers it.
#[derive(Debug)]
pub struct OperationsDomain;

impl OperationsDomain {
    /// The part of an entry that makes these changes, which take effect together.
    pub fn part(changes: &[OperationChange]) -> Part {
        Part { domain: OperationsDomain::ID, version: OperationsDomain::VERSION, bytes: operations::encode(changes) }
    }
}

impl Domain for OperationsDomain {
    const ID: DomainId = DomainId::OPERATIONS;
    const NAME: &'static str = "operations";
    const VERSION: u8 = operations::VERSION;
    type State = Operations;
    type Change = Vec<OperationChange>;

    fn decode(_version: u8, bytes: &[u8]) -> Result<Vec<OperationChange>, DecodeError> {
        operations::decode(bytes).map_err(decode_error)
    }

    fn apply(state: &Operations, changes: Vec<Vec<OperationChange>>) -> Operations {
        state.apply(changes.into_iter().flatten())
    }

    fn snapshot(state: &Operations) -> Option<Vec<u8>> {
        state.snapshot()
    }

    /// An end of an operation gives room back, and so does a word that leftovers are gone.
    fn gives_room_back(changes: &Vec<OperationChange>) -> bool {
        use OperationChange::{Abort, Cleaned, Finish};
        changes.iter().all(|change| matches!(change, Abort(..) | Cleaned(..) | Finish(..)))
    }
}

/// The operations' error in the words of the cluster's state.
pub(crate) fn decode_error(error: operations::DecodeError) -> DecodeError {
    match error {
        operations::DecodeError::NewerVersion { version, supported } => {
            DecodeError::NewerVersion { version, supported }
        }
        error => DecodeError::Invalid { problem: error.to_string() },
    }
}
