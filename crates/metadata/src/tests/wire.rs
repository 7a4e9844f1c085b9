//! Messages between nodes of a group: bytes there and back, snapshots in chunks, and bytes that are none.

use proptest::prelude::*;
use raft::{Configuration, Entry as PlacedEntry, Envelope, Index, Message, NodeId, Origin, Payload, Term};

use super::*;
use crate::group::{
    Arrived, GroupMessage, GroupWire, Heartbeat, MESSAGE_BYTES_MAX, ProposalId, Remembered, Reply, Request, Snapshot,
    Vitals,
};

const ONE: NodeId = NodeId(1);
const TWO: NodeId = NodeId(2);
const CHUNK: usize = 64 << 10;

fn raft(message: Message) -> GroupMessage {
    GroupMessage::Raft(Envelope { from: ONE, to: TWO, term: Term(5), message })
}

fn voters(ids: &[u128]) -> Configuration {
    Configuration::new(ids.iter().copied().map(NodeId)).expect("there are voters")
}

fn change(term: u64, index: u64, bytes: &[u8]) -> PlacedEntry {
    PlacedEntry { term: Term(term), index: Index(index), payload: Payload::Change(bytes.into()) }
}

/// A snapshot with so many bytes of one domain.
fn snapshot(index: u64, bytes: usize) -> Snapshot {
    let origin = Origin { index: Index(index), term: Term(2), leader: Some(ONE), configuration: voters(&[1, 2]) };
    let content = (0..bytes).map(|place| (place / 7) as u8).collect();
    let parts = vec![Part { domain: DomainId(2), version: 1, bytes: content }];
    Snapshot { origin, recent: vec![Remembered { id: ProposalId(8), epoch: Index(1), is_cancelled: false }], parts }
}

fn bodies(message: &GroupMessage) -> Vec<Vec<u8>> {
    GroupWire::new().encode(TWO, message).expect("it is short")
}

fn arrive(body: &[u8]) -> Option<GroupMessage> {
    GroupWire::new().receive(ONE, body).expect("the bytes are right").message
}

/// A message as it arrives at another node.
pub(super) fn carried(message: &GroupMessage) -> GroupMessage {
    let (mut one, mut two) = (GroupWire::new(), GroupWire::new());
    let first = one.encode(TWO, message).expect("it is within the bounds");
    let (mut messages, _) = exchange(&mut one, &mut two, first);
    messages.pop().expect("a message arrives")
}

