//! Paxos between nodes: attempts of one or several coordinators at one partition, whose messages the links keep from some of the replicas.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use cluster::coordinator::{Agreement, AgreementError, Failure, Found, LeftError, Proposed, Replication, Unavailable};
use cluster::paxos::{Ballot, Purpose};
use cql_types::timeuuid;
use mutation::{ClusteringRef, LiveRow, MutationEncoder, ReadCommand};
use runtime::Group;
use runtime::sim::Link;
use schema::{ColumnId, Table};
use storage::{Cleaned, Flow, RowSink};
use topology::ConsistencyLevel::{self, All, LocalQuorum, LocalSerial, One, Quorum, Serial};
use topology::{Token, TokenRanges, token_of};

use crate::world::{Change, LIMITS, Member, PAUSE, Shape, TABLE, on_nodes, on_seldom_synced, on_shape, table};

/// The partition of all attempts.
pub const KEY: &[u8] = b"s";
const CUT: Link = Link {
    latency_min_nanos: 20_000,
    latency_max_nanos: 200_000,
    lost_per_million: 0,
    held_up_nanos: 0,
    reset_per_million: 0,
    is_cut: true,
};
const GOOD: Link = Link { is_cut: false, ..CUT };
/// A second, which no request minds.
const SLOW: Link = Link { latency_min_nanos: 1_000_000_000, latency_max_nanos: 1_000_000_000, ..GOOD };
/// By then the time of what a cut link holds is over, and so it is dropped when the link is there again.
const OVER: Duration = Duration::from_secs(6);
/// By then a dialler knows the other end's clock.
const CLOCKS_KNOWN: Duration = Duration::from_secs(15);

/// The ground that an attempt rests on. It is never freed, so that attempts can be handed from step to step of a test.
struct Ground {
    replication: Rc<Replication>,
    table: Table,
    ballots: Box<dyn Fn(Option<Ballot>) -> Ballot>,
}

/// An attempt of a node.
pub type Attempt = Agreement<'static>;

/// Makes a node's ballots.
pub fn ballots_of(node: &Member) -> impl Fn(Option<Ballot>) -> Ballot + use<> {
    let (runtime, number, last) = (node.runtime.clone(), node.number, Cell::new(0));
    move |latest: Option<Ballot>| {
        let after = latest.map_or(0, |latest| timeuuid::steps(&latest.0) / 10 + 1);
        let now = timeuuid::steps_from_unix_millis(0).expect("1970") / 10 + runtime.wall_clock_micros().unsigned_abs();
        last.set(now.max(after).max(last.get() + 1));
        Ballot(timeuuid::build(last.get() * 10, 0, [number + 1; 6]))
    }
}

pub async fn begin(node: &Member, level: ConsistencyLevel, purpose: Purpose) -> Result<Attempt, AgreementError> {
    let ballots = Box::new(ballots_of(node));
    let ground = Ground { replication: node.replication(), table: table(), ballots };
    let ground: &'static Ground = Box::leak(Box::new(ground));
    let plan = node.coordinator.plan(&ground.replication, token_of(KEY), level);
    let plan =
        plan.map_err(|Unavailable { alive, .. }| AgreementError::Failed(Failure::Timeout { received: alive }))?;
    let partition = (&ground.table, token_of(KEY), KEY);
    node.coordinator.agreement(plan, partition, purpose, &*ground.ballots).await
}

fn command() -> ReadCommand<'static> {
    ReadCommand::partition(TABLE, token_of(KEY), KEY, 1_000)
}

/// The value of the partition's row.
#[derive(Default)]
struct Value(Option<u64>);

impl RowSink for Value {
    fn partition(&mut self, _token: Token, _key: &[u8], _static_row: Option<LiveRow<'_>>) -> Flow {
        Flow::Continue
    }

    fn row(&mut self, _clustering: ClusteringRef<'_>, row: LiveRow<'_>) -> Flow {
        self.0 = row.cells().next().map(|cell| u64::from_be_bytes(cell.value.try_into().expect("eight bytes")));
        Flow::Continue
    }
}

/// The value that a node itself has.
fn own_value(node: &Member) -> Option<u64> {
    let mut value = Value::default();
    let _ = node.coordinator.storage().read(&command(), &mut value);
    value.0
}

