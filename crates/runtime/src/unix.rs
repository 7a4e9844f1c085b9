//! Unix sockets: listeners in a folder, whose connections are as those of TCP.

use std::io;
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
