//! A statement on its way to the leader of the metadata group, and what the leader makes of it. The first byte says which kind of intention it is; those of
//! nodes ([`crate::nodes`]) are 128 and more, those about roles ([`crate::access::ACCESS`]) 4.
//!
//! ```text
//! TRUNCATE: u8 2 · u8 version (1) · 16 table · 16 mark
//! of a role: u8 2 · u8 version (2) · 16 table · 16 mark · varint length · role that must have MODIFY on the table
//! schema:   u8 1, which is its version too · 16 id for a new table · i64 microseconds since 1970
//!     · varint length · keyspace of the session, or empty · varint count · (varint length · ignored property)* · statement
//! of a role: u8 5 · u8 version (1) · varint length · role that is to have all permissions on what is made · the same as after the first byte of a schema's
//! ```

use std::collections::BTreeMap;

use auth::{Access, Actor, Requirement, Settings, Subject};
use cql_syntax::{AlterTableAction, Properties, Statement};
use metadata::DecodeError;
use planted::{Bug, Planted};
use schema::truncations::{Mark, TableTruncations, TruncationChange};
use schema::{DdlContext, DdlPlan, Schema, SchemaChange, TableId, plan_ddl};
use stdx::{Reader, varint};
use topology::{Ring, Strategies};

use crate::error::QueryError;
use crate::plan::{needs_of_statement, needs_of_truncate};

const VERSION: u8 = 1;
/// The first byte of an [`Intention`] that names a role.
const OF_ROLE: u8 = 5;
const OF_ROLE_VERSION: u8 = 1;
/// The first byte of a [`TruncateIntention`].
pub(super) const TRUNCATE: u8 = 2;
const TRUNCATE_VERSION: u8 = 1;
/// The version of one that names a role.
const TRUNCATE_OF_ROLE: u8 = 2;
/// The settings by which the leader judges a role. The node that named it checks permissions; a leader that does not is one whose configuration is another.
const CHECKED: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

/// A TRUNCATE, of a table that the asking node knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TruncateIntention {
    pub(super) table: TableId,
    /// The truncation's name: a fresh UUID.
    pub(super) mark: Mark,
    /// The role that asks, where permissions are checked. Without one the bytes are of version 1: a leader of an older release reads them.
    pub(super) role: Option<String>,
}

