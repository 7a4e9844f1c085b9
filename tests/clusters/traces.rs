//! TRACING ON at one of three nodes: `system_traces` of the node that was asked has the steps of all of them.

use std::collections::BTreeSet;

use cql_protocol::{
    Consistency, FrameHeader, HEADER_LENGTH, Query, QueryParams, Request, Response, ResultBody, Version,
};
use helenus_tests::Connection;

use super::nodes::{Three, until};

/// Where a frame's flags lie, and the one that asks for a trace.
const FLAGS_AT: usize = 1;
const TRACING: u8 = 0x02;

/// Three nodes that have the table `ks.t`, and a client of the first.
fn three_with_table() -> (Three, Connection) {
    let mut three = Three::start();
    let mut client = three.connect(0);
    client.query("CREATE TABLE ks.t (k int PRIMARY KEY, v int)").expect("all are up");
    three.agreed("SELECT table_name FROM system_schema.tables");
    // A node that is up may not be connected to for requests yet.
    until("all replicas take a row", || client.query_at("INSERT INTO ks.t (k) VALUES (0)", Consistency::All).is_ok());
    (three, client)
}

#[test]
fn a_trace_has_the_steps_of_all_replicas() {
    let (three, mut client) = three_with_table();
    let addresses: Vec<String> = (1..=3).map(|number| three.net.address(number)).collect();
    let all: BTreeSet<String> = addresses.iter().cloned().collect();
    for (text, level, wanted) in [
        ("INSERT INTO ks.t (k, v) VALUES (1, 2)", Consistency::All, &all),
        // The client is answered by the first, and the others' steps arrive later.
        ("INSERT INTO ks.t (k, v) VALUES (1, 3)", Consistency::One, &all),
        ("SELECT v FROM ks.t WHERE k = 1", Consistency::All, &all),
        ("SELECT v FROM ks.t", Consistency::All, &all),
        ("SELECT v FROM ks.t WHERE k = 1", Consistency::One, &BTreeSet::from([addresses[0].clone()])),
    ] {
        let id = traced(&mut client, text, level);
        let session = format!(
            "SELECT coordinator, request, parameters['query'] FROM system_traces.sessions WHERE session_id = {id}"
        );
        let coordinator = [addresses[0].as_str(), "Execute CQL3 query", text];
        assert_eq!(rows(&mut client, &session), [coordinator.map(str::to_owned)], "{text}");
        let events = format!("SELECT source FROM system_traces.events WHERE session_id = {id}");
        until(text, || rows::<1>(&mut client, &events).into_iter().flatten().collect::<BTreeSet<_>>() == *wanted);
    }
    three.stop();
}

#[test]
fn steps_are_in_order_and_have_the_time_of_the_node_that_took_them() {
    let (three, mut client) = three_with_table();
    let id = traced(&mut client, "INSERT INTO ks.t (k, v) VALUES (1, 2)", Consistency::All);
    let (first, second) = (three.net.address(1), three.net.address(2));
    let events = format!("SELECT activity, source, source_elapsed FROM system_traces.events WHERE session_id = {id}");
    let steps = rows::<3>(&mut client, &events);
    let place = |activity: &str, source: &str| {
        let found = steps.iter().position(|step| step[0].starts_with(activity) && step[1] == source);
        found.unwrap_or_else(|| panic!("no step `{activity}` of {source} in {steps:#?}"))
    };
    let [_, storage_port, _] = three.net.ports();
    let order = [
        place(&format!("Sending request to /{second}:{storage_port}"), &first),
        place("Message received: a write for a node", &second),
        place("Appended 1 mutations", &second),
        place("Enqueuing response", &second),
        place(&format!("Processing response from /{second}:{storage_port}"), &first),
    ];
    assert!(order.is_sorted(), "{steps:#?}");
    assert!(steps.iter().all(|step| step[2].parse::<i32>().is_ok_and(|micros| micros >= 0)), "{steps:#?}");
    three.stop();
}

/// Asks with TRACING ON; the trace's id.
fn traced(client: &mut Connection, text: &str, level: Consistency) -> String {
    let mut frame = Vec::new();
    let query = Query { text, params: QueryParams::new(level) };
    Request::Query(query).encode_frame(Version::V4, 1, &mut frame);
    frame[FLAGS_AT] |= TRACING;
    let (header, body) = exchange(client, &frame);
    let (prefix, response) = Response::decode(&header, &body).expect("a response");
    assert!(!matches!(response, Response::Error(_)), "{text}: {response:?}");
    cql_types::print(&cql_types::CqlType::Uuid, &prefix.tracing_id.expect("the request asked to be traced"))
}

/// The rows of a statement, values as text.
fn rows<const N: usize>(client: &mut Connection, text: &str) -> Vec<[String; N]> {
    let mut frame = Vec::new();
    let query = Query { text, params: QueryParams::new(Consistency::One) };
    Request::Query(query).encode_frame(Version::V4, 1, &mut frame);
    let (header, body) = exchange(client, &frame);
    let (_, Response::Result(ResultBody::Rows(rows))) = Response::decode(&header, &body).expect("a response") else {
        panic!("{text}: no rows");
    };
    let value = |(column, value): (&cql_protocol::response::DecodedSpec, Option<&[u8]>)| {
        let shown = value.map_or_else(|| "null".to_owned(), |value| cql_types::print(&column.ty, value));
        shown.trim_matches('\'').to_owned()
    };
    let row = |row| {
        let values: Vec<String> = rows.columns.iter().zip(row).map(value).collect();
        values.try_into().expect("so many columns")
    };
    rows.iter().map(row).collect()
}

fn exchange(client: &mut Connection, frame: &[u8]) -> (FrameHeader, Vec<u8>) {
    let (head, body) = client.ask_whole(frame).expect("the node answers");
    let head: [u8; HEADER_LENGTH] = head.try_into().expect("a frame's head");
    (FrameHeader::decode(&head).expect("a frame's head"), body)
}
