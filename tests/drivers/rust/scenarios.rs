//! What a driver does all day, one scenario per function.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use helenus_tests::Connection;
use scylla::client::session::Session;
use scylla::statement::Statement;
use scylla::statement::batch::{Batch, BatchType};
use scylla::statement::prepared::PreparedStatement;

/// No wait for a condition takes as long on any machine.
const HUNG_AFTER: Duration = Duration::from_secs(60);

pub async fn execute(session: &Session, text: &str) {
    session.query_unpaged(text, ()).await.unwrap_or_else(|error| panic!("{text}: {error}"));
}

pub async fn metadata(session: &Session) {
    execute(
        session,
        "CREATE TABLE described (a int, b text, c timestamp, s text STATIC, v uuid, PRIMARY KEY ((a, b), c))",
    )
    .await;
    session.await_schema_agreement().await.expect("one node agrees with itself");
    session.refresh_metadata().await.expect("metadata can be read");
    let state = session.get_cluster_state();
    assert_eq!(state.get_nodes_info().len(), 1);
    assert_eq!(state.get_nodes_info()[0].datacenter.as_deref(), Some("datacenter1"));
    let table = &state.get_keyspace("tested").expect("created").tables["described"];
    assert_eq!(table.partition_key, ["a", "b"]);
    assert_eq!(table.clustering_key, ["c"]);
    assert_eq!(table.columns.len(), 5);
}

pub async fn prepared(session: &Session) {
    execute(session, "CREATE TABLE prepared (a int, b text, c int, PRIMARY KEY (a, b))").await;
    let insert = session.prepare("INSERT INTO prepared (a, b, c) VALUES (?, ?, ?)").await.expect("prepares");
    assert!(insert.is_token_aware());
    session.execute_unpaged(&insert, (1, "x", 2)).await.expect("inserts");
    session.execute_unpaged(&insert, (1, "y", None::<i32>)).await.expect("inserts a null");
    let select = session.prepare("SELECT b, c FROM prepared WHERE a = ?").await.expect("prepares");
    let rows = session.execute_unpaged(&select, (1,)).await.expect("selects").into_rows_result().expect("rows");
    let rows: Vec<(String, Option<i32>)> = rows.rows().expect("typed").map(|row| row.expect("a row")).collect();
    assert_eq!(rows, [("x".to_string(), Some(2)), ("y".to_string(), None)]);
}

