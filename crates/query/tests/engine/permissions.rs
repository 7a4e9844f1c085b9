//! Permissions of statements, as sessions of roles meet them: what they may run, and from when on. The witnesses of planted bugs.

mod statements;

use std::future::Future;

use auth::networks::{CidrMode, NetworkRules};
use auth::{AccessChange, Attributes};
use cql_protocol::request::{BatchKind, BatchQuery, Prepare, Request};
use cql_protocol::{Consistency, ErrorBody, ErrorCode, Prepared, QueryParams, Response, Value};

use crate::access::commit;
use crate::hand_over::all_at_once;
use crate::harness::{Client, Folder, run_strict, run_with_logins};
use crate::requests::{KEYSPACE, ints, must, paging_state};

/// A node of `shards` with the superuser `root` and the roles `alice`, `bob` and `team`, of which alice is a member; with the tables `ks.t` and `ks.u`. The test's client
/// is root's.
pub fn run_with_roles<F, Fut>(name: &str, shards: u16, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync,
    Fut: Future<Output = ()>,
{
    run_with_rules(name, shards, NetworkRules::default(), test);
}

/// The same with network rules. The addresses of the CIDR group `office` begin with 10.
fn run_with_rules<F, Fut>(name: &str, shards: u16, rules: NetworkRules, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync,
    Fut: Future<Output = ()>,
{
    let folder = Folder::new(name);
    let role = |name: &str, is_superuser| {
        let attributes = Attributes { is_superuser, may_log_in: true, ..Attributes::default() };
        AccessChange::PutRole(name.to_owned(), attributes)
    };
    let member = AccessChange::AddMember { role: "team".to_owned(), member: "alice".to_owned() };
    let office = AccessChange::PutCidrGroup("office".to_owned(), ["10.0.0.0/8".parse().expect("a range")].into());
    let roles = [role("root", true), role("alice", false), role("bob", false), role("team", false)];
    commit(folder.path(), 1, &[&roles[..], &[member, office]].concat());
    let test = &test;
    run_strict(folder.path(), shards, rules, |client| async move {
        let root = client.as_role("root");
        must(&root, KEYSPACE).await;
        for table in ["t", "u"] {
            must(&root, &format!("CREATE TABLE ks.{table} (k int, c int, v int, PRIMARY KEY (k, c))")).await;
        }
        test(root).await;
    });
}

/// The sentence of a refusal.
pub fn lacks(role: &str, permission: &str, resource: &str) -> String {
    format!("User {role} has no {permission} permission on {resource} or any of its parents")
}

/// Asserts that a request was refused for want of a permission, with this sentence.
pub fn assert_refused(error: &ErrorBody, sentence: &str) {
    assert_eq!((error.code(), &*error.message), (ErrorCode::Unauthorized, sentence));
}

fn int(value: &i32) -> [u8; 4] {
    value.to_be_bytes()
}

/// Executes an INSERT of a row whose values are all `k`.
async fn insert(client: &Client, prepared: &Prepared, k: i32) -> Option<ErrorBody> {
    let value = int(&k);
    let reply = client.execute_values(&prepared.id, &[Value::Bytes(&value); 3]).await;
    match reply.response().1 {
        Response::Error(error) => Some(error),
        _ => None,
    }
}

const INSERT: &str = "INSERT INTO ks.t (k, c, v) VALUES (?, ?, ?)";

#[test]
fn a_revoke_ends_a_loop_of_a_prepared_statement() {
    for shards in [1, 2] {
        run_with_roles(&format!("revoke-{shards}"), shards, |root| async move {
            let alice = root.as_role("alice");
            let prepared = alice.prepare(INSERT).await;
            for (grantee, level) in [("alice", "ks.t"), ("team", "KEYSPACE ks"), ("team", "ALL KEYSPACES")] {
                must(&root, &format!("GRANT MODIFY ON {level} TO {grantee}")).await;
                for k in 0..16 {
                    assert_eq!(insert(&alice, &prepared, k).await, None);
                }
                must(&root, &format!("REVOKE MODIFY ON {level} FROM {grantee}")).await;
                for k in 0..16 {
                    let error = insert(&alice, &prepared, k).await.expect("it is refused");
                    assert_refused(&error, &lacks("alice", "MODIFY", "<table ks.t>"));
                }
            }
            assert_eq!(ints(&root.query("SELECT k FROM ks.t").await).len(), 16);
        });
    }
}

#[test]
fn what_one_session_may_run_another_may_not() {
    run_with_roles("two-sessions", 2, |root| async move {
        let (alice, bob) = (root.as_role("alice"), root.as_role("bob"));
        let prepared = alice.prepare(INSERT).await;
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        for k in 0..8 {
            assert_eq!(insert(&alice, &prepared, k).await, None);
            let error = insert(&bob, &prepared, k).await.expect("it is refused");
            assert_refused(&error, &lacks("bob", "MODIFY", "<table ks.t>"));
        }
        // Sessions of one role are two sessions.
        assert_eq!(insert(&root.as_role("alice"), &prepared, 9).await, None);
    });
}

#[test]
fn use_gives_a_text_another_plan() {
    run_with_roles("use", 1, |root| async move {
        must(&root, &KEYSPACE.replace("ks", "other")).await;
        must(&root, "CREATE TABLE other.t (k int PRIMARY KEY)").await;
        must(&root, "GRANT SELECT ON ks.t TO alice").await;
        let alice = root.as_role("alice");
        let (ks, other) = ("USE ks", "USE other");
        must(&alice, ks).await;
        let text = "SELECT k FROM t WHERE k = 1";
        let of_ks = alice.prepare(text).await;
        for _ in 0..3 {
            must(&alice, ks).await;
            assert_eq!(ints(&alice.query(text).await), [0; 0]);
            must(&alice, other).await;
            assert_refused(&alice.query(text).await.error(), &lacks("alice", "SELECT", "<table other.t>"));
            // A prepared statement goes on meaning the keyspace that it was prepared in.
            assert_eq!(ints(&alice.execute_values(&of_ks.id, &[]).await), [0; 0]);
        }
        let of_other = alice.prepare(text).await;
        let refused = alice.execute_values(&of_other.id, &[]).await.error();
        assert_refused(&refused, &lacks("alice", "SELECT", "<table other.t>"));
    });
}

#[test]
fn conditions_need_select() {
    run_with_roles("conditions", 2, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        let sentence = lacks("alice", "SELECT", "<table ks.t>");
        for k in 0..4 {
            for text in [
                format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, 1, 1) IF NOT EXISTS"),
                format!("UPDATE ks.t SET v = 2 WHERE k = {k} AND c = 1 IF v = 1"),
                format!("DELETE FROM ks.t WHERE k = {k} AND c = 1 IF EXISTS"),
                format!("BEGIN BATCH UPDATE ks.t SET v = 2 WHERE k = {k} AND c = 1 IF v = 1 APPLY BATCH"),
            ] {
                assert_refused(&alice.query(&text).await.error(), &sentence);
                let prepared = alice.prepare(&text).await;
                assert_refused(&alice.execute_values(&prepared.id, &[]).await.error(), &sentence);
                let batch = [(BatchQuery::Text(&text), &[][..])];
                if !text.starts_with("BEGIN") {
                    assert_refused(&alice.batch(BatchKind::Unlogged, &batch).await.error(), &sentence);
                }
            }
        }
        must(&root, "GRANT SELECT ON ks.t TO team").await;
        must(&alice, "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 1) IF NOT EXISTS").await;
    });
}

