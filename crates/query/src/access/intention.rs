//! A statement about roles, or a list of changes, on its way to the leader of the metadata group, and what the leader makes of it.
//!
//! ```text
//! u8 4 · u8 version (1) · u8 1 · u8 settings · u8 actor · text · text · statement    settings: 1 clients log in, 2 by password, 4 permissions are checked
//!                                                                                    actor: 0 anonymous, 1 a role, 2 the process's owner
//!                                                                                    the texts: the actor's name if it is a role, the session's keyspace
//! u8 4 · u8 version (1) · u8 2 · text name · text hash                               the first superuser
//! u8 4 · u8 version (1) · u8 3 · u8 settings · u8 actor · text · changes             a list of changes, all or none; the text: the actor's name if it is a role
//! ```
//!
//! A text is a varint length and UTF-8, empty if there is none. The statement is CQL, with its password replaced by the hash.
//! Changes are as `auth::codec` writes them, of 4 MiB at most.

use std::collections::BTreeSet;
use std::fmt;

use auth::bounds::CHANGES_BYTES_MAX;
use auth::{Access, AccessChange, AccessContext, AccessPlan, Actor, PasswordHash, Schemas, Settings};
use cql_syntax::{AccessStatement, Statement};
use metadata::DecodeError;
use stdx::{Reader, varint};

use crate::error::{QueryError, invalid};

/// The first byte.
pub(crate) const ACCESS: u8 = 4;
const VERSION: u8 = 1;
const STATEMENT: u8 = 1;
const FIRST_SUPERUSER: u8 = 2;
const CHANGES: u8 = 3;

const AUTHENTICATES: u8 = 1;
const HAS_PASSWORDS: u8 = 2;
const AUTHORIZES: u8 = 4;

/// The one who sends a statement, on its way between shards and nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Requester {
    Anonymous,
    Role(String),
    Maintenance,
}

impl Requester {
    pub(crate) fn of(actor: Actor<'_>) -> Requester {
        match actor {
            Actor::Anonymous => Requester::Anonymous,
            Actor::Role(name) => Requester::Role(name.to_owned()),
            Actor::Maintenance => Requester::Maintenance,
        }
    }

    pub(crate) fn actor(&self) -> Actor<'_> {
        match self {
            Requester::Anonymous => Actor::Anonymous,
            Requester::Role(name) => Actor::Role(name),
            Requester::Maintenance => Actor::Maintenance,
        }
    }
}

/// A wish with all that its plan depends on beside the state. The settings are those of the asking node: a cluster may be amid a change of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessIntention {
    requester: Requester,
    settings: Settings,
    wish: Wish,
}

/// The part of an intention that its requester has chosen.
#[derive(Clone, PartialEq, Eq)]
enum Wish {
    Statement {
        /// The session's keyspace, for tables without one.
        keyspace: Option<String>,
        /// The statement, with a hash in place of its password.
        text: String,
    },
    /// All or none.
    Changes(Vec<AccessChange>),
}

impl fmt::Debug for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Statement { text, .. } => f.write_str(&auth::redact(text)),
            // There may be thousands.
            Wish::Changes(changes) => write!(f, "{} changes", changes.len()),
        }
    }
}