pub async fn ten_thousand_rows_paged(session: &Arc<Session>) {
    const ROWS: i32 = 10_000;
    const TASKS: i32 = 100;
    execute(session, "CREATE TABLE paged (part int, row int, value text, PRIMARY KEY (part, row))").await;
    let insert =
        Arc::new(session.prepare("INSERT INTO paged (part, row, value) VALUES (?, ?, ?)").await.expect("prepares"));
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let (session, insert) = (Arc::clone(session), Arc::clone(&insert));
        tasks.spawn(async move {
            for row in (task..ROWS).step_by(TASKS as usize) {
                session.execute_unpaged(&insert, (row % 10, row, format!("value {row}"))).await.expect("inserts");
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.expect("a task does not panic");
    }
    let mut found = BTreeMap::new();
    let all = Statement::new("SELECT part, row, value FROM paged").with_page_size(333);
    let mut pages = 0;
    let mut state = scylla::response::PagingState::start();
    loop {
        let (page, next) = session.query_single_page(all.clone(), &[], state).await.expect("a page");
        let page = page.into_rows_result().expect("rows");
        assert!(page.rows_num() <= 333);
        pages += 1;
        for row in page.rows::<(i32, i32, String)>().expect("typed") {
            let (part, row, value) = row.expect("a row");
            assert!(found.insert(row, (part, value)).is_none(), "row {row} came twice");
        }
        match next.into_paging_control_flow() {
            std::ops::ControlFlow::Continue(next) => state = next,
            std::ops::ControlFlow::Break(()) => break,
        }
    }
    assert!(pages > ROWS / 333, "{pages} pages");
    assert_eq!(found.len(), ROWS as usize);
    assert!(found.iter().all(|(row, (part, value))| *part == row % 10 && *value == format!("value {row}")));
}

pub async fn batch(session: &Session) {
    execute(session, "CREATE TABLE batched (a int, b int, PRIMARY KEY (a, b))").await;
    let insert = session.prepare("INSERT INTO batched (a, b) VALUES (?, ?)").await.expect("prepares");
    for (offset, kind) in [BatchType::Logged, BatchType::Unlogged].into_iter().enumerate() {
        let mut batch = Batch::new(kind);
        let mut values = Vec::new();
        for index in 0..50_i32 {
            batch.append_statement(insert.clone());
            values.push((index % 7, index + offset as i32 * 1000));
        }
        session.batch(&batch, values).await.expect("applies the batch");
    }
    let count = session.query_unpaged("SELECT count(*) FROM batched", ()).await.expect("counts");
    assert_eq!(count.into_rows_result().expect("rows").single_row::<(i64,)>().expect("one row").0, 100);
}

/// This driver reads the schema anew when told to and drops the events that it registers for, so a raw connection listens for them.
pub async fn schema_change(session: &Session, address: &str) {
    const EVENT: u8 = 0x0c;
    let mut listener = Connection::start(address).expect("connects");
    listener.register(&["SCHEMA_CHANGE"]).expect("registers");
    execute(session, "CREATE TABLE announced (a int PRIMARY KEY)").await;
    let event = listener.receive().expect("an event comes");
    assert_eq!((event.opcode, event.stream), (EVENT, -1));
    let words = String::from_utf8_lossy(&event.body).into_owned();
    let in_order = ["SCHEMA_CHANGE", "CREATED", "TABLE", "tested", "announced"];
    assert!(
        in_order.iter().try_fold(0, |from, word| Some(from + words[from..].find(word)? + word.len())).is_some(),
        "{words:?}"
    );
    session.refresh_metadata().await.expect("metadata can be read");
    assert!(
        session
            .get_cluster_state()
            .get_keyspace("tested")
            .is_some_and(|keyspace| keyspace.tables.contains_key("announced"))
    );
}

pub async fn each_request_reaches_its_shard(session: &Session, shards: u16) {
    execute(session, "CREATE TABLE owned (a int PRIMARY KEY, b int)").await;
    let insert = session.prepare("INSERT INTO owned (a, b) VALUES (?, ?)").await.expect("prepares");
    let select = session.prepare("SELECT b FROM owned WHERE a = ?").await.expect("prepares");
    until_all_shards_are_connected(session, &select, shards).await;
    let mut seen = vec![0; usize::from(shards)];
    for key in 0..500_i32 {
        let token = insert.calculate_token(&(key, key)).expect("the key is typed").expect("the statement has a key");
        let owner = owner(token.value(), shards);
        for result in
            [session.execute_unpaged(&insert, (key, key)).await, session.execute_unpaged(&select, (key,)).await]
        {
            let result = result.expect("is answered");
            assert_eq!(result.request_coordinator().shard(), Some(u32::from(owner)), "key {key}");
        }
        seen[usize::from(owner)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 500 / usize::from(shards) / 3), "{seen:?}");
}

/// The driver connects to further shards while it is used.
async fn until_all_shards_are_connected(session: &Session, select: &PreparedStatement, shards: u16) {
    let deadline = Instant::now() + HUNG_AFTER;
    let mut missing: BTreeSet<u16> = (0..shards).collect();
    for key in (0..500_i32).cycle() {
        let token = select.calculate_token(&(key,)).expect("the key is typed").expect("the statement has a key");
        let result = session.execute_unpaged(select, (key,)).await.expect("is answered");
        let owner = owner(token.value(), shards);
        if result.request_coordinator().shard() == Some(u32::from(owner)) {
            missing.remove(&owner);
        }
        if missing.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "no connection to shards {missing:?}");
    }
}

/// ScyllaDB's biased token round robin with 12 ignored bits, computed here and not by the driver.
fn owner(token: i64, shards: u16) -> u16 {
    let biased = (token as u64).wrapping_add(1 << 63) << 12;
    ((u128::from(biased) * u128::from(shards)) >> 64) as u16
}