#[test]
fn each_page_is_checked() {
    run_with_roles("pages", 2, |root| async move {
        for k in 0..9 {
            must(&root, &format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, 0, 0)")).await;
        }
        must(&root, "GRANT SELECT ON ks.t TO alice").await;
        let alice = root.as_role("alice");
        let text = "SELECT k FROM ks.t";
        let prepared = alice.prepare(text).await;
        let page =
            |state| QueryParams { page_size: Some(3), paging_state: state, ..QueryParams::new(Consistency::One) };
        let first = alice.execute(&prepared.id, page(None)).await;
        assert_eq!(ints(&first).len(), 3);
        let state = paging_state(&first).expect("there is more");
        let second = alice.execute(&prepared.id, page(Some(&state))).await;
        let state = paging_state(&second).expect("there is more");
        must(&root, "REVOKE SELECT ON ks.t FROM alice").await;
        let sentence = lacks("alice", "SELECT", "<table ks.t>");
        assert_refused(&alice.execute(&prepared.id, page(Some(&state))).await.error(), &sentence);
        assert_refused(&alice.query_with(text, page(Some(&state))).await.error(), &sentence);
    });
}

#[test]
fn each_statement_of_a_batch_is_checked() {
    run_with_roles("batch-statement", 2, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        let of = |tables: &[&str]| {
            let insert = |table: &&str| format!("INSERT INTO ks.{table} (k, c, v) VALUES (1, 1, 1); ");
            format!("BEGIN BATCH {} APPLY BATCH", tables.iter().map(insert).collect::<String>())
        };
        must(&alice, &of(&["t", "t"])).await;
        for tables in [&["t", "u"][..], &["u", "t"], &["t", "t", "t", "u"]] {
            let text = of(tables);
            let sentence = lacks("alice", "MODIFY", "<table ks.u>");
            assert_refused(&alice.query(&text).await.error(), &sentence);
            let prepared = alice.prepare(&text).await;
            assert_refused(&alice.execute_values(&prepared.id, &[]).await.error(), &sentence);
        }
        assert_eq!(ints(&root.query("SELECT k FROM ks.u").await), [0; 0], "nothing of a refused batch is written");
    });
}

