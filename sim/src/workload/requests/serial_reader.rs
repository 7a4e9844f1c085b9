//! A client that reads, and writes, all partitions of conditional statements when all is quiet.

use std::collections::BTreeMap;

use cql_protocol::Consistency;
use histories::Answer;
use runtime::Runtime;

use super::history::SharedRequests;
use super::serial::Kept;
use super::serial_answers::{note_end, note_refusal};
use super::serial_levels::{home_of, serial_level, set_levels};
use super::target::Target;
use crate::client::{Client, ClientError};

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
    /// The rows of each partition, in words.
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
