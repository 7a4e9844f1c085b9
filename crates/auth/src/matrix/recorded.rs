//! The matrix that a real Cassandra answered, cell by cell: the pure functions give the same verdicts, or those of a closed hole.
//!
//! `tests/access/matrix.txt` has statements, what each is tried with, and the verdicts; `docs/internals/access.md` says what a cell is.

use std::collections::{BTreeMap, BTreeSet};

use cql_syntax::{AccessStatement, Statement};
use cql_types::CqlType;

use super::*;
use crate::networks::{CidrMode, NetworkRules};
use crate::samples::{grant, login, member, schemas, superuser};
use crate::{
    Access, AccessChange, AccessContext, AccessError, Actor, Attributes, Listed, PermissionSet, Schemas, Settings,
    Subject, list,
};

const RECORDED: &str = include_str!("../../../../tests/access/matrix.txt");
const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
/// The rules of the server that gave the answers.
const NETWORKS: NetworkRules =
    NetworkRules { checks_datacenters: true, cidr_mode: CidrMode::Enforce, cidr_checks_superusers: false };
const ALLOWED: &str = "allowed";
/// Differences of one statement that a failure shows.
const SHOWN_MAX: usize = 3;

/// Ways of granting, and the roles that they are given to.
const WAYS: [(&str, &str); 5] =
    [("direct", "amy"), ("role", "team"), ("nested", "crew"), ("member", "heir"), ("former", "former")];
/// Levels that each statement is tried with.
const NEIGHBOURS: [&str; 8] =
    ["data", "data/other", "data/ks/u", "roles", "roles/another", "functions", "functions/ks", "mbean"];

/// A statement with its verdicts.
struct Recorded<'a> {
    name: &'a str,
    text: &'a str,
    keys: BTreeMap<&'a str, &'a str>,
    /// By what stands before ` = `.
    verdicts: Vec<(&'a str, &'a str)>,
}

/// A way and a grant.
type Cell<'a> = (&'a str, P, Resource);

fn rows() -> Vec<Recorded<'static>> {
    let sections = RECORDED.split("\n\n").map(|section| section.trim_matches('\n')).skip(2);
    sections.filter(|section| !section.is_empty()).map(row).collect()
}

fn row(section: &str) -> Recorded<'_> {
    let mut lines = section.lines();
    let name = lines.next().and_then(|line| line.strip_prefix("= ")).expect(section);
    let text = lines.next().expect(section);
    let (answers, keys): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.starts_with("> ") || line.starts_with("< "));
    // A hole that is closed has verdicts of its own.
    let mark = if answers.iter().any(|line| line.starts_with("< ")) { "< " } else { "> " };
    let verdicts = answers.iter().filter_map(|line| line.strip_prefix(mark));
    Recorded {
        name,
        text,
        keys: keys.iter().map(|line| line.split_once(": ").expect(section)).collect(),
        verdicts: verdicts.map(|line| line.split_once(" = ").expect(section)).collect(),
    }
}

/// A resource by its name; types of arguments are named as in CQL.
fn resource(name: &str) -> Resource {
    match name.strip_prefix("functions/ks/") {
        Some(function) => of_keyspace(function),
        None => Resource::of_name(name).expect(name),
    }
}

/// `f[int,int]` of keyspace `ks`.
fn of_keyspace(function: &str) -> Resource {
    let (name, types) = function.strip_suffix(']').and_then(|rest| rest.split_once('[')).expect(function);
    assert!(types.split(',').all(|ty| ty == "int"), "{function}");
    Resource::function("ks", name, &vec![CqlType::Int; types.split(',').count()])
}

fn permission(name: &str) -> P {
    P::of_name(name).expect(name)
}

