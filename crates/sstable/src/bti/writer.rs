//! Writes a trie as its keys come, in order, so that a lookup reads few pages.
//!
//! Bottom up: a node is complete when a key comes that does not begin with its path. Complete branches are held back while they fit a page together;
//! when a node and what is below it are too long, its children's branches are written, each whole in one page, the longest that fits first. So
//! at most a page of nodes, and the path of the last key with its siblings, are in memory, and no node crosses a page's end.
//!
//! Which layout a node gets and where it lands is decided as Cassandra 5.0's `IncrementalTrieWriterPageAware` does, to the byte: then the
//! files of both can be compared. Nothing else depends on it.

use crate::pages::PAGE_LENGTH;

/// What a path leads to.
pub(super) trait Payload {
    /// The four bits that go into the node; not 0.
    fn bits(&self) -> u8;
    /// How many bytes [`Payload::write`] appends.
    fn len(&self) -> usize;
    /// Appends what stands behind the node.
    fn write(&self, out: &mut Vec<u8>);
}

/// The bytes that a signed number takes, at least one.
pub(super) fn signed_len(value: i64) -> usize {
    let magnitude = if value < 0 { !value } else { value };
    (64 - magnitude.leading_zeros() as usize) / 8 + 1
}

/// Appends a signed number, big-endian, in [`signed_len`] bytes.
pub(super) fn put_signed(value: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_be_bytes()[8 - signed_len(value)..]);
}

#[derive(Debug)]
struct Node<P> {
    /// The byte that leads to it.
    byte: u8,
    payload: Option<P>,
    children: Vec<Node<P>>,
    /// Where it was written, if it was.
    position: Option<u64>,
    /// What is below it and not written yet, without itself. With something written in the branch it may turn out longer, since distances
    /// depend on where the branch lands.
    branch_len: usize,
    /// Its own length, and its payload's; with a child that is written it may turn out longer too.
    len: usize,
    has_written_children: bool,
    /// Whether something below its children is written.
    has_written_below: bool,
}

impl<P: Payload> Node<P> {
    fn new(byte: u8) -> Self {
        Node {
            byte,
            payload: None,
            children: Vec::new(),
            position: None,
            branch_len: 0,
            len: 0,
            // Until it is known, distances are looked at one by one.
            has_written_children: true,
            has_written_below: false,
        }
    }

    fn total(&self) -> usize {
        self.branch_len + self.len
    }

    /// Notes that it is written, with all that is below it.
    fn place(&mut self, position: u64) {
        *self = Node { position: Some(position), has_written_children: false, ..Node::new(self.byte) };
    }

    /// The longest distance back to a child from `position`: of children that are written, and of the first of those which are not.
    fn distance_max(&self, position: u64) -> u64 {
        if !self.has_written_children {
            return (self.branch_len - self.children[0].branch_len) as u64;
        }
        let written = self.children.iter().filter_map(|child| child.position).map(|at| position - at).max();
        let first = self.children.iter().find(|child| child.position.is_none());
        let unwritten = first.map(|child| (self.branch_len - child.branch_len) as u64);
        written.max(unwritten).expect("a node that is no leaf has children")
    }

    /// Its own length and its payload's, if it is written at `position`.
    fn len_at(&self, position: u64) -> usize {
        self.layout(position).len(&self.children) + self.payload.as_ref().map_or(0, Payload::len)
    }

    fn layout(&self, position: u64) -> Layout {
        match self.children.len() {
            0 => Layout::Leaf,
            count => Layout::choose(&self.children, count, self.distance_max(position), self.payload.is_some()),
        }
    }
}

/// A node's layout with its number and the half-bytes of a distance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Leaf,
    Single { number: u8, width: usize },
    Packed { number: u8, width: usize },
    Sparse { number: u8, width: usize },
    Dense { number: u8, width: usize },
}

/// For distances of 4, 8, 12, 16, 24, 32, 40 and 64 bits: the layout of a node with one child, and the two among which the shorter is taken. Not all that could
/// be have a number, so some stand for shorter distances too.
const CHOICES: [(u32, Layout, Layout, Layout); 8] = {
    use Layout::{Dense, Packed, Single, Sparse};
    [
        (4, Packed { number: 1, width: 1 }, Sparse { number: 5, width: 2 }, Dense { number: 10, width: 3 }),
        (8, Single { number: 2, width: 2 }, Sparse { number: 5, width: 2 }, Dense { number: 10, width: 3 }),
        (12, Packed { number: 3, width: 3 }, Sparse { number: 6, width: 3 }, Dense { number: 10, width: 3 }),
        (16, Single { number: 4, width: 4 }, Sparse { number: 7, width: 4 }, Dense { number: 11, width: 4 }),
        (24, Dense { number: 12, width: 6 }, Sparse { number: 8, width: 6 }, Dense { number: 12, width: 6 }),
        (32, Dense { number: 13, width: 8 }, Sparse { number: 9, width: 10 }, Dense { number: 13, width: 8 }),
        (40, Dense { number: 14, width: 10 }, Sparse { number: 9, width: 10 }, Dense { number: 14, width: 10 }),
        (64, Dense { number: 15, width: 16 }, Dense { number: 15, width: 16 }, Dense { number: 15, width: 16 }),
    ]
};

