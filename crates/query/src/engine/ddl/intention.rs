//! A schema statement on its way to the leader of the metadata group, and what the leader makes of it.
//!
//! ```text
//! u8 version (1) · 16 id for a new table · i64 microseconds since 1970
//!     · varint length · keyspace of the session, or empty · varint count · (varint length · ignored property)* · statement
//! ```

use std::collections::BTreeSet;

use cql_syntax::{AlterTableAction, Properties, Statement};
use metadata::DecodeError;
use schema::{DdlContext, DdlPlan, Schema, TableId, plan_ddl};
use stdx::{Reader, varint};
use topology::Ring;

use crate::error::QueryError;

const VERSION: u8 = 1;

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
    /// The statement.
    pub(super) text: String,
}

impl Intention {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
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
        match reader.u8()? {
            VERSION => {}
            version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
        }
        let new_id = TableId(reader.array()?);
        let now_micros = i64::from_be_bytes(reader.array()?);
        let keyspace = Some(string(reader.varint_bytes()?)?).filter(|name| !name.is_empty());
        let count = reader.varint()?;
        let mut ignored = Vec::new();
        for _ in 0..count {
            ignored.push(string(reader.varint_bytes()?)?);
        }
        Ok(Intention { new_id, now_micros, keyspace, ignored, text: string(reader.rest())? })
    }

    /// Plans the statement on a state.
    pub(super) fn plan(&self, schema: &Schema, ring: &Ring) -> Result<DdlPlan, QueryError> {
        let mut statement = cql_syntax::parse(&self.text)?;
        if let Some(properties) = properties_mut(&mut statement) {
            properties.retain(|(name, _)| !self.ignored.contains(name));
        }
        let datacenters: BTreeSet<String> = ring.nodes().iter().map(|node| node.datacenter.clone()).collect();
        let context = DdlContext {
            current_keyspace: self.keyspace.as_deref(),
            new_id: self.new_id,
            datacenters: &datacenters,
            node_count: ring.nodes().len(),
            now_micros: self.now_micros,
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
    fn an_intention_is_the_same_after_its_way() {
        for (keyspace, ignored) in [(None, vec![]), (Some("ks".to_owned()), vec!["comment".to_owned(), String::new()])]
        {
            let text = "CREATE TABLE t (k int PRIMARY KEY)".to_owned();
            let intention = Intention { new_id: TableId([7; 16]), now_micros: -5, keyspace, ignored, text };
            let bytes = intention.to_bytes();
            assert_eq!(Intention::decode(&bytes), Ok(intention));
            // The statement is the rest: what is cut off of it is no error of the layout.
            (0..bytes.len()).for_each(|length| drop(Intention::decode(&bytes[..length])));
        }
        let many = [&[VERSION][..], &[0; 24], &[0], &[0xff; 9]].concat();
        assert!(Intention::decode(&many).is_err());
    }
}
