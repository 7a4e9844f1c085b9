//! The inputs' items in order, reconciled, less what is purged.
//!
//! ```text
//! scan ─┐ partitions by (token, key)
//! scan ─┼──▶ then places: rows merged, range deletions as the latest that is open anywhere ──▶ shadow ──▶ purge ──▶ outputs
//! scan ─┘
//! ```

use std::cmp::Ordering;

use mutation::{ClusteringRef, Deletion, RowRef, merge_rows, without_overwritten};
use sstable::Marker;
use topology::{Sharder, Token};

use crate::compaction::purge::{Purge, Rules};
use crate::compaction::task::CompactionError;
use crate::sstable::{At, ReadError, Scan};

/// After so many items it is looked whether others want to run.
const ITEMS_PER_LOOK: usize = 8;

/// A place in our comparable form, `None` behind all rows; and whether it is a row's.
type Place<'p> = (Option<&'p [u8]>, bool);

/// One input.
pub struct Input {
    /// Its items.
    pub scan: Scan,
    /// Whether partitions of other shards are in it.
    pub is_shared: bool,
    /// Whether it is no input: it is only asked what it hides of them, and is at no partition until it is.
    pub is_shadow: bool,
    /// The range deletion that is open in it.
    open: Option<Deletion>,
}

impl Input {
    /// An input that stands at its beginning.
    pub fn new(scan: Scan, is_shared: bool) -> Self {
        Input { scan, is_shared, is_shadow: false, open: None }
    }

    /// A file that is no input and may hide something of them. The scan is idle.
    pub fn shadow(scan: Scan) -> Self {
        Input { scan, is_shared: false, is_shadow: true, open: None }
    }

    /// Its next place in the partition; `None`: the partition ends.
    fn place(&self) -> Option<Place<'_>> {
        match self.scan.at() {
            At::Row => Some((self.scan.place(), true)),
            At::Marker => Some((self.scan.place(), false)),
            At::Partition | At::PartitionEnd | At::End => None,
        }
    }
}

/// The receiver of a merge's items: partition after partition, in each its rows and markers in order.
pub trait Sink {
    /// The next partition; the one before it ends.
    async fn partition(
        &mut self,
        token: Token,
        key: &[u8],
        deletion: Option<Deletion>,
        static_row: Option<RowRef<'_>>,
    ) -> Result<(), CompactionError>;

    /// The partition's next row.
    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>);

    /// The partition's next marker.
    fn marker(&mut self, marker: &Marker<'_>);

    /// A partition comes from so many inputs.
    fn count_merged(&mut self, inputs: usize);

    /// Lets others run; refuses to go on if an operator has stopped it.
    async fn pause(&self) -> Result<(), CompactionError>;

    /// Passes on what has gathered, if that is much. Between two items.
    async fn write_out(&mut self) -> Result<(), CompactionError>;
}

/// One merge.
pub struct Merge<'m, S> {
    /// What is merged.
    pub inputs: Vec<Input>,
    /// What is purged.
    pub rules: &'m Rules,
    /// The least timestamp of what others may hold of a partition.
    pub outside: &'m dyn Fn(Token, &[u8]) -> i64,
    /// Which shard owns what, and which this is.
    pub owner: (Sharder, u16),
    /// Whether what a shadow overwrites is left out too, not only what it deletes.
    pub leaves_out_overwritten: bool,
    /// The last token that is merged; `None`: all are.
    pub until: Option<Token>,
    /// Where it goes.
    pub outputs: &'m mut S,
    /// The inputs that have the partition.
    pub members: Vec<usize>,
    /// Items so far.
    pub items: usize,
}

/// A partition as it is written: begun when there is something in it.
struct Head {
    token: Token,
    key: Vec<u8>,
    deletion: Option<Deletion>,
    /// The static row's blob; empty if there is none.
    static_row: Vec<u8>,
    is_begun: bool,
}

