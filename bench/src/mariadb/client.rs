//! One client: a connection, and the statement that it does over and over.

use std::net::SocketAddr;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Statement, Value};

use super::rows;
use super::tally::Fault;

/// How long a reply may take.
const REPLY_TIME_MAX: Duration = Duration::from_secs(60);
/// The server under test has this user, without a password.
const USER: &str = "root";

const DATABASE: &str = "CREATE DATABASE IF NOT EXISTS clients";
/// As it was published: no primary key, and REPLACE goes by the unique name.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS clients.pages \
    (NAME varchar(100) UNIQUE, VALUE varchar(100), TIMEUUID bigint) ENGINE = InnoDB";
const WRITE: &str = "REPLACE INTO clients.pages (NAME, VALUE, TIMEUUID) VALUES (?, ?, ?)";
const READ: &str = "SELECT VALUE, TIMEUUID FROM clients.pages WHERE NAME = ?";

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// REPLACE whole rows.
    Write,
    /// SELECT whole rows by their name.
    Read,
}

impl Workload {
    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Write => "write",
            Workload::Read => "read",
        }
    }

    fn statement(self) -> &'static str {
        match self {
            Workload::Write => WRITE,
            Workload::Read => READ,
        }
    }
}

/// Makes the database and the table, if they are not there.
pub fn make_table(address: SocketAddr) -> mysql::Result<()> {
    let mut connection = connect(address)?;
    connection.query_drop(DATABASE)?;
    connection.query_drop(TABLE)
}

/// A connection with its prepared statement.
pub struct Client {
    connection: Conn,
    statement: Statement,
    workload: Workload,
    value_bytes: usize,
}

impl Client {
    /// Connects and prepares.
    pub fn open(address: SocketAddr, workload: Workload, value_bytes: usize) -> mysql::Result<Client> {
        let mut connection = connect(address)?;
        let statement = connection.prep(workload.statement())?;
        Ok(Client { connection, statement, workload, value_bytes })
    }

    /// Does a request. A write has the number as its time, which must differ from the last one's: MariaDB does nothing to a row that is
    /// replaced by its equal.
    pub fn request(&mut self, row: u64, time: u64) -> Result<(), Fault> {
        match self.workload {
            Workload::Write => self.write(row, time),
            Workload::Read => self.read(row),
        }
    }

    fn write(&mut self, row: u64, time: u64) -> Result<(), Fault> {
        let values = (rows::name(row), rows::value(row, self.value_bytes), time);
        self.connection.exec_drop(&self.statement, values).map_err(fault)?;
        // One that is new, two if it takes another's place.
        match self.connection.affected_rows() {
            0 => Err(Fault::Wrong(row)),
            _ => Ok(()),
        }
    }

    fn read(&mut self, row: u64) -> Result<(), Fault> {
        let found = self.connection.exec_iter(&self.statement, (rows::name(row),)).map_err(fault)?;
        let mut verdict = Err(Fault::Missing(row));
        // To the end, or the next request would find the rest. A name is unique.
        for columns in found {
            let columns = columns.map_err(fault)?;
            verdict = judge(row, columns.as_ref(0), self.value_bytes);
        }
        verdict
    }
}

/// Whether a value is what was written to the row.
fn judge(row: u64, value: Option<&Value>, bytes: usize) -> Result<(), Fault> {
    match value {
        Some(Value::Bytes(found)) if *found == rows::value(row, bytes) => Ok(()),
        _ => Err(Fault::Wrong(row)),
    }
}

fn connect(address: SocketAddr) -> mysql::Result<Conn> {
    let options = OptsBuilder::new()
        .ip_or_hostname(Some(address.ip().to_string()))
        .tcp_port(address.port())
        .user(Some(USER))
        // Otherwise it would go on through a socket of the file system, which the other servers have not.
        .prefer_socket(false)
        .read_timeout(Some(REPLY_TIME_MAX));
    Conn::new(options)
}

/// What the server refuses leaves the connection as it was; all else ends it.
fn fault(error: mysql::Error) -> Fault {
    match error {
        mysql::Error::MySqlError(error) => Fault::Refused(error.to_string()),
        error => Fault::Lost(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_value_that_was_written_is_right() {
        let bytes = |row| Value::Bytes(rows::value(row, 60));
        assert_eq!(judge(5, Some(&bytes(5)), 60), Ok(()));
        for found in [Some(&bytes(6)), Some(&Value::NULL), Some(&Value::Int(5)), None] {
            assert_eq!(judge(5, found, 60), Err(Fault::Wrong(5)), "{found:?}");
        }
    }

    #[test]
    fn a_lost_connection_is_told_from_a_refusal() {
        let lost = mysql::Error::IoError(std::io::ErrorKind::BrokenPipe.into());
        assert!(matches!(fault(lost), Fault::Lost(_)));
        let refusal = mysql::MySqlError { state: "HY000".to_owned(), message: "full".to_owned(), code: 1021 };
        assert!(matches!(fault(mysql::Error::MySqlError(refusal)), Fault::Refused(words) if words.contains("full")));
    }
}
