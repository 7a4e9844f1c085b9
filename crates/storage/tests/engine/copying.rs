//! Copies of token ranges between shards: what one has, another has then; whole, or not at all.

use mutation::MutationRef;
use runtime::Runtime;
use schema::{SchemaChange, TableId};
use storage::{CopyError, CopySource, CopyTarget, Shard};
use topology::{Token, TokenRange, token_of};

use crate::harness::{
    Folder, OTHER, PAGE_TIME, Setup, TABLE, apply, key_of, mutation, read_all_rows, read_all_rows_at, read_rows,
    truncate, with_shard, with_shards, write_rows,
};

const ALL: TokenRange = TokenRange { after: Token::MIN, end: Token::MAX };

/// All mutations of a shard's table, in pages of different sizes.
async fn copied(shard: &Shard, table: TableId) -> Vec<Vec<u8>> {
    let source = CopySource::open(shard, table).await.expect("the disk works");
    let mut all = Vec::new();
    for (number, range) in source.cut(ALL, 10_000).into_iter().enumerate() {
        let mut scan = source.scan(range);
        loop {
            let page = scan.page(1 + number * 977 % 5_000, PAGE_TIME).await.expect("the disk works");
            let mut tokens = page.mutations.iter().map(|bytes| MutationRef::decode(bytes).expect("a mutation").token());
            assert!(tokens.clone().is_sorted() && tokens.all(|token| range.contains(token)));
            assert!(page.is_last || !page.mutations.is_empty(), "there is time enough for some");
            all.extend(page.mutations);
            if page.is_last {
                break;
            }
        }
    }
    all
}

async fn receive<'m>(shard: &Shard, mutations: impl IntoIterator<Item = &'m Vec<u8>>) -> Result<usize, CopyError> {
    let mut target = CopyTarget::begin(shard, TABLE, TokenRange::ALL)?;
    for mutation in mutations {
        target.put(mutation).await?;
    }
    Ok(target.finish().await?.files)
}

fn files_in(folder: &Folder) -> usize {
    let data = folder.path.join("data");
    let mut count = 0;
    let mut folders = vec![data];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            count += usize::from(path.to_string_lossy().ends_with("-Data.db"));
            folders.extend(path.is_dir().then_some(path));
        }
    }
    count
}

