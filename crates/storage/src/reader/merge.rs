//! Reconciling lanes: what several replicas answer, or the memtables and SSTables of one shard.
//!
//! The next place is taken only when every lane's next item is known, so a lane that ran dry is refilled first. That is all
//! the protection against short reads there needs to be: no lane is taken to be at its end before it says so, whatever its
//! page held, and the rows that count towards a limit are those that live after reconciliation.

use std::cmp::Ordering;

use mutation::{DecodeError, Deletion, Position, PositionRef, ReadCommand, RowRef, merge_rows};
use planted::Bug;
use schema::Table;
use topology::Token;

use crate::reader::lane::{Head, Lane, Source};
use crate::reader::output::{Live, Output, Partition};
use crate::sink::{Flow, RowSink};

/// How a read ended that was waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum ReadDone {
    /// There is no more.
    Complete,
    /// The sink had enough; the same command goes on after this position.
    Stopped(Position),
}

/// Receives what each reader holds and the merged result: so that readers can be repaired that lack something. A reader has
/// one or more lanes, of which one at most has a partition.
pub trait Comparison {
    /// How many readers there are.
    fn readers(&self) -> usize;

    /// The reader that a lane is of.
    fn reader(&self, lane: usize) -> usize;

    /// A partition begins. What follows is of it.
    fn partition(&mut self, token: Token, key: &[u8]);

    /// A reader's partition deletion, and the one that holds.
    fn deletion(&mut self, reader: usize, has: Option<Deletion>, holds: Option<Deletion>);

    /// A reader's row, which may be none at all, and the merged row of all. `has` is what the reader's is deleted by at the row's
    /// place, `holds` what holds there, the partition's deletion in both. Without a clustering it is the static row.
    fn row(
        &mut self,
        reader: usize,
        clustering: Option<&[u8]>,
        of_reader: (&[u8], Option<Deletion>),
        of_all: (&[u8], Option<Deletion>),
    );
}

/// How far a merge has come: everything before this place, in the read's direction, was given, and the row at it. It is
/// written at every row, so its buffers stay.
#[derive(Debug)]
pub(super) struct Progress {
    is_set: bool,
    token: Token,
    key: Vec<u8>,
    has_row: bool,
    row: Vec<u8>,
}

impl Progress {
    /// Nothing was given yet behind `after`.
    pub(super) fn from(after: Option<PositionRef<'_>>) -> Self {
        let mut progress =
            Progress { is_set: false, token: Token(0), key: Vec::new(), has_row: false, row: Vec::new() };
        if let Some(after) = after {
            progress.pass(after.token, after.key, after.row);
        }
        progress
    }

    fn pass(&mut self, token: Token, key: &[u8], row: Option<&[u8]>) {
        self.is_set = true;
        if self.token != token || self.key != key {
            self.token = token;
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.has_row = row.is_some();
        self.row.clear();
        self.row.extend_from_slice(row.unwrap_or_default());
    }

    fn is_at(&self, partition: &Partition, place: &[u8]) -> bool {
        self.has_row && self.row == place && self.token == partition.token && self.key == partition.key
    }

    /// Takes over a position that something else came to.
    pub(super) fn reach(&mut self, position: &Position) {
        self.pass(position.token, &position.key, position.row.as_deref());
    }

    /// Where to go on.
    pub(super) fn after(&self) -> Option<PositionRef<'_>> {
        let row = self.has_row.then_some(&self.row[..]);
        self.is_set.then_some(PositionRef { token: self.token, key: &self.key, row })
    }

    fn position(&self) -> Position {
        self.after().expect("something was given").to_owned()
    }
}

