//! A shard's view of its machine: what the simulated reactor asks for, and descriptors.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::disk::{ChangeId, Inode, Node, normal};
use super::fault::DiskCall;
use super::network::{End, Object};
use super::shared::{Commit, DescriptorId, HostId, Outcome, ProcessId, Shared, State, Waiter};
use super::sockets::Attempt;
use crate::OpenOptions;
use crate::reactor::{NamespaceCall, Token};

/// A descriptor of a simulated machine. Dropped, it closes.
pub(crate) struct SimDescriptor {
    shared: Arc<Shared>,
    id: DescriptorId,
}

impl std::fmt::Debug for SimDescriptor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimDescriptor({})", self.id.0)
    }
}

impl SimDescriptor {
    pub(crate) fn id(&self) -> DescriptorId {
        self.id
    }

    pub(crate) fn peer_address(&self) -> io::Result<SocketAddr> {
        self.shared.state().peer_address(self.id)
    }

    pub(crate) fn local_address(&self) -> io::Result<SocketAddr> {
        self.shared.state().local_address(self.id)
    }

    pub(crate) fn listen(&self) -> io::Result<()> {
        self.shared.state().listen(self.id)
    }

    pub(crate) fn finish_sending(&self) -> io::Result<()> {
        let now = self.shared.time();
        self.shared.state().finish_sending(now, self.id)
    }
}

impl Drop for SimDescriptor {
    fn drop(&mut self) {
        let now = self.shared.time();
        self.shared.state().close(now, self.id);
    }
}

/// A shard's view of its machine.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(super) shared: Arc<Shared>,
    pub(super) host: HostId,
    pub(super) process: ProcessId,
    /// The shard's number among all of the world.
    pub(super) shard: usize,
}

/// What a disk operation came to: its outcome, and what it does to the disk when it ends.
type Begun = Result<(Outcome, Commit), i32>;

impl Machine {
    fn descriptor(&self, id: DescriptorId) -> SimDescriptor {
        SimDescriptor { shared: self.shared.clone(), id }
    }

    pub(crate) fn adopt(&self, id: DescriptorId) -> SimDescriptor {
        self.descriptor(id)
    }

    fn waiter(&self, token: Token) -> Waiter {
        Waiter { shard: self.shard, token }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.shared.state().shards[self.shard].is_alive
    }

    /// What has ended, and what may get further, since the last call.
    pub(crate) fn take_news(&self) -> (Vec<(Token, Outcome)>, Vec<Token>) {
        let mut state = self.shared.state();
        let shard = &mut state.shards[self.shard];
        (std::mem::take(&mut shard.outcomes), std::mem::take(&mut shard.retries))
    }

    /// A number of the world's.
    pub(crate) fn random(&self) -> u64 {
        self.shared.state().random.next()
    }

    /// Has the shard look at its operations in its next turn.
    pub(crate) fn notify(&self) {
        self.shared.state().notify(self.shard);
    }

    pub(crate) fn bind(&self, address: SocketAddr) -> io::Result<SimDescriptor> {
        let id = self.shared.state().bind(self.host, self.process, address)?;
        Ok(self.descriptor(id))
    }

    pub(crate) fn open_socket(&self) -> SimDescriptor {
        let id = self.shared.state().descriptors.add(self.process, Object::End(End::new(self.host)));
        self.descriptor(id)
    }

    pub(crate) fn open_signals(&self) -> SimDescriptor {
        let id = self.shared.state().descriptors.add(self.process, Object::Signals { reader: None });
        self.descriptor(id)
    }

    pub(crate) fn receive(&self, token: Token, id: DescriptorId, room: usize) -> Attempt<Vec<u8>> {
        let now = self.shared.time();
        self.shared.state().receive(now, id, room, self.waiter(token))
    }

