//! The columns of a result, as clients are told of them.

use std::cell::OnceCell;
use std::rc::Rc;

use cql_protocol::Version;
use cql_protocol::response::{ColumnSpec, EncodedSpecs};
use cql_types::CqlType;
use md5::{Digest, Md5};
use schema::Table;

/// The columns of a result. How a version of the protocol describes them is laid down when a client first asks for it in that version, and stays.
#[derive(Debug)]
pub(crate) struct ResultColumns {
    /// Whose rows the result has.
    table: Rc<Table>,
    named: Vec<(String, CqlType)>,
    v3: OnceCell<EncodedSpecs>,
    v4: OnceCell<EncodedSpecs>,
    v5: OnceCell<EncodedSpecs>,
    id: OnceCell<[u8; 16]>,
}

impl ResultColumns {
    pub(crate) fn new(table: Rc<Table>, named: Vec<(String, CqlType)>) -> Self {
        let (v3, v4, v5, id) = Default::default();
        ResultColumns { table, named, v3, v4, v5, id }
    }

    /// How many.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.named.len()
    }

    /// One by one.
    pub(crate) fn specs(&self) -> Vec<ColumnSpec<'_>> {
        let (keyspace, table) = (self.table.keyspace.as_str(), self.table.name.as_str());
        self.named.iter().map(|(name, ty)| ColumnSpec { keyspace, table, name, ty }).collect()
    }

    /// As that version describes them.
    #[inline]
    pub(crate) fn encoded(&self, version: Version) -> &EncodedSpecs {
        let encoded = match version {
            Version::V3 => &self.v3,
            Version::V4 => &self.v4,
            Version::V5 => &self.v5,
        };
        encoded.get_or_init(|| EncodedSpecs::new(version, &self.specs()))
    }

    /// What version 5 knows them by.
    #[inline]
    pub(crate) fn id(&self) -> &[u8; 16] {
        self.id.get_or_init(|| self.digest())
    }

    #[cold]
    fn digest(&self) -> [u8; 16] {
        let (mut digest, mut encoded) = (Md5::new(), Vec::new());
        for (name, ty) in &self.named {
            digest.update(name.as_bytes());
            digest.update([0]);
            digest.update(ty.to_string().as_bytes());
            digest.update([0, 0]);
            // The name of a user-defined type does not tell its fields.
            encoded.clear();
            cql_protocol::write_type(&mut encoded, Version::V5, ty);
            digest.update(&encoded);
        }
        digest.finalize().into()
    }
}
