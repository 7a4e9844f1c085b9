//! Writes the corpora's first inputs: one good example of each message, statement and record, made by the encoders themselves, so that
//! no binary files lie in the repository and the seeds follow the formats.

mod access;
mod component;
mod index;

use std::fs;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::Path;

use cluster::coordinator::{Page, ReplicaError};
use cluster::paxos::{Ballot, Commit, Promise, Proposal as PaxosProposal, Purpose as PaxosPurpose};
use cluster::replica::{
    Accept, Accepted, PeerAnswer, PeerRead, PeerRequest, PeerShard, Prepare as PaxosPrepare, Prepared, Promised,
    encode_answer, encode_request,
};
use cql_protocol::{
    Batch, BatchBuilder, BatchKind, BatchQuery, Codec, Compression, Consistency, ErrorBody, ErrorKind, EventKinds,
    Execute, Options, Prepare, Query, QueryParams, Register, Request, Startup, Value, ValuesBuffer, Version, segment,
};
use internode::{Boot as StartBoot, GroupTag, Head, Hello, PING, PONG, Purpose, Verdict, Welcome, write_frame};
use membership::TopologyDomain;
use metadata::group::{
    GroupId, GroupMessage, GroupRecord, GroupWire, Heartbeat, Proposal, ProposalId, Remembered, Reply,
    Request as GroupRequest, Snapshot, Vitals,
};
use metadata::{DomainId, Entry, Fact, Mark, Part, Position, Record, Truncation};
use mutation::{CellRef, ClusteringRef, Deletion, Expiry, Liveness, MutationEncoder, ReadCommand, RowBuilder, RowRef};
use raft::{Configuration, Envelope, Index, Message, NodeId, Payload, Term, Vote};
use schema::truncations::{self, TruncationChange};
use schema::{ColumnId, SchemaChange, TableId};
use sstable::checksum::ChunkChecksums;
use sstable::compression::{ChunkEncoder, CompressionInfo, CompressionParams, Compressor};
use sstable::data::DataWriter;
use sstable::helenus_component::{ComponentSum, HelenusComponent, LogSpan, Origin};
use sstable::statistics::FileFacts;
use sstable::{Component, EncodingStats, Header, Marker};
use storage::DataSink;
use storage::reader::{DataPageLimits, DataPageWriter};
use tls::{Identity, Material, Options as TlsOptions, Versions};
use topology::nodes::{Boot, Features, NodeState, Release, Start};
use topology::{HostId, NodeChange, RegisteredNode, Token};

use crate::every_form;
use crate::targets::pems;

const BALLOT: Ballot = Ballot([0, 1, 2, 3, 4, 5, 0x16, 7, 0x80, 9, 10, 11, 12, 13, 14, 15]);

const STATEMENTS: [&str; 22] = [
    "SELECT * FROM t WHERE k = 1 ORDER BY v ANN OF [1.5, -2] LIMIT 3",
    "ATTACH SERVICE_LEVEL l TO r",
    "SELECT * FROM t USING SERVICE LEVEL l",
    "SELECT a, count(*), writetime(b) AS t FROM ks.t WHERE k = ? AND c >= 1 AND c < :end ORDER BY c DESC PER PARTITION LIMIT 2 LIMIT 10 ALLOW FILTERING",
    "SELECT DISTINCT k FROM t WHERE token(k) > -9223372036854775808 AND token(k) <= ?",
    "SELECT * FROM t WHERE k IN (1, 2, 3) AND (a, b) > (1, 'x')",
    "INSERT INTO ks.t (k, \"Mixed\", v) VALUES (0xcafe, 'it''s', [1, 2]) IF NOT EXISTS USING TTL 60 AND TIMESTAMP 1",
    "UPDATE t USING TIMESTAMP ? SET a = 1.5e-3, b = NaN, c = {'k': 1} WHERE k = 123e4567-e89b-12d3-a456-426614174000",
    "DELETE a, b FROM t USING TIMESTAMP 5 WHERE k = true AND c = -1",
    "BEGIN UNLOGGED BATCH USING TIMESTAMP 1 INSERT INTO t (k) VALUES (1); DELETE FROM t WHERE k = 2; APPLY BATCH",
    "CREATE KEYSPACE IF NOT EXISTS ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'} AND durable_writes = true",
    "CREATE TABLE ks.t (a int, b frozen<list<text>>, c map<uuid, tuple<int, double>>, s text static, PRIMARY KEY ((a, b), c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = '' AND COMPACT STORAGE",
    "DROP TABLE IF EXISTS ks.t",
    "TRUNCATE TABLE t",
    "USE \"Ks\"",
    "DESCRIBE TABLE ks.t",
    "CREATE ROLE IF NOT EXISTS r WITH PASSWORD = 'x' AND LOGIN = true AND OPTIONS = {'a': 1} AND ACCESS TO DATACENTERS {'dc1'} AND ACCESS FROM ALL CIDRS",
    "ALTER USER 'u' WITH HASHED PASSWORD '$2a$10$x' NOSUPERUSER",
    "GRANT SELECT, UNMASK PERMISSION ON FUNCTION ks.f(int, frozen<list<text>>) TO \"R\"",
    "LIST ALL PERMISSIONS ON MBEANS 'a:type=*,keyspace=\"k\",*' OF r NORECURSIVE",
    "ADD IDENTITY 'spiffe://x' TO ROLE r",
    "SELECT $$dollar$$, 1y2mo3d, -- comment\n /* more */ f(g(1)) FROM t",
];

