//! The audit log, as operators see it and turn it on and off.

use ::audit::{Figures, Options};
use admin::{Answer, AuditFacts, AuditOrder, Refusal};

use super::{Done, Operator};

/// Does what an operator says of the audit log, on this shard; each shard receives the same.
pub(super) fn audit(operator: &Operator, order: &AuditOrder) -> Done {
    let log = operator.server.audit().ok_or_else(|| Refusal::Refused("this node has no audit log".to_owned()))?;
    match order {
        AuditOrder::Show => {
            let (options, is_on) = log.options();
            Ok(Answer::Audit(Box::new(facts(&options, is_on))))
        }
        AuditOrder::Enable(given) => {
            // What is not given is that of the configuration, as in Cassandra.
            let mut options = operator.audit.clone();
            for (name, value) in given {
                options.set(name, value).map_err(|error| Refusal::Refused(error.to_string()))?;
            }
            log.set(&options, true);
            Ok(Answer::Done)
        }
        AuditOrder::Disable => {
            let (options, _) = log.options();
            log.set(&options, false);
            Ok(Answer::Done)
        }
    }
}

/// The audit log's figures, for metrics; `None`: there is no log.
pub(super) fn audit_figures(operator: &Operator) -> Option<admin::AuditFigures> {
    let Figures { written, dropped, bytes, failures, queue_weight, is_on } = operator.server.audit()?.figures();
    Some(admin::AuditFigures { written, dropped, bytes, failures, queue_weight, is_on })
}

fn facts(options: &Options, is_on: bool) -> AuditFacts {
    let options = options.shown().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    AuditFacts { is_on, options }
}
