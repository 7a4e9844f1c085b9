//! Conditional statements and reads at a serial level: the workloads [`CasRegister`], [`ListAppend`] and [`WrRegister`].
//!
//! Clients of one partition must use serial levels that have a majority in common. In clusters of one datacenter both are the same, and each request has one
//! of them. In clusters of several, every other partition is of one datacenter, whose clients alone use it, at LOCAL_SERIAL; the rest is used from anywhere at
//! SERIAL. The level of the commit is any at all: it decides when a plain read has what was written, and nothing about serial reads.

use std::collections::BTreeMap;

use cql_protocol::{Consistency, ErrorCode};
use histories::cas_register::CasRegister;
use histories::list_append::ListAppend;
use histories::wr_register::WrRegister;
use histories::{Answer, History, Row, Ticket, Workload};
use runtime::Runtime;

use super::{Requests, SharedRequests, Target};
use crate::client::{Client, ClientError};

/// The history of a workload, and what clients know of its partitions.
#[derive(Debug)]
pub struct Conditional<W: Workload> {
    /// The history.
    pub history: History<W::Asked, W::Told>,
    views: BTreeMap<i32, W::View>,
}

impl<W: Workload> Default for Conditional<W> {
    fn default() -> Self {
        Conditional { history: History::default(), views: BTreeMap::new() }
    }
}

/// The histories of all of them.
#[derive(Debug, Default)]
pub struct Serial {
    /// Registers.
    pub registers: Conditional<CasRegister>,
    /// Lists.
    pub lists: Conditional<ListAppend>,
    /// Registers that are written several at once.
    pub pages: Conditional<WrRegister>,
    values: u64,
}

/// A workload with its place in [`Serial`].
pub trait Kept: Workload {
    /// The place.
    fn of(all: &mut Serial) -> &mut Conditional<Self>;
}

impl Kept for CasRegister {
    fn of(all: &mut Serial) -> &mut Conditional<CasRegister> {
        &mut all.registers
    }
}

impl Kept for ListAppend {
    fn of(all: &mut Serial) -> &mut Conditional<ListAppend> {
        &mut all.lists
    }
}

impl Kept for WrRegister {
    fn of(all: &mut Serial) -> &mut Conditional<WrRegister> {
        &mut all.pages
    }
}

impl<W: Workload> Conditional<W> {
    /// Conditional statements of which that holds.
    fn count(&self, is_counted: impl Fn(&histories::Operation<W::Asked, W::Told>) -> bool) -> usize {
        self.history.all().filter(|one| !W::is_read(&one.asked) && is_counted(one)).count()
    }
}

impl Serial {
    /// The next request of a client.
    pub(super) fn choose<W: Kept>(&mut self, partition: i32, random: histories::Random<'_>) -> W::Asked {
        let fresh = self.fresh::<W>();
        W::choose(W::of(self).views.entry(partition).or_default(), fresh, random)
    }

    fn fresh<W: Kept>(&mut self) -> u64 {
        self.values += W::VALUES.max(1);
        self.values
    }

    /// Conditional statements that were answered.
    pub fn acknowledged_count(&self) -> usize {
        self.acknowledged_since(0)
    }

    /// Those of them that were sent since that moment.
    pub fn acknowledged_since(&self, since: u64) -> usize {
        let (registers, lists, pages) = (&self.registers, &self.lists, &self.pages);
        registers.count(|one| one.end().is_some() && one.start >= since)
            + lists.count(|one| one.end().is_some() && one.start >= since)
            + pages.count(|one| one.end().is_some() && one.start >= since)
    }

    /// Those whose outcome is not known.
    pub fn unknown_count(&self) -> usize {
        let (registers, lists, pages) = (&self.registers, &self.lists, &self.pages);
        registers.count(|one| one.answer == Answer::Unknown)
            + lists.count(|one| one.answer == Answer::Unknown)
            + pages.count(|one| one.answer == Answer::Unknown)
    }

    /// Those that were sent.
    pub fn sent_count(&self) -> usize {
        self.acknowledged_count() + self.unknown_count()
    }

    /// Sentences about histories that no order explains, and answers that make no sense. Unless lists have an order, they are judged by their elements.
    pub fn judge(&self, lists_have_order: bool) -> Vec<String> {
        let mut violations = CasRegister::judge(&self.registers.history);
        match lists_have_order {
            true => violations.extend(ListAppend::judge(&self.lists.history)),
            false => {
                violations.extend(self.lists.history.partitions.values().flat_map(|of| ListAppend::check_elements(of)))
            }
        }
        violations.extend(WrRegister::judge(&self.pages.history));
        violations
    }
}

/// The datacenter whose clients alone use a partition, at LOCAL_SERIAL; `None` for one that is used from anywhere.
pub(super) fn home_of(partition: i32, datacenters: usize) -> Option<usize> {
    (datacenters > 1 && partition % 2 == 1).then(|| (partition / 2) as usize % datacenters)
}

/// The serial level of a request.
pub(super) fn serial_level(partition: i32, datacenters: usize, random: u64) -> Consistency {
    match (datacenters, home_of(partition, datacenters)) {
        (0 | 1, _) if random.is_multiple_of(2) => Consistency::Serial,
        (0 | 1, _) | (_, Some(_)) => Consistency::LocalSerial,
        (_, None) => Consistency::Serial,
    }
}

