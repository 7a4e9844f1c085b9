//! All items of an SSTable that can be read, one after the other: where one cannot be, it goes on with the next partition that the index knows.
//!
//! Beside that it compares the index with the data, since whoever reads all of a file to find its damages wants to know of those too.

use std::rc::Rc;

use crate::sstable::error::ReadError;
use crate::sstable::index::Between;
use crate::sstable::reader::Sstable;
use crate::sstable::scan::{At, Scan};

/// What came of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salvaged {
    /// The scan is at the next item, or at the end.
    Item,
    /// What comes next could not be read. The partition that the scan was in, if it was in one, ends here, and the scan is at the next one that can be
    /// read, or at the end.
    Broken,
}

/// A scan that goes on behind what cannot be read.
pub struct Salvage {
    /// What it is at.
    pub scan: Scan,
    sstable: Rc<Sstable>,
    /// Behind the last partition that the index told of; `None`: it leads no further, by its end or by a damage.
    between: Option<Between>,
    /// The partition that it told of last, if the scan has not come to it.
    start: Option<u64>,
    /// Partitions of which nothing could be read.
    pub lost: u64,
    /// The first thing that was wrong.
    pub damage: Option<String>,
}

impl Salvage {
    /// One that is at no item yet: the first step goes to the first.
    pub async fn begin(sstable: &Rc<Sstable>, ahead_max: usize) -> Result<Salvage, ReadError> {
        let mut salvage = Salvage {
            scan: Scan::idle(sstable, ahead_max)?,
            sstable: sstable.clone(),
            between: None,
            start: None,
            lost: 0,
            damage: None,
        };
        match sstable.index.seek(None).await {
            Ok(between) => salvage.between = Some(between),
            Err(error) => salvage.is_wrong(&error.to_string()),
        }
        Ok(salvage)
    }

    fn is_wrong(&mut self, what: &str) {
        self.damage.get_or_insert_with(|| what.to_owned());
    }

    /// Where the next partition begins that the index knows, from the last one on.
    async fn next_start(&mut self) -> Option<u64> {
        if self.start.is_none() {
            let between = self.between.as_mut()?;
            match self.sstable.index.next(between).await {
                Ok(Some(place)) => self.start = Some(place.data_position),
                Ok(None) => self.between = None,
                Err(error) => {
                    self.between = None;
                    self.is_wrong(&error.to_string());
                }
            }
        }
        self.start
    }

    /// Goes on.
    pub async fn advance(&mut self) -> Salvaged {
        let is_inside = matches!(self.scan.at(), At::Partition | At::Row | At::Marker);
        match self.step().await {
            Ok(()) => {
                if self.scan.at() == At::Partition {
                    self.compare().await;
                }
                Salvaged::Item
            }
            Err(error) => {
                stdx::sometimes!("damage passed over");
                self.is_wrong(&error.to_string());
                if !is_inside {
                    self.lost += 1;
                }
                self.go_behind().await;
                Salvaged::Broken
            }
        }
    }

    /// The scan's next step; one that read ahead and failed is tried without.
    async fn step(&mut self) -> Result<(), ReadError> {
        let before = self.scan.position();
        match self.scan.advance().await {
            Err(_) if self.scan.position() == before => self.scan.again().await,
            result => result,
        }
    }

    /// The scan is at a partition: the index must know it, and none before it that was not come by.
    async fn compare(&mut self) {
        let begins = self.scan.begins();
        while let Some(start) = self.next_start().await
            && start <= begins
        {
            self.start = None;
            if start == begins {
                return;
            }
            self.is_wrong("the index points to a missing partition");
        }
        self.is_wrong("the index does not point to a partition");
    }

    /// Goes to the next partition that can be read.
    async fn go_behind(&mut self) {
        let mut behind = self.scan.begins();
        loop {
            let start = loop {
                match self.next_start().await {
                    Some(start) if start <= behind => self.start = None,
                    start => break start,
                }
            };
            let Some(start) = start else {
                self.scan.end();
                return;
            };
            (behind, self.start) = (start, None);
            let is_there = match self.scan.seek_at(start).await {
                Err(_) if self.scan.position() == start => self.scan.again().await,
                result => result,
            };
            if is_there.is_ok() && self.scan.at() == At::Partition {
                return;
            }
            self.lost += 1;
        }
    }
}