impl<S: Sink> Merge<'_, S> {
    /// Merges all of it.
    pub async fn run(mut self) -> Result<(), CompactionError> {
        while let Some((token, key)) = self.next_partition() {
            if self.until.is_some_and(|until| token > until) {
                break;
            }
            let (sharder, shard) = self.owner;
            let is_owned = sharder.shard_of(token) == shard;
            let (members, strangers): (Vec<usize>, Vec<usize>) =
                self.members.drain(..).partition(|member| is_owned || !self.inputs[*member].is_shared);
            for stranger in strangers {
                self.pass_over(stranger).await?;
            }
            self.members = members;
            if !self.members.is_empty() {
                self.find_shadows(token, &key).await?;
                self.outputs.count_merged(self.members.len());
                self.partition(token, key).await?;
            }
        }
        Ok(())
    }

    /// The least key that an input is at, and which are.
    fn next_partition(&mut self) -> Option<(Token, Vec<u8>)> {
        let mut least: Option<(Token, &[u8])> = None;
        self.members.clear();
        for (index, input) in self.inputs.iter().enumerate() {
            if input.is_shadow || input.scan.at() == At::End {
                continue;
            }
            assert_eq!(input.scan.at(), At::Partition, "an input stands between partitions");
            let key = input.scan.key();
            match least.map_or(Ordering::Less, |least| key.cmp(&least)) {
                Ordering::Less => {
                    self.members.clear();
                    self.members.push(index);
                    least = Some(key);
                }
                Ordering::Equal => self.members.push(index),
                Ordering::Greater => {}
            }
        }
        least.map(|(token, key)| (token, key.to_vec()))
    }

    /// Has the shadows that have the partition join its members.
    async fn find_shadows(&mut self, token: Token, key: &[u8]) -> Result<(), ReadError> {
        for (index, input) in self.inputs.iter_mut().enumerate() {
            if input.is_shadow && input.scan.may_contain(token, key) && input.scan.seek(token, key).await? {
                self.members.push(index);
            }
        }
        Ok(())
    }

    /// Goes behind the partition that an input is at.
    async fn pass_over(&mut self, index: usize) -> Result<(), CompactionError> {
        stdx::sometimes!("partition of another shard passed over");
        let scan = &mut self.inputs[index].scan;
        loop {
            scan.advance().await?;
            if scan.at() == At::PartitionEnd {
                scan.advance().await?;
                return Ok(());
            }
            self.items += 1;
            if self.items.is_multiple_of(ITEMS_PER_LOOK) {
                self.outputs.pause().await?;
            }
        }
    }

    /// Merges one partition, at whose beginning the members are.
    async fn partition(&mut self, token: Token, key: Vec<u8>) -> Result<(), CompactionError> {
        let (mut own, mut hiding, mut spare) = (None, None, Vec::new());
        let (mut static_row, mut static_over) = (Vec::new(), Vec::new());
        for &index in &self.members {
            let input = &mut self.inputs[index];
            let (of_input, row) = input.scan.head();
            let (deletion, into) =
                if input.is_shadow { (&mut hiding, &mut static_over) } else { (&mut own, &mut static_row) };
            *deletion = Deletion::max_of(*deletion, of_input);
            if let Some(row) = row {
                merge_into(into, row, &mut spare);
            }
            input.open = None;
            input.scan.advance().await?;
        }
        let purge = Purge::new(self.rules, self.outside, token, &key);
        // What of it a shadow hides is not written; what holds for its rows is the later of both.
        let kept = visible(own, hiding);
        let deletion = Deletion::max_of(own, hiding);
        let shadow = self.put_under(&mut static_row, &static_over, deletion, &mut spare);
        let is_static = !static_row.is_empty() && purge.row(&RowRef::trusted(&static_row), shadow, &mut spare);
        let kept_static = if is_static { std::mem::take(&mut spare) } else { Vec::new() };
        let mut head =
            Head { token, key: key.clone(), deletion: purge.deletion(kept), static_row: kept_static, is_begun: false };
        // What holds by the ranges, and what of it is written.
        let mut open: Option<Deletion> = None;
        let mut written: Option<Deletion> = None;
        let (mut row, mut over) = (Vec::new(), Vec::new());
        let mut place: Vec<u8> = Vec::new();
        while let Some(first) = self.least() {
            let is_row = self.inputs[first].scan.at() == At::Row;
            if is_row {
                row.clear();
                over.clear();
                let at_place = self.at_place_of(first);
                for &index in &at_place {
                    let input = &self.inputs[index];
                    let into = if input.is_shadow { &mut over } else { &mut row };
                    merge_into(into, input.scan.row().1, &mut spare);
                }
                let shadow = self.put_under(&mut row, &over, Deletion::max_of(deletion, open), &mut spare);
                if !row.is_empty() && purge.row(&RowRef::trusted(&row), shadow, &mut spare) {
                    head.begin(self.outputs).await?;
                    let (clustering, _) = self.inputs[first].scan.row();
                    self.outputs.row(clustering, RowRef::trusted(&spare));
                }
                for index in at_place {
                    self.inputs[index].scan.advance().await?;
                }
            } else {
                let marker = self.inputs[first].scan.marker();
                let (prefix, after) = (marker.prefix.bytes().to_vec(), marker.after);
                place.clear();
                place.extend_from_slice(self.inputs[first].scan.place().unwrap_or_default());
                let is_last = self.inputs[first].scan.place().is_none();
                self.take_markers(if is_last { None } else { Some(&place) }).await?;
                let (own, hiding) = (self.open(false), self.open(true));
                open = Deletion::max_of(own, hiding);
                let counts = own.filter(|own| deletion.is_none_or(|deletion| deletion.max(*own) != deletion));
                let opens = purge.deletion(visible(counts, hiding));
                if opens != written {
                    head.begin(self.outputs).await?;
                    let prefix = ClusteringRef::trusted(&prefix);
                    self.outputs.marker(&Marker { prefix, after, closes: written, opens });
                    written = opens;
                }
            }
            self.items += 1;
            if self.items.is_multiple_of(ITEMS_PER_LOOK) {
                self.outputs.pause().await?;
            }
            self.outputs.write_out().await?;
        }
        if written.is_some() {
            let end = Marker { prefix: ClusteringRef::EMPTY, after: true, closes: written, opens: None };
            self.outputs.marker(&end);
        }
        if head.deletion.is_some() || !head.static_row.is_empty() {
            head.begin(self.outputs).await?;
        }
        for &index in &self.members {
            // Behind the partition's end. A shadow stays where it is until the next partition that it may have.
            if !self.inputs[index].is_shadow {
                self.inputs[index].scan.advance().await?;
            }
        }
        self.items += 1;
        if self.items.is_multiple_of(ITEMS_PER_LOOK) {
            self.outputs.pause().await?;
        }
        self.outputs.write_out().await
    }

    /// The latest range deletion that is open in any member, of the shadows or of the others.
    fn open(&self, of_shadows: bool) -> Option<Deletion> {
        let of_it = self.members.iter().map(|index| &self.inputs[*index]).filter(|input| input.is_shadow == of_shadows);
        of_it.fold(None, |open, input| Deletion::max_of(open, input.open))
    }

    /// Leaves out of a row what a shadow's row overwrites, if that is wanted; gives the deletion that holds for the rest.
    fn put_under(
        &self,
        row: &mut Vec<u8>,
        over: &[u8],
        deletion: Option<Deletion>,
        spare: &mut Vec<u8>,
    ) -> Option<Deletion> {
        if row.is_empty() || over.is_empty() {
            return deletion;
        }
        let over = RowRef::trusted(over);
        if self.leaves_out_overwritten {
            spare.clear();
            without_overwritten(&RowRef::trusted(row), &over, spare);
            std::mem::swap(row, spare);
        }
        Deletion::max_of(deletion, over.deletion())
    }

    /// The member that is at the least place; of several the first. None when those that are inputs are at their ends.
    fn least(&self) -> Option<usize> {
        if self.members.iter().all(|index| self.inputs[*index].is_shadow || self.inputs[*index].place().is_none()) {
            return None;
        }
        let mut least: Option<(usize, Place<'_>)> = None;
        for &index in &self.members {
            let Some(place) = self.inputs[index].place() else { continue };
            if least.is_none_or(|(_, least)| order(place, least).is_lt()) {
                least = Some((index, place));
            }
        }
        least.map(|(index, _)| index)
    }

    /// The members that are at the same row.
    fn at_place_of(&self, first: usize) -> Vec<usize> {
        let place = self.inputs[first].place();
        self.members.iter().copied().filter(|index| self.inputs[*index].place() == place).collect()
    }

    /// Takes all markers at one place.
    async fn take_markers(&mut self, place: Option<&[u8]>) -> Result<(), ReadError> {
        for &index in &self.members {
            let input = &mut self.inputs[index];
            while input.scan.at() == At::Marker && input.scan.place() == place {
                input.open = input.scan.marker().opens;
                input.scan.advance().await?;
            }
        }
        Ok(())
    }
}