#[test]
fn each_message_has_these_bytes_and_is_read_back() {
    let lead = PlacedEntry { term: Term(2), index: Index(4), payload: Payload::Lead(NodeId(9)) };
    let entries = vec![lead, change(3, 5, &[7, 8])];
    let (one, two) = ("00000000000000000000000000000001", "00000000000000000000000000000002");
    let of_voters = format!("0101 {one} {two} 0000000000000005");
    let two_entries = "02 22 0000000000000002 0000000000000004 00 00 00000000000000000000000000000009 \
                       14 0000000000000003 0000000000000005 00 01 0708";
    let (id, numbers) = (ProposalId(1), |all: &[u64]| all.iter().map(|n| format!("{n:016x}")).collect::<String>());
    let vote = Message::Vote { pre: true, transfer: false, last_index: Index(3), last_term: Term(2) };
    let append = Message::Append {
        previous_index: Index(3),
        previous_term: Term(2),
        entries: entries.clone(),
        commit: Index(1),
    };
    let diverged = Message::Diverged { previous_index: Index(3), hint: Index(2), hint_term: Term(1) };
    let reply = Message::HeartbeatReply { round: 6, commit: Index(2), lost: true };
    let propose = |request| GroupMessage::Propose { id, first: Index(2), copy: 7, request };
    let replied = |reply| GroupMessage::Reply { id, copy: 7, reply };
    let lines = [
        (raft(vote), format!("{of_voters} 01 01 {}", numbers(&[3, 2]))),
        (raft(Message::VoteReply { pre: false, granted: true }), format!("{of_voters} 02 02")),
        (raft(append), format!("{of_voters} 03 {} {two_entries}", numbers(&[3, 2, 1]))),
        (raft(Message::Appended { matched: Index(4) }), format!("{of_voters} 04 {}", numbers(&[4]))),
        (raft(diverged), format!("{of_voters} 05 {}", numbers(&[3, 2, 1]))),
        (
            raft(Message::Committed { commit: Index(2), commit_term: Term(1) }),
            format!("{of_voters} 06 {}", numbers(&[2, 1])),
        ),
        (
            raft(Message::Heartbeat { commit: Index(2), commit_term: Term(1), round: 6 }),
            format!("{of_voters} 07 {}", numbers(&[2, 1, 6])),
        ),
        (raft(reply), format!("{of_voters} 08 01 {}", numbers(&[6, 2]))),
        (raft(Message::TransferNow), format!("{of_voters} 09")),
        (raft(Message::Outdated), format!("{of_voters} 0a")),
        (
            GroupMessage::Entries { previous: (Index(3), Term(2)), entries },
            format!("0102 {} {two_entries}", numbers(&[3, 2])),
        ),
        (GroupMessage::Since { epoch: Index(9) }, format!("0103 {}", numbers(&[9]))),
        (GroupMessage::Applied { epoch: Index(9) }, format!("0105 {}", numbers(&[9]))),
        (propose(Request::Plan(vec![0xab])), format!("0106 {one} {} 00000007 00 ab", numbers(&[2]))),
        (propose(Request::Cancel), format!("0106 {one} {} 00000007 01", numbers(&[2]))),
        (replied(Reply::NotLeader { leader: None }), format!("0107 {one} 00000007 00 00")),
        (replied(Reply::NotLeader { leader: Some(TWO) }), format!("0107 {one} 00000007 00 01 {two}")),
        (
            replied(Reply::Refused { epoch: Index(2), reason: vec![0xcd] }),
            format!("0107 {one} 00000007 01 {} cd", numbers(&[2])),
        ),
        (
            replied(Reply::Applied { epoch: Index(2), lagging: vec![TWO] }),
            format!("0107 {one} 00000007 02 {} 01 {two}", numbers(&[2])),
        ),
        (replied(Reply::TooLate), format!("0107 {one} 00000007 03")),
        (replied(Reply::LeadsNoMore { leader: Some(TWO) }), format!("0107 {one} 00000007 04 01 {two}")),
        (replied(Reply::Busy), format!("0107 {one} 00000007 05")),
        (replied(Reply::Cancelled { epoch: Index(2) }), format!("0107 {one} 00000007 06 {}", numbers(&[2]))),
        (replied(Reply::Failed { reason: "no".to_owned() }), format!("0107 {one} 00000007 07 6e6f")),
        (GroupMessage::WhoLeads { id }, format!("0109 {one}")),
        (GroupMessage::Leads { id, leader: Some(TWO) }, format!("010a {one} 01 {two}")),
        (
            GroupMessage::Snapshot(snapshot(3, 2)),
            format!(
                "0104 0000000000000003 00000063 9bcb5c58 00000000 {} 01 {one} 02 {one} {two} 00 01 {:032x} {} 00 01 02 01 02 0000",
                numbers(&[3, 2]),
                8,
                numbers(&[1])
            ),
        ),
    ];
    for (message, expected) in lines {
        let [bytes] = &bodies(&message)[..] else { panic!("{message:?} is one body") };
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, expected.replace(' ', ""), "{message:?}");
        assert_eq!(arrive(bytes), Some(message.clone()));
        for length in 0..bytes.len() {
            let cut = GroupWire::new().receive(ONE, &bytes[..length]);
            // An intention and a reason end where their message does.
            let is_cut = cut.map_or(true, |arrived| arrived.message.as_ref() != Some(&message));
            assert!(is_cut, "{message:?} cut to {length}");
        }
    }
}

