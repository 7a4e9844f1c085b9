//! Logins of operators, the import of another cluster's roles, and what operators' roles may ask for: judged by the state of access of this moment, as clients are.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use admin::{Answer, LoginAttempt, Need, Refusal, RolesOrder};
use auth::{Actor, Credentials, Objects, RolesImport, StatementKind, requirements};
use login::{LoggedIn, Ticket};
use query::{AccessChangesError, plan_roles_import, propose_access_changes};
use runtime::fill_secret;
use server::ConnectError;

use super::{Done, Operator};

/// The refusal of CQL to operators who have proven less than clients have to.
const UNPROVEN: &str = "CQL is not available here: clients need a certificate (client_encryption_options), and operators prove nothing; set authenticator, or api_tls with require_client_auth: true";

impl Operator {
    /// Verifies a name and a password. The hash is computed beside the shards, with the quotas and pauses of clients' logins.
    pub(super) async fn log_in(&self, attempt: LoginAttempt) -> Done {
        let Some(hasher) = &self.hasher else {
            return Err(Refusal::Failed("this node asks for no login".to_owned()));
        };
        let LoginAttempt { from, name, password } = attempt;
        let hash = self.engine.access().state().hash_to_verify(&name);
        let credentials = Credentials { name: name.clone(), password };
        let from = from.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let verified = hasher.verify(from, hash.clone(), credentials).await;
        let is_password = verified.map_err(|overloaded| Refusal::Busy(overloaded.to_string()))?;
        // By the state of this moment: the role may have changed while its password was verified.
        let judged = LoggedIn::judge(self.engine.access().state(), name, hash, is_password);
        let login = judged.map_err(|error| {
            tracing::debug!(%from, message = %error, "operator login refused");
            Refusal::Unauthenticated(error.to_string())
        })?;
        Ok(Answer::LoggedIn { login, secret: self.secret()? })
    }

    /// Opens a connection for CQL within the process, of one who asks from this address. Where a client's certificate is all that the ports for clients ask for, an operator who has proven nothing
    /// would get past it.
    pub(super) fn connect(&self, from: SocketAddr) -> Done {
        if self.are_operators_unproven {
            return Err(Refusal::Forbidden(UNPROVEN.to_owned()));
        }
        let connected = server::connect(&self.server, from);
        connected.map(Answer::Connected).map_err(|error| match error {
            ConnectError::NotAccepting => Refusal::Busy(error.to_string()),
            ConnectError::Io(_) => Refusal::Failed(error.to_string()),
        })
    }

    /// Draws a ticket for a login that holds.
    pub(super) fn draw_ticket(&self, login: &LoggedIn) -> Done {
        self.admit(login, Need::Login)?;
        Ok(Answer::Drawn(Ticket { role: login.role().to_owned(), secret: self.secret()? }))
    }

    fn secret(&self) -> Result<[u8; 16], Refusal> {
        let mut secret = [0; 16];
        let drawn = fill_secret(&self.runtime, &mut secret);
        drawn.map_err(|error| Refusal::Failed(format!("the system has no random bytes: {error}")))?;
        Ok(secret)
    }

    /// Refuses what a role may not ask for. One that was dropped, has another password, or lost LOGIN, since it logged in may ask for nothing.
    pub(super) fn admit(&self, login: &LoggedIn, need: Need) -> Done {
        let access = self.engine.access();
        login.holds(access.state()).map_err(|error| Refusal::Unauthenticated(error.to_string()))?;
        let subject = access.subject(Actor::Role(login.role()));
        let check = |kind, mbean: Option<&str>| {
            let objects = Objects { mbean: mbean.unwrap_or_default().to_owned(), ..Objects::default() };
            subject.check_all(&requirements(kind, &objects))
        };
        let allowed = match need {
            Need::Nothing | Need::Login => Ok(()),
            Need::Read(mbean) => check(StatementKind::ReadMBean, mbean),
            // Cassandra tells settings from operations. A path here may be both, so either permission is enough.
            Need::Change(mbean) => {
                check(StatementKind::WriteMBean, mbean).or_else(|_| check(StatementKind::CallMBean, mbean))
            }
        };
        allowed.map(|()| Answer::Done).map_err(|error| Refusal::Forbidden(error.to_string()))
    }

    /// Imports the roles that `order` lists, or says what an import would do.
    pub(super) async fn import_roles(&self, order: RolesOrder) -> Done {
        let Some(login) = &order.login else {
            let words = "roles are imported by a superuser who has logged in: set authenticator first";
            return Err(Refusal::Refused(words.to_owned()));
        };
        let actor = Actor::Role(login.role());
        let planned = plan_roles_import(&self.engine, actor, (&order.roles, order.replaces));
        let RolesImport { changes, imported, skipped } =
            planned.map_err(|error| Refusal::Forbidden(error.to_string()))?;
        if !order.is_dry && !changes.is_empty() {
            propose_access_changes(&self.engine, actor, changes).await.map_err(|error| match error {
                AccessChangesError::Refused(words) => Refusal::Refused(format!("nothing is imported: {words}")),
                AccessChangesError::Failed(words) => Refusal::Failed(words),
            })?;
        }
        Ok(Answer::ImportedRoles { imported, skipped })
    }
}
