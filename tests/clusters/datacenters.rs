//! Four nodes in two datacenters, of which one is lost as a whole and comes back: levels of one datacenter go on in the other, and levels of each are refused.

use std::net::IpAddr;

use cql_protocol::{
    Codec, Consistency, ErrorBody, ErrorKind, Failures, Flags, FrameHeader, Opcode, Query, QueryParams, Request,
    Response, Version, segment,
};
use helenus_tests::{Builder, Connection, Server, startup_frame};

use super::nodes::{Net, connect, has, start_all, until};

const CONFIGURATION: &str = "endpoint_snitch: GossipingPropertyFileSnitch\n\
                             tombstone_warn_threshold: 19\ntombstone_failure_threshold: 20\n";

/// A node that finds its place in a file beside its configuration.
fn node(net: &Net, number: u8, datacenter: &str) -> Builder {
    let builder = net.node(number, &[1, 3]);
    let place = format!("dc={datacenter}\nrack=rack{number}\n");
    std::fs::write(builder.folder().join("cassandra-rackdc.properties"), place).expect("it can be written");
    builder.configured(CONFIGURATION)
}

/// The error that a statement is answered with at a level; `None` if it is done.
fn error(client: &mut Connection, version: Version, text: &str, level: Consistency) -> Option<ErrorBody> {
    let mut frame = Vec::new();
    Request::Query(Query { text, params: QueryParams::new(level) }).encode_frame(version, 1, &mut frame);
    let answer = match version {
        Version::V5 => {
            let mut bytes = Vec::new();
            segment::encode(&frame, true, Codec::Plain, &mut bytes);
            client.send(&bytes).and_then(|()| client.receive_segment())
        }
        _ => client.ask(&frame),
    };
    let answer = answer.expect("the node answers");
    if answer.opcode != Opcode::Error as u8 {
        return None;
    }
    let length = u32::try_from(answer.body.len()).expect("an error is short");
    let header = FrameHeader { version, flags: Flags(answer.flags), stream: 1, opcode: Opcode::Error, length };
    match Response::decode(&header, &answer.body).expect("an error that can be read") {
        (_, Response::Error(error)) => Some(error),
        (_, other) => panic!("no error, but {other:?}"),
    }
}

/// An UNAVAILABLE error's message, and the replicas that the level needs and those that are alive.
fn unavailable(client: &mut Connection, text: &str, level: Consistency) -> Option<(String, i32, i32)> {
    let ErrorBody { kind, message } = error(client, Version::V4, text, level)?;
    match kind {
        ErrorKind::Unavailable { required, alive, .. } => Some((message, required, alive)),
        _ => None,
    }
}

const READ: &str = "SELECT v FROM shop.t WHERE k = 1";
/// READ_TOO_MANY_TOMBSTONES, in a map of reasons.
const TOO_MANY_TOMBSTONES: u16 = 1;