fn row(value: u64, ballot: Ballot) -> Vec<Vec<u8>> {
    let mut mutation = Vec::new();
    let mut encoder = MutationEncoder::begin(&mut mutation, TABLE, token_of(KEY), KEY);
    encoder.row([&b"c"[..]]).cell(ColumnId(2), ballot.micros(), None, &value.to_be_bytes());
    encoder.finish();
    vec![mutation]
}

/// Has a majority promise. `None`: the own proposal turns out to be chosen.
pub async fn prepare(attempt: &mut Attempt) -> Result<Option<Option<u64>>, AgreementError> {
    if attempt.prepare(command(), LIMITS).await? == Found::Chosen {
        return Ok(None);
    }
    let mut value = Value::default();
    let _ = attempt.feed(command(), LIMITS, &mut value).await?;
    Ok(Some(value.0))
}

pub async fn propose(attempt: &mut Attempt, value: u64) -> Result<Proposed, AgreementError> {
    let mutations = row(value, attempt.ballot());
    attempt.propose(mutations).await
}

/// A statement that writes a value made of the present one, where it makes one. Gives what it saw.
pub async fn write(
    node: &Member,
    level: ConsistencyLevel,
    commit: ConsistencyLevel,
    make: impl Fn(Option<u64>) -> Option<u64>,
) -> Result<Option<u64>, AgreementError> {
    let mut attempt = begin(node, level, Purpose::Write).await?;
    let mut seen = None;
    while let Some(present) = prepare(&mut attempt).await? {
        seen = present;
        match make(present) {
            None if attempt.settle().await? == Proposed::Chosen => return Ok(seen),
            None => {}
            Some(value) if propose(&mut attempt, value).await? == Proposed::Chosen => break,
            Some(_) => {}
        }
    }
    attempt.commit(commit).await.map_err(AgreementError::Failed)?;
    Ok(seen)
}

async fn set(node: &Member, value: u64) -> Result<Option<u64>, AgreementError> {
    write(node, Serial, Quorum, |_| Some(value)).await
}

/// A SERIAL read.
pub async fn read(node: &Member, level: ConsistencyLevel) -> Result<Option<u64>, AgreementError> {
    let mut attempt = begin(node, level, Purpose::Read).await?;
    loop {
        assert_eq!(attempt.prepare(command(), LIMITS).await?, Found::Rows);
        if attempt.settle().await? == Proposed::Chosen {
            break;
        }
    }
    let mut value = Value::default();
    let _ = attempt.feed(command(), LIMITS, &mut value).await?;
    Ok(value.0)
}

/// All nodes reach each other.
async fn meet(node: &Member) {
    for number in 0..3u8 {
        let until_up = async |member: &Member| {
            for other in (0..3).filter(|other| *other != member.number) {
                member.until_up(other).await;
            }
        };
        match number {
            0 => until_up(node).await,
            other => node.on(other, move |member| async move { until_up(&member).await }).await,
        }
    }
}

/// Sets links, and waits until they are so.
async fn link(node: &Member, links: &[(u8, u8)], link: Link) {
    links.iter().for_each(|(from, to)| node.site.link(*from, *to, link));
    node.runtime.sleep(10 * PAUSE).await;
}

/// An attempt of another node that is prepared, with what it saw.
async fn prepared_on(node: &Member, other: u8) -> (Attempt, Option<u64>) {
    let prepared = node.on(other, |member| async move {
        let mut attempt = begin(&member, Serial, Purpose::Write).await?;
        let seen = prepare(&mut attempt).await?;
        Ok::<_, AgreementError>((attempt, seen.expect("it has proposed nothing")))
    });
    prepared.await.expect("a majority is there")
}

/// An attempt of this node that is prepared.
async fn prepared(node: &Member) -> Attempt {
    let mut attempt = begin(node, Serial, Purpose::Write).await.expect("it is alone");
    assert_eq!(prepare(&mut attempt).await, Ok(Some(None)));
    attempt
}

/// The attempt of another node goes on with a proposal.
async fn propose_on(node: &Member, other: u8, mut attempt: Attempt, value: u64) -> Result<Proposed, AgreementError> {
    node.on(other, move |_| async move { propose(&mut attempt, value).await }).await
}

async fn read_on(node: &Member, other: u8) -> Result<Option<u64>, AgreementError> {
    node.on(other, |member| async move { read(&member, Serial).await }).await
}

/// All nodes have met, and each has written the first records of its log, which are synced in any case.
async fn log_begins(node: &Member) {
    meet(node).await;
    assert_eq!(node.write(vec![node.planned(b"first")], All).await, Ok(()));
    node.runtime.sleep(OVER).await;
}