    pub(crate) fn receive_signal(&self, token: Token, id: DescriptorId) -> Attempt<Vec<u8>> {
        let waiter = self.waiter(token);
        let mut state = self.shared.state();
        let is_signalled = state.signalled.remove(&self.process);
        match state.descriptors.get_mut(id).map(|owned| &mut owned.object) {
            Some(Object::Signals { reader }) if !is_signalled => {
                *reader = Some(waiter);
                Attempt::Waits
            }
            Some(Object::Signals { .. }) => {
                let mut record = vec![0; crate::sys::event::SIGNAL_RECORD_BYTES];
                record[..4].copy_from_slice(&(libc::SIGTERM as u32).to_ne_bytes());
                Attempt::Done(record)
            }
            _ => Attempt::Failed(libc::EBADF),
        }
    }

    pub(crate) fn send(&self, token: Token, id: DescriptorId, bytes: &[u8]) -> Attempt<usize> {
        let now = self.shared.time();
        self.shared.state().send(now, id, bytes, self.waiter(token))
    }

    pub(crate) fn accept(&self, token: Token, id: DescriptorId) -> Attempt<SimDescriptor> {
        match self.shared.state().accept(id, self.waiter(token)) {
            Attempt::Done(accepted) => Attempt::Done(self.descriptor(accepted)),
            Attempt::Failed(number) => Attempt::Failed(number),
            Attempt::Waits => Attempt::Waits,
        }
    }

    pub(crate) fn knock(&self, token: Token, id: DescriptorId, address: SocketAddr) {
        let now = self.shared.time();
        self.shared.state().knock(now, id, address, self.waiter(token));
    }

    pub(crate) fn connected(&self, token: Token, id: DescriptorId) -> Attempt<()> {
        self.shared.state().connected(id, self.waiter(token))
    }

    pub(crate) fn forget_waiter(&self, token: Token, id: DescriptorId) {
        self.shared.state().forget_waiter(id, self.waiter(token));
    }