impl AccessIntention {
    /// The intention of a statement.
    ///
    /// # Panics
    /// If its password is plain: nothing that leaves the shard has one.
    pub(crate) fn new(
        statement: &AccessStatement,
        (actor, settings): (Actor<'_>, Settings),
        keyspace: Option<&str>,
    ) -> AccessIntention {
        assert!(auth::plain_password(statement).is_none(), "a password is hashed before it is proposed");
        let wish = Wish::Statement { keyspace: keyspace.map(str::to_owned), text: statement.to_string() };
        AccessIntention { requester: Requester::of(actor), settings, wish }
    }

    /// The intention of a list of changes, in order.
    ///
    /// # Panics
    /// If resources of a change do not ascend.
    pub(crate) fn of_changes(
        changes: Vec<AccessChange>,
        (actor, settings): (Actor<'_>, Settings),
    ) -> Result<AccessIntention, QueryError> {
        let bytes = auth::codec::encode(&changes).len();
        if bytes > CHANGES_BYTES_MAX {
            let words = "of roles and permissions are more than are made together";
            return Err(invalid(format!("{bytes} bytes of changes {words}; {CHANGES_BYTES_MAX} bytes at most")));
        }
        Ok(AccessIntention { requester: Requester::of(actor), settings, wish: Wish::Changes(changes) })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Settings { authenticates, has_passwords, authorizes } = self.settings;
        let flags = [(authenticates, AUTHENTICATES), (has_passwords, HAS_PASSWORDS), (authorizes, AUTHORIZES)];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum();
        let (actor, role) = match &self.requester {
            Requester::Anonymous => (0, ""),
            Requester::Role(name) => (1, name.as_str()),
            Requester::Maintenance => (2, ""),
        };
        let kind = match self.wish {
            Wish::Statement { .. } => STATEMENT,
            Wish::Changes(_) => CHANGES,
        };
        let mut out = vec![ACCESS, VERSION, kind, flags, actor];
        put(&mut out, role);
        match &self.wish {
            Wish::Statement { keyspace, text } => {
                put(&mut out, keyspace.as_deref().unwrap_or_default());
                out.extend_from_slice(text.as_bytes());
            }
            Wish::Changes(changes) => out.extend_from_slice(&auth::codec::encode(changes)),
        }
        out
    }

    fn read(kind: u8, reader: &mut Reader<'_>) -> Result<AccessIntention, DecodeError> {
        let flags = reader.u8()?;
        if flags & !(AUTHENTICATES | HAS_PASSWORDS | AUTHORIZES) != 0 {
            return Err(problem("unknown settings"));
        }
        let settings = Settings {
            authenticates: flags & AUTHENTICATES != 0,
            has_passwords: flags & HAS_PASSWORDS != 0,
            authorizes: flags & AUTHORIZES != 0,
        };
        let (actor, role) = (reader.u8()?, string(reader.varint_bytes()?)?);
        let requester = match actor {
            0 => Requester::Anonymous,
            1 => Requester::Role(role),
            2 => Requester::Maintenance,
            _ => return Err(problem("unknown actor")),
        };
        let wish = match kind {
            CHANGES => Wish::Changes(changes(reader.rest())?),
            _ => {
                let keyspace = Some(string(reader.varint_bytes()?)?).filter(|name| !name.is_empty());
                Wish::Statement { keyspace, text: string(reader.rest())? }
            }
        };
        Ok(AccessIntention { requester, settings, wish })
    }

    /// Plans the wish on a state.
    pub(crate) fn plan(
        &self,
        access: &Access,
        schemas: Schemas<'_>,
        datacenters: &BTreeSet<String>,
    ) -> Result<AccessPlan, QueryError> {
        let (settings, actor) = (self.settings, self.requester.actor());
        let (keyspace, text) = match &self.wish {
            Wish::Statement { keyspace, text } => (keyspace.as_deref(), text),
            Wish::Changes(changes) => {
                let context = AccessContext { current_keyspace: None, datacenters, settings };
                return Ok(auth::plan_changes(access, schemas, changes, actor, &context)?);
            }
        };
        let Statement::Access(statement) = cql_syntax::parse(text)? else {
            return Err(invalid("not a statement about roles"));
        };
        // The bytes may be another node's.
        if statement.is_list() || auth::plain_password(&statement).is_some() {
            return Err(invalid(format!("{} cannot be proposed so", statement.kind())));
        }
        let context = AccessContext { current_keyspace: keyspace, datacenters, settings };
        Ok(auth::plan_access(access, schemas, &statement, actor, &context)?)
    }
}

/// A list of changes, within its bound.
fn changes(bytes: &[u8]) -> Result<Vec<AccessChange>, DecodeError> {
    if bytes.len() > CHANGES_BYTES_MAX {
        return Err(problem("more changes than are made together"));
    }
    auth::codec::decode(bytes).map_err(|error| problem(&error.to_string()))
}

/// A node's wish for the first superuser of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FirstSuperuser {
    pub(crate) name: String,
    pub(crate) hash: PasswordHash,
}

impl FirstSuperuser {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![ACCESS, VERSION, FIRST_SUPERUSER];
        put(&mut out, &self.name);
        put(&mut out, self.hash.as_str());
        out
    }

    fn read(reader: &mut Reader<'_>) -> Result<FirstSuperuser, DecodeError> {
        let (name, hash) = (string(reader.varint_bytes()?)?, string(reader.varint_bytes()?)?);
        let hash = PasswordHash::parse(&hash).map_err(|_| problem("not a hash"))?;
        let is_name = !name.is_empty() && name.len() <= auth::bounds::NAME_BYTES_MAX;
        if !is_name || !reader.is_empty() {
            return Err(problem("not a name and its hash"));
        }
        Ok(FirstSuperuser { name, hash })
    }
}