#[test]
fn each_statement_of_a_batch_message_is_checked() {
    run_with_roles("batch-message", 2, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        let may = alice.prepare(INSERT).await;
        let may_not = alice.prepare(&INSERT.replace("ks.t", "ks.u")).await;
        let text = "INSERT INTO ks.u (k, c, v) VALUES (1, 1, 1)";
        let sentence = lacks("alice", "MODIFY", "<table ks.u>");
        for k in 0..4 {
            let value = int(&k);
            let values = [Value::Bytes(&value); 3];
            let good = (BatchQuery::Prepared(&may.id), &values[..]);
            for kind in [BatchKind::Logged, BatchKind::Unlogged] {
                let done = alice.batch(kind, &[good, good]).await;
                assert!(!matches!(done.response().1, Response::Error(_)), "{:?}", done.response());
                for bad in [(BatchQuery::Prepared(&may_not.id), &values[..]), (BatchQuery::Text(text), &[][..])] {
                    for batch in [vec![good, bad], vec![bad, good], vec![bad], vec![good, good, bad]] {
                        assert_refused(&alice.batch(kind, &batch).await.error(), &sentence);
                    }
                }
            }
        }
        assert_eq!(ints(&root.query("SELECT k FROM ks.u").await), [0; 0], "nothing of a refused batch is written");
    });
}

#[test]
fn what_is_granted_on_all_keyspaces_does_not_hold_in_those_of_the_system() {
    run_with_roles("system-select", 1, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "GRANT ALL PERMISSIONS ON ALL KEYSPACES TO alice").await;
        must(&alice, "SELECT * FROM ks.t").await;
        let clients = "SELECT * FROM system_views.clients";
        assert_refused(&alice.query(clients).await.error(), &lacks("alice", "SELECT", "<table system_views.clients>"));
        must(&root, "GRANT SELECT ON KEYSPACE system_views TO team").await;
        must(&alice, clients).await;
    });
}

#[test]
fn tables_that_all_may_read_are_written_by_none() {
    run_with_roles("system-write", 1, |root| async move {
        let alice = root.as_role("alice");
        for table in ["system.local", "system.peers_v2", "system_schema.tables", "system_virtual_schema.keyspaces"] {
            must(&alice, &format!("SELECT * FROM {table}")).await;
            let text = format!("TRUNCATE {table}");
            assert_refused(&alice.query(&text).await.error(), &lacks("alice", "MODIFY", &format!("<table {table}>")));
        }
        let insert = "INSERT INTO system_virtual_schema.keyspaces (keyspace_name) VALUES ('x')";
        let sentence = lacks("alice", "MODIFY", "<table system_virtual_schema.keyspaces>");
        assert_refused(&alice.query(insert).await.error(), &sentence);
        let of_root = root.query(insert).await.error();
        assert_eq!(of_root.message, "Modification is not supported by table system_virtual_schema.keyspaces");
    });
}

