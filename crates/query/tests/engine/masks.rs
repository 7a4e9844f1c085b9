//! Masked columns, as clients with and without UNMASK meet them.

use std::future::Future;

use auth::{AccessChange, Attributes, Permission, PermissionSet, Resource};
use cql_protocol::{Response, ResultBody, Value};

use crate::access::commit;
use crate::harness::{Client, Folder, Reply, run_masking};
use crate::requests::{KEYSPACE, must};

/// All columns are masked, and each value of the one row is a secret.
const TABLE: &str = "CREATE TABLE ks.t (k int MASKED WITH DEFAULT, c text MASKED WITH DEFAULT, s text STATIC MASKED WITH DEFAULT, \
    v text MASKED WITH mask_replace('shown'), n int MASKED WITH mask_replace(7), l list<int> MASKED WITH DEFAULT, \
    st set<text> MASKED WITH mask_null(), m map<int, text> MASKED WITH mask_replace({1: 'other'}), u w MASKED WITH DEFAULT, \
    fu frozen<w> MASKED WITH mask_replace({a: 1, b: 'other'}), tt tuple<int, text> MASKED WITH DEFAULT, bl blob MASKED WITH mask_hash(), \
    vc vector<float, 2> MASKED WITH mask_replace([1, 2]), PRIMARY KEY (k, c))";
const ROW: &str = "INSERT INTO ks.t (k, c, s, v, n, l, st, m, u, fu, tt, bl, vc) VALUES (1515870810, 'SECRET-c', 'SECRET-s', 'SECRET-v', 1515870810, \
    [1515870810], {'SECRET-e', 'plain'}, {1515870810: 'SECRET-m', 2: 'SECRET-m2'}, {a: 1515870810, b: 'SECRET-u'}, {a: 1515870810, b: 'SECRET-f'}, (1515870810, 'SECRET-t'), \
    0x5345435245542d62, [1.53652465E16, 1.53652465E16])";

/// Every form of selector, of columns that are masked.
const FORMS: &[&str] = &[
    "*",
    "k",
    "c",
    "s",
    "v",
    "n",
    "k, c, s, v, n, l, st, m, u, fu, tt, bl, vc",
    "v AS x",
    "l",
    "st",
    "m",
    "u",
    "fu",
    "tt",
    "bl",
    "vc",
    "m[2]",
    "m[0..2000000000]",
    "m[0..]",
    "st['plain']",
    "st['A'..'Z']",
    "u.a",
    "u.b",
    "fu.a",
    "fu.b",
    "(text)v",
    "(int)n",
    "token(k)",
    "token(k), k",
    "cast(n AS text)",
    "cast(n AS bigint)",
    "cast(k AS text)",
    "cast(v AS text)",
    "n + 1",
    "n - 1",
    "n * 1",
    "0 - n",
    "v + v",
    "to_json(v)",
    "to_json(m)",
    "to_json(u)",
    "to_json(k)",
    "tojson(n)",
    "mask_outer(v, 0, 0)",
    "mask_inner(v, 8, 8)",
    "mask_hash(v)",
    "mask_hash(k)",
    "mask_replace(v, v)",
    "mask_replace(n, n)",
    "abs(n)",
    "exp(n)",
    "round(n)",
    "text_as_blob(v)",
    "int_as_blob(n)",
    "int_as_blob(k)",
    "blob_as_text(text_as_blob(v))",
    "map_keys(m)",
    "map_values(m)",
    "collection_min(l)",
    "collection_max(l)",
    "collection_sum(l)",
    "collection_avg(l)",
    "(list<int>)[n]",
    "(tuple<int, text>)(n, v)",
    "(map<text, int>){v: n}",
    "(set<text>){v}",
    "(w){a: n, b: v}",
    "[n]",
    "(n, v)",
    "(list<list<int>>)[[n]]",
    "(vector<int, 2>)[n, k]",
    "min(n)",
    "max(n)",
    "sum(n)",
    "avg(n)",
    "max(v)",
    "min(c)",
    "max(s)",
    "min(k)",
    "max(bl)",
    "max(n) + 1",
    "max(abs(n))",
    "abs(max(n))",
    "cast(max(n) AS text)",
    "max(mask_replace(v, v))",
    "max(l)",
    "max(fu)",
    "max(tt)",
    "to_json(max(v))",
];

