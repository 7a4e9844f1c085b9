//! The ends of several logs, and which of them may recover.

use super::*;

const GROUP: GroupId = GroupId { id: 7, incarnation: 0 };

fn end(term: u64, index: u64) -> LogEnd {
    LogEnd { group: GROUP, term: Term(term), index: Index(index), has_leader: false }
}

fn host(id: u8) -> HostId {
    HostId([id; 16])
}

#[test]
fn a_log_s_end_comes_back() {
    let end = LogEnd { has_leader: true, ..end(3, 9) };
    let bytes = end.to_bytes();
    assert_eq!(LogEnd::decode(&bytes), Ok(end));
    assert!((0..bytes.len()).all(|length| LogEnd::decode(&bytes[..length]).is_err()));
}

#[test]
fn only_the_latest_log_recovers() {
    let recovers = |answers: &[LogEnd]| {
        let answers: Vec<_> = answers.iter().map(|answer| (host(2), *answer)).collect();
        may_recover(&end(3, 9), &answers, crate::planted_by_test())
    };
    assert_eq!(recovers(&[]), Ok(()));
    assert_eq!(recovers(&[end(3, 9), end(2, 30)]), Ok(()), "terms come first");
    for later in [end(3, 10), end(4, 1)] {
        let refused = recovers(&[end(1, 1), later]).expect_err("another log is later");
        assert!(matches!(refused, RecoveryError::Later { .. }), "{refused}");
    }
    let leads = LogEnd { has_leader: true, ..end(1, 1) };
    assert_eq!(recovers(&[leads]), Err(RecoveryError::HasLeader { host_id: host(2) }));
    let group = GroupId { incarnation: 5, ..GROUP };
    let recovered = LogEnd { group, ..end(1, 1) };
    assert_eq!(recovers(&[recovered]), Err(RecoveryError::Recovered { host_id: host(2), group }));
}
