//! Commits of what an electorate has chosen: writes that are on the disk of each replica that acknowledges them.

use std::rc::Rc;

use topology::{ConsistencyLevel, Required};

use super::planned::PlannedMutation;
use super::rounds::{Kind, Needs};
use super::writes::Writes;
use crate::outcome::Failure;

impl Writes {
    /// Commits a proposal's mutations, and the register of it, at a level. At ANY it waits for no replica: what is chosen is not lost.
    pub(crate) async fn commit(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        level: ConsistencyLevel,
    ) -> Result<(), Failure> {
        let needs = match level {
            ConsistencyLevel::Any => Needs::Fixed(Required::Total(0)),
            level => Needs::Level(level),
        };
        self.write_planned(planned, needs, Kind::COMMIT).await
    }

    /// The same, for those whose answers an electorate needs.
    pub(crate) async fn commit_for(
        self: &Rc<Self>,
        planned: Vec<PlannedMutation>,
        needs: Required,
    ) -> Result<(), Failure> {
        self.write_planned(planned, Needs::Fixed(needs), Kind::COMMIT).await
    }
}
