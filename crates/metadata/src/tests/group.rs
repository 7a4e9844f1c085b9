//! A node's part in a group as its log keeps it: bytes there and back, what a start restores, what compaction keeps, proposals that come twice or late.

use proptest::prelude::*;
use raft::{Configuration, Entry as PlacedEntry, Index, NodeId, Origin, Payload, RoleName, Term, Vote};

use super::*;
use crate::file::History;
use crate::group::{
    Effect, GroupId, GroupRecord, GroupState, PROPOSALS_REMEMBERED, Proposal, ProposalId, Remembered, Snapshot,
    founding, node_id,
};

const ID: GroupId = GroupId { id: 0x0102_0304, incarnation: 7 };
const NODE: HostId = HostId([7; 16]);

fn voters(ids: &[u128]) -> Configuration {
    Configuration::new(ids.iter().copied().map(NodeId)).expect("there are voters")
}

fn proposal(id: u128, first: u64, changes: Vec<SchemaChange>) -> Proposal {
    let Record::Entry(entry) = schema_record(changes) else { panic!("the schema's changes are an entry") };
    Proposal { id: ProposalId(id), first: Index(first), entry: Some(entry) }
}

fn change(term: u64, index: u64, proposal: &Proposal) -> PlacedEntry {
    PlacedEntry { term: Term(term), index: Index(index), payload: Payload::Change(proposal.to_bytes().into()) }
}

/// The entry that puts a keyspace, by a proposal of its own index.
fn put(term: u64, index: u64, name: &str) -> PlacedEntry {
    change(term, index, &proposal(u128::from(index), index, vec![keyspace(name)]))
}

fn entry(entry: PlacedEntry) -> Record {
    GroupRecord::Entry { entry, is_committed: false }.into()
}

fn committed(entry: PlacedEntry) -> Record {
    GroupRecord::Entry { entry, is_committed: true }.into()
}

fn commit(index: u64) -> Record {
    GroupRecord::Commit(Index(index)).into()
}

fn vote(term: u64, node: u128) -> Record {
    GroupRecord::Vote { vote: Vote { term: Term(term), voted_for: Some(NodeId(node)) }, is_lost: false }.into()
}

fn snapshot(index: u64, term: u64, configuration: Configuration, parts: Vec<Part>) -> Record {
    let origin = Origin { index: Index(index), term: Term(term), leader: Some(NodeId(1)), configuration };
    GroupRecord::Snapshot(Snapshot { origin, recent: Vec::new(), parts }).into()
}

/// The first records of a node that founds a group with this schema.
fn founded(changes: Vec<SchemaChange>) -> Vec<Record> {
    let mut history = History::new(&domains());
    history.push(schema_record(changes)).expect("a good entry");
    let state = history.finish().expect("good records");
    let founding = founding(ID, node_id(NODE), Index(1), &state.cluster);
    [host_id(), boot(1)].into_iter().chain(founding.map(Record::Group)).collect()
}

/// The first records of voter 7 of nodes 1, 2 and 7, which caught up to an empty state.
fn voter() -> Vec<Record> {
    let all = voters(&[1, 2, u128::from_be_bytes(NODE.0)]);
    vec![host_id(), boot(1), GroupRecord::Group(ID).into(), snapshot(1, 1, all, Vec::new())]
}

fn states(records: &[Record]) -> Result<LogState, DecodeError> {
    let mut history = History::new(&domains());
    records.iter().try_for_each(|record| history.push(record.clone()))?;
    history.finish()
}

fn keyspaces_of(state: &LogState) -> Vec<String> {
    state.cluster.of::<SchemaDomain>().keyspaces().keys().map(|name| name.to_string()).collect()
}

/// The core that a start has of these records, and the epoch of the state.
fn restored(records: &[Record]) -> (raft::Raft, GroupState) {
    let state = states(records).expect("good records");
    let restored = state.group.restore(node_id(NODE), raft::Options::default(), &domains());
    restored.expect("good records").expect("the node is of a group")
}

fn refusal(records: &[Record]) -> String {
    states(records).err().map(|error| error.to_string()).expect("the records do not follow each other")
}

