//! Blocking read repair: what a reader lacks of what a read came to is written to it before the client is answered, so that a
//! later read that asks another replica does not take back what this one gave.
//!
//! It is done row by row: where a range is deleted on one replica and rows in it live on
//! another, those rows are deleted there one by one. What does not fit one mutation goes in several: a row that is left out would
//! let the next read at a quorum take back what this one gave.
//!
//! Deletions and expired data that a digest leaves out are no difference: replicas purge them at different times, and a repair would bring them back.

use mutation::{CellRef, ClusteringRef, Deletion, MutationEncoder, RowBuilder, RowRef, merge_rows, shadow_row};
use planted::Bug;
use schema::{Table, TableId};
use storage::reader::Comparison;
use topology::{NodeIndex, Token};

use crate::replica::DigestRule;

/// Bytes of repairs of one read that are written, as many as a page of results holds: memory is bounded. What is found beyond, which
/// takes deleted rows without end, is left for the next read.
const BYTES_MAX: usize = 16 << 20;
/// What a mutation of one row may have beside row, key and clustering.
const OVERHEAD: usize = 256;
/// What stands around one of many rows in a mutation: its lengths.
const ROW_OVERHEAD: usize = 32;

/// One row of what is to be written to a reader.
struct Row {
    /// `None`: the static row.
    clustering: Option<Vec<u8>>,
    row: Vec<u8>,
}

impl Row {
    fn bytes(&self) -> usize {
        self.row.len() + self.clustering.as_ref().map_or(0, Vec::len)
    }
}

#[derive(Default)]
struct Lacking {
    deletion: Option<Deletion>,
    rows: Vec<Row>,
}

/// A partition of which one reader or more lacks something.
pub(super) struct Repair {
    table: TableId,
    pub(super) token: Token,
    key: Vec<u8>,
    /// All readers of the partition.
    pub(super) readers: Vec<NodeIndex>,
    /// By reader.
    lacking: Vec<Lacking>,
    mutation_bytes_max: usize,
}

/// The parts of each partition that readers of one read lack.
pub(super) struct Repairs<'t> {
    rule: DigestRule<'t>,
    /// The readers of the present merge, and which of them each lane is of.
    readers: Vec<NodeIndex>,
    lanes: Vec<usize>,
    /// The present partition.
    token: Token,
    key: Vec<u8>,
    /// True if the last of `found` is of the present partition.
    is_found: bool,
    found: Vec<Repair>,
    bytes: usize,
    /// The longest mutation that is taken.
    mutation_bytes_max: usize,
}

impl<'t> Repairs<'t> {
    /// Nothing is found yet.
    pub(super) fn new(rule: DigestRule<'t>, mutation_bytes_max: usize) -> Self {
        let (readers, lanes, key, found) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (token, is_found, bytes) = (Token::MIN, false, 0);
        Repairs { rule, readers, lanes, token, key, is_found, found, bytes, mutation_bytes_max }
    }

    /// A merge begins; `lanes` has the node of each lane.
    pub(super) fn begin(&mut self, lanes: &[NodeIndex]) {
        self.readers.clear();
        self.lanes.clear();
        self.is_found = false;
        for node in lanes {
            let known = self.readers.iter().position(|reader| reader == node);
            self.lanes.push(known.unwrap_or(self.readers.len()));
            if known.is_none() {
                self.readers.push(*node);
            }
        }
    }

    /// All that was found, in the read's order.
    pub(super) fn into_found(mut self) -> Vec<Repair> {
        self.found.retain(|repair| repair.lacking().next().is_some());
        self.found
    }

    /// The parts of the present partition that readers lack; `None`: there is no room for another.
    fn present(&mut self) -> Option<&mut Repair> {
        if !self.is_found {
            let bytes = self.key.len() + OVERHEAD * self.readers.len();
            if self.bytes + bytes > BYTES_MAX {
                return None;
            }
            self.bytes += bytes;
            self.is_found = true;
            let lacking = self.readers.iter().map(|_| Lacking::default()).collect();
            let (table, token, key, readers) = (self.rule.table.id, self.token, self.key.clone(), self.readers.clone());
            let mutation_bytes_max = self.mutation_bytes_max;
            self.found.push(Repair { table, token, key, readers, lacking, mutation_bytes_max });
        }
        self.found.last_mut()
    }

