//! The laws of a copy's messages, and how ranges are cut.

use internode::Reply;
use mutation::{Deletion, MutationEncoder, MutationRef};
use proptest::prelude::*;
use schema::{ColumnId, TableId};
use topology::{Epoch, Sharder, Token, TokenRange, token_of};

use super::codec::{decode_answer, decode_request, encode_request, kind, verb};
use super::job::{are_cuts_of, units_of};
use super::message::{CUTS_MAX, CopyAnswer, CopyNumber, CopyRequest, Open, Owner, Page, PageOf, RANGES_MAX, Sum};
use crate::replica::{FAILED, ReplicaError, decode_failure};

const TABLE: TableId = TableId([7; 16]);

fn mutation(key: &[u8], rows: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut bytes, TABLE, token_of(key), key);
    for row in 0..rows {
        let clustering = [row as u8];
        encoder.row([&clustering[..]]).cell(ColumnId(2), 1, None, b"value");
    }
    encoder.finish();
    bytes
}

fn range() -> impl Strategy<Value = TokenRange> {
    (any::<i64>(), any::<i64>()).prop_filter_map("a range has tokens", |(one, other)| {
        let (after, end) = (Token(one.min(other)), Token(one.max(other)));
        (after < end).then_some(TokenRange { after, end })
    })
}

fn request() -> impl Strategy<Value = CopyRequest> {
    let owner = (1..=u16::MAX, any::<u16>(), 0..64u8).prop_map(|(shards, shard, ignore_msb)| Owner {
        shard: shard % shards,
        sharder: Sharder { shards, ignore_msb },
    });
    let open =
        (any::<u64>(), any::<[u8; 16]>(), any::<u16>(), any::<u16>(), owner, prop::collection::vec(range(), 0..5));
    prop_oneof![
        open.prop_map(|(copy, table, shard, shards, receiver, ranges)| {
            let (copy, table) = (CopyNumber(copy), TableId(table));
            CopyRequest::Open(Box::new(Open { copy, table, shard, shards, receiver, ranges }))
        }),
        (any::<u64>(), any::<u16>(), range(), any::<u32>()).prop_map(|(copy, shard, unit, page)| {
            CopyRequest::Page(PageOf { copy: CopyNumber(copy), shard, unit, page })
        }),
        (any::<u64>(), any::<u16>()).prop_map(|(copy, shard)| CopyRequest::Keep { copy: CopyNumber(copy), shard }),
        (any::<u64>(), any::<u16>()).prop_map(|(copy, shard)| CopyRequest::Close { copy: CopyNumber(copy), shard }),
    ]
}

fn answer() -> impl Strategy<Value = CopyAnswer> {
    let cuts = prop::collection::vec(prop::collection::vec(any::<i64>().prop_map(Token), 0..4), 0..4);
    let mutations = prop::collection::vec((prop::collection::vec(any::<u8>(), 1..9), 0..3usize), 0..4);
    let end = prop::option::of((any::<u64>(), any::<[u8; 16]>()).prop_map(|(rows, hash)| Sum { rows, hash }));
    prop_oneof![
        cuts.prop_map(CopyAnswer::Opened),
        (mutations, end).prop_map(|(parts, end)| {
            let mutations = parts.into_iter().map(|(key, rows)| mutation(&key, rows)).collect();
            CopyAnswer::Page(Page { mutations, end })
        }),
        Just(CopyAnswer::Kept),
        Just(CopyAnswer::Closed),
        Just(CopyAnswer::Restart),
        Just(CopyAnswer::NotOpen),
    ]
}

fn bytes_of(request: &CopyRequest) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_request(request, &mut bytes);
    bytes
}

