//! Mutations come back as they were written, and no bytes from outside panic.

use proptest::prelude::*;
use schema::ColumnId;

use super::*;
use crate::clustering::ClusteringBound;
use crate::encoder::MutationEncoder;
use crate::life::Expiry;

const TABLE: TableId = TableId([3; 16]);

fn example() -> Vec<u8> {
    let mut out = vec![0xee; 3];
    let mut mutation = MutationEncoder::begin(&mut out, TABLE, Token(-9), b"key");
    mutation.partition_deletion(Deletion { timestamp: 1, local_deletion_time: 2 });
    mutation.static_row().cell(ColumnId(9), 10, None, b"s");
    let expiry = Some(Expiry { ttl: 60, local_deletion_time: 160 });
    mutation.row([&b"c1"[..], b""]).liveness(10, expiry).cell(ColumnId(3), 10, expiry, b"v").tombstone(
        ColumnId(4),
        10,
        100,
    );
    mutation.range_tombstone(
        ClusteringBound { prefix: &[b"a"], inclusive: true },
        ClusteringBound { prefix: &[], inclusive: true },
        Deletion { timestamp: 5, local_deletion_time: 6 },
    );
    let length = mutation.finish();
    assert_eq!(length, out.len() - 3);
    out.split_off(3)
}

#[test]
fn what_is_encoded_comes_back() {
    let bytes = example();
    let mutation = MutationRef::decode(&bytes).expect("it decodes");
    assert_eq!((mutation.table(), mutation.token(), mutation.key()), (TABLE, Token(-9), &b"key"[..]));
    assert_eq!(mutation.partition_deletion(), Some(Deletion { timestamp: 1, local_deletion_time: 2 }));
    assert_eq!(mutation.item_count(), 3);
    let items: Vec<Item<'_>> = mutation.items().collect();
    let [Item::StaticRow(of_partition), Item::Row(clustering, row), Item::RangeTombstone(range)] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(of_partition.cells().map(|cell| cell.value).collect::<Vec<_>>(), [b"s"]);
    assert_eq!(clustering.components().collect::<Vec<_>>(), [&b"c1"[..], b""]);
    let cells: Vec<_> = row.cells().collect();
    assert_eq!((cells[0].column, cells[0].value, cells[0].expiry.map(|e| e.ttl)), (ColumnId(3), &b"v"[..], Some(60)));
    assert_eq!((cells[1].column, cells[1].tombstone), (ColumnId(4), Some(100)));
    assert_eq!(range.start.prefix.components().collect::<Vec<_>>(), [b"a"]);
    assert!(range.end.prefix.is_empty() && range.end.inclusive);
}

#[test]
fn a_row_that_says_nothing_is_not_written() {
    let mut out = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut out, TABLE, Token(1), b"key");
    mutation.static_row();
    mutation.row([&b"a"[..]]);
    mutation.row([&b"b"[..]]).cell(ColumnId(3), 10, None, b"v");
    mutation.row([&b"c"[..]]);
    mutation.finish();
    let decoded = MutationRef::decode(&out).expect("it decodes");
    let items: Vec<Item<'_>> = decoded.items().collect();
    let [Item::Row(clustering, _)] = &items[..] else { panic!("{items:?}") };
    assert_eq!(clustering.components().collect::<Vec<_>>(), [b"b"]);

    let mut out = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut out, TABLE, Token(1), b"key");
    mutation.row([&b"a"[..]]);
    mutation.finish();
    let decoded = MutationRef::decode(&out).expect("it decodes");
    assert!(decoded.is_empty() && decoded.item_count() == 0);
}

#[test]
fn every_cut_is_refused() {
    let bytes = example();
    let whole_items = (0..bytes.len()).filter(|&length| MutationRef::decode(&bytes[..length]).is_ok()).count();
    // Between items a mutation may end: after the deletion and after the first two items.
    assert_eq!(whole_items, 3);
}

#[test]
fn a_newer_version_is_named() {
    let mut bytes = example();
    bytes[0] = 3;
    assert_eq!(MutationRef::decode(&bytes).err(), Some(DecodeError::NewerVersion { found: 3, known: 2 }));
}

#[test]
fn only_elements_need_the_newer_version() {
    let encoded = |path: &[u8]| {
        let mut bytes = Vec::new();
        let mut mutation = MutationEncoder::begin(&mut bytes, TableId([7; 16]), Token(3), b"key");
        let mut row = mutation.row([]);
        match path {
            [] => row.cell(ColumnId(1), 5, None, b"v"),
            path => row.tombstone(ColumnId(1), 4, 90).element(ColumnId(1), path, 5, None, b"v"),
        };
        mutation.finish();
        bytes
    };
    assert_eq!((encoded(b"")[0], encoded(b"p")[0]), (1, 2));
    let bytes = encoded(b"p");
    let Some(Item::Row(clustering, row)) = MutationRef::decode(&bytes).unwrap().items().next() else {
        panic!("there is a row")
    };
    let mut copied = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut copied, TableId([7; 16]), Token(3), b"key");
    mutation.row_blob(clustering, row);
    mutation.finish();
    assert_eq!(copied, bytes);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_do_not_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = example();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(mutation) = MutationRef::decode(&bytes) {
            prop_assert_eq!(mutation.items().count(), mutation.item_count());
            for item in mutation.items() {
                if let Item::Row(clustering, row) = item {
                    prop_assert_eq!(clustering.components().count(), clustering.len());
                    prop_assert!(row.cells().count() <= bytes.len());
                }
            }
        }
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = MutationRef::decode(&bytes);
        let _ = MutationRef::decode(&[&[1, 0][..], &bytes].concat());
    }
}
