//! The commit log's segments and the metadata log's records, which a restart reads from a disk that may hold anything.

// No other crate uses the format, so its module is private to `storage`; it needs the heads of batches alone, and is compiled here by its path.
#[path = "../../crates/storage/src/commitlog/format.rs"]
mod format;

use format::{
    BLOCK, GroupHead, RECORD_HEAD, RecordKind, SegmentHead, batch_head_bytes, kind_of, mutations, records, salted_crc,
};
use membership::Request;
use metadata::group::{GroupRecord, Proposal};
use metadata::{DomainId, Record};
use mutation::MutationRef;
use planted::Planted;
use raft::Payload;
use schema::truncations::{self, TableTruncations};
use topology::{Registry, nodes};

const SALT: u64 = 77;

/// Bytes as a segment: its head, then a group at each block.
fn read_segment(bytes: &[u8]) {
    let (salt, segment) = SegmentHead::decode(bytes).map_or((SALT, 0), |head| {
        assert_eq!(SegmentHead::decode(&head.encode()), Ok(head));
        (head.salt, head.segment)
    });
    for block in bytes.chunks(BLOCK) {
        if let Some(head) = GroupHead::decode(block, salt, segment, Planted::NONE) {
            assert!(head.length() >= BLOCK as u64);
        }
    }
    records(salt, 0, bytes, Planted::NONE).count();
}

fn read_record(record: &[u8]) {
    if let RecordKind::BatchDone { .. } = kind_of(record) {
        assert!(mutations(record).all(|mutation| mutation.is_none()), "a note has no mutations");
    }
    if let RecordKind::LoggedBatch(Some(head)) = kind_of(record) {
        assert!(record[1..].starts_with(&batch_head_bytes(&head)), "a head has one form");
    }
    for bytes in mutations(record).flatten() {
        if let Ok(mutation) = MutationRef::decode(bytes) {
            assert_eq!(mutation.items().count(), mutation.item_count());
        }
    }
}

/// The same bytes as records whose checksums are right, for no fuzzer finds a checksum: each is a length of two bytes and a body.
fn sealed(mut bytes: &[u8]) -> (Vec<u8>, usize) {
    let (mut group, mut count) = (Vec::new(), 0);
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let (body, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        let crc = salted_crc(SALT, group.len() as u64, body);
        group.extend((body.len() as u32).to_be_bytes());
        group.extend(crc.to_be_bytes());
        group.extend(body);
        count += 1;
        bytes = rest;
    }
    (group, count)
}

/// The domains' changes in an entry, which the metadata log keeps as bytes.
fn read_changes(record: &Record) {
    let Record::Entry(entry) = record else { return };
    for part in entry.parts() {
        match part.domain {
            DomainId::SCHEMA => read_schema_changes(&part.bytes),
            DomainId::TOPOLOGY => read_node_changes(&part.bytes),
            DomainId::TRUNCATIONS => read_truncations(&part.bytes),
            _ => {}
        }
    }
}

fn read_schema_changes(bytes: &[u8]) {
    if let Ok(changes) = schema::domain::decode(bytes) {
        let again = schema::domain::decode(&schema::domain::encode(&changes));
        assert_eq!(again.expect("encoded changes decode"), changes);
    }
}

fn read_truncations(bytes: &[u8]) {
    if let Ok(changes) = truncations::decode(bytes) {
        assert_eq!(truncations::decode(&truncations::encode(&changes)).expect("encoded changes decode"), changes);
        let state = TableTruncations::default().with_all(changes);
        let again = state.snapshot().map(|bytes| truncations::decode(&bytes).expect("a snapshot is a change"));
        assert_eq!(TableTruncations::default().with_all(again.into_iter().flatten()), state);
    }
}

/// Changes of the registry of nodes, what they and a snapshot make of it, and the request that one of them is.
fn read_node_changes(bytes: &[u8]) {
    if let Ok(changes) = nodes::decode(bytes) {
        assert_eq!(nodes::decode(&nodes::encode(&changes)).expect("encoded changes decode"), changes);
        if let Ok(request) = Request::decode(bytes) {
            assert_eq!(Request::decode(&request.to_bytes()), Ok(request));
        }
        let registry = Registry::default().apply(changes);
        assert_eq!(Registry::default().apply(registry.as_changes()), registry);
    }
}

/// The proposal in an entry of a group's log, which the record keeps as bytes.
fn read_proposal(record: &Record) {
    let Record::Group(GroupRecord::Entry { entry, .. }) = record else { return };
    let Payload::Change(bytes) = &entry.payload else { return };
    if let Ok(proposal) = Proposal::decode(bytes) {
        assert_eq!(Proposal::decode(&proposal.to_bytes()), Ok(proposal));
    }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    read_segment(data);
    read_record(data);
    let (group, count) = sealed(data);
    let mut walked = 0;
    for record in records(SALT, 0, &group, Planted::NONE) {
        let (_, body) = record.expect("sealed records are read back");
        read_record(body);
        walked += 1;
    }
    assert_eq!(walked, count);
    // Cut anywhere, a group ends in a bad record or a whole one, never beyond its bytes.
    let cut = &group[..group.len().saturating_sub(data.len() % (RECORD_HEAD + 3))];
    assert!(records(SALT, 0, cut, Planted::NONE).filter(Result::is_ok).count() <= count);
    if let Ok(record) = Record::decode(data) {
        assert_eq!(Record::decode(&record.to_bytes()).expect("an encoded record decodes"), record);
        read_changes(&record);
        read_proposal(&record);
    }
}
