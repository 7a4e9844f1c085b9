//! Statements about roles and permissions of clients that are anonymous, and changes of access in the metadata log.

use std::path::Path;

use auth::{AccessChange, Attributes};
use cql_protocol::request::{Prepare, Request};
use cql_protocol::{ErrorBody, ErrorCode};
use metadata::Entry;
use metadata::group::{GroupRecord, Proposal, ProposalId, Snapshot};
use query::AccessDomain;
use raft::Payload;

use crate::harness::{Client, Folder, run_node, with_metadata};
use crate::requests::{KEYSPACE, must};

const NOT_LOGGED_IN: &str = "You have to be logged in and not anonymous to perform this request";

/// The refusals of the statement as a query and as one to prepare.
async fn refusals(client: &Client, text: &str) -> [ErrorBody; 2] {
    let prepared = client.send(&Request::Prepare(Prepare { text, keyspace: None })).await;
    [client.query(text).await.error(), prepared.error()]
}

#[test]
fn an_anonymous_client_is_refused_in_cassandras_words() {
    let folder = Folder::new("anonymous");
    run_node(folder.path(), 2, |client| async move {
        must(&client, KEYSPACE).await;
        must(&client, "CREATE TABLE ks.t (k int PRIMARY KEY)").await;
        for text in [
            "CREATE ROLE r",
            "CREATE ROLE r WITH LOGIN = true AND ACCESS TO ALL DATACENTERS",
            "CREATE USER u",
            "ALTER ROLE r WITH LOGIN = true",
            "DROP ROLE r",
            "DROP USER IF EXISTS u",
            "GRANT r TO s",
            "REVOKE r FROM s",
            "GRANT SELECT ON ks.t TO r",
            "GRANT SELECT ON ks.nothere TO r",
            "REVOKE ALL ON KEYSPACE ks FROM r",
            "GRANT EXECUTE ON FUNCTION ks.f(int) TO r",
            "LIST ROLES",
            "LIST ROLES OF r",
            "LIST USERS",
            "LIST ALL PERMISSIONS",
            "LIST SELECT ON ks.t OF r NORECURSIVE",
            "ADD IDENTITY 'x' TO ROLE 'r'",
            "DROP IDENTITY IF EXISTS 'x'",
        ] {
            for error in refusals(&client, text).await {
                assert_eq!((error.code(), &*error.message), (ErrorCode::Unauthorized, NOT_LOGGED_IN), "{text}");
            }
        }
        for (text, code, words) in [
            (
                "CREATE ROLE r WITH SUPERUSER = true",
                ErrorCode::Unauthorized,
                "Only superusers can create a role with superuser status",
            ),
            (
                "ALTER USER IF EXISTS u NOSUPERUSER",
                ErrorCode::Unauthorized,
                "Only superusers are allowed to alter superuser status",
            ),
            (
                "ALTER USER IF EXISTS u WITH PASSWORD 'x'",
                ErrorCode::Invalid,
                "org.apache.cassandra.auth.CassandraRoleManager doesn't support PASSWORD",
            ),
            (
                "GRANT EXECUTE ON ks.t TO r",
                ErrorCode::SyntaxError,
                "Resource type DataResource does not support any of the requested permissions",
            ),
            (
                "GRANT SELECT ON t TO r",
                ErrorCode::Invalid,
                "No keyspace has been specified. USE a keyspace, or explicitly specify keyspace.tablename",
            ),
            ("GRANT EXECUTE ON FUNCTION nothere.f(int) TO r", ErrorCode::ConfigError, "Keyspace nothere doesn't exist"),
            (
                "GRANT EXECUTE ON FUNCTION system.now() TO r",
                ErrorCode::Invalid,
                "Altering permissions on builtin functions is not supported",
            ),
            (
                "CREATE ROLE r WITH ACCESS TO DATACENTERS {'nowhere', 'datacenter1'}",
                ErrorCode::Invalid,
                "Invalid value(s) for DATACENTERS '[datacenter1, nowhere]',All values must be valid datacenters",
            ),
        ] {
            for error in refusals(&client, text).await {
                assert_eq!((error.code(), &*error.message), (code, words), "{text}");
            }
        }
    });
}

/// Ends the node's metadata log in a committed entry of these changes.
pub fn commit(dir: &Path, id: u128, changes: &[AccessChange]) {
    with_metadata(dir, async |started| {
        let Snapshot { origin, recent, parts } = started.parts.member.snapshot();
        let index = origin.index.next();
        let proposal =
            Proposal { id: ProposalId(id), first: index, entry: Some(Entry::of(AccessDomain::part(changes))) };
        let placed = raft::Entry { term: origin.term, index, payload: Payload::Change(proposal.to_bytes().into()) };
        for record in [
            GroupRecord::Snapshot(Snapshot { origin, recent, parts }),
            GroupRecord::Entry { entry: placed, is_committed: true },
        ] {
            started.parts.log.append(&record.into()).await.expect("the log takes a record");
        }
    });
}

#[test]
fn roles_of_the_metadata_log_outlive_starts() {
    let folder = Folder::new("roles");
    run_node(folder.path(), 1, |client| async move { must(&client, KEYSPACE).await });
    let attributes = Attributes { may_log_in: true, ..Attributes::default() };
    let member = AccessChange::AddMember { role: "r".to_owned(), member: "s".to_owned() };
    let put = |name: &str| AccessChange::PutRole(name.to_owned(), attributes.clone());
    commit(folder.path(), 1, &[put("r"), put("s"), member]);
    let roles = || {
        with_metadata(folder.path(), async |started| {
            let access = started.cluster.of::<AccessDomain>();
            let roles: Vec<_> =
                access.roles().map(|(name, role)| (name.to_owned(), role.attributes().clone())).collect();
            (roles, access.roles_of("s").contains("r"))
        })
    };
    let expected = (vec![("r".to_owned(), attributes.clone()), ("s".to_owned(), attributes.clone())], true);
    assert_eq!(roles(), expected, "from the entry");
    // The state is a part of the snapshots that a start and a compaction write.
    commit(folder.path(), 2, &[AccessChange::DropRole("nothere".to_owned())]);
    for shards in [1, 2] {
        run_node(folder.path(), shards, |client| async move {
            let access = client.engine.access();
            assert_eq!(access.state().roles_of("s").len(), 2, "the shard has them from its start on");
            assert_eq!(access.epoch(), 0);
        });
        assert_eq!(roles(), expected, "from a snapshot");
    }
}
