//! A machine's disk with its file system, in memory.
//!
//! There are two of everything: what a running process sees, and what a power cut leaves. What makes them differ stands in
//! the list of pending changes, in the order in which the process made them. A sync moves changes from the list to the
//! durable side; [`crash`] decides which of the rest a power cut keeps.
//!
//! A change is seen from the moment on at which its operation began. It counts for a sync only if its operation had ended
//! when the sync began.

mod content;
mod crash;
mod names;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use content::{Content, SECTOR};
pub use crash::Keep;
pub(crate) use crash::Numbers;
pub(crate) use names::{Inode, Names, Node, normal, parent};

use crate::DirEntry;
use crate::file::OpenOptions;

/// What is not durable yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Write {
        inode: Inode,
        offset: u64,
        bytes: Arc<[u8]>,
    },
    /// Cut or extended.
    Length {
        inode: Inode,
        length: u64,
    },
    /// Extended, if it was shorter.
    Grow {
        inode: Inode,
        length: u64,
    },
    Create {
        path: String,
        node: Node,
    },
    /// Of the file that had the name: where a power cut left that one without it, another that has it stays.
    Rename {
        from: String,
        to: String,
        node: Node,
    },
    Remove {
        path: String,
    },
}

impl Change {
    fn inode(&self) -> Option<Inode> {
        match self {
            Change::Write { inode, .. } | Change::Length { inode, .. } | Change::Grow { inode, .. } => Some(*inode),
            Change::Create { .. } | Change::Rename { .. } | Change::Remove { .. } => None,
        }
    }

    /// Whether the directories that it names are there.
    fn has_directory(&self, names: &Names) -> bool {
        let is_there = |path: &str| names.is_directory(parent(path));
        match self {
            Change::Create { path, .. } | Change::Remove { path } => is_there(path),
            Change::Rename { from, to, .. } => is_there(from) && is_there(to),
            _ => true,
        }
    }

    /// Whether syncing the directory makes it durable.
    fn is_in(&self, directory: &str) -> bool {
        match self {
            Change::Create { path, .. } | Change::Remove { path } => parent(path) == directory,
            Change::Rename { from, to, .. } => parent(from) == directory || parent(to) == directory,
            _ => false,
        }
    }
}

/// A change on its way to the durable side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pending {
    id: ChangeId,
    /// Its operation has not ended: no sync covers it yet.
    is_running: bool,
    /// Its directory was synced, which has no durable name itself yet: it is durable as soon as that has.
    is_in_synced_directory: bool,
    change: Change,
}

/// A change's number; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeId(u64);

/// One side: names and bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) names: Names,
    pub(crate) files: Arc<BTreeMap<Inode, Content>>,
}

impl Side {
    fn content(&mut self, inode: Inode) -> &mut Content {
        Arc::make_mut(&mut self.files).entry(inode).or_default()
    }

    /// Makes the change, as far as what it needs is there.
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Write { inode, offset, bytes } => self.content(*inode).write(*offset, bytes),
            Change::Length { inode, length } => self.content(*inode).set_length(*length),
            Change::Grow { inode, length } => {
                let content = self.content(*inode);
                content.set_length(content.length().max(*length));
            }
            Change::Create { path, node } => self.names.insert(path, *node),
            Change::Rename { from, to, node } => {
                if self.names.find(from) == Ok(Some(*node)) {
                    self.names.rename(from, to);
                }
            }
            Change::Remove { path } => self.names.remove(path),
        }
    }

    /// Forgets files without a name, but those that `keep` names.
    fn forget_nameless(&mut self, keep: impl Fn(Inode) -> bool) {
        let named = self.names.inodes();
        if self.files.keys().any(|inode| !named.contains(inode) && !keep(*inode)) {
            Arc::make_mut(&mut self.files).retain(|inode, _| named.contains(inode) || keep(*inode));
        }
    }
}

/// A machine's disk. A clone is a fork: it shares all bytes until one of the two writes.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    visible: Side,
    durable: Side,
    pending: Vec<Pending>,
    next_inode: u64,
    next_change: u64,
    /// The most bytes that files may have together.
    capacity: Option<u64>,
    /// Syncs are answered and not done.
    is_lying: bool,
}