#[test]
fn each_record_has_these_bytes_and_is_read_back() {
    let joint = Configuration::of_halves([NodeId(1), NodeId(2)], [NodeId(1)]).expect("there are voters");
    let lead = PlacedEntry { term: Term(2), index: Index(3), payload: Payload::Lead(NodeId(9)) };
    let change = PlacedEntry { term: Term(2), index: Index(4), payload: Payload::Change([5, 6].into()) };
    let origin = Origin { index: Index(3), term: Term(2), leader: None, configuration: voters(&[1]) };
    let recent = vec![Remembered { id: ProposalId(8), epoch: Index(3), is_cancelled: true }];
    let part = Part { domain: DomainId(2), version: 1, bytes: vec![1, 2] };
    let one = "00000000000000000000000000000001";
    let lines: [(GroupRecord, String); 9] = [
        (
            GroupRecord::Vote { vote: Vote { term: Term(5), voted_for: None }, is_lost: true },
            "0501 0000000000000005 02".into(),
        ),
        (
            GroupRecord::Vote { vote: Vote { term: Term(5), voted_for: Some(NodeId(1)) }, is_lost: false },
            format!("0501 0000000000000005 01 {one}"),
        ),
        (
            GroupRecord::Entry { entry: lead, is_committed: false },
            "0602 0000000000000002 0000000000000003 00 00 00000000000000000000000000000009".into(),
        ),
        (
            GroupRecord::Entry { entry: change, is_committed: true },
            "0602 0000000000000002 0000000000000004 01 01 0506".into(),
        ),
        (
            GroupRecord::Entry {
                entry: PlacedEntry { term: Term(2), index: Index(5), payload: Payload::Voters(joint) },
                is_committed: false,
            },
            format!("0602 0000000000000002 0000000000000005 00 02 02 {one} 00000000000000000000000000000002 01 {one}"),
        ),
        (
            GroupRecord::Snapshot(Snapshot { origin: origin.clone(), recent, parts: vec![part] }),
            format!(
                "0701 0000000000000003 0000000000000002 00 01 {one} 00 01 00000000000000000000000000000008 0000000000000003 01 01 02 01 02 0102"
            ),
        ),
        (
            GroupRecord::Snapshot(Snapshot { origin, recent: Vec::new(), parts: Vec::new() }),
            format!("0701 0000000000000003 0000000000000002 00 01 {one} 00 00 00"),
        ),
        (GroupRecord::Group(ID), "0801 00000000000000000000000001020304 0000000000000007".into()),
        (GroupRecord::Commit(Index(4)), "0901 0000000000000004".into()),
    ];
    for (record, expected) in lines {
        let record = Record::Group(record);
        let bytes = record.to_bytes();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, expected.replace(' ', ""), "{record:?}");
        assert_eq!(Record::decode(&bytes), Ok(record.clone()));
        for length in 0..bytes.len() {
            // A change's bytes are its domain's affair.
            let is_cut = Record::decode(&bytes[..length]) != Ok(record.clone());
            assert!(is_cut, "{record:?} cut to {length}");
        }
    }
}

#[test]
fn records_of_newer_versions_are_refused_as_such() {
    for kind in [5, 7, 8, 9] {
        let newer = DecodeError::NewerVersion { version: 2, supported: 1 };
        assert_eq!(Record::decode(&[kind, 2, 0, 0]), Err(newer), "kind {kind}");
    }
    assert_eq!(Record::decode(&[6, 3, 0, 0]), Err(DecodeError::NewerVersion { version: 3, supported: 2 }));
}

#[test]
fn a_founder_leads_at_each_start_without_a_record() {
    let mut records = founded(vec![keyspace("old")]);
    assert_eq!(keyspaces_of(&states(&records).expect("good records")), ["old"]);
    records.extend([committed(put(1, 2, "a")), boot(2), committed(put(1, 3, "b"))]);
    let (mut raft, state) = restored(&records);
    assert_eq!(
        (raft.role(), raft.term(), raft.commit_index(), state.epoch()),
        (RoleName::Leader, Term(1), Index(3), Index(3))
    );
    assert!(raft.take().is_none(), "a start of a lone node writes nothing");
    assert_eq!(keyspaces_of(&states(&records).expect("good records")), ["a", "b", "old"]);
}

#[test]
fn a_voter_applies_what_is_committed_and_keeps_the_rest() {
    let mut records = voter();
    records.extend([vote(2, 1), entry(put(2, 2, "a")), entry(put(2, 3, "lost")), commit(2)]);
    records.extend([vote(3, 2), entry(put(3, 3, "b")), entry(put(3, 4, "c"))]);
    let (raft, state) = restored(&records);
    assert_eq!((raft.role(), raft.vote().voted_for, raft.term()), (RoleName::Follower, Some(NodeId(2)), Term(3)));
    assert_eq!(
        (raft.commit_index(), raft.log().last_index(), raft.log().term(Index(3))),
        (Index(2), Index(4), Some(Term(3)))
    );
    assert_eq!(state.epoch(), Index(2), "what is not committed is not applied");
    assert_eq!(keyspaces_of(&states(&records).expect("good records")), ["a"]);
    records.push(commit(4));
    assert_eq!(keyspaces_of(&states(&records).expect("good records")), ["a", "b", "c"]);
}