/// Responses that are right and wrong, and hashes of each kind.
const SASL: [&[u8]; 7] = [
    b"\0cassandra\0secret",
    b"someone\0cassandra\0secret",
    b"cassandra\0secret",
    b"\0\0secret",
    b"a\0b\0c\0d",
    b"$2a$10$abcdefghijklmnopqrstuuMoDrhIhDgUqbdSNZcoNfCqWG2JqGG62",
    b"$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.",
];

/// Writes `FOLDER/<target>/<name>`.
pub fn write_all(folder: &Path) {
    for (number, frame) in Version::ALL.into_iter().flat_map(requests).enumerate() {
        write(folder, "requests", number, &frame);
        for (which, compression) in [Compression::Lz4, Compression::Snappy].into_iter().enumerate() {
            let mut packed = Vec::new();
            compression.compress(&frame, &mut packed);
            write(folder, "decompression", number * 2 + which, &packed);
        }
        for (which, codec) in [Codec::Plain, Codec::Lz4].into_iter().enumerate() {
            let mut bytes = Vec::new();
            segment::encode_frames(&frame, codec, &mut bytes);
            write(folder, "segments", number * 2 + which, &bytes);
        }
    }
    for (number, frame) in responses().iter().enumerate() {
        write(folder, "responses", number, frame);
    }
    for (number, text) in STATEMENTS.iter().enumerate() {
        write(folder, "cql_text", number, text.as_bytes());
    }
    for (number, bytes) in SASL.iter().enumerate() {
        write(folder, "sasl", number, bytes);
    }
    for (number, bytes) in access::certificates().iter().enumerate() {
        write(folder, "identity", number, bytes);
    }
    for (number, bytes) in access::entries().iter().enumerate() {
        write(folder, "access_entry", number, bytes);
    }
    for (number, bytes) in hello_seeds().iter().enumerate() {
        write(folder, "client_hello", number, bytes);
    }
    for (number, record) in [mutation_seed(), elements_seed(), read_seed()].iter().enumerate() {
        write(folder, "mutations", number, record);
    }
    for (number, bytes) in group_message_seeds().iter().enumerate() {
        write(folder, "group_messages", number, bytes);
    }
    for (number, bytes) in internode_seeds().iter().enumerate() {
        write(folder, "internode", number, bytes);
    }
    for is_reversed in [false, true] {
        let (data, statistics) = sstable_seeds(is_reversed);
        write(folder, "sstable_data", usize::from(is_reversed), &data);
        write(folder, "sstable_statistics", usize::from(is_reversed), &statistics);
    }
    for (number, bytes) in sstable_file_seeds().iter().enumerate() {
        write(folder, "sstable_files", number, bytes);
    }
    for (number, bytes) in index::seeds().iter().enumerate() {
        write(folder, "sstable_index", number, bytes);
    }
    for (number, bytes) in component::seeds().iter().enumerate() {
        write(folder, "index_component", number, bytes);
    }
    for (number, record) in log_seeds().iter().enumerate() {
        write(folder, "log_records", number, record);
    }
}

fn write(folder: &Path, target: &str, number: usize, bytes: &[u8]) {
    let folder = folder.join(target);
    fs::create_dir_all(&folder).expect("the folder can be made");
    fs::write(folder.join(format!("seed-{number:03}")), bytes).expect("the seed can be written");
}