impl Layout {
    fn choose<P>(children: &[Node<P>], count: usize, distance: u64, has_payload: bool) -> Layout {
        let bits = 64 - distance.leading_zeros();
        let index = CHOICES.iter().position(|&(most, ..)| bits <= most).expect("a distance has 64 bits");
        let (_, single, sparse, dense) = CHOICES[index];
        if count == 1 {
            return match single {
                // Packed ones have no bits for a payload.
                Layout::Packed { .. } if has_payload => CHOICES[index + 1].1,
                _ => single,
            };
        }
        if sparse.len(children) < dense.len(children) { sparse } else { dense }
    }

    fn len<P>(self, children: &[Node<P>]) -> usize {
        match self {
            Layout::Leaf => 1,
            Layout::Packed { width, .. } => 1 + width.div_ceil(2),
            Layout::Single { width, .. } => 2 + width / 2,
            Layout::Sparse { width, .. } => 2 + children.len() + (children.len() * width).div_ceil(2),
            Layout::Dense { width, .. } => 3 + (span(children) * width).div_ceil(2),
        }
    }

    /// Appends a node with its payload's bits; all its children are written.
    fn write<P>(self, children: &[Node<P>], bits: u8, position: u64, out: &mut Vec<u8>) {
        let distance = |child: &Node<P>| position - child.position.expect("children are written before their parents");
        match self {
            Layout::Leaf => out.push(bits),
            Layout::Packed { number, width } => {
                let distance = distance(&children[0]);
                if width == 1 {
                    out.push(number << 4 | distance as u8);
                } else {
                    out.extend_from_slice(&(u16::from(number) << 12 | distance as u16).to_be_bytes());
                }
                out.push(children[0].byte);
            }
            Layout::Single { number, width } => {
                out.extend_from_slice(&[number << 4 | bits, children[0].byte]);
                Distances::new(width, out).put(distance(&children[0]));
            }
            Layout::Sparse { number, width } => {
                out.extend_from_slice(&[number << 4 | bits, children.len() as u8]);
                out.extend(children.iter().map(|child| child.byte));
                let mut distances = Distances::new(width, out);
                children.iter().for_each(|child| distances.put(distance(child)));
                distances.finish();
            }
            Layout::Dense { number, width } => {
                let first = children[0].byte;
                out.extend_from_slice(&[number << 4 | bits, first, (span(children) - 1) as u8]);
                let mut distances = Distances::new(width, out);
                let mut byte = usize::from(first);
                for child in children {
                    while byte < usize::from(child.byte) {
                        distances.put(0);
                        byte += 1;
                    }
                    distances.put(distance(child));
                    byte += 1;
                }
                distances.finish();
            }
        }
    }
}

/// How many bytes lie between the first and the last child's, with both.
fn span<P>(children: &[Node<P>]) -> usize {
    let (first, last) = (&children[0], &children[children.len() - 1]);
    usize::from(last.byte - first.byte) + 1
}

/// Appends distances of so many half-bytes each.
struct Distances<'a> {
    width: usize,
    out: &'a mut Vec<u8>,
    /// Of an odd width: the half-byte that waits for the next distance.
    half: Option<u8>,
}

impl<'a> Distances<'a> {
    fn new(width: usize, out: &'a mut Vec<u8>) -> Self {
        Distances { width, out, half: None }
    }

    fn put(&mut self, distance: u64) {
        assert!(self.width == 16 || distance >> (4 * self.width) == 0, "the layout has room for the distance");
        if self.width == 3 {
            match self.half.take() {
                None => {
                    self.out.push((distance >> 4) as u8);
                    self.half = Some((distance << 4) as u8);
                }
                Some(half) => self.out.extend_from_slice(&[half | (distance >> 8) as u8, distance as u8]),
            }
        } else {
            self.out.extend_from_slice(&distance.to_be_bytes()[8 - self.width / 2..]);
        }
    }

    fn finish(self) {
        self.out.extend(self.half);
    }
}

/// The file's end, as far as it is written.
struct Output<'a> {
    out: &'a mut Vec<u8>,
    /// The position of `out`'s first byte in the file; what the caller had in it before may make it negative.
    base: u64,
}