/// A node with the superuser `root`, the role `reader`, which may read and write all and see nothing, and `seer`, which has UNMASK. The test's client is root's.
fn run_with_readers<F, Fut>(name: &str, shards: u16, test: F)
where
    F: Fn(Client) -> Fut + Send + Sync,
    Fut: Future<Output = ()>,
{
    let folder = Folder::new(name);
    let put = |name: &str, is_superuser| {
        let attributes = Attributes { is_superuser, may_log_in: true, ..Attributes::default() };
        AccessChange::PutRole(name.to_owned(), attributes)
    };
    let grant = |name: &str, permissions: &[Permission]| {
        let all = (Resource::Keyspace("ks".to_owned()), PermissionSet::of(permissions));
        AccessChange::Grant(name.to_owned(), vec![all])
    };
    let (reads, sees) = (&[Permission::Select, Permission::Modify], &[Permission::Select, Permission::Unmask]);
    let roles =
        [put("root", true), put("reader", false), put("seer", false), grant("reader", reads), grant("seer", sees)];
    commit(folder.path(), 1, &roles);
    let test = &test;
    run_masking(folder.path(), shards, true, |client| async move {
        let root = client.of("root");
        must(&root, KEYSPACE).await;
        must(&root, "CREATE TYPE ks.w (a int, b text)").await;
        test(root).await;
    });
}

/// The values of all rows; of an error none.
fn values(reply: &Reply) -> Option<Vec<Option<Vec<u8>>>> {
    match reply.response().1 {
        Response::Result(ResultBody::Rows(rows)) => {
            Some(rows.iter().flat_map(|row| row.map(|value| value.map(<[u8]>::to_vec))).collect())
        }
        Response::Error(_) => None,
        other => panic!("rows were expected, not {other:?}"),
    }
}

fn texts(reply: &Reply) -> Vec<String> {
    let text =
        |value: Option<Vec<u8>>| value.map_or("null".to_owned(), |value| String::from_utf8_lossy(&value).into_owned());
    values(reply).unwrap_or_else(|| panic!("{}", reply.error())).into_iter().map(text).collect()
}

/// True if `part` stands anywhere in `bytes`.
fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The reader's reply has none of the values that others see, and nothing that they were made of.
fn assert_hidden(text: &str, seen: &Reply, masked: &Reply) {
    let (Some(seen), Some(masked_values)) = (values(seen), values(masked)) else {
        assert!(values(seen).is_none() && values(masked).is_none(), "{text}: refused for both or for none");
        return;
    };
    assert_eq!(seen.len(), masked_values.len(), "{text}: as many rows");
    // Shorter ones, such as a count, are no secrets.
    let secrets = seen.iter().flatten().filter(|value| value.len() >= 4);
    for secret in secrets {
        assert!(!masked_values.contains(&Some(secret.clone())), "{text}: {}", String::from_utf8_lossy(secret));
    }
    for secret in ["SECRET", "ZZZ", "15158708", "534543524554"] {
        assert!(!has(masked.body(), secret.as_bytes()), "{text}: {secret}");
    }
}