/// Hellos of both versions of TLS, in pieces of 255 bytes, and what follows a version's negotiation in vain: an alert.
fn hello_seeds() -> Vec<Vec<u8>> {
    let material = Material::parse(pems()).expect("the PEM is right");
    let hello = |versions| {
        let identity = Identity::new(&material, TlsOptions { versions, ..TlsOptions::default() });
        let mut bytes = vec![255];
        identity.dial(0, Ipv6Addr::LOCALHOST.into()).send(&mut bytes);
        bytes
    };
    let alert = vec![1, 0x15, 3, 3, 0, 2, 1, 0];
    vec![hello(Versions::Both), hello(Versions::Tls12), hello(Versions::Tls13), alert]
}

fn requests(version: Version) -> Vec<Vec<u8>> {
    let mut values = ValuesBuffer::new();
    for value in [Value::Bytes(b"some"), Value::Null, Value::Unset] {
        values.push(value).expect("three are few");
    }
    let mut params = QueryParams::new(Consistency::Quorum);
    params.values = values.values();
    params.page_size = Some(100);
    params.paging_state = Some(b"state");
    params.timestamp = Some(5);
    let mut batch = BatchBuilder::new();
    batch.push(BatchQuery::Text("INSERT INTO t (a) VALUES (?)"), values.values()).expect("two are few");
    batch.push(BatchQuery::Prepared(&[7; 16]), values.values()).expect("two are few");
    let batch: Batch<'_> = batch.batch(BatchKind::Unlogged, QueryParams::new(Consistency::One));
    let mut buffer = Vec::new();
    let requests = [
        Request::Startup(Startup::of(&[("CQL_VERSION", "3.0.0"), ("COMPRESSION", "lz4")], &mut buffer)),
        Request::Options(Options),
        Request::Query(Query { text: STATEMENTS[0], params }),
        Request::Prepare(Prepare { text: STATEMENTS[3], keyspace: None }),
        Request::Execute(Execute {
            id: &[7; 16],
            result_metadata_id: (version == Version::V5).then_some(&[8; 16][..]),
            params,
        }),
        Request::Batch(batch),
        Request::Register(Register { events: EventKinds::SCHEMA_CHANGE }),
    ];
    let encode = |request: &Request<'_>| {
        let mut frame = Vec::new();
        request.encode_frame(version, 1, &mut frame);
        frame
    };
    requests.iter().map(encode).collect()
}

fn responses() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for version in Version::ALL {
        let mut append = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = Vec::new();
            write(&mut frame);
            all.push(frame);
        };
        append(&|out| cql_protocol::write_void(out, version, 1));
        append(&|out| cql_protocol::write_ready(out, version, 1));
        append(&|out| cql_protocol::write_set_keyspace(out, version, 1, "ks"));
        append(&|out| {
            cql_protocol::write_error(out, version, 1, &ErrorBody { message: "no".into(), kind: ErrorKind::Overloaded })
        });
        append(&|out| cql_protocol::write_authenticate(out, version, 1, "class"));
    }
    all
}

/// A row with elements of a column of several cells, and the deletion of what was there.
fn elements_seed() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut bytes, TableId([1; 16]), Token(-5), b"key");
    mutation
        .row([&b"c"[..]])
        .tombstone(ColumnId(3), 9, 2)
        .element(ColumnId(3), b"a", 10, Some(Expiry { ttl: 5, local_deletion_time: 7 }), b"value")
        .element_tombstone(ColumnId(3), b"b", 10, 2);
    mutation.finish();
    bytes
}

fn mutation_seed() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut mutation = MutationEncoder::begin(&mut bytes, TableId([1; 16]), Token(-5), b"key");
    mutation.partition_deletion(Deletion { timestamp: 1, local_deletion_time: 2 });
    mutation.static_row().cell(ColumnId(3), 10, None, b"static");
    let expiry = Expiry { ttl: 60, local_deletion_time: 1000 };
    mutation
        .row([&b"one"[..], b"two"])
        .liveness(10, Some(expiry))
        .cell(ColumnId(4), 10, Some(expiry), b"value")
        .tombstone(ColumnId(5), 9, 900);
    mutation.finish();
    bytes
}

