//! Truncations that the metadata group decides, over starts: those that are committed and not carried out, those that are not committed, and ids that
//! are used again.

use std::path::Path;

use metadata::Entry;
use metadata::group::{GroupRecord, Index, NodeId, Proposal, ProposalId, Snapshot};
use query::{SchemaDomain, TruncationsDomain};
use raft::{Configuration, Origin, Payload};
use schema::truncations::{Mark, TruncationChange};

use crate::harness::{Client, Folder, run_node, with_metadata};
use crate::requests::{KEYSPACE, fill, ints, must};

async fn keys(client: &Client) -> Vec<i32> {
    let mut keys = ints(&client.query("SELECT k FROM ks.t").await);
    keys.sort_unstable();
    keys
}

/// A node with a table of so many rows.
fn filled(folder: &Folder, shards: u16, rows: i32) {
    run_node(folder.path(), shards, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY, v text)").await;
        fill(&client, rows).await;
    });
}

/// Makes the node a voter of three, whose log ends in a TRUNCATE of the table that it does not know to be committed. Gives its index.
fn end_log_in_a_truncate(dir: &Path) -> Index {
    with_metadata(dir, async |started| {
        let (table, parts) =
            (started.cluster.of::<SchemaDomain>().table("ks", "t").map(|table| table.id), started.parts);
        let change = TruncationChange::Truncate(table.expect("it was made"), Mark([1; 16]));
        let Snapshot { origin, recent, parts: states } = parts.member.snapshot();
        let configuration = Configuration::new([parts.member.raft().id(), NodeId(1), NodeId(2)]).expect("three voters");
        let index = origin.index.next();
        let entry = Entry::of(TruncationsDomain::part(&[change]));
        let proposal = Proposal { id: ProposalId(1), first: index, entry: Some(entry) };
        let placed = raft::Entry { term: origin.term, index, payload: Payload::Change(proposal.to_bytes().into()) };
        let origin = Origin { configuration, ..origin };
        for record in [
            GroupRecord::Snapshot(Snapshot { origin, recent, parts: states }),
            GroupRecord::Entry { entry: placed, is_committed: false },
        ] {
            parts.log.append(&record.into()).await.expect("the log takes a record");
        }
        index
    })
}

/// The last index of the log, and the commit index.
fn ends(dir: &Path) -> (Index, Index) {
    with_metadata(dir, async |started| {
        let raft = started.parts.member.raft();
        (raft.log().last_index(), raft.commit_index())
    })
}

/// A voter whose log ends in an uncommitted TRUNCATE restarts while there is no majority. It neither truncates nor loses the entry, nor what was committed
/// before. Once the entry is committed the next start truncates, on whatever shards; and no later one does.
#[test]
fn commit_index() {
    for (before, after) in [(1, 1), (2, 1), (1, 3)] {
        let folder = Folder::new(&format!("commit-index-{before}-{after}"));
        let dir = folder.path();
        filled(&folder, before, 20);
        let index = end_log_in_a_truncate(dir);
        for _ in 0..2 {
            run_node(dir, before, |client| async move {
                assert!(keys(&client).await.into_iter().eq(0..20), "it is not committed");
            });
            assert_eq!(ends(dir), (index, Index(index.0 - 1)), "the entry is in the log, and not committed");
        }
        with_metadata(dir, async |started| {
            let commit = GroupRecord::Commit(index);
            started.parts.log.append(&commit.into()).await.expect("the log takes a record");
        });
        // What is written after that start is there at later ones.
        for (start, shards) in [after, after, before].into_iter().enumerate() {
            let start = i32::try_from(start).expect("three starts");
            run_node(dir, shards, |client| async move {
                assert!(keys(&client).await.into_iter().eq(100..100 + start), "start {start}");
                must(&client, &format!("INSERT INTO ks.t (k) VALUES ({})", 100 + start)).await;
            });
        }
        assert_eq!(ends(dir), (index, index));
    }
}

/// A table under the id of a dropped one has nothing of its rows, in memory or in the log.
#[test]
fn a_table_under_an_id_that_was_used_has_nothing_of_before() {
    let folder = Folder::new("reused-id");
    let create = "CREATE TABLE ks.t (k int PRIMARY KEY, v text) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18";
    let create_other = "CREATE TABLE ks.t (k int PRIMARY KEY, w blob) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18";
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, create).await;
        fill(&client, 20).await;
        must(&client, "TRUNCATE ks.t").await;
        must(&client, "INSERT INTO ks.t (k, v) VALUES (1, 'a')").await;
        must(&client, "DROP TABLE ks.t").await;
        must(&client, create_other).await;
        assert!(keys(&client).await.is_empty());
        must(&client, "INSERT INTO ks.t (k, w) VALUES (2, 0x02)").await;
    });
    for shards in [1, 3] {
        run_node(folder.path(), shards, |client| async move {
            assert_eq!(keys(&client).await, [2]);
            must(&client, "DROP TABLE ks.t").await;
            must(&client, create_other).await;
            assert!(keys(&client).await.is_empty());
            must(&client, "TRUNCATE ks.t").await;
            must(&client, "INSERT INTO ks.t (k, w) VALUES (2, 0x02)").await;
        });
    }
    // What is remembered of a table's truncations ends with it.
    run_node(folder.path(), 1, |client| async move { must(&client, "DROP TABLE ks.t").await });
    let marks = with_metadata(folder.path(), async |started| started.cluster.of::<TruncationsDomain>().iter().count());
    assert_eq!(marks, 0);
}
