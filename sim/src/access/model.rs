//! A model of roles and permissions, of its own: what each statement of a superuser says and does, as sets of names.
//!
//! Each client has roles that no other client names, so that its statements alone decide what becomes of them, one after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::login::SUPERUSER;

/// Number of a role of a client.
pub type RoleNumber = u8;

/// Roles of a client.
pub const ROLES: u8 = 4;
/// Permissions that the one who makes a role receives on it.
const OF_CREATOR: [&str; 4] = ["ALTER", "AUTHORIZE", "DESCRIBE", "DROP"];

/// A resource that permissions are granted on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Resource {
    /// ALL KEYSPACES.
    Keyspaces,
    /// ALL ROLES.
    Roles,
    /// ALL MBEANS.
    MBeans,
    /// A role of the same client.
    Role(RoleNumber),
}

/// A permission that applies to it.
pub const fn permissions(resource: Resource) -> [&'static str; 2] {
    match resource {
        Resource::Keyspaces => ["SELECT", "MODIFY"],
        Resource::Roles => ["CREATE", "DESCRIBE"],
        Resource::MBeans => ["SELECT", "EXECUTE"],
        Resource::Role(_) => ["ALTER", "DROP"],
    }
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// CREATE ROLE.
    Create {
        /// The role.
        role: RoleNumber,
        /// LOGIN.
        login: bool,
        /// The number of its hash, if it has one.
        hash: Option<u8>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// ALTER ROLE.
    Alter {
        /// The role.
        role: RoleNumber,
        /// LOGIN.
        login: Option<bool>,
        /// The number of another hash; one of both is there.
        hash: Option<u8>,
    },
    /// DROP ROLE.
    Drop {
        /// The role.
        role: RoleNumber,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// GRANT or REVOKE of a role.
    Member {
        /// The role.
        role: RoleNumber,
        /// The one that it is granted to, a higher number: no circles.
        member: RoleNumber,
        /// GRANT.
        is_granted: bool,
    },
    /// GRANT or REVOKE of a permission.
    Permission {
        /// It.
        permission: &'static str,
        /// On what.
        on: Resource,
        /// The role.
        role: RoleNumber,
        /// GRANT.
        is_granted: bool,
    },
}

/// The answer that a statement must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Done, also where there was nothing to do.
    Done,
    /// An error: something is missing, or there already.
    Refused,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Role {
    login: bool,
    hash: Option<u8>,
}

/// The roles of one client, with what is granted to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    roles: BTreeMap<RoleNumber, Role>,
    /// Roles and their members.
    members: BTreeSet<(RoleNumber, RoleNumber)>,
    grants: BTreeSet<(RoleNumber, Resource, &'static str)>,
}

impl Model {
    /// True if the role exists.
    pub fn has(&self, role: RoleNumber) -> bool {
        self.roles.contains_key(&role)
    }

    /// True if the member inherits the role.
    fn inherits(&self, member: RoleNumber, role: RoleNumber) -> bool {
        member == role
            || self
                .members
                .iter()
                .any(|(granted, to)| *to == member && *granted != member && self.inherits(*granted, role))
    }

    /// The answer to a statement, and the roles after it.
    pub fn after(&self, statement: &Statement) -> (Answer, Model) {
        let mut after = self.clone();
        match after.apply(statement) {
            true => (Answer::Done, after),
            false => (Answer::Refused, self.clone()),
        }
    }

    fn apply(&mut self, statement: &Statement) -> bool {
        match *statement {
            Statement::Create { role, login, hash, if_not_exists } => {
                let is_there = self.has(role);
                if !is_there {
                    self.roles.insert(role, Role { login, hash });
                }
                !is_there || if_not_exists
            }
            Statement::Alter { role, login, hash } => {
                let Some(known) = self.roles.get_mut(&role) else { return false };
                known.login = login.unwrap_or(known.login);
                known.hash = hash.or(known.hash);
                true
            }
            Statement::Drop { role, if_exists } => {
                let is_there = self.roles.remove(&role).is_some();
                self.members.retain(|(granted, member)| *granted != role && *member != role);
                self.grants.retain(|(grantee, on, _)| *grantee != role && *on != Resource::Role(role));
                is_there || if_exists
            }
            Statement::Member { role, member, is_granted } => {
                let are_there = self.has(role) && self.has(member);
                are_there
                    && match is_granted {
                        true => !self.inherits(member, role) && self.members.insert((role, member)),
                        false => self.members.remove(&(role, member)),
                    }
            }
            Statement::Permission { permission, on, role, is_granted } => {
                let has_resource = !matches!(on, Resource::Role(of) if !self.has(of));
                let is_known = self.has(role) && has_resource;
                match is_granted {
                    true if is_known => _ = self.grants.insert((role, on, permission)),
                    _ => _ = self.grants.remove(&(role, on, permission)),
                }
                is_known
            }
        }
    }

    /// The facts that a node must show of the roles of this client.
    pub fn facts(&self, client: usize) -> BTreeSet<String> {
        let name = |role: &RoleNumber| name(client, *role);
        let roles = self.roles.iter().map(|(number, role)| {
            let hash = role.hash.map_or_else(|| "null".to_owned(), hash);
            role_fact(&name(number), role.login, &hash)
        });
        let members = self.members.iter().map(|(role, member)| member_fact(&name(role), &name(member)));
        let grants = self.grants.iter().map(|(role, on, permission)| {
            let on = match on {
                Resource::Keyspaces => "<all keyspaces>".to_owned(),
                Resource::Roles => "<all roles>".to_owned(),
                Resource::MBeans => "<all mbeans>".to_owned(),
                Resource::Role(of) => format!("<role {}>", name(of)),
            };
            grant_fact(&name(role), permission, &on)
        });
        let of_creator = self.roles.keys().flat_map(|role| {
            let on = format!("<role {}>", name(role));
            OF_CREATOR.map(|permission| grant_fact(SUPERUSER, permission, &on))
        });
        roles.chain(members).chain(grants).chain(of_creator).collect()
    }
}

/// A role with its attributes.
pub fn role_fact(role: &str, login: bool, hash: &str) -> String {
    format!("role {role}, login {login}, hash {hash}")
}

/// A membership.
pub fn member_fact(role: &str, member: &str) -> String {
    format!("{member} is a member of {role}")
}

/// A permission.
pub fn grant_fact(role: &str, permission: &str, on: &str) -> String {
    format!("{role} has {permission} on {on}")
}

/// The name of a client's role.
pub fn name(client: usize, role: RoleNumber) -> String {
    format!("c{client}r{role}")
}

/// One of 26 hashes of unknown passwords. None is ever verified.
pub fn hash(number: u8) -> String {
    let letter = char::from(b'a' + number % 26);
    format!("$2a$04$abcdefghijklmnopqrstuu{letter}.HwejlEI5ekomaQZ1i3BY3uPwosTPq")
}

/// The statement's text, of a client.
pub fn text(client: usize, statement: &Statement) -> String {
    let name = |role: RoleNumber| name(client, role);
    let word = |is_granted: bool| if is_granted { ("GRANT", "TO") } else { ("REVOKE", "FROM") };
    match *statement {
        Statement::Create { role, login, hash: number, if_not_exists } => {
            let condition = if if_not_exists { "IF NOT EXISTS " } else { "" };
            let password = number.map(|number| format!(" AND HASHED PASSWORD = '{}'", hash(number)));
            format!("CREATE ROLE {condition}{} WITH LOGIN = {login}{}", name(role), password.unwrap_or_default())
        }
        Statement::Alter { role, login, hash: number } => {
            let login = login.map(|login| format!("LOGIN = {login}"));
            let password = number.map(|number| format!("HASHED PASSWORD = '{}'", hash(number)));
            let options: Vec<String> = login.into_iter().chain(password).collect();
            format!("ALTER ROLE {} WITH {}", name(role), options.join(" AND "))
        }
        Statement::Drop { role, if_exists } => {
            format!("DROP ROLE {}{}", if if_exists { "IF EXISTS " } else { "" }, name(role))
        }
        Statement::Member { role, member, is_granted } => {
            let (verb, to) = word(is_granted);
            format!("{verb} {} {to} {}", name(role), name(member))
        }
        Statement::Permission { permission, on, role, is_granted } => {
            let (verb, to) = word(is_granted);
            let on = match on {
                Resource::Keyspaces => "ALL KEYSPACES".to_owned(),
                Resource::Roles => "ALL ROLES".to_owned(),
                Resource::MBeans => "ALL MBEANS".to_owned(),
                Resource::Role(of) => format!("ROLE {}", name(of)),
            };
            format!("{verb} {permission} ON {on} {to} {}", name(role))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(role: RoleNumber) -> Statement {
        Statement::Create { role, login: true, hash: None, if_not_exists: false }
    }

    fn after(statements: &[(Statement, Answer)]) -> Model {
        statements.iter().fold(Model::default(), |model, (statement, expected)| {
            let (answer, after) = model.after(statement);
            assert_eq!(answer, *expected, "{statement:?} after {model:?}");
            after
        })
    }

    #[test]
    fn a_dropped_role_takes_all_along_and_its_namesake_has_nothing() {
        let grant = |role, on, permission| Statement::Permission { permission, on, role, is_granted: true };
        let model = after(&[
            (create(0), Answer::Done),
            (create(0), Answer::Refused),
            (grant(1, Resource::Keyspaces, "SELECT"), Answer::Refused),
            (create(1), Answer::Done),
            (grant(1, Resource::Role(0), "ALTER"), Answer::Done),
            (grant(0, Resource::Keyspaces, "SELECT"), Answer::Done),
            (Statement::Member { role: 0, member: 1, is_granted: true }, Answer::Done),
            (Statement::Member { role: 0, member: 1, is_granted: true }, Answer::Refused),
            (Statement::Drop { role: 0, if_exists: false }, Answer::Done),
            (Statement::Drop { role: 0, if_exists: false }, Answer::Refused),
            (Statement::Drop { role: 0, if_exists: true }, Answer::Done),
            (Statement::Member { role: 0, member: 1, is_granted: false }, Answer::Refused),
            (create(0), Answer::Done),
        ]);
        assert_eq!(model, after(&[(create(0), Answer::Done), (create(1), Answer::Done)]));
    }

    #[test]
    fn what_is_inherited_is_not_granted_again() {
        let member = |role, member, answer| (Statement::Member { role, member, is_granted: true }, answer);
        let made = [(create(0), Answer::Done), (create(1), Answer::Done), (create(2), Answer::Done)];
        let more = [member(0, 1, Answer::Done), member(1, 2, Answer::Done), member(0, 2, Answer::Refused)];
        let model = after(&[&made[..], &more[..]].concat());
        let facts = model.facts(7);
        assert!(facts.contains("c7r1 is a member of c7r0") && facts.contains("role c7r2, login true, hash null"));
        assert!(facts.contains("cassandra has DESCRIBE on <role c7r0>"));
        assert_eq!(facts.len(), 3 + 2 + 3 * 4);
    }

    #[test]
    fn statements_have_the_words_of_cql() {
        let of = |statement| text(1, &statement);
        let created = of(Statement::Create { role: 2, login: false, hash: Some(3), if_not_exists: true });
        assert_eq!(
            created,
            format!("CREATE ROLE IF NOT EXISTS c1r2 WITH LOGIN = false AND HASHED PASSWORD = '{}'", hash(3))
        );
        assert_eq!(
            of(Statement::Alter { role: 0, login: Some(true), hash: None }),
            "ALTER ROLE c1r0 WITH LOGIN = true"
        );
        let revoked = Statement::Permission { permission: "DROP", on: Resource::Role(1), role: 0, is_granted: false };
        assert_eq!(of(revoked), "REVOKE DROP ON ROLE c1r1 FROM c1r0");
    }
}