impl Output<'_> {
    fn position(&self) -> u64 {
        self.base.wrapping_add(self.out.len() as u64)
    }

    /// Not 0: at a page's beginning a whole page is left.
    fn left_in_page(&self) -> usize {
        PAGE_LENGTH - (self.position() % PAGE_LENGTH as u64) as usize
    }

    fn pad(&mut self) {
        let left = self.left_in_page() % PAGE_LENGTH;
        self.out.resize(self.out.len() + left, 0);
    }
}

/// Writes one trie after another into a file.
#[derive(Debug)]
pub(super) struct TrieWriter<P> {
    /// The path of the last key, from the root.
    path: Vec<Node<P>>,
    position: u64,
    /// A node that was taken from the path's end and whose children are being written.
    unfinished: Option<(Node<P>, Laying)>,
}

/// Branches that one call writes; each is shorter than a page.
const BRANCHES_PER_STEP: usize = 8;

impl<P: Payload> TrieWriter<P> {
    /// The file has `position` bytes already.
    pub(super) fn new(position: u64) -> Self {
        TrieWriter { path: vec![Node::new(0)], position, unfinished: None }
    }

    /// How long the file is with all that was appended.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Appends bytes that belong to no trie.
    pub(super) fn append(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.position += bytes.len() as u64;
    }

    /// Adds a key, which is greater than the one before.
    pub(super) fn add(&mut self, key: &[u8], payload: P, out: &mut Vec<u8>) {
        let common = self.path[1..].iter().zip(key).take_while(|(node, byte)| node.byte == **byte).count();
        let is_first = self.path.len() == 1 && self.path[0].payload.is_none() && self.path[0].children.is_empty();
        let is_greater = match (self.path.get(common + 1), key.get(common)) {
            (Some(node), Some(byte)) => node.byte < *byte,
            (None, Some(_)) => true,
            (_, None) => is_first,
        };
        assert!(is_greater, "a trie's keys are added in order");
        self.complete_to(common + 1, out);
        self.path.extend(key[common..].iter().map(|&byte| Node::new(byte)));
        self.path.last_mut().expect("a path has a root").payload = Some(payload);
    }

    /// Writes some pages of what is left of the trie; to be called until it gives the root's position, and then another trie begins.
    pub(super) fn complete_some(&mut self, out: &mut Vec<u8>) -> Option<u64> {
        self.complete_some_to(1, out).then(|| self.complete(out))
    }

    /// Writes what is left of the trie, gives the root's position and begins another trie.
    pub(super) fn complete(&mut self, out: &mut Vec<u8>) -> u64 {
        self.complete_to(1, out);
        let mut root = std::mem::replace(&mut self.path[0], Node::new(0));
        let mut output = self.output(out);
        complete(&mut root, &mut output);
        let mut len = recalculate(&mut root, output.position());
        if len > output.left_in_page() {
            if len <= PAGE_LENGTH {
                output.pad();
                len = recalculate(&mut root, output.position());
            }
            if len > output.left_in_page() {
                write_children(&mut root, &mut output);
                if root.len > output.left_in_page() {
                    output.pad();
                    recalculate(&mut root, output.position());
                }
            }
        }
        let position = write(&mut root, &mut output);
        self.position = output.position();
        position
    }

    /// Begins another trie. Nothing leads to the nodes of this one that were written.
    pub(super) fn abandon(&mut self) {
        self.path.truncate(1);
        self.path[0] = Node::new(0);
        self.unfinished = None;
    }

    /// Completes nodes until the path has `depth`.
    fn complete_to(&mut self, depth: usize, out: &mut Vec<u8>) {
        while !self.complete_some_to(depth, out) {}
    }

    /// Completes nodes until the path has `depth`, or enough was written for one call. Whether the path has that depth.
    fn complete_some_to(&mut self, depth: usize, out: &mut Vec<u8>) -> bool {
        while self.path.len() > depth || self.unfinished.is_some() {
            let mut output = self.output(out);
            let (mut node, laying) = self.unfinished.take().map_or_else(
                || (self.path.pop().expect("the path is longer than that"), None),
                |(node, laying)| (node, Some(laying)),
            );
            let laying = laying.or_else(|| measure(&mut node, &output));
            let is_complete = laying.is_none_or(|mut laying| {
                let is_laid = laying.lay_some(&mut node, &mut output);
                if !is_laid {
                    self.unfinished = Some((std::mem::replace(&mut node, Node::new(0)), laying));
                }
                is_laid
            });
            self.position = output.position();
            if !is_complete {
                return false;
            }
            self.path.last_mut().expect("a path has a root").children.push(node);
        }
        true
    }

    fn output<'a>(&self, out: &'a mut Vec<u8>) -> Output<'a> {
        Output { base: self.position.wrapping_sub(out.len() as u64), out }
    }
}