/// The bytes of heartbeats, as they stay: of each version one with all that it can have.
#[test]
fn heartbeats_have_these_bytes() {
    let position = |shard| Position { boot: 5, shard, sequence: 7 };
    let mut heartbeat = Heartbeat {
        is_whole: true,
        older: Some(Index(9)),
        is_ready: true,
        is_lost: true,
        epoch: Index(4),
        boot: 6,
        began: Index(3),
        positions: vec![position(0), position(1)],
        vitals: None,
    };
    let vitals = Vitals {
        wall_micros: 1_795_326_264_394_000,
        generation: 1_795_326_000,
        disk_bytes: 4096,
        schema_version: [0xab; 16],
    };
    let mut kept = include_str!("../../testdata/heartbeats.txt").lines().filter(|line| !line.starts_with('#'));
    for vitals in [None, Some(vitals)] {
        heartbeat.vitals = vitals;
        let bytes = heartbeat.to_bytes();
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(text.as_str()), kept.next());
        assert_eq!(Heartbeat::decode(&bytes).as_ref(), Ok(&heartbeat));
        assert!((0..bytes.len()).all(|length| Heartbeat::decode(&bytes[..length]).is_err()));
        // A later build may say more from version 2 on.
        let more = Heartbeat::decode(&[&bytes[..], &[1, 2, 3]].concat());
        assert_eq!(more.ok(), vitals.map(|_| heartbeat.clone()));
        for (byte, is_whole, is_ready) in [(2, false, false), (3, true, false), (6, false, true)] {
            let read = Heartbeat::decode(&[&[bytes[0], byte][..], &bytes[2..]].concat()).expect("the flags are known");
            assert_eq!((read.is_whole, read.is_ready), (is_whole, is_ready), "{byte}");
        }
        for unknown in [[bytes[0], 16], [0, bytes[1]], [3, bytes[1]]] {
            assert!(Heartbeat::decode(&[&unknown[..], &bytes[2..]].concat()).is_err());
        }
    }
    assert_eq!(kept.next(), None);
    let [of_first, of_second] = [None, Some(vitals)].map(|vitals| Heartbeat { vitals, ..Heartbeat::default() });
    assert_eq!(heartbeat.clone().in_answer_to(&of_first).to_bytes()[0], 1);
    assert_eq!(heartbeat.in_answer_to(&of_second).to_bytes()[0], 2);
}

#[test]
fn what_is_newer_or_out_of_order_is_refused() {
    let refused = |bytes: &[u8]| GroupWire::new().receive(ONE, bytes).expect_err("it is no message").to_string();
    assert_eq!(refused(&[2, 1]), "record of format version 2; this Helenus reads up to 1");
    assert_eq!(refused(&[1, 99]), "unknown message kind 99");
    let entries = |entries| bodies(&GroupMessage::Entries { previous: (Index(3), Term(2)), entries }).remove(0);
    assert_eq!(refused(&entries(vec![change(2, 5, &[])])), "entry 5 of term 2 follows entry 3");
    assert_eq!(refused(&entries(vec![change(1, 4, &[])])), "entry 4 of term 1 follows entry 3");
    let twice = entries(vec![change(2, 4, &[]), change(2, 4, &[])]);
    assert_eq!(refused(&twice), "entry 4 of term 2 follows entry 4");
    let mut many = entries(Vec::new());
    many.pop();
    stdx::varint::encode(u64::MAX, &mut many);
    assert_eq!(refused(&many), format!("{} entries do not fit their message", u64::MAX));
    let intention = vec![0; MESSAGE_BYTES_MAX];
    let request = Request::Plan(intention);
    let long = GroupMessage::Propose { id: ProposalId(1), first: Index(1), copy: 1, request };
    assert!(GroupWire::new().encode(TWO, &long).is_err());
}

/// Two nodes, of which the first sends what the second receives, until nothing is under way.
fn exchange(one: &mut GroupWire, two: &mut GroupWire, mut under_way: Vec<Vec<u8>>) -> (Vec<GroupMessage>, usize) {
    let (mut messages, mut most) = (Vec::new(), under_way.len());
    while !under_way.is_empty() {
        let body = under_way.remove(0);
        let Arrived { message, replies } = two.receive(ONE, &body).expect("the bytes are right");
        messages.extend(message);
        for reply in replies {
            let arrived = one.receive(TWO, &reply).expect("the bytes are right");
            assert_eq!(arrived.message, None);
            under_way.extend(arrived.replies);
        }
        most = most.max(under_way.len());
    }
    (messages, most)
}

#[test]
fn a_large_snapshot_travels_in_chunks_of_which_few_are_under_way() {
    let message = GroupMessage::Snapshot(snapshot(9, 40 * CHUNK + 5));
    let (mut one, mut two) = (GroupWire::new(), GroupWire::new());
    for _ in 0..2 {
        let first = one.encode(TWO, &message).expect("it is within the bounds");
        assert_eq!(first.iter().map(Vec::len).collect::<Vec<_>>(), [CHUNK + 22]);
        assert_eq!(one.encode(TWO, &message), Ok(Vec::new()), "it is under way");
        let (messages, most) = exchange(&mut one, &mut two, first);
        assert_eq!((messages, most), (vec![message.clone()], 16));
    }
}

