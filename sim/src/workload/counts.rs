//! Counters: random amounts are added to some, singly and in batches, and the counts are read back.
//!
//! An amount is of so many random bits that a count tells which amounts are in it: one that is lost, or in it twice, comes to what
//! no choice of the others does.

use std::collections::BTreeMap;

use cql_protocol::BatchKind;
use histories::counter::{amount, explained};
use runtime::Runtime;

use crate::client::{Client, ClientError, Row, Statement};
use crate::cluster::NODE;

const UPDATE: &str = "UPDATE sim.counts SET n = n + ? WHERE p = ? AND c = ?";
const SELECT_ONE: &str = "SELECT p, c, n FROM sim.counts WHERE p = ? AND c = ?";
/// All counters, for the checker.
pub const SELECT_COUNTS: &str = "SELECT p, c, n FROM sim.counts";

/// Counters of a partition.
const ROWS: u64 = 2;
/// No more is added to a counter of which so many amounts may be in it or not: the checker tries all choices of them.
const OPEN_MAX: usize = 12;

/// Where a counter is: its partition and row.
pub type Place = (i32, i32);

/// An amount that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Add {
    /// To which counter.
    pub place: Place,
    /// How much.
    pub amount: i64,
    /// When the request was sent.
    pub start: u64,
    /// When it was acknowledged; `None`: it failed, or nobody knows.
    pub acknowledged: Option<u64>,
}

/// All that was added, in the order in which it was sent.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// The amounts.
    pub adds: Vec<Add>,
}

impl Counts {
    /// Why a counter cannot have come to `count` for who asked from `from` to `until`. What was acknowledged before must be in it,
    /// once; of all else that was sent each amount may be. `loses` says of an acknowledged one whether it may be lost all the same.
    pub fn judge(
        &self,
        place: Place,
        count: i64,
        (from, until): (u64, u64),
        loses: impl Fn(&Add) -> bool,
    ) -> Result<(), String> {
        let (mut sum, mut open) = (0_i64, Vec::new());
        for add in self.adds.iter().filter(|add| add.place == place && add.start <= until) {
            match add.acknowledged.is_some_and(|at| at <= from) && !loses(add) {
                true => sum = sum.wrapping_add(add.amount),
                false => open.push(add.amount),
            }
        }
        if open.len() > 2 * OPEN_MAX {
            return Err(format!("{place:?}: {} amounts may be in it or not, too many to judge", open.len()));
        }
        explained(sum, &open, count).map(drop).map_err(|what| format!("{place:?}: {what}"))
    }

    /// The counters that something was added to.
    pub fn places(&self) -> Vec<Place> {
        let places: BTreeMap<Place, ()> = self.adds.iter().map(|add| (add.place, ())).collect();
        places.into_keys().collect()
    }

    fn open(&self, place: Place) -> usize {
        self.adds.iter().filter(|add| add.place == place && add.acknowledged.is_none()).count()
    }
}

/// Makes the table.
pub async fn prepare_counts(runtime: Runtime) -> Result<(), ClientError> {
    let mut client = Client::connect(&runtime, NODE).await?;
    let create = "CREATE TABLE IF NOT EXISTS sim.counts (p int, c int, n counter, PRIMARY KEY (p, c)) \
                  WITH compaction = {'class': 'SizeTieredCompactionStrategy', 'min_threshold': '2'} \
                  AND caching = {'keys': 'ALL', 'rows_per_partition': 'ALL'}";
    client.execute(create).await.map(drop)
}

/// The place and count of a row of [`SELECT_COUNTS`].
pub fn read_count(row: &Row) -> Result<(Place, i64), String> {
    let bytes = |index: usize| row.get(index).and_then(Option::as_deref);
    let int = |index: usize| bytes(index).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    let count = bytes(2).and_then(|bytes| bytes.try_into().ok()).map(i64::from_be_bytes);
    match (int(0), int(1), count) {
        (Some(partition), Some(row), Some(count)) => Ok(((partition, row), count)),
        _ => Err(format!("a row of counters cannot be read: {row:?}")),
    }
}

/// What one request adds.
pub struct Adder {
    /// Where the amounts stand in [`Counts::adds`].
    pub indexes: Vec<usize>,
    statements: Vec<Statement>,
}

impl Adder {
    /// One amount, or several in a batch, perhaps several of one counter; none where too much is open already.
    pub fn new(runtime: &Runtime, partitions: u32, now: u64, counts: &mut Counts) -> Option<Adder> {
        let amounts = if runtime.random_u64().is_multiple_of(4) { 2 + runtime.random_u64() % 3 } else { 1 };
        let mut adder = Adder { indexes: Vec::new(), statements: Vec::new() };
        for _ in 0..amounts {
            let partition = (runtime.random_u64() % u64::from(partitions)) as i32;
            let place = (partition, (runtime.random_u64() % ROWS) as i32);
            if counts.open(place) >= OPEN_MAX {
                continue;
            }
            let amount = amount(&mut |bound| runtime.random_u64() % bound);
            adder.indexes.push(counts.adds.len());
            counts.adds.push(Add { place, amount, start: now, acknowledged: None });
            let values =
                vec![amount.to_be_bytes().to_vec(), place.0.to_be_bytes().to_vec(), place.1.to_be_bytes().to_vec()];
            adder.statements.push(Statement { text: UPDATE, values });
        }
        (!adder.indexes.is_empty()).then_some(adder)
    }

    /// Asks for it.
    pub async fn ask(&self, client: &mut Client) -> Result<(), ClientError> {
        match self.statements.as_slice() {
            [one] => client.run(one, None).await.map(drop),
            several => client.batch(BatchKind::Counter, several, None).await,
        }
    }
}

/// Reads one counter; `None`: there is no such row.
pub async fn read_one(client: &mut Client, place: Place) -> Result<Option<i64>, ClientError> {
    let values = vec![place.0.to_be_bytes().to_vec(), place.1.to_be_bytes().to_vec()];
    let rows = client.run(&Statement { text: SELECT_ONE, values }, None).await?;
    let count = rows.first().map(read_count).transpose().map_err(ClientError::Malformed)?;
    Ok(count.map(|(_, count)| count))
}
