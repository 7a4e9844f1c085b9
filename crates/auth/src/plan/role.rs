//! CREATE, ALTER and DROP ROLE.

use std::collections::BTreeSet;

use cql_syntax::{RoleOptions, RolePassword};

use super::{AccessPlan, Planner, created, ensure_length};
use crate::bounds;
use crate::change::AccessChange;
use crate::check::Actor;
use crate::error::{AccessError, invalid, unauthorized};
use crate::hash::{PASSWORD_BYTES_MAX, PasswordHash, WEIGHT_MAX};
use crate::permission::Permission;
use crate::resource::Resource;
use crate::role::Attributes;
use crate::snapshot::Access;
use crate::statement::names;

/// The class that refuses options, in Cassandra's words.
const ROLE_MANAGER: &str = "org.apache.cassandra.auth.CassandraRoleManager";

impl Planner<'_> {
    pub(super) fn create(
        &self,
        role: &str,
        if_not_exists: bool,
        options: &RoleOptions,
    ) -> Result<AccessPlan, AccessError> {
        self.subject.ensure_privilege(Permission::Create, &Resource::AllRoles)?;
        if options.superuser == Some(true) && !self.subject.is_superuser() {
            return Err(unauthorized("Only superusers can create a role with superuser status"));
        }
        let hash = self.validate(options)?;
        if role.is_empty() {
            return Err(invalid("Role name can't be an empty string"));
        }
        ensure_length("a role's name", role, bounds::NAME_BYTES_MAX)?;
        self.validate_restrictions(options)?;
        self.subject.ensure_logged_in()?;
        match self.access.role(role) {
            Some(_) if if_not_exists => return Ok(AccessPlan::none()),
            Some(_) => return Err(invalid(format!("{role} already exists"))),
            None => {}
        }
        if self.access.roles().len() >= bounds::ROLES_MAX {
            return Err(invalid(format!("a cluster may have {} roles at most", bounds::ROLES_MAX)));
        }
        let attributes = Attributes {
            is_superuser: options.superuser.unwrap_or(false),
            may_log_in: options.login.unwrap_or(false),
            hash,
            ..Attributes::default()
        };
        let mut changes = vec![AccessChange::PutRole(role.to_owned(), attributes)];
        let is_restricted = |set: &BTreeSet<String>| !set.is_empty();
        if let Some(datacenters) = options.datacenters.as_ref().map(names).filter(is_restricted) {
            changes.push(AccessChange::PutDatacenters(role.to_owned(), datacenters));
        }
        if let Some(groups) = options.cidr_groups.as_ref().map(names).filter(is_restricted) {
            changes.push(AccessChange::PutCidrGroups(role.to_owned(), groups));
        }
        changes.extend(created(self.access, &self.subject, &[Resource::Role(role.to_owned())]));
        Ok(AccessPlan::of(changes))
    }

    pub(super) fn alter(&self, role: &str, if_exists: bool, options: &RoleOptions) -> Result<AccessPlan, AccessError> {
        self.authorize_alter(role, options)?;
        let hash = self.validate(options)?;
        let has_attributes = options.superuser.is_some() || options.login.is_some() || options.password.is_some();
        if !has_attributes && options.datacenters.is_none() && options.cidr_groups.is_none() {
            return Err(invalid("ALTER [ROLE|USER] can't be empty"));
        }
        self.validate_restrictions(options)?;
        self.subject.ensure_logged_in()?;
        let Some(known) = self.access.role(role) else {
            return match if_exists {
                true => Ok(AccessPlan::none()),
                false => Err(invalid(format!("Role {role} doesn't exist"))),
            };
        };
        let mut changes = Vec::new();
        if has_attributes {
            let mut attributes = known.attributes().clone();
            attributes.is_superuser = options.superuser.unwrap_or(attributes.is_superuser);
            attributes.may_log_in = options.login.unwrap_or(attributes.may_log_in);
            attributes.hash = hash.or(attributes.hash);
            changes.push(AccessChange::PutRole(role.to_owned(), attributes));
        }
        if let Some(datacenters) = &options.datacenters {
            changes.push(AccessChange::PutDatacenters(role.to_owned(), names(datacenters)));
        }
        if let Some(groups) = &options.cidr_groups {
            changes.push(AccessChange::PutCidrGroups(role.to_owned(), names(groups)));
        }
        Ok(AccessPlan::of(changes))
    }

    fn authorize_alter(&self, role: &str, options: &RoleOptions) -> Result<(), AccessError> {
        let is_superuser = self.subject.is_superuser();
        let own = match self.subject.actor() {
            Actor::Role(name) => Some(name),
            Actor::Anonymous | Actor::Maintenance => None,
        };
        if options.superuser.is_some() && own.is_some_and(|own| self.access.roles_of(own).contains(role)) {
            let words = "You aren't allowed to alter your own superuser status or that of a role granted to you";
            return Err(unauthorized(words));
        }
        if is_superuser {
            return Ok(());
        }
        if options.superuser.is_some() {
            return Err(unauthorized("Only superusers are allowed to alter superuser status"));
        }
        if options.datacenters.is_some() {
            return Err(unauthorized("Only superusers are allowed to alter access to datacenters."));
        }
        if options.cidr_groups.is_some() {
            return Err(unauthorized("Only superusers are allowed to alter access from CIDR groups."));
        }
        if own != Some(role) {
            return self.subject.ensure_privilege(Permission::Alter, &Resource::Role(role.to_owned()));
        }
        let may_alter = |option: &str| self.context.settings.has_passwords && option.ends_with("PASSWORD");
        match given(options).into_iter().find(|option| !may_alter(option)) {
            Some(option) => Err(unauthorized(format!("You aren't allowed to alter {option}"))),
            None => Ok(()),
        }
    }

    pub(super) fn drop(&self, role: &str, if_exists: bool) -> Result<AccessPlan, AccessError> {
        self.subject.ensure_privilege(Permission::Drop, &Resource::Role(role.to_owned()))?;
        if self.access.is_superuser(role) && !self.subject.is_superuser() {
            return Err(unauthorized("Only superusers can drop a role with superuser status"));
        }
        self.subject.ensure_logged_in()?;
        if !if_exists {
            self.ensure_exists(role)?;
        }
        if self.subject.actor() == Actor::Role(role) {
            return Err(invalid("Cannot DROP primary role for current login"));
        }
        let changes = self.access.role(role).map(|_| AccessChange::DropRole(role.to_owned()));
        Ok(AccessPlan::of(changes.into_iter().collect()))
    }

    /// Refuses options that Cassandra's role manager does not know, and passwords that are none. Gives the hash.
    fn validate(&self, options: &RoleOptions) -> Result<Option<PasswordHash>, AccessError> {
        let is_supported = |option: &str| match option {
            "SUPERUSER" | "LOGIN" => true,
            "OPTIONS" => false,
            _ => self.context.settings.has_passwords,
        };
        if let Some(option) = given(options).into_iter().find(|option| !is_supported(option)) {
            return Err(invalid(format!("{ROLE_MANAGER} doesn't support {option}")));
        }
        match &options.password {
            None => Ok(None),
            Some(RolePassword::Generated) => Err(invalid("GENERATED PASSWORD is not supported yet")),
            Some(RolePassword::Plain(password)) if password.len() > PASSWORD_BYTES_MAX => {
                Err(invalid(format!("A password may have {PASSWORD_BYTES_MAX} bytes at most")))
            }
            // Of a statement that is only checked.
            Some(RolePassword::Plain(_)) => Ok(Some(PasswordHash::dummy())),
            Some(RolePassword::Hashed(hash)) => {
                let hash = PasswordHash::parse(hash).map_err(|error| invalid(error.to_string()))?;
                match hash.weight() > WEIGHT_MAX && !self.subject.is_superuser() {
                    true => Err(unauthorized("Only superusers are allowed to set a hash of a cost over 12")),
                    false => Ok(Some(hash)),
                }
            }
        }
    }

    fn validate_restrictions(&self, options: &RoleOptions) -> Result<(), AccessError> {
        let (datacenters, groups) = (options.datacenters.as_ref().map(names), options.cidr_groups.as_ref().map(names));
        for set in [&datacenters, &groups].into_iter().flatten() {
            ensure_restriction(set)?;
        }
        datacenters.map_or(Ok(()), |set| ensure_datacenters(self.context.datacenters, &set))?;
        groups.map_or(Ok(()), |set| ensure_cidr_groups(self.access, &set))
    }
}