type Answer<T> = Result<T, i32>;

impl Disk {
    /// The most bytes that files may have together from now on; `None`: there is no end.
    pub fn set_capacity(&mut self, bytes: Option<u64>) {
        self.capacity = bytes;
    }

    /// From now on syncs are answered and not done: a product that passes its tests on such a disk is not tested.
    pub fn lie(&mut self) {
        self.is_lying = true;
    }

    /// Bytes in files that have a name.
    pub fn used(&self) -> u64 {
        let named = self.visible.names.inodes();
        named.iter().map(|inode| self.length(*inode)).sum()
    }

    /// What is left of the capacity, bytes.
    pub fn free(&self) -> u64 {
        self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()))
    }

    /// Changes that a power cut may lose.
    pub fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// A number that differs between disks whose durable sides differ.
    pub fn digest(&self) -> u64 {
        let mut hash = super::trace::Trace::default();
        for (path, node) in self.durable.names.iter() {
            hash.bytes(path.as_bytes());
            match node {
                Node::Directory => hash.note(1),
                Node::File(inode) => hash.note(self.durable.files.get(&inode).map_or(0, Content::digest)),
            }
        }
        hash.value()
    }

    /// Makes a directory that a power cut does not lose: what was there before the machine ran.
    pub fn prepare_directory(&mut self, path: &str) {
        for side in [&mut self.visible, &mut self.durable] {
            for ancestor in names::ancestors(path) {
                side.names.insert(&ancestor, Node::Directory);
            }
        }
    }

    /// Turns over `count` bits in the durable bytes of files whose path contains `part`. How many were turned.
    pub fn flip_bits(&mut self, part: &str, count: usize, mut random: impl FnMut() -> u64) -> usize {
        let matching = |names: &Names| -> Vec<Inode> {
            let files = names.iter().filter(|(path, _)| path.contains(part));
            files.filter_map(|(_, node)| if let Node::File(inode) = node { Some(inode) } else { None }).collect()
        };
        let inodes = matching(&self.durable.names);
        let bits: u64 = inodes.iter().map(|inode| self.durable.content(*inode).length() * 8).sum();
        if bits == 0 {
            return 0;
        }
        for _ in 0..count {
            let mut bit = random() % bits;
            for inode in &inodes {
                let length = self.durable.content(*inode).length() * 8;
                if bit < length {
                    self.durable.content(*inode).flip(bit);
                    self.visible.content(*inode).flip(bit);
                    break;
                }
                bit -= length;
            }
        }
        count
    }

    fn room(&self, growth: u64) -> Answer<()> {
        match self.capacity {
            Some(capacity) if growth > 0 && self.used() + growth > capacity => {
                stdx::sometimes!("disk full");
                Err(libc::ENOSPC)
            }
            _ => Ok(()),
        }
    }

    fn change(&mut self, change: Change) -> ChangeId {
        self.visible.apply(&change);
        let id = ChangeId(self.next_change);
        self.next_change += 1;
        self.pending.push(Pending { id, is_running: true, is_in_synced_directory: false, change });
        id
    }

    /// The change's operation has ended: syncs that begin from now on cover it.
    pub(crate) fn ended(&mut self, id: ChangeId) {
        if let Some(pending) = self.pending.iter_mut().rev().find(|pending| pending.id == id) {
            pending.is_running = false;
        }
    }

    /// All operations have ended, as when their process is gone.
    pub(crate) fn all_ended(&mut self) {
        self.pending.iter_mut().for_each(|pending| pending.is_running = false);
    }

    /// Where a sync that begins now stands: it covers what has ended by now.
    pub(crate) fn mark(&self) -> Vec<ChangeId> {
        if self.is_lying {
            return Vec::new();
        }
        self.pending.iter().filter(|pending| !pending.is_running).map(|pending| pending.id).collect()
    }

    fn persist(&mut self, is_due: impl Fn(&Pending) -> bool) {
        let durable = &mut self.durable;
        self.pending.retain(|pending| {
            let stays = !is_due(pending);
            if !stays {
                durable.apply(&pending.change);
            }
            stays
        });
    }

    /// Makes the file's changes up to the mark durable.
    pub(crate) fn sync_file(&mut self, inode: Inode, mark: &[ChangeId]) {
        self.persist(|pending| pending.change.inode() == Some(inode) && mark.binary_search(&pending.id).is_ok());
    }

    /// Makes the directory's changes up to the mark durable.
    pub(crate) fn sync_directory(&mut self, path: &str, mark: &[ChangeId]) {
        for pending in &mut self.pending {
            pending.is_in_synced_directory |= pending.change.is_in(path) && mark.binary_search(&pending.id).is_ok();
        }
        // A directory that becomes durable brings what was synced in it.
        let durable = &mut self.durable;
        self.pending.retain(|pending| {
            let is_due = pending.is_in_synced_directory && pending.change.has_directory(&durable.names);
            if is_due {
                durable.apply(&pending.change);
            }
            !is_due
        });
    }

    /// Makes one write durable, with the file's earlier changes that it lies on top of.
    pub(crate) fn sync_write(&mut self, id: ChangeId) {
        let Some(write) = self.pending.iter().find(|pending| pending.id == id && !self.is_lying) else {
            return self.ended(id);
        };
        let Change::Write { inode, offset, bytes } = write.change.clone() else { return };
        let range = offset..offset + bytes.len() as u64;
        self.persist(|pending| {
            let is_before = pending.id <= id && pending.change.inode() == Some(inode);
            is_before
                && match &pending.change {
                    Change::Write { offset, bytes, .. } => {
                        *offset < range.end && range.start < *offset + bytes.len() as u64
                    }
                    _ => true,
                }
        });
    }

    /// A sync of the file failed: what it would have made durable is forgotten, each change on the disk or not. So do
    /// kernels, which mark such pages clean.
    pub(crate) fn sync_failed(&mut self, inode: Inode, mut random: impl FnMut() -> u64) {
        let durable = &mut self.durable;
        self.pending.retain(|pending| {
            let is_of_file = pending.change.inode() == Some(inode);
            if is_of_file && random().is_multiple_of(2) {
                durable.apply(&pending.change);
            }
            !is_of_file
        });
    }

    /// Opens the file, or makes it.
    pub(crate) fn open(&mut self, path: &str, options: OpenOptions) -> Answer<(Inode, Option<ChangeId>)> {
        let found = self.visible.names.find(path)?;
        match found {
            Some(_) if options.create_new => Err(libc::EEXIST),
            Some(Node::Directory) if options.write => Err(libc::EISDIR),
            Some(Node::Directory) => Err(libc::EISDIR),
            Some(Node::File(inode)) => {
                let cut = options.truncate && options.write;
                let change = cut.then(|| self.change(Change::Length { inode, length: 0 }));
                Ok((inode, change))
            }
            None if options.create || options.create_new => {
                let inode = Inode(self.next_inode);
                self.next_inode += 1;
                let change = self.change(Change::Create { path: path.to_owned(), node: Node::File(inode) });
                self.visible.content(inode);
                Ok((inode, Some(change)))
            }
            None => Err(libc::ENOENT),
        }
    }

    pub(crate) fn write(&mut self, inode: Inode, offset: u64, bytes: Arc<[u8]>) -> Answer<ChangeId> {
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= i64::MAX as u64).ok_or(libc::EINVAL)?;
        self.room(end.saturating_sub(self.length(inode)))?;
        Ok(self.change(Change::Write { inode, offset, bytes }))
    }

    pub(crate) fn read(&self, inode: Inode, offset: u64, count: usize) -> Vec<u8> {
        self.visible.files.get(&inode).map(|content| content.read(offset, count)).unwrap_or_default()
    }

    pub(crate) fn length(&self, inode: Inode) -> u64 {
        self.visible.files.get(&inode).map_or(0, Content::length)
    }

    pub(crate) fn set_length(&mut self, inode: Inode, length: u64) -> Answer<ChangeId> {
        self.room(length.saturating_sub(self.length(inode)))?;
        Ok(self.change(Change::Length { inode, length }))
    }

    pub(crate) fn allocate(&mut self, inode: Inode, offset: u64, length: u64) -> Answer<ChangeId> {
        let end = offset.checked_add(length).ok_or(libc::EFBIG)?;
        self.room(end.saturating_sub(self.length(inode)))?;
        Ok(self.change(Change::Grow { inode, length: end }))
    }

    pub(crate) fn create_directories(&mut self, path: &str) -> Answer<Vec<ChangeId>> {
        let mut changes = Vec::new();
        for ancestor in names::ancestors(path) {
            match self.visible.names.get(&ancestor) {
                Some(Node::Directory) => {}
                Some(Node::File(_)) => return Err(libc::ENOTDIR),
                None => changes.push(self.change(Change::Create { path: ancestor, node: Node::Directory })),
            }
        }
        Ok(changes)
    }

    pub(crate) fn list(&self, path: &str) -> Answer<Vec<DirEntry>> {
        let children = self.visible.names.children(path)?;
        let entry = |(name, node): (&str, Node)| match node {
            Node::Directory => DirEntry { name: name.to_owned(), is_dir: true, len: 0 },
            Node::File(inode) => DirEntry { name: name.to_owned(), is_dir: false, len: self.length(inode) },
        };
        let mut entries: Vec<DirEntry> = children.into_iter().map(entry).collect();
        entries.sort();
        Ok(entries)
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Answer<ChangeId> {
        let node = self.visible.names.find(from)?.ok_or(libc::ENOENT)?;
        match (node, self.visible.names.find(to)?) {
            (Node::File(_), Some(Node::Directory)) => return Err(libc::EISDIR),
            (Node::Directory, Some(_)) => return Err(libc::ENOTEMPTY),
            _ => {}
        }
        Ok(self.change(Change::Rename { from: from.to_owned(), to: to.to_owned(), node }))
    }

    /// Gives a file a further name.
    pub(crate) fn link(&mut self, from: &str, to: &str) -> Answer<ChangeId> {
        let node = self.visible.names.find(from)?.ok_or(libc::ENOENT)?;
        match (node, self.visible.names.find(to)?) {
            (Node::Directory, _) => Err(libc::EPERM),
            (_, Some(_)) => Err(libc::EEXIST),
            (node, None) => Ok(self.change(Change::Create { path: to.to_owned(), node })),
        }
    }

    pub(crate) fn remove_file(&mut self, path: &str) -> Answer<ChangeId> {
        match self.visible.names.find(path)?.ok_or(libc::ENOENT)? {
            Node::Directory => Err(libc::EISDIR),
            Node::File(_) => Ok(self.change(Change::Remove { path: path.to_owned() })),
        }
    }

    /// Removes a directory's whole tree, from the leaves on.
    pub(crate) fn remove_tree(&mut self, path: &str) -> Answer<Vec<ChangeId>> {
        match self.visible.names.find(path)?.ok_or(libc::ENOENT)? {
            Node::Directory => {}
            Node::File(_) => return Err(libc::ENOTDIR),
        }
        let mut paths = self.visible.names.tree(path);
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        Ok(paths.into_iter().map(|path| self.change(Change::Remove { path })).collect())
    }

    pub(crate) fn find(&self, path: &str) -> Answer<Option<Node>> {
        self.visible.names.find(path)
    }

    /// Forgets files that nobody can reach any more.
    pub(crate) fn forget_unreachable(&mut self, is_open: impl Fn(Inode) -> bool) {
        let pending: Vec<Inode> = self
            .pending
            .iter()
            .filter_map(|pending| match &pending.change {
                Change::Create { node: Node::File(inode), .. } => Some(*inode),
                other => other.inode(),
            })
            .collect();
        let durable = self.durable.names.inodes();
        let visible = self.visible.names.inodes();
        self.visible.forget_nameless(|inode| is_open(inode) || durable.contains(&inode) || pending.contains(&inode));
        self.durable.forget_nameless(|inode| is_open(inode) || visible.contains(&inode) || pending.contains(&inode));
    }
}

#[cfg(test)]
mod tests;
