//! The laws of a repair's messages, the ranges and participants of a repair, and a node's state of those of its shards.

use std::net::IpAddr;
use std::rc::Rc;

use proptest::prelude::*;
use schema::TableId;
use topology::{Epoch, HostId, Node, NodeIndex, ReplicationStrategy, Ring, Strategies, Token, TokenRange};

use super::codec::{SOURCES_MAX, decode_order, decode_report, encode_order, encode_report, kind, verb};
use super::error::RepairRefused;
use super::participant::summed;
use super::ranges::{RepairChoice, Shared};
use crate::plan::Replication;
use crate::streaming::{CopyFigures, CopyJob, JobName, JobOrder, JobReport, JobState};

fn order() -> impl Strategy<Value = (JobOrder, Epoch)> {
    let range = (any::<i64>(), any::<i64>()).prop_filter_map("a range has tokens", |(one, other)| {
        let (after, end) = (Token(one.min(other)), Token(one.max(other)));
        (after < end).then_some(TokenRange { after, end })
    });
    let (ranges, sources) = (prop::collection::vec(range, 0..4), prop::collection::vec(any::<[u8; 16]>(), 0..4));
    let begin = (any::<[u8; 16]>(), any::<[u8; 16]>(), ranges, sources, any::<u64>());
    prop_oneof![
        begin.prop_map(|(name, table, ranges, sources, planned)| {
            let sources = sources.into_iter().map(HostId).collect();
            let planned = Epoch(planned);
            let job = CopyJob { table: TableId(table), ranges, sources, planned, confirms: None };
            (JobOrder::Begin(JobName(name), Box::new(job)), planned)
        }),
        any::<[u8; 16]>().prop_map(|name| (JobOrder::Ask(JobName(name)), Epoch(0))),
        any::<[u8; 16]>().prop_map(|name| (JobOrder::End(JobName(name)), Epoch(0))),
    ]
}

fn report() -> impl Strategy<Value = JobReport> {
    let state = prop_oneof![
        Just(JobState::Unknown),
        Just(JobState::Waiting),
        Just(JobState::Running),
        Just(JobState::Done),
        "[a-zé]{0,200}".prop_map(JobState::Failed),
    ];
    (state, any::<[u64; 5]>()).prop_map(|(state, [units_done, units, rows, bytes, files])| JobReport {
        state,
        figures: CopyFigures { units_done, units, rows, bytes, files },
    })
}