    /// Begins a disk operation: its changes are seen from now on, and its end comes later.
    fn disk(&self, token: Token, call: DiskCall, begin: impl FnOnce(&mut State) -> Begun) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        let begun = match state.disk_call(self.host, call) {
            Some(error) => Err(error.number()),
            None => begin(&mut state),
        };
        let (outcome, commit) = begun.unwrap_or_else(|number| (Outcome::Failed(number), Commit::Nothing));
        state.end_later(now, self.host, self.waiter(token), outcome, commit);
    }

    fn file(state: &State, id: DescriptorId) -> Result<(Inode, OpenOptions), i32> {
        match state.descriptors.get(id).map(|owned| &owned.object) {
            Some(Object::File { inode, options, .. }) => Ok((*inode, *options)),
            _ => Err(libc::EBADF),
        }
    }

    pub(crate) fn read_at(&self, token: Token, id: DescriptorId, offset: u64, room: usize) {
        self.disk(token, DiskCall::Read, |state| {
            let (inode, options) = Self::file(state, id)?;
            if !options.read {
                return Err(libc::EBADF);
            }
            if options.direct && !(is_aligned(offset) && is_aligned(room as u64)) {
                return Err(libc::EINVAL);
            }
            Ok((Outcome::Bytes(state.hosts[self.host.0].disk.read(inode, offset, room)), Commit::Nothing))
        });
    }

    pub(crate) fn write_at(&self, token: Token, id: DescriptorId, offset: u64, bytes: &[u8]) {
        let host = self.host;
        // A write that fails may have reached the disk in part.
        let failure = {
            let now = self.shared.time();
            let mut state = self.shared.state();
            let failure = state.disk_call(host, DiskCall::Write);
            if let Some(error) = failure {
                let reached = state.random.next() as usize % (bytes.len() + 1);
                if let Ok((inode, options)) = Self::file(&state, id)
                    && options.write
                    && error == super::DiskError::Medium
                    && let Ok(change) = state.hosts[host.0].disk.write(inode, offset, bytes[..reached].into())
                {
                    state.hosts[host.0].disk.ended(change);
                }
                let outcome = Outcome::Failed(error.number());
                state.end_later(now, host, self.waiter(token), outcome, Commit::Nothing);
            }
            failure
        };
        if failure.is_some() {
            return;
        }
        let now = self.shared.time();
        let mut state = self.shared.state();
        let begun = Self::begin_write(&mut state, host, id, offset, bytes);
        let (outcome, commit) = begun.unwrap_or_else(|number| (Outcome::Failed(number), Commit::Nothing));
        state.end_later(now, host, self.waiter(token), outcome, commit);
    }

    fn begin_write(state: &mut State, host: HostId, id: DescriptorId, offset: u64, bytes: &[u8]) -> Begun {
        let (inode, options) = Self::file(state, id)?;
        if !options.write {
            return Err(libc::EBADF);
        }
        if options.direct && !(is_aligned(offset) && is_aligned(bytes.len() as u64)) {
            return Err(libc::EINVAL);
        }
        let change = state.hosts[host.0].disk.write(inode, offset, bytes.into())?;
        let commit = if options.dsync { Commit::Write(change) } else { Commit::Ended(vec![change]) };
        Ok((Outcome::Done, commit))
    }

    pub(crate) fn sync(&self, token: Token, id: DescriptorId) {
        let now = self.shared.time();
        let mut state = self.shared.state();
        let failure = state.disk_call(self.host, DiskCall::Sync);
        let begun = match (Self::file(&state, id), failure) {
            (Ok((inode, _)), None) => {
                let mark = state.hosts[self.host.0].disk.mark();
                (Outcome::Done, Commit::SyncFile { inode, mark })
            }
            (Ok((inode, _)), Some(error)) => {
                let seed = state.random.next();
                let mut numbers = super::disk::Numbers { state: seed };
                state.hosts[self.host.0].disk.sync_failed(inode, || numbers.next());
                (Outcome::Failed(error.number()), Commit::Nothing)
            }
            (Err(number), _) => (Outcome::Failed(number), Commit::Nothing),
        };
        state.end_later(now, self.host, self.waiter(token), begun.0, begun.1);
    }

    /// Changes a file's length by what `change` does.
    fn resize(
        &self,
        token: Token,
        id: DescriptorId,
        change: impl FnOnce(&mut super::disk::Disk, Inode) -> Result<ChangeId, i32>,
    ) {
        self.disk(token, DiskCall::Resize, |state| {
            let (inode, options) = Self::file(state, id)?;
            if !options.write {
                return Err(libc::EBADF);
            }
            let change = change(&mut state.hosts[self.host.0].disk, inode)?;
            Ok((Outcome::Done, Commit::Ended(vec![change])))
        });
    }

    pub(crate) fn allocate(&self, token: Token, id: DescriptorId, offset: u64, length: u64) {
        self.resize(token, id, |disk, inode| disk.allocate(inode, offset, length));
    }

    pub(crate) fn set_length(&self, token: Token, id: DescriptorId, length: u64) {
        self.resize(token, id, |disk, inode| disk.set_length(inode, length));
    }

    pub(crate) fn length(&self, token: Token, id: DescriptorId) {
        self.disk(token, DiskCall::Ask, |state| {
            let (inode, _) = Self::file(state, id)?;
            Ok((Outcome::Length(state.hosts[self.host.0].disk.length(inode)), Commit::Nothing))
        });
    }

    /// Begins work on names.
    pub(crate) fn name(&self, token: Token, call: NamespaceCall) {
        let kind = match &call {
            NamespaceCall::Open { .. } => DiskCall::Open,
            NamespaceCall::SyncDir { .. } => DiskCall::SyncDirectory,
            NamespaceCall::ReadFile { .. } => DiskCall::Read,
            NamespaceCall::ReadDir { .. }
            | NamespaceCall::Exists { .. }
            | NamespaceCall::Lock { .. }
            | NamespaceCall::FreeBytes { .. } => DiskCall::Ask,
            _ => DiskCall::Name,
        };
        self.disk(token, kind, |state| self.begin_name(state, call));
    }

    fn begin_name(&self, state: &mut State, call: NamespaceCall) -> Begun {
        let done = |changes: Vec<ChangeId>| Ok((Outcome::Done, Commit::Ended(changes)));
        let disk = &mut state.hosts[self.host.0].disk;
        match call {
            NamespaceCall::Open { path, options } => self.open(state, &path, options),
            NamespaceCall::CreateDirAll { path } => done(disk.create_directories(&normal(&path))?),
            NamespaceCall::ReadDir { path } => Ok((Outcome::Entries(disk.list(&normal(&path))?), Commit::Nothing)),
            NamespaceCall::Rename { from, to } => done(vec![disk.rename(&normal(&from), &normal(&to))?]),
            NamespaceCall::Link { from, to } => done(vec![disk.link(&normal(&from), &normal(&to))?]),
            NamespaceCall::RemoveFile { path } => done(vec![disk.remove_file(&normal(&path))?]),
            NamespaceCall::RemoveDirAll { path } => done(disk.remove_tree(&normal(&path))?),
            NamespaceCall::SyncDir { path } => {
                let path = normal(&path);
                match disk.find(&path)?.ok_or(libc::ENOENT)? {
                    Node::Directory => {
                        let mark = disk.mark();
                        Ok((Outcome::Done, Commit::SyncDirectory { path, mark }))
                    }
                    Node::File(inode) => {
                        let mark = disk.mark();
                        Ok((Outcome::Done, Commit::SyncFile { inode, mark }))
                    }
                }
            }
            NamespaceCall::Exists { path } => {
                let exists = disk.find(&normal(&path)).ok().flatten().is_some();
                Ok((Outcome::Exists(exists), Commit::Nothing))
            }
            NamespaceCall::Lock { path } => self.lock(state, &path),
            NamespaceCall::ReadFile { path, bytes_max } => {
                let Node::File(inode) = disk.find(&normal(&path))?.ok_or(libc::ENOENT)? else {
                    return Err(libc::EISDIR);
                };
                if disk.length(inode) > bytes_max {
                    return Err(libc::EFBIG);
                }
                Ok((Outcome::Bytes(disk.read(inode, 0, bytes_max as usize)), Commit::Nothing))
            }
            NamespaceCall::FreeBytes { .. } => Ok((Outcome::FreeBytes(disk.free()), Commit::Nothing)),
        }
    }

    fn open(&self, state: &mut State, path: &Path, options: OpenOptions) -> Begun {
        let (inode, change) = state.hosts[self.host.0].disk.open(&normal(path), options)?;
        let id = state.descriptors.add(self.process, Object::File { host: self.host, inode, options });
        Ok((Outcome::Opened(id), Commit::Ended(change.into_iter().collect())))
    }

    fn lock(&self, state: &mut State, path: &Path) -> Begun {
        let options = OpenOptions { read: true, write: true, create: true, ..OpenOptions::default() };
        let (inode, change) = state.hosts[self.host.0].disk.open(&normal(path), options)?;
        let commit = Commit::Ended(change.into_iter().collect());
        let is_held = state.descriptors.iter().any(|(_, owned)| match owned.object {
            Object::Lock { host, inode: held } => host == self.host && held == inode,
            _ => false,
        });
        if is_held {
            return Ok((Outcome::Locked(None), commit));
        }
        let id = state.descriptors.add(self.process, Object::Lock { host: self.host, inode });
        Ok((Outcome::Locked(Some(id)), commit))
    }
}

fn is_aligned(bytes: u64) -> bool {
    bytes.is_multiple_of(stdx::aligned_buf::ALIGNMENT as u64)
}