#[test]
fn a_schema_change_gives_statements_another_plan() {
    run_with_roles("schema-change", 2, |root| async move {
        let alice = root.as_role("alice");
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        let prepared = alice.prepare(INSERT).await;
        assert_eq!(insert(&alice, &prepared, 1).await, None);
        // A table that is made again under the name is another one: what was granted on the first is gone.
        must(&root, "DROP TABLE ks.t").await;
        must(&root, "CREATE TABLE ks.t (k int, c int, v int, PRIMARY KEY (k, c))").await;
        let again = alice.prepare(INSERT).await;
        let error = insert(&alice, &again, 1).await.expect("it is refused");
        assert_refused(&error, &lacks("alice", "MODIFY", "<table ks.t>"));
    });
}

#[test]
fn what_a_preparation_refuses_comes_before_a_missing_permission() {
    run_with_roles("order", 1, |root| async move {
        let alice = root.as_role("alice");
        let said = async |text: &str| alice.query(text).await.error().message;
        assert_eq!(said("SELECT * FROM ks.nothere").await, "table nothere does not exist");
        assert_eq!(said("SELECT nothere FROM ks.t").await, "Undefined column name nothere in table ks.t");
        assert_eq!(said("INSERT INTO nothere.t (k) VALUES (1)").await, "keyspace nothere does not exist");
        assert_eq!(said(INSERT).await, "Invalid amount of bind variables");
        let prepared = alice.prepare(INSERT).await;
        let few = alice.execute_values(&prepared.id, &[]).await.error();
        assert_eq!(few.message, "there were 3 markers(?) in CQL but 0 bound variables");
        let few = alice.batch(BatchKind::Logged, &[(BatchQuery::Prepared(&prepared.id), &[])]).await.error();
        assert_eq!(few.message, "There were 3 markers(?) in CQL but 0 bound variables");
        // Of any statement of a batch, also of one after that which may not be run.
        let value = int(&1);
        let (full, whole) = ([Value::Bytes(&value); 3], INSERT.replace("?, ?, ?", "1, 1, 1"));
        let conditional = format!("{whole} IF NOT EXISTS");
        for first in [(BatchQuery::Prepared(&prepared.id), &full[..]), (BatchQuery::Text(&conditional), &[][..])] {
            for (second, sentence) in [
                ((BatchQuery::Prepared(&prepared.id), &[][..]), "There were 3 markers(?) in CQL but 0 bound variables"),
                ((BatchQuery::Text("INSERT INTO ks.nothere (k) VALUES (1)"), &[]), "table nothere does not exist"),
                (
                    (BatchQuery::Text("SELECT * FROM ks.t"), &[]),
                    "Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.",
                ),
                ((BatchQuery::Text(&whole), &[]), &*lacks("alice", "MODIFY", "<table ks.t>")),
            ] {
                assert_eq!(alice.batch(BatchKind::Unlogged, &[first, second]).await.error().message, sentence);
            }
            let unknown = (BatchQuery::Prepared(&[0; 16]), &[][..]);
            let error = alice.batch(BatchKind::Unlogged, &[first, unknown]).await.error();
            assert_eq!(error.code(), ErrorCode::Unprepared);
        }
        let unprepared = alice.execute_values(&[0; 16], &[]).await.error();
        assert_eq!(unprepared.code(), ErrorCode::Unprepared);
        // What the values decide comes after it.
        let bad = alice.execute_values(&prepared.id, &[Value::Bytes(b"no"); 3]).await.error();
        assert_refused(&bad, &lacks("alice", "MODIFY", "<table ks.t>"));
    });
}