proptest! {
    #[test]
    fn an_order_is_what_was_written((order, planned) in order(), at in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        encode_order(&order, &mut bytes);
        prop_assert!(decode_order(verb(&order), &bytes[..at.index(bytes.len())], planned).is_err());
        prop_assert_eq!(decode_order(verb(&order), &bytes, planned), Ok(order.clone()));
        bytes.push(0);
        prop_assert!(decode_order(verb(&order), &bytes, planned).is_err());
    }

    #[test]
    fn a_report_is_what_was_written(report in report()) {
        let mut bytes = Vec::new();
        encode_report(&report, &mut bytes);
        prop_assert_eq!(decode_report(kind::STATE, &bytes), Ok(report));
    }

    #[test]
    fn no_bytes_panic(verb in any::<u8>(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut of_version = vec![1];
        of_version.extend_from_slice(&bytes);
        for bytes in [&bytes, &of_version] {
            let _ = decode_order(verb, bytes, Epoch(1));
            let _ = decode_report(verb, bytes);
        }
    }
}

#[test]
fn words_of_a_state_are_cut() {
    let report = JobReport { state: JobState::Failed("é".repeat(600)), figures: CopyFigures::default() };
    let mut bytes = Vec::new();
    encode_report(&report, &mut bytes);
    let decoded = decode_report(kind::STATE, &bytes).expect("it is of the version");
    assert_eq!(decoded.state, JobState::Failed("é".repeat(256)));
}

#[test]
fn more_sources_than_a_job_may_have_are_malformed() {
    let job = CopyJob {
        table: TableId([1; 16]),
        ranges: Vec::new(),
        sources: vec![HostId([1; 16]); SOURCES_MAX + 1],
        planned: Epoch(1),
        confirms: None,
    };
    let mut bytes = Vec::new();
    encode_order(&JobOrder::Begin(JobName([1; 16]), Box::new(job)), &mut bytes);
    assert!(decode_order(kind::BEGIN, &bytes, Epoch(1)).is_err());
}

#[test]
fn a_node_is_done_when_all_of_its_shards_are() {
    let of = |states: &[JobState]| {
        let figures = CopyFigures { units_done: 1, units: 2, ..CopyFigures::default() };
        let all = summed(states.iter().map(|state| JobReport { state: state.clone(), figures }).collect());
        assert_eq!(all.figures.units, 2 * states.len() as u64);
        all.state
    };
    use JobState::{Done, Failed, Running, Unknown, Waiting};
    assert_eq!(of(&[Done, Done]), Done);
    assert_eq!(of(&[Done, Running]), Running);
    assert_eq!(of(&[Done, Waiting]), Running);
    assert_eq!(of(&[Waiting, Waiting]), Waiting);
    assert_eq!(of(&[Done, Unknown]), Unknown);
    assert_eq!(of(&[Unknown, Failed("x".into())]), Failed("shard 1: x".into()));
}

const NODES: u8 = 4;

fn host(node: u8) -> HostId {
    HostId([node + 1; 16])
}

fn address(node: u8) -> IpAddr {
    [10, 0, 0, node + 1].into()
}

/// Four nodes of two datacenters with one token each, at 0, 100, 200 and 300.
fn replication(local: u8, strategy: &ReplicationStrategy) -> Replication {
    replication_of([0, 100, 200, 300], local, strategy)
}

fn replication_of(tokens: [i64; NODES as usize], local: u8, strategy: &ReplicationStrategy) -> Replication {
    let node = |number: u8| Node {
        host_id: host(number),
        address: (address(number), 9042).into(),
        internode: (address(number), 7000).into(),
        datacenter: if number == 3 { "other" } else { "here" }.into(),
        rack: "rack".into(),
        tokens: vec![Token(tokens[usize::from(number)])],
    };
    let ring = Rc::new(Ring::new(Epoch(1), (0..NODES).map(node).collect(), NodeIndex(local.into())));
    let rules = Strategies::default().rules(strategy).expect("a built-in strategy");
    Replication::on_ring(&ring, strategy, &*rules)
}

fn simple(replication_factor: u32) -> ReplicationStrategy {
    ReplicationStrategy::Simple { replication_factor }
}

fn range(after: i64, end: i64) -> TokenRange {
    TokenRange { after: Token(after), end: Token(end) }
}

fn shared(participants: &[u8], ranges: &[TokenRange]) -> Shared {
    Shared { participants: participants.iter().map(|node| host(*node)).collect(), ranges: ranges.to_vec() }
}

fn chosen(local: u8, strategy: &ReplicationStrategy, choice: RepairChoice) -> Result<Vec<Shared>, RepairRefused> {
    choice.of("ks", &replication(local, strategy))
}

#[test]
fn a_node_repairs_the_ranges_that_it_replicates_by_participants() {
    // The owner of (0,100] is node 1; the next of the ring is the second replica. The first range wraps.
    let all = chosen(1, &simple(2), RepairChoice::default()).unwrap();
    assert_eq!(all, [shared(&[0, 1], &[range(i64::MIN, 0), range(300, i64::MAX)]), shared(&[1, 2], &[range(0, 100)]),]);
}

#[test]
fn ranges_that_touch_are_one() {
    let all = chosen(0, &simple(4), RepairChoice::default()).unwrap();
    assert_eq!(all, [shared(&[0, 1, 2, 3], &[range(i64::MIN, i64::MAX)])]);
}

/// These nodes, each on its own, repair each token once by a choice.
fn assert_whole_ring_once(nodes: std::ops::Range<u8>, strategy: &ReplicationStrategy, choice: &RepairChoice) {
    let shared = nodes.flat_map(|node| chosen(node, strategy, choice.clone()).unwrap());
    let mut ranges: Vec<TokenRange> = shared.flat_map(|shared| shared.ranges).collect();
    ranges.sort_by_key(|range| range.after);
    assert_eq!(ranges.first().unwrap().after, Token::MIN);
    assert_eq!(ranges.last().unwrap().end, Token::MAX);
    assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].after), "{ranges:?}");
}

#[test]
fn primary_ranges_of_all_nodes_are_the_whole_ring_once() {
    let choice = RepairChoice { is_primary: true, ..RepairChoice::default() };
    assert_whole_ring_once(0..NODES, &simple(3), &choice);
}

#[test]
fn primary_ranges_within_a_datacenter_are_the_whole_ring_once() {
    let datacenters = [("here".to_owned(), 2), ("other".to_owned(), 1)].into();
    let strategy = ReplicationStrategy::NetworkTopology { datacenters };
    let choice = RepairChoice { is_primary: true, datacenters: vec!["here".into()], ..RepairChoice::default() };
    assert_whole_ring_once(0..3, &strategy, &choice);
}

#[test]
fn one_replica_needs_no_repair() {
    assert_eq!(chosen(1, &simple(1), RepairChoice::default()), Ok(Vec::new()));
}

#[test]
fn a_range_given_lies_within_one_of_the_nodes() {
    let of = |after, end| chosen(1, &simple(2), RepairChoice { range: Some(range(after, end)), ..Default::default() });
    assert_eq!(of(10, 20), Ok(vec![shared(&[1, 2], &[range(10, 20)])]));
    assert_eq!(of(400, -5), Ok(vec![shared(&[0, 1], &[range(i64::MIN, -5), range(400, i64::MAX)])]));
    assert_eq!(of(-20, -10), Ok(vec![shared(&[0, 1], &[range(-20, -10)])]));
    let imprecise = of(50, 150).unwrap_err();
    assert_eq!(
        imprecise.to_string(),
        "Requested range (50,150] intersects a local range ((0,100]) but is not fully contained in one; this would lead to imprecise repair. keyspace: ks"
    );
    assert!(matches!(of(110, 120), Err(RepairRefused::Nothing { .. })));
}

