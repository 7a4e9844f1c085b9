//! What a merge gives, and to whom: what lives to a [`RowSink`], or all of it, as one lane, to a [`DataSink`].

use mutation::{ClusteringRef, Deletion, LiveRow, Position, ReadCommand, RowRef};
use topology::Token;

use crate::sink::{DataSink, Flow, RowSink};

/// The partition that is being read, as far as it is known.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) token: Token,
    pub(super) key: Vec<u8>,
    pub(super) deletion: Option<Deletion>,
    /// The static row's blob; empty for none.
    pub(super) static_row: Vec<u8>,
}

impl Partition {
    /// Before the first.
    pub(super) fn none() -> Self {
        Partition { token: Token(0), key: Vec::new(), deletion: None, static_row: Vec::new() }
    }

    /// Begins another.
    pub(super) fn begin(&mut self, token: Token, key: &[u8]) {
        self.token = token;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.deletion = None;
        self.static_row.clear();
    }

    fn is(&self, token: Token, key: &[u8]) -> bool {
        self.token == token && self.key == key
    }
}

/// Takes what a merge comes to, in the read's order.
pub(super) trait Output {
    /// A partition begins, goes on, or more is known of its deletion and static row.
    fn partition(&mut self, partition: &Partition) -> Flow;

    /// From `at` on, in the read's direction, rows are deleted by `deletion`; `None`: from before all rows to come.
    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) -> Flow;

    /// A row, and the deletion from outside that holds at its place, the partition's among them.
    fn row(
        &mut self,
        partition: &Partition,
        clustering: ClusteringRef<'_>,
        row: RowRef<'_>,
        shadow: Option<Deletion>,
    ) -> Flow;

    /// Whether no further partition is to begin.
    fn is_full(&self) -> bool;
}

/// Gives a sink what lives. It outlives a merge that is begun anew within one read.
pub(super) struct Live<'s, S> {
    sink: &'s mut S,
    now_in_seconds: u32,
    /// The partition within which the read goes on: it was announced to the sink, or had nothing to show.
    resumed: Option<(Token, Vec<u8>)>,
    /// The partition that is being read.
    present: Option<(Token, Vec<u8>)>,
    is_announced: bool,
    /// What the range deletes in which the read is.
    range: Option<Deletion>,
}

impl<'s, S: RowSink> Live<'s, S> {
    pub(super) fn new(sink: &'s mut S, command: &ReadCommand<'_>) -> Self {
        let resumed = command.after.filter(|after| after.row.is_some()).map(|after| (after.token, after.key.to_vec()));
        Live { sink, now_in_seconds: command.now_in_seconds, resumed, present: None, is_announced: false, range: None }
    }

    /// The sink, for something that gives it rows itself, up to a place that [`Live::go_on_after`] is told.
    pub(super) fn sink(&mut self) -> &mut S {
        self.sink
    }

    /// The sink was given what stands before `position`.
    pub(super) fn go_on_after(&mut self, position: &Position) {
        self.resumed = position.row.is_some().then(|| (position.token, position.key.clone()));
        self.present = None;
        self.range = None;
    }

    fn static_row<'p>(&self, partition: &'p Partition) -> Option<LiveRow<'p>> {
        if partition.static_row.is_empty() {
            return None;
        }
        let row = RowRef::trusted(&partition.static_row);
        Some(LiveRow::new(row, partition.deletion, self.now_in_seconds))
    }

    fn live_static<'p>(&self, partition: &'p Partition) -> Option<LiveRow<'p>> {
        self.static_row(partition).filter(|row| row.cells().next().is_some())
    }

    fn announce(&mut self, partition: &Partition) -> Flow {
        self.is_announced = true;
        let static_row = self.live_static(partition);
        self.sink.partition(partition.token, &partition.key, static_row)
    }

    /// Makes `partition` the present one. False if it was.
    fn enter(&mut self, partition: &Partition) -> bool {
        match &mut self.present {
            Some((token, key)) if partition.is(*token, key) => return false,
            Some((token, key)) => {
                *token = partition.token;
                key.clone_from(&partition.key);
            }
            none => *none = Some((partition.token, partition.key.clone())),
        }
        self.is_announced = false;
        self.range = None;
        true
    }
}