fn read_seed() -> Vec<u8> {
    let mut bytes = Vec::new();
    ReadCommand::partition(TableId([1; 16]), Token(-5), b"key", 1000).encode(&mut bytes);
    bytes
}

/// Records of the metadata log, and a commit log's records as that target reads them: the length, the kind, the mutation.
fn log_seeds() -> Vec<Vec<u8>> {
    let mutation = mutation_seed();
    let length = u16::try_from(mutation.len() + 1).expect("a small mutation");
    let record = [&length.to_be_bytes()[..], &[1], &mutation[..]].concat();
    let position = Position { boot: 1, shard: 2, sequence: 3 };
    let changes = schema::domain::encode(&[SchemaChange::DropKeyspace("ks".into())]);
    let schema = Part { domain: DomainId::SCHEMA, version: schema::domain::VERSION, bytes: changes };
    let of_nodes = node_changes();
    let (nodes, node) = (TopologyDomain::part(&of_nodes), TopologyDomain::part(&of_nodes[1..2]));
    let (mark, table) = (truncations::Mark([6; 16]), TableId([1; 16]));
    let changes = [TruncationChange::Truncate(table, mark), TruncationChange::Forget(table)];
    let bytes = truncations::encode(&changes);
    let emptied = Part { domain: DomainId::TRUNCATIONS, version: truncations::VERSION, bytes };
    let other = Part { domain: DomainId(9), version: 1, bytes: vec![1, 2, 3] };
    let proposal = Proposal { id: ProposalId(5), first: Index(2), entry: Some(Entry::of(schema.clone())) };
    let cancelled = Proposal { entry: None, ..proposal.clone() };
    let configuration = Configuration::new([NodeId(1), NodeId(2)]).expect("there are voters");
    let joint = Configuration::of_halves([NodeId(1)], [NodeId(2)]).expect("there are voters");
    let placed = |payload| GroupRecord::Entry {
        entry: raft::Entry { term: Term(3), index: Index(4), payload },
        is_committed: false,
    };
    let origin = raft::Origin { index: Index(4), term: Term(3), leader: Some(NodeId(1)), configuration };
    let (recent, parts) =
        (vec![Remembered { id: ProposalId(5), epoch: Index(3), is_cancelled: true }], vec![schema.clone()]);
    let group: [GroupRecord; 8] = [
        GroupRecord::Vote { vote: Vote { term: Term(3), voted_for: Some(NodeId(1)) }, is_lost: false },
        placed(Payload::Lead(NodeId(1))),
        placed(Payload::Change(proposal.to_bytes().into())),
        placed(Payload::Change(cancelled.to_bytes().into())),
        placed(Payload::Voters(joint)),
        GroupRecord::Snapshot(Snapshot { origin, recent, parts }),
        GroupRecord::Group(GroupId { id: 9, incarnation: 8 }),
        GroupRecord::Commit(Index(4)),
    ];
    let truncated = Truncation { table: [1; 16], positions: vec![position], mark: None };
    let marked = Truncation { mark: Some(Mark([6; 16])), ..truncated.clone() };
    let metadata: [Record; 7] = [
        Fact::HostId(HostId([9; 16])).into(),
        Fact::Boot(7).into(),
        Fact::Truncated(truncated).into(),
        Fact::Truncated(marked).into(),
        Entry::of(schema.clone()).into(),
        Entry::new(vec![nodes, schema, emptied, other]).into(),
        Entry::of(node).into(),
    ];
    let records = metadata.into_iter().chain(group.map(Record::Group)).map(|record| record.to_bytes());
    std::iter::once([&record[..], &record[..]].concat()).chain(records).collect()
}

/// Each kind of change of the registry of nodes.
fn node_changes() -> [NodeChange; 4] {
    let internode = SocketAddr::from(([10, 0, 0, 1], 7000)).into();
    let start = Start {
        boot: Boot { number: 3, word: 77 },
        internode,
        native: SocketAddr::from((Ipv6Addr::LOCALHOST, 9042)).into(),
        shard_count: 2,
        release: Release { major: 0, minor: 1, patch: 0 },
        features: Features(1),
    };
    let (datacenter, rack) = ("datacenter1".to_owned(), "rack1".to_owned());
    let tokens = vec![Token(-5), Token(5)];
    let node = RegisteredNode { state: NodeState::Normal, datacenter, rack, tokens, start };
    [
        NodeChange::Remove(HostId([1; 16])),
        NodeChange::Put(HostId([2; 16]), node.into()),
        NodeChange::Started(HostId([2; 16]), start),
        NodeChange::SetState(HostId([2; 16]), NodeState::Regressed),
    ]
}