#[test]
fn no_form_of_selector_gives_a_masked_value() {
    run_with_readers("masked-forms", 2, |root| async move {
        must(&root, TABLE).await;
        must(&root, ROW).await;
        let (reader, seer) = (root.of("reader"), root.of("seer"));
        let (mut shown, mut refused) = (0, Vec::new());
        for form in FORMS {
            for json in ["", "JSON "] {
                for rest in ["", " GROUP BY k, c"] {
                    let text = format!("SELECT {json}{form} FROM ks.t{rest}");
                    let seen = root.query(&text).await;
                    if rest.is_empty() && json.is_empty() && values(&seen).is_none() {
                        refused.push(format!("{text}: {}", seen.error()));
                    }
                    shown += usize::from(values(&seen).is_some());
                    assert_hidden(&text, &seen, &reader.query(&text).await);
                    assert_eq!(values(&seer.query(&text).await), values(&seen), "{text}");
                    let Response::Error(_) = seen.response().1 else {
                        let prepared = root.prepare(&text).await;
                        assert_hidden(&text, &seen, &reader.execute_values(&prepared.id, &[]).await);
                        assert_eq!(values(&root.execute_values(&prepared.id, &[]).await), values(&seen), "{text}");
                        continue;
                    };
                }
            }
        }
        assert_eq!(refused, [""; 0], "each form is one of the table");
        assert!(shown > FORMS.len() * 3, "{shown}");
        for text in [
            "SELECT DISTINCT k, s FROM ks.t",
            "SELECT v FROM ks.t PER PARTITION LIMIT 1",
            "SELECT JSON * FROM ks.t LIMIT 1",
        ] {
            assert_hidden(text, &root.query(text).await, &reader.query(text).await);
        }
    });
}

#[test]
fn what_is_no_value_is_shown_to_all() {
    run_with_readers("masked-times", 1, |root| async move {
        must(&root, TABLE).await;
        must(&root, &format!("{ROW} USING TIMESTAMP 1000")).await;
        let reader = root.of("reader");
        for text in
            ["SELECT writetime(v), ttl(n), maxwritetime(m), writetime(u) FROM ks.t", "SELECT count(*) FROM ks.t"]
        {
            assert_eq!(values(&reader.query(text).await), values(&root.query(text).await), "{text}");
        }
        // Nulls are masked too.
        must(&root, "INSERT INTO ks.t (k, c) VALUES (1, 'x')").await;
        assert_eq!(texts(&reader.query("SELECT v FROM ks.t").await), ["shown", "shown"]);
        assert_eq!(
            texts(&reader.query("SELECT count(v), count(st) FROM ks.t").await),
            ["\0\0\0\0\0\0\0\u{2}", "\0\0\0\0\0\0\0\0"]
        );
    });
}

/// The time of an element says that it is in the collection: whoever may ask for it could find all of them.
#[test]
fn the_times_of_elements_do_not_say_which_there_are() {
    run_with_readers("masked-element-times", 1, |root| async move {
        must(&root, TABLE).await;
        must(&root, &format!("{ROW} USING TIMESTAMP 1000")).await;
        must(&root, "CREATE TABLE ks.f (k int PRIMARY KEY, pins frozen<set<int>> MASKED WITH DEFAULT)").await;
        must(&root, "INSERT INTO ks.f (k, pins) VALUES (1, {4711}) USING TIMESTAMP 1000").await;
        let reader = root.of("reader");
        for text in [
            "SELECT writetime(st['plain']) FROM ks.t",
            "SELECT maxwritetime(st['A'..'Z']) FROM ks.t",
            "SELECT writetime(m[2]) FROM ks.t",
            "SELECT maxwritetime(m[0..]) FROM ks.t",
            "SELECT writetime(pins[4711]) FROM ks.f",
        ] {
            assert_ne!(values(&root.query(text).await), Some(vec![None]), "{text}");
            assert_eq!(values(&reader.query(text).await), Some(vec![None]), "{text}");
        }
        let ttls = ["SELECT ttl(st['plain']) FROM ks.t", "SELECT ttl(m[2]) FROM ks.t"];
        must(&root, &format!("{ROW} USING TIMESTAMP 2000 AND TTL 1000")).await;
        for text in ttls {
            assert_ne!(values(&root.query(text).await), Some(vec![None]), "{text}");
            assert_eq!(values(&reader.query(text).await), Some(vec![None]), "{text}");
        }
    });
}