/// Planted: promise-not-synced.
#[test]
fn what_was_promised_and_accepted_survives_a_power_cut() {
    on_seldom_synced(async |node| {
        log_begins(&node).await;
        let mut earlier = prepared(&node).await;
        link(&node, &[(1, 0), (0, 1)], CUT).await;
        let (later, _) = prepared_on(&node, 1).await;
        node.site.cut_power(2);
        node.runtime.sleep(10 * PAUSE).await;
        node.until_up(2).await;
        let proposed = propose(&mut earlier, 5).await;
        assert!(matches!(proposed, Err(AgreementError::Unknown { .. })), "one has promised another: {proposed:?}");
        node.on(1, |_| async move { drop(later) }).await;
    });
    on_seldom_synced(async |node| {
        log_begins(&node).await;
        let mut attempt = prepared(&node).await;
        // The sync of the promises may have been asked for twice: what is written next is synced with it.
        assert_eq!(node.write(vec![node.planned(b"second")], All).await, Ok(()));
        node.runtime.sleep(Duration::from_millis(500)).await;
        assert_eq!(propose(&mut attempt, 7).await, Ok(Proposed::Chosen));
        drop(attempt);
        link(&node, &[(1, 0), (2, 0)], CUT).await;
        [1, 2].into_iter().for_each(|other| node.site.cut_power(other));
        node.runtime.sleep(10 * PAUSE).await;
        node.on(1, |member| async move { member.until_up(2).await }).await;
        assert_eq!(read_on(&node, 1).await, Ok(Some(7)), "two have accepted it, and one of them is asked");
    });
}

/// Planted: accepted-over-later-promise.
#[test]
fn a_proposal_is_not_accepted_over_a_later_promise() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        let mut earlier = prepared(&node).await;
        let (later, _) = prepared_on(&node, 1).await;
        assert_eq!(propose(&mut earlier, 5).await, Ok(Proposed::Overtaken));
        assert_eq!(propose_on(&node, 1, later, 6).await, Ok(Proposed::Chosen));
        assert_eq!(prepare(&mut earlier).await, Ok(Some(Some(6))), "it begins again with what came first");
        assert_eq!(propose(&mut earlier, 7).await, Ok(Proposed::Chosen));
        assert_eq!(earlier.commit(Quorum).await, Ok(()));
        drop(earlier);
        assert_eq!(read_on(&node, 2).await, Ok(Some(7)));
    });
}

/// Planted: unfinished-not-finished.
#[test]
fn what_another_has_left_is_finished_first() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        let mut attempt = prepared(&node).await;
        assert_eq!(propose(&mut attempt, 5).await, Ok(Proposed::Chosen));
        drop(attempt);
        assert_eq!(node.holders(KEY).await, [0u8; 0], "it is not committed");
        let (later, seen) = prepared_on(&node, 1).await;
        assert_eq!(seen, Some(5), "a majority has accepted it");
        assert!(node.holders(KEY).await.len() >= 2);
        assert_eq!(propose_on(&node, 1, later, 6).await, Ok(Proposed::Chosen));
        assert_eq!(read_on(&node, 2).await, Ok(Some(6)));
    });
    on_nodes(3, 3, async |node| {
        accepted_by_the_third(&node).await;
        heal(&node).await;
        link(&node, &[(0, 1)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(Some(5)), "the third alone has accepted it, and is asked");
    });
}

/// All links are good, and what they held before is over.
async fn heal(node: &Member) {
    node.runtime.sleep(OVER).await;
    link(node, &[(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)], GOOD).await;
    meet(node).await;
}

/// The third node's proposal is accepted by itself alone: its links are cut.
async fn accepted_by_the_third(node: &Member) {
    meet(node).await;
    node.runtime.sleep(CLOCKS_KNOWN).await;
    let (attempt, seen) = prepared_on(node, 2).await;
    assert_eq!(seen, None);
    link(node, &[(2, 0), (2, 1)], CUT).await;
    let proposed = propose_on(node, 2, attempt, 5).await;
    assert!(matches!(proposed, Err(AgreementError::Unknown { .. })), "it is accepted by one: {proposed:?}");
}

