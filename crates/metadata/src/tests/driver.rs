//! Starts and the driver on a real file: what a node alone writes for a start and for a change, and what a failed write leaves.

use std::cell::RefCell;
use std::rc::Rc;

use raft::{Configuration, Entry as PlacedEntry, Envelope, Index, Message, NodeId, Origin, Payload, Term};

use super::members::planted;
use super::*;
use crate::group::{
    Answer, Applier, Applying, Driver, GroupId, GroupMessage, Plan, Planner, ProposalId, Snapshot, node_id,
};

const HOST: HostId = HostId([7; 16]);

/// Makes a keyspace of each intention, once, and notes what shards would apply.
#[derive(Clone, Default)]
struct Keyspaces {
    applied: Rc<RefCell<Vec<Entry>>>,
    /// Messages to other nodes, with the blocks of the log at that moment.
    sent: Rc<RefCell<Vec<(GroupMessage, usize)>>>,
    log: std::path::PathBuf,
}

fn put(intention: &[u8]) -> Entry {
    let change = keyspace(std::str::from_utf8(intention).expect("a name"));
    let Record::Entry(entry) = schema_record(vec![change]) else { panic!("a change is an entry") };
    entry
}

impl Planner for Keyspaces {
    fn plan(&self, state: &ClusterState, _: &Configuration, intention: &[u8]) -> Plan {
        let name = std::str::from_utf8(intention).expect("a name");
        match state.of::<SchemaDomain>().keyspace(name) {
            Some(_) => Plan::Refused(b"it exists".to_vec()),
            None => Plan::Change(put(intention)),
        }
    }
}

impl Applier for Keyspaces {
    fn apply(&self, _: Index, _: ProposalId, entry: Entry) -> Applying<'_> {
        Box::pin(async move { self.applied.borrow_mut().push(entry) })
    }

    fn replace(&self, _: Index, _: ClusterState) -> Applying<'_> {
        panic!("there is no other node");
    }

    fn send(&self, _: NodeId, message: GroupMessage) {
        let bytes = std::fs::read(&self.log).expect("the log can be read");
        self.sent.borrow_mut().push((message, used_blocks(&bytes)));
    }
}

async fn open(rt: &Runtime, folder: &Folder) -> Opened {
    MetadataLog::open_bounded(rt, &folder.0, &domains(), SMALL).await.expect("the log opens")
}

async fn start(rt: &Runtime, folder: &Folder, boot: u64) -> Started {
    let start = Start::new(HOST, boot, 9);
    open(rt, folder).await.start(start, Way::OwnOrFounded, &domains()).await.expect("the start is recorded")
}

async fn drive(rt: &Runtime, folder: &Folder, boot: u64) -> (MetadataLog, Driver, Keyspaces) {
    let MetadataParts { log, member, .. } = start(rt, folder, boot).await.parts;
    let applier = Keyspaces { log: folder.log(), ..Keyspaces::default() };
    (log.clone(), Driver::start(rt, log, member, Box::new(applier.clone())), applier)
}

async fn propose(driver: &Driver, name: &str) -> Answer {
    driver.propose(driver.new_id(), name.as_bytes().to_vec()).await
}

fn blocks(folder: &Folder) -> usize {
    records_of(folder).len() / BLOCK - 1
}

/// The same of a log's bytes.
fn used_blocks(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last / BLOCK)
}

#[test]
fn a_first_start_is_one_record_and_so_is_each_other() {
    let folder = Folder::new("starts-alone");
    for boot in 1..4 {
        let (before, group) = (boot as usize, 9);
        on_runtime(|rt| async {
            let rt = rt;
            let Started { parts, local, cluster } = start(&rt, &folder, boot).await;
            assert_eq!(local.boot, Some(boot - 1).filter(|boot| *boot > 0));
            assert_eq!((parts.member.group().id, parts.member.state().epoch()), (group, Index(1)));
            assert_eq!(parts.member.raft().leader(), Some(node_id(HOST)), "alone, it leads at once");
            assert!(cluster.of::<SchemaDomain>().keyspaces().is_empty());
        });
        assert_eq!(blocks(&folder), before, "one block a start");
    }
}

#[test]
fn a_log_from_before_there_were_groups_founds_one_with_its_state() {
    let folder = Folder::new("founds");
    std::fs::write(folder.log(), layout::file_of(some_records().iter().map(Record::to_bytes)))
        .expect("it can be written");
    let before = blocks(&folder);
    for boot in [2, 3] {
        on_runtime(|rt| async {
            let rt = rt;
            let Started { parts, local, cluster } = start(&rt, &folder, boot).await;
            assert_eq!(parts.member.state().epoch(), Index(2), "as many as there were entries");
            assert_eq!(cluster.of::<SchemaDomain>().keyspaces().len(), 2);
            assert_eq!((local.host_id, local.truncations().count()), (Some(HOST), 1));
        });
    }
    // The snapshot has the long name in it.
    assert_eq!(blocks(&folder) - before, 3 + 1);
}