#[test]
fn groups_and_orders_are_of_the_values_that_there_are() {
    run_with_readers("masked-groups", 1, |root| async move {
        must(&root, "CREATE TABLE ks.g (k int, c int MASKED WITH mask_replace(0), v text, PRIMARY KEY (k, c))").await;
        for (k, c) in [(1, 30), (1, 10), (2, 20)] {
            must(&root, &format!("INSERT INTO ks.g (k, c, v) VALUES ({k}, {c}, '{k}-{c}')")).await;
        }
        let reader = root.of("reader");
        assert_eq!(texts(&reader.query("SELECT v FROM ks.g GROUP BY k, c").await), ["1-10", "1-30", "2-20"]);
        let sorted = "SELECT v, c FROM ks.g WHERE k IN (1, 2) ORDER BY c DESC";
        assert_eq!(texts(&reader.query(sorted).await), ["1-30", "\0\0\0\0", "2-20", "\0\0\0\0", "1-10", "\0\0\0\0"]);
    });
}

#[test]
fn a_prepared_statement_is_masked_by_who_runs_it() {
    run_with_readers("masked-prepared", 2, |root| async move {
        must(&root, "CREATE TABLE ks.p (k int PRIMARY KEY, v text MASKED WITH DEFAULT)").await;
        let (reader, seer) = (root.of("reader"), root.of("seer"));
        let insert = root.prepare("INSERT INTO ks.p (k, v) VALUES (?, 'clear')").await;
        let select = reader.prepare("SELECT v FROM ks.p WHERE k = ?").await;
        // Partitions of both shards: those of the other one are read there.
        for k in 0..20i32 {
            let k = k.to_be_bytes();
            root.execute_values(&insert.id, &[Value::Bytes(&k)]).await;
            for (client, shown) in [(&reader, "****"), (&seer, "clear"), (&reader, "****"), (&root, "clear")] {
                assert_eq!(texts(&client.execute_values(&select.id, &[Value::Bytes(&k)]).await), [shown]);
            }
            let text = format!("SELECT JSON v FROM ks.p WHERE k = {}", i32::from_be_bytes(k));
            assert_eq!(texts(&reader.query(&text).await), ["{\"v\": \"****\"}"]);
            assert_eq!(texts(&seer.query(&text).await), ["{\"v\": \"clear\"}"]);
        }
        let k = 3i32.to_be_bytes();
        for (statement, shown) in [
            ("GRANT UNMASK ON KEYSPACE ks TO reader", "clear"),
            ("REVOKE UNMASK ON KEYSPACE ks FROM reader", "****"),
            ("GRANT SELECT_MASKED ON ks.p TO reader", "****"),
        ] {
            must(&root, statement).await;
            assert_eq!(texts(&reader.execute_values(&select.id, &[Value::Bytes(&k)]).await), [shown], "{statement}");
        }
        for (mask, shown) in [
            ("DROP MASKED", "clear"),
            ("MASKED WITH mask_replace('redacted')", "redacted"),
            ("MASKED WITH DEFAULT", "****"),
        ] {
            must(&root, &format!("ALTER TABLE ks.p ALTER v {mask}")).await;
            assert_eq!(texts(&reader.execute_values(&select.id, &[Value::Bytes(&k)]).await), [shown]);
        }
    });
}

#[test]
fn a_conditional_statement_tells_no_masked_value() {
    run_with_readers("masked-conditions", 2, |root| async move {
        must(&root, "CREATE TABLE ks.p (k int PRIMARY KEY, v text MASKED WITH DEFAULT, n int)").await;
        let (reader, root) = (root.of("reader"), root);
        let insert = root.prepare("INSERT INTO ks.p (k, v) VALUES (?, 'clear') IF NOT EXISTS").await;
        let update = root.prepare("UPDATE ks.p SET n = 1 WHERE k = ? IF n = 5 AND v = 'x'").await;
        for k in 0..20i32 {
            let k = k.to_be_bytes();
            root.execute_values(&insert.id, &[Value::Bytes(&k)]).await;
            let key = [Value::Bytes(&k)];
            let inserted = |v: &str| {
                vec!["\0".to_owned(), String::from_utf8_lossy(&k).into_owned(), "null".to_owned(), v.to_owned()]
            };
            assert_eq!(texts(&reader.execute_values(&insert.id, &key).await), inserted("****"));
            assert_eq!(texts(&root.execute_values(&insert.id, &key).await), inserted("clear"));
            assert_eq!(texts(&root.execute_values(&update.id, &key).await), ["\0", "null", "clear"]);
            let number = i32::from_be_bytes(k);
            let text = format!("INSERT INTO ks.p (k, v) VALUES ({number}, 'x') IF NOT EXISTS");
            assert_eq!(texts(&reader.query(&text).await), inserted("****"));
            let batch = format!("BEGIN BATCH {text}; UPDATE ks.p SET n = 2 WHERE k = {number}; APPLY BATCH");
            assert_eq!(texts(&reader.query(&batch).await), inserted("****"));
            assert_eq!(texts(&root.query(&batch).await), inserted("clear"));
        }
    });
}

