//! Unix sockets: listeners in a folder, and pairs within the process, whose connections are as those of TCP.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;

use crate::core::Core;
use crate::reactor::{Handle, InFlight, Operation};
use crate::sys::check;
use crate::{Runtime, Socket};

/// A socket in a folder, which only the owner of the process may connect to. Its file stays when it is dropped, and the next listener takes its place.
#[derive(Clone)]
pub struct UnixListener {
    core: Rc<Core>,
    handle: Rc<Handle>,
}

impl UnixListener {
    /// Listens at `path`, whose folder is made if it is missing, for the owner alone. A socket there that no process listens on is replaced. For a node's start: it
    /// makes calls that may wait.
    ///
    /// # Errors
    /// Of the kind `AddrInUse` if a process listens there, or something else than a socket is there; `Unsupported` on a simulated machine.
    pub fn bound(runtime: &Runtime, path: &Path) -> io::Result<Self> {
        let core = runtime.core().clone();
        let handle = core.io.borrow_mut().reactor.bind_unix(path)?;
        handle.listen()?;
        Ok(UnixListener { core, handle })
    }

    /// Waits for a connection. One accept may be under way at a time.
    pub async fn accept(&self) -> io::Result<Socket> {
        let accept = Operation::Accept { handle: self.handle.clone(), accepted: None };
        let (operation, result) = InFlight::new(&self.core, accept).await;
        check(result)?;
        match operation {
            Operation::Accept { accepted: Some(descriptor), .. } => Ok(Socket::of(descriptor)),
            _ => unreachable!("a successful accept has its connection"),
        }
    }
}

impl Socket {
    /// A connection within the process: a socket for a shard to [adopt](Runtime::adopt), and the other end for a thread that is no
    /// shard. Nothing listens, so no other process can have either end.
    ///
    /// # Errors
    /// The process has no descriptor left; `Unsupported` on a simulated machine.
    pub fn pair(runtime: &Runtime) -> io::Result<(Socket, UnixStream)> {
        let (own, other) = runtime.core().io.borrow().reactor.pair()?;
        Ok((Socket::of(own), other))
    }
}
