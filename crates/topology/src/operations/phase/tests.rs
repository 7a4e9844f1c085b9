//! Phases against the table of `docs/internals/operations.md`.

use super::*;

const ALL: [Phase; 7] =
    [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy, Phase::ReadNew, Phase::Done, Phase::Aborted];

#[test]
fn each_phase_reads_and_writes_as_the_page_says() {
    use ConsistencyLevel::{All, EachQuorum, LocalOne, LocalQuorum, LocalSerial, One, Quorum, Serial, Three, Two};
    use Halves::{Both, New, Old};
    for (phase, below, quorum, writes, serial) in [
        (Phase::Queued, Old, Old, Old, Old),
        (Phase::Planned, Old, Old, Old, Old),
        (Phase::WriteBoth, Old, Both, Both, Both),
        (Phase::Copy, Old, Both, Both, Both),
        (Phase::ReadNew, New, New, Both, Both),
        (Phase::Done, New, New, New, New),
        (Phase::Aborted, Old, Old, Old, Old),
    ] {
        for level in [One, Two, Three, LocalOne] {
            assert_eq!(phase.reads(level), below, "{phase} at {level}");
        }
        for level in [Quorum, LocalQuorum, EachQuorum, All] {
            assert_eq!(phase.reads(level), quorum, "{phase} at {level}");
        }
        for level in [Serial, LocalSerial] {
            assert_eq!(phase.reads(level), serial, "{phase} at {level}");
        }
        assert_eq!((phase.writes(), phase.electorate()), (writes, serial), "{phase}");
    }
}

#[test]
fn phases_pass_forward_and_are_aborted_until_the_new_replicas_are_read() {
    let follow: Vec<(Phase, Phase)> =
        ALL.iter().flat_map(|&from| ALL.map(|to| (from, to))).filter(|(from, to)| from.may_become(*to)).collect();
    let forward = [
        (Phase::Queued, Phase::Planned),
        (Phase::Planned, Phase::WriteBoth),
        (Phase::WriteBoth, Phase::Copy),
        (Phase::Copy, Phase::ReadNew),
        (Phase::ReadNew, Phase::Done),
    ];
    let aborted = [Phase::Queued, Phase::Planned, Phase::WriteBoth, Phase::Copy].map(|from| (from, Phase::Aborted));
    let mut expected = [&forward[..], &aborted].concat();
    expected.sort_unstable();
    assert_eq!(follow, expected);
    assert!(ALL.iter().all(|phase| phase.next().is_some() || !phase.is_running()));
}

#[test]
fn the_bytes_of_phases_stay() {
    assert_eq!(ALL.map(Phase::byte), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ALL.map(|phase| Phase::of_byte(phase.byte())), ALL.map(Some));
    assert_eq!((Phase::of_byte(0), Phase::of_byte(8)), (None, None));
}

#[test]
fn phases_of_one_placement_are_those_whose_sets_are_the_same() {
    let sets = |phase: Phase| {
        let levels = [ConsistencyLevel::One, ConsistencyLevel::Quorum, ConsistencyLevel::Serial];
        (levels.map(|level| phase.reads(level)), phase.writes())
    };
    for one in ALL {
        for other in ALL {
            assert_eq!(one.places_as(other), sets(one) == sets(other), "{one}, {other}");
            assert!(one.carries_over(Answer::Written, other));
            for answer in [Answer::Read, Answer::Paxos] {
                assert_eq!(one.carries_over(answer, other), one.places_as(other), "{one}, {other}");
            }
        }
    }
}