#[test]
fn a_session_that_has_not_logged_in_is_refused() {
    run_with_roles("anonymous", 1, |root| async move {
        let nobody = Client { session: query::Session::new(), ..root.clone() };
        for text in ["SELECT * FROM system.local", "USE ks", "DESCRIBE KEYSPACES", "SELECT * FROM ks.t"] {
            assert_refused(&nobody.query(text).await.error(), "You have not logged in");
            let prepare = Request::Prepare(Prepare { text, keyspace: None });
            assert_refused(&nobody.send(&prepare).await.error(), "You have not logged in");
        }
    });
}

#[test]
fn network_rules_hold_from_the_next_request_on() {
    let rules = NetworkRules { checks_datacenters: true, cidr_mode: CidrMode::Enforce, cidr_checks_superusers: true };
    run_with_rules("network-rules", 2, rules, |root| async move {
        must(&root, "GRANT MODIFY ON ks.t TO alice").await;
        let [away, within] =
            [[127, 0, 0, 1], [10, 1, 2, 3]].map(|address| root.as_role_at((address, 5_000).into(), "alice"));
        let prepared = away.prepare(INSERT).await;
        for k in 0..4 {
            assert_eq!(insert(&away, &prepared, k).await, None);
        }
        must(&root, "ALTER ROLE alice WITH ACCESS FROM CIDRS {'office'}").await;
        let sentence = "You do not have access from this IP 127.0.0.1";
        for k in 0..4 {
            assert_refused(&insert(&away, &prepared, k).await.expect("it is refused"), sentence);
            assert_eq!(insert(&within, &prepared, k).await, None);
        }
        let prepare = Request::Prepare(Prepare { text: INSERT, keyspace: None });
        for text in ["USE ks", "SELECT * FROM system.local", "DESCRIBE TABLES"] {
            assert_refused(&away.query(text).await.error(), sentence);
        }
        assert_refused(&away.send(&prepare).await.error(), sentence);
        must(&root, "ALTER ROLE alice WITH ACCESS FROM ALL CIDRS").await;
        assert_eq!(insert(&away, &prepared, 1).await, None);
        // A role that may not log in any more has no network.
        must(&root, "ALTER ROLE alice WITH LOGIN = false").await;
        let error = insert(&away, &prepared, 1).await.expect("it is refused");
        assert_refused(&error, "You do not have access to this datacenter (datacenter1)");
    });
}

#[test]
fn restrictions_that_are_not_enforced_are_refused_or_warned_of() {
    const ALTERED: &str = "ACCESS TO DATACENTERS operations not supported by AllowAllNetworkAuthorizer";
    const DATACENTERS: &str = "ACCESS TO DATACENTERS has no effect: network_authorizer is AllowAllNetworkAuthorizer, and the role may use all datacenters";
    const ADDRESSES: &str = "ACCESS FROM CIDRS is not enforced: cidr_authorizer is AllowAllCIDRAuthorizer, and the role may connect from all addresses";
    let warnings = async |client: &Client, text: &str| {
        let reply = client.query(text).await;
        assert!(matches!(reply.response().1, Response::Result(_)), "{text}: {:?}", reply.response());
        reply.response().0.warnings
    };
    let warnings = &warnings;
    run_with_roles("unenforced", 2, |root| async move {
        let role = |name: &str| root.engine.access().state().role(name).cloned();
        let made = "CREATE ROLE far WITH ACCESS TO DATACENTERS {'datacenter1'} AND ACCESS FROM CIDRS {'office'}";
        assert_eq!(warnings(&root, made).await, [DATACENTERS, ADDRESSES]);
        let far = role("far").expect("it is made");
        assert!(far.datacenters().is_empty() && far.cidr_groups().contains("office"), "{far:?}");
        assert!(warnings(&root, "CREATE ROLE near WITH ACCESS TO ALL DATACENTERS").await.is_empty());
        for restriction in ["DATACENTERS {'datacenter1'}", "ALL DATACENTERS"] {
            // The password costs no hash: it is refused before.
            let text = format!("ALTER ROLE alice WITH PASSWORD = 'busy' AND ACCESS TO {restriction}");
            let prepare = Request::Prepare(Prepare { text: &text, keyspace: None });
            for error in [root.query(&text).await.error(), root.send(&prepare).await.error()] {
                assert_eq!((error.code(), &*error.message), (ErrorCode::Invalid, ALTERED));
            }
        }
        // Who may not alter it hears of that first, and the datacenter is looked at before.
        let refused = root.as_role("alice").query("ALTER ROLE bob WITH ACCESS TO ALL DATACENTERS").await.error();
        assert_refused(&refused, "Only superusers are allowed to alter access to datacenters.");
        let missing = root.query("ALTER ROLE nobody WITH ACCESS TO ALL DATACENTERS").await.error();
        assert_eq!(missing.message, "Role nobody doesn't exist");
        assert_eq!(warnings(&root, "ALTER ROLE alice WITH ACCESS FROM CIDRS {'office'}").await, [ADDRESSES]);
        assert!(role("alice").expect("it is there").cidr_groups().contains("office"));
        assert!(warnings(&root, "ALTER ROLE alice WITH ACCESS FROM ALL CIDRS").await.is_empty());
    });
    let monitored = NetworkRules { checks_datacenters: true, cidr_mode: CidrMode::Monitor, ..NetworkRules::default() };
    run_with_rules("enforced", 2, monitored, |root| async move {
        let made = "CREATE ROLE far WITH ACCESS TO DATACENTERS {'datacenter1'} AND ACCESS FROM CIDRS {'office'}";
        assert!(warnings(&root, made).await.is_empty());
        let far = root.engine.access().state().role("far").cloned().expect("it is made");
        assert!(far.datacenters().contains("datacenter1") && far.cidr_groups().contains("office"), "{far:?}");
        assert!(warnings(&root, "ALTER ROLE far WITH ACCESS TO ALL DATACENTERS").await.is_empty());
    });
}