/// Each kind of message between nodes of a group, and of messages between voters; and all of them in a row, as that target reads them.
fn group_message_seeds() -> Vec<Vec<u8>> {
    let (one, two, id) = (NodeId(1), NodeId(2), ProposalId(3));
    let (index, term) = (Index(4), Term(5));
    let entry = |index, payload| raft::Entry { term: Term(5), index: Index(index), payload };
    let entries = vec![entry(5, Payload::Lead(one)), entry(6, Payload::Change([7, 8].into()))];
    let append =
        Message::Append { previous_index: index, previous_term: term, entries: entries.clone(), commit: Index(2) };
    let raft = [
        Message::Vote { pre: true, transfer: false, last_index: index, last_term: term },
        Message::VoteReply { pre: false, granted: true },
        append,
        Message::Appended { matched: index },
        Message::Diverged { previous_index: index, hint: Index(3), hint_term: Term(2) },
        Message::Committed { commit: index, commit_term: term },
        Message::Heartbeat { commit: index, commit_term: term, round: 6 },
        Message::HeartbeatReply { round: 6, commit: index, lost: true },
        Message::TransferNow,
        Message::Outdated,
    ];
    let raft = raft.map(|message| GroupMessage::Raft(Envelope { from: one, to: two, term, message }));
    let configuration = Configuration::new([one, two]).expect("there are voters");
    let origin = raft::Origin { index, term, leader: Some(one), configuration };
    let parts = vec![Part { domain: DomainId(2), version: 1, bytes: vec![7; 9] }];
    let snapshot = Snapshot { origin, recent: vec![Remembered { id, epoch: Index(3), is_cancelled: false }], parts };
    let replies = [
        Reply::NotLeader { leader: Some(one) },
        Reply::LeadsNoMore { leader: None },
        Reply::Refused { epoch: index, reason: b"no".to_vec() },
        Reply::Applied { epoch: index, lagging: vec![two] },
        Reply::Cancelled { epoch: index },
        Reply::Failed { reason: "full".to_owned() },
        Reply::TooLate,
        Reply::Busy,
    ];
    let propose = |request| GroupMessage::Propose { id, first: index, copy: 1, request };
    let others = [
        GroupMessage::Entries { previous: (index, term), entries },
        GroupMessage::Since { epoch: index },
        GroupMessage::Snapshot(snapshot),
        GroupMessage::Applied { epoch: index },
        propose(GroupRequest::Plan(b"intention".to_vec())),
        propose(GroupRequest::Cancel),
        GroupMessage::WhoLeads { id },
        GroupMessage::Leads { id, leader: Some(one) },
    ];
    let replies = replies.map(|reply| GroupMessage::Reply { id, copy: 1, reply });
    let bodies = raft.into_iter().chain(others).chain(replies);
    let encode = |message: GroupMessage| GroupWire::new().encode(two, &message).expect("it is short");
    let mut seeds: Vec<Vec<u8>> = bodies.flat_map(encode).collect();
    let row = |bodies: &[Vec<u8>]| -> Vec<u8> {
        let length = |body: &Vec<u8>| u16::try_from(body.len()).expect("it is short").to_be_bytes();
        bodies.iter().flat_map(|body| [&length(body)[..], body].concat()).collect()
    };
    seeds.push(row(&seeds));
    let position = Position { boot: 2, shard: 0, sequence: 4 };
    let positions = vec![position];
    let vitals = Vitals { wall_micros: 5, generation: 6, disk_bytes: 7, schema_version: [8; 16] };
    for vitals in [None, Some(vitals)] {
        let positions = positions.clone();
        let heartbeat = Heartbeat {
            is_whole: true,
            older: Some(index),
            is_ready: true,
            is_lost: true,
            epoch: index,
            boot: 2,
            began: index,
            positions,
            vitals,
        };
        seeds.push(heartbeat.to_bytes());
    }
    seeds
}