#[test]
fn a_datacenter_goes_on_without_the_other() {
    let net = Net::new();
    let builders = [(1, "dc1"), (2, "dc1"), (3, "dc2"), (4, "dc2")].map(|(number, name)| node(&net, number, name));
    let mut servers = start_all(&builders).map(Some);
    let mut client = connect(servers[0].as_ref().expect("it runs"));
    client
        .query("CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2, 'dc2': 2}")
        .expect("all are up");
    client.query("CREATE TABLE shop.t (k int PRIMARY KEY, v text)").expect("all are up");
    let insert = |value: &str| format!("INSERT INTO shop.t (k, v) VALUES (1, '{value}')");
    until("all nodes see each other", || client.query_at(&insert("each"), Consistency::EachQuorum).is_ok());
    let mut other = connect(servers[2].as_ref().expect("it runs"));
    until("the other datacenter reads what was written", || {
        other.query_at(READ, Consistency::EachQuorum).map(|read| assert!(has(&read.body, "each"))).is_ok()
    });
    drop(other);

    servers[2..].iter_mut().for_each(|server| server.take().expect("it runs").kill());
    let lost = |level: &str, required: i32, alive: i32| {
        Some((format!("Cannot achieve consistency level {level}"), required, alive))
    };
    until("its nodes are seen to be down", || {
        unavailable(&mut client, READ, Consistency::EachQuorum) == lost("EACH_QUORUM in DC dc2", 2, 0)
    });
    for text in [insert("refused").as_str(), READ] {
        assert_eq!(unavailable(&mut client, text, Consistency::EachQuorum), lost("EACH_QUORUM in DC dc2", 2, 0));
        assert_eq!(unavailable(&mut client, text, Consistency::Quorum), lost("QUORUM", 3, 2));
        assert_eq!(unavailable(&mut client, text, Consistency::All), lost("ALL", 4, 2));
        assert_eq!(unavailable(&mut client, text, Consistency::Three), lost("THREE", 3, 2));
    }
    for (level, value) in
        [(Consistency::LocalQuorum, "quorum"), (Consistency::LocalOne, "one"), (Consistency::Two, "two")]
    {
        client.query_at(&insert(value), level).expect("this datacenter is whole");
        let read = client.query_at(READ, level).expect("this datacenter is whole").body;
        assert!(has(&read, value), "{value}");
    }

    for (server, builder) in servers.iter_mut().zip(&builders).skip(2) {
        *server = Some(builder.launch());
    }
    servers[2..].iter_mut().flatten().for_each(Server::wait_until_ready);
    let mut other = connect(servers[3].as_ref().expect("it runs"));
    until("a quorum of each datacenter is back, with what it missed", || {
        other.query_at(READ, Consistency::EachQuorum).map(|read| assert!(has(&read.body, "two"))).is_ok()
    });
    until("the first node sees them too", || client.query_at(&insert("again"), Consistency::EachQuorum).is_ok());
    until("the other datacenter reads what was written since", || {
        other.query_at(READ, Consistency::LocalQuorum).map(|read| assert!(has(&read.body, "again"))).is_ok()
    });
    servers.into_iter().flatten().for_each(Server::stop);
}

/// Each of the nodes that count refuses. Version 5 names them with their reason, version 4 tells how many they are.
#[test]
fn a_failed_read_names_the_nodes_of_the_datacenters_that_count() {
    let net = Net::new();
    let builders = [(1, "dc1"), (2, "dc1"), (3, "dc2")].map(|(number, name)| node(&net, number, name));
    let servers = start_all(&builders);
    let mut client = connect(&servers[0]);
    client
        .query("CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2, 'dc2': 1}")
        .expect("all are up");
    client.query("CREATE TABLE shop.t (k int, c int, v int, PRIMARY KEY (k, c))").expect("all are up");
    let delete = |row: i32| format!("DELETE FROM shop.t WHERE k = 1 AND c = {row}");
    until("all nodes see each other", || client.query_at(&delete(0), Consistency::All).is_ok());
    (1..30).for_each(|row| drop(client.query_at(&delete(row), Consistency::All).expect("all are up")));

    let mut newer = Connection::open(&servers[0].address()).expect("a node that is ready accepts clients");
    let ready = newer.ask(&startup_frame(Version::V5, None)).expect("version 5 is spoken");
    assert_eq!(ready.opcode, Opcode::Ready as u8);
    let addresses = |numbers: &[u8]| -> Vec<IpAddr> {
        numbers.iter().map(|number| net.address(*number).parse().expect("an address")).collect()
    };
    for (level, block_for, counted) in [
        (Consistency::LocalQuorum, 2, addresses(&[1, 2])),
        (Consistency::LocalOne, 1, addresses(&[1, 2])),
        (Consistency::EachQuorum, 3, addresses(&[1, 2, 3])),
    ] {
        let failure = |error: Option<ErrorBody>| match error.map(|error| error.kind) {
            Some(ErrorKind::ReadFailure { received: 0, block_for, failures, .. }) => (block_for, failures),
            other => panic!("a failed read at {level:?}, not {other:?}"),
        };
        match failure(error(&mut client, Version::V4, READ, level)) {
            (needed, Failures::Count(count)) => {
                assert_eq!(needed, block_for, "{level:?}");
                assert!((1..=counted.len()).contains(&(count as usize)), "{count} at {level:?}");
            }
            other => panic!("{other:?}"),
        }
        match failure(error(&mut newer, Version::V5, READ, level)) {
            (needed, Failures::Reasons(reasons)) => {
                assert_eq!(needed, block_for, "{level:?}");
                assert!(!reasons.is_empty(), "{level:?}");
                for (node, reason) in reasons {
                    assert!(counted.contains(&node), "{node} at {level:?}");
                    assert_eq!(reason, TOO_MANY_TOMBSTONES, "{node} at {level:?}");
                }
            }
            other => panic!("{other:?}"),
        }
    }
    servers.into_iter().for_each(Server::stop);
}
