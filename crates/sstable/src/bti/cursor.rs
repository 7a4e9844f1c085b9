//! A place between a trie's payloads, which moves over them in order, either way.
//!
//! It is a path from the root: for each node on it, which slot the path goes on from, where slot 0 is the node's own payload and slot *n* its
//! *n*-th child. At the path's end the slot is the first one behind the place. A step reads the node it needs before it moves, so after an error the
//! place is one that no payload was lost or given twice from.

use super::node::{Node, Step, Walker};
use crate::Corrupt;
use crate::pages::{LookupError, Pages};

/// No key is so long that its path would be longer; a file that has such a path wants to fill the memory.
const DEPTH_MAX: usize = 1 << 20;

/// A slot behind all others.
const END: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
struct Frame {
    position: u64,
    slot: u16,
}

/// Where a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// In a node without children whose path is the key's beginning.
    Leaf,
    /// In a node with children whose path is the whole key.
    Whole,
    /// Between other paths.
    Between,
}

#[derive(Debug, Clone)]
pub(super) struct Cursor {
    /// Never empty.
    path: Vec<Frame>,
}

impl Cursor {
    /// Before all payloads.
    pub(super) fn new(root: u64) -> Cursor {
        Cursor { path: vec![Frame { position: root, slot: 0 }] }
    }

    /// Moves to the place of `key`: behind all paths that are less and before all that are greater. A path that is the key's beginning is less; but one
    /// that ends the search ([`Found::Leaf`], [`Found::Whole`]) is greater, until [`Cursor::pass`].
    pub(super) fn seek(&mut self, pages: &(impl Pages + ?Sized), root: u64, key: &[u8]) -> Result<Found, LookupError> {
        self.path.clear();
        self.path.push(Frame { position: root, slot: 0 });
        let mut walker = Walker::new(pages);
        let mut node = walker.node(root)?;
        for &byte in key {
            let last = self.path.last_mut().expect("a path has a root");
            match node.step(byte) {
                Step::Child(slot) => {
                    last.slot = slot as u16 + 1;
                    let position = child(&node, slot)?;
                    self.push(position, 0)?;
                    node = walker.node(position)?;
                }
                Step::None(_) if node.slots() == 0 => return Ok(Found::Leaf),
                Step::None(slot) => {
                    last.slot = slot as u16 + 1;
                    return Ok(Found::Between);
                }
            }
        }
        Ok(if node.slots() == 0 { Found::Leaf } else { Found::Whole })
    }

    /// Moves behind the payload of the node in which the search ended.
    pub(super) fn pass(&mut self) {
        let last = self.path.last_mut().expect("a path has a root");
        debug_assert_eq!(last.slot, 0);
        last.slot = 1;
    }

    /// Moves over the next payload and gives its node.
    pub(super) fn next<'a>(&mut self, pages: &'a (impl Pages + ?Sized)) -> Result<Option<Node<'a>>, LookupError> {
        let mut walker = Walker::new(pages);
        loop {
            let depth = self.path.len();
            let last = self.path.last_mut().expect("a path has a root");
            let node = walker.node(last.position)?;
            let slot = usize::from(last.slot);
            check_end(&node, depth)?;
            if slot == 0 {
                last.slot = 1;
                if node.payload_bits() != 0 {
                    return Ok(Some(node));
                }
            } else if slot <= node.slots() {
                match node.child(slot - 1)? {
                    Some(position) => self.push(position, 0)?,
                    None if slot == 1 => return Err(hollow(&node)),
                    None => last.slot += 1,
                }
            } else if depth == 1 {
                return Ok(None);
            } else {
                self.path.pop();
                self.path.last_mut().expect("the path was longer than one").slot += 1;
            }
        }
    }

    /// Moves back over the payload before and gives its node.
    pub(super) fn previous<'a>(&mut self, pages: &'a (impl Pages + ?Sized)) -> Result<Option<Node<'a>>, LookupError> {
        let mut walker = Walker::new(pages);
        loop {
            let depth = self.path.len();
            let last = self.path.last_mut().expect("a path has a root");
            let node = walker.node(last.position)?;
            let slot = usize::from(last.slot).min(node.slots() + 1);
            check_end(&node, depth)?;
            match slot {
                0 if depth == 1 => return Ok(None),
                0 => {
                    self.path.pop();
                }
                1 => {
                    last.slot = 0;
                    if node.payload_bits() != 0 {
                        return Ok(Some(node));
                    }
                }
                _ => {
                    let under = node.child(slot - 2)?;
                    if under.is_none() && slot == node.slots() + 1 {
                        return Err(hollow(&node));
                    }
                    last.slot = slot as u16 - 1;
                    if let Some(position) = under {
                        self.push(position, END)?;
                    }
                }
            }
        }
    }

    fn push(&mut self, position: u64, slot: u16) -> Result<(), Corrupt> {
        if self.path.len() == DEPTH_MAX {
            return Err(Corrupt::new(position, "a path is longer than any key"));
        }
        self.path.push(Frame { position, slot });
        Ok(())
    }
}

/// Every branch ends in a payload, unless the trie is empty. Were it not so, a file could have a cursor walk through more paths than it has
/// bytes, all in vain: branches may share what is below them.
#[inline]
fn check_end(node: &Node<'_>, depth: usize) -> Result<(), LookupError> {
    if node.slots() == 0 && node.payload_bits() == 0 && depth > 1 {
        return Err(Corrupt::new(node.position(), "a branch ends without a payload").into());
    }
    Ok(())
}

/// The first and the last slot of a node have children, for the same reason.
fn hollow(node: &Node<'_>) -> LookupError {
    Corrupt::new(node.position(), "a node has no child at its end").into()
}

/// The child in a slot to which a byte led.
#[inline]
fn child(node: &Node<'_>, slot: usize) -> Result<u64, Corrupt> {
    // A dense node's empty slots lead nowhere, and other nodes have none.
    node.child(slot).map(|position| position.expect("a step leads to a child"))
}

/// The node in which the path of `key` ends, if every child on it has one, and whether all of the key was used.
#[inline]
pub(super) fn descend<'a>(
    pages: &'a (impl Pages + ?Sized),
    root: u64,
    key: &[u8],
) -> Result<(Node<'a>, bool), LookupError> {
    let mut walker = Walker::new(pages);
    let mut node = walker.node(root)?;
    for &byte in key {
        match node.step(byte) {
            Step::Child(slot) => node = walker.node(child(&node, slot)?)?,
            Step::None(_) => return Ok((node, false)),
        }
    }
    Ok((node, true))
}