#[test]
fn an_interrupted_snapshot_is_dropped_and_sent_again() {
    let message = GroupMessage::Snapshot(snapshot(9, 5 * CHUNK));
    let (mut one, mut two) = (GroupWire::new(), GroupWire::new());
    let begin = |one: &mut GroupWire, two: &mut GroupWire| -> Vec<Vec<u8>> {
        let first = one.encode(TWO, &message).expect("it is within the bounds").remove(0);
        let reply = two.receive(ONE, &first).expect("the bytes are right").replies.remove(0);
        one.receive(TWO, &reply).expect("the bytes are right").replies
    };
    // A chunk is lost: the rest are of no use.
    let chunks = begin(&mut one, &mut two);
    for chunk in &chunks[1..] {
        assert_eq!(two.receive(ONE, chunk), Ok(Arrived::default()));
    }
    assert_eq!(one.encode(TWO, &message), Ok(Vec::new()), "the sender does not know yet");
    for _ in 0..20 {
        one.elapse();
        two.elapse();
    }
    // The connection ends.
    begin(&mut one, &mut two);
    one.disconnected(TWO);
    two.disconnected(ONE);
    // The receiver alone was left waiting, and gets the same bytes again.
    begin(&mut one, &mut two);
    one.disconnected(TWO);
    let first = one.encode(TWO, &message).expect("it is within the bounds");
    assert_eq!(exchange(&mut one, &mut two, first).0, std::slice::from_ref(&message));
    // Another snapshot takes the place of one that its sender has given up.
    begin(&mut one, &mut two);
    one.disconnected(TWO);
    let later = GroupMessage::Snapshot(snapshot(10, 3 * CHUNK));
    let first = one.encode(TWO, &later).expect("it is within the bounds");
    assert_eq!(exchange(&mut one, &mut two, first).0, [later]);
}

#[test]
fn one_snapshot_at_a_time_is_put_together() {
    let message = GroupMessage::Snapshot(snapshot(9, 5 * CHUNK));
    let mut two = GroupWire::new();
    let first = bodies(&message).remove(0);
    assert_eq!(two.receive(ONE, &first).expect("right").replies.len(), 1);
    assert_eq!(two.receive(NodeId(3), &first), Ok(Arrived::default()), "another one is under way");
    (0..20).for_each(|_| two.elapse());
    assert_eq!(two.receive(NodeId(3), &first).expect("right").replies.len(), 1);
}

#[test]
fn forged_chunks_are_refused() {
    let mut chunk = bodies(&GroupMessage::Snapshot(snapshot(9, 100))).remove(0);
    let refused = |bytes: &[u8]| GroupWire::new().receive(ONE, bytes).expect_err("it is no chunk").to_string();
    let last = chunk.len() - 1;
    chunk[last] ^= 1;
    assert_eq!(refused(&chunk), "the chunks of a snapshot are not of one snapshot");
    chunk.pop();
    assert!(refused(&chunk).starts_with("a chunk of "));
    chunk[10..14].fill(0xff);
    assert!(refused(&chunk).ends_with(&format!("of a snapshot of {}", u32::MAX)));
}

fn any_index() -> impl Strategy<Value = Index> {
    prop_oneof![(0..50u64).prop_map(Index), any::<u64>().prop_map(Index)]
}

fn any_term() -> impl Strategy<Value = Term> {
    any::<u64>().prop_map(Term)
}

fn any_node() -> impl Strategy<Value = NodeId> {
    any::<u128>().prop_map(NodeId)
}

fn any_payload() -> impl Strategy<Value = Payload> {
    let configuration = (prop::collection::vec(any_node(), 1..5), prop::collection::vec(any_node(), 0..5));
    prop_oneof![
        any_node().prop_map(Payload::Lead),
        prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| Payload::Change(bytes.into())),
        configuration.prop_map(|(incoming, outgoing)| {
            Payload::Voters(Configuration::of_halves(incoming, outgoing).expect("there are voters"))
        }),
    ]
}

/// A place, and entries that follow it.
fn any_entries() -> impl Strategy<Value = ((Index, Term), Vec<PlacedEntry>)> {
    let payloads = prop::collection::vec((any_payload(), 0..3u64), 0..6);
    (0..1u64 << 40, 0..1u64 << 40, payloads).prop_map(|(index, term, payloads)| {
        let mut last = (index, term);
        let entries = payloads.into_iter().map(|(payload, step)| {
            last = (last.0 + 1, last.1 + step);
            PlacedEntry { term: Term(last.1), index: Index(last.0), payload }
        });
        let entries = entries.collect();
        ((Index(index), Term(term)), entries)
    })
}