/// Truncations that the cluster decided and the node did not carry out are one record more, and only once.
#[test]
fn a_start_makes_truncations_durable_before_the_data_is_read() {
    let folder = Folder::new("truncates-at-start");
    let position = |shard| Position { boot: 1, shard, sequence: u64::MAX };
    let of = |table, shards: Vec<u16>| Truncation {
        table,
        positions: shards.into_iter().map(position).collect(),
        mark: Some(Mark([5; 16])),
    };
    let decided = [of(TABLE, vec![0, 3]), of([2; 16], vec![0])];
    on_runtime(|rt| async {
        let rt = rt;
        let mut started = start(&rt, &folder, 2).await;
        let before = blocks(&folder);
        started.truncate(Vec::new()).await.expect("there is nothing to write");
        assert_eq!(blocks(&folder), before);
        started.truncate(decided.to_vec()).await.expect("it is written");
        assert_eq!(blocks(&folder), before + 1);
        assert_eq!(started.local.mark(TABLE), Some(Mark([5; 16])));
        assert_eq!(started.parts.truncated.len(), 2);
    });
    on_runtime(|rt| async {
        let rt = rt;
        let started = start(&rt, &folder, 3).await;
        let mut found: Vec<Truncation> = started.local.truncations().collect();
        found.sort_by_key(|of| of.table != TABLE);
        assert_eq!(found, decided);
        assert_eq!(started.parts.truncated, decided.iter().map(|of| (of.table, Mark([5; 16]))).collect());
    });
}

/// A node that cannot apply an entry ends: the entry does not count as applied, and its asker hears why.
#[test]
fn a_driver_that_is_ended_answers_its_askers_and_takes_no_more() {
    let folder = Folder::new("ended");
    on_runtime(|rt| async {
        let rt = rt;
        let (_, driver, _) = drive(&rt, &folder, 1).await;
        let asking = driver.clone();
        let asked = rt.spawn(runtime::Group::Query, async move { propose(&asking, "one").await });
        rt.yield_now().await;
        driver.end("the shards are gone".to_owned());
        let failed = Answer::Failed { reason: "the shards are gone".to_owned() };
        assert_eq!(asked.await, failed);
        assert_eq!(propose(&driver, "two").await, failed);
    });
}

#[test]
fn a_change_of_a_node_alone_is_one_record_and_refusals_are_none() {
    let folder = Folder::new("changes-alone");
    on_runtime(|rt| async {
        let rt = rt;
        let (_, driver, applier) = drive(&rt, &folder, 1).await;
        let before = blocks(&folder);
        let applied = |epoch| Answer::Applied { epoch: Index(epoch), lagging: Vec::new() };
        assert_eq!(propose(&driver, "one").await, applied(2));
        assert_eq!(propose(&driver, "two").await, applied(3));
        let refused = Answer::Refused { epoch: Index(3), reason: b"it exists".to_vec() };
        assert_eq!(propose(&driver, "one").await, refused);
        assert_eq!(blocks(&folder) - before, 2);
        assert_eq!(*applier.applied.borrow(), [put(b"one"), put(b"two")]);
        driver.with_member(|member, _| assert!(member.raft().log().entries().is_empty(), "a snapshot stands for them"));
    });
    on_runtime(|rt| async {
        let rt = rt;
        let (_, driver, applier) = drive(&rt, &folder, 2).await;
        driver.with_member(|member, _| {
            let names = member.state().cluster().of::<SchemaDomain>().keyspaces();
            assert_eq!((names.len(), member.state().epoch()), (2, Index(3)));
        });
        assert!(matches!(propose(&driver, "one").await, Answer::Refused { .. }));
        assert!(applier.applied.borrow().is_empty(), "what a start restores is not applied again");
    });
}

#[test]
fn a_change_that_finds_no_room_is_taken_back_and_what_follows_does_not_know_it() {
    let folder = Folder::new("taken-back");
    on_runtime(|rt| async {
        let rt = rt;
        let (log, driver, applier) = drive(&rt, &folder, 1).await;
        let mut kept = 0;
        let refusal = loop {
            assert!(kept < 100, "the log is full some time");
            match propose(&driver, &format!("{kept}{}", "long".repeat(10 * BLOCK / 4))).await {
                Answer::Applied { .. } => kept += 1,
                other => break other,
            }
        };
        let Answer::Failed { reason } = &refusal else { panic!("{refusal:?}") };
        assert!(reason.ends_with("drop unused tables"), "{reason}");
        log.check().expect("it takes records");
        assert_eq!(applier.applied.borrow().len(), kept);
        // The state is as without it: a short one is not refused for being there, and finds its place.
        for name in ["short", "shorter"] {
            driver.with_member(|member, _| {
                assert_eq!(member.raft().log().last_index(), member.state().epoch(), "nothing waits to be written");
            });
            let _ = propose(&driver, name).await;
        }
        let epoch = driver.with_member(|member, _| member.state().epoch());
        let again = open(&rt, &folder).await;
        let found = again.state.group.state(&domains()).expect("it can be read").expect("it is of a group");
        assert_eq!(found.epoch(), epoch);
        assert_eq!(found.cluster().of::<SchemaDomain>().keyspaces().len(), applier.applied.borrow().len());
    });
}

