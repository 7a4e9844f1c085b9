//! What the query layer costs on top of the storage: to be run by hand, alone on the machine, with
//! `cargo test --profile fast -p helenus-query --test engine cost -- --ignored --nocapture`.

use cql_protocol::request::{Execute, Request};
use cql_protocol::{Consistency, FrameHeader, HEADER_LENGTH, QueryParams, Value, Version};
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use query::Outcome;
use runtime::Runtime;
use storage::{Flow, RowSink};
use topology::{Token, token_of};

use crate::harness::{Folder, buffer, run_node_with};

/// Operations between two looks at the clock, and between two turns of the loop.
const ROUND: u32 = 200;
const ROUNDS: u32 = 200;

/// The least time that an operation took, over many rounds: what else runs on the machine only adds.
async fn least(runtime: &Runtime, what: &str, mut operation: impl FnMut(u32)) -> f64 {
    let mut least = f64::MAX;
    for round in 0..ROUNDS {
        let begin = runtime.now();
        for index in 0..ROUND {
            operation(round * ROUND + index);
        }
        let took = (runtime.now() - begin).as_nanos() as f64 / f64::from(ROUND);
        least = least.min(took);
        // The log's writer gets its turn, so that its buffer is never full.
        runtime.sleep(std::time::Duration::from_micros(200)).await;
    }
    println!("{what:40} {least:8.0} ns");
    least
}

struct Drop;

impl RowSink for Drop {
    fn partition(&mut self, _: Token, _: &[u8], _: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        std::hint::black_box(row.cells().map(|cell| cell.value.len()).sum::<usize>());
        Flow::Continue
    }
}

fn key(index: u32) -> [u8; 10] {
    let mut key = *b"0000000000";
    key[..4].copy_from_slice(&(index % 20_000).to_be_bytes());
    key
}

#[test]
#[ignore = "measures; says nothing on a busy machine"]
fn cost_of_the_query_layer() {
    let folder = Folder::new("cost");
    run_node_with(folder.path(), 1, |client, runtime, storage| async move {
        client
            .query("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .await;
        client
            .query("CREATE TABLE ks.t (key blob PRIMARY KEY, \"C0\" blob, \"C1\" blob, \"C2\" blob, \"C3\" blob, \"C4\" blob)")
            .await;
        let insert = client
            .prepare("UPDATE ks.t SET \"C0\" = ?, \"C1\" = ?, \"C2\" = ?, \"C3\" = ?, \"C4\" = ? WHERE key = ?")
            .await;
        let select = client.prepare("SELECT * FROM ks.t WHERE key = ?").await;
        let schema = client.engine.schema();
        let table = schema.table("ks", "t").expect("the table was made").clone();
        let value = [7u8; 34];

        let mut encoded = Vec::new();
        // The second time every row is there already, as it is when the engine writes.
        let mut apply = f64::MAX;
        for (what, timestamp) in [("storage: encode and insert", 0), ("storage: encode and overwrite", 1_000_000)] {
            apply = least(&runtime, what, |index| {
                let key = key(index);
                encoded.clear();
                let mut mutation = MutationEncoder::begin(&mut encoded, table.id, token_of(&key), &key);
                let mut row = mutation.row([]);
                for column in table.regulars() {
                    row.cell(column.id, timestamp + i64::from(index), None, &value);
                }
                mutation.finish();
                storage.apply(&encoded).expect("there is room");
            })
            .await;
        }
        let mut out = Vec::new();
        let frames = |id: &[u8], values: &[Value<'_>]| {
            let values = buffer(values);
            let params =
                QueryParams { values: values.values(), skip_metadata: true, ..QueryParams::new(Consistency::One) };
            let mut frame = Vec::new();
            let execute = Execute { id, result_metadata_id: None, params };
            Request::Execute(execute).encode_frame(Version::V4, 1, &mut frame);
            frame
        };
        let engine = &client.engine;
        let session = &client.session;
        let mut run = |frame: &[u8]| {
            let (header, body) = frame.split_first_chunk::<HEADER_LENGTH>().expect("a frame has a header");
            let header = FrameHeader::decode(header).expect("the header is right");
            let request = Execute::decode(body, Version::V4).expect("the request is right");
            out.clear();
            let outcome = engine.try_execute(session, &header, &request, &mut out);
            assert_ne!(outcome, Outcome::MustWait);
            std::hint::black_box(&out);
        };
        let v = Value::Bytes(&value);
        let mut writes = Vec::new();
        let mut reads = Vec::new();
        for index in 0..20_000 {
            writes.push(frames(&insert.id, &[v, v, v, v, v, Value::Bytes(&key(index))]));
            reads.push(frames(&select.id, &[Value::Bytes(&key(index))]));
            runtime.maybe_yield().await;
        }
        let write = least(&runtime, "engine: EXECUTE of a write", |index| run(&writes[index as usize % 20_000])).await;
        let read = least(&runtime, "storage: read", |index| {
            let key = key(index);
            let command = ReadCommand::partition(table.id, token_of(&key), &key, 1_000_000_000);
            assert_eq!(storage.read(&command, &mut Drop).done(), Some(storage::ReadEnd::Complete));
        })
        .await;
        let execute = least(&runtime, "engine: EXECUTE of a read", |index| run(&reads[index as usize % 20_000])).await;
        println!("on top of the storage: write {:.0} ns, read {:.0} ns", write - apply, execute - read);
    });
}