impl Head {
    async fn begin(&mut self, outputs: &mut impl Sink) -> Result<(), CompactionError> {
        if self.is_begun {
            return Ok(());
        }
        self.is_begun = true;
        let static_row = Some(&self.static_row).filter(|row| !row.is_empty()).map(|row| RowRef::trusted(row));
        outputs.partition(self.token, &self.key, self.deletion, static_row).await
    }
}

/// What of a deletion is to be written where another one, which is kept elsewhere, holds too.
fn visible(own: Option<Deletion>, hiding: Option<Deletion>) -> Option<Deletion> {
    // What is in both alike stays.
    own.filter(|own| hiding.is_none_or(|hiding| own.max(hiding) == *own))
}

/// Which of two places comes first; of one place a marker before a row, and no place behind all.
fn order(a: Place<'_>, b: Place<'_>) -> Ordering {
    let places = match (a.0, b.0) {
        (Some(a), Some(b)) => a.cmp(b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    };
    places.then(a.1.cmp(&b.1))
}

/// Merges a row into what is there.
fn merge_into(row: &mut Vec<u8>, other: RowRef<'_>, spare: &mut Vec<u8>) {
    if row.is_empty() {
        row.extend_from_slice(other.bytes());
        return;
    }
    spare.clear();
    merge_rows(&RowRef::trusted(row), &other, spare);
    std::mem::swap(row, spare);
}