/// Sequence *paxos-forgotten*. Planted: fast-read-over-accepted.
#[test]
fn a_read_that_was_answered_is_not_overtaken_by_what_it_did_not_see() {
    on_nodes(3, 3, async |node| {
        accepted_by_the_third(&node).await;
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first two know nothing of it");
        heal(&node).await;
        link(&node, &[(0, 1)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first and the third");
        assert_eq!(set(&node, 8).await, Ok(None));
    });
    // The same with messages that arrive after the read.
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 2).await;
        link(&node, &[(2, 0), (2, 1)], SLOW).await;
        let other = Rc::clone(&node);
        let proposing = node.runtime.spawn(Group::Query, async move { propose_on(&other, 2, attempt, 5).await });
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "it is on its way");
        let proposed = proposing.await;
        assert_ne!(proposed, Ok(Proposed::Chosen), "the others have promised the read");
        heal(&node).await;
        link(&node, &[(0, 1)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first and the third");
    });
}

/// The empty proposal of a read is accepted by one, and another read meets that one: it must have an empty proposal chosen too.
#[test]
fn an_empty_proposal_of_one_replica_rules_nothing_out() {
    on_nodes(3, 3, async |node| {
        accepted_by_the_third(&node).await;
        link(&node, &[(0, 2), (1, 2)], CUT).await;
        let mut attempt = begin(&node, Serial, Purpose::Read).await.expect("it is alone");
        assert_eq!(attempt.prepare(command(), LIMITS).await, Ok(Found::Rows));
        link(&node, &[(0, 1)], CUT).await;
        assert!(attempt.settle().await.is_err(), "the own replica alone has accepted it");
        drop(attempt);
        node.runtime.sleep(OVER).await;
        link(&node, &[(0, 1)], GOOD).await;
        node.until_up(1).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first two know nothing of it");
        heal(&node).await;
        link(&node, &[(1, 0)], CUT).await;
        assert_eq!(read_on(&node, 1).await, Ok(None), "the second and the third");
    });
}

#[test]
fn who_lacks_the_latest_commit_is_sent_it_before_anything_is_proposed() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(set(&node, 5).await, Ok(None));
        heal(&node).await;
        assert_eq!(node.holders(KEY).await, [0, 1]);
        link(&node, &[(0, 1)], CUT).await;
        let mut attempt = begin(&node, Serial, Purpose::Write).await.expect("it is alone");
        assert_eq!(prepare(&mut attempt).await, Ok(Some(Some(5))));
        let has_it = node.on(2, |member| async move { own_value(&member) }).await;
        assert_eq!(has_it, Some(5), "it has the commit before anything rests on it");
        assert_eq!(propose(&mut attempt, 6).await, Ok(Proposed::Chosen));
    });
}

/// This node's proposal is accepted by the third alone, since the first two have promised an attempt of the second, which stops.
async fn in_doubt(node: &Member) -> Attempt {
    let (attempt, other) = in_doubt_beside(node).await;
    node.on(1, |_| async move { drop(other) }).await;
    attempt
}

/// The same with the other attempt.
async fn in_doubt_beside(node: &Member) -> (Attempt, Attempt) {
    meet(node).await;
    let mut attempt = prepared(node).await;
    link(node, &[(1, 2)], CUT).await;
    let (other, seen) = prepared_on(node, 1).await;
    assert_eq!(seen, None);
    assert_eq!(propose(&mut attempt, 5).await, Ok(Proposed::Overtaken), "the third has accepted it");
    link(node, &[(1, 2)], GOOD).await;
    (attempt, other)
}

#[test]
fn a_proposal_in_doubt_is_chosen_where_it_is_the_latest_that_was_accepted() {
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        link(&node, &[(0, 1)], CUT).await;
        assert_eq!(prepare(&mut attempt).await, Ok(None));
        assert_eq!(attempt.commit(Quorum).await, Ok(()));
        link(&node, &[(0, 1)], GOOD).await;
        assert_eq!(read_on(&node, 1).await, Ok(Some(5)));
    });
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        link(&node, &[(2, 1)], CUT).await;
        assert_eq!(read_on(&node, 2).await, Ok(Some(5)), "another finishes it");
        assert_eq!(prepare(&mut attempt).await, Ok(None));
        assert_eq!(attempt.commit(Quorum).await, Ok(()));
    });
}

#[test]
fn a_proposal_in_doubt_is_not_chosen_where_a_majority_knows_nothing_of_it() {
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(prepare(&mut attempt).await, Ok(Some(None)));
        assert_eq!(propose(&mut attempt, 6).await, Ok(Proposed::Chosen));
        assert_eq!(attempt.commit(Quorum).await, Ok(()));
        link(&node, &[(0, 2)], GOOD).await;
        assert_eq!(read_on(&node, 2).await, Ok(Some(6)));
    });
}