/// Notes a node's length and its branch's, all children being complete, and writes the children if both are too long for a page.
fn complete<P: Payload>(node: &mut Node<P>, output: &mut Output<'_>) {
    if let Some(mut laying) = measure(node, output) {
        while !laying.lay_some(node, output) {}
    }
}

/// Notes a node's length and its branch's, all children being complete. `Some`: both are too long for a page, and the children are to be
/// written.
fn measure<P: Payload>(node: &mut Node<P>, output: &Output<'_>) -> Option<Laying> {
    node.branch_len = node.children.iter().map(Node::total).sum();
    let len = node.len_at(output.position());
    if len + node.branch_len >= PAGE_LENGTH {
        return Some(Laying::begin(node, output));
    }
    node.len = len;
    node.has_written_children = node.children.iter().any(|child| child.position.is_some());
    node.has_written_below = node
        .children
        .iter()
        .any(|child| child.position.is_none() && (child.has_written_children || child.has_written_below));
    None
}

/// Writes the branches of the children that are not written yet, each into one page.
fn write_children<P: Payload>(node: &mut Node<P>, output: &mut Output<'_>) {
    let mut laying = Laying::begin(node, output);
    while !laying.lay_some(node, output) {}
}

/// The branches of a node's children while they are written, each into one page. A node near the root may have hundreds of them, which
/// takes milliseconds.
#[derive(Debug)]
struct Laying {
    /// Lengths and indices of those that are not written, by length, then by byte: of equally long ones the later has its own children
    /// nearer.
    waiting: Vec<(usize, usize)>,
    /// What is left of the page.
    left: usize,
}

impl Laying {
    fn begin<P: Payload>(node: &Node<P>, output: &Output<'_>) -> Laying {
        let children = node.children.iter().enumerate().filter(|(_, child)| child.position.is_none());
        let mut waiting: Vec<(usize, usize)> = children.map(|(index, child)| (child.total(), index)).collect();
        waiting.sort_unstable();
        Laying { waiting, left: output.left_in_page() }
    }

    /// Writes some of them. Whether they are all written.
    fn lay_some<P: Payload>(&mut self, node: &mut Node<P>, output: &mut Output<'_>) -> bool {
        for _ in 0..BRANCHES_PER_STEP {
            if self.waiting.is_empty() {
                break;
            }
            self.lay_one(node, output);
        }
        if !self.waiting.is_empty() {
            return false;
        }
        node.branch_len = 0;
        node.has_written_children = true;
        node.has_written_below = false;
        node.len = node.len_at(output.position());
        true
    }

    fn lay_one<P: Payload>(&mut self, node: &mut Node<P>, output: &mut Output<'_>) {
        let Laying { waiting, left } = self;
        let fitting = waiting.partition_point(|&(len, _)| len <= *left);
        let (_, index) = if fitting > 0 {
            waiting.remove(fitting - 1)
        } else {
            output.pad();
            *left = PAGE_LENGTH;
            waiting.remove(waiting.len() - 1)
        };
        let child = &mut node.children[index];
        if child.has_written_children || child.has_written_below {
            // Now that its place is known, its length is too.
            let len = recalculate(child, output.position());
            if len > *left {
                if *left == PAGE_LENGTH {
                    // It does not fit any page. To have its own children written earlier would have been better, but it is rare.
                    write_children(child, output);
                    *left = output.left_in_page();
                }
                let again = (child.total(), index);
                waiting.insert(waiting.partition_point(|other| *other < again), again);
                return;
            }
        }
        let position = write(child, output);
        child.place(position);
        *left = output.left_in_page();
    }
}

/// The length of a node and its branch if the branch is written at `position`.
fn recalculate<P: Payload>(node: &mut Node<P>, position: u64) -> usize {
    if node.has_written_below {
        let mut len = 0;
        for child in &mut node.children {
            len += recalculate(child, position + len as u64);
        }
        node.branch_len = len;
    }
    if node.has_written_children || node.has_written_below {
        node.len = node.len_at(position + node.branch_len as u64);
    }
    node.total()
}

/// Writes a node behind its branch; both fit the page. Gives the node's position.
fn write<P: Payload>(node: &mut Node<P>, output: &mut Output<'_>) -> u64 {
    let position = output.position() + node.branch_len as u64;
    for child in &mut node.children {
        if child.position.is_none() {
            child.position = Some(write(child, output));
        }
    }
    assert_eq!(output.position(), position, "a branch is as long as was calculated");
    assert!(node.len <= output.left_in_page(), "no node crosses a page's end");
    let bits = node.payload.as_ref().map_or(0, Payload::bits);
    node.layout(position).write(&node.children, bits, position, output.out);
    if let Some(payload) = &node.payload {
        payload.write(output.out);
    }
    assert_eq!(output.position(), position + node.len as u64, "a node is as long as was calculated");
    position
}