/// Gives the sink what lives of all that the lanes hold. `reached` receives how far it came, also where a lane fails: a read of the same command goes on
/// after that place.
pub async fn merge<S: Source>(
    lanes: &mut [Lane<S>],
    table: &Table,
    command: &ReadCommand<'_>,
    pause: impl AsyncFn(),
    comparison: Option<&mut dyn Comparison>,
    reached: &mut Option<Position>,
    sink: &mut impl RowSink,
) -> Result<ReadDone, S::Error> {
    let mut live = Live::new(sink, command);
    let mut progress = Progress::from(command.after);
    let mut merge = Merge::new(lanes, table, command.reversed, &mut live, &mut progress);
    merge.comparison = comparison.map(|comparison| comparison as &mut dyn Comparison);
    let done = merge.run(pause).await;
    *reached = progress.after().map(|after| after.to_owned());
    done
}

/// One merge.
pub(super) struct Merge<'m, S, O> {
    lanes: &'m mut [Lane<S>],
    table: &'m Table,
    reversed: bool,
    output: &'m mut O,
    progress: &'m mut Progress,
    comparison: Option<&'m mut dyn Comparison>,
    partition: Partition,
    /// The lanes that have the partition.
    members: Vec<usize>,
    /// A change of what is deleted was seen at this place and not told yet.
    changed_at: Option<Vec<u8>>,
    /// The members whose next row is at the least place.
    at_place: Vec<usize>,
    row: Vec<u8>,
    spare: Vec<u8>,
}

/// What is next in a partition.
enum Next {
    Range(usize),
    Row,
    End,
}

