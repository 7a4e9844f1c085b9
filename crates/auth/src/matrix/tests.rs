//! The matrix, cell by cell: each statement × each permission × each level × granted directly, through a role, through a role's role.

use std::collections::BTreeSet;

use super::*;
use crate::samples::{grant, login, member, superuser};
use crate::{Access, AccessChange, Actor, Permission, PermissionSet, Settings, Subject};

const STRICT: Settings = Settings { authenticates: true, has_passwords: true, authorizes: true };
const ROWS: &str = include_str!("../../testdata/matrix.txt");

/// One need of a line: a permission on one of these levels.
type Levels = (Permission, Vec<Resource>);

struct Row {
    name: String,
    requirements: Vec<Requirement>,
    needs: Vec<Levels>,
}

fn objects(case: &str) -> Objects {
    let objects = Objects { keyspace: "ks".into(), table: "t".into(), mbean: "o:type=A".into(), ..Objects::default() };
    let function = |name| vec![Resource::function("ks", name, &[])];
    match case {
        "plain" => objects,
        "conditional" => Objects { is_conditional: true, ..objects },
        "views" => Objects { views: vec!["v".into(), "w".into()], ..objects },
        "calls" => Objects { calls: function("f"), ..objects },
        "existing" => Objects { functions: function("g"), ..objects },
        _ => panic!("case {case} is unknown"),
    }
}

fn rows() -> Vec<Row> {
    let lines = ROWS.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, needs) = line.split_once(": ").expect(line);
            let (kind, case) = name.split_once(' ').expect(line);
            let kind = kinds().find(|known| format!("{known:?}") == kind).expect(line);
            let needs = needs.split(", ").filter(|need| *need != "superuser").map(|need| {
                let (permission, levels) = need.split_once('@').expect(line);
                let levels = levels.split('|').map(|name| Resource::of_name(name).expect(line));
                (Permission::of_name(permission).expect(line), levels.collect())
            });
            Row { name: name.to_owned(), requirements: requirements(kind, &objects(case)), needs: needs.collect() }
        })
        .collect()
}

/// `user` inherits `team`, which inherits `all`; `stranger` inherits `user`.
fn roles() -> Access {
    let changes = [
        login("user"),
        login("team"),
        login("all"),
        login("stranger"),
        superuser("root"),
        member("team", "user"),
        member("all", "team"),
        member("user", "stranger"),
    ];
    Access::default().with_all(&changes)
}

/// Each resource that a line names, and others beside them.
fn levels() -> BTreeSet<Resource> {
    let named = rows().into_iter().flat_map(|row| row.needs).flat_map(|(_, levels)| levels);
    let others = ["data/other/t", "data/other/*", "data/other", "data/ks/u", "roles", "roles/user", "functions/other"];
    named.chain(others.map(|name| Resource::of_name(name).expect(name))).collect()
}

fn may(access: &Access, row: &Row) -> bool {
    Subject::new(access, Actor::Role("user"), STRICT).check_all(&row.requirements).is_ok()
}

/// The state in which `user` has each of these needs but one, directly and on the first level.
fn all_but(access: &Access, row: &Row, left_out: usize) -> Access {
    let needs = row.needs.iter().enumerate().filter(|(at, _)| *at != left_out);
    let grants: Vec<AccessChange> =
        needs.map(|(_, (permission, levels))| grant("user", *permission, levels[0].clone())).collect();
    access.with_all(&grants)
}

#[test]
fn each_cell_is_as_designed() {
    let (base, levels) = (roles(), levels());
    let mut cells = 0;
    for row in rows() {
        for (at, (needed, enough)) in row.needs.iter().enumerate() {
            let lacking = all_but(&base, &row, at);
            for level in &levels {
                for permission in Permission::ALL {
                    if !level.applicable().contains(permission) {
                        continue;
                    }
                    for holder in ["user", "team", "all", "stranger"] {
                        let access = lacking.with(&grant(holder, permission, level.clone()));
                        // A level that is the first of another need is granted already.
                        let is_met = permission == *needed && enough.contains(level);
                        let expected = is_met && holder != "stranger";
                        let may = may(&access, &row);
                        assert_eq!(may, expected, "{}: {permission} on {level} to {holder}", row.name);
                        cells += 1;
                    }
                }
            }
        }
    }
    assert!(cells > 9_000, "{cells} cells");
}

#[test]
fn with_all_needs_a_statement_may_run_and_without_any_not() {
    let base = roles();
    for row in rows() {
        if row.needs.is_empty() {
            continue;
        }
        assert!(may(&all_but(&base, &row, usize::MAX), &row), "{}", row.name);
        assert!(!may(&base, &row), "{}", row.name);
    }
}

#[test]
fn superusers_may_run_each_statement_and_triggers_are_theirs_alone() {
    let everything = levels().into_iter().map(|level| grant("user", level.applicable(), level.clone()));
    let access = roles().with_all(&everything.collect::<Vec<_>>());
    for row in rows() {
        let root = Subject::new(&access, Actor::Role("root"), STRICT);
        assert_eq!(root.check_all(&row.requirements), Ok(()), "{}", row.name);
        assert_eq!(may(&access, &row), !row.needs.is_empty(), "{}", row.name);
    }
    let refusal = |kind| {
        let needs = requirements(kind, &objects("plain"));
        let user = Subject::new(&access, Actor::Role("user"), STRICT);
        user.check_all(&needs).expect_err("it is refused").to_string()
    };
    assert_eq!(refusal(K::CreateTrigger), "Only superusers are allowed to perform CREATE TRIGGER queries");
    assert_eq!(refusal(K::DropTrigger), "Only superusers are allowed to perfrom DROP TRIGGER queries");
}

#[test]
fn each_kind_has_a_line() {
    let lines: BTreeSet<String> =
        rows().iter().map(|row| row.name.split(' ').next().expect("a kind").to_owned()).collect();
    assert_eq!(lines, kinds().map(|kind| format!("{kind:?}")).collect());
}

#[test]
fn masked_columns_are_needed_of_restrictions_and_conditions_alone() {
    let masked = Objects { masked: vec!["c".into()], ..objects("plain") };
    for kind in kinds() {
        let has = requirements(kind, &masked).iter().any(|need| matches!(need, Requirement::Masked { .. }));
        assert_eq!(has, matches!(kind, K::Select | K::Modify), "{kind:?}");
    }
    assert_eq!(PermissionSet::ALL.iter().count(), Permission::ALL.len());
}
