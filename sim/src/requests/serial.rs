//! The end of a run with conditional statements: each partition is written once more and read, and all histories are judged.

use std::collections::BTreeMap;

use histories::cas_register::CasRegister;
use histories::list_append::ListAppend;
use histories::wr_register::WrRegister;

use super::course::{AGAIN, Course, HEALED_AT_MOST};
use super::scenario::Part;
use crate::site::Site;
use crate::workload::requests::SerialReader;

impl Course<'_> {
    /// Writes each partition once more, at its serial level, and reads it. What no client has an answer to is finished then, or never will be.
    pub(super) fn finish_serial(&mut self, when: &str) -> Result<BTreeMap<(&'static str, i32), String>, String> {
        self.read_serial(when, true)
    }

    /// Reads all partitions at their serial level, which is not later than what was read before, and judges all histories.
    pub(super) fn judge_serial(&mut self) -> Result<(), String> {
        let when = "after a power cut of all";
        self.read_serial(when, false)?;
        let violations = self.history.borrow().serial.judge(self.expected.contains(&Part::BallotLists));
        self.outcome.violations.extend(violations);
        Ok(())
    }

    /// In some tries: nodes may not have met yet. Each try is part of the histories.
    fn read_serial(&mut self, when: &str, writes: bool) -> Result<BTreeMap<(&'static str, i32), String>, String> {
        if !self.scenario.is_serial() {
            return Ok(BTreeMap::new());
        }
        let deadline = self.site.world().now() + HEALED_AT_MOST;
        loop {
            let targets = self.nodes().into_iter().map(|node| self.target(node)).collect();
            let (history, partitions) = (self.history.clone(), self.work.partitions);
            let read = async move |runtime| {
                let reader = SerialReader { runtime, targets, history, partitions, writes };
                let mut all = reader.read::<CasRegister>().await?;
                all.extend(reader.read::<ListAppend>().await?);
                all.extend(reader.read::<WrRegister>().await?);
                Ok(all)
            };
            match self.ask(read) {
                Ok(all) => return Ok(all),
                Err(what) if self.site.world().now() >= deadline => {
                    return Err(format!("{when} a partition cannot be written and read at its serial level: {what}"));
                }
                Err(_) => self.site.world().run_for(AGAIN),
            }
        }
    }
}
