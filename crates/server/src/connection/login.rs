//! A client's login: by its certificate when it starts, or AUTHENTICATE, AUTH_RESPONSE, and the verdict, which comes from a thread outside the shards.
//!
//! A certificate that was verified decides alone: a client whose certificate is of no role is refused, and is asked for no password. While a password is verified the
//! connection reads nothing, and holds no shard. A client whose login was refused may try again, as in Cassandra, within its time.

use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use auth::{Credentials, parse_plain};
use cql_protocol::request::{self, AuthResponse};
use cql_protocol::{
    ErrorBody, ErrorKind, FrameHeader, Opcode, write_auth_success, write_authenticate, write_error, write_ready,
};
use login::Hasher;
use runtime::Group;

use super::Connection;
use super::handshake;
use super::output::Output;
use super::violation::Violation;
use crate::logins::{Logins, Start};
use crate::stream::Stream;

/// The refusal of a client that has no certificate, where one is needed, in Cassandra's words.
const NO_CERTIFICATE: &str = "No certificate present on connection";

/// Answers STARTUP of a client that has to log in: with READY if its certificate is of a role, with AUTHENTICATE if it has none. False: it was refused, and nothing has
/// begun.
#[cold]
pub(super) fn at_startup(connection: &Connection, logins: &Logins, header: &FrameHeader, output: &mut Output) -> bool {
    let names = match &connection.stream {
        Stream::Tls(tls) if logins.proofs.certificates.is_some() => tls.session().peer_names(),
        _ => None,
    };
    match logins.proofs.start(names, connection.server.engine.access().state()) {
        Start::Asked(class) => {
            write_authenticate(&mut output.ready, header.version, header.stream, class);
            connection.is_authenticating.set(true);
        }
        Start::LoggedIn(role) => {
            log_in(connection, &role);
            connection.server.auditing.login(connection, None, None);
            write_ready(&mut output.ready, header.version, header.stream);
        }
        Start::Refused(words) => {
            refuse(connection, header, None, &bad_credentials(words), output);
            return false;
        }
    }
    true
}

/// Handles a request that comes between AUTHENTICATE and the end of the login. Cassandra keeps the connection after an error.
#[cold]
pub(super) fn before_login(
    connection: &Rc<Connection>,
    logins: &Logins,
    header: &FrameHeader,
    body: &[u8],
    output: &mut Output,
) -> Result<(), Violation> {
    match header.opcode {
        Opcode::Options => handshake::supported(connection, header, output),
        Opcode::AuthResponse => {
            let response = AuthResponse::decode(request::message(header, body)?)?;
            match parse_plain(response.token.unwrap_or_default()) {
                Ok(credentials) if redeems_ticket(connection, &credentials) => {
                    log_in(connection, &credentials.name);
                    connection.server.auditing.login(connection, None, None);
                    write_auth_success(&mut output.ready, header.version, header.stream, None);
                }
                _ if !logins.proofs.has_passwords => {
                    refuse(connection, header, None, &bad_credentials(NO_CERTIFICATE), output)
                }
                Ok(credentials) => begin(connection, &logins.hasher, header, credentials),
                Err(error) => refuse(connection, header, None, &bad_credentials(error), output),
            }
        }
        opcode => {
            let text = format!("Unexpected message {}, expecting SASL_RESPONSE", opcode.name());
            write_error(&mut output.ready, header.version, header.stream, &ErrorBody::protocol_error(text));
        }
    }
    Ok(())
}

/// True if the password is a ticket of the admin API for a role that may log in: nothing is left to be verified.
fn redeems_ticket(connection: &Connection, credentials: &Credentials) -> bool {
    let server = &connection.server;
    server.tickets.redeem(credentials, server.runtime.now())
        && server.engine.access().state().may_log_in(&credentials.name)
}

/// A verification under way. It counts as all the requests that a connection may have under way, so nothing is read beside it.
struct Verifying {
    connection: Rc<Connection>,
    requests: usize,
}

impl Verifying {
    fn begin(connection: &Rc<Connection>) -> Verifying {
        let requests = connection.server.budget.limits.connection_requests_max;
        connection.tasks.set(connection.tasks.get() + requests);
        Verifying { connection: connection.clone(), requests }
    }
}

impl Drop for Verifying {
    fn drop(&mut self) {
        let tasks = &self.connection.tasks;
        tasks.set(tasks.get().checked_sub(self.requests).expect("a verification ends once"));
        self.connection.to_write.notify();
        self.connection.room.notify();
    }
}

fn begin(connection: &Rc<Connection>, hasher: &Hasher, header: &FrameHeader, credentials: Credentials) {
    let verifying = Verifying::begin(connection);
    let (hasher, header, name) = (hasher.clone(), *header, credentials.name.clone());
    let verification = async move {
        let connection = verifying.connection.clone();
        let verdict = verdict(&connection, &hasher, credentials).await;
        let mut output = connection.output.borrow_mut();
        match verdict {
            Ok(role) => {
                log_in(&connection, &role);
                connection.server.auditing.login(&connection, None, None);
                write_auth_success(&mut output.ready, header.version, header.stream, None);
            }
            Err(error) => refuse(&connection, &header, Some(&name), &error, &mut output),
        }
        drop(output);
        drop(verifying);
    };
    let task = connection.server.runtime.spawn(Group::Query, verification);
    *connection.login.borrow_mut() = Some(task);
}

/// The role that the client is from now on, or the answer to it.
async fn verdict(connection: &Connection, hasher: &Hasher, credentials: Credentials) -> Result<String, ErrorBody> {
    let engine = &connection.server.engine;
    let role = credentials.name.clone();
    let hash = engine.access().state().hash_to_verify(&role);
    let from = connection.address.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip());
    let verified = hasher.verify(from, hash.clone(), credentials).await;
    let is_password = verified.map_err(|overloaded| ErrorBody::overloaded(overloaded.to_string()))?;
    // By the state of this moment: the role may have changed while its password was verified.
    let logged_in = engine.access().state().log_in(&role, &hash, is_password);
    logged_in.map(|()| role).map_err(bad_credentials)
}

fn bad_credentials(error: impl ToString) -> ErrorBody {
    ErrorBody::new(ErrorKind::BadCredentials, error.to_string())
}

/// Answers a login that was refused, and counts it. `name` is the one that it gave.
fn refuse(connection: &Connection, header: &FrameHeader, name: Option<&str>, error: &ErrorBody, output: &mut Output) {
    let start = output.ready.len();
    write_error(&mut output.ready, header.version, header.stream, error);
    let reply = output.ready.get(start..).unwrap_or_default();
    connection.server.requests.borrow_mut().classify(header.opcode, reply);
    connection.server.count(|stats| stats.logins_failed += 1);
    connection.server.auditing.login(connection, Some(name.unwrap_or_default()), Some(&error.message));
    tracing::debug!(from = ?connection.address, message = %error.message, "client login refused");
}

/// The client is this role from now on, and may make requests.
fn log_in(connection: &Connection, role: &str) {
    assert!(!connection.started.get(), "a connection logs in once");
    connection.session.log_in(role);
    if let Some(address) = connection.address {
        query::list_client(&connection.server.engine, &connection.session, address);
    }
    connection.counted.logged_in();
    connection.begin_requests();
}
