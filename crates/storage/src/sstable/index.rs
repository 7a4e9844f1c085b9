//! Finding partitions, and the blocks of wide ones, in either format's index: lookups are tried until all pages that they want are
//! there.

use std::cmp::Ordering;

use mutation::{Bound, Deletion};
use runtime::Runtime;
use schema::Table;
use sstable::big::{self, Summary, SummaryBuilder};
use sstable::bti::{self, PartitionCursor, PartitionIndex, RowIndex};
use sstable::{Block, Blocks, KeyHash, LookupError, NeedPage, Pages, byte_comparable};
use topology::{Token, token_of};

use crate::sstable::error::ReadError;
use crate::sstable::pages::{HeldPages, PagedFile};

/// A token in the form of a key, with the byte before it: keys with the same token begin with it.
const TOKEN_FORM_BYTES: usize = 9;

impl Pages for HeldPages<'_> {
    fn page(&self, number: u32) -> Result<&[u8], NeedPage> {
        HeldPages::page(self, number).ok_or(NeedPage(number))
    }
}

/// Tries `lookup` until it has all pages that it asks for.
async fn look<T>(
    file: &PagedFile,
    mut lookup: impl FnMut(&HeldPages<'_>) -> Result<T, LookupError>,
) -> Result<T, ReadError> {
    let held = file.held();
    loop {
        match lookup(&held) {
            Ok(found) => return Ok(found),
            Err(LookupError::Corrupt(corrupt)) => return Err(ReadError::corrupt(&file.path)(corrupt)),
            Err(LookupError::Need(number)) => {
                let page = file.load(number).await?;
                if !held.hold(number, page) {
                    let offset = u64::from(number) * sstable::PAGE_LENGTH as u64;
                    let what = "the index contains a cycle".to_owned();
                    return Err(ReadError::Corrupt { path: file.path.clone(), offset, what });
                }
            }
        }
    }
}

/// The index of one SSTable.
pub(super) enum Index {
    /// Tries.
    Bti {
        /// What is known of Partitions.db without its pages.
        index: PartitionIndex,
        /// Partitions.db.
        partitions: PagedFile,
        /// Rows.db.
        rows: PagedFile,
    },
    /// A sorted list.
    Big {
        /// A sample of it.
        summary: Summary,
        /// How its entries are read.
        index: big::Index,
        /// Index.db.
        file: PagedFile,
    },
}

/// Where a partition begins, and how its rows are found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Where it begins in the data.
    pub(super) data_position: u64,
    /// What finds its rows, if there are blocks of them.
    pub(super) wide: Option<Wide>,
}

/// A wide partition.
#[derive(Debug, Clone)]
pub(super) struct Wide {
    /// Its key.
    pub(super) key: Vec<u8>,
    /// Its deletion.
    pub(super) deletion: Option<Deletion>,
    entry: WideEntry,
}

#[derive(Debug, Clone)]
enum WideEntry {
    Bti(RowIndex),
    Big(big::Entry),
}

/// A place between partitions.
#[derive(Debug, Clone)]
pub(super) enum Between {
    /// In tries.
    Bti(PartitionCursor),
    /// An offset in Index.db.
    Big(u64),
}

impl Index {
    /// Reads the end of Partitions.db.
    pub(super) async fn open_bti(partitions: PagedFile, rows: PagedFile) -> Result<Index, ReadError> {
        let length = partitions.length();
        let index = look(&partitions, |pages| PartitionIndex::open(pages, length)).await?;
        Ok(Index::Bti { index, partitions, rows })
    }

    /// Samples an Index.db that has no Summary.db.
    pub(super) async fn sample(runtime: &Runtime, index: &big::Index, file: &PagedFile) -> Result<Summary, ReadError> {
        let (mut builder, mut position, mut key) = (SummaryBuilder::default(), 0, Vec::new());
        loop {
            let entry = look(file, |pages| index.entry(pages, position, &mut key)).await?;
            let Some(entry) = entry else { break };
            builder.push(&key, position).map_err(ReadError::corrupt(&file.path))?;
            position = entry.next;
            runtime.maybe_yield().await;
        }
        builder.finish().map_err(ReadError::corrupt(&file.path))
    }

