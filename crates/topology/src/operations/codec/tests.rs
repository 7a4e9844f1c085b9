//! The bytes of changes: as documented, there and back, and hostile ones.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::tests_of_changes::{any_change, joining, replication};
use super::*;

#[test]
fn the_bytes_of_changes_are_as_documented() {
    let join = Operation { is_without_copy: true, has_given_tokens: true, ..joining(1, &[(3, &[-1, 5])]) };
    let alter = Operation { lost: [HostId([7; 16])].into(), is_forced: true, ..replication(2, "ks") };
    let changes = [
        OperationChange::Queue(Rc::new(join)),
        OperationChange::Queue(Rc::new(alter)),
        OperationChange::Advance(OperationId(1), Phase::WriteBoth),
        OperationChange::Finish(OperationId(200), [HostId([1; 16]), HostId([2; 16])].into()),
        OperationChange::Cleaned(HostId([1; 16]), EndNumber(5)),
        OperationChange::RestoreNext(OperationId(3)),
        OperationChange::Copied(OperationId(2), HostId([9; 16])),
        OperationChange::Gained(OperationId(2), [HostId([8; 16])].into()),
        OperationChange::RestoreEnded(EndNumber(300)),
        OperationChange::GiveUp(OperationId(2), HostId([8; 16])),
    ];
    let strategy = |factor: &[u8]| {
        let class = b"\x2borg.apache.cassandra.locator.SimpleStrategy";
        [class, &b"\x01\x12replication_factor\x01"[..], factor].concat()
    };
    let bytes = [
        &[1, 10][..],
        &[1, 1, 1, 1, 1 | 4, 0, 0, 1, 1],
        &[3; 16],
        &[2],
        &[0xff; 8],
        &[0, 0, 0, 0, 0, 0, 0, 5],
        &[1, 2, 8, 1, 2, 1],
        &[7; 16],
        &[0, 2],
        b"\x02ks",
        &strategy(b"1"),
        &strategy(b"3"),
        &[3, 1, 3],
        &[4, 0x80, 200, 2],
        &[1; 16],
        &[2; 16],
        &[6],
        &[1; 16],
        &[5],
        &[8, 3],
        &[10, 2],
        &[9; 16],
        &[11, 2, 1],
        &[8; 16],
        &[12, 0x81, 44],
        &[13, 2],
        &[8; 16],
    ]
    .concat();
    assert_eq!(encode(&changes), bytes);
    assert_eq!(decode(&bytes).unwrap(), changes);
}

#[test]
fn bytes_that_cannot_be_are_refused_in_words() {
    let problem = |bytes: &[u8]| decode(bytes).expect_err("it is refused").to_string();
    assert_eq!(decode(&[2, 0]), Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
    assert_eq!(problem(&[0, 0]), "a change of the operations is damaged: format version 0");
    assert_eq!(problem(&[1, 0, 7]), "a change of the operations is damaged: 1 bytes follow the last change");
    assert_eq!(problem(&[1, 1, 99, 0]), "a change of the operations is damaged: changes of kind 99 are unknown");
    assert_eq!(problem(&[1, 1, 3, 1, 9]), "a change of the operations is damaged: phase 9 of an operation is unknown");
    assert_eq!(problem(&[1, 1, 3, 0, 3]), "a change of the operations is damaged: no operation has that number");
    assert_eq!(problem(&[1, 1, 2, 1, 9]), "a change of the operations is damaged: targets of form 9 are unknown");
    assert_eq!(problem(&[1, 90, 6, 0]), "a change of the operations is damaged: 90 changes in 2 bytes");
    let falling = [&[1, 1, 4, 1, 2][..], &[2; 16], &[1; 16]].concat();
    assert_eq!(problem(&falling), "a change of the operations is damaged: nodes do not ascend");
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
            let _ = super::super::Operations::default().apply(changes);
        }
    }
}