fn bytes_of_answer(answer: &CopyAnswer) -> Vec<u8> {
    let mut bytes = Vec::new();
    answer.encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn a_request_is_what_was_written(request in request()) {
        prop_assert_eq!(decode_request(verb(&request), &bytes_of(&request)), Ok(request));
    }

    #[test]
    fn an_answer_is_what_was_written(answer in answer()) {
        prop_assert_eq!(decode_answer(answer.kind(), &bytes_of_answer(&answer)), Ok(answer));
    }

    #[test]
    fn a_body_that_is_cut_or_longer_is_malformed(request in request(), answer in answer(), at in any::<prop::sample::Index>()) {
        let mut bytes = bytes_of(&request);
        prop_assert!(decode_request(verb(&request), &bytes[..at.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(decode_request(verb(&request), &bytes).is_err());
        let mut bytes = bytes_of_answer(&answer);
        prop_assert!(decode_answer(answer.kind(), &bytes[..at.index(bytes.len())]).is_err());
        bytes.push(0);
        prop_assert!(decode_answer(answer.kind(), &bytes).is_err());
    }

    #[test]
    fn no_bytes_panic(verb in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut of_version = vec![1];
        of_version.extend_from_slice(&bytes);
        for bytes in [&bytes, &of_version] {
            let _ = decode_request(verb, bytes);
            let _ = decode_answer(verb, bytes);
            let _ = decode_failure(bytes.clone());
        }
    }

    #[test]
    fn units_are_the_whole_range_once(range in range(), cuts in prop::collection::btree_set(any::<i64>(), 0..5)) {
        let cuts: Vec<Token> = cuts.into_iter().map(Token).filter(|cut| range.after < *cut && *cut < range.end).collect();
        prop_assert!(are_cuts_of(range, &cuts));
        let units = units_of(range, &cuts);
        prop_assert_eq!(units.len(), cuts.len() + 1);
        prop_assert_eq!(units.first().map(|unit| unit.after), Some(range.after));
        prop_assert_eq!(units.last().map(|unit| unit.end), Some(range.end));
        prop_assert!(units.windows(2).all(|pair| pair[0].end == pair[1].after));
    }
}

#[test]
fn a_refusal_is_that_of_other_requests() {
    let error = ReplicaError::Stale { shard: 3.into(), epoch: Epoch(9) };
    let answer = CopyAnswer::Failed(error.clone());
    assert_eq!(answer.kind(), FAILED);
    assert_eq!(decode_failure(bytes_of_answer(&answer)), Ok(error));
}

#[test]
fn a_later_version_is_refused() {
    let request = CopyRequest::Close { copy: CopyNumber(1), shard: 0 };
    let mut bytes = bytes_of(&request);
    bytes[0] = 2;
    assert!(decode_request(kind::CLOSE, &bytes).is_err());
}

#[test]
fn counts_are_bounded_before_memory_is_taken() {
    let ranges = vec![TokenRange { after: Token(0), end: Token(1) }; RANGES_MAX + 1];
    let receiver = Owner { shard: 0, sharder: Sharder::new(1) };
    let open = Open { copy: CopyNumber(1), table: TABLE, shard: 0, shards: 1, receiver, ranges };
    assert!(decode_request(kind::OPEN, &bytes_of(&CopyRequest::Open(Box::new(open)))).is_err());
    let cuts = vec![vec![Token(0); CUTS_MAX / 2 + 1]; 2];
    assert!(decode_answer(kind::OPENED, &bytes_of_answer(&CopyAnswer::Opened(cuts))).is_err());
    // A count that the body cannot hold.
    assert!(decode_answer(kind::OPENED, &[1, 0xff, 0xff, 0x7f]).is_err());
}

#[test]
fn a_range_that_wraps_is_malformed() {
    let page = |after, end| PageOf { copy: CopyNumber(1), shard: 0, unit: TokenRange { after, end }, page: 0 };
    let decoded = |page| decode_request(kind::PAGE, &bytes_of(&CopyRequest::Page(page)));
    assert!(decoded(page(Token(1), Token(2))).is_ok());
    assert!(decoded(page(Token(2), Token(1))).is_err());
    assert!(decoded(page(Token(2), Token(2))).is_err());
}

#[test]
fn a_receiver_beyond_its_count_is_malformed() {
    for (receiver, is_right) in [(0, true), (1, true), (2, false), (3, false)] {
        let receiver = Owner { shard: receiver, sharder: Sharder::new(2) };
        let open = Open { copy: CopyNumber(1), table: TABLE, shard: 0, shards: 1, receiver, ranges: Vec::new() };
        let decoded = decode_request(kind::OPEN, &bytes_of(&CopyRequest::Open(Box::new(open))));
        assert_eq!(decoded.is_ok(), is_right, "{receiver:?}");
    }
}

#[test]
fn cuts_outside_of_their_range_are_found() {
    let range = TokenRange { after: Token(0), end: Token(10) };
    for wrong in [[0, 5], [5, 10], [5, 5], [6, 5], [5, 11], [-1, 5]] {
        assert!(!are_cuts_of(range, &wrong.map(Token)), "{wrong:?}");
    }
    assert!(are_cuts_of(range, &[1, 9].map(Token)));
}

#[test]
fn a_sum_counts_rows_and_sees_content_and_order() {
    let sum_of = |mutations: &[&Vec<u8>]| {
        let mut sum = Sum::default();
        mutations.iter().for_each(|bytes| sum.add(&MutationRef::decode(bytes).unwrap()));
        sum
    };
    let (one, two) = (mutation(b"a", 2), mutation(b"b", 1));
    assert_eq!(sum_of(&[]), Sum { rows: 0, hash: [0; 16] });
    assert_eq!(sum_of(&[&one, &two]).rows, 3);
    assert_ne!(sum_of(&[&one, &two]).hash, sum_of(&[&two, &one]).hash);
    assert_ne!(sum_of(&[&one]).hash, sum_of(&[&one, &one]).hash);
    let mut deletion = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut deletion, TABLE, token_of(b"a"), b"a");
    encoder.partition_deletion(Deletion { timestamp: 5, local_deletion_time: 6 });
    encoder.finish();
    assert_eq!(sum_of(&[&deletion]).rows, 1, "a deletion of a partition is counted as a row is");
    let own = sum_of(&[&one, &two]);
    assert_eq!(own.compare(sum_of(&[&one, &two])), Ok(()));
    for wrong in [Sum { rows: own.rows + 1, ..own }, Sum { hash: [own.hash[0] ^ 1; 16], ..own }] {
        let problem = own.compare(wrong).unwrap_err();
        assert!(problem.starts_with("rows and hash are"), "{problem}");
    }
}

/// One body of each kind: `name: bytes in hexadecimal`. These bytes do not change while the version does not.
const BODIES: &str = include_str!("../../testdata/copying.txt");

#[test]
fn a_body_of_each_kind_has_the_bytes_that_version_1_gave_it() {
    let unit = TokenRange { after: Token(-5), end: Token(1 << 40) };
    let (copy, shard) = (CopyNumber(0x0102_0304_0506_0708), 3);
    let receiver = Owner { shard: 1, sharder: Sharder { shards: 2, ignore_msb: 12 } };
    let open = Open { copy, table: TABLE, shard, shards: 4, receiver, ranges: vec![unit] };
    let end = Some(Sum { rows: 9, hash: [8; 16] });
    let requests = [
        ("open", CopyRequest::Open(Box::new(open))),
        ("page of a unit", CopyRequest::Page(PageOf { copy, shard, unit, page: 7 })),
        ("keep", CopyRequest::Keep { copy, shard }),
        ("close", CopyRequest::Close { copy, shard }),
    ];
    let answers = [
        ("opened", CopyAnswer::Opened(vec![vec![Token(1), Token(2)], Vec::new()])),
        ("page", CopyAnswer::Page(Page { mutations: vec![mutation(b"k", 1)], end: None })),
        ("last page", CopyAnswer::Page(Page { mutations: Vec::new(), end })),
        ("kept", CopyAnswer::Kept),
        ("closed", CopyAnswer::Closed),
        ("restart", CopyAnswer::Restart),
        ("not open", CopyAnswer::NotOpen),
    ];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut text = String::new();
    for (name, request) in &requests {
        text += &format!("{name}: {} {}\n", verb(request), hex(&bytes_of(request)));
    }
    for (name, answer) in &answers {
        text += &format!("{name}: {} {}\n", answer.kind(), hex(&bytes_of_answer(answer)));
    }
    assert_eq!(text, BODIES);
}
