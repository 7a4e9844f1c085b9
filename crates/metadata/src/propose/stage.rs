//! The stages of a change, and which may follow which.

/// How far a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has the turn.
    Asked,
    /// The state says what is to change.
    Planned,
    /// This node allows it.
    Checked,
    /// All that must precede the record is done.
    Prepared,
    /// The record is on the disk: from here on the change counts.
    Durable,
    /// All shards have applied it.
    Applied,
    /// It was announced, and what it made obsolete is deleted; or there was nothing to change.
    Finished,
}

impl Stage {
    fn may_precede(self, next: Stage) -> bool {
        use Stage::{Applied, Asked, Checked, Durable, Finished, Planned, Prepared};
        matches!(
            (self, next),
            (Asked, Planned)
                | (Planned, Checked)
                | (Checked, Prepared | Finished)
                | (Prepared, Durable)
                | (Durable, Applied)
                | (Applied, Finished)
        )
    }
}

/// A change on its way through the stages.
#[derive(Debug)]
pub(super) struct Sequence {
    stage: Stage,
}

impl Sequence {
    pub(super) fn asked() -> Sequence {
        Sequence { stage: Stage::Asked }
    }

    /// Passes to `next`. Panics if that may not follow the stage before it.
    pub(super) fn pass(&mut self, next: Stage) {
        assert!(self.stage.may_precede(next), "a change that is {:?} cannot be {next:?} next", self.stage);
        self.stage = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_stage_is_left_out_or_passed_twice() {
        use Stage::{Applied, Asked, Checked, Durable, Finished, Planned, Prepared};
        let all = [Asked, Planned, Checked, Prepared, Durable, Applied, Finished];
        for (place, stage) in all.iter().enumerate() {
            for (next_place, next) in all.iter().enumerate() {
                let is_next = next_place == place + 1 || (*stage, *next) == (Checked, Finished);
                assert_eq!(stage.may_precede(*next), is_next, "{stage:?} to {next:?}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "a change that is Prepared cannot be Applied next")]
    fn nothing_is_applied_before_it_is_durable() {
        let mut sequence = Sequence { stage: Stage::Prepared };
        sequence.pass(Stage::Applied);
    }
}
