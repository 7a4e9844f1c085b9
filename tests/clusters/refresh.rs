//! `nodetool refresh` on a ring: a node imports SSTables of its own ranges alone, and names the nodes that others belong to.

use std::path::{Path, PathBuf};

use cql_protocol::Consistency;
use helenus_tests::{HttpAnswer, Server, http};

use super::nodes::{KEYSPACE_OF_ONE, Net, connect, start_for_operators, until, value};

const ROWS: i32 = 40;

fn post(server: &Server, target: &str) -> HttpAnswer {
    http(server.api_port, "POST", target).expect("the node answers operators")
}

/// The folder of the only table of the keyspace.
fn table_folder(data: &Path) -> PathBuf {
    let keyspace = std::fs::read_dir(data.join("data/lone")).expect("the keyspace has a folder");
    let folders: Vec<PathBuf> = keyspace.map(|entry| entry.expect("an entry").path()).collect();
    let [folder] = folders.as_slice() else { panic!("not one table: {folders:?}") };
    folder.clone()
}

/// Copies a snapshot of a node's table into the `upload/` of a table. Gives that.
fn lay_into_upload(from: &Path, to: &Path) -> PathBuf {
    let (snapshot, upload) = (table_folder(from).join("snapshots/kept"), table_folder(to).join("upload"));
    std::fs::create_dir_all(&upload).expect("a folder can be made");
    for entry in std::fs::read_dir(snapshot).expect("there is a snapshot") {
        let path = entry.expect("an entry").path();
        std::fs::copy(&path, upload.join(path.file_name().expect("a name"))).expect("it can be copied");
    }
    upload
}

#[test]
fn a_file_of_another_nodes_range_is_refused_and_its_replicas_are_named() {
    let net = Net::new();
    let (builders, servers) = start_for_operators::<2>(&net);
    until("both are up for both", || {
        servers
            .iter()
            .all(|server| value(server, "/gossiper/endpoint/live").as_array().is_some_and(|all| all.len() == 2))
    });
    let mut client = connect(&servers[1]);
    for text in [KEYSPACE_OF_ONE, "CREATE TABLE lone.t (k int PRIMARY KEY)"] {
        client.query(text).expect("both are up");
    }
    let write = |client: &mut helenus_tests::Connection| {
        for key in 0..ROWS {
            let insert = format!("INSERT INTO lone.t (k) VALUES ({key})");
            client.query_at(&insert, Consistency::One).expect("both are up");
        }
    };
    let mut all = || client.query("SELECT k FROM lone.t").expect("both are up").body;
    write(&mut connect(&servers[0]));
    let before = all();
    for server in &servers {
        let answer = post(server, "/storage_service/snapshots?tag=kept&kn=lone");
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let data = builders.each_ref().map(|builder| builder.data());
    let strange = lay_into_upload(&data[0], &data[1]);
    let refused = post(&servers[1], "/storage_service/sstables/lone?cf=t");
    assert_eq!(refused.status, 500, "{}", refused.body);
    let owner = net.address(1);
    for words in ["this node is not a replica of ", &format!(", are {owner}")] {
        assert!(refused.body.contains(words), "{words}: {}", refused.body);
    }
    let stays = std::fs::read_dir(&strange).expect("it is there").count();
    assert!(stays > 0, "what is refused stays where it was");
    std::fs::remove_dir_all(&strange).expect("the folder is the test's");

    connect(&servers[0]).query("TRUNCATE lone.t").expect("both are up");
    assert_ne!(all(), before, "the table is empty");
    for (server, data) in servers.iter().zip(&data) {
        lay_into_upload(data, data);
        let answer = post(server, "/storage_service/sstables/lone?cf=t");
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert_eq!(all(), before, "each node has its own rows back");
    servers.into_iter().for_each(Server::stop);
}
