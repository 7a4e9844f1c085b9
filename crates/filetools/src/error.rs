//! Why a file tool failed.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sstable::Corrupt;
use sstable::data::UnknownColumn;

/// Why a file tool failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The runtime could not be started.
    #[error(transparent)]
    Start(#[from] runtime::StartError),
    /// The login or the certificates cannot be had.
    #[error(transparent)]
    Access(#[from] client::AccessError),
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// The path names nothing that can be looked at.
    #[error("{} is not a component of a supported SSTable", path.display())]
    NoSstable {
        /// The path.
        path: PathBuf,
    },
    /// It is of a version or format that cannot be read.
    #[error("{}: unsupported SSTable version", path.display())]
    Unreadable {
        /// Its data.
        path: PathBuf,
    },
    /// It lacks components without which no row is read.
    #[error("{}: required components are missing: {missing}", path.display())]
    Incomplete {
        /// Its data, or where that would be.
        path: PathBuf,
        /// Their names.
        missing: String,
    },
    /// Its partitions are ordered by another partitioner.
    #[error("{}: partitioner {found} does not match system partitioner {}", path.display(), sstable::statistics::PARTITIONER)]
    Partitioner {
        /// Its data.
        path: PathBuf,
        /// The partitioner's class.
        found: String,
    },
    /// A file's bytes are not what they should be.
    #[error("{}: damaged {corrupt}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        corrupt: Corrupt,
    },
    /// The columns do not fit the header, or those of the table.
    #[error("{} does not match the table: {source}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: UnknownColumn,
    },
    /// Some of what was verified is broken, as was printed.
    #[error("{broken} of {all} SSTables are damaged")]
    Broken {
        /// So many.
        broken: usize,
        /// Of so many.
        all: usize,
    },
    /// Some of what was to be imported cannot be.
    #[error("{} of {all} SSTables cannot be imported; nothing was sent: {}", refused.len(), refused.join("; "))]
    RefusedFiles {
        /// Why not, each with its name.
        refused: Vec<String>,
        /// Of so many.
        all: usize,
    },
    /// A node runs on the files.
    #[error("{} is locked; stop the node that uses these files", path.display())]
    InUse {
        /// The lock.
        path: PathBuf,
    },
    /// A file could not be written.
    #[error("{0}")]
    Write(#[from] storage::WriteError),
    /// A file could not be written, named or moved.
    #[error("cannot write {}: {source}", path.display())]
    Place {
        /// The file or folder.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// Some of what was to be scrubbed stays as it is, as was printed.
    #[error("cannot recover any row of {left} of {all} SSTables; leaving them unchanged")]
    Left {
        /// So many.
        left: usize,
        /// Of so many.
        all: usize,
    },
    /// The connection failed.
    #[error("connection to {address} failed: {source}")]
    Connection {
        /// The server.
        address: SocketAddr,
        /// Error of the system call.
        source: io::Error,
    },
    /// The server refused something, or answered what is no answer to it.
    #[error("{address} refused {request}: {reason}")]
    Refused {
        /// The server.
        address: SocketAddr,
        /// The request.
        request: String,
        /// Why.
        reason: String,
    },
    /// The server has no such table.
    #[error("table {name} does not exist on the server; create it with the schema that the files have")]
    NoTable {
        /// Its name.
        name: String,
    },
    /// The server's table has another key.
    #[error("{}: the primary key differs from that of the server's {name}", path.display())]
    OtherKey {
        /// The file.
        path: PathBuf,
        /// The table.
        name: String,
    },
    /// The folder does not tell which table it is of.
    #[error("cannot derive keyspace and table from {}; give --keyspace and --table", path.display())]
    Unnamed {
        /// The folder.
        path: PathBuf,
    },
    /// Counters have no timestamps that a statement could give.
    #[error("{} contains counters, which cannot be imported", path.display())]
    Counters {
        /// The file.
        path: PathBuf,
    },
    /// No statement says it.
    #[error("{}: cannot be expressed as CQL: {what}", path.display())]
    NoStatement {
        /// One of the files.
        path: PathBuf,
        /// The construct.
        what: String,
    },
    /// There are no roles in files.
    #[error("{} has no SSTables of system_auth.roles: name the directory of system_auth or the data directory, of a server that was flushed or drained", path.display())]
    NoRoles {
        /// The folder.
        path: PathBuf,
    },
    /// A table has two folders, of which one is another's.
    #[error("{} has two directories of table {table}: leave the one in use", path.display())]
    TwoFolders {
        /// The keyspace's folder.
        path: PathBuf,
        /// The table.
        table: String,
    },
    /// The output cannot be printed.
    #[error("cannot print: {source}")]
    Print {
        /// Error of the system call.
        source: io::Error,
    },
}

impl ToolError {
    /// Makes an error of the kernel's.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> ToolError {
        move |source| ToolError::Read { path: path.to_owned(), source }
    }

    /// Makes an error of a change that the kernel refused.
    pub(crate) fn place(path: &Path) -> impl FnOnce(io::Error) -> ToolError {
        move |source| ToolError::Place { path: path.to_owned(), source }
    }

    /// Makes an error of what is wrong in a file.
    pub(crate) fn corrupt(path: &Path) -> impl FnOnce(Corrupt) -> ToolError {
        move |corrupt| ToolError::Corrupt { path: path.to_owned(), corrupt }
    }
}
