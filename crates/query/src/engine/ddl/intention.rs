//! A statement on its way to the leader of the metadata group, and what the leader makes of it. The first byte says which kind of intention it is; those of
//! nodes ([`crate::nodes`]) are 128 and more, those about roles ([`crate::access::ACCESS`]) 4.
//!
//! ```text
//! TRUNCATE: u8 2 · u8 version (1) · 16 table · 16 mark
//! schema:   u8 1, which is its version too · 16 id for a new table · i64 microseconds since 1970
//!     · varint length · keyspace of the session, or empty · varint count · (varint length · ignored property)* · statement
//! of a role: u8 5 · u8 version (1) · varint length · role that is to have all permissions on what is made · the same as after the first byte of a schema's
//! ```

use std::collections::BTreeMap;

use auth::{Access, Actor, Settings, Subject};
use cql_syntax::{AlterTableAction, Properties, Statement};
use metadata::DecodeError;
use planted::{Bug, Planted};
use schema::truncations::{Mark, TableTruncations, TruncationChange};
use schema::{DdlContext, DdlPlan, Schema, SchemaChange, TableId, plan_ddl};
use stdx::{Reader, varint};
use topology::{Ring, Strategies};

use crate::error::QueryError;
use crate::plan::needs_of_statement;

const VERSION: u8 = 1;
/// The first byte of an [`Intention`] that names a role.
const OF_ROLE: u8 = 5;
const OF_ROLE_VERSION: u8 = 1;
/// The first byte of a [`TruncateIntention`].
pub(super) const TRUNCATE: u8 = 2;
const TRUNCATE_VERSION: u8 = 1;

/// A TRUNCATE, of a table that the asking node knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TruncateIntention {
    pub(super) table: TableId,
    /// The truncation's name: a fresh UUID.
    pub(super) mark: Mark,
}

impl TruncateIntention {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        [&[TRUNCATE, TRUNCATE_VERSION][..], &self.table.0, &self.mark.0].concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<TruncateIntention, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        assert_eq!(kind, TRUNCATE, "the planner tells intentions apart");
        match reader.u8()? {
            TRUNCATE_VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: TRUNCATE_VERSION }),
        }
        let intention = TruncateIntention { table: TableId(reader.array()?), mark: Mark(reader.array()?) };
        match reader.is_empty() {
            true => Ok(intention),
            false => Err(DecodeError::Invalid { problem: "trailing bytes in a TRUNCATE".to_owned() }),
        }
    }

    /// Plans it on a state: nothing, if there is no such table.
    pub(super) fn plan(self, schema: &Schema) -> Option<TruncationChange> {
        schema.table_by_id(self.table)?;
        Some(TruncationChange::Truncate(self.table, self.mark))
    }
}

/// The truncations that take effect with changes of the schema. A new table may have the id of a dropped one, whose rows commit logs have still: they are
/// truncated with it, since a start would apply them to the new table, whose columns may be others. Those of tables that `dropped` names are forgotten.
pub(super) fn truncations_beside(
    (before, truncations): (&Schema, &TableTruncations),
    changes: &[SchemaChange],
    dropped: &[TableId],
    new_id: TableId,
) -> Vec<TruncationChange> {
    let is_known = |table: &&TableId| truncations.mark(**table).is_some();
    let forgotten = dropped.iter().filter(is_known).map(|table| TruncationChange::Forget(*table));
    let reused = changes.iter().filter_map(|change| match change {
        // The statement gave the id.
        SchemaChange::PutTable(table) if table.id != new_id && before.table_by_id(table.id).is_none() => {
            Some(TruncationChange::Truncate(table.id, Mark(new_id.0)))
        }
        _ => None,
    });
    forgotten.chain(reused).collect()
}

/// A schema statement with all that its plan depends on beside the state, so that whoever plans it on that state makes the same of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Intention {
    /// The id for a new table: a fresh UUID.
    pub(super) new_id: TableId,
    /// The asking node's clock, microseconds since 1970.
    pub(super) now_micros: i64,
    /// The session's keyspace, for names without one.
    pub(super) keyspace: Option<String>,
    /// Table properties that the asking node's guardrails leave out.
    pub(super) ignored: Vec<String>,
    /// The role that is to have all permissions on what the statement makes. Without one the bytes are as before there were roles: a leader of an older
    /// release reads them.
    pub(super) creator: Option<String>,
    /// The statement.
    pub(super) text: String,
}