#[test]
fn records_that_cannot_follow_each_other_are_refused() {
    let after = |more: &[Record]| refusal(&[&voter()[..], more].concat());
    assert!(after(&[entry(put(2, 2, "a")), commit(2), entry(put(3, 2, "b"))]).contains("replaces what is committed"));
    assert!(after(&[entry(put(2, 4, "a"))]).contains("entry 4 follows entry 1"));
    assert!(after(&[commit(2)]).contains("commit index 2"));
    assert!(after(&[entry(put(2, 2, "a")), commit(2), commit(1)]).contains("commit index 1"));
    assert!(after(&[vote(3, 1), vote(2, 1)]).contains("the term falls"));
    assert!(after(&[snapshot(0, 0, voters(&[1]), Vec::new())]).contains("a snapshot of index 0"));
    assert!(after(&[schema_record(vec![keyspace("k")])]).contains("without a place"));
    let unknown = Part { domain: DomainId(99), version: 1, bytes: Vec::new() };
    let stranger = Proposal { id: ProposalId(1), first: Index(2), entry: Some(Entry::of(unknown.clone())) };
    assert!(after(&[entry(change(2, 2, &stranger))]).contains("unknown domain 99"));
    assert!(after(&[snapshot(5, 2, voters(&[1]), vec![unknown])]).contains("unknown domain 99"));
}

#[test]
fn a_snapshot_of_others_takes_the_place_of_what_it_covers() {
    let own = [entry(put(2, 2, "a")), entry(put(2, 3, "b")), entry(put(2, 4, "c"))];
    let Record::Entry(schema) = schema_record(vec![keyspace("s")]) else { panic!("an entry") };
    // Entries after a place where the logs agree stay; others do not.
    for (term, last) in [(2, Index(4)), (3, Index(3))] {
        let caught_up = snapshot(3, term, voters(&[1, 2]), schema.parts().to_vec());
        let records = [&voter()[..], &own, &[vote(3, 1), caught_up]].concat();
        let (raft, state) = restored(&records);
        assert_eq!((raft.commit_index(), state.epoch(), raft.log().last_index()), (Index(3), Index(3), last), "{term}");
        assert_eq!(keyspaces_of(&states(&records).expect("good records")), ["s"]);
        assert_eq!(raft.configuration(), &voters(&[1, 2]));
    }
}

#[test]
fn compaction_keeps_vote_group_state_and_what_is_not_committed() {
    let mut records = voter();
    records.extend([entry(put(2, 2, "a")), entry(put(2, 3, "b")), entry(put(2, 4, "c")), commit(3), vote(4, 2)]);
    let state = states(&records).expect("good records");
    let compacted = crate::file::compact(&state);
    assert_eq!(compacted.len(), 6, "{compacted:?}");
    let again = states(&compacted).expect("good records");
    assert_eq!(keyspaces_of(&again), ["a", "b"]);
    let ((one, before), (two, after)) = (restored(&records), restored(&compacted));
    assert_eq!(
        (one.vote(), one.commit_index(), one.log().last_index()),
        (two.vote(), two.commit_index(), two.log().last_index())
    );
    assert_eq!(one.log().entry(Index(4)), two.log().entry(Index(4)));
    assert_eq!((before.epoch(), before.find(ProposalId(3))), (after.epoch(), after.find(ProposalId(3))));
    assert_eq!(crate::file::compact(&again), compacted, "compacted already");
}

#[test]
fn a_log_of_a_group_is_opened_and_compacted_on_disk() {
    let folder = Folder::new("group");
    let mut records = founded(vec![keyspace("old")]);
    for index in 2..40 {
        records.push(committed(put(1, index, &format!("k{}", index % 3))));
    }
    write(&folder.0, &records);
    assert_eq!(open(&folder.0), Ok(records.clone()));
    let found = on_runtime(|rt| async move {
        let (log, _) = open_small(&rt, &folder.0).await;
        log.append(&boot(2)).await.expect("a record is appended");
        let opened = MetadataLog::open(&rt, &folder.0, &domains()).await.expect("the log opens");
        (records_on(&rt, &folder.0).await.len(), keyspaces_of(&opened.state), opened.state.group.commit())
    });
    let names = ["k0", "k1", "k2", "old"].map(str::to_owned).to_vec();
    assert_eq!(found, (5, names, Index(39)), "identity, start, group, snapshot, start");
}

