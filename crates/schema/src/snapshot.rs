//! The schema as one shard sees it: an immutable snapshot, cheap to clone.

use std::collections::BTreeMap;
use std::rc::Rc;

use md5::{Digest, Md5};

use crate::change::SchemaChange;
use crate::codec;
use crate::ids::TableId;
use crate::keyspace::{Keyspace, KeyspaceDef};
use crate::table::Table;

/// All keyspaces and tables at one moment.
#[derive(Debug, Clone)]
pub struct Schema {
    inner: Rc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    keyspaces: BTreeMap<String, Rc<Keyspace>>,
    tables: BTreeMap<TableId, Rc<Table>>,
    version: [u8; 16],
}

impl Default for Schema {
    fn default() -> Self {
        Schema::empty()
    }
}

impl Schema {
    /// A schema without keyspaces.
    pub fn empty() -> Self {
        Schema::of(BTreeMap::new(), BTreeMap::new())
    }

    fn of(keyspaces: BTreeMap<String, Rc<Keyspace>>, tables: BTreeMap<TableId, Rc<Table>>) -> Self {
        let mut digest = Md5::new();
        for keyspace in keyspaces.values() {
            digest.update(keyspace.digest);
        }
        let version = name_based_uuid(digest.finalize().into());
        Schema { inner: Rc::new(Inner { keyspaces, tables, version }) }
    }

    /// A UUID that is equal for equal schemas, on any node and after a restart.
    pub fn version(&self) -> [u8; 16] {
        self.inner.version
    }

    /// Keyspaces by name.
    pub fn keyspaces(&self) -> &BTreeMap<String, Rc<Keyspace>> {
        &self.inner.keyspaces
    }

    /// The keyspace called `name`.
    pub fn keyspace(&self, name: &str) -> Option<&Rc<Keyspace>> {
        self.inner.keyspaces.get(name)
    }

    /// The table called `name` in `keyspace`.
    pub fn table(&self, keyspace: &str, name: &str) -> Option<&Rc<Table>> {
        self.keyspace(keyspace)?.table(name)
    }

    /// The table with `id`.
    #[inline]
    pub fn table_by_id(&self, id: TableId) -> Option<&Rc<Table>> {
        self.inner.tables.get(&id)
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Rc<Table>> {
        self.inner.tables.values()
    }

    /// The schema after `change`. A change of what is not there is no change: replaying a log is safe.
    #[must_use]
    pub fn with(&self, change: &SchemaChange) -> Schema {
        self.with_all(std::slice::from_ref(change))
    }

    /// The schema after all of `changes`.
    #[must_use]
    pub fn with_all(&self, changes: &[SchemaChange]) -> Schema {
        let mut keyspaces = self.inner.keyspaces.clone();
        let mut tables = self.inner.tables.clone();
        for change in changes {
            match change {
                SchemaChange::PutKeyspace(def) => {
                    let existing = keyspaces.get(&def.name).map(|keyspace| keyspace.tables.clone());
                    put_keyspace(&mut keyspaces, def.clone(), existing.unwrap_or_default());
                }
                SchemaChange::DropKeyspace(name) => {
                    for table in keyspaces.remove(name).iter().flat_map(|keyspace| keyspace.tables.values()) {
                        tables.remove(&table.id);
                    }
                }
                SchemaChange::PutTable(table) => {
                    let Some(keyspace) = keyspaces.get(&table.keyspace).cloned() else { continue };
                    let table = Rc::new(table.clone());
                    let mut of_keyspace = keyspace.tables.clone();
                    if let Some(replaced) = of_keyspace.insert(table.name.clone(), Rc::clone(&table)) {
                        tables.remove(&replaced.id);
                    }
                    tables.insert(table.id, table);
                    put_keyspace(&mut keyspaces, keyspace.def.clone(), of_keyspace);
                }
                SchemaChange::DropTable { keyspace, name, id } => {
                    let Some(keyspace) = keyspaces.get(keyspace).cloned() else { continue };
                    if keyspace.table(name).is_none_or(|table| table.id != *id) {
                        continue;
                    }
                    let mut of_keyspace = keyspace.tables.clone();
                    of_keyspace.remove(name);
                    tables.remove(id);
                    put_keyspace(&mut keyspaces, keyspace.def.clone(), of_keyspace);
                }
            }
        }
        Schema::of(keyspaces, tables)
    }
}

fn put_keyspace(keyspaces: &mut BTreeMap<String, Rc<Keyspace>>, def: KeyspaceDef, tables: BTreeMap<String, Rc<Table>>) {
    let mut bytes = Vec::new();
    codec::encode_keyspace(&def, &mut bytes);
    for table in tables.values() {
        codec::encode_table(table, &mut bytes);
    }
    let digest = Md5::digest(&bytes).into();
    keyspaces.insert(def.name.clone(), Rc::new(Keyspace { def, tables, digest }));
}

/// `digest` with the version and variant bits of a name-based (MD5) UUID.
fn name_based_uuid(mut digest: [u8; 16]) -> [u8; 16] {
    digest[6] = (digest[6] & 0x0f) | 0x30;
    digest[8] = (digest[8] & 0x3f) | 0x80;
    digest
}

#[cfg(test)]
mod tests;