/// A majority knew nothing of it, and then another finds it at the third node: the statement is applied, and must not be answered as one that is not.
#[test]
fn a_proposal_that_a_majority_knew_nothing_of_may_be_finished_by_another() {
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        link(&node, &[(0, 2), (2, 0)], CUT).await;
        assert_eq!(prepare(&mut attempt).await, Ok(Some(None)));
        assert_eq!(read_on(&node, 2).await, Ok(Some(5)), "the second and the third");
        link(&node, &[(0, 2), (2, 0)], GOOD).await;
        assert_eq!(attempt.settle().await, Ok(Proposed::Overtaken));
        assert_eq!(prepare(&mut attempt).await, Ok(None), "it is chosen");
        assert_eq!(attempt.commit(Quorum).await, Ok(()));
    });
}

#[test]
fn the_end_of_a_proposal_in_doubt_is_unknown_where_others_came_after_it() {
    on_nodes(3, 3, async |node| {
        let (mut attempt, other) = in_doubt_beside(&node).await;
        assert_eq!(propose_on(&node, 1, other, 6).await, Ok(Proposed::Chosen));
        assert_eq!(prepare(&mut attempt).await, Err(AgreementError::Unknown { received: 0 }));
        drop(attempt);
        assert_eq!(read(&node, Serial).await, Ok(Some(6)));
    });
}

#[test]
fn local_serial_counts_its_datacenter_alone() {
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        meet(&node).await;
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(write(&node, LocalSerial, LocalQuorum, |_| Some(5)).await, Ok(None));
        assert_eq!(read(&node, LocalSerial).await, Ok(Some(5)));
        link(&node, &[(0, 2)], GOOD).await;
        link(&node, &[(0, 1)], CUT).await;
        let timeout = Err(AgreementError::Failed(Failure::Timeout { received: 1 }));
        assert_eq!(read(&node, LocalSerial).await, timeout, "the third is elsewhere");
        assert_eq!(read(&node, Serial).await, Ok(Some(5)), "and counts for SERIAL");
    });
}

#[test]
fn an_attempt_whose_ring_changes_is_planned_again() {
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let mut attempt = prepared(&node).await;
        let grown = node.site.agree(Change::Ring(3));
        node.on(1, move |member| async move { member.apply_to(grown) }).await;
        node.apply_to(grown);
        assert_eq!(propose(&mut attempt, 5).await, Err(AgreementError::Failed(Failure::Outdated)));
    });
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let mut attempt = prepared(&node).await;
        let grown = node.site.agree(Change::Ring(3));
        node.on(1, move |member| async move { member.apply_to(grown) }).await;
        let proposed = propose(&mut attempt, 5).await;
        assert_eq!(proposed, Err(AgreementError::Unknown { received: 0 }), "this node has accepted it");
    });
    on_nodes(2, 2, async |node| {
        node.until_up(1).await;
        let mut attempt = begin(&node, Serial, Purpose::Write).await.expect("it is alone");
        let grown = node.site.agree(Change::Ring(3));
        node.on(1, move |member| async move { member.apply_to(grown) }).await;
        assert_eq!(prepare(&mut attempt).await, Err(AgreementError::Failed(Failure::Outdated)));
    });
}

/// All nodes truncate the table.
async fn truncate(node: &Member) {
    let truncated = node.site.agree(Change::Truncate);
    truncate_to(node, truncated).await;
}

async fn truncate_to(node: &Member, epoch: u64) {
    node.apply_to(epoch);
    for other in [1, 2] {
        node.on(other, move |member| async move { member.apply_to(epoch) }).await;
    }
}

#[test]
fn a_proposal_from_before_a_truncation_is_not_finished() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        let mut attempt = prepared(&node).await;
        assert_eq!(propose(&mut attempt, 5).await, Ok(Proposed::Chosen));
        drop(attempt);
        truncate(&node).await;
        assert_eq!(read_on(&node, 1).await, Ok(None));
        assert_eq!(set(&node, 6).await, Ok(None));
        assert_eq!(read_on(&node, 2).await, Ok(Some(6)));
    });
}

