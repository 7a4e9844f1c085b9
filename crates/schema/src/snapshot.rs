//! The schema as one shard sees it: an immutable snapshot, cheap to clone.

use std::collections::BTreeMap;
use std::rc::Rc;

use md5::{Digest, Md5};

use crate::change::SchemaChange;
use crate::codec;
use crate::ids::TableId;
use crate::keyspace::{Keyspace, KeyspaceDef};
use crate::table::Table;
use crate::user_type::{named, refers_to};

/// All keyspaces and tables at one moment.
#[derive(Debug, Clone)]
pub struct Schema {
    inner: Rc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The names are shared by all snapshots: a change makes another map, and should not write each name anew.
    keyspaces: BTreeMap<Rc<str>, Rc<Keyspace>>,
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

    fn of(keyspaces: BTreeMap<Rc<str>, Rc<Keyspace>>, tables: BTreeMap<TableId, Rc<Table>>) -> Self {
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
    pub fn keyspaces(&self) -> &BTreeMap<Rc<str>, Rc<Keyspace>> {
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

    /// The keyspaces that `before` has not, or not as they are here: they may say the same.
    pub fn changed_since(&self, before: &Schema) -> impl Iterator<Item = &Rc<Keyspace>> {
        // Both are in the order of their names.
        let mut known = before.inner.keyspaces.iter().peekable();
        let is_changed = move |(name, keyspace): &(&Rc<str>, &Rc<Keyspace>)| {
            while known.next_if(|(earlier, _)| earlier < name).is_some() {}
            known.peek().is_none_or(|(_, same)| !Rc::ptr_eq(same, keyspace))
        };
        self.inner.keyspaces.iter().filter(is_changed).map(|(_, keyspace)| keyspace)
    }

    /// The changes that make this schema of an empty one.
    pub fn as_changes(&self) -> Vec<SchemaChange> {
        let mut changes = Vec::new();
        for keyspace in self.keyspaces().values() {
            changes.push(SchemaChange::PutKeyspace(keyspace.def.clone()));
            changes.extend(keyspace.types.values().cloned().map(SchemaChange::PutType));
            let tables = keyspace.tables.values().map(|table| Box::new(table.with_types(named)));
            changes.extend(tables.map(SchemaChange::PutTable));
        }
        changes
    }

    /// The schema after `change`. A change of what is not there is no change: replaying a log is safe.
    #[must_use]
    pub fn with(&self, change: &SchemaChange) -> Schema {
        self.with_all(std::slice::from_ref(change))
    }

    /// The schema after all of `changes`. Copies each keyspace that changes once, however many changes there are: a log is
    /// replayed with one call.
    #[must_use]
    pub fn with_all(&self, changes: &[SchemaChange]) -> Schema {
        let mut draft = Draft {
            keyspaces: self.inner.keyspaces.clone(),
            tables: self.inner.tables.clone(),
            changed: BTreeMap::new(),
        };
        for change in changes {
            draft.apply(change);
        }
        draft.finish()
    }
}

/// A schema in the making.
struct Draft {
    keyspaces: BTreeMap<Rc<str>, Rc<Keyspace>>,
    tables: BTreeMap<TableId, Rc<Table>>,
    /// Keyspaces that were changed, taken out of `keyspaces`; their digests are due.
    changed: BTreeMap<String, Keyspace>,
}

impl Draft {
    /// The keyspace called `name`, to be changed.
    fn keyspace(&mut self, name: &str) -> Option<&mut Keyspace> {
        if let Some(keyspace) = self.keyspaces.remove(name) {
            self.changed.insert(name.to_owned(), Keyspace::clone(&keyspace));
        }
        self.changed.get_mut(name)
    }

    fn apply(&mut self, change: &SchemaChange) {
        match change {
            SchemaChange::PutKeyspace(def) => match self.keyspace(&def.name) {
                Some(keyspace) => keyspace.def.clone_from(def),
                None => {
                    self.changed.insert(def.name.clone(), empty_keyspace(def.clone()));
                }
            },
            SchemaChange::DropKeyspace(name) => {
                self.keyspace(name);
                let Some(keyspace) = self.changed.remove(name) else { return };
                for table in keyspace.tables.values() {
                    self.tables.remove(&table.id);
                }
            }
            SchemaChange::PutTable(table) => {
                let Some(keyspace) = self.keyspace(&table.keyspace) else { return };
                let before = keyspace.table(&table.name).filter(|before| before.id == table.id);
                let table = Rc::new(table.filled(&keyspace.types, before.map(Rc::as_ref)));
                let mut bytes = Vec::new();
                codec::encode_table(&table, &mut bytes);
                keyspace.table_digests.insert(table.name.clone(), Md5::digest(&bytes).into());
                if let Some(replaced) = keyspace.tables.insert(table.name.clone(), Rc::clone(&table)) {
                    self.tables.remove(&replaced.id);
                }
                self.tables.insert(table.id, table);
            }
            SchemaChange::DropTable { keyspace, name, id } => {
                let Some(keyspace) = self.keyspace(keyspace) else { return };
                if keyspace.table(name).is_some_and(|table| table.id == *id) {
                    keyspace.tables.remove(name);
                    keyspace.table_digests.remove(name);
                    self.tables.remove(id);
                }
            }
            SchemaChange::PutType(ty) => {
                let Some(keyspace) = self.keyspace(&ty.keyspace) else { return };
                keyspace.types.insert(ty.name.clone(), ty.clone());
                self.fill_types(&ty.keyspace, &ty.name);
            }
            SchemaChange::DropType { keyspace: in_keyspace, name } => {
                let Some(keyspace) = self.keyspace(in_keyspace) else { return };
                keyspace.types.remove(name);
                self.fill_types(in_keyspace, name);
            }
        }
    }

    /// Fills in anew the types of all tables in which the user-defined type `name` stands.
    fn fill_types(&mut self, keyspace: &str, name: &str) {
        let Some(keyspace) = self.changed.get_mut(keyspace) else { return };
        for table in keyspace.tables.values_mut() {
            if table.columns().iter().any(|column| refers_to(&column.ty, name)) {
                *table = Rc::new(table.filled(&keyspace.types, Some(table)));
                self.tables.insert(table.id, Rc::clone(table));
            }
        }
    }

    fn finish(mut self) -> Schema {
        for (name, mut keyspace) in self.changed {
            let mut bytes = Vec::new();
            codec::encode_keyspace(&keyspace.def, &mut bytes);
            // A table's encoding holds its name: the digests need no names beside them.
            keyspace.table_digests.values().for_each(|digest| bytes.extend_from_slice(digest));
            keyspace.types.values().for_each(|ty| codec::encode_type(ty, &mut bytes));
            keyspace.digest = Md5::digest(&bytes).into();
            self.keyspaces.insert(name.into(), Rc::new(keyspace));
        }
        Schema::of(self.keyspaces, self.tables)
    }
}

fn empty_keyspace(def: KeyspaceDef) -> Keyspace {
    Keyspace { def, tables: BTreeMap::new(), types: BTreeMap::new(), table_digests: BTreeMap::new(), digest: [0; 16] }
}

/// `digest` with the version and variant bits of a name-based (MD5) UUID.
fn name_based_uuid(mut digest: [u8; 16]) -> [u8; 16] {
    digest[6] = (digest[6] & 0x0f) | 0x30;
    digest[8] = (digest[8] & 0x3f) | 0x80;
    digest
}

#[cfg(test)]
mod tests;