#[test]
fn a_revoke_that_is_logged_first_refuses_a_schema_statement() {
    for shards in [1, 2] {
        run_with_roles(&format!("logged-first-{shards}"), shards, |root| async move {
            let (alice, grant) = (root.as_role("alice"), "CREATE ON KEYSPACE ks");
            must(&root, &format!("GRANT {grant} TO alice")).await;
            must(&alice, "CREATE TABLE ks.first (k int PRIMARY KEY)").await;
            // Both are asked for in one poll: the REVOKE holds nowhere when the other statement is checked on this shard, and is proposed before it.
            let revoke = format!("REVOKE {grant} FROM alice");
            let statements = [(&root, &*revoke), (&alice, "CREATE TABLE ks.second (k int PRIMARY KEY)")];
            let ask = |(client, text): (&Client, &str)| {
                let (client, text) = (client.clone(), text.to_owned());
                async move { client.query(&text).await }
            };
            let replies = all_at_once(statements.into_iter().map(ask)).await;
            assert!(matches!(replies[0].response().1, Response::Result(_)), "{:?}", replies[0].response());
            assert_refused(&replies[1].error(), &lacks("alice", "CREATE", "<all tables in ks>"));
            let missing = root.query("SELECT * FROM ks.second").await.error();
            assert_eq!(missing.message, "table second does not exist");
        });
    }
}

#[test]
fn a_revoke_that_is_logged_first_refuses_a_truncate() {
    for shards in [1, 2] {
        run_with_roles(&format!("truncate-logged-first-{shards}"), shards, |root| async move {
            let (alice, grant) = (root.as_role("alice"), "MODIFY ON ks.t");
            must(&root, &format!("GRANT {grant} TO alice")).await;
            must(&alice, "INSERT INTO ks.t (k, c, v) VALUES (1, 1, 1)").await;
            must(&alice, "TRUNCATE ks.t").await;
            assert_eq!(ints(&root.query("SELECT k FROM ks.t").await), [0; 0]);
            must(&alice, "INSERT INTO ks.t (k, c, v) VALUES (2, 1, 1)").await;
            // Both are asked for in one poll: the REVOKE holds nowhere when the other statement is checked on this shard, and is proposed before it.
            let revoke = format!("REVOKE {grant} FROM alice");
            let ask = |(client, text): (&Client, &str)| {
                let (client, text) = (client.clone(), text.to_owned());
                async move { client.query(&text).await }
            };
            let replies = all_at_once([(&root, &*revoke), (&alice, "TRUNCATE ks.t")].into_iter().map(ask)).await;
            assert!(matches!(replies[0].response().1, Response::Result(_)), "{:?}", replies[0].response());
            assert_refused(&replies[1].error(), &lacks("alice", "MODIFY", "<table ks.t>"));
            assert_eq!(ints(&root.query("SELECT k FROM ks.t").await), [2]);
            must(&root, "TRUNCATE ks.t").await;
            assert_eq!(ints(&root.query("SELECT k FROM ks.t").await), [0; 0]);
        });
    }
}

