//! Troubles that only a ring under requests bears: a disk whose operations fail, all nodes without power at once, and a rolling restart.

use super::{Kind, Maker};
use crate::fault::any_keep;
use crate::nemesis::Step;

impl Maker<'_> {
    /// Begins one of them; false if it is not possible now.
    pub(super) fn begin_together(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::FailingDisk => self.begin_failing_disk(),
            Kind::AllDown => self.cut_power_of_all(),
            Kind::Rolling => self.restart_one_by_one(),
            _ => unreachable!("{kind:?} is of one node"),
        }
    }

    /// A node whose disk fails refuses writes until its next start, so it counts as one that is down.
    fn begin_failing_disk(&mut self) -> bool {
        if self.down_count() >= self.options.down_max {
            return false;
        }
        let Some(node) = self.running() else { return false };
        self.failing.insert(node);
        let seed = self.next();
        self.push(Step::FailDisk(node, seed));
        true
    }

    /// The steps after a disk works again: its node may have ended, or refuses writes, and is started again.
    pub(super) fn restart_after_failing(&mut self, node: usize) {
        self.push_at_once(Step::Kill(node));
        self.push_at_once(Step::Start(node));
    }

    /// Power of all that run is cut at once, and comes back for all at once.
    fn cut_power_of_all(&mut self) -> bool {
        let running = self.all_running();
        if running.len() < 2 {
            return false;
        }
        for (place, node) in running.iter().enumerate() {
            let step = Step::PowerCut(*node, any_keep(self.next()));
            match place {
                0 => self.push(step),
                _ => self.push_at_once(step),
            }
        }
        for (place, node) in running.into_iter().enumerate() {
            match place {
                0 => self.push(Step::Start(node)),
                _ => self.push_at_once(Step::Start(node)),
            }
        }
        true
    }

    /// Each node that runs is ended in order and started again, the next one some time later.
    fn restart_one_by_one(&mut self) -> bool {
        if self.down_count() >= self.options.down_max {
            return false;
        }
        let running = self.all_running();
        for node in &running {
            self.push(Step::Terminate(*node));
            self.push_at_once(Step::Start(*node));
        }
        !running.is_empty()
    }
}
