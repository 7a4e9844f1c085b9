//! A shard's timeouts, as operators see and set them.

use std::time::Duration;

use query::Engine;

use super::Operator;

/// The time that requests of a kind have.
pub(super) fn timeout(engine: &Engine, kind: admin::TimeoutKind) -> Duration {
    engine.coordinator().timeouts().get(of(kind))
}

/// Sets it on this shard, and on shard 0 for the connections of the node's part in the cluster.
pub(super) fn set_timeout(operator: &Operator, kind: admin::TimeoutKind, time: Duration) {
    operator.engine.coordinator().timeouts().set(of(kind), time);
    if kind == admin::TimeoutKind::InternodeConnect {
        operator.cluster.iter().for_each(|cluster| cluster.set_connect_time(time));
    }
}

fn of(kind: admin::TimeoutKind) -> query::TimeoutKind {
    match kind {
        admin::TimeoutKind::Read => query::TimeoutKind::Read,
        admin::TimeoutKind::Range => query::TimeoutKind::Range,
        admin::TimeoutKind::Write => query::TimeoutKind::Write,
        admin::TimeoutKind::CounterWrite => query::TimeoutKind::CounterWrite,
        admin::TimeoutKind::CasContention => query::TimeoutKind::CasContention,
        admin::TimeoutKind::Truncate => query::TimeoutKind::Truncate,
        admin::TimeoutKind::Misc => query::TimeoutKind::Other,
        admin::TimeoutKind::InternodeConnect => query::TimeoutKind::Connect,
    }
}
