//! Types of several values there and back, nested ones too; null, empty, and with nothing inside.

use std::collections::{BTreeMap, BTreeSet};

use scylla::client::session::Session;
use scylla::deserialize::value::DeserializeValue;
use scylla::serialize::value::SerializeValue;
use scylla::{DeserializeValue, SerializeValue};

use super::scenarios::execute;

#[derive(Clone, Debug, PartialEq, SerializeValue, DeserializeValue)]
struct Address {
    street: Option<String>,
    number: Option<i32>,
    tags: Option<BTreeSet<String>>,
}

#[derive(Clone, Debug, PartialEq, SerializeValue, DeserializeValue)]
struct Person {
    name: Option<String>,
    home: Option<Address>,
    phones: Option<BTreeMap<String, String>>,
    place: Option<(f64, f64)>,
}

type Mixed = (Option<i32>, Option<String>, Option<bool>);

pub async fn round_trips(session: &Session) {
    execute(session, "CREATE TYPE address (street text, number int, tags frozen<set<text>>)").await;
    execute(
        session,
        "CREATE TYPE person (name text, home frozen<address>, phones frozen<map<text, text>>, place frozen<tuple<double, double>>)",
    )
    .await;
    collections(session).await;
    structures(session).await;
}

async fn collections(session: &Session) {
    let text = |text: &str| text.to_string();
    // What has a cell per element and no element is nothing.
    is_kept(session, "list<int>", vec![3, 1, 3, i32::MIN]).await;
    is_nothing(session, "list<int>", Vec::<i32>::new()).await;
    is_kept(session, "set<text>", BTreeSet::from([text("b"), text("a"), text("")])).await;
    is_nothing(session, "set<text>", BTreeSet::<String>::new()).await;
    is_kept(session, "map<text, int>", BTreeMap::from([(text("b"), 2), (text(""), 0)])).await;
    is_nothing(session, "map<text, int>", BTreeMap::<String, i32>::new()).await;
    is_kept(session, "frozen<list<text>>", vec![text("b"), text("")]).await;
    is_kept(session, "frozen<list<text>>", Vec::<String>::new()).await;
    is_kept(session, "frozen<set<int>>", BTreeSet::from([1, -1, 0])).await;
    is_kept(session, "frozen<map<int, boolean>>", BTreeMap::<i32, bool>::new()).await;
    is_kept(session, "list<frozen<list<int>>>", vec![vec![1, 2], vec![], vec![3]]).await;
    let sets = BTreeSet::from([BTreeSet::new(), BTreeSet::from([1]), BTreeSet::from([1, 2])]);
    is_kept(session, "set<frozen<set<int>>>", sets).await;
    let deep = BTreeMap::from([(1, BTreeSet::from([true])), (2, BTreeSet::new())]);
    let deep = BTreeMap::from([(text("x"), deep), (text("y"), BTreeMap::new())]);
    is_kept(session, "map<text, frozen<map<int, frozen<set<boolean>>>>>", deep).await;
    is_kept(session, "vector<float, 3>", vec![1.5_f32, -0.25, f32::MAX]).await;
    is_kept(session, "vector<text, 2>", vec![text(""), "ἄ".repeat(200)]).await;
    is_kept(session, "list<frozen<vector<int, 2>>>", vec![vec![1, 2], vec![i32::MIN, i32::MAX]]).await;
}

async fn structures(session: &Session) {
    let mixed: Mixed = (Some(1), Some(String::new()), Some(true));
    is_kept(session, "tuple<int, text, boolean>", mixed.clone()).await;
    is_kept::<Mixed>(session, "tuple<int, text, boolean>", (None, None, None)).await;
    let home = Address {
        street: Some("Ἴλιον".into()),
        number: Some(7),
        tags: Some(BTreeSet::from([String::new(), "old".into()])),
    };
    let bare = Address { street: None, number: None, tags: None };
    let deep = (Some(1), vec![home.clone(), bare.clone()], Some(mixed));
    is_kept(session, "tuple<int, frozen<list<frozen<address>>>, frozen<tuple<int, text, boolean>>>", deep).await;
    is_kept(session, "frozen<address>", bare.clone()).await;
    let full = Person {
        name: Some("Helenus".into()),
        home: Some(home.clone()),
        phones: Some(BTreeMap::from([("work".into(), "1".into())])),
        place: Some((39.9, 26.2)),
    };
    let half =
        Person { name: Some(String::new()), home: Some(bare.clone()), phones: Some(BTreeMap::new()), place: None };
    for kind in ["frozen<person>", "person"] {
        is_kept(session, kind, full.clone()).await;
        is_kept(session, kind, half.clone()).await;
    }
    is_kept(session, "list<frozen<address>>", vec![home.clone(), bare, home]).await;
    is_kept(session, "map<text, frozen<person>>", BTreeMap::from([("full".to_string(), full), ("half".into(), half)]))
        .await;
}

/// The value comes back, and null where null was written.
async fn is_kept<T>(session: &Session, kind: &str, value: T)
where
    T: SerializeValue + PartialEq + std::fmt::Debug + Clone + for<'a> DeserializeValue<'a, 'a>,
{
    comes_back(session, kind, Some(value.clone()), Some(value)).await;
    comes_back::<T>(session, kind, None, None).await;
}

async fn is_nothing<T>(session: &Session, kind: &str, value: T)
where
    T: SerializeValue + PartialEq + std::fmt::Debug + for<'a> DeserializeValue<'a, 'a>,
{
    comes_back(session, kind, Some(value), None).await;
}

async fn comes_back<T>(session: &Session, kind: &str, value: Option<T>, expected: Option<T>)
where
    T: SerializeValue + PartialEq + std::fmt::Debug + for<'a> DeserializeValue<'a, 'a>,
{
    let table: String = kind.chars().filter(|letter| letter.is_ascii_alphanumeric()).collect();
    execute(session, &format!("CREATE TABLE IF NOT EXISTS nested_{table} (id int PRIMARY KEY, value {kind})")).await;
    let insert =
        session.prepare(format!("INSERT INTO nested_{table} (id, value) VALUES (1, ?)")).await.expect("prepares");
    session.execute_unpaged(&insert, (&value,)).await.unwrap_or_else(|error| panic!("{kind} {value:?}: {error}"));
    let select = session.prepare(format!("SELECT value FROM nested_{table} WHERE id = 1")).await.expect("prepares");
    let rows = session.execute_unpaged(&select, ()).await.expect("selects").into_rows_result().expect("rows");
    let (back,): (Option<T>,) = rows.single_row().unwrap_or_else(|error| panic!("{kind} {value:?}: {error}"));
    assert_eq!(back, expected, "{kind}");
}