/// Refuses more datacenters or CIDR groups of a role than the state keeps.
pub(super) fn ensure_restriction(set: &BTreeSet<String>) -> Result<(), AccessError> {
    let words = "datacenters and as many CIDR groups at most";
    match set.len() <= bounds::LIST_MAX {
        true => Ok(()),
        false => Err(invalid(format!("a role may be restricted to {} {words}", bounds::LIST_MAX))),
    }
}

/// Refuses datacenters that the cluster has not. The sentence has all values; that about groups has the unknown ones alone.
pub(super) fn ensure_datacenters(known: &BTreeSet<String>, set: &BTreeSet<String>) -> Result<(), AccessError> {
    if set.is_subset(known) {
        return Ok(());
    }
    let values = set.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    Err(invalid(format!("Invalid value(s) for DATACENTERS '[{values}]',All values must be valid datacenters")))
}

/// Refuses CIDR groups that the cluster has not.
pub(super) fn ensure_cidr_groups(access: &Access, set: &BTreeSet<String>) -> Result<(), AccessError> {
    let unknown: Vec<&str> = set.iter().filter(|name| access.cidr_group(name).is_none()).map(String::as_str).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let known = access.cidr_groups().map(|(name, _)| name).collect::<Vec<_>>().join(", ");
    let unknown = unknown.join(", ");
    Err(invalid(format!("Invalid CIDR group(s): [{unknown}]. Available CIDR Groups are: [{known}]")))
}

/// The names of the options that are given, as Cassandra names them.
fn given(options: &RoleOptions) -> Vec<&'static str> {
    let password = options.password.as_ref().map(|password| match password {
        RolePassword::Plain(_) => "PASSWORD",
        RolePassword::Hashed(_) => "HASHED_PASSWORD",
        RolePassword::Generated => "GENERATED_PASSWORD",
    });
    let superuser = options.superuser.map(|_| "SUPERUSER");
    let login = options.login.map(|_| "LOGIN");
    let own = options.options.as_ref().map(|_| "OPTIONS");
    [superuser, password, login, own].into_iter().flatten().collect()
}