fn any_raft() -> impl Strategy<Value = Message> {
    let three = || (any_index(), any_index(), any_term());
    let flags = || (any::<bool>(), any::<bool>());
    prop_oneof![
        (flags(), any_index(), any_term()).prop_map(|((pre, transfer), last_index, last_term)| Message::Vote {
            pre,
            transfer,
            last_index,
            last_term
        }),
        flags().prop_map(|(pre, granted)| Message::VoteReply { pre, granted }),
        (any_entries(), any_index()).prop_map(|(((previous_index, previous_term), entries), commit)| {
            Message::Append { previous_index, previous_term, entries, commit }
        }),
        any_index().prop_map(|matched| Message::Appended { matched }),
        three().prop_map(|(previous_index, hint, hint_term)| Message::Diverged { previous_index, hint, hint_term }),
        three().prop_map(|(commit, _, commit_term)| Message::Committed { commit, commit_term }),
        three().prop_map(|(commit, round, commit_term)| Message::Heartbeat { commit, commit_term, round: round.0 }),
        (three(), any::<bool>()).prop_map(|((commit, round, _), lost)| Message::HeartbeatReply {
            round: round.0,
            commit,
            lost
        }),
        Just(Message::TransferNow),
        Just(Message::Outdated),
    ]
}

fn any_reply() -> impl Strategy<Value = Reply> {
    let bytes = prop::collection::vec(any::<u8>(), 0..100);
    prop_oneof![
        prop::option::of(any_node()).prop_map(|leader| Reply::NotLeader { leader }),
        prop::option::of(any_node()).prop_map(|leader| Reply::LeadsNoMore { leader }),
        (any_index(), bytes).prop_map(|(epoch, reason)| Reply::Refused { epoch, reason }),
        (any_index(), prop::collection::vec(any_node(), 0..9))
            .prop_map(|(epoch, lagging)| Reply::Applied { epoch, lagging }),
        any_index().prop_map(|epoch| Reply::Cancelled { epoch }),
        ".{0,20}".prop_map(|reason| Reply::Failed { reason }),
        Just(Reply::TooLate),
        Just(Reply::Busy),
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    prop_oneof![prop::collection::vec(any::<u8>(), 0..300).prop_map(Request::Plan), Just(Request::Cancel)]
}

fn any_message() -> impl Strategy<Value = GroupMessage> {
    let id = || any::<u128>().prop_map(ProposalId);
    prop_oneof![
        (any_node(), any_node(), any_term(), any_raft())
            .prop_map(|(from, to, term, message)| GroupMessage::Raft(Envelope { from, to, term, message })),
        any_entries().prop_map(|(previous, entries)| GroupMessage::Entries { previous, entries }),
        any_index().prop_map(|epoch| GroupMessage::Since { epoch }),
        (1..1u64 << 40, 0..3 * CHUNK).prop_map(|(index, bytes)| GroupMessage::Snapshot(snapshot(index, bytes))),
        any_index().prop_map(|epoch| GroupMessage::Applied { epoch }),
        (id(), any_index(), any::<u32>(), any_request()).prop_map(|(id, first, copy, request)| GroupMessage::Propose {
            id,
            first,
            copy,
            request
        }),
        (id(), any::<u32>(), any_reply()).prop_map(|(id, copy, reply)| GroupMessage::Reply { id, copy, reply }),
        id().prop_map(|id| GroupMessage::WhoLeads { id }),
        (id(), prop::option::of(any_node())).prop_map(|(id, leader)| GroupMessage::Leads { id, leader }),
    ]
}

proptest! {
    #[test]
    fn messages_come_back_as_they_were_sent(message in any_message()) {
        let (mut one, mut two) = (GroupWire::new(), GroupWire::new());
        let first = one.encode(TWO, &message).expect("it is within the bounds");
        prop_assert_eq!(exchange(&mut one, &mut two, first).0, vec![message]);
    }

    #[test]
    fn no_bytes_make_a_message_panic(kind in 0u8..12, mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut wire = GroupWire::new();
        let _ = (wire.receive(ONE, &bytes), Heartbeat::decode(&bytes));
        bytes.splice(0..0, [1, kind]);
        let _ = wire.receive(ONE, &bytes);
    }

    #[test]
    fn a_changed_byte_is_read_as_another_message_or_none(message in any_message(), place: prop::sample::Index, mask in 1u8..) {
        let mut bytes = bodies(&message).remove(0);
        let place = place.index(bytes.len());
        bytes[place] ^= mask;
        if let Ok(Arrived { message: Some(other), .. }) = GroupWire::new().receive(ONE, &bytes) {
            let again = bodies(&other).remove(0);
            prop_assert!(other != message || again == bodies(&message)[0], "{:?}", other);
        }
    }
}