    /// True if one more row is written. A mutation that no log takes would fail this read and every later one.
    fn has_room(&self, row: usize) -> bool {
        row + self.key.len() + OVERHEAD <= self.mutation_bytes_max && self.bytes + row <= BYTES_MAX
    }
}

impl Repair {
    /// Readers that lack something.
    pub(super) fn lacking(&self) -> impl Iterator<Item = NodeIndex> {
        let lacks = |lacking: &Lacking| lacking.deletion.is_some() || !lacking.rows.is_empty();
        self.readers.iter().zip(&self.lacking).filter(move |(_, lacking)| lacks(lacking)).map(|(node, _)| *node)
    }

    /// The mutations for a reader, by all of which it lacks nothing.
    pub(super) fn mutations(&self, node: NodeIndex) -> Vec<Vec<u8>> {
        let mut mutations = Vec::new();
        let reader = self.readers.iter().position(|reader| *reader == node);
        let Some(lacking) = reader.and_then(|reader| self.lacking.get(reader)) else { return mutations };
        let mut deletion = lacking.deletion;
        let mut rows = lacking.rows.as_slice();
        while deletion.is_some() || !rows.is_empty() {
            let (some, rest) = rows.split_at(self.count_for_one(rows));
            mutations.push(self.mutation(deletion.take(), some));
            rows = rest;
        }
        mutations
    }

    /// How many of the rows one mutation takes: at least one, and more up to half of what is allowed, for what stands around each.
    fn count_for_one(&self, rows: &[Row]) -> usize {
        let mut bytes = 0;
        let fitting = rows.iter().take_while(|row| {
            bytes += row.bytes() + ROW_OVERHEAD;
            bytes <= self.mutation_bytes_max / 2
        });
        fitting.count().max(rows.len().min(1))
    }

    fn mutation(&self, deletion: Option<Deletion>, rows: &[Row]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = MutationEncoder::begin(&mut out, self.table, self.token, &self.key);
        if let Some(deletion) = deletion {
            encoder.partition_deletion(deletion);
        }
        for Row { clustering, row } in rows {
            match clustering {
                Some(clustering) => encoder.row_blob(ClusteringRef::trusted(clustering), RowRef::trusted(row)),
                None => encoder.static_row_blob(RowRef::trusted(row)),
            }
        }
        encoder.finish();
        out
    }
}

/// True if a partition of the table is one row.
fn has_single_rows(table: &Table) -> bool {
    table.clustering().is_empty()
}

impl Comparison for Repairs<'_> {
    fn readers(&self) -> usize {
        self.readers.len()
    }

    fn reader(&self, lane: usize) -> usize {
        self.lanes[lane]
    }

    fn partition(&mut self, token: Token, key: &[u8]) {
        self.token = token;
        self.key.clear();
        self.key.extend_from_slice(key);
        self.is_found = false;
    }

    fn deletion(&mut self, reader: usize, has: Option<Deletion>, holds: Option<Deletion>) {
        let holds = self.rule.left_of(holds);
        if holds.is_some()
            && has != holds
            && let Some(repair) = self.present()
        {
            repair.lacking[reader].deletion = holds;
        }
    }

    fn row(
        &mut self,
        reader: usize,
        clustering: Option<&[u8]>,
        (row, has): (&[u8], Option<Deletion>),
        (merged, holds): (&[u8], Option<Deletion>),
    ) {
        if has_single_rows(self.rule.table)
            && self.is_found
            && let (Some(own), Some(held), Some(repair)) = (trusted(row).deletion(), holds, self.found.last_mut())
            && own.max(held) == own
        {
            // A memtable keeps the partition's deletion with its row, and a file with the partition.
            repair.lacking[reader].deletion = None;
        }
        let (seen, right) = (shadowed(row, has), shadowed(merged, holds));
        if is_same(&self.rule, &seen, &right) {
            return;
        }
        let right = if self.rule.planted.is(Bug::RepairWritesOwnRow) { trusted(&seen).bytes().to_vec() } else { right };
        let mut repaired = Vec::with_capacity(right.len() + 16);
        match holds.filter(|_| has != holds) {
            None => repaired = right,
            Some(deletion) => {
                // What hides the lane's row lies outside of the row: here it becomes the row's own.
                let mut only = Vec::new();
                let mut builder = RowBuilder::begin(&only);
                builder.deletion(deletion);
                builder.finish(&mut only);
                merge_rows(&trusted(&right), &RowRef::trusted(&only), &mut repaired);
            }
        }
        let row = Row { clustering: clustering.map(<[u8]>::to_vec), row: repaired };
        let bytes = row.bytes();
        if self.has_room(bytes)
            && let Some(repair) = self.present()
        {
            repair.lacking[reader].rows.push(row);
            self.bytes += bytes;
        }
    }
}

