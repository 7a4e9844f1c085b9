//! The proposal of a cluster's first superuser. Of several nodes that propose one, the first wins: the entry says that the bootstrap is done, and no other is planned.
//!
//! ```text
//! u8 16 · u8 version (1) · varint length · name · hash
//! ```

use std::time::Duration;

use auth::{PasswordHash, first_superuser};
use cluster::coordinator::TimeoutKind;
use metadata::{ClusterState, DecodeError, Entry};
use stdx::{Reader, varint};

use super::asked::{Answered, ask};
use crate::domain::AccessDomain;
use crate::engine::Engine;

/// The first byte.
pub(super) const FIRST_SUPERUSER: u8 = 16;
const VERSION: u8 = 1;

/// Time from an answer of no use to the next proposal.
const REST: Duration = Duration::from_millis(500);

/// Has the cluster's first superuser made, on shard 0: true if this call made it, false if one was made before. Waits until the cluster's group answers.
pub async fn propose_first_superuser(engine: &Engine, name: &str, hash: &PasswordHash) -> bool {
    let mut is_told = false;
    loop {
        match ask(engine, to_bytes(name, hash), TimeoutKind::Other).await {
            Answered::Applied { .. } => return true,
            Answered::Refused => return false,
            Answered::Failed(reason) if !is_told => {
                is_told = true;
                tracing::warn!(reason, "first superuser not created yet; retrying");
            }
            Answered::Again | Answered::Failed(_) => {}
        }
        engine.inner.runtime.sleep(REST).await;
    }
}

fn to_bytes(name: &str, hash: &PasswordHash) -> Vec<u8> {
    let mut bytes = vec![FIRST_SUPERUSER, VERSION];
    varint::encode(name.len() as u64, &mut bytes);
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(hash.as_str().as_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Result<(String, PasswordHash), DecodeError> {
    let invalid = |problem: &str| DecodeError::Invalid { problem: problem.to_owned() };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| invalid("a text that is no UTF-8"));
    let mut reader = Reader::new(bytes);
    let kind = reader.u8()?;
    assert_eq!(kind, FIRST_SUPERUSER, "the planner tells intentions apart");
    match reader.u8()? {
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    let name = text(reader.varint_bytes()?)?;
    let hash = PasswordHash::parse(&text(reader.rest())?).map_err(|error| invalid(&error.to_string()))?;
    match name.len() {
        1..=auth::bounds::NAME_BYTES_MAX => Ok((name, hash)),
        _ => Err(invalid("a role's name that is empty or too long")),
    }
}

/// The entry; `None` if a superuser was made before, or the bytes are no proposal.
pub(super) fn plan_first_superuser(state: &ClusterState, intention: &[u8]) -> Option<Entry> {
    let (name, hash) = decode(intention).ok()?;
    let changes = first_superuser(state.of::<AccessDomain>(), &name, hash);
    (!changes.is_empty()).then(|| Entry::of(AccessDomain::part(&changes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proposal_is_read_as_it_was_written_and_other_bytes_are_errors() {
        let hash = PasswordHash::dummy();
        let bytes = to_bytes("admin", &hash);
        assert_eq!(decode(&bytes), Ok(("admin".to_owned(), hash.clone())));
        for length in 1..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "{length} bytes");
        }
        assert!(decode(&[&bytes[..], b"x"].concat()).is_err());
        assert!(decode(&to_bytes("", &hash)).is_err() && decode(&to_bytes(&"x".repeat(256), &hash)).is_err());
        let newer = [&[FIRST_SUPERUSER, 2], &bytes[2..]].concat();
        assert!(matches!(decode(&newer), Err(DecodeError::NewerVersion { version: 2, supported: 1 })));
    }
}
