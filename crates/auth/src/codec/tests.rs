//! The bytes of changes: as documented, there and back, and hostile ones.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::permission::Permission;
use crate::samples::{any_change, grant, login, member, superuser};
use crate::{Access, PasswordHash};

#[test]
fn the_bytes_of_changes_are_as_documented() {
    let hash = PasswordHash::dummy();
    let with_hash = Attributes { hash: Some(hash.clone()), ..Attributes::default() };
    let function = Resource::function("k", "f", &[cql_types::CqlType::Int]);
    let text = |text: &str| [&[u8::try_from(text.len()).expect("it is short")], text.as_bytes()].concat();
    let class = text("org.apache.cassandra.db.marshal.Int32Type");
    let changes = [
        superuser("a"),
        AccessChange::PutRole("b".into(), with_hash),
        AccessChange::PutRole(
            "c".into(),
            Attributes { options: [("x".to_owned(), String::new())].into(), ..Attributes::default() },
        ),
        AccessChange::DropRole("b".into()),
        member("a", "b"),
        AccessChange::RemoveMember { role: "a".into(), member: "b".into() },
        grant("a", Permission::Select, Resource::table("k", "t")),
        AccessChange::Revoke("a".into(), vec![(function, Permission::Execute.into())]),
        AccessChange::PutDatacenters("a".into(), ["d1".to_owned(), "d2".to_owned()].into()),
        AccessChange::PutCidrGroups("a".into(), [].into()),
        AccessChange::PutCidrGroup("g".into(), ["10.0.0.0/8".parse().expect("a range")].into()),
        AccessChange::PutIdentity { identity: "i".into(), role: "a".into() },
        AccessChange::DropIdentity("i".into()),
        AccessChange::BootstrapDone,
    ];
    let bytes = [
        &[1, 14][..],
        b"\x01\x01a\x03\x00",
        b"\x01\x01b\x04",
        &text(hash.as_str()),
        b"\x00",
        b"\x01\x01c\x00\x01\x01x\x00",
        b"\x02\x01b",
        b"\x03\x01a\x01b",
        b"\x04\x01a\x01b",
        b"\x05\x01a\x01\x04\x01k\x01t\x00\x08",
        b"\x06\x01a\x01\x09\x01k\x01f\x01",
        &class,
        b"\x00\x80",
        b"\x07\x01a\x02\x02d1\x02d2",
        b"\x08\x01a\x00",
        b"\x09\x01g\x01\x08\x04\x0a\x00\x00\x00",
        b"\x0a\x01i\x01a",
        b"\x0b\x01i",
        b"\x0c",
    ]
    .concat();
    assert_eq!(encode(&changes), bytes);
    assert_eq!(decode(&bytes), Ok(changes.to_vec()));
}

#[test]
fn bytes_that_cannot_be_are_refused_in_words() {
    let problem = |bytes: &[u8]| {
        let error = decode(bytes).expect_err("it is refused").to_string();
        error.strip_prefix("a change of access is damaged: ").expect(&error).to_owned()
    };
    assert_eq!(decode(&[2, 0]), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    assert_eq!(
        decode(&[2, 0]).expect_err("newer").to_string(),
        "changes of access of format version 2; this Helenus reads up to 1"
    );
    assert_eq!(problem(&[0, 0]), "format version 0");
    assert_eq!(problem(&[1, 0, 7]), "1 bytes follow the last change");
    assert_eq!(problem(&[1, 1, 99]), "changes of kind 99 are unknown");
    assert_eq!(problem(&[1, 90, 6, 0]), "90 changes in 2 bytes");
    assert_eq!(problem(b"\x01\x01\x02\x00"), "a text of 0 bytes; 1 to 255 are possible");
    assert_eq!(problem(b"\x01\x01\x01\x01a\x08\x00"), "flags 8 of a role are unknown");
    assert_eq!(problem(b"\x01\x01\x01\x01a\x04\x01x\x00"), "the hash of a password is none");
    assert_eq!(problem(b"\x01\x01\x05\x01a\x01\x01\x00\x80"), "permissions 0x80 do not apply to <all keyspaces>");
    assert_eq!(problem(b"\x01\x01\x05\x01a\x01\x01\x00\x00"), "permissions 0x0 do not apply to <all keyspaces>");
    assert_eq!(problem(b"\x01\x01\x05\x01a\x01\x0c\x00\x01"), "resources of form 12 are unknown");
    assert_eq!(problem(b"\x01\x01\x05\x01a\x01\x04\x01k\x01*\x00\x08"), "a resource has no name");
    assert_eq!(problem(b"\x01\x01\x05\x01a\x02\x05\x00\x01\x01\x00\x08"), "resources of grants do not ascend");
    assert_eq!(problem(b"\x01\x01\x07\x01a\x02\x01b\x01a"), "names do not ascend");
    assert_eq!(problem(b"\x01\x01\x09\x01g\x01\x08\x05\x0a\x00\x00\x00"), "an address of 5 bytes");
    assert_eq!(problem(b"\x01\x01\x09\x01g\x01\x08\x04\x0a\x01\x00\x00"), "10.1.0.0/8 is no range");
    assert_eq!(problem(b"\x01\x01\x09\x01g\x01\x21\x04\x0a\x01\x00\x00"), "10.1.0.0/33 is no range");
}

#[test]
fn truncated_bytes_are_errors() {
    let changes = [login("role"), grant("role", Permission::Alter, Resource::AllRoles), AccessChange::BootstrapDone];
    let bytes = encode(&changes);
    for end in 0..bytes.len() {
        assert!(decode(&bytes[..end]).is_err(), "{end} of {} bytes", bytes.len());
    }
}

/// The changes' bytes with a few of them replaced, so that more than the version is read.
fn nearly_changes() -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (vec(any_change(), 0..5), edits, any::<prop::sample::Index>()).prop_map(|(changes, edits, end)| {
        let mut bytes = encode(&changes);
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(end.index(2 * bytes.len()));
        bytes
    })
}

proptest! {
    #[test]
    fn changes_come_back(changes in vec(any_change(), 0..8)) {
        prop_assert_eq!(decode(&encode(&changes)), Ok(changes));
    }

    #[test]
    fn no_bytes_panic(bytes in prop_oneof![vec(any::<u8>(), 0..400), nearly_changes()]) {
        if let Ok(changes) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&changes)), Ok(changes.clone()));
            let access = Access::default().with_all(&changes);
            let again = access.as_changes();
            prop_assert_eq!(Access::default().with_all(&again), access);
        }
    }
}