/// What is left of a row under a deletion; empty if nothing is.
fn shadowed(row: &[u8], deletion: Option<Deletion>) -> Vec<u8> {
    match deletion {
        Some(deletion) if !row.is_empty() => {
            let mut out = Vec::with_capacity(row.len());
            shadow_row(&RowRef::trusted(row), deletion, &mut out);
            out
        }
        _ => row.to_vec(),
    }
}

/// A row of bytes that may be none: then it is a row that says nothing.
fn trusted(row: &[u8]) -> RowRef<'_> {
    RowRef::trusted(if row.is_empty() { &[0] } else { row })
}

/// True if two rows say the same, however they are laid down.
fn is_same(rule: &DigestRule<'_>, a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (trusted(a), trusted(b));
    let whole = |row: RowRef<'_>| (rule.left_of_liveness(row.liveness()), rule.left_of(row.deletion()));
    let keeps = |cell: &CellRef<'_>| rule.keeps(cell);
    whole(a) == whole(b) && a.cells().filter(keeps).eq(b.cells().filter(keeps))
}

#[cfg(test)]
mod tests {
    use mutation::MutationRef;
    use planted::Planted;
    use schema::{Column, ColumnId, ColumnKind, TableId, TableOptions};

    use super::*;

    const NOW: u32 = 2_000_000;
    /// Made long ago, and now.
    const PURGEABLE: Deletion = Deletion { timestamp: 5, local_deletion_time: 1 };
    const FRESH: Deletion = Deletion { timestamp: 5, local_deletion_time: NOW };

    fn table(has_clustering: bool) -> Table {
        let column = |kind, id, name: &str| Column::new(kind, ColumnId(id), name, cql_types::CqlType::Int);
        let mut columns = vec![column(ColumnKind::PartitionKey, 0, "k")];
        if has_clustering {
            columns.push(column(ColumnKind::Clustering, 1, "c"));
        }
        columns.push(column(ColumnKind::Regular, 2, "v"));
        Table::new(TableId([1; 16]), "ks", "t", columns, TableOptions::default())
    }