#[test]
fn the_end_of_a_proposal_in_doubt_is_unknown_after_a_truncation() {
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        truncate(&node).await;
        assert_eq!(prepare(&mut attempt).await, Err(AgreementError::Unknown { received: 0 }));
        drop(attempt);
        link(&node, &[(0, 1)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "what the third has accepted is void");
        assert_eq!(set(&node, 6).await, Ok(None));
    });
}

/// Replicas of which one has not truncated yet show the proposal to a coordinator that has not either: it is as if it were finished before.
#[test]
fn a_proposal_in_doubt_may_be_chosen_while_a_truncation_is_under_way() {
    on_nodes(3, 3, async |node| {
        let mut attempt = in_doubt(&node).await;
        let truncated = node.site.agree(Change::Truncate);
        node.on(1, move |member| async move { member.apply_to(truncated) }).await;
        assert_eq!(prepare(&mut attempt).await, Ok(None));
        truncate_to(&node, truncated).await;
        assert_eq!(attempt.commit(Quorum).await, Ok(()));
        assert_eq!(read_on(&node, 1).await, Ok(None), "the truncation comes after it");
        assert_eq!(node.holders(KEY).await, [0u8; 0]);
    });
}

/// How many additions were applied, and of how many it is not known.
async fn add_five_times(node: &Member) -> (u64, u64) {
    let (mut applied, mut unknown) = (0, 0);
    while applied + unknown < 5 {
        match write(node, Serial, Quorum, |value| Some(value.unwrap_or(0) + 1)).await {
            Ok(_) => applied += 1,
            Err(AgreementError::Unknown { .. }) => unknown += 1,
            Err(AgreementError::Contended) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
    (applied, unknown)
}

#[test]
fn two_coordinators_that_contend_both_end() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        let second = Rc::clone(&node);
        let adding = node.runtime.spawn(Group::Query, async move {
            second.on(1, |member| async move { add_five_times(&member).await }).await
        });
        let (one, two) = (add_five_times(&node).await, adding.await);
        let (applied, unknown) = (one.0 + two.0, one.1 + two.1);
        let sum = read_on(&node, 2).await.expect("all are there").unwrap_or(0);
        assert!(applied > 0 && (applied..=applied + unknown).contains(&sum), "{applied} and perhaps {unknown}: {sum}");
    });
}

/// The first node reads its page for a read, then is sent the commit of *a*. An empty proposal rests on that, which the second has accepted when it reads its page, and
/// which says that all before it is written at a majority. Planted: pages-before-commit.
#[test]
fn a_page_from_before_a_commit_does_not_count() {
    const LATE: Link = Link { latency_min_nanos: 600_000_000, latency_max_nanos: 600_000_000, ..GOOD };
    const LATER: Link = Link { latency_min_nanos: 700_000_000, latency_max_nanos: 700_000_000, ..GOOD };
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 2).await;
        link(&node, &[(2, 1)], CUT).await;
        let accepted = node.on(2, |_| async move {
            let mut attempt = attempt;
            (propose(&mut attempt, 5).await, attempt)
        });
        let (proposed, mut attempt) = accepted.await;
        assert_eq!(proposed, Ok(Proposed::Chosen), "by the first and the third");
        link(&node, &[(2, 0)], CUT).await;
        assert_eq!(node.on(2, |_| async move { attempt.commit(One).await }).await, Ok(()));
        // The third alone promises something later, which may be of a write for all that others know.
        let promised = node.on(2, |member| async move {
            let mut attempt = begin(&member, Serial, Purpose::Write).await?;
            prepare(&mut attempt).await
        });
        assert!(promised.await.is_err(), "no majority answers");
        node.runtime.sleep(OVER).await;
        link(&node, &[(2, 0), (2, 1)], GOOD).await;
        node.on(2, |member| async move {
            member.until_up(0).await;
            member.until_up(1).await;
        })
        .await;
        link(&node, &[(2, 0), (0, 1)], LATE).await;
        // It does not answer first.
        link(&node, &[(2, 1)], LATER).await;
        let other = Rc::clone(&node);
        let reading = node.runtime.spawn(Group::Query, async move { read_on(&other, 2).await });
        node.runtime.sleep(Duration::from_millis(900)).await;
        link(&node, &[(2, 1)], GOOD).await;
        assert_eq!(read(&node, LocalSerial).await, Ok(Some(5)), "it was written before the read began");
        assert_eq!(reading.await, Ok(Some(5)));
    });
}

/// The group agrees on a low bound.
fn bound(node: &Member, refused: i64, closed: i64) -> u64 {
    node.site.agree(Change::LowBound(refused, closed))
}