#[test]
fn masked_columns_are_compared_by_who_may_compare_them() {
    run_with_readers("masked-restricted", 1, |root| async move {
        must(
            &root,
            "CREATE TABLE ks.m (k int PRIMARY KEY, name text MASKED WITH DEFAULT, age int MASKED WITH DEFAULT, v int)",
        )
        .await;
        must(&root, "INSERT INTO ks.m (k, name, age, v) VALUES (1, 'alice', 40, 7)").await;
        let (reader, seer) = (root.of("reader"), root.of("seer"));
        let refusal = |columns: &str| {
            format!(
                "User reader has no UNMASK nor SELECT_MASKED permission on table ks.m, cannot query masked columns [{columns}]"
            )
        };
        for (text, columns) in [
            ("SELECT v FROM ks.m WHERE age = 40 ALLOW FILTERING", "age"),
            ("SELECT v FROM ks.m WHERE age > 3 AND name = 'x' ALLOW FILTERING", "name, age"),
            ("SELECT v FROM ks.m WHERE name IN ('alice', 'bob') ALLOW FILTERING", "name"),
            ("UPDATE ks.m SET v = 1 WHERE k = 1 IF age = 39", "age"),
            ("DELETE FROM ks.m WHERE k = 1 IF v = 3 AND name = 'x'", "name"),
            (
                "BEGIN BATCH UPDATE ks.m SET v = 1 WHERE k = 1 IF v = 8; UPDATE ks.m SET v = 1 WHERE k = 1 IF age = 3; APPLY BATCH",
                "age",
            ),
        ] {
            let error = reader.query(text).await.error();
            assert_eq!(*error.message, *refusal(columns), "{text}");
            let prepared = root.prepare(text).await;
            let error = reader.execute_values(&prepared.id, &[]).await.error();
            assert_eq!(*error.message, *refusal(columns), "{text}, prepared");
            if text.starts_with("SELECT") {
                assert!(values(&seer.query(text).await).is_some(), "{text}");
            }
        }
        let restricted = "SELECT name FROM ks.m WHERE age = 40 ALLOW FILTERING";
        for (statement, shown) in
            [("GRANT SELECT_MASKED ON ks.m TO reader", &["****"][..]), ("GRANT UNMASK ON ks.m TO reader", &["alice"])]
        {
            must(&root, statement).await;
            assert_eq!(texts(&reader.query(restricted).await), shown, "{statement}");
        }
        assert!(values(&reader.query("SELECT v FROM ks.m WHERE v = 7 ALLOW FILTERING").await).is_some());
    });
}

/// The reader hears the same of each text, as it is and prepared, whatever values there are: the columns that it may not compare.
async fn assert_refused_alike(root: &Client, table: &str, texts: &[(&str, &str)]) {
    let reader = root.of("reader");
    for (text, columns) in texts {
        let refusal = format!(
            "User reader has no UNMASK nor SELECT_MASKED permission on table {table}, cannot query masked columns [{columns}]"
        );
        assert_eq!(*reader.query(text).await.error().message, *refusal, "{text}");
        let prepared = root.prepare(text).await;
        let error = reader.execute_values(&prepared.id, &[]).await.error();
        assert_eq!(*error.message, *refusal, "{text}, prepared");
    }
}

