//! The reactor of a simulated shard. Operations on sockets are tried and tried again when something has changed, as the
//! one on epoll does; those on files and names are begun on the machine's disk, and their ends come with the turn that
//! follows. Operations begun in one turn are begun in any order, as kernels may.
//!
//! The machine's state is never held while an operation ends: what an operation owns may close itself.

use std::io;

use super::descriptor::{Descriptor, HandleKind};
use super::namespace::NamespaceReply;
use super::operation::{Operation, Step};
use super::slots::{Slots, Token};
use crate::sim::{Attempt, DescriptorId, Machine, Outcome};

pub(crate) struct Sim {
    machine: Machine,
    begun: Vec<Token>,
}

impl Sim {
    pub(super) fn new(machine: Machine) -> Self {
        Sim { machine, begun: Vec::new() }
    }

    pub(super) fn machine(&self) -> &Machine {
        &self.machine
    }

    pub(super) fn begin(&mut self, token: Token) {
        self.begun.push(token);
        self.machine.notify();
    }

    pub(super) fn cancel(&mut self, slots: &mut Slots, token: Token) {
        if let Some(id) = socket(slots.operation(token)) {
            self.machine.forget_waiter(token, id);
            slots.end(token, -libc::ECANCELED);
        }
    }

    pub(super) fn turn(&mut self, slots: &mut Slots) {
        if !self.machine.is_alive() {
            return;
        }
        let mut begun = std::mem::take(&mut self.begun);
        while !begun.is_empty() {
            let token = begun.swap_remove(self.machine.random() as usize % begun.len());
            // It may have been cancelled since.
            if slots.is_running(token) {
                self.start(slots, token);
            }
        }
        let (outcomes, retries) = self.machine.take_news();
        for (token, outcome) in outcomes {
            self.finish(slots, token, outcome);
        }
        for token in retries {
            if slots.is_running(token) {
                self.attempt(slots, token);
            }
        }
    }

    fn start(&mut self, slots: &mut Slots, token: Token) {
        let machine = &self.machine;
        match slots.operation(token) {
            Operation::Connect { handle, address, is_begun } => {
                *is_begun = true;
                match address.decode() {
                    Ok(address) => machine.knock(token, handle.simulated(), address),
                    Err(_) => slots.end(token, -libc::EAFNOSUPPORT),
                }
            }
            Operation::ReadAt { handle, buffer, offset, .. } => {
                machine.read_at(token, handle.simulated(), *offset, buffer.spare());
            }
            Operation::WriteAt { handle, buffer, offset, .. } => {
                machine.write_at(token, handle.simulated(), *offset, buffer);
            }
            Operation::Sync { handle, .. } => machine.sync(token, handle.simulated()),
            Operation::Allocate { handle, offset, length } => {
                machine.allocate(token, handle.simulated(), *offset, *length);
            }
            Operation::SetLength { handle, length } => machine.set_length(token, handle.simulated(), *length),
            Operation::Length { handle, .. } => machine.length(token, handle.simulated()),
            Operation::Namespace { call, .. } => {
                machine.name(token, *call.take().expect("work on names is begun once"));
            }
            _ => self.attempt(slots, token),
        }
    }

    /// Gets as far as it gets.
    fn attempt(&mut self, slots: &mut Slots, token: Token) {
        let machine = &self.machine;
        let operation = slots.operation(token);
        let result = loop {
            let attempt = match operation {
                Operation::Receive { handle, buffer } => {
                    let room = buffer.capacity() - buffer.len();
                    let attempt = match handle.kind() {
                        HandleKind::Pipe => machine.receive_signal(token, handle.simulated()),
                        _ => machine.receive(token, handle.simulated(), room),
                    };
                    attempt.map(|bytes| {
                        buffer.extend_from_slice(&bytes);
                        bytes.len() as i32
                    })
                }
                Operation::Send { handle, buffer, done } => {
                    machine.send(token, handle.simulated(), &buffer[*done..]).map(|count| count as i32)
                }
                Operation::Accept { handle, accepted } => machine.accept(token, handle.simulated()).map(|descriptor| {
                    *accepted = Some(Descriptor::Simulated(descriptor));
                    0
                }),
                Operation::Connect { handle, .. } => machine.connected(token, handle.simulated()).map(|()| 0),
                _ => unreachable!("only sockets are tried again"),
            };
            let result = match attempt {
                Attempt::Waits => return,
                Attempt::Failed(number) => -number,
                Attempt::Done(count) => count,
            };
            if let Step::Ended(result) = operation.advance(result) {
                break result;
            }
        };
        slots.end(token, result);
    }

    /// The machine has done what was begun.
    fn finish(&mut self, slots: &mut Slots, token: Token, outcome: Outcome) {
        let adopt = |id| Descriptor::Simulated(self.machine.adopt(id));
        if !slots.is_running(token) {
            // Its slot is free: only what it opened is left to close.
            if let Outcome::Opened(id) | Outcome::Locked(Some(id)) = outcome {
                drop(adopt(id));
            }
            return;
        }
        let operation = slots.operation(token);
        let result = match (outcome, operation) {
            (Outcome::Failed(number), Operation::Namespace { reply, .. }) => {
                *reply = Some(Err(io::Error::from_raw_os_error(number)));
                0
            }
            (Outcome::Failed(number), _) => -number,
            (Outcome::Bytes(bytes), Operation::ReadAt { buffer, done, .. }) => {
                buffer.extend_from_slice(&bytes);
                *done = bytes.len();
                bytes.len() as i32
            }
            (Outcome::Done, Operation::WriteAt { .. }) => 0,
            (Outcome::Length(found), Operation::Length { length, .. }) => {
                *length = found;
                0
            }
            (outcome, Operation::Namespace { reply, .. }) => {
                *reply = Some(Ok(match outcome {
                    Outcome::Opened(id) => NamespaceReply::Opened(adopt(id)),
                    Outcome::Locked(lock) => NamespaceReply::Locked(lock.map(adopt)),
                    Outcome::Entries(entries) => NamespaceReply::Entries(entries),
                    Outcome::Exists(exists) => NamespaceReply::Exists(exists),
                    Outcome::Bytes(bytes) => NamespaceReply::Bytes(bytes),
                    Outcome::FreeBytes(bytes) => NamespaceReply::FreeBytes(bytes),
                    _ => NamespaceReply::Done,
                }));
                0
            }
            _ => 0,
        };
        slots.end(token, result);
    }
}

impl<T> Attempt<T> {
    fn map<U>(self, with: impl FnOnce(T) -> U) -> Attempt<U> {
        match self {
            Attempt::Done(value) => Attempt::Done(with(value)),
            Attempt::Failed(number) => Attempt::Failed(number),
            Attempt::Waits => Attempt::Waits,
        }
    }
}

fn socket(operation: &Operation) -> Option<DescriptorId> {
    match operation {
        Operation::Receive { handle, .. }
        | Operation::Send { handle, .. }
        | Operation::Accept { handle, .. }
        | Operation::Connect { handle, .. } => Some(handle.simulated()),
        _ => None,
    }
}