    /// The keys of the first and last partition.
    pub(super) fn ends(&self) -> (&[u8], &[u8]) {
        match self {
            Index::Bti { index, .. } => (&index.first_key, &index.last_key),
            Index::Big { summary, .. } => (&summary.first_key, &summary.last_key),
        }
    }

    /// Where the partition with this key is, if it is there: what is at the place may be another one.
    pub(super) async fn find(&self, token: Token, key: &[u8]) -> Result<Option<Place>, ReadError> {
        match self {
            Index::Bti { index, partitions, .. } => {
                let mut form = Vec::with_capacity(TOKEN_FORM_BYTES + key.len() + 8);
                byte_comparable::key(token, key, &mut form);
                let hash = KeyHash::of(key);
                match look(partitions, |pages| index.find(pages, &form, hash)).await? {
                    Some(found) => self.bti_place(found).await.map(Some),
                    None => Ok(None),
                }
            }
            Index::Big { summary, .. } => {
                // One entry at a time: those of wide partitions may lie many pages apart.
                let mut between = Between::Big(summary.seek(token, key));
                while let Some((found, place)) = self.next_big(&mut between).await? {
                    match (token_of(&found), &found[..]).cmp(&(token, key)) {
                        Ordering::Less => {}
                        Ordering::Equal => return Ok(Some(place)),
                        Ordering::Greater => return Ok(None),
                    }
                }
                Ok(None)
            }
        }
    }

    /// True if a read by key finds the partition at `data_position`. Asked of each partition in turn, in the order of the index: `before` is the place
    /// before its entry, and `sampled` is kept from one to the next, zero at first.
    pub(super) async fn leads_to(
        &self,
        (token, key): (Token, &[u8]),
        data_position: u64,
        before: &Between,
        sampled: &mut u64,
    ) -> Result<bool, ReadError> {
        match (self, before) {
            (Index::Big { summary, .. }, Between::Big(entry_at)) => {
                // A read goes from a sample to the entry, through all between the two. That the entries are right is known; that each sample is one of them
                // is seen here, at a fraction of the cost of a hundred finds.
                let from = summary.seek(token, key);
                let leads = from == *sampled || from == *entry_at;
                *sampled = from;
                Ok(leads)
            }
            _ => Ok(self.find(token, key).await?.is_some_and(|found| found.data_position == data_position)),
        }
    }

    /// The entry of Index.db behind a place, with its key.
    async fn next_big(&self, between: &mut Between) -> Result<Option<(Vec<u8>, Place)>, ReadError> {
        let (Index::Big { index, file, .. }, Between::Big(position)) = (self, between) else {
            unreachable!("a place of another format's index")
        };
        let mut key = Vec::new();
        let entry = look(file, |pages| {
            key.clear();
            index.entry(pages, *position, &mut key)
        })
        .await?;
        let Some(entry) = entry else { return Ok(None) };
        *position = entry.next;
        let place = big_place(entry, &key);
        Ok(Some((key, place)))
    }

    async fn bti_place(&self, found: bti::Partition) -> Result<Place, ReadError> {
        let Index::Bti { rows, .. } = self else { unreachable!("it was found in tries") };
        match found {
            bti::Partition::Data(data_position) => Ok(Place { data_position, wide: None }),
            bti::Partition::Rows(position) => {
                let mut key = Vec::new();
                let entry = look(rows, |pages| {
                    key.clear();
                    RowIndex::open(pages, position, &mut key)
                })
                .await?;
                let wide = Wide { key, deletion: entry.deletion, entry: WideEntry::Bti(entry) };
                Ok(Place { data_position: entry.data_position, wide: Some(wide) })
            }
        }
    }