/// A node that has applied an epoch finishes what it has up to a time.
async fn finish_on(node: &Rc<Member>, other: u8, epoch: u64, below: i64) -> Result<(), String> {
    let finish = move |member: Rc<Member>| async move {
        member.apply_to(epoch);
        let placed = |id| (id == TABLE).then(|| (Rc::new(table()), member.replication()));
        let finished = member.coordinator.agreements().finish_below(below, &placed, &ballots_of(&member)).await;
        finished.map_err(|error| error.to_string())
    };
    if other == node.number { finish(Rc::clone(node)).await } else { node.on(other, finish).await }
}

/// A node that has applied an epoch deletes what all ignore. Gives how many rows that were.
async fn delete_on(node: &Rc<Member>, other: u8, epoch: u64, closed: i64) -> u64 {
    let delete = move |member: Rc<Member>| async move {
        member.apply_to(epoch);
        member.coordinator.agreements().delete_below(closed).await.expect("the disk works")
    };
    if other == node.number { delete(Rc::clone(node)).await } else { node.on(other, delete).await }
}

async fn has_left(node: &Rc<Member>, other: u8, below: i64) -> bool {
    let look = move |member: Rc<Member>| async move {
        member.coordinator.agreements().has_left(below).await.expect("the disk works")
    };
    if other == node.number { look(Rc::clone(node)).await } else { node.on(other, look).await }
}

/// The first two nodes finish, and delete what they have below a bound of now, while the third is cut off.
async fn closed_by_the_first_two(node: &Rc<Member>) -> i64 {
    let below = node.runtime.wall_clock_micros();
    let refused = bound(node, below, 0);
    for other in [0, 1] {
        assert_eq!(finish_on(node, other, refused, below).await, Ok(()));
    }
    let closed = bound(node, below, below);
    for other in [0, 1] {
        delete_on(node, other, closed, below).await;
        assert!(!has_left(node, other, below).await, "it has forgotten all up to the bound");
    }
    below
}

/// Sequence *paxos-forgotten*: what the third node alone has accepted does not come back once the others have forgotten the read that did not see it. Planted:
/// low-bound-forgotten.
#[test]
fn what_was_not_chosen_below_the_low_bound_never_is() {
    on_nodes(3, 3, async |node| {
        accepted_by_the_third(&node).await;
        link(&node, &[(0, 2), (1, 2)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "an empty proposal answers it");
        let below = closed_by_the_first_two(&node).await;
        assert!(has_left(&node, 2, below).await, "the third has its acceptance still");
        heal(&node).await;
        link(&node, &[(0, 1), (1, 0)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first and the third");
        assert_eq!(set(&node, 8).await, Ok(None));
        assert_eq!(read(&node, Serial).await, Ok(Some(8)));
    });
    // An acceptance that is on its way while the bound is closed comes too late.
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 2).await;
        link(&node, &[(2, 0), (2, 1)], SLOW).await;
        let other = Rc::clone(&node);
        let proposing = node.runtime.spawn(Group::Query, async move { propose_on(&other, 2, attempt, 5).await });
        closed_by_the_first_two(&node).await;
        assert_ne!(proposing.await, Ok(Proposed::Chosen), "a majority refuses its ballot");
        heal(&node).await;
        link(&node, &[(0, 1), (1, 0)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(None), "the first and the third");
    });
}

/// Sequence *chosen-below-the-bound*: the second and the third have accepted it, and the first two have the bound.
#[test]
fn what_was_chosen_below_the_low_bound_stays_so() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 2).await;
        link(&node, &[(2, 0)], CUT).await;
        assert_eq!(propose_on(&node, 2, attempt, 5).await, Ok(Proposed::Chosen));
        assert_eq!(node.holders(KEY).await, [0u8; 0], "it is not committed");
        link(&node, &[(0, 2), (1, 2)], CUT).await;
        closed_by_the_first_two(&node).await;
        assert_eq!(node.holders(KEY).await, [0, 1], "it was finished");
        heal(&node).await;
        link(&node, &[(0, 1), (1, 0)], CUT).await;
        assert_eq!(read(&node, Serial).await, Ok(Some(5)), "the first and the third");
        assert_eq!(set(&node, 8).await, Ok(Some(5)));
    });
    // The same of a commit that one replica alone has.
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 1).await;
        link(&node, &[(1, 0), (0, 1)], CUT).await;
        let committed = node.on(1, |_| async move {
            let mut attempt = attempt;
            assert_eq!(propose(&mut attempt, 5).await, Ok(Proposed::Chosen));
            attempt.commit(Quorum).await
        });
        assert_eq!(committed.await, Ok(()));
        assert_eq!(node.holders(KEY).await, [1, 2]);
        link(&node, &[(0, 1), (1, 0)], GOOD).await;
        link(&node, &[(0, 2), (1, 2), (2, 0), (2, 1)], CUT).await;
        node.until_up(1).await;
        closed_by_the_first_two(&node).await;
        assert_eq!(node.holders(KEY).await, [0, 1, 2], "the first was sent it");
        heal(&node).await;
    });
}