impl<S: RowSink> Output for Live<'_, S> {
    fn partition(&mut self, partition: &Partition) -> Flow {
        let is_new = self.enter(partition);
        let is_resumed = self.resumed.as_ref().is_some_and(|(token, key)| partition.is(*token, key));
        if !is_new || is_resumed {
            return Flow::Continue;
        }
        match self.static_row(partition) {
            None => Flow::Continue,
            Some(row) if row.cells().next().is_some() => self.announce(partition),
            Some(row) => {
                // To stop here would be to pass over the partition's rows.
                let _ = self.sink.tombstones(partition.token, |rule| rule.of_static(&row));
                Flow::Continue
            }
        }
    }

    fn range(&mut self, _: Option<&[u8]>, deletion: Option<Deletion>) -> Flow {
        let before = std::mem::replace(&mut self.range, deletion);
        let token = self.present.as_ref().map_or(Token::MIN, |(token, _)| *token);
        self.sink.tombstones(token, |rule| rule.of_change(before, deletion))
    }

    fn row(
        &mut self,
        partition: &Partition,
        clustering: ClusteringRef<'_>,
        row: RowRef<'_>,
        shadow: Option<Deletion>,
    ) -> Flow {
        let live = LiveRow::new(row, shadow, self.now_in_seconds);
        if !live.is_live() {
            return self.sink.tombstones(partition.token, |rule| rule.of_row(&live));
        }
        if !self.is_announced {
            match self.announce(partition) {
                Flow::Continue => {}
                other => return other,
            }
        }
        self.sink.row(clustering, live)
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}

/// Gives a sink all that there is, merged, as one lane.
pub(super) struct AsData<'s, S> {
    sink: &'s mut S,
    /// The partition within which the read goes on: the sink was told what holds there by an earlier read, which need not
    /// be so any more.
    resumed: Option<(Token, Vec<u8>)>,
    present: Option<(Token, Vec<u8>)>,
    /// The deletion that the sink was told last; `None`: it does not know.
    told: Option<Option<Deletion>>,
}

impl<'s, S: DataSink> AsData<'s, S> {
    pub(super) fn new(sink: &'s mut S, command: &ReadCommand<'_>) -> Self {
        let resumed = command.after.filter(|after| after.row.is_some()).map(|after| (after.token, after.key.to_vec()));
        AsData { sink, resumed, present: None, told: None }
    }

    fn flow(&self) -> Flow {
        if self.sink.is_full() { Flow::Stop } else { Flow::Continue }
    }
}

impl<S: DataSink> Output for AsData<'_, S> {
    fn partition(&mut self, partition: &Partition) -> Flow {
        if !self.present.as_ref().is_some_and(|(token, key)| partition.is(*token, key)) {
            let is_resumed = self.resumed.as_ref().is_some_and(|(token, key)| partition.is(*token, key));
            self.told = (!is_resumed).then_some(None);
            self.present = Some((partition.token, partition.key.clone()));
        }
        let static_row = Some(&partition.static_row[..]).filter(|row| !row.is_empty()).map(RowRef::trusted);
        self.sink.partition(partition.token, &partition.key, partition.deletion, static_row);
        Flow::Continue
    }

    fn range(&mut self, at: Option<&[u8]>, deletion: Option<Deletion>) -> Flow {
        if self.told != Some(deletion) {
            self.told = Some(deletion);
            self.sink.range(at, deletion);
        }
        self.flow()
    }

    fn row(&mut self, _: &Partition, clustering: ClusteringRef<'_>, row: RowRef<'_>, _: Option<Deletion>) -> Flow {
        self.sink.row(clustering, row);
        self.flow()
    }

    fn is_full(&self) -> bool {
        self.sink.is_full()
    }
}
