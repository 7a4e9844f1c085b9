//! Logins of operators, and what their roles may ask for: judged by the state of access of this moment, as clients are.

use std::net::{IpAddr, Ipv4Addr};

use admin::{Answer, LoginAttempt, Need, Proof, Refusal};
use auth::{Actor, Credentials, Objects, StatementKind, login_forbidden, requirements};
use runtime::fill_secret;

use super::{Done, Operator};

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
        let logged_in = self.engine.access().state().log_in(&name, &hash, is_password);
        logged_in.map_err(|error| {
            tracing::debug!(%from, message = %error, "operator login refused");
            Refusal::Unauthenticated(error.to_string())
        })?;
        Ok(Answer::LoggedIn { secret: self.draw()?, proof: Proof(hash.as_str().to_owned()) })
    }

    /// Draws a ticket for a role that has logged in.
    pub(super) fn draw_ticket(&self, role: &str, proof: Option<&Proof>) -> Done {
        self.ensure_logged_in(role, proof)?;
        self.draw().map(Answer::Drawn)
    }

    /// Draws a secret.
    fn draw(&self) -> Result<[u8; 16], Refusal> {
        let mut secret = [0; 16];
        let drawn = fill_secret(&self.runtime, &mut secret);
        drawn.map_err(|error| Refusal::Failed(format!("the system has no random bytes: {error}")))?;
        Ok(secret)
    }

    /// Refuses a role that was dropped or lost LOGIN since it logged in, and a login whose password is the role's no more: a role of the same name may be another's.
    fn ensure_logged_in(&self, role: &str, proof: Option<&Proof>) -> Result<(), Refusal> {
        let access = self.engine.access();
        if !access.state().may_log_in(role) {
            return Err(Refusal::Unauthenticated(login_forbidden(role)));
        }
        match proof.is_none_or(|Proof(proof)| *proof == access.state().hash_to_verify(role).as_str()) {
            true => Ok(()),
            false => {
                Err(Refusal::Unauthenticated("the password has changed since this login; log in again".to_owned()))
            }
        }
    }

    /// Refuses what a role may not ask for.
    pub(super) fn admit(&self, role: &str, proof: Option<&Proof>, need: Need) -> Done {
        self.ensure_logged_in(role, proof)?;
        let access = self.engine.access();
        let subject = access.subject(Actor::Role(role));
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
}
