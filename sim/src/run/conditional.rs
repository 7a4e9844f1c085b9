//! A run of conditional statements: what clients were told, and what is read at the end, after a power cut and after an orderly
//! restart, must have an order that explains all of it.

use histories::Workload;
use histories::cas_register::CasRegister;

use super::{Run, ask};
use crate::fault;
use crate::workload::{prepare_conditional, read_conditional, work_conditional};

impl Run<'_> {
    pub(super) fn stages_of_conditionals(&mut self) -> Result<(), String> {
        self.start_healthy(0)?;
        let made = ask(&mut self.cluster, prepare_conditional);
        made.ok_or("the table was not made in time")?.map_err(|error| format!("the table was not made: {error}"))?;
        let (options, history) = (self.scenario.rows, self.conditionals.clone());
        self.load(move |runtime| work_conditional(runtime, options, history))?;

        fault::heal(&mut self.cluster);
        if !self.cluster.is_running(0) {
            self.start_healthy(0)?;
        }
        self.read_registers("at the end")?;
        let random = self.cluster.world.random();
        let keep = self.keep(random);
        self.note_end(false);
        self.cluster.world.crash(self.cluster.node, keep);
        self.start_healthy(0)?;
        self.read_registers("after a power cut")?;
        self.note_end(true);
        self.cluster.terminate().map_err(|error| format!("the orderly end failed: {error}"))?;
        self.start_healthy(0)?;
        self.read_registers("after an orderly restart")?;

        let judged = CasRegister::judge(&self.conditionals.borrow().history);
        self.outcome.violations.extend(judged.into_iter().take(20));
        Ok(())
    }

    /// Reads all partitions; the answers are judged with all others.
    fn read_registers(&mut self, when: &str) -> Result<(), String> {
        let (options, history) = (self.scenario.rows, self.conditionals.clone());
        let read = ask(&mut self.cluster, move |runtime| read_conditional(runtime, options, history));
        read.unwrap_or_else(|| Err("no answer came".to_owned())).map_err(|error| format!("{when}: {error}"))
    }

    /// What clients did counts as in other runs.
    pub(super) fn count_conditionals(&mut self) {
        let history = self.conditionals.borrow();
        self.outcome.written = history.count();
        self.outcome.acknowledged = history.answered_count();
        self.outcome.refused = history.refused.clone();
    }
}