/// Greetings and each kind of message, as they travel and as the target's sealed bodies.
fn internode_seeds() -> Vec<Vec<u8>> {
    let (host_id, wanted) = (HostId([1; 16]), HostId([2; 16]));
    let cluster_name = "Test Cluster".to_owned();
    let (group, boot) = (GroupTag { id: 3, incarnation: 4 }, StartBoot { number: 5, word: 6 });
    let hello = Hello {
        version: 2,
        version_min: 2,
        purpose: Purpose::Requests,
        has_secret: true,
        compresses: true,
        shard: 0,
        shard_count: 2,
        host_id,
        wanted,
        group,
        boot,
        epoch: 7,
        random: [8; 16],
        cluster_name: cluster_name.clone(),
    };
    let welcome = Welcome {
        version: 2,
        verdict: Verdict::Welcome,
        shard_count: 2,
        host_id,
        group,
        boot,
        epoch: 7,
        random: [9; 16],
        cluster_name,
        proof: Some([10; 32]),
    };
    // The greetings' bodies as that target seals them.
    let bodies_of = |greeting: Vec<u8>| greeting[16..].to_vec();
    let greetings = [hello.encode(), welcome.encode()].map(bodies_of);
    let mut page = DataPageWriter::new(DataPageLimits { items: 9, bytes: 9000 });
    page.partition(Token(5), b"key", Some(Deletion { timestamp: 4, local_deletion_time: 3 }), None);
    page.range(Some(b"place"), None);
    let items = page.into_bytes();
    let position = mutation::Position { token: Token(1), key: vec![1], row: Some(vec![2]) };
    let read = PeerRead { of: PeerShard::One { shard: 1, count: 2 }, rows: 5, bytes: 6, command: read_seed() };
    let mut bodies = vec![(PING, Vec::new()), (PONG, Vec::new())];
    for request in [
        PeerRequest::Write { mutations: vec![mutation_seed()] },
        PeerRequest::Count { deltas: vec![mutation_seed()] },
        PeerRequest::Read(read),
        PeerRequest::Prepare(PaxosPrepare {
            ballot: BALLOT,
            purpose: PaxosPurpose::Write,
            wants_committed: false,
            rows: 5,
            bytes: 6,
            command: read_seed(),
        }),
        PeerRequest::Accept(Accept { table: TableId([1; 16]), key: b"key".to_vec(), proposal: accepted() }),
        PeerRequest::Commit { mutations: accepted().mutations },
    ] {
        let mut body = Vec::new();
        bodies.push((encode_request(&request, &mut body), body));
    }
    let refusal = ReplicaError::Malformed { shard: 1.into(), problem: "words".to_owned() };
    let page = Page { items: items.clone(), more_after: Some(position) };
    let promised = Promised {
        promise: Promise::Made,
        earlier: Some(BALLOT),
        accepted: Some(accepted()),
        is_left_out: false,
        committed: Some(Commit { ballot: BALLOT, original: BALLOT }),
        page: page.clone(),
    };
    for answer in [
        PeerAnswer::Written,
        PeerAnswer::Page(page),
        PeerAnswer::Failed(refusal),
        PeerAnswer::Prepared(Prepared::Promised(promised)),
        PeerAnswer::Prepared(Prepared::Outrun(BALLOT)),
        PeerAnswer::Accepted(Accepted::Done),
        PeerAnswer::Accepted(Accepted::Outrun(BALLOT)),
    ] {
        let mut body = Vec::new();
        bodies.push((encode_answer(&answer, &mut body), body));
    }
    let mut seeds = vec![hello.encode(), welcome.encode(), items];
    seeds.extend(greetings);
    let (mut frames, mut sealed) = (Vec::new(), Vec::new());
    for (kind, body) in bodies {
        write_frame(&mut frames, &Head { number: 1, kind, ..Head::default() }, true, |out| {
            out.extend_from_slice(&body)
        })
        .expect("it is short");
        sealed.push(kind);
        sealed.extend_from_slice(&u16::try_from(body.len()).expect("it is short").to_be_bytes());
        sealed.extend_from_slice(&body);
    }
    seeds.extend([frames, sealed]);
    seeds
}

/// A proposal that an acceptor has accepted.
fn accepted() -> PaxosProposal {
    PaxosProposal { ballot: BALLOT, original: BALLOT, mutations: vec![mutation_seed(), mutation_seed()] }
}