#[test]
fn every_way_of_a_request_is_checked() {
    run_with_roles("ways", 2, |root| async move {
        must(&root, "CREATE TABLE ks.counts (k int PRIMARY KEY, n counter)").await;
        must(&root, "CREATE TABLE ks.lists (k int PRIMARY KEY, l list<int>)").await;
        let alice = root.as_role("alice");
        let long: String = (0..400).map(|k| format!("INSERT INTO ks.t (k, c, v) VALUES ({k}, 1, 1); ")).collect();
        let counter = |k: i32| format!("UPDATE ks.counts SET n = n + 1 WHERE k = {k}");
        let list = |k: i32| format!("UPDATE ks.lists SET l[0] = 1 WHERE k = {k}");
        let refused = async |text: &str, permission: &str, table: &str| {
            let (sentence, query) = (lacks("alice", permission, table), QueryParams::new(Consistency::One));
            assert_refused(&alice.query(text).await.error(), &sentence);
            let traced = Request::Query(cql_protocol::request::Query { text, params: query });
            assert_refused(&alice.send_traced(&traced).await.error(), &sentence);
        };
        refused(&format!("BEGIN UNLOGGED BATCH {long} APPLY BATCH"), "MODIFY", "<table ks.t>").await;
        for k in 0..4 {
            refused(&counter(k), "MODIFY", "<table ks.counts>").await;
            refused(&list(k), "MODIFY", "<table ks.lists>").await;
            refused(&format!("SELECT * FROM ks.t WHERE k = {k}"), "SELECT", "<table ks.t>").await;
            let serial = QueryParams::new(Consistency::Serial);
            let error = alice.query_with(&format!("SELECT v FROM ks.t WHERE k = {k}"), serial).await.error();
            assert_refused(&error, &lacks("alice", "SELECT", "<table ks.t>"));
            let texts = [counter(k), counter(k + 1)];
            let batch: Vec<(BatchQuery<'_>, &[Value<'_>])> =
                texts.iter().map(|text| (BatchQuery::Text(text), &[][..])).collect();
            let error = alice.batch(BatchKind::Counter, &batch).await.error();
            assert_refused(&error, &lacks("alice", "MODIFY", "<table ks.counts>"));
        }
        for table in ["t", "counts", "lists"] {
            assert_eq!(ints(&root.query(&format!("SELECT k FROM ks.{table}")).await), [0; 0]);
        }
    });
}

#[test]
fn without_an_authorizer_a_login_is_needed_and_for_some_a_superuser() {
    let folder = Folder::new("logins");
    run_with_logins(folder.path(), 2, |client| async move {
        let (alice, owner) = (client.as_role("alice"), client.as_owner());
        must(&owner, "CREATE USER alice").await;
        for text in
            [KEYSPACE, "CREATE TABLE ks.t (k int PRIMARY KEY)", "TRUNCATE ks.t", "SELECT * FROM system_views.clients"]
        {
            assert_refused(&client.query(text).await.error(), "You have not logged in");
            must(&alice, text).await;
        }
        let trigger = "DROP TRIGGER x ON ks.t";
        let sentence = "Only superusers are allowed to perfrom DROP TRIGGER queries";
        assert_refused(&alice.query(trigger).await.error(), sentence);
        assert_eq!(owner.query(trigger).await.error().message, "Trigger 'x' on 'ks.t' doesn't exist");
        // The rules of the system's own keyspaces hold for all.
        let error = owner.query("DROP TABLE system_auth.roles").await.error();
        assert_refused(&error, "Cannot DROP <table system_auth.roles>");
    });
}