#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let mode = || std::fs::metadata(folder.log()).expect("it is there").permissions().mode() & 0o777;
    on_runtime(|rt| async {
        let rt = rt;
        drop(start(&rt, &folder, 1).await);
    });
    assert_eq!(mode(), 0o600);
    // As earlier versions made it.
    std::fs::set_permissions(folder.log(), std::fs::Permissions::from_mode(0o644)).expect("it can be set");
    on_runtime(|rt| async {
        let rt = rt;
        drop(start(&rt, &folder, 2).await);
    });
    assert_eq!(mode(), 0o600);
}

/// A voter of three gets an entry of the leader of the next term.
#[test]
fn an_entry_is_acknowledged_when_it_is_on_the_disk() {
    let folder = Folder::new("acknowledged");
    on_runtime(|rt| async {
        let rt = rt;
        let (own, leader) = (node_id(HOST), NodeId(2));
        let configuration = Configuration::new([own, leader, NodeId(3)]).expect("there are voters");
        let origin = Origin { index: Index(1), term: Term(1), leader: Some(leader), configuration };
        let snapshot = Snapshot { origin, recent: Vec::new(), parts: Vec::new() };
        let start = Start::new(HOST, 1, 9).planted(planted());
        let way = Way::Joined(GroupId { id: 9, incarnation: 0 }, snapshot);
        let MetadataParts { log, member, .. } =
            open(&rt, &folder).await.start(start, way, &domains()).await.expect("the start is recorded").parts;
        let applier = Keyspaces { log: folder.log(), ..Keyspaces::default() };
        let driver = Driver::start(&rt, log, member, Box::new(applier.clone()));
        let before = blocks(&folder);
        let entry = PlacedEntry { term: Term(2), index: Index(2), payload: Payload::Lead(leader) };
        let message = Message::Append {
            previous_index: Index(1),
            previous_term: Term(1),
            entries: vec![entry],
            commit: Index(1),
        };
        driver.receive(leader, GroupMessage::Raft(Envelope { from: leader, to: own, term: Term(2), message }));
        while applier.sent.borrow().is_empty() {
            rt.yield_now().await;
        }
        let sent = applier.sent.borrow();
        let acknowledges = |message: &GroupMessage| {
            matches!(message, GroupMessage::Raft(Envelope { message: Message::Appended { matched: Index(2) }, .. }))
        };
        let (_, at) = sent.iter().find(|(message, _)| acknowledges(message)).expect("it is acknowledged");
        assert!(*at > before, "the record is there when the answer leaves");
    });
}

/// Its answer may be lost, and its address is taken by the host id that it asked with.
#[test]
fn a_node_that_dies_before_it_has_joined_is_the_same_at_its_next_start() {
    let folder = Folder::new("joining");
    let (first, second) = on_runtime(|rt| async move {
        let asking = open(&rt, &folder).await;
        for _ in 0..2 {
            asking.count_start(HOST, 1).await.expect("it is counted");
        }
        let first = blocks(&folder);
        drop(asking);
        let opened = open(&rt, &folder).await;
        assert_eq!((opened.state.local.host_id, opened.state.local.boot), (Some(HOST), Some(1)));
        opened.count_start(HOST, 2).await.expect("it is counted");
        let configuration = Configuration::new([NodeId(2)]).expect("there is a voter");
        let origin = Origin { index: Index(5), term: Term(1), leader: Some(NodeId(2)), configuration };
        let snapshot = Snapshot { origin, recent: Vec::new(), parts: Vec::new() };
        let way = Way::Joined(GroupId { id: 9, incarnation: 0 }, snapshot);
        let start = Start::new(HOST, 2, 9);
        opened.start(start, way, &domains()).await.expect("the start is recorded");
        let opened = open(&rt, &folder).await;
        assert_eq!((opened.state.local.host_id, opened.state.local.boot), (Some(HOST), Some(2)));
        assert_eq!(opened.state.group.commit(), Index(5));
        (first, blocks(&folder))
    });
    assert_eq!((first, second), (1, 3), "one record before the question, each time, and one with the answer");
}
