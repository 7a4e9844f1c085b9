//! The names on a disk, by whole path. Forks share them until one of the two changes a name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A file's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Inode(pub(crate) u64);

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Directory,
    File(Inode),
}

/// The path as the tree knows it: absolute, without a slash at its end; the root is empty.
pub(crate) fn normal(path: &Path) -> String {
    let mut text = String::new();
    for component in path.components() {
        if let std::path::Component::Normal(name) = component {
            text.push('/');
            text.push_str(&name.to_string_lossy());
        }
    }
    text
}

/// The directory that the name is in.
pub(crate) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |slash| &path[..slash])
}

/// The path's directories from the top on, and the path.
pub(super) fn ancestors(path: &str) -> impl Iterator<Item = String> + '_ {
    let ends = path.match_indices('/').map(|(index, _)| index).skip(1).chain([path.len()]);
    ends.filter(|end| *end > 0).map(|end| path[..end].to_owned())
}

/// All names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    nodes: Arc<BTreeMap<String, Node>>,
}

impl Names {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), *node))
    }

    pub(super) fn get(&self, path: &str) -> Option<Node> {
        if path.is_empty() { Some(Node::Directory) } else { self.nodes.get(path).copied() }
    }

    /// Whether there is a directory at `path`.
    pub(super) fn is_directory(&self, path: &str) -> bool {
        self.get(path) == Some(Node::Directory)
    }

    /// What is at `path`; an error if it could not be there.
    pub(super) fn find(&self, path: &str) -> Result<Option<Node>, i32> {
        if let Some(node) = self.get(path) {
            return Ok(Some(node));
        }
        match self.get(parent(path)) {
            Some(Node::Directory) => Ok(None),
            Some(Node::File(_)) => Err(libc::ENOTDIR),
            None => Err(libc::ENOENT),
        }
    }

    /// The numbers of all files with a name.
    pub(super) fn inodes(&self) -> BTreeSet<Inode> {
        self.nodes.values().filter_map(|node| if let Node::File(inode) = node { Some(*inode) } else { None }).collect()
    }

    fn below(&self, directory: &str) -> impl Iterator<Item = (&String, &Node)> {
        // A zero is the character after the slash.
        self.nodes.range(format!("{directory}/")..format!("{directory}0"))
    }

    /// The names in a directory.
    pub(super) fn children(&self, directory: &str) -> Result<Vec<(&str, Node)>, i32> {
        match self.find(directory)?.ok_or(libc::ENOENT)? {
            Node::Directory => {}
            Node::File(_) => return Err(libc::ENOTDIR),
        }
        let children = self.below(directory).filter_map(|(path, node)| {
            let name = &path[directory.len() + 1..];
            (!name.contains('/')).then_some((name, *node))
        });
        Ok(children.collect())
    }

    /// The directory's path and all below it.
    pub(super) fn tree(&self, directory: &str) -> Vec<String> {
        let below = self.below(directory).map(|(path, _)| path.clone());
        std::iter::once(directory.to_owned()).chain(below).collect()
    }

    /// Puts a name, if its directory is there.
    pub(super) fn insert(&mut self, path: &str, node: Node) {
        if self.get(parent(path)) == Some(Node::Directory) {
            Arc::make_mut(&mut self.nodes).insert(path.to_owned(), node);
        }
    }

    /// Moves a name and all below it, if it is there and its new directory is.
    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if from == to || self.get(from).is_none() || self.get(parent(to)) != Some(Node::Directory) {
            return;
        }
        let paths = self.tree(from);
        let nodes = Arc::make_mut(&mut self.nodes);
        for path in paths {
            if let Some(node) = nodes.remove(&path) {
                nodes.insert(format!("{to}{}", &path[from.len()..]), node);
            }
        }
    }

    /// Takes a name away; a directory only if it is empty.
    pub(super) fn remove(&mut self, path: &str) {
        if self.get(path) == Some(Node::Directory) && self.below(path).next().is_some() {
            return;
        }
        Arc::make_mut(&mut self.nodes).remove(path);
    }
}