#[test]
fn a_shard_has_what_two_others_had_together() {
    let folders = ["copy-of-first", "copy-of-second", "copy-of-both"].map(Folder::new);
    let source = |folder: &Folder, rows: std::ops::Range<u32>, deleted: u32| {
        let body = move |_, shard: Shard| async move {
            write_rows(&shard, TABLE, rows.clone(), b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
            apply(&shard, &deletion(deleted, 9_000_000_000_000_000)).await;
            write_rows(&shard, OTHER, 0..5, b"of another table").await;
            copied(&shard, TABLE).await
        };
        with_shard(&Setup::new(folder, 1), body).expect("it opens")
    };
    let (first, second) = (source(&folders[0], 0..400, 7), source(&folders[1], 300..700, 350));
    let body = |_, shard: Shard| async move {
        write_rows(&shard, TABLE, 650..800, b"value").await;
        assert_eq!(receive(&shard, first.iter().chain(&second)).await.expect("the disk works"), 1);
        // What comes a second time changes nothing.
        receive(&shard, second.iter().rev()).await.expect("the disk works");
        read_all_rows(&shard, TABLE).await
    };
    let setup = Setup::new(&folders[2], 1);
    let expected: Vec<u32> = (0..800).filter(|row| ![7, 350].contains(row)).collect();
    assert_eq!(with_shard(&setup, body).expect("it opens"), expected);
    let body = |_, shard: Shard| async move {
        shard.compact(TABLE).await.expect("the disk works");
        read_all_rows(&shard, TABLE).await
    };
    assert_eq!(with_shard(&setup.boot(2), body).expect("it opens"), expected, "a start has it too");
}

/// The deletion of a partition.
fn deletion(number: u32, timestamp: i64) -> Vec<u8> {
    let (mut bytes, key) = (Vec::new(), key_of(number));
    let mut encoder = mutation::MutationEncoder::begin(&mut bytes, TABLE, token_of(&key), &key);
    encoder.partition_deletion(mutation::Deletion { timestamp, local_deletion_time: 1_000 });
    encoder.finish();
    bytes
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let folder = Folder::new("copy-unfinished");
    let mut setup = Setup::new(&folder, 1);
    setup.options.auto_snapshot = false;
    // A unit has a file soon.
    setup.options.memory_bytes = 2 << 20;
    let laid = &folder;
    let body = |runtime: Runtime, shard: Shard| async move {
        write_rows(&shard, TABLE, 0..400, &[7; 1_000]).await;
        let all = copied(&shard, TABLE).await;
        let position = truncate(&shard, TABLE);
        shard.discard_truncated(TABLE, position, "1").await;
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        target.put(&all[0]).await.expect("it belongs there");
        drop(target);
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        for mutation in &all {
            target.put(mutation).await.expect("it belongs there");
        }
        let position = truncate(&shard, TABLE);
        let finished = target.finish().await;
        assert!(matches!(finished, Err(CopyError::Gone)), "{finished:?}");
        shard.discard_truncated(TABLE, position, "2").await;
        assert_eq!(read_all_rows(&shard, TABLE).await, Vec::<u32>::new());
        while shard.stats().files > 0 {
            runtime.maybe_yield().await;
        }
        // A process that ends in between leaves files that no manifest names.
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        for mutation in &all {
            target.put(mutation).await.expect("it belongs there");
        }
        std::mem::forget(target);
        assert!(files_in(laid) > 0, "the unit is in a file that is not listed");
        position
    };
    let position = with_shard(&setup, body).expect("it opens");
    let mut again = setup.boot(2);
    again.truncations.insert(TABLE, vec![position]);
    let body = |_, shard: Shard| async move { read_rows(&shard, TABLE) };
    assert_eq!(with_shard(&again, body).expect("it opens"), Vec::<u32>::new());
    assert_eq!(files_in(&folder), 0, "snapshots are off, and nothing else has files");
}

#[test]
fn a_mutation_that_does_not_belong_to_the_unit_ends_it() {
    let folder = Folder::new("copy-strange");
    let body = |runtime: Runtime, shard: Shard| async move {
        let own = (0u32..).find(|number| owner(&runtime, *number)).expect("some are");
        let other = (0u32..).find(|number| !owner(&runtime, *number)).expect("some are not");
        let mut wrong_key = mutation(TABLE, own, 1, b"value");
        let token = token_of(&key_of(own)).0.to_be_bytes();
        let at = wrong_key.windows(8).position(|window| window == token).expect("the token is there");
        wrong_key[at + 7] ^= 1;
        let cases = [
            (mutation(OTHER, own, 1, b"value"), "it is of another table"),
            (mutation(TABLE, other, 1, b"value"), "belongs to shard"),
            (wrong_key, "is not of its range"),
            (b"garbage".to_vec(), ""),
        ];
        for (bytes, words) in cases {
            let mut target = CopyTarget::begin(&shard, TABLE, TokenRange::ALL).expect("the table is there");
            target.put(&mutation(TABLE, own, 1, b"value")).await.expect("it belongs there");
            let put = target.put(&bytes).await;
            let Err(CopyError::Strange { problem }) = &put else { panic!("{words}: {put:?}") };
            assert!(problem.contains(words), "{problem}");
        }
        let after = TokenRange { after: token_of(&key_of(own)), end: Token::MAX };
        let mut target = CopyTarget::begin(&shard, TABLE, after).expect("the table is there");
        assert!(target.put(&mutation(TABLE, own, 1, b"value")).await.is_err(), "it is before the range");
        drop(target);
        assert!(matches!(CopyTarget::begin(&shard, TableId([9; 16]), ALL), Err(CopyError::Gone)));
        assert_eq!(read_all_rows(&shard, TABLE).await, Vec::<u32>::new());
    };
    with_shards(&Setup::new(&folder, 1), 2, true, body);
}

fn owner(runtime: &Runtime, number: u32) -> bool {
    topology::Sharder::new(runtime.shard_count()).shard_of(token_of(&key_of(number))) == runtime.shard().0
}

/// Planted: purged-while-receiving.
#[test]
fn nothing_is_purged_while_a_range_is_received() {
    let folder = Folder::new("copy-purged");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    let body = |_, shard: Shard| async move {
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        target.put(&mutation(TABLE, 1, 10, b"old")).await.expect("it belongs there");
        // The row was deleted here, and the source has not heard of that.
        for round in 0..2 {
            apply(&shard, &deletion(1, 20)).await;
            write_rows(&shard, TABLE, 100..110 + round, b"value").await;
            shard.flush(TABLE).await.expect("the disk works");
        }
        shard.compact(TABLE).await.expect("the disk works");
        target.finish().await.expect("the disk works");
        let rows = read_all_rows_at(&shard, TABLE, 2_000).await;
        assert!(!rows.contains(&1), "what was deleted stays so");
        let says_of_it = async |shard: &Shard| {
            let key = key_of(1);
            let all = copied(shard, TABLE).await;
            all.iter().filter(|bytes| MutationRef::decode(bytes).expect("a mutation").key() == key).count()
        };
        assert_eq!(says_of_it(&shard).await, 1, "its deletion is there");
        // Nothing is received any more, and the log has nothing of it: it is purged as ever.
        write_rows(&shard, TABLE, 200..201, b"value").await;
        shard.flush(TABLE).await.expect("the disk works");
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(says_of_it(&shard).await, 0, "its deletion is purged");
        assert!(!read_all_rows_at(&shard, TABLE, 2_000).await.contains(&1));
    };
    with_shard(&setup, body).expect("it opens");
}

#[test]
fn a_range_is_cut_into_ranges_that_tile_it() {
    let folder = Folder::new("copy-cut");
    let body = |_, shard: Shard| async move {
        write_rows(&shard, TABLE, 0..2_000, &[7; 100]).await;
        let source = CopySource::open(&shard, TABLE).await.expect("the disk works");
        for (after, end, bytes) in
            [(Token::MIN, Token::MAX, 5_000), (Token(-5), Token(7), 1), (Token(i64::MAX - 1), Token::MAX, 1)]
        {
            let cuts = source.cut(TokenRange { after, end }, bytes);
            assert_eq!((cuts[0].after, cuts[cuts.len() - 1].end), (after, end));
            assert!(cuts.windows(2).all(|pair| pair[0].end == pair[1].after), "{cuts:?}");
            assert!(cuts.iter().all(|cut| cut.after < cut.end));
            if bytes == 5_000 {
                assert!(cuts.len() > 10, "{}", cuts.len());
            }
        }
        assert_eq!(source.cut(ALL, u64::MAX), [ALL]);
    };
    with_shard(&Setup::new(&folder, 1), body).expect("it opens");
}

#[test]
fn a_row_that_no_memory_holds_is_refused() {
    let folder = Folder::new("copy-huge-row");
    let mut setup = Setup::new(&folder, 1);
    setup.options.memory_bytes = 2 << 20;
    let body = |_, shard: Shard| async move {
        let mut target = CopyTarget::begin(&shard, TABLE, ALL).expect("the table is there");
        let huge = target.put(&mutation(TABLE, 1, 1, &vec![7; 2 << 20])).await;
        assert!(matches!(huge, Err(CopyError::TooLarge { budget: 2_097_152, .. })), "{huge:?}");
    };
    with_shard(&setup, body).expect("it opens");
}

#[test]
fn a_disk_that_is_nearly_full_takes_no_copy() {
    let folder = Folder::new("copy-disk-full");
    let path = folder.path.clone();
    let free =
        with_shard(&Setup::new(&folder, 1), |runtime: Runtime, _| async move { runtime.free_bytes(&path).await });
    let free = free.expect("it opens").expect("the file system says it");
    let mut setup = Setup::new(&folder, 2);
    // Compactions leave three of them, and flushes one.
    setup.options.disk_reserve = free / 5 * 2;
    let laid = &folder;
    let body = |runtime: Runtime, shard: Shard| async move {
        let received = receive(&shard, &[mutation(TABLE, 1, 1, b"value")]).await;
        let Err(error) = received else { panic!("it was refused room") };
        assert!(error.to_string().contains("disk nearly full"), "{error}");
        crate::harness::until(&runtime, "nothing of it stays", || files_in(laid) == 0).await;
        crate::harness::until(&runtime, "the memory is given back", || shard.stats().memory_used == 0).await;
        write_rows(&shard, TABLE, 0..5, b"value").await;
        shard.flush(TABLE).await.expect("a flush takes what is left");
    };
    with_shard(&setup, body).expect("it opens");
}

#[test]
fn what_is_copied_is_purged_without_another_write() {
    let folder = Folder::new("copy-covered");
    let mut setup = Setup::new(&folder, 1);
    setup.gc_grace_seconds = Some(0);
    let body = |_, shard: Shard| async move {
        write_rows(&shard, OTHER, 0..10, b"value").await;
        receive(&shard, &[mutation(TABLE, 1, 10, b"old"), mutation(TABLE, 2, 10, b"value")]).await.expect("it belongs");
        receive(&shard, &[deletion(1, 20)]).await.expect("it belongs there");
        shard.compact(TABLE).await.expect("the disk works");
        assert_eq!(copied(&shard, TABLE).await.len(), 1, "the deletion is purged with what it deletes");
        assert_eq!(read_all_rows_at(&shard, TABLE, 2_000).await, [2]);
        // The log still has something of this one, which a start replays.
        write_rows(&shard, TABLE, 3..4, b"value").await;
        receive(&shard, &[deletion(2, 20)]).await.expect("it belongs there");
    };
    with_shard(&setup, body).expect("it opens");
    let body = |_, shard: Shard| async move {
        assert!(shard.stats().replayed >= 11, "{:?}", shard.stats());
        assert_eq!(read_all_rows_at(&shard, TABLE, 2_000).await, [3]);
        read_all_rows(&shard, OTHER).await.len()
    };
    assert_eq!(with_shard(&setup.boot(2), body).expect("it opens"), 10);
}

/// A column may come back (`DROP … USING TIMESTAMP`), and then shows what was written after it was dropped.
#[test]
fn cells_newer_than_the_drop_of_their_column_are_copied() {
    let folders = ["copy-dropped-source", "copy-dropped"].map(Folder::new);
    let without = |setup: &Setup| {
        let schema = setup.schema();
        let before = schema.table_by_id(TABLE).expect("it is there");
        let columns = before.columns().iter().filter(|column| column.name != "value").cloned().collect();
        let mut table = schema::Table::new(TABLE, "ks", &before.name, columns, before.options.clone());
        let column = before.column("value").expect("it is there").clone();
        table.dropped.insert("value".to_owned(), schema::DroppedColumn { column, dropped_at_micros: 10 });
        table.next_column_id = before.next_column_id;
        schema.with_all(&[SchemaChange::PutTable(Box::new(table))])
    };
    let setups = folders.each_ref().map(|folder| Setup::new(folder, 1));
    let source = &setups[0];
    let body = |_, shard: Shard| async move {
        apply(&shard, &mutation(TABLE, 1, 5, b"older")).await;
        apply(&shard, &mutation(TABLE, 2, 20, b"newer")).await;
        shard.update_schema(&without(source));
        copied(&shard, TABLE).await
    };
    let all = with_shard(source, body).expect("it opens");
    let setup = &setups[1];
    let body = |_, shard: Shard| async move {
        shard.update_schema(&without(setup));
        receive(&shard, &all).await.expect("the disk works");
        let again = copied(&shard, TABLE).await;
        let cells = |number: u32| {
            let of_it = again.iter().map(|bytes| MutationRef::decode(bytes).expect("a mutation"));
            let of_it = of_it.filter(|mutation| mutation.key() == key_of(number)).collect::<Vec<_>>();
            of_it
                .iter()
                .flat_map(|mutation| mutation.items())
                .map(|item| match item {
                    mutation::Item::Row(_, row) => row.cells().count(),
                    _ => 0,
                })
                .sum::<usize>()
        };
        assert_eq!((cells(1), cells(2)), (0, 1), "what is newer than the drop stays");
    };
    with_shard(setup, body).expect("it opens");
}
