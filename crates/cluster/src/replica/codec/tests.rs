//! Bodies that are read back as they were written, and the bytes of one frame of each kind of this crate's.

use mutation::Position;
use topology::{Epoch, Token};

use super::*;
use internode::{Head, write_frame};

const NAME: BatchName = BatchName { host_id: HostId([6; 16]), boot: 7, shard: 8, sequence: 1 << 40 };

const fn ballot(byte: u8) -> Ballot {
    let mut bytes = [byte; 16];
    bytes[6] = 0x11;
    Ballot(bytes)
}

fn prepare() -> Prepare {
    let (ballot, purpose, command) = (ballot(1), Purpose::Write, b"command".to_vec());
    Prepare { ballot, purpose, wants_committed: false, rows: 5, bytes: 6, command }
}

fn accept() -> Accept {
    let (ballot, original, mutations) = (ballot(2), ballot(1), vec![vec![3; MUTATION_BYTES_MIN], vec![4; 40]]);
    Accept { table: TableId([7; 16]), key: b"key".to_vec(), proposal: Proposal { ballot, original, mutations } }
}

fn promised() -> Promised {
    Promised {
        promise: Promise::Made,
        earlier: Some(ballot(3)),
        accepted: Some(accept().proposal),
        is_left_out: false,
        committed: Some(Commit { ballot: ballot(5), original: ballot(4) }),
        page: Page {
            items: vec![7; 40],
            more_after: Some(Position { token: Token(-5), key: vec![1, 2], row: Some(vec![3]) }),
        },
    }
}