/// The changes that an intention makes on a state; none where it is refused. The asker, whose state is as late then, finds the reason by itself.
pub(crate) fn plan_bytes(
    bytes: &[u8],
    access: &Access,
    schemas: Schemas<'_>,
    datacenters: &BTreeSet<String>,
) -> Vec<AccessChange> {
    let changes = match decode(bytes) {
        Ok(Decoded::Wish(intention)) => intention.plan(access, schemas, datacenters).map(|plan| plan.changes).ok(),
        Ok(Decoded::FirstSuperuser(first)) => Some(auth::first_superuser(access, &first.name, first.hash)),
        Err(_) => None,
    };
    changes.unwrap_or_default()
}

#[derive(Debug, PartialEq, Eq)]
enum Decoded {
    Wish(AccessIntention),
    FirstSuperuser(FirstSuperuser),
}

fn decode(bytes: &[u8]) -> Result<Decoded, DecodeError> {
    let mut reader = Reader::new(bytes);
    let kind = reader.u8()?;
    assert_eq!(kind, ACCESS, "the planner tells intentions apart");
    match reader.u8()? {
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    match reader.u8()? {
        kind @ (STATEMENT | CHANGES) => AccessIntention::read(kind, &mut reader).map(Decoded::Wish),
        FIRST_SUPERUSER => FirstSuperuser::read(&mut reader).map(Decoded::FirstSuperuser),
        _ => Err(problem("unknown form")),
    }
}

fn put(out: &mut Vec<u8>, text: &str) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn string(bytes: &[u8]) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| problem("text is not UTF-8"))
}

fn problem(what: &str) -> DecodeError {
    DecodeError::Invalid { problem: format!("intention about roles: {what}") }
}

#[cfg(test)]
mod tests {
    use auth::{Attributes, Permission, Resource};
    use schema::Schema;

    use super::*;

