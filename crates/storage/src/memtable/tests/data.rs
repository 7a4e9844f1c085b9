//! Reading data: with its deletions applied by the reader, it is what a plain read gives, however it is cut into pages.

use super::*;
use crate::sink::DataSink;

/// Applies deletions as a merge of one replica does.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) collected: Collected,
    key: Option<Vec<u8>>,
    deletion: Option<Deletion>,
    range: Option<Deletion>,
    pub(crate) items: usize,
    items_max: usize,
}

impl Reader {
    /// Full with so many items, which a caller sets back for each page.
    pub(crate) fn new(items_max: usize) -> Self {
        Reader { items_max, ..Reader::default() }
    }
}

impl DataSink for Reader {
    fn partition(&mut self, token: Token, key: &[u8], deletion: Option<Deletion>, static_row: Option<RowRef<'_>>) {
        assert_eq!(token, token_of(key));
        self.items += 1;
        if self.key.as_deref() == Some(key) {
            assert_eq!(self.deletion, deletion, "a partition that goes on has the deletion that it began with");
            return;
        }
        (self.key, self.deletion, self.range) = (Some(key.to_vec()), deletion, None);
        let row = static_row.map(|row| LiveRow::new(row, deletion, NOW));
        if let Some(row) = row.filter(|row| row.cells().next().is_some()) {
            self.collected.rows.push((key.to_vec(), "static".into(), describe(&row)));
        }
    }

    fn range(&mut self, _: Option<&[u8]>, deletion: Option<Deletion>) {
        self.items += 1;
        self.range = deletion;
    }

    fn row(&mut self, clustering: ClusteringRef<'_>, row: RowRef<'_>) {
        self.items += 1;
        let live = LiveRow::new(row, Deletion::max_of(self.deletion, self.range), NOW);
        if live.is_live() {
            let components: Vec<&[u8]> = clustering.components().collect();
            let key = self.key.clone().expect("a row is in a partition");
            self.collected.rows.push((key, format!("{components:?}"), describe(&live)));
        }
    }

    fn is_full(&self) -> bool {
        self.items >= self.items_max
    }
}

/// What a reader of pages of so many items comes to.
pub(crate) fn read_data(table: &Memtable, command: &ReadCommand<'_>, items_max: usize) -> Collected {
    let mut reader = Reader::new(items_max);
    let mut after: Option<Position> = None;
    loop {
        reader.items = 0;
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..*command };
        match table.read_data(&command, &mut reader) {
            ReadEnd::Complete => return reader.collected,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => {
                assert_ne!(Some(&position), after.as_ref(), "each page gets further");
                after = Some(position);
            }
        }
    }
}
