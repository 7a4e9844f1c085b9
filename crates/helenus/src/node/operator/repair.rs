//! Repairs that this node leads, as operators order them; on shard 0.

use admin::{Answer, Refusal, RepairFacts, RepairOrder, RepairTerms};
use cluster::coordinator::{CommandState, RepairChoice, RepairStatus, RepairedTable, repairs, replication_of};
use topology::{Token, TokenRange};

use super::{Done, Operator};

impl Operator {
    pub(super) async fn repair(&self, order: RepairOrder) -> Done {
        let repairs = repairs(self.engine.coordinator());
        match order {
            RepairOrder::Begin(terms) => self.begin_repair(terms),
            RepairOrder::Status { number, from, wait } => {
                let status = repairs.wait(number, from, wait).await;
                let status = status.ok_or_else(|| Refusal::Refused(format!("unknown repair id {number}")))?;
                Ok(Answer::Repair(Box::new(facts(status))))
            }
            RepairOrder::Running => Ok(Answer::RunningRepairs(repairs.running())),
        }
    }

    fn begin_repair(&self, terms: RepairTerms) -> Done {
        let schema = self.engine.schema();
        let keyspace = schema.keyspace(&terms.keyspace);
        let keyspace =
            keyspace.ok_or_else(|| Refusal::NotFound(format!("keyspace '{}' does not exist", terms.keyspace)))?;
        let tables = self.find_all(&terms.tables)?;
        let tables = tables.iter().map(|table| RepairedTable { id: table.id, name: table.name.clone() }).collect();
        let coordinator = self.engine.coordinator();
        let replication = replication_of(coordinator, keyspace.name(), keyspace.strategy());
        let choice = RepairChoice {
            is_primary: terms.is_primary,
            range: terms.range.map(|(after, end)| TokenRange { after: Token(after), end: Token(end) }),
            datacenters: terms.datacenters,
            hosts: terms.hosts,
        };
        let begun = repairs(coordinator).begin(&terms.keyspace, tables, &replication, &choice);
        begun.map(Answer::RepairBegun).map_err(|refused| Refusal::Refused(refused.to_string()))
    }
}

fn facts(status: RepairStatus) -> RepairFacts {
    let (state, error) = match status.state {
        CommandState::Running => ("RUNNING", None),
        CommandState::Successful => ("SUCCESSFUL", None),
        CommandState::Failed(words) => ("FAILED", Some(words)),
    };
    let lines = status.lines.into_iter().map(|(micros, line)| (micros / 1000, line)).collect();
    let figures = status.figures;
    RepairFacts {
        state,
        error,
        lines,
        units_done: figures.units_done,
        units: figures.units,
        rows: figures.rows,
        bytes: figures.bytes,
        files: figures.files,
    }
}