/// Old registers are not deleted while a cleanup drops those that the node does not keep: one that is found before the cleanup removes its file would be left as a tombstone.
#[test]
fn registers_are_not_deleted_beside_a_cleanup() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        assert_eq!(set(&node, 5).await, Ok(None));
        let below = node.runtime.wall_clock_micros();
        node.apply_to(bound(&node, below, below));
        let clean_up = async |node: &Member| {
            let cleaned = node.coordinator.agreements().clean_up(|| Rc::new(TokenRanges::none())).await;
            cleaned.expect("the disk works")
        };
        let cleaner = Rc::clone(&node);
        let cleaning = node.runtime.spawn(Group::Maintenance, async move { clean_up(&cleaner).await });
        // It writes a file of what is in memory.
        node.runtime.yield_now().await;
        let deleted = node.coordinator.agreements().delete_below(below).await;
        assert_eq!(cleaning.await, Cleaned { removed: 1, rewritten: 0 });
        assert_eq!(clean_up(&node).await, Cleaned::default(), "the node has nothing left: {deleted:?}");
        assert!(matches!(deleted, Err(LeftError::CleanedUp)), "it waits for the next time: {deleted:?}");
        assert_eq!(node.coordinator.agreements().delete_below(below).await.expect("it has its turn"), 0);
    });
}

/// An attempt with a ballot up to the bound tries again with a later one, whatever its coordinator's clock says, and one from before the bound was closed is planned again.
#[test]
fn attempts_go_on_beyond_the_low_bound() {
    on_nodes(3, 3, async |node| {
        meet(&node).await;
        let mut attempt = prepared(&node).await;
        let later = node.runtime.wall_clock_micros() + 3_600_000_000;
        let apply_to = async |epoch| {
            node.apply_to(epoch);
            for other in [1, 2] {
                node.on(other, move |member| async move { member.apply_to(epoch) }).await;
            }
        };
        apply_to(bound(&node, later, 0)).await;
        assert_eq!(propose(&mut attempt, 5).await, Ok(Proposed::Overtaken), "its ballot is refused");
        assert_eq!(prepare(&mut attempt).await, Ok(Some(None)), "it has a later one");
        apply_to(bound(&node, later, later)).await;
        assert_eq!(propose(&mut attempt, 5).await, Err(AgreementError::Failed(Failure::Outdated)));
        drop(attempt);
        assert_eq!(set(&node, 6).await, Ok(None));
        assert_eq!(read_on(&node, 2).await, Ok(Some(6)));
        assert!(!has_left(&node, 1, later).await, "all ballots are beyond it");
    });
}

/// The commit of another's proposal needs what the electorate did, of whom none has become another by a ring of a later epoch.
#[test]
fn a_commit_of_anothers_proposal_needs_no_more_when_a_ring_places_all_as_before() {
    on_shape(Shape::TwoDatacenters, 3, async |node| {
        meet(&node).await;
        node.runtime.sleep(CLOCKS_KNOWN).await;
        let (attempt, _) = prepared_on(&node, 2).await;
        assert_eq!(propose_on(&node, 2, attempt, 5).await, Ok(Proposed::Chosen));
        assert_eq!(node.holders(KEY).await, [0u8; 0], "it is not committed");
        let mut attempt = begin(&node, Serial, Purpose::Write).await.expect("all are up");
        let epoch = node.site.agree(Change::Ring(3));
        node.apply_to(epoch);
        node.on(1, move |member| async move { member.apply_to(epoch) }).await;
        link(&node, &[(0, 2)], CUT).await;
        assert_eq!(prepare(&mut attempt).await, Ok(Some(Some(5))), "two of three are a majority");
        assert_eq!(node.holders(KEY).await, [0, 1]);
    });
}
