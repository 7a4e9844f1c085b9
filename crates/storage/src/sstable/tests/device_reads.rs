//! How often the device is read.

use mutation::{Bound, KeyRange, Slice};

use super::*;

const LZ4: &[(&str, &str)] = &[("class", "LZ4Compressor"), ("chunk_length_in_kb", "16")];

async fn opened(model: &Model, runtime: &Runtime, folder: &Path) -> (Rc<PageCache>, Rc<Sstable>) {
    let info = model.flush(runtime, folder).await;
    let pages = PageCache::new(64 << 20);
    let sstable = Sstable::open(runtime, &pages, folder, info.descriptor, &model.table).await;
    (pages, sstable.expect("what was written opens"))
}

/// Rows as the published table has them: about 300 bytes, hardly compressible.
#[test]
fn a_present_key_takes_one_read_and_an_absent_one_none() {
    simulated(1, |runtime, folder| async move {
        let mut random = Random(1);
        let mut model = Model::new(&table(&[], LZ4));
        for number in 0..20_000u32 {
            let value = random.bytes(290);
            model.row(&number.to_be_bytes(), &[], 1, &value);
        }
        let (pages, sstable) = opened(&model, &runtime, &folder).await;
        // The index goes into memory.
        let mut sink = Calls::new(usize::MAX, true);
        assert_eq!(read_to_end(&sstable, ReadCommand::all(TABLE, NOW), &mut sink).await, 20_000);
        let before = pages.counts();
        for key in 0..20_000u32 {
            let key = key.to_be_bytes();
            let mut sink = Calls::new(usize::MAX, true);
            let command = ReadCommand::partition(TABLE, token_of(&key), &key, NOW);
            assert_eq!(sstable.read_data(&command, &mut sink).await.expect("it can be read"), ReadEnd::Complete);
            assert_eq!(sink.calls.len(), 2, "a partition and its row");
        }
        let present = pages.counts().data_reads - before.data_reads;
        assert!((20_000..=20_400).contains(&present), "{present} reads of 20,000 keys");
        assert_eq!(pages.counts().index_reads, before.index_reads, "the index is in memory");
        for key in 20_000..40_000u32 {
            let key = key.to_be_bytes();
            let mut sink = Calls::new(usize::MAX, true);
            let command = ReadCommand::partition(TABLE, token_of(&key), &key, NOW);
            assert_eq!(sstable.read_data(&command, &mut sink).await.expect("it can be read"), ReadEnd::Complete);
            assert!(sink.calls.is_empty());
        }
        let absent = pages.counts().data_reads - before.data_reads - present;
        assert!(absent < 400, "{absent} reads of 20,000 keys that are not there");
    });
}

/// Reads to the end; gives how many calls there were.
async fn read_to_end(sstable: &Sstable, command: ReadCommand<'_>, sink: &mut Calls) -> usize {
    let mut window = ReadWindow::default();
    let mut after: Option<Position> = None;
    let mut rows = 0;
    loop {
        let command = ReadCommand { after: after.as_ref().map(Position::as_ref), ..command };
        let end = sstable.read_data_in(&mut window, &command, sink).await.expect("it can be read");
        rows += sink.calls.drain(..).filter(|call| call.starts_with("row")).count();
        sink.once.clear();
        match end {
            ReadEnd::Complete => return rows,
            ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
        }
    }
}

#[test]
fn a_scan_reads_far_ahead() {
    simulated(2, |runtime, folder| async move {
        let mut random = Random(2);
        let mut model = Model::new(&table(&[("int", Order::Asc)], LZ4));
        for number in 0..40_000u32 {
            let value = random.bytes(290);
            model.row(&(number / 8).to_be_bytes(), &[&number.to_be_bytes()], 1, &value);
        }
        let (pages, sstable) = opened(&model, &runtime, &folder).await;
        let mut sink = Calls::new(usize::MAX, true);
        assert_eq!(read_to_end(&sstable, ReadCommand::all(TABLE, NOW), &mut sink).await, 40_000);
        let counts = pages.counts();
        assert!(counts.data_reads < 70, "{counts:?} of {} bytes", sstable.data_bytes());
        assert!(counts.data_bytes < sstable.data_bytes() * 11 / 10, "{counts:?} of {} bytes", sstable.data_bytes());
    });
}