/// Data.db of a partition with a row of a cell of each form and a range tombstone; and its statistics, as the parts that the target
/// puts together.
fn sstable_seeds(is_reversed: bool) -> (Vec<u8>, Vec<u8>) {
    let table = every_form::table(is_reversed);
    let header = Header::of_table(&table, EncodingStats::EPOCH);
    let column = |name: &str| table.column(name).expect("the table has it").id;
    let element = |name, path, value| CellRef {
        column: column(name),
        timestamp: 20,
        expiry: None,
        tombstone: None,
        path,
        value,
        is_counter: false,
    };
    let mut row = Vec::new();
    let mut builder = RowBuilder::begin(&row);
    builder.liveness(Liveness { timestamp: 20, expiry: Some(Expiry { ttl: 60, local_deletion_time: 1000 }) });
    let mut cells = vec![
        element("fixed", &[], &[7; 16]),
        element("list", &[1; 16], b"one"),
        element("map", &[1, 0x80], &[5, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        element("text", &[], b"text"),
        element("udt", &[0, 1], &[0, 0, 0, 9]),
        CellRef { tombstone: Some(900), ..element("set", &[], &[]) },
    ];
    cells.sort_by_key(|cell| cell.column);
    cells.iter().for_each(|cell| builder.cell(&mut row, cell));
    builder.finish(&mut row);
    let mut writer = DataWriter::new(&table, &header).expect("the header is the table's");
    let mut data = vec![16 | u8::from(is_reversed)];
    let deletion = Deletion { timestamp: 30, local_deletion_time: 1000 };
    writer.partition(&mut data, b"key", Some(deletion), None);
    writer.row(&mut data, ClusteringRef::trusted(&[2, 1, b'a', 4, 0, 0, 0, 1]), RowRef::trusted(&row));
    let prefix = ClusteringRef::trusted(&[1, 1, b'b']);
    writer.marker(&mut data, &Marker { prefix, after: false, closes: None, opens: Some(deletion) });
    writer.marker(&mut data, &Marker { prefix, after: true, closes: Some(deletion), opens: None });
    writer.end_partition(&mut data);
    let facts = FileFacts {
        bloom_filter_fp_chance: 0.01,
        compression_ratio: -1.0,
        host: [1; 16],
        token_space_coverage: Some(0.5),
        level: 0,
        repaired_at: 0,
    };
    let bytes = writer.finish().finish(&facts).write();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    let starts: Vec<usize> = (0..4).map(|place| number(12 + place * 8)).chain([bytes.len()]).collect();
    let mut parts = vec![8];
    for pair in starts.windows(2) {
        let part = &bytes[pair[0]..pair[1] - 4];
        parts.extend_from_slice(&u16::try_from(part.len()).expect("a small part").to_be_bytes());
        parts.extend_from_slice(part);
    }
    (data, parts)
}

/// The components that are about bytes: the list of chunks of a file of each compressor and a chunk of it, checksums, Helenus.db.
fn sstable_file_seeds() -> Vec<Vec<u8>> {
    let data = b"some data that is some data".repeat(20);
    let mut seeds = Vec::new();
    let compressors = [Compressor::Lz4, Compressor::Snappy, Compressor::Deflate, Compressor::Zstd(3), Compressor::Noop];
    for (which, compressor) in (0..).zip(compressors) {
        let options = vec![("compression_level".to_owned(), "3".to_owned())];
        let params = CompressionParams { compressor, options, chunk_length: 1024, max_compressed_length: 900 };
        let mut chunk = vec![which];
        ChunkEncoder::new(&params).encode(&data, &mut chunk);
        let mut info = CompressionInfo::new(params);
        info.push(data.len(), chunk.len() - 1);
        chunk.truncate(chunk.len() - 4);
        seeds.extend([[&[5, 8][..], &info.encode()].concat(), chunk]);
    }
    let mut checksums = ChunkChecksums::new(4096);
    checksums.push(&data);
    let pages = vec![1, 2];
    let sums = vec![ComponentSum { component: Component::Rows, length: 5000, crc: 9, pages }];
    let tokens = vec![(topology::Token(-1), topology::Token(1))];
    let log = vec![LogSpan { boot: 1, shard: 0, from: 2, to: 3 }];
    let own =
        HelenusComponent { origin: Origin { host: [1; 16], shard_count: 2, shard: 1, log }, tokens, sums }.encode();
    seeds.extend([[&[6][..], &checksums.encode()].concat(), [&[7][..], &own[..own.len() - 4]].concat()]);
    seeds.push(b"\x08Data.db\nTOC.txt\n".to_vec());
    seeds
}