    fn rule(table: &Table) -> DigestRule<'_> {
        DigestRule::of(table, NOW, Planted::NONE)
    }

    fn deleted(deletion: Deletion) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        builder.deletion(deletion);
        builder.finish(&mut out);
        out
    }

    fn row(bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowBuilder::begin(&out);
        let value = vec![7; bytes];
        let cell = CellRef {
            column: ColumnId(2),
            timestamp: 1,
            expiry: None,
            tombstone: None,
            path: &[],
            value: &value,
            is_counter: false,
        };
        builder.cell(&mut out, &cell);
        builder.finish(&mut out);
        out
    }

    /// The repairs of a lane that has none of the rows.
    fn repaired(lengths: &[usize], mutation_bytes_max: usize) -> Vec<Vec<u8>> {
        let table = table(true);
        let mut repairs = Repairs::new(rule(&table), mutation_bytes_max);
        repairs.begin(&[NodeIndex(7), NodeIndex(9)]);
        repairs.partition(Token(1), b"key");
        for (number, &length) in (0u32..).zip(lengths) {
            let clustering = [&[1, 4][..], &number.to_be_bytes()].concat();
            let row = row(length);
            repairs.row(0, Some(&clustering), (&row, None), (&row, None));
            repairs.row(1, Some(&clustering), (&[], None), (&row, None));
        }
        let found = repairs.into_found();
        let [repair] = found.as_slice() else { panic!("there is one partition") };
        assert_eq!(repair.lacking().collect::<Vec<_>>(), [NodeIndex(9)], "the other reader lacks nothing");
        assert!(repair.mutations(NodeIndex(7)).is_empty());
        repair.mutations(NodeIndex(9))
    }

    #[test]
    fn a_reader_of_several_lanes_lacks_what_none_of_them_has() {
        let table = table(true);
        let mut repairs = Repairs::new(rule(&table), 1 << 20);
        repairs.begin(&[NodeIndex(7), NodeIndex(7), NodeIndex(9), NodeIndex(9)]);
        assert_eq!((repairs.readers(), [0, 1, 2, 3].map(|lane| repairs.reader(lane))), (2, [0, 0, 1, 1]));
        let row = row(10);
        for (token, key, lacks) in [(1, &b"a"[..], None), (2, b"b", Some(1)), (3, b"c", Some(0))] {
            repairs.partition(Token(token), key);
            for reader in 0..2 {
                let own = if lacks == Some(reader) { &[][..] } else { &row };
                repairs.row(reader, Some(&[1, 4, 0, 0, 0, 0]), (own, None), (&row, None));
            }
        }
        let found = repairs.into_found();
        let of = |repair: &Repair| (repair.token.0, repair.lacking().collect::<Vec<_>>());
        let expected = [(2, vec![NodeIndex(9)]), (3, vec![NodeIndex(7)])];
        assert_eq!(found.iter().map(of).collect::<Vec<_>>(), expected);
    }

    /// The nodes that lack something of one row, where the first has it so (with its partition's deletion) and the second otherwise.
    fn lacking(table: &Table, first: (Option<Deletion>, &[u8]), second: (Option<Deletion>, &[u8])) -> Vec<NodeIndex> {
        let mut repairs = Repairs::new(rule(table), 1 << 20);
        repairs.begin(&[NodeIndex(7), NodeIndex(9)]);
        repairs.partition(Token(1), b"key");
        let holds = Deletion::max_of(first.0, second.0);
        let mut merged = Vec::new();
        merge_rows(&trusted(first.1), &trusted(second.1), &mut merged);
        for (reader, (deletion, _)) in [first, second].into_iter().enumerate() {
            repairs.deletion(reader, deletion, holds);
        }
        for (reader, (_, row)) in [first, second].into_iter().enumerate() {
            repairs.row(reader, Some(&[]), (row, holds), (&merged, holds));
        }
        repairs.into_found().iter().flat_map(|repair| repair.lacking().collect::<Vec<_>>()).collect()
    }

    #[test]
    fn the_deletion_of_a_partition_of_one_row_is_the_rows() {
        let table = table(false);
        let row = deleted(FRESH);
        assert_eq!(lacking(&table, (None, &row), (Some(FRESH), &[])), [], "a memtable's, and a file's");
        assert_eq!(lacking(&table, (None, &[]), (Some(FRESH), &[])), [NodeIndex(7)]);
        let older = deleted(Deletion { timestamp: 4, ..FRESH });
        assert_eq!(lacking(&table, (None, &older), (Some(FRESH), &[])), [NodeIndex(7)]);
    }

    #[test]
    fn deletions_that_replicas_may_have_purged_are_no_difference() {
        let table = table(true);
        assert_eq!(lacking(&table, (None, &[]), (Some(PURGEABLE), &[])), []);
        assert_eq!(lacking(&table, (None, &[]), (None, &deleted(PURGEABLE))), []);
        assert_eq!(lacking(&table, (None, &[]), (None, &deleted(FRESH))), [NodeIndex(7)]);
        let live = row(10);
        assert_eq!(lacking(&table, (None, &live), (None, &deleted(PURGEABLE))), [NodeIndex(7)], "it hides a row");
    }

    fn rows_of(mutation: &[u8]) -> usize {
        MutationRef::decode(mutation).expect("it is a mutation").items().count()
    }

    #[test]
    fn a_repair_is_never_longer_than_a_mutation_may_be_and_leaves_out_nothing_that_fits() {
        const MIB: usize = 1 << 20;
        for (lengths, mutation_bytes_max, rows_each) in [
            (&[MIB, MIB, MIB][..], 16 * MIB, &[3][..]),
            (&[3 * MIB, 6 * MIB, 100][..], 16 * MIB, &[1, 2][..]),
            (&[15 * MIB, 100][..], 16 * MIB, &[1, 1][..]),
            // No log takes the first of these.
            (&[17 * MIB, 100][..], 16 * MIB, &[1][..]),
            (&[1000; 100][..], 64 << 10, &[31, 31, 31, 7][..]),
        ] {
            let mutations = repaired(lengths, mutation_bytes_max);
            assert!(mutations.iter().all(|mutation| mutation.len() <= mutation_bytes_max), "{}", lengths.len());
            let rows: Vec<usize> = mutations.iter().map(|mutation| rows_of(mutation)).collect();
            assert_eq!(rows, rows_each, "{} rows", lengths.len());
        }
    }
}
