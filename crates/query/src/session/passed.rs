//! The plans that a session may run, as far as it remembers them: what a check compares with before it looks at any role.
//!
//! A plan's number says which plan it is, of which version of the schema, and with which meaning of the names that USE gives a keyspace: each of these has another
//! plan. So one number and the epoch of access are all that is compared. A place in eight is found by the number alone. Eight that are searched were rejected:
//! numbers of statements that are prepared one after the other are in different places, and who runs more than eight in turn would lose all of them either way.

use std::cell::Cell;

use crate::plan::PlanNumber;

/// Plans that are remembered: their numbers are a line of the processor's cache.
const PLANS: usize = 8;

/// Before any epoch.
const NO_EPOCH: u64 = u64::MAX;

/// The memory of one session. It is of one epoch of access; at another one all is forgotten.
#[derive(Debug)]
pub(crate) struct PassedPlans {
    /// 0, which is no number, where none is remembered.
    numbers: [Cell<u64>; PLANS],
    epoch: Cell<u64>,
}

impl Default for PassedPlans {
    fn default() -> Self {
        PassedPlans { numbers: Default::default(), epoch: Cell::new(NO_EPOCH) }
    }
}

impl PassedPlans {
    /// True if the plan has passed in this epoch.
    #[inline]
    pub(crate) fn has(&self, number: PlanNumber, epoch: u64) -> bool {
        self.place(number).get() == number.get() && self.is_of(epoch)
    }

    /// True if the session itself has passed in this epoch.
    #[inline]
    pub(crate) fn is_of(&self, epoch: u64) -> bool {
        self.epoch.get() == epoch
    }

    /// True if the session has passed in no epoch, or acts for another role since.
    pub(crate) fn is_new(&self) -> bool {
        self.is_of(NO_EPOCH)
    }

    /// The session has passed in an epoch: the plans of another one are forgotten.
    pub(crate) fn enter(&self, epoch: u64) {
        assert_ne!(epoch, NO_EPOCH, "epochs are counted from 0");
        if !self.is_of(epoch) {
            self.forget();
            self.epoch.set(epoch);
        }
    }

    /// Remembers a plan that has passed in the epoch that was entered.
    pub(crate) fn note(&self, number: PlanNumber, epoch: u64) {
        assert!(self.is_of(epoch), "a plan passes by the state that its session has passed by");
        self.place(number).set(number.get());
    }

    /// Forgets all: the session acts for another role from now on.
    pub(crate) fn forget(&self) {
        self.epoch.set(NO_EPOCH);
        self.numbers.iter().for_each(|number| number.set(0));
    }

    #[inline]
    fn place(&self, number: PlanNumber) -> &Cell<u64> {
        &self.numbers[number.get() as usize % PLANS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<PlanNumber> {
        std::iter::successors(Some(PlanNumber::FIRST), |number| Some(number.next())).take(count).collect()
    }

    #[test]
    fn eight_plans_that_follow_each_other_are_remembered_in_one_epoch() {
        let (passed, plans) = (PassedPlans::default(), numbers(9));
        assert!(plans.iter().all(|plan| !passed.has(*plan, 0)), "none has passed");
        assert!(!passed.is_of(0), "the session has passed in none");
        passed.enter(0);
        plans[..8].iter().for_each(|plan| passed.note(*plan, 0));
        assert!(plans[..8].iter().all(|plan| passed.has(*plan, 0)));
        assert!(plans.iter().all(|plan| !passed.has(*plan, 1)), "another epoch has no plans");
        passed.note(plans[8], 0);
        assert!(passed.has(plans[8], 0) && !passed.has(plans[0], 0), "the ninth has the place of the first");
        assert!(plans[1..].iter().all(|plan| passed.has(*plan, 0)));
    }

    #[test]
    fn another_epoch_and_another_role_have_nothing_of_the_one_before() {
        let (passed, plan) = (PassedPlans::default(), PlanNumber::FIRST);
        passed.enter(3);
        passed.note(plan, 3);
        passed.enter(3);
        assert!(passed.has(plan, 3), "the same epoch forgets nothing");
        passed.enter(4);
        assert!(!passed.has(plan, 4) && !passed.has(plan, 3));
        passed.note(plan, 4);
        passed.forget();
        assert!(!passed.has(plan, 4) && !passed.is_of(4));
        passed.enter(4);
        assert!(!passed.has(plan, 4), "what was forgotten does not come back");
    }
}