#[test]
fn a_proposal_has_the_effect_of_once_and_not_too_late() {
    let mut state = GroupState::new(&domains());
    let asked = proposal(7777, 1, vec![keyspace("once")]);
    let mut apply = |entry: PlacedEntry| state.apply([&entry]).expect("good entries").remove(0);
    assert_eq!(
        apply(change(1, 1, &asked)),
        Effect::Applied(asked.id, asked.entry.clone().expect("it changes something"))
    );
    let other = proposal(2, 2, vec![keyspace("other")]).entry.expect("it changes something");
    assert_eq!(apply(put(1, 2, "other")), Effect::Applied(ProposalId(2), other));
    assert_eq!(apply(change(1, 3, &asked)), Effect::Repeated(asked.id, Index(1)));
    assert_eq!(apply(PlacedEntry { term: Term(2), index: Index(4), payload: Payload::Lead(NodeId(1)) }), Effect::None);
    for index in 5..=PROPOSALS_REMEMBERED {
        apply(put(2, index, "other"));
    }
    assert_eq!(
        apply(change(2, PROPOSALS_REMEMBERED + 1, &asked)),
        Effect::TooLate(asked.id),
        "it is forgotten, and too late"
    );
    let early = proposal(7778, PROPOSALS_REMEMBERED + 9, vec![keyspace("early")]);
    assert_eq!(
        apply(change(2, PROPOSALS_REMEMBERED + 2, &early)),
        Effect::TooLate(early.id),
        "no epoch before its own"
    );
}

#[test]
fn a_cancelled_proposal_changes_nothing_from_then_on() {
    let mut state = GroupState::new(&domains());
    let asked = proposal(7, 1, vec![keyspace("never")]);
    let cancelled = Proposal { entry: None, ..asked.clone() };
    let bytes = cancelled.to_bytes();
    assert_eq!((bytes.last(), Proposal::decode(&bytes)), (Some(&0), Ok(cancelled.clone())));
    let effects = state.apply(&[change(1, 1, &cancelled), change(1, 2, &asked), change(1, 3, &cancelled)]);
    let repeated = Effect::Repeated(asked.id, Index(1));
    assert_eq!(effects, Ok(vec![Effect::Cancelled(asked.id), repeated.clone(), repeated]));
    let remembered = Remembered { id: asked.id, epoch: Index(1), is_cancelled: true };
    assert_eq!((state.find(asked.id), state.cluster().snapshot_parts()), (Some(remembered), Vec::new()));
}

/// Entries of few proposals, many of them repeated or old.
fn entries() -> impl Strategy<Value = Vec<PlacedEntry>> {
    let one = (0_u128..12, 1_u64..1400, 0_u8..5);
    proptest::collection::vec(one, 1..60).prop_map(|all| {
        // Two stretches with a gap of epochs between them, which lead entries fill.
        let filled = (1..=1100).map(|index| PlacedEntry {
            term: Term(1),
            index: Index(index),
            payload: Payload::Lead(NodeId(1)),
        });
        let mut entries: Vec<PlacedEntry> = Vec::new();
        for (place, (id, first, name)) in all.into_iter().enumerate() {
            if place == 20 {
                let next = entries.len() as u64;
                entries.extend(filled.clone().map(|entry| PlacedEntry { index: Index(entry.index.0 + next), ..entry }));
            }
            let asked = proposal(id, first, vec![keyspace(&format!("k{name}"))]);
            entries.push(change(1, entries.len() as u64 + 1, &asked));
        }
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Applied one by one, in pieces or from a snapshot in between: the same effects and the same state.
    #[test]
    fn pieces_and_snapshots_make_no_difference(entries in entries(), cut in 0_usize..1200) {
        let cut = cut.min(entries.len());
        let mut whole = GroupState::new(&domains());
        let effects = whole.apply(&entries).expect("good entries");
        let mut first = GroupState::new(&domains());
        let mut others = first.apply(&entries[..cut]).expect("good entries");
        let cluster = ClusterState::of_parts(&domains(), first.cluster().snapshot_parts()).expect("its own parts");
        let mut second = GroupState::of_snapshot(first.epoch(), cluster, first.recent().collect());
        for entry in &entries[cut..] {
            others.extend(second.apply([entry]).expect("good entries"));
        }
        prop_assert_eq!(&effects, &others);
        prop_assert_eq!(whole.epoch(), second.epoch());
        prop_assert_eq!(whole.cluster().snapshot_parts(), second.cluster().snapshot_parts());
        // No proposal is applied twice.
        let mut applied: Vec<ProposalId> = effects.iter().filter_map(|effect| match effect {
            Effect::Applied(id, _) => Some(*id),
            _ => None,
        }).collect();
        let count = applied.len();
        applied.sort();
        applied.dedup();
        // An id may be used again when it is forgotten, which no node does; here the few ids are.
        prop_assert!(applied.len() == count || entries.len() as u64 > PROPOSALS_REMEMBERED);
    }

    /// No bytes make the reader panic, or take more memory than they are long.
    #[test]
    fn any_bytes_are_a_record_or_an_error(kind in 5_u8..10, version in 1_u8..3, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let bytes = [&[kind, version][..], &bytes].concat();
        if let Ok(record) = Record::decode(&bytes) {
            prop_assert_eq!(Record::decode(&record.to_bytes()), Ok(record));
        }
    }
}