/// Whoever chooses the function's arguments would learn from groups, and from the function's failure, where values are.
#[test]
fn groups_by_functions_of_masked_columns_are_for_those_who_may_compare_them() {
    run_with_readers("masked-floors", 1, |root| async move {
        must(&root, "CREATE TABLE ks.g (k int, t timestamp MASKED WITH DEFAULT, v int, PRIMARY KEY (k, t))").await;
        for hour in ["01", "02"] {
            must(&root, &format!("INSERT INTO ks.g (k, t, v) VALUES (1, '2020-01-01 {hour}:00Z', 1)")).await;
        }
        let fails = "SELECT count(v) FROM ks.g GROUP BY k, floor(t, 1h, '2020-01-01 01:30Z')";
        let groups = "SELECT count(v) FROM ks.g GROUP BY k, floor(t, 1h, '2020-01-01 00:30Z')";
        assert_refused_alike(&root, "ks.g", &[(fails, "t"), (groups, "t")]).await;
        let (reader, seer) = (root.of("reader"), root.of("seer"));
        assert!(seer.query(fails).await.error().message.contains("floor"), "{}", seer.query(fails).await.error());
        let one_each = ["\0\0\0\0\0\0\0\u{1}", "\0\0\0\0\0\0\0\u{1}"];
        assert_eq!(texts(&seer.query(groups).await), one_each);
        assert_eq!(texts(&reader.query("SELECT count(v) FROM ks.g GROUP BY k, t").await), one_each);
        let of_masked = "SELECT floor(t, 1h, '1970-01-01') FROM ks.g GROUP BY k, t";
        assert_eq!(texts(&reader.query(of_masked).await), ["\0\0\0\0\0\0\0\0"; 2], "of the masked values");
        must(&root, "GRANT SELECT_MASKED ON ks.g TO reader").await;
        assert_eq!(texts(&reader.query(groups).await), one_each);
    });
}

#[test]
fn masks_that_are_not_enabled_show_all_and_can_be_dropped() {
    let folder = Folder::new("masked-disabled");
    let attributes = Attributes { is_superuser: true, may_log_in: true, ..Attributes::default() };
    let roles = ["root", "reader"].map(|name| {
        let attributes = Attributes { is_superuser: name == "root", ..attributes.clone() };
        AccessChange::PutRole(name.to_owned(), attributes)
    });
    let reads = (Resource::Keyspace("ks".to_owned()), PermissionSet::of(&[Permission::Select]));
    commit(folder.path(), 1, &roles);
    commit(folder.path(), 2, &[AccessChange::Grant("reader".to_owned(), vec![reads])]);
    run_masking(folder.path(), 1, true, |client| async move {
        let root = client.of("root");
        must(&root, KEYSPACE).await;
        must(&root, "CREATE TABLE ks.p (k int PRIMARY KEY, v text MASKED WITH DEFAULT)").await;
        must(&root, "INSERT INTO ks.p (k, v) VALUES (1, 'clear')").await;
        assert_eq!(texts(&client.of("reader").query("SELECT v FROM ks.p").await), ["****"]);
    });
    run_masking(folder.path(), 1, false, |client| async move {
        let root = client.of("root");
        assert_eq!(texts(&client.of("reader").query("SELECT v FROM ks.p").await), ["clear"]);
        for text in [
            "ALTER TABLE ks.p ALTER v MASKED WITH mask_null()",
            "ALTER TABLE ks.p ADD w text MASKED WITH DEFAULT",
            "CREATE TABLE ks.q (k int PRIMARY KEY, v text MASKED WITH DEFAULT)",
        ] {
            let error = root.query(text).await.error();
            assert!(
                error.message.starts_with("Cannot mask columns because dynamic data masking is not enabled."),
                "{error}"
            );
        }
        assert_eq!(texts(&root.query("SELECT function_name FROM system_schema.column_masks").await), ["mask_default"]);
        must(&root, "ALTER TABLE ks.p ALTER v DROP MASKED").await;
        assert_eq!(texts(&root.query("SELECT function_name FROM system_schema.column_masks").await), [""; 0]);
    });
}