impl<'a> Recorded<'a> {
    fn key(&self, key: &str) -> &'a str {
        self.keys.get(key).copied().unwrap_or_default()
    }

    /// The grants that the user holds in each cell.
    fn held(&self) -> Vec<AccessChange> {
        let held = self.key("held").split(", ").filter_map(|grant| grant.split_once(' '));
        held.map(|(name, level)| grant("amy", permission(name), resource(level))).collect()
    }

    /// The grants that it is tried with.
    fn grants(&self) -> Vec<(P, Resource)> {
        let about = self.key("on").split(' ').map(resource);
        let chains = about.flat_map(|about| about.chain().collect::<Vec<_>>());
        let mut levels: BTreeSet<Resource> = chains.chain(NEIGHBOURS.map(resource)).collect();
        // The runner tries a keyspace's tables too where the statement is about the keyspace.
        levels.extend(self.key("on").split(' ').filter_map(|name| match resource(name) {
            Resource::Keyspace(keyspace) => Some(Resource::AllTables(keyspace)),
            _ => None,
        }));
        let of_level = |level: &Resource| {
            let is_system = level.is_data() && level.keyspace().is_some_and(|name| name.starts_with("system"));
            let grantable = PermissionSet::of(&[P::Alter, P::Select]);
            let set = if is_system { grantable } else { level.applicable() };
            set.iter().map(|permission| (permission, level.clone())).collect::<Vec<_>>()
        };
        levels.iter().flat_map(of_level).collect()
    }

    fn verdict_of(&self, cells: &str) -> &'a str {
        self.verdicts.iter().find(|(found, _)| *found == cells).map(|(_, verdict)| *verdict).expect(self.name)
    }

    /// The verdicts that are others than without a grant.
    fn others(&self) -> BTreeMap<Cell<'a>, &'a str> {
        let is_way = |word: &&str| WAYS.iter().any(|(way, _)| way == word);
        let mut others = BTreeMap::new();
        for (cells, verdict) in &self.verdicts {
            let ways: Vec<&str> = cells.split(' ').take_while(is_way).collect();
            let rest: Vec<&str> = cells.split(' ').skip_while(is_way).collect();
            for way in ways {
                for level in &rest[1..] {
                    others.insert((way, permission(rest[0]), resource(level)), *verdict);
                }
            }
        }
        others
    }

    /// The verdict of the pure functions. `None` for a statement that is not theirs.
    fn judge(&self, schemas: Schemas<'_>, access: &Access, actor: &str) -> Option<String> {
        let subject = Subject::new(access, Actor::Role(actor), STRICT);
        let outcome = match cql_syntax::parse(self.text) {
            Ok(Statement::Access(statement)) => judge_access(schemas, &subject, &statement),
            _ if self.key("is").is_empty() => return None,
            _ => {
                let (kind, objects) = terms(self.key("is"));
                subject.check_all(&requirements(kind, &objects)).map(|()| ALLOWED.to_owned())
            }
        };
        Some(match outcome {
            Ok(verdict) => verdict,
            Err(AccessError::Unauthorized(words)) => words.trim_end().to_owned(),
            // It comes after the check.
            Err(_) => ALLOWED.to_owned(),
        })
    }
}

/// A statement about roles: refused, or allowed with what it shows.
fn judge_access(
    schemas: Schemas<'_>,
    subject: &Subject<'_>,
    statement: &AccessStatement,
) -> Result<String, AccessError> {
    let datacenters = BTreeSet::from(["datacenter1".to_owned()]);
    let context = AccessContext { current_keyspace: None, datacenters: &datacenters, settings: STRICT };
    match statement {
        AccessStatement::ListRoles { of: None, .. } | AccessStatement::ListUsers => {
            let (Listed::Roles(rows) | Listed::Users(rows)) = list(subject, schemas, statement, None, NETWORKS)? else {
                panic!("it lists roles")
            };
            let first = rows.first().map(|row| row.role.as_str()).unwrap_or_default();
            Ok(format!("{ALLOWED}, {} rows, the first of {first}", rows.len()))
        }
        AccessStatement::ListRoles { .. } | AccessStatement::ListPermissions { .. } => {
            list(subject, schemas, statement, None, NETWORKS).map(|_| ALLOWED.to_owned())
        }
        _ => {
            let checked = crate::check_access(subject.access(), schemas, statement, subject.actor(), &context);
            checked.map(|()| ALLOWED.to_owned())
        }
    }
}