impl<'m, S: Source, O: Output> Merge<'m, S, O> {
    pub(super) fn new(
        lanes: &'m mut [Lane<S>],
        table: &'m Table,
        reversed: bool,
        output: &'m mut O,
        progress: &'m mut Progress,
    ) -> Self {
        Merge {
            lanes,
            table,
            reversed,
            output,
            progress,
            comparison: None,
            partition: Partition::none(),
            members: Vec::new(),
            changed_at: None,
            at_place: Vec::new(),
            row: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Merges until the lanes are at their end or the output has enough.
    pub(super) async fn run(mut self, pause: impl AsyncFn()) -> Result<ReadDone, S::Error> {
        let mut is_first = true;
        while self.enter_partition().await? {
            if !is_first && self.output.is_full() {
                return Ok(ReadDone::Stopped(self.progress.position()));
            }
            is_first = false;
            if let Flow::Stop = self.partition(&pause).await? {
                return Ok(ReadDone::Stopped(self.progress.position()));
            }
            pause().await;
        }
        Ok(ReadDone::Complete)
    }

    /// Finds the next partition and the lanes that have it; false: there is none.
    async fn enter_partition(&mut self) -> Result<bool, S::Error> {
        for lane in &mut *self.lanes {
            lane.refill(self.table).await?;
            // What comes before any partition belongs to none.
            if matches!(lane.head, Head::Range { .. } | Head::Row { .. }) {
                let what = DecodeError::Unknown { what: "a data page's first item", value: 2 };
                return Err(lane.source.malformed(what));
            }
        }
        self.members.clear();
        let mut least: Option<(Token, &[u8])> = None;
        for (index, lane) in self.lanes.iter().enumerate() {
            let Some(key) = lane.next_key() else { continue };
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
        let Some((token, key)) = least else { return Ok(false) };
        self.partition.begin(token, key);
        Ok(true)
    }

    /// Merges the partition that was entered.
    async fn partition(&mut self, pause: &impl AsyncFn()) -> Result<Flow, S::Error> {
        self.take_heads()?;
        let mut flow = self.output.partition(&self.partition);
        if flow == Flow::Stop {
            self.pass_partition();
            return Ok(flow);
        }
        self.changed_at = None;
        while flow == Flow::Continue {
            self.fill_members().await?;
            let next = self.next();
            flow = self.tell_change(&next);
            if flow != Flow::Continue {
                break;
            }
            match next {
                Next::End => break,
                Next::Range(index) => self.take_range(index)?,
                Next::Row => {
                    flow = self.give_row();
                    for &index in &self.at_place {
                        self.lanes[index].advance(self.table)?;
                    }
                }
            }
            pause().await;
        }
        if flow == Flow::Stop {
            return Ok(flow);
        }
        // Whatever happens meanwhile, the read does not come back to this partition.
        self.pass_partition();
        for &index in &self.members {
            self.lanes[index].skip(self.table, self.partition.token, &self.partition.key).await?;
        }
        Ok(Flow::Continue)
    }

    fn pass_partition(&mut self) {
        self.progress.pass(self.partition.token, &self.partition.key, None);
    }

    /// Takes the beginnings of the partition out of all lanes that have it.
    fn take_heads(&mut self) -> Result<(), S::Error> {
        for &index in &self.members {
            let lane = &mut self.lanes[index];
            lane.range = None;
            let (deletion, static_row) = lane.next_partition().expect("a member's next is a partition");
            self.partition.add(deletion, static_row, &mut self.spare);
        }
        if let Some(comparison) = &mut self.comparison {
            let holds = self.partition.deletion;
            comparison.partition(self.partition.token, &self.partition.key);
            for reader in 0..comparison.readers() {
                let lane = lane_of(&**comparison, reader, &self.members);
                let own = lane.and_then(|lane| self.lanes[lane].next_partition());
                let (deletion, static_row) = own.unwrap_or_default();
                comparison.deletion(reader, deletion, holds);
                comparison.row(reader, None, (static_row, holds), (&self.partition.static_row, holds));
            }
        }
        for &index in &self.members {
            self.lanes[index].advance(self.table)?;
        }
        Ok(())
    }

    /// Sees to it that every member's next item within the partition is known.
    async fn fill_members(&mut self) -> Result<(), S::Error> {
        let mut is_more_known = false;
        for &index in &self.members {
            let lane = &mut self.lanes[index];
            loop {
                lane.refill(self.table).await?;
                match &lane.head {
                    // The next piece of the same partition.
                    Head::Partition { .. }
                        if lane.next_key() == Some((self.partition.token, &self.partition.key[..])) =>
                    {
                        let (deletion, static_row) = lane.next_partition().expect("it was seen above");
                        is_more_known |= self.partition.add(deletion, static_row, &mut self.spare);
                    }
                    Head::Range { has_place: false, deletion } => {
                        lane.range = *deletion;
                        self.changed_at.get_or_insert_default();
                    }
                    _ => break,
                }
                lane.advance(self.table)?;
            }
        }
        if is_more_known {
            // No sink stops at a partition that it knows.
            let _ = self.output.partition(&self.partition);
        }
        Ok(())
    }

    /// What comes next among the members; of a row those that have it are noted.
    fn next(&mut self) -> Next {
        let mut least: Option<(usize, (&[u8], bool))> = None;
        self.at_place.clear();
        for &index in &self.members {
            let Some(place) = self.lanes[index].place() else { continue };
            let order = least.map_or(Ordering::Less, |(_, least)| match self.reversed {
                true => least.cmp(&place),
                false => place.cmp(&least),
            });
            match order {
                Ordering::Less => {
                    self.at_place.clear();
                    self.at_place.push(index);
                    least = Some((index, place));
                }
                Ordering::Equal => self.at_place.push(index),
                Ordering::Greater => {}
            }
        }
        match least {
            None => Next::End,
            Some((index, (_, false))) => Next::Range(index),
            Some((_, (_, true))) => Next::Row,
        }
    }

    /// Tells the output what is deleted from the last change on, once all changes at that place are known.
    fn tell_change(&mut self, next: &Next) -> Flow {
        let Some(at) = &self.changed_at else { return Flow::Continue };
        let next_place = match next {
            Next::End => None,
            Next::Range(index) => self.lanes[*index].place(),
            Next::Row => self.lanes[self.at_place[0]].place(),
        };
        let is_at_same = next_place.is_some_and(|(place, _)| place == at);
        let is_row = matches!(next, Next::Row);
        // The empty place is before all rows, whatever the direction.
        let is_beginning = at.is_empty();
        if is_at_same && !is_row && !is_beginning {
            return Flow::Continue;
        }
        let deletion = self.members.iter().map(|&index| self.lanes[index].range).fold(None, Deletion::max_of);
        let flow = self.output.range((!is_beginning).then_some(at), deletion);
        let at = self.changed_at.take().unwrap_or_default();
        // To go on behind the place of a row would be to go on behind the row; and what holds where the read goes on gets it no
        // further.
        if is_beginning || is_at_same || self.progress.is_at(&self.partition, &at) {
            return Flow::Continue;
        }
        self.progress.pass(self.partition.token, &self.partition.key, Some(&at));
        flow
    }

    fn take_range(&mut self, index: usize) -> Result<(), S::Error> {
        let lane = &mut self.lanes[index];
        let Head::Range { deletion, .. } = lane.head else { unreachable!("what is no row is a range") };
        if !lane.source.planted().is(Bug::RangeTombstoneIgnored) {
            lane.range = deletion;
        }
        let (place, _) = lane.place().expect("it was ordered by its place");
        let at = self.changed_at.get_or_insert_default();
        at.clear();
        at.extend_from_slice(place);
        lane.advance(self.table)
    }

    /// Gives the output what the rows at the least place come to.
    fn give_row(&mut self) -> Flow {
        let (&first, others) = self.at_place.split_first().expect("there is a row");
        let (clustering, row) = self.lanes[first].next_row().expect("it was seen to be a row");
        let row = match others {
            [] => row,
            others => {
                self.row.clear();
                self.row.extend_from_slice(row);
                for &index in others {
                    let (_, other) = self.lanes[index].next_row().expect("it was seen to be a row");
                    merge_into(&mut self.row, other, &mut self.spare);
                }
                &self.row
            }
        };
        let ranges = self.members.iter().map(|&index| self.lanes[index].range);
        let shadow = ranges.fold(self.partition.deletion, Deletion::max_of);
        if let Some(comparison) = &mut self.comparison {
            for reader in 0..comparison.readers() {
                let lane = lane_of(&**comparison, reader, &self.members);
                let range = lane.and_then(|lane| self.lanes[lane].range);
                let has = Deletion::max_of(self.partition.deletion, range);
                let own = lane.filter(|lane| self.at_place.contains(lane)).and_then(|lane| self.lanes[lane].next_row());
                let own = own.map_or(&[][..], |(_, row)| row);
                comparison.row(reader, Some(clustering.bytes()), (own, has), (row, shadow));
            }
        }
        let flow = self.output.row(&self.partition, clustering, RowRef::trusted(row), shadow);
        // Without clustering columns the row is the partition.
        let place = self.lanes[first].place().map(|(place, _)| place);
        let place = if self.table.clustering().is_empty() { None } else { place };
        self.progress.pass(self.partition.token, &self.partition.key, place);
        flow
    }
}

impl Partition {
    /// Takes in what a lane has of the partition; an empty static row is none. True if that is news.
    fn add(&mut self, deletion: Option<Deletion>, static_row: &[u8], spare: &mut Vec<u8>) -> bool {
        let holds = Deletion::max_of(self.deletion, deletion);
        let mut is_news = holds != self.deletion;
        self.deletion = holds;
        if static_row.is_empty() || self.static_row == static_row {
            return is_news;
        }
        if self.static_row.is_empty() {
            self.static_row.extend_from_slice(static_row);
            return true;
        }
        let before = self.static_row.clone();
        merge_into(&mut self.static_row, static_row, spare);
        is_news |= before != self.static_row;
        is_news
    }
}

/// The one of a partition's lanes that is a reader's.
fn lane_of(comparison: &dyn Comparison, reader: usize, members: &[usize]) -> Option<usize> {
    members.iter().copied().find(|&lane| comparison.reader(lane) == reader)
}

/// Merges `other` into `row`.
fn merge_into(row: &mut Vec<u8>, other: &[u8], spare: &mut Vec<u8>) {
    spare.clear();
    merge_rows(&RowRef::trusted(row), &RowRef::trusted(other), spare);
    std::mem::swap(row, spare);
}

#[cfg(test)]
mod tests;
