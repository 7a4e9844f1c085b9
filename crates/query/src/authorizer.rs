//! Checks of permissions: a session runs what its role may.
//!
//! The shard that has the connection checks a request, on both of the engine's ways, before it does anything or hands it to another shard. The other shard
//! does not check it again: it knows no role of the client. The check comes after all that a statement's preparation refuses (syntax, unknown tables, the
//! count of values), and before everything that its values or the cluster decide.
//!
//! | session | request | to |
//! |---|---|---|
//! | has not passed in this epoch of access | any | the login and the network rules are checked; passed, or refused |
//! | has passed in this epoch | a plan that it remembers | runs: one comparison |
//! | has passed in this epoch | another plan | the requirements are checked; remembered, or refused |
//!
//! A refusal is not remembered, so a GRANT needs no other rule than a REVOKE: both are another epoch.

use std::cell::RefCell;
use std::rc::Rc;

use auth::networks::{CidrVerdict, NetworkRules};
use auth::{AccessError, Actor, Objects, Requirement, StatementKind, requirements};
use cql_protocol::QueryParams;
use cql_protocol::request::BatchQuery;
use planted::{Bug, Planted};

use crate::Session;
use crate::access::AccessSnapshot;
use crate::error::QueryError;
use crate::execute::bind::with_values;
use crate::plan::Plan;
use crate::session::PassedPlans;

/// One shard's checks, with the state that they are made by.
pub(crate) struct Authorizer {
    snapshot: RefCell<Rc<AccessSnapshot>>,
    /// True if clients must log in or permissions are checked: with neither, no plan has requirements, and a check is one branch.
    is_on: bool,
    rules: NetworkRules,
    datacenter: String,
    planted: Planted,
    /// The memory that sessions share where that mistake is planted.
    of_all: PassedPlans,
}

impl Authorizer {
    /// The checks of a node in a datacenter, by its first state.
    pub(crate) fn new(first: AccessSnapshot, rules: NetworkRules, datacenter: &str, planted: Planted) -> Authorizer {
        let settings = first.settings();
        Authorizer {
            is_on: settings.authenticates || settings.authorizes,
            snapshot: RefCell::new(Rc::new(first)),
            rules,
            datacenter: datacenter.to_owned(),
            planted,
            of_all: PassedPlans::default(),
        }
    }

    /// True if there are checks.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// The datacenters and addresses that roles are refused by.
    pub(crate) fn rules(&self) -> NetworkRules {
        self.rules
    }

    /// Roles and permissions as the shard sees them now.
    pub(crate) fn snapshot(&self) -> Rc<AccessSnapshot> {
        self.snapshot.borrow().clone()
    }

    /// Checks by this state from now on.
    pub(crate) fn install(&self, next: AccessSnapshot) {
        *self.snapshot.borrow_mut() = Rc::new(next);
    }

    /// Refuses a statement that the session's role may not run. Who sends too few or too many values hears of that first.
    #[inline]
    pub(crate) fn authorize(&self, session: &Session, plan: &Plan, params: &QueryParams<'_>) -> Result<(), QueryError> {
        let is_skipped = params.paging_state.is_some() && self.planted.is(Bug::PagedWithoutCheck);
        if self.may_run(session, plan) || is_skipped {
            return Ok(());
        }
        self.check(session, plan).or_else(|error| with_values(&plan.markers, params.values, |_| Err(error)))
    }

    /// The same for a statement of a batch, whose values are counted by its caller.
    #[inline]
    pub(crate) fn authorize_part(
        &self,
        session: &Session,
        plan: &Plan,
        query: &BatchQuery<'_>,
    ) -> Result<(), QueryError> {
        let is_skipped = matches!(query, BatchQuery::Text(_)) && self.planted.is(Bug::BatchTextUnchecked);
        if self.may_run(session, plan) || is_skipped { Ok(()) } else { self.check(session, plan) }
    }

    /// Refuses a session that has not logged in, or whose role may not use this node's datacenter or its address any more.
    pub(crate) fn check_session(&self, session: &Session) -> Result<(), QueryError> {
        let (passed, epoch) = (self.passed(session), self.epoch());
        if !self.is_on || session.is_of_other_shard() || passed.is_of(epoch) {
            return Ok(());
        }
        let (access, actor) = (self.snapshot(), session.actor());
        if access.settings().authenticates && actor == Actor::Anonymous {
            return Err(AccessError::Unauthorized("You have not logged in".to_owned()).into());
        }
        let is_skipped = !passed.is_new() && self.planted.is(Bug::NetworkRulesAtLoginOnly);
        if let Actor::Role(role) = actor
            && !is_skipped
        {
            let address = session.client().map(|client| client.ip());
            let verdict = access.state().check_network(role, (&self.datacenter, address), self.rules)?;
            if verdict == CidrVerdict::Monitored {
                tracing::warn!(
                    role,
                    ?address,
                    "role may not connect from its address; accepted, since cidr_authorizer monitors"
                );
            }
        }
        passed.enter(epoch);
        Ok(())
    }

    /// The refusal of a text of which no plan can be made. Where that is because its table takes no modifications, who may not modify it hears of the permission,
    /// as in Cassandra, which plans such a statement.
    #[cold]
    pub(crate) fn unplanned(&self, session: &Session, error: QueryError) -> QueryError {
        let QueryError::Unwritable { keyspace, table, .. } = &error else { return error };
        if !self.is_on || session.is_of_other_shard() {
            return error;
        }
        let objects = Objects { keyspace: keyspace.clone(), table: table.clone(), ..Objects::default() };
        let needs = requirements(StatementKind::Modify, &objects);
        let checked = self.check_session(session).and_then(|()| self.check_needs(session, &needs));
        checked.err().unwrap_or(error)
    }

    /// True if no check is needed: this node makes none, or the session remembers the plan.
    #[inline]
    fn may_run(&self, session: &Session, plan: &Plan) -> bool {
        !self.is_on || self.passed(session).has(plan.number, self.epoch())
    }

    /// Checks a plan, and has the session remember it.
    #[inline(never)]
    fn check(&self, session: &Session, plan: &Plan) -> Result<(), QueryError> {
        if session.is_of_other_shard() {
            return Ok(());
        }
        self.check_session(session)?;
        self.check_needs(session, &plan.requirements)?;
        self.passed(session).note(plan.number, self.epoch());
        Ok(())
    }

    fn check_needs(&self, session: &Session, needs: &[Requirement]) -> Result<(), QueryError> {
        let access = self.snapshot();
        Ok(access.subject(session.actor()).planted(self.planted).check_all(needs)?)
    }

    /// The epoch of access on this shard.
    #[inline]
    fn epoch(&self) -> u64 {
        if self.planted.is(Bug::PassedKeptOverRevoke) { 0 } else { self.snapshot.borrow().epoch() }
    }

    /// The session's own memory: roles of other sessions may do other things.
    #[inline]
    fn passed<'a>(&'a self, session: &'a Session) -> &'a PassedPlans {
        if self.planted.is(Bug::PassedForAll) { &self.of_all } else { session.passed() }
    }
}