/// Sets the levels of a request: `commit` is that of what it writes.
pub(super) fn set_levels(client: &mut Client, is_read: bool, serial: Consistency, commit: Consistency) {
    client.consistency = if is_read { serial } else { commit };
    client.serial_consistency = (!is_read).then_some(serial);
}

/// Takes note of the end of a request. Gives what its answer says.
pub(super) fn note_end<W: Kept>(
    all: &mut Requests,
    (ticket, partition, asked): (Ticket, i32, &W::Asked),
    rows: &Answer<Vec<Row>>,
) -> Option<W::Told> {
    let kept = W::of(&mut all.serial);
    let (end, told) = match rows {
        Answer::Told(end, rows) => (*end, W::read(asked, rows)),
        Answer::Void => {
            kept.history.end(ticket, Answer::Void);
            return None;
        }
        Answer::Unknown => return None,
    };
    match told {
        Ok(told) => {
            W::learn(kept.views.entry(partition).or_default(), asked, &told);
            kept.history.end(ticket, Answer::Told(end, told.clone()));
            all.reads += u64::from(W::is_read(asked));
            Some(told)
        }
        Err(what) => {
            all.violations.push(format!("{}, partition {partition}: {what}", W::NAME));
            None
        }
    }
}

/// Takes note of a refusal that no statement of the workloads may get.
pub(super) fn note_refusal(all: &mut Requests, error: &ClientError) {
    if let ClientError::Refused(error) = error
        && error.code() == ErrorCode::Invalid
    {
        all.violations.push(format!("refused as invalid: {}", error.message));
    }
}

/// A client that reads all partitions at their serial level when all is quiet; before that it writes each of them if it `writes`.
pub struct SerialReader {
    /// The client's process.
    pub runtime: Runtime,
    /// The nodes.
    pub targets: Vec<Target>,
    /// The history.
    pub history: SharedRequests,
    /// Partitions of each workload.
    pub partitions: u64,
    /// True if it writes each partition once.
    pub writes: bool,
}

impl SerialReader {
    /// What each partition has, in words.
    pub async fn read<W: Kept>(&self) -> Result<BTreeMap<(&'static str, i32), String>, ClientError> {
        let mut all = BTreeMap::new();
        for partition in 0..self.partitions as i32 {
            let datacenters = self.history.borrow().factors.len();
            let home = home_of(partition, datacenters);
            let of_home = |target: &&Target| home.is_none_or(|home| target.datacenter == home);
            let target = self.targets.iter().find(of_home).expect("each datacenter has nodes");
            let mut client = Client::connect(&self.runtime, target.address).await?;
            let serial = serial_level(partition, datacenters, 0);
            for asked in W::last() {
                self.send::<W>(&mut client, (serial, partition), asked).await?;
            }
            let last = self.writes.then(|| self.last_write::<W>(partition)).flatten();
            if let Some(asked) = last {
                self.send::<W>(&mut client, (serial, partition), asked).await?;
            }
            for asked in W::last() {
                let told = self.send::<W>(&mut client, (serial, partition), asked).await?;
                all.insert((W::NAME, partition), format!("{told:?}"));
            }
        }
        Ok(all)
    }

    fn last_write<W: Kept>(&self, partition: i32) -> Option<W::Asked> {
        let serial = &mut self.history.borrow_mut().serial;
        let fresh = serial.fresh::<W>();
        W::finish(W::of(serial).views.entry(partition).or_default(), fresh)
    }

    async fn send<W: Kept>(
        &self,
        client: &mut Client,
        (serial, partition): (Consistency, i32),
        asked: W::Asked,
    ) -> Result<W::Told, ClientError> {
        set_levels(client, W::is_read(&asked), serial, Consistency::Quorum);
        let start = self.runtime.now().as_nanos();
        let ticket = W::of(&mut self.history.borrow_mut().serial).history.begin(partition, asked.clone(), start);
        let answer = client.run(&W::request(&asked, partition).statement, None).await;
        let end = self.runtime.now().as_nanos();
        let mut history = self.history.borrow_mut();
        let rows = match &answer {
            Ok(rows) => Answer::Told(end, rows.clone()),
            Err(error) => {
                note_refusal(&mut history, error);
                Answer::Unknown
            }
        };
        let told = note_end::<W>(&mut history, (ticket, partition, &asked), &rows);
        answer.and_then(|_| told.ok_or_else(|| ClientError::Malformed("an answer without sense".to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_one_partition_have_a_majority_in_common() {
        for partition in 0..8 {
            assert_eq!(home_of(partition, 1), None);
            let home = home_of(partition, 3);
            assert!(home.is_none_or(|home| home < 3));
            let levels: Vec<Consistency> = (0..4).map(|random| serial_level(partition, 3, random)).collect();
            let expected = if home.is_some() { Consistency::LocalSerial } else { Consistency::Serial };
            assert!(levels.iter().all(|level| *level == expected), "partition {partition}: {levels:?}");
        }
        let of_one = [0, 1].map(|random| serial_level(5, 1, random));
        assert_eq!(of_one, [Consistency::Serial, Consistency::LocalSerial]);
        assert_eq!((0..8).filter_map(|partition| home_of(partition, 3)).collect::<Vec<_>>(), [0, 1, 2, 0]);
    }
}