/// All forms of the answer to a prepare.
fn all_prepared() -> Vec<Prepared> {
    let mut all = vec![Prepared::Outrun(ballot(9))];
    let whole = promised();
    let empty = Proposal { mutations: Vec::new(), ..accept().proposal };
    for promise in [Promise::Made, Promise::Readable] {
        for earlier in [None, whole.earlier] {
            for accepted in [None, whole.accepted.clone(), Some(empty.clone())] {
                for (committed, is_left_out) in [(None, false), (whole.committed, false), (whole.committed, true)] {
                    for page in [whole.page.clone(), Page { items: Vec::new(), more_after: None }] {
                        let accepted = accepted.clone();
                        all.push(Prepared::Promised(Promised {
                            promise,
                            earlier,
                            accepted,
                            is_left_out,
                            committed,
                            page,
                        }));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn the_messages_of_an_attempt_round_trip() {
    let (purposes, mutations) = ([Purpose::Read, Purpose::Write, Purpose::Look], vec![vec![1; 300], vec![2; 27]]);
    let mut requests = vec![PeerRequest::Accept(accept()), PeerRequest::Commit { mutations }];
    requests.push(PeerRequest::Accept(Accept {
        key: Vec::new(),
        proposal: Proposal { mutations: Vec::new(), ..accept().proposal },
        ..accept()
    }));
    for purpose in purposes {
        for wants_committed in [false, true] {
            requests.push(PeerRequest::Prepare(Prepare { purpose, wants_committed, ..prepare() }));
        }
    }
    for request in requests {
        let mut body = Vec::new();
        let kind = encode_request(&request, &mut body);
        assert_eq!(decode_request(kind, &body), Ok(request));
        body.push(0);
        // A command is the rest of its body.
        assert!(kind == kind::PREPARE || decode_request(kind, &body).is_err(), "a byte too many is refused");
    }
    let accepted = [Accepted::Done, Accepted::Outrun(ballot(9))].map(PeerAnswer::Accepted);
    for answer in all_prepared().into_iter().map(PeerAnswer::Prepared).chain(accepted) {
        let mut body = Vec::new();
        let kind = encode_answer(&answer, &mut body);
        assert_eq!(decode_answer(kind, body.clone()), Ok(answer));
        body.push(0);
        assert!(decode_answer(kind, body).is_err(), "a byte too many is refused");
    }
}

/// Without their last bytes the messages are refused, but where what is left is a shorter one: a command, or a proposal with fewer mutations.
#[test]
fn the_messages_of_an_attempt_are_refused_where_they_end_early() {
    let mut body = Vec::new();
    encode_request(&PeerRequest::Prepare(prepare()), &mut body);
    let head = body.len() - prepare().command.len();
    (0..head).for_each(|length| assert!(decode_request(kind::PREPARE, &body[..length]).is_err(), "{length} bytes"));
    body.clear();
    encode_request(&PeerRequest::Accept(accept()), &mut body);
    let head = 16 + 1 + 3 + 32;
    let ends = [head, head + 4 + MUTATION_BYTES_MIN];
    for length in (0..body.len()).filter(|length| !ends.contains(length)) {
        assert!(decode_request(kind::ACCEPT, &body[..length]).is_err(), "{length} bytes");
    }
    for answer in all_prepared() {
        let mut body = Vec::new();
        let kind = encode_answer(&PeerAnswer::Prepared(answer), &mut body);
        (0..body.len()).for_each(|length| assert!(decode_answer(kind, body[..length].to_vec()).is_err()));
    }
    for answer in [Accepted::Done, Accepted::Outrun(ballot(9))] {
        let mut body = Vec::new();
        let kind = encode_answer(&PeerAnswer::Accepted(answer), &mut body);
        (0..body.len()).for_each(|length| assert!(decode_answer(kind, body[..length].to_vec()).is_err()));
    }
}

/// The ballots of a proposal.
const HEAD: [u8; 32] = {
    let mut head = [1; 32];
    (head[6], head[22]) = (0x11, 0x11);
    head
};

/// A peer's ballot goes into a register, and each later attempt must have a later one.
#[test]
fn ballots_after_which_there_can_be_no_others_are_refused() {
    let (unsound, last) = (Ballot([0xff; 16]), Ballot(*b"\xff\xff\xff\xff\xff\xff\x1f\xff\x80\0\0\0\0\0\0\0"));
    for ballot in [unsound, last] {
        let requests = [
            PeerRequest::Prepare(Prepare { ballot, ..prepare() }),
            PeerRequest::Accept(Accept { proposal: Proposal { ballot, ..accept().proposal }, ..accept() }),
            PeerRequest::Accept(Accept { proposal: Proposal { original: ballot, ..accept().proposal }, ..accept() }),
        ];
        for request in requests {
            let mut body = Vec::new();
            let kind = encode_request(&request, &mut body);
            assert!(decode_request(kind, &body).is_err(), "{request:?}");
        }
        let committed = Some(Commit { ballot, original: ballot });
        let answers = [
            PeerAnswer::Accepted(Accepted::Outrun(ballot)),
            PeerAnswer::Prepared(Prepared::Outrun(ballot)),
            PeerAnswer::Prepared(Prepared::Promised(Promised { earlier: Some(ballot), ..promised() })),
            PeerAnswer::Prepared(Prepared::Promised(Promised { committed, ..promised() })),
        ];
        for answer in answers {
            let mut body = Vec::new();
            let kind = encode_answer(&answer, &mut body);
            assert!(decode_answer(kind, body).is_err(), "{answer:?}");
        }
    }
}

#[test]
fn the_messages_of_an_attempt_with_lengths_that_cannot_be_take_no_memory() {
    let mut body = Vec::new();
    encode_request(&PeerRequest::Prepare(prepare()), &mut body);
    for flags in (5..=u8::MAX).filter(|flags| *flags != 6) {
        body[0] = flags;
        assert!(decode_request(kind::PREPARE, &body).is_err(), "flags {flags}");
    }
    // A key that is longer than the frame.
    let key = [&[7; 16][..], &[0xff; 8], &[0x7f], &[0; 60]].concat();
    assert!(decode_request(kind::ACCEPT, &key).is_err());
    // Mutations that are longer than the frame, or shorter than any.
    for length in [u32::MAX, 1 << 30, 100, MUTATION_BYTES_MIN as u32 - 1, 0] {
        let body = [&[7; 16][..], &[3], b"key", &HEAD, &length.to_be_bytes(), &[0; 60]].concat();
        assert!(decode_request(kind::ACCEPT, &body).is_err(), "a mutation of {length} bytes");
    }
    // 24 times the frame's bytes, if each were a vector.
    let short = [&[7; 16][..], &[3], b"key", &HEAD, &[0; 4_000]].concat();
    assert!(decode_request(kind::ACCEPT, &short).is_err());
    let mut commit = Vec::new();
    push_mutations(&[[0; 0]; 1000], &mut commit);
    assert!(decode_request(kind::COMMIT, &commit).is_err());
    assert!(decode_request(kind::COMMIT, &[0xff; 9]).is_err());
    for (body, what) in [
        (vec![1, 16], "flags"),
        (vec![3, 0], "a verdict"),
        ([&[1, 2][..], &[0xff; 8], &[0x7f]].concat(), "a proposal that is longer than the frame"),
        ([&[1, 2, 31][..], &[0; 31]].concat(), "a proposal that is shorter than any"),
        ([&[1, 0][..], &[0xff; 8], &[0x7f]].concat(), "items that are longer than the frame"),
        (vec![1, 0, 0, 2], "an end of a page"),
    ] {
        assert!(decode_answer(kind::PREPARED, body).is_err(), "{what}");
    }
    for body in [vec![2], vec![3], vec![0xff; 17]] {
        assert!(decode_answer(kind::ACCEPTED, body).is_err(), "there are two verdicts");
    }
}

#[test]
fn more_names_than_a_message_may_have_take_no_memory() {
    let mut body = Vec::new();
    push_names(&vec![NAME; NAMES_MAX + 1], &mut body);
    assert!(decode_request(kind::BATCH_DONE, &body).is_err() && decode_request(kind::BATCH_ASK, &body).is_err());
    assert!(decode_request(kind::BATCH_ASK, &[0xff; 9]).is_err());
    assert!(decode_answer(kind::FATES, vec![0; NAMES_MAX + 1]).is_err());
    assert!(decode_answer(kind::FATES, vec![3]).is_err(), "there are three fates");
}

#[test]
fn requests_round_trip() {
    let read = |of| PeerRequest::Read(PeerRead { of, rows: 5, bytes: 6, command: vec![9; 40] });
    let requests = [
        PeerRequest::Write { mutations: vec![vec![1; 300], vec![2; 27], vec![3; 28]] },
        PeerRequest::Count { deltas: vec![vec![1; 300], vec![2; 27]] },
        read(PeerShard::Owner),
        read(PeerShard::One { shard: 3, count: 4 }),
        PeerRequest::Digest {
            read: PeerRead { of: PeerShard::Owner, rows: 5, bytes: 6, command: vec![9; 40] },
            gc_before: 7,
        },
        PeerRequest::BatchCopy { name: NAME, created: -5, mutations: vec![vec![1; 300], vec![2; 27]] },
        PeerRequest::BatchDone { names: vec![NAME; 3] },
        PeerRequest::BatchAsk { names: vec![NAME, BatchName { shard: 0, ..NAME }] },
    ];
    for request in requests {
        let mut body = Vec::new();
        let kind = encode_request(&request, &mut body);
        assert_eq!(decode_request(kind, &body), Ok(request));
        body.push(0);
        assert!(
            [kind::READ, kind::DIGEST].contains(&kind) || decode_request(kind, &body).is_err(),
            "a byte too many is refused"
        );
    }
    assert!(decode_request(kind::WRITTEN, &[]).is_err());
    assert!(decode_request(kind::WRITE, &[0xff; 9]).is_err(), "a count that cannot be takes no memory");
}

/// They would take 24 times the frame's bytes before a mutation is looked at.
#[test]
fn more_mutations_than_a_frame_can_hold_take_no_memory() {
    let mut body = Vec::new();
    push_mutations(&[[0; 0]; 1000], &mut body);
    assert!(decode_request(kind::WRITE, &body).is_err());
    assert!(decode_request(kind::COUNT, &body).is_err());
    assert!(decode_answer(kind::COUNTED, body).is_err());
    let mut body = Vec::new();
    push_mutations(&[[0; 26], [0; 26]], &mut body);
    assert!(decode_request(kind::WRITE, &body).is_err(), "a mutation has 27 bytes");
    for (count, is_read) in [(MUTATIONS_MAX, true), (MUTATIONS_MAX + 1, false)] {
        let mut body = Vec::new();
        push_mutations(&vec![[7; MUTATION_BYTES_MIN]; count], &mut body);
        assert_eq!(decode_request(kind::WRITE, &body).is_ok(), is_read, "{count} mutations");
    }
}

#[test]
fn answers_round_trip() {
    let position = Position { token: Token(-5), key: vec![1, 2], row: Some(vec![3]) };
    let answers = [
        PeerAnswer::Written,
        PeerAnswer::Counted { states: vec![vec![3; 200]] },
        PeerAnswer::Fates(vec![Fate::Done, Fate::Unknown, Fate::Unfinished]),
        PeerAnswer::Page(Page { items: vec![7; 500], more_after: Some(position) }),
        PeerAnswer::Page(Page { items: vec![], more_after: None }),
        PeerAnswer::Digest([5; 16]),
        PeerAnswer::Failed(ReplicaError::Overloaded { shard: 1.into(), problem: "full".into() }),
        PeerAnswer::Failed(ReplicaError::TooLarge { size: 10, max: 5 }),
        PeerAnswer::Failed(ReplicaError::Poisoned { shard: 2.into() }),
        PeerAnswer::Failed(ReplicaError::UnknownTable { shard: 3.into() }),
        PeerAnswer::Failed(ReplicaError::DiskFull { shard: 4.into() }),
        PeerAnswer::Failed(ReplicaError::Malformed { shard: 5.into(), problem: "no".into() }),
        PeerAnswer::Failed(ReplicaError::Gone { shard: 6.into() }),
        PeerAnswer::Failed(ReplicaError::NotSynced { shard: 7.into(), reason: SyncError::Poisoned }),
        PeerAnswer::Failed(ReplicaError::NotSynced { shard: 8.into(), reason: SyncError::DiskFull }),
        PeerAnswer::Failed(ReplicaError::Unreadable { shard: 9.into() }),
        PeerAnswer::Failed(ReplicaError::Stale { shard: 10.into(), epoch: Epoch(1 << 40) }),
        PeerAnswer::Failed(ReplicaError::Lags { shard: 11.into(), epoch: Epoch(3) }),
    ];
    for answer in answers {
        let mut body = Vec::new();
        let kind = encode_answer(&answer, &mut body);
        assert_eq!(decode_answer(kind, body), Ok(answer));
    }
    assert!(decode_answer(kind::FAILED, vec![99; 19]).is_err());
    assert!(decode_answer(kind::WRITE, Vec::new()).is_err());
}

/// One frame of each kind, as nodes of version 1 exchange it: `name: bytes in hexadecimal`. These bytes do not change while the version does not.
const FRAMES: &str = include_str!("../../../testdata/frames.txt");

fn frame_of(number: u64, write: impl FnOnce(&mut Vec<u8>) -> u8) -> Vec<u8> {
    let (mut body, mut out) = (Vec::new(), Vec::new());
    let kind = write(&mut body);
    write_frame(&mut out, &Head { number, kind, ..Head::default() }, false, |out| out.extend_from_slice(&body))
        .expect("it is short");
    out
}

fn frames() -> Vec<(&'static str, Vec<u8>)> {
    let request = |request: PeerRequest| frame_of(7, |out| encode_request(&request, out));
    let answer = |answer: PeerAnswer| frame_of(7, |out| encode_answer(&answer, out));
    let read = |of| request(PeerRequest::Read(PeerRead { of, rows: 5, bytes: 6, command: b"command".to_vec() }));
    let position = Position { token: Token(-5), key: vec![1, 2], row: Some(vec![3]) };
    vec![
        ("write", request(PeerRequest::Write { mutations: vec![b"first".to_vec(), vec![2; 130]] })),
        ("read of the owner", read(PeerShard::Owner)),
        ("read of a shard", read(PeerShard::One { shard: 3, count: 4 })),
        ("count", request(PeerRequest::Count { deltas: vec![b"delta".to_vec()] })),
        (
            "digest",
            request(PeerRequest::Digest {
                read: PeerRead { of: PeerShard::Owner, rows: 5, bytes: 6, command: b"command".to_vec() },
                gc_before: 7,
            }),
        ),
        ("written", answer(PeerAnswer::Written)),
        ("page", answer(PeerAnswer::Page(Page { items: b"items".to_vec(), more_after: Some(position) }))),
        ("last page", answer(PeerAnswer::Page(Page { items: b"items".to_vec(), more_after: None }))),
        ("failed", answer(PeerAnswer::Failed(ReplicaError::Overloaded { shard: 1.into(), problem: "full".into() }))),
        ("too large", answer(PeerAnswer::Failed(ReplicaError::TooLarge { size: 10, max: 5 }))),
        (
            "not synced",
            answer(PeerAnswer::Failed(ReplicaError::NotSynced { shard: 8.into(), reason: SyncError::DiskFull })),
        ),
        ("stale", answer(PeerAnswer::Failed(ReplicaError::Stale { shard: 1.into(), epoch: Epoch(17) }))),
        ("counted", answer(PeerAnswer::Counted { states: vec![b"state".to_vec()] })),
        ("digested", answer(PeerAnswer::Digest([5; 16]))),
        ("batch copy", request(PeerRequest::BatchCopy { name: NAME, created: -5, mutations: vec![b"first".to_vec()] })),
        ("batch done", request(PeerRequest::BatchDone { names: vec![NAME] })),
        ("batch ask", request(PeerRequest::BatchAsk { names: vec![NAME] })),
        ("fates", answer(PeerAnswer::Fates(vec![Fate::Unfinished, Fate::Done]))),
        ("prepare", request(PeerRequest::Prepare(prepare()))),
        ("accept", request(PeerRequest::Accept(accept()))),
        ("commit", request(PeerRequest::Commit { mutations: vec![b"first".to_vec(), b"register".to_vec()] })),
        ("promised", answer(PeerAnswer::Prepared(Prepared::Promised(promised())))),
        ("outrun", answer(PeerAnswer::Prepared(Prepared::Outrun(ballot(9))))),
        ("accepted", answer(PeerAnswer::Accepted(Accepted::Done))),
        ("not accepted", answer(PeerAnswer::Accepted(Accepted::Outrun(ballot(9))))),
    ]
}

#[test]
fn a_frame_of_each_kind_has_the_bytes_that_version_2_gave_it() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let text: String = frames().iter().map(|(name, bytes)| format!("{name}: {}\n", hex(bytes))).collect();
    assert_eq!(text, FRAMES);
}