    const SETTINGS: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };

    fn statement(text: &str) -> AccessStatement {
        match cql_syntax::parse(text) {
            Ok(Statement::Access(statement)) => statement,
            other => panic!("not a statement about roles: {other:?}"),
        }
    }

    fn hashed(text: &str) -> AccessStatement {
        let mut statement = statement(text);
        auth::set_hash(&mut statement, &PasswordHash::dummy());
        statement
    }

    #[test]
    fn an_intention_is_the_same_after_its_way_and_has_no_password() {
        let open = Settings { authenticates: false, has_passwords: false, authorizes: false };
        let create = hashed("CREATE USER ada WITH PASSWORD 'geheim'");
        let grant = statement("GRANT SELECT ON t TO r");
        for intention in [
            AccessIntention::new(&create, (Actor::Role("root"), SETTINGS), Some("ks")),
            AccessIntention::new(&grant, (Actor::Maintenance, SETTINGS), None),
            AccessIntention::new(&grant, (Actor::Anonymous, open), None),
        ] {
            let bytes = intention.to_bytes();
            assert!(!bytes.windows(6).any(|window| window == b"geheim"));
            assert_eq!(decode(&bytes), Ok(Decoded::Wish(intention)));
            (1..bytes.len()).for_each(|length| drop(decode(&bytes[..length])));
        }
        let shown = format!("{:?}", AccessIntention::new(&create, (Actor::Maintenance, SETTINGS), None));
        assert!(!shown.contains("$2a$"), "{shown}");
    }

    #[test]
    fn a_list_of_changes_is_the_same_after_its_way_and_shows_no_hash() {
        let attributes = Attributes { may_log_in: true, hash: Some(PasswordHash::dummy()), ..Attributes::default() };
        let changes = vec![
            AccessChange::PutRole("ada".to_owned(), attributes),
            AccessChange::Grant("ada".to_owned(), vec![(Resource::AllKeyspaces, Permission::Select.into())]),
        ];
        for actor in [Actor::Role("root"), Actor::Maintenance] {
            let intention = AccessIntention::of_changes(changes.clone(), (actor, SETTINGS)).expect("it is short");
            let bytes = intention.to_bytes();
            assert!(!format!("{intention:?}").contains("$2a$"), "{intention:?}");
            assert_eq!(decode(&bytes), Ok(Decoded::Wish(intention)));
            (1..bytes.len()).for_each(|length| assert!(decode(&bytes[..length]).is_err()));
            assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    #[test]
    fn a_list_of_changes_has_a_bound() {
        let long = "x".repeat(255);
        let role = |at: usize| AccessChange::DropRole(format!("{at}{}", &long[9..]));
        let changes: Vec<_> = (0..CHANGES_BYTES_MAX / 240).map(role).collect();
        let refused = AccessIntention::of_changes(changes.clone(), (Actor::Maintenance, SETTINGS));
        let words = refused.expect_err("it is too long").to_string();
        assert!(words.contains("4194304 bytes at most"), "{words}");
        let mut bytes = vec![ACCESS, VERSION, CHANGES, 7, 2, 0];
        bytes.extend_from_slice(&auth::codec::encode(&changes));
        assert!(decode(&bytes).is_err());
    }

    #[test]
    fn the_leader_makes_all_changes_of_a_superusers_list_or_none() {
        let schema = Schema::empty();
        let schemas = Schemas { users: &schema, system: &schema };
        let root = Attributes { is_superuser: true, may_log_in: true, ..Attributes::default() };
        let access = Access::default().with_all(&[
            AccessChange::PutRole("root".to_owned(), root),
            AccessChange::PutRole("user".to_owned(), Attributes::default()),
            AccessChange::BootstrapDone,
        ]);
        let put = |name: &str| AccessChange::PutRole(name.to_owned(), Attributes::default());
        let grant = |resource| AccessChange::Grant("ada".to_owned(), vec![(resource, Permission::Select.into())]);
        let plan = |actor: Actor<'_>, changes: &[AccessChange]| {
            let intention = AccessIntention::of_changes(changes.to_vec(), (actor, SETTINGS)).expect("it is short");
            plan_bytes(&intention.to_bytes(), &access, schemas, &BTreeSet::new())
        };
        let good = [put("ada"), grant(Resource::AllKeyspaces)];
        assert_eq!(plan(Actor::Role("root"), &good), good);
        assert_eq!(plan(Actor::Maintenance, &good), good);
        for actor in [Actor::Role("user"), Actor::Role("nobody"), Actor::Anonymous] {
            assert_eq!(plan(actor, &good), []);
        }
        assert_eq!(plan(Actor::Maintenance, &[put("ada"), grant(Resource::table("ks", "t"))]), []);
    }

    #[test]
    fn the_first_superuser_is_the_same_after_its_way() {
        let first = FirstSuperuser { name: "cassandra".to_owned(), hash: PasswordHash::dummy() };
        let bytes = first.to_bytes();
        assert_eq!(decode(&bytes), Ok(Decoded::FirstSuperuser(first)));
        (1..bytes.len()).for_each(|length| assert!(decode(&bytes[..length]).is_err()));
        assert!(decode(&[&bytes[..], &[0]].concat()).is_err());
        assert!(decode(&[ACCESS, VERSION, 9]).is_err());
        let newer = DecodeError::NewerVersion { version: 2, supported: 1 };
        assert_eq!(decode(&[&[ACCESS, 2], &bytes[2..]].concat()), Err(newer));
    }

    #[test]
    fn bytes_of_another_node_make_no_change_that_a_statement_could_not() {
        let schema = Schema::empty();
        let schemas = Schemas { users: &schema, system: &schema };
        let of = |requester: Requester, text: &str| AccessIntention {
            requester,
            settings: SETTINGS,
            wish: Wish::Statement { keyspace: None, text: text.to_owned() },
        };
        let plan = |intention: AccessIntention| {
            plan_bytes(&intention.to_bytes(), &Access::default(), schemas, &BTreeSet::new()).len()
        };
        assert_eq!(plan(of(Requester::Maintenance, "CREATE ROLE r")), 1);
        for text in ["CREATE ROLE r WITH PASSWORD = 'plain'", "LIST ROLES", "DROP TABLE t", "", "\u{0}"] {
            assert_eq!(plan(of(Requester::Maintenance, text)), 0, "{text}");
        }
        assert_eq!(plan(of(Requester::Role("nobody".to_owned()), "CREATE ROLE r")), 0);
    }

    proptest::proptest! {
        #[test]
        fn bytes_of_chance_are_no_panic(
            head in proptest::collection::vec(0u8..4, 0..4),
            tail in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40),
            text in "(CREATE|ALTER|DROP|LIST|GRANT) (ROLE|USER|ROLES|a|SELECT ON t) .{0,20}",
        ) {
            let schema = Schema::empty();
            let schemas = Schemas { users: &schema, system: &schema };
            let plan = |bytes: &[u8]| plan_bytes(bytes, &Access::default(), schemas, &BTreeSet::new());
            plan(&[&[ACCESS][..], &head, &tail].concat());
            let wish = Wish::Statement { keyspace: None, text };
            plan(&AccessIntention { requester: Requester::Maintenance, settings: SETTINGS, wish }.to_bytes());
            plan(&[&[ACCESS, VERSION, CHANGES, 7, 2, 0, 1][..], &head, &tail].concat());
        }
    }
}
