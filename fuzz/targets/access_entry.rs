//! The part of an entry of the cluster's log that changes roles, permissions and identities: bytes from other nodes, and from this one's disk.

use auth::{Access, AccessChange, bounds, codec, domain};

/// Runs one input.
pub fn run(data: &[u8]) {
    let changes = match codec::decode(data) {
        Ok(changes) => changes,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let bytes = codec::encode(&changes);
    assert_eq!(codec::decode(&bytes).as_ref(), Ok(&changes), "what was written is read");
    // A length may have been written longer than it need be; all else has one form.
    assert!(bytes.len() <= data.len() && (bytes.len() < data.len() || bytes == data));
    let whole = Access::default().with_all(&changes);
    let mut stepwise = Access::default();
    for change in &changes {
        stepwise = stepwise.with(change);
        check(&stepwise, change);
    }
    assert_eq!(stepwise, whole, "changes have one effect, together and one by one");
    // A snapshot makes the same state, and so does a second one.
    match domain::snapshot(&whole) {
        Some(bytes) => {
            let changes = codec::decode(&bytes).expect("a snapshot is read");
            assert_eq!(changes, whole.as_changes());
            let other = Access::default().with_all(&changes);
            assert_eq!(other, whole);
            assert_eq!(domain::snapshot(&other).as_ref(), Some(&bytes));
            assert_eq!(other.bytes(), whole.bytes(), "what is counted does not depend on the way");
        }
        None => assert_eq!(whole, Access::default()),
    }
}

/// Asserts the rules of any state.
fn check(access: &Access, after: &AccessChange) {
    assert!(access.roles().len() <= bounds::ROLES_MAX && access.grants() <= bounds::GRANTS_MAX, "{after:?}");
    assert!(access.identities().len() <= bounds::IDENTITIES_MAX, "{after:?}");
    assert!(access.cidr_groups().len() <= bounds::CIDR_GROUPS_MAX, "{after:?}");
    for (identity, role) in access.identities() {
        assert!(!identity.is_empty() && access.role(role).is_some(), "{after:?}: {identity} is of {role}");
    }
    if let AccessChange::DropRole(role) = after {
        assert!(access.role(role).is_none() && !access.may_log_in(role) && !access.is_superuser(role));
    }
}