impl Intention {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = match &self.creator {
            None => vec![VERSION],
            Some(creator) => {
                let mut out = vec![OF_ROLE, OF_ROLE_VERSION];
                put(&mut out, creator);
                out
            }
        };
        out.extend_from_slice(&self.new_id.0);
        out.extend_from_slice(&self.now_micros.to_be_bytes());
        put(&mut out, self.keyspace.as_deref().unwrap_or_default());
        varint::encode(self.ignored.len() as u64, &mut out);
        self.ignored.iter().for_each(|name| put(&mut out, name));
        out.extend_from_slice(self.text.as_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Intention, DecodeError> {
        let mut reader = Reader::new(bytes);
        let creator = match reader.u8()? {
            VERSION => None,
            OF_ROLE => match reader.u8()? {
                OF_ROLE_VERSION => Some(string(reader.varint_bytes()?)?),
                version => return Err(DecodeError::NewerVersion { version, supported: OF_ROLE_VERSION }),
            },
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        };
        let new_id = TableId(reader.array()?);
        let now_micros = i64::from_be_bytes(reader.array()?);
        let keyspace = Some(string(reader.varint_bytes()?)?).filter(|name| !name.is_empty());
        let count = reader.varint()?;
        let mut ignored = Vec::new();
        for _ in 0..count {
            ignored.push(string(reader.varint_bytes()?)?);
        }
        Ok(Intention { new_id, now_micros, keyspace, ignored, creator, text: string(reader.rest())? })
    }

    /// Refuses what its role may not do by a state. It was checked when it was asked for, and a REVOKE may be before it in the log.
    pub(super) fn check(&self, access: &Access, planted: Planted) -> Result<(), QueryError> {
        // The node that named the role checks permissions. A leader that does not is one whose configuration is another.
        const SETTINGS: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
        let Some(role) = self.creator.as_deref().filter(|_| !planted.is(Bug::LeaderDoesNotCheck)) else {
            return Ok(());
        };
        let needs = needs_of_statement(&cql_syntax::parse(&self.text)?, self.keyspace.as_deref())?;
        Ok(Subject::new(access, Actor::Role(role), SETTINGS).check_all(&needs)?)
    }

    /// Plans the statement on a state, for the nodes of a ring and the strategies that keyspaces may name. The node that was asked decides if columns may
    /// have masks, and proposes no statement that it refuses itself.
    pub(super) fn plan(&self, schema: &Schema, ring: &Ring, strategies: &Strategies) -> Result<DdlPlan, QueryError> {
        self.plan_with((schema, ring, strategies), true)
    }

    /// Plans a statement that gives columns masks where that is not enabled: it is refused, or changes nothing.
    pub(super) fn plan_without_masks(
        &self,
        schema: &Schema,
        ring: &Ring,
        strategies: &Strategies,
    ) -> Result<DdlPlan, QueryError> {
        let plan = self.plan_with((schema, ring, strategies), false)?;
        assert!(plan.changes.is_empty(), "a statement with a mask changes nothing where masks are not enabled");
        Ok(plan)
    }

    fn plan_with(
        &self,
        (schema, ring, strategies): (&Schema, &Ring, &Strategies),
        masks_enabled: bool,
    ) -> Result<DdlPlan, QueryError> {
        let mut statement = cql_syntax::parse(&self.text)?;
        if let Some(properties) = properties_mut(&mut statement) {
            properties.retain(|(name, _)| !self.ignored.contains(name));
        }
        let mut datacenters = BTreeMap::new();
        for node in ring.nodes() {
            *datacenters.entry(node.datacenter.clone()).or_default() += 1;
        }
        let context = DdlContext {
            current_keyspace: self.keyspace.as_deref(),
            new_id: self.new_id,
            datacenters: &datacenters,
            strategies,
            now_micros: self.now_micros,
            masks_enabled,
        };
        Ok(plan_ddl(schema, &statement, &context)?)
    }
}

/// The names of a statement's table properties.
pub(super) fn property_names(statement: &mut Statement) -> Vec<String> {
    properties_mut(statement).map(|of| of.iter().map(|(name, _)| name.clone()).collect()).unwrap_or_default()
}

fn properties_mut(statement: &mut Statement) -> Option<&mut Properties> {
    match statement {
        Statement::CreateTable(create) => Some(&mut create.properties),
        Statement::AlterTable(alter) => match &mut alter.action {
            AlterTableAction::With(properties) => Some(properties),
            _ => None,
        },
        _ => None,
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn string(bytes: &[u8]) -> Result<String, DecodeError> {
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned).map_err(|_| DecodeError::Invalid { problem: "a schema statement is not UTF-8".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncate_is_the_same_after_its_way() {
        let intention = TruncateIntention { table: TableId([7; 16]), mark: Mark([8; 16]) };
        let bytes = intention.to_bytes();
        assert_eq!(TruncateIntention::decode(&bytes), Ok(intention));
        (1..bytes.len()).for_each(|length| assert!(TruncateIntention::decode(&bytes[..length]).is_err()));
        assert!(TruncateIntention::decode(&[&bytes[..], &[0]].concat()).is_err());
        let newer = TruncateIntention::decode(&[&[TRUNCATE, 2], &bytes[2..]].concat());
        assert_eq!(newer, Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
        assert_eq!(intention.plan(&Schema::empty()), None, "there is no such table");
    }

    #[test]
    fn an_intention_is_the_same_after_its_way() {
        for (keyspace, ignored, creator) in [
            (None, vec![], None),
            (Some("ks".to_owned()), vec!["comment".to_owned(), String::new()], None),
            (None, vec![], Some("ada".to_owned())),
        ] {
            let text = "CREATE TABLE t (k int PRIMARY KEY)".to_owned();
            let intention = Intention { new_id: TableId([7; 16]), now_micros: -5, keyspace, ignored, creator, text };
            let bytes = intention.to_bytes();
            assert_eq!(Intention::decode(&bytes), Ok(intention));
            // The statement is the rest: what is cut off of it is no error of the layout.
            (0..bytes.len()).for_each(|length| drop(Intention::decode(&bytes[..length])));
        }
        let newer = Intention::decode(&[OF_ROLE, 2, 0]);
        assert_eq!(newer, Err(DecodeError::NewerVersion { version: 2, supported: 1 }));
        let many = [&[VERSION][..], &[0; 24], &[0], &[0xff; 9]].concat();
        assert!(Intention::decode(&many).is_err());
    }
}
