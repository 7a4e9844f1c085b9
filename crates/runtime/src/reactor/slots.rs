//! Where operations are while they run. A slot is reused only after the last completion of what was in it, and counts
//! its uses, so that a late word about an earlier use is known as such.

use std::task::Waker;

use super::operation::Operation;

/// One use of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    index: u32,
    generation: u32,
}

impl Token {
    pub(super) fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(super) fn from_u64(value: u64) -> Self {
        Token { index: value as u32, generation: (value >> 32) as u32 }
    }
}

/// The generation that no slot has, for a reactor's own marks among its tokens.
pub(super) const NO_GENERATION: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Running,
    /// Running, and nobody waits for its end.
    Orphaned,
    Ended {
        result: i32,
    },
}

struct Slot {
    generation: u32,
    state: State,
    waker: Option<Waker>,
    operation: Operation,
}

/// The operations of a shard.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    running: usize,
    /// Who waits for what has ended. Woken once the borrow of the slots is over: a waker may run anyone's code.
    woken: Vec<Waker>,
}

impl Slots {
    pub(crate) fn insert(&mut self, operation: Operation) -> Token {
        self.running += 1;
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.state = State::Running;
            slot.operation = operation;
            return Token { index, generation: slot.generation };
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 operations");
        self.slots.push(Slot { generation: 0, state: State::Running, waker: None, operation });
        Token { index, generation: 0 }
    }

    fn slot(&mut self, token: Token) -> &mut Slot {
        let slot = &mut self.slots[token.index as usize];
        debug_assert_eq!(slot.generation, token.generation, "an operation is known by one token");
        slot
    }

    /// The running operation.
    #[inline]
    pub(super) fn operation(&mut self, token: Token) -> &mut Operation {
        &mut self.slot(token).operation
    }

    /// Whether the token's operation still runs.
    pub(super) fn is_running(&self, token: Token) -> bool {
        self.slots.get(token.index as usize).is_some_and(|slot| {
            slot.generation == token.generation && matches!(slot.state, State::Running | State::Orphaned)
        })
    }

    /// Whether the operation runs for nobody.
    pub(super) fn is_orphaned(&mut self, token: Token) -> bool {
        self.slot(token).state == State::Orphaned
    }

    /// Ends the operation.
    pub(super) fn end(&mut self, token: Token, result: i32) {
        self.running -= 1;
        let slot = self.slot(token);
        if slot.state == State::Orphaned {
            self.free(token);
            return;
        }
        slot.state = State::Ended { result };
        if let Some(waker) = slot.waker.take() {
            self.woken.push(waker);
        }
    }

    fn free(&mut self, token: Token) -> Operation {
        let slot = self.slot(token);
        slot.state = State::Free;
        slot.generation = (slot.generation + 1) % NO_GENERATION;
        let operation = std::mem::replace(&mut slot.operation, Operation::Nothing);
        self.free.push(token.index);
        operation
    }

    /// The operation and its result if it has ended, whose slot is free then; else `waker` is woken when it does.
    pub(super) fn take_ended(&mut self, token: Token, waker: &Waker) -> Option<(Operation, i32)> {
        let slot = self.slot(token);
        if let State::Ended { result } = slot.state {
            return Some((self.free(token), result));
        }
        match &mut slot.waker {
            Some(old) => old.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        None
    }

    /// Nobody waits for the operation any more. True if it still runs; else its slot is free.
    #[must_use]
    pub(super) fn orphan(&mut self, token: Token) -> bool {
        let slot = self.slot(token);
        if slot.state == State::Running {
            slot.state = State::Orphaned;
            slot.waker = None;
            return true;
        }
        self.free(token);
        false
    }

    /// Operations that have not ended.
    pub(crate) fn running(&self) -> usize {
        self.running
    }

    /// The tokens of all running operations.
    pub(super) fn all_running(&self) -> Vec<Token> {
        let tokens = self.slots.iter().enumerate().map(|(index, slot)| {
            let index = u32::try_from(index).expect("fewer than 2^32 operations");
            Token { index, generation: slot.generation }
        });
        tokens.filter(|token| self.is_running(*token)).collect()
    }

    /// Whether something has ended since the last [`Slots::take_woken`].
    #[inline]
    pub(super) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    /// Swaps the list of those to wake with the empty `list`.
    pub(crate) fn swap_woken(&mut self, list: &mut Vec<Waker>) {
        debug_assert!(list.is_empty());
        std::mem::swap(&mut self.woken, list);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_reused_after_the_end_only() {
        let mut slots = Slots::default();
        let first = slots.insert(Operation::Nothing);
        assert!(slots.orphan(first), "it still runs");
        let second = slots.insert(Operation::Nothing);
        assert_ne!(first.index, second.index);
        slots.end(first, 0);
        let third = slots.insert(Operation::Nothing);
        assert_eq!((third.index, third.generation), (first.index, first.generation + 1));
        assert!(!slots.is_running(first) && slots.is_running(third));
        assert_eq!(Token::from_u64(third.to_u64()), third);
        assert_eq!(slots.running(), 2);
    }

    #[test]
    fn an_end_is_taken_once() {
        let mut slots = Slots::default();
        let token = slots.insert(Operation::Nothing);
        assert!(slots.take_ended(token, Waker::noop()).is_none());
        slots.end(token, 5);
        assert!(slots.has_woken());
        assert!(matches!(slots.take_ended(token, Waker::noop()), Some((Operation::Nothing, 5))));
        assert!(slots.all_running().is_empty());
    }
}