impl TruncateIntention {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let version = if self.role.is_some() { TRUNCATE_OF_ROLE } else { TRUNCATE_VERSION };
        let mut out = [&[TRUNCATE, version][..], &self.table.0, &self.mark.0].concat();
        if let Some(role) = &self.role {
            put(&mut out, role);
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<TruncateIntention, DecodeError> {
        let mut reader = Reader::new(bytes);
        let kind = reader.u8()?;
        assert_eq!(kind, TRUNCATE, "the planner tells intentions apart");
        let is_of_role = match reader.u8()? {
            TRUNCATE_VERSION => false,
            TRUNCATE_OF_ROLE => true,
            version => return Err(DecodeError::NewerVersion { version, supported: TRUNCATE_OF_ROLE }),
        };
        let (table, mark) = (TableId(reader.array()?), Mark(reader.array()?));
        let role = is_of_role.then(|| string(reader.varint_bytes()?)).transpose()?;
        let intention = TruncateIntention { table, mark, role };
        match reader.is_empty() {
            true => Ok(intention),
            false => Err(DecodeError::Invalid { problem: "trailing bytes in a TRUNCATE".to_owned() }),
        }
    }

    /// Plans it on a state: nothing, if there is no such table, or its role may not truncate it. The role was judged when it asked, and a REVOKE may be
    /// before it in the log.
    pub(super) fn plan(&self, schema: &Schema, access: &Access, planted: Planted) -> Option<TruncationChange> {
        let table = schema.table_by_id(self.table)?;
        if !planted.is(Bug::TruncateJudgedByTheAsker) {
            check_truncate(self.role.as_deref(), access, (&table.keyspace, &table.name)).ok()?;
        }
        Some(TruncationChange::Truncate(self.table, self.mark))
    }
}

/// Refuses a TRUNCATE that its role may not ask for by a state. On the node that was asked and on the leader, whose tables have the same names.
pub(super) fn check_truncate(
    role: Option<&str>,
    access: &Access,
    (keyspace, table): (&str, &str),
) -> Result<(), QueryError> {
    check_role(role, access, || Ok(needs_of_truncate(keyspace, table)))
}

fn check_role(
    role: Option<&str>,
    access: &Access,
    needs: impl FnOnce() -> Result<Vec<Requirement>, QueryError>,
) -> Result<(), QueryError> {
    let Some(role) = role else { return Ok(()) };
    Ok(Subject::new(access, Actor::Role(role), CHECKED).check_all(&needs()?)?)
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
        let role = self.creator.as_deref().filter(|_| !planted.is(Bug::LeaderDoesNotCheck));
        check_role(role, access, || needs_of_statement(&cql_syntax::parse(&self.text)?, self.keyspace.as_deref()))
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
    use auth::{AccessChange, Attributes, Permission, Resource};

    use super::*;

    fn truncate(role: Option<&str>) -> TruncateIntention {
        TruncateIntention { table: TableId([7; 16]), mark: Mark([8; 16]), role: role.map(str::to_owned) }
    }

    #[test]
    fn a_truncate_is_the_same_after_its_way() {
        for role in [None, Some("ada"), Some("r\u{f6}le with a space")] {
            let intention = truncate(role);
            let bytes = intention.to_bytes();
            assert_eq!(TruncateIntention::decode(&bytes), Ok(intention));
            (1..bytes.len()).for_each(|length| assert!(TruncateIntention::decode(&bytes[..length]).is_err()));
            assert!(TruncateIntention::decode(&[&bytes[..], &[0]].concat()).is_err());
            let newer = TruncateIntention::decode(&[&[TRUNCATE, 3], &bytes[2..]].concat());
            assert_eq!(newer, Err(DecodeError::NewerVersion { version: 3, supported: 2 }));
        }
        let no_text = [&[TRUNCATE, TRUNCATE_OF_ROLE][..], &[0; 32], &[1, 0xff]].concat();
        assert!(TruncateIntention::decode(&no_text).is_err(), "a role's name is UTF-8");
        let endless = [&[TRUNCATE, TRUNCATE_OF_ROLE][..], &[0; 32], &[0xff; 9]].concat();
        assert!(TruncateIntention::decode(&endless).is_err());
    }

    /// The bytes that releases before there were roles in it write and read.
    #[test]
    fn a_truncate_without_a_role_has_the_bytes_of_the_first_version() {
        let bytes = [&[2, 1][..], &[7; 16], &[8; 16]].concat();
        assert_eq!(truncate(None).to_bytes(), bytes);
        assert_eq!(TruncateIntention::decode(&bytes), Ok(truncate(None)));
        assert_eq!(truncate(Some("ada")).to_bytes(), [&[2, 2][..], &[7; 16], &[8; 16], &[3], b"ada"].concat());
    }

    #[test]
    fn a_truncate_is_planned_by_what_its_role_may_do_there() {
        let schema = ["CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"]
            .into_iter()
            .chain(["CREATE TABLE ks.t (k int PRIMARY KEY)"])
            .fold(Schema::empty(), |schema, text| {
                let context = DdlContext {
                    current_keyspace: None,
                    new_id: TableId([7; 16]),
                    datacenters: &[("datacenter1".to_owned(), 1)].into(),
                    strategies: &Strategies::default(),
                    now_micros: 1,
                    masks_enabled: false,
                };
                let statement = cql_syntax::parse(text).expect("a statement");
                schema.with_all(&plan_ddl(&schema, &statement, &context).expect("it can be done").changes)
            });
        let put = |name: &str, is_superuser| {
            let attributes = Attributes { is_superuser, ..Attributes::default() };
            AccessChange::PutRole(name.to_owned(), attributes)
        };
        let grants = vec![(Resource::table("ks", "t"), Permission::Modify.into())];
        let before = Access::default().with_all(&[put("root", true), put("ada", false), put("bob", false)]);
        let granted = before.with(&AccessChange::Grant("ada".to_owned(), grants));
        let is_planned = |role, schema: &Schema, access: &Access| {
            truncate(role).plan(schema, access, Planted::NONE)
                == Some(TruncationChange::Truncate(TableId([7; 16]), Mark([8; 16])))
        };
        assert!(is_planned(Some("ada"), &schema, &granted) && !is_planned(Some("ada"), &schema, &before));
        assert!(!is_planned(Some("bob"), &schema, &granted) && !is_planned(Some("eve"), &schema, &granted));
        assert!(is_planned(Some("root"), &schema, &before) && is_planned(None, &schema, &before));
        for role in [None, Some("root"), Some("ada")] {
            assert!(!is_planned(role, &Schema::empty(), &granted), "there is no such table");
        }
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