    /// The place before the first partition with `token` and at least `key`, or a little before that; with no key, before all of the
    /// token's.
    pub(super) async fn seek(&self, from: Option<(Token, Option<&[u8]>)>) -> Result<Between, ReadError> {
        match (self, from) {
            (Index::Bti { index, .. }, None) => Ok(Between::Bti(index.start())),
            (Index::Bti { index, partitions, .. }, Some((token, key))) => {
                let mut form = Vec::new();
                byte_comparable::key(token, key.unwrap_or_default(), &mut form);
                if key.is_none() {
                    form.truncate(TOKEN_FORM_BYTES);
                }
                let mut cursor = index.start();
                look(partitions, |pages| index.seek(pages, &form, &mut cursor)).await?;
                Ok(Between::Bti(cursor))
            }
            (Index::Big { .. }, None) => Ok(Between::Big(0)),
            (Index::Big { summary, .. }, Some((token, key))) => {
                Ok(Between::Big(summary.seek(token, key.unwrap_or_default())))
            }
        }
    }

    /// [`Index::next`] with the partition's key, as far as the index has it: that of partitions without blocks is in `big` alone.
    pub(super) async fn next_with_key(
        &self,
        between: &mut Between,
    ) -> Result<Option<(Option<Vec<u8>>, Place)>, ReadError> {
        match self {
            Index::Bti { .. } => {
                let place = self.next(between).await?;
                Ok(place.map(|place| (place.wide.as_ref().map(|wide| wide.key.clone()), place)))
            }
            Index::Big { .. } => Ok(self.next_big(between).await?.map(|(key, place)| (Some(key), place))),
        }
    }

    /// The partition behind a place, and the place behind it.
    pub(super) async fn next(&self, between: &mut Between) -> Result<Option<Place>, ReadError> {
        match (self, between) {
            (Index::Bti { partitions, .. }, Between::Bti(cursor)) => {
                match look(partitions, |pages| cursor.next(pages)).await? {
                    Some(found) => self.bti_place(found).await.map(Some),
                    None => Ok(None),
                }
            }
            (Index::Big { .. }, between) => Ok(self.next_big(between).await?.map(|(_, place)| place)),
            _ => unreachable!("a place of another format's index"),
        }
    }

    /// The blocks of a wide partition that may hold anything between two bounds, which are in our own comparable form.
    pub(super) async fn blocks(
        &self,
        wide: &Wide,
        table: &Table,
        start: Bound<'_>,
        end: Bound<'_>,
    ) -> Result<Blocks, ReadError> {
        let columns = table.clustering();
        let (mut start_form, mut end_form) = (Vec::new(), Vec::new());
        byte_comparable::bound(columns, start, true, &mut start_form);
        byte_comparable::bound(columns, end, false, &mut end_form);
        match (self, &wide.entry) {
            (Index::Bti { rows, .. }, WideEntry::Bti(entry)) => {
                look(rows, |pages| entry.blocks(pages, &start_form, &end_form)).await
            }
            (Index::Big { index, file, .. }, WideEntry::Big(entry)) => {
                look(file, |pages| index.blocks(pages, entry, columns, &start_form, &end_form)).await
            }
            _ => unreachable!("an entry of another format's index"),
        }
    }

    fn rows_file(&self) -> &PagedFile {
        match self {
            Index::Bti { rows, .. } => rows,
            Index::Big { file, .. } => file,
        }
    }

    /// The first of the blocks.
    pub(super) async fn first_block(&self, blocks: &mut Blocks) -> Result<Option<Block>, ReadError> {
        look(self.rows_file(), |pages| blocks.next(pages)).await
    }

    /// The last of the blocks that was not given yet.
    pub(super) async fn last_block(&self, blocks: &mut Blocks) -> Result<Option<Block>, ReadError> {
        look(self.rows_file(), |pages| blocks.next_back(pages)).await
    }
}

fn big_place(entry: big::Entry, key: &[u8]) -> Place {
    let wide = || Wide { key: key.to_vec(), deletion: entry.deletion, entry: WideEntry::Big(entry) };
    let wide = (entry.block_count > 0).then(wide);
    Place { data_position: entry.data_position, wide }
}