/// `Kind keyspace table…`, with what the statement has beside: `conditional`, `views v`, `calls f[int]`, `functions f[int]`, `masked column`.
fn terms(line: &str) -> (StatementKind, Objects) {
    let mut words = line.split(' ');
    let name = words.next().expect(line);
    let kind = kinds().find(|kind| format!("{kind:?}") == name).expect(line);
    let mut objects = Objects { keyspace: words.next().expect(line).to_owned(), ..Objects::default() };
    let mut about = "table";
    for word in words {
        match (word, about) {
            ("conditional", _) => objects.is_conditional = true,
            ("views" | "calls" | "functions" | "masked", _) => about = word,
            (_, "table") => objects.table = word.to_owned(),
            (_, "views") => objects.views.push(word.to_owned()),
            (_, "calls") => objects.calls.push(of_keyspace(word)),
            (_, "functions") => objects.functions.push(of_keyspace(word)),
            _ => objects.masked.push(word.to_owned()),
        }
    }
    (kind, objects)
}

/// The roles of the recording.
fn roles() -> Access {
    let plain = |name: &str| AccessChange::PutRole(name.to_owned(), Attributes::default());
    let boss = Attributes { is_superuser: true, ..Attributes::default() };
    let mut changes = vec![login("amy"), login("target"), superuser("chief"), superuser("cassandra")];
    changes.push(AccessChange::PutRole("boss".to_owned(), boss));
    changes.extend(["team", "crew", "heir", "former", "another", "spare"].map(plain));
    changes.extend([member("team", "amy"), member("crew", "team"), member("amy", "heir"), member("target", "another")]);
    changes.extend(
        ["target", "boss"]
            .map(|role| AccessChange::PutIdentity { identity: format!("spiffe://{role}"), role: role.to_owned() }),
    );
    Access::default().with_all(&changes)
}

/// Each difference of a row, and how many cells were compared.
fn compare(schemas: Schemas<'_>, row: &Recorded<'_>, base: &Access) -> (Vec<String>, usize) {
    let access = base.with_all(&row.held());
    let (none, others) = (row.verdict_of("none"), row.others());
    let mut differences = Vec::new();
    let mut compared = 0;
    let mut cell = |cell: String, expected: &str, access: &Access, actor: &str| {
        let Some(given) = row.judge(schemas, access, actor) else { return };
        compared += 1;
        if given != expected {
            differences.push(format!("{}, {cell}: `{expected}` was recorded, `{given}` given", row.name));
        }
    };
    cell("none".to_owned(), none, &access, "amy");
    cell("superuser".to_owned(), row.verdict_of("superuser"), &access, "chief");
    for (way, holder) in WAYS {
        for (permission, level) in row.grants() {
            let expected = others.get(&(way, permission, level.clone())).copied().unwrap_or(none);
            let granted = access.with(&grant(holder, permission, level.clone()));
            cell(format!("{way} {permission} {level}"), expected, &granted, "amy");
        }
    }
    (differences, compared)
}

#[test]
fn verdicts_are_those_of_a_real_cassandra() {
    let (base, schemas) = (roles(), schemas());
    let (mut differences, mut compared) = (Vec::new(), 0);
    for row in rows() {
        let (found, cells) = compare(schemas, &row, &base);
        let recorded: usize = row.verdict_of("cells").parse().expect("a number");
        assert!(cells == 0 || cells == recorded, "{}: {recorded} cells were recorded, {cells} compared", row.name);
        if !found.is_empty() {
            let shown = &found[..found.len().min(SHOWN_MAX)];
            differences.push(format!("{} cells of it: {}", found.len(), shown.join("\n    ")));
        }
        compared += cells;
    }
    assert!(differences.is_empty(), "{} statements differ:\n{}", differences.len(), differences.join("\n"));
    assert!(compared > 20_000, "{compared} cells");
}

#[test]
fn a_hole_that_is_closed_had_other_verdicts() {
    for section in RECORDED.split("\n\n").skip(2) {
        let lines = |mark: &str| section.lines().filter_map(|line| line.strip_prefix(mark)).collect::<Vec<_>>();
        let closes = section.lines().filter(|line| line.starts_with("closes: ")).count();
        assert_eq!(closes, usize::from(!lines("< ").is_empty()), "{section}");
        assert_ne!(lines("< "), lines("> "), "{section}");
    }
}