#[test]
fn a_range_without_a_token_is_refused() {
    let of = |after, end| chosen(1, &simple(2), RepairChoice { range: Some(range(after, end)), ..Default::default() });
    let refused = of(i64::MAX, i64::MIN).unwrap_err();
    assert_eq!(refused.to_string(), "Range (9223372036854775807,-9223372036854775808] holds no token");
}

#[test]
fn the_replicas_of_a_range_given_are_those_of_the_range_that_holds_it() {
    // Node 3 has the ring's greatest token. The least token ends the range before it, although the next node replicates what follows it.
    let tokens = [0, 100, 200, i64::MAX];
    let of = |after, end| {
        let choice = RepairChoice { range: Some(range(after, end)), ..Default::default() };
        choice.of("ks", &replication_of(tokens, 3, &simple(1)))
    };
    assert_eq!(of(300, i64::MIN), Ok(Vec::new()), "one replica needs no repair");
    let choice = RepairChoice { range: Some(range(300, i64::MIN)), ..Default::default() };
    let shared_by = choice.of("ks", &replication_of(tokens, 3, &simple(2)));
    assert_eq!(shared_by, Ok(vec![shared(&[0, 3], &[range(300, i64::MAX)])]));
}

#[test]
fn ranges_with_one_replica_in_the_datacenters_given_are_refused() {
    let datacenters = [("here".to_owned(), 1), ("other".to_owned(), 1)].into();
    let strategy = ReplicationStrategy::NetworkTopology { datacenters };
    let of = |is_primary| {
        let choice = RepairChoice { is_primary, datacenters: vec!["here".into()], ..RepairChoice::default() };
        chosen(1, &strategy, choice).unwrap_err().to_string()
    };
    for is_primary in [false, true] {
        assert_eq!(of(is_primary), "Nothing to repair for (0,100] in ks - aborting");
    }
    assert_eq!(
        chosen(1, &simple(1), RepairChoice { datacenters: vec!["here".into()], ..Default::default() }),
        Ok(Vec::new())
    );
}

#[test]
fn datacenters_and_hosts_choose_participants() {
    let of = |choice| chosen(1, &simple(4), choice);
    let datacenters = |names: &[&str]| RepairChoice {
        datacenters: names.iter().map(|name| (*name).to_owned()).collect(),
        ..RepairChoice::default()
    };
    let whole = [range(i64::MIN, i64::MAX)];
    assert_eq!(of(datacenters(&["here"])), Ok(vec![shared(&[0, 1, 2], &whole)]));
    assert!(matches!(of(datacenters(&["other"])), Err(RepairRefused::OtherDatacenter { .. })));
    assert!(matches!(of(datacenters(&["here", "nowhere"])), Err(RepairRefused::UnknownDatacenter { .. })));
    let hosts = |nodes: &[u8]| RepairChoice {
        hosts: nodes.iter().map(|node| address(*node)).collect(),
        ..RepairChoice::default()
    };
    assert_eq!(of(hosts(&[1, 3])), Ok(vec![shared(&[1, 3], &whole)]));
    assert_eq!(of(hosts(&[3])), Err(RepairRefused::NotThisHost));
    assert!(matches!(of(hosts(&[1])), Err(RepairRefused::NoneShared { .. })));
    assert!(matches!(of(hosts(&[1, 9])), Err(RepairRefused::UnknownHost { .. })));
    let both = RepairChoice { hosts: vec![address(1)], ..datacenters(&["here"]) };
    assert_eq!(of(both), Err(RepairRefused::HostsAndDatacenters));
    let primary = RepairChoice { is_primary: true, ..hosts(&[1, 3]) };
    assert_eq!(of(primary), Err(RepairRefused::PrimaryOfSome));
}

/// One body of each kind: `name: bytes in hexadecimal`. These bytes do not change while the version does not.
const BODIES: &str = include_str!("../../testdata/repair.txt");

#[test]
fn a_body_of_each_kind_has_the_bytes_that_version_1_gave_it() {
    let (name, planned) = (JobName([9; 16]), Epoch(5));
    let (ranges, sources) = (vec![range(-5, 1 << 40)], vec![host(1), host(2)]);
    let job = CopyJob { table: TableId([7; 16]), ranges, sources, planned, confirms: None };
    let orders =
        [("begin", JobOrder::Begin(name, Box::new(job))), ("ask", JobOrder::Ask(name)), ("end", JobOrder::End(name))];
    let figures = CopyFigures { units_done: 1, units: 2, rows: 3, bytes: 4, files: 5 };
    let reports = [
        ("running", JobReport { state: JobState::Running, figures }),
        ("failed", JobReport { state: JobState::Failed("words".into()), figures }),
    ];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut text = String::new();
    for (name, order) in &orders {
        let mut bytes = Vec::new();
        encode_order(order, &mut bytes);
        text += &format!("{name}: {} {}\n", verb(order), hex(&bytes));
    }
    for (name, report) in &reports {
        let mut bytes = Vec::new();
        encode_report(report, &mut bytes);
        text += &format!("{name}: {} {}\n", kind::STATE, hex(&bytes));
    }
    assert_eq!(text, BODIES);
}