/// One partition of many rows, of which a slice is read.
#[test]
fn a_slice_of_a_wide_partition_reads_its_blocks_alone() {
    simulated(3, |runtime, folder| async move {
        let mut random = Random(3);
        let mut model = Model::new(&table(&[("int", Order::Asc)], LZ4));
        for number in 0..30_000u32 {
            let value = random.bytes(290);
            model.row(b"wide", &[&number.to_be_bytes()], 1, &value);
        }
        let (pages, sstable) = opened(&model, &runtime, &folder).await;
        let place = |number: u32| [&[1][..], &(number ^ 1 << 31).to_be_bytes()].concat();
        let mut reads = [0, 0, 0];
        for round in 0..300 {
            let first = random.below(29_000) as u32;
            let (start, end) = (place(first), place(first + 19));
            let keys = KeyRange::Partition { token: token_of(b"wide"), key: b"wide" };
            let start = Bound { prefix: &start, inclusive: true };
            let end = Bound { prefix: &end, inclusive: true };
            // A row; twenty rows; the last ten before a place.
            let (slice, calls_max) = match round % 3 {
                0 => (Slice { start, end: start }, usize::MAX),
                1 => (Slice { start, end }, usize::MAX),
                _ => (Slice { start: Bound::UNBOUNDED, end }, 10),
            };
            let slices = [slice];
            let command = ReadCommand {
                table: TABLE,
                keys,
                slices: &slices,
                reversed: round % 3 == 2 || round % 2 == 1,
                now_in_seconds: NOW,
                after: None,
            };
            let before = pages.counts().data_reads;
            let mut sink = Calls::new(calls_max, true);
            let end = sstable.read_data(&command, &mut sink).await.expect("it can be read");
            assert_eq!(matches!(end, ReadEnd::Complete), round % 3 != 2);
            let rows = sink.calls.iter().filter(|call| call.starts_with("row")).count();
            assert_eq!(rows, [1, 20, 10][round % 3]);
            reads[round % 3] += pages.counts().data_reads - before;
        }
        assert!(reads[0] <= 110, "{} reads of 100 single rows", reads[0]);
        assert!(reads[1] <= 180, "{} reads of 100 slices of 20 rows", reads[1]);
        assert!(reads[2] <= 180, "{} reads of the last 10 rows, 100 times", reads[2]);
    });
}

/// A partition of 30,000 rows with a static one, in pages of 100.
#[test]
fn a_read_that_goes_on_finds_its_bytes_in_the_window() {
    simulated(4, |runtime, folder| async move {
        let mut random = Random(4);
        let mut model = Model::new(&table(&[("int", Order::Asc), ("int", Order::Asc)], LZ4));
        model.write(b"wide", |encoder| {
            encoder.static_row().cell(STATIC, 1, None, b"shared");
        });
        for number in 0..30_000u32 {
            let value = random.bytes(290);
            model.row(b"wide", &[&(number / 100).to_be_bytes(), &number.to_be_bytes()], 1, &value);
        }
        let (pages, sstable) = opened(&model, &runtime, &folder).await;
        for reversed in [false, true] {
            let before = pages.counts().data_reads;
            let mut window = ReadWindow::default();
            let (mut after, mut rows): (Option<Position>, usize) = (None, 0);
            loop {
                let mut sink = Calls::new(100, true);
                let command = ReadCommand {
                    reversed,
                    after: after.as_ref().map(Position::as_ref),
                    ..ReadCommand::partition(TABLE, token_of(b"wide"), b"wide", NOW)
                };
                let end = sstable.read_data_in(&mut window, &command, &mut sink).await.expect("it can be read");
                rows += sink.calls.iter().filter(|call| call.starts_with("row")).count();
                match end {
                    ReadEnd::Complete => break,
                    ReadEnd::Stopped(position) | ReadEnd::Paused(position) => after = Some(position),
                }
            }
            let reads = pages.counts().data_reads - before;
            assert_eq!(rows, 30_000);
            assert!(reads < 60, "{reads} reads of {} bytes, reversed: {reversed}", sstable.data_bytes());
        }
    });
}
