//! Disks that are not what the cluster knows of them: wiped ones, restored ones, copied ones.

use std::ops::Range;
use std::path::{Path, PathBuf};

use helenus_tests::{Builder, Connection, Server};

use super::nodes::{KEYSPACE_OF_ONE, Net, REGISTERED, Three, has, host_id, kill_despite_errors, start_all, until};

/// Of two nodes, of which the founder alone votes: with and without a leader.
#[test]
fn a_wiped_node_at_the_address_of_a_member_is_refused_and_its_message_names_replace() {
    let net = Net::new();
    let builders = [net.node(1, &[1, 2]), net.node(2, &[1, 2])];
    let mut servers = start_all(&builders).map(Some);
    for wiped in [0, 1] {
        servers[wiped].take().expect("it runs").stop();
        let data = builders[wiped].data();
        let copy = copy_of(&data, "-copy");
        replace(&data, None);
        let said = builders[wiped].launch().lines_after_failure().join("\n");
        assert!(said.contains("cannot join the cluster") && said.contains("start with --replace"), "{said}");
        replace(&data, Some(&copy));
        std::fs::remove_dir_all(&copy).expect("the folder is the test's");
        servers[wiped] = Some(builders[wiped].start());
    }
    servers.into_iter().flatten().for_each(Server::stop);
}

/// In the sentence of a node that is refused for it.
const OLD_DISK: &str = "its disk was restored from a copy";

#[test]
fn a_disk_that_was_restored_or_copied_is_refused() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let builder = net.node(2, &[1]);
    builder.start().stop();
    let copy = copy_of(&builder.data(), "-copy");
    let mut second = builder.start();
    second.wait_for_line(&[REGISTERED, "boot=2"]);
    // A start of the copy has the same number, at another address.
    let copied = net.node_at(3, Builder::new("auto", 1).with_data_in(copy.clone()), &[1]);
    let said = copied.launch().lines_after_failure().join("\n");
    assert!(said.contains(OLD_DISK), "{said}");
    assert!(second.is_alive());
    second.stop();
    for boot in ["boot=3", "boot=4"] {
        let mut second = builder.start();
        second.wait_for_line(&[REGISTERED, boot]);
        second.stop();
    }
    // The first copy, which has been started once since, is older than all that is registered.
    replace(&builder.data(), Some(&copy));
    let said = builder.launch().lines_after_failure().join("\n");
    assert!(said.contains(OLD_DISK), "{said}");
    std::fs::remove_dir_all(&copy).expect("the folder is the test's");
    first.stop();
}

/// A copy of the running start's disk begins the next one: the cluster has that one from then on.
#[test]
fn of_two_processes_with_one_host_id_one_ends() {
    let net = Net::new();
    let first = net.node(1, &[1]).start();
    let builder = net.node(2, &[1]);
    let mut second = builder.start();
    second.wait_for_line(&[REGISTERED]);
    let copy = second.while_paused(|| copy_of(&builder.data(), "-copy"));
    let copied = net.node_at(3, Builder::new("auto", 1).with_data_in(copy.clone()), &[1]).start();
    let said = second.lines_after_failure().join("\n");
    assert!(said.contains(OLD_DISK), "{said}");
    copied.stop();
    std::fs::remove_dir_all(&copy).expect("the folder is the test's");
    first.stop();
}

/// An image of the last registered start begins the next one: its number and word are in order, and its log of the cluster ends early. All others have
/// restarted meanwhile.
#[test]
fn an_image_of_the_last_start_is_found_out_although_all_others_have_restarted() {
    let mut three = Three::start();
    let (restored, others) = three.restored_and_others();
    let mut client = three.connect(restored);
    let kept = three.kept_by(others, &mut client, EPOCH);
    until("what the node has is kept by the others", || kept().iter().all(Option::is_some));
    let (copy, before) = (three.image(restored), kept());
    client.query(KEYSPACE_OF_ONE).expect("all are up");
    until("what it has since is kept too", || kept().iter().zip(&before).all(|(now, before)| now != before));
    three.servers.iter_mut().for_each(|server| server.take().expect("it runs").stop());
    replace(&three.builders[restored].data(), Some(&copy));
    three.restart_all(&others);
    goes_on_as_regressed(three, restored, &copy);
}

/// The image has the cluster's log to its end, and lacks a row.
#[test]
fn an_image_that_lacks_a_row_is_found_out() {
    let mut three = Three::start();
    let (restored, others) = three.restored_and_others();
    let mut client = three.connect(restored);
    for text in ["CREATE TABLE ks.t (k int PRIMARY KEY)", "INSERT INTO ks.t (k) VALUES (1)"] {
        client.query(text).expect("all are up");
    }
    three.agreed("SELECT keyspace_name FROM system_schema.keyspaces");
    let kept = three.kept_by(others, &mut client, END);
    until("what the node has is kept by the others", || kept().iter().all(Option::is_some));
    let (copy, before) = (three.image(restored), kept());
    client.query("INSERT INTO ks.t (k) VALUES (2)").expect("all are up");
    until("what it has since is kept too", || kept().iter().zip(&before).all(|(now, before)| now != before));
    three.kill(restored);
    replace(&three.builders[restored].data(), Some(&copy));
    goes_on_as_regressed(three, restored, &copy);
}

/// Where a node's epoch is in what others keep of it, after its host id, flags and boot.
const EPOCH: Range<usize> = 9..17;
/// The same of the end of its commit log, of a node with one shard that has written in its first boot: count, boot, shard and sequence.
const END: Range<usize> = 17..36;

impl Three {
    /// A copy of the disk of a node that runs, as it is at one moment.
    fn image(&mut self, node: usize) -> PathBuf {
        let data = self.builders[node].data();
        self.server(node).while_paused(|| copy_of(&data, "-copy"))
    }

    /// A look at what the others have on disk of the client's node.
    fn kept_by(
        &self,
        others: [usize; 2],
        client: &mut Connection,
        part: Range<usize>,
    ) -> impl Fn() -> [Option<Vec<u8>>; 2] + use<> {
        let host_id = host_id(client);
        let data = others.map(|node| self.builders[node].data());
        move || {
            data.each_ref().map(|data| {
                let file = std::fs::read(data.join("peer-positions")).ok()?;
                let at = file.windows(host_id.len()).position(|bytes| bytes == host_id)? + host_id.len();
                Some(file.get(at + part.start..at + part.end)?.to_vec())
            })
        }
    }
}

/// Starts the node on its image: the cluster notes it, goes on, and takes it along.
fn goes_on_as_regressed(mut three: Three, restored: usize, copy: &Path) {
    three.restart(restored);
    three.server(restored).wait_for_line(&["this node is noted as regressed"]);
    three.connect(restored).query(KEYSPACE_OF_ONE).expect("the others are a majority");
    assert!(has(&three.agreed("SELECT keyspace_name FROM system_schema.keyspaces"), "lone"));
    // Errors say what is wrong with its disk.
    three.servers.into_iter().flatten().for_each(|server| _ = kill_despite_errors(server));
    std::fs::remove_dir_all(copy).expect("the folder is the test's");
}

/// Copies a data folder to one that no other test has.
fn copy_of(data: &Path, name: &str) -> PathBuf {
    let mut to = data.as_os_str().to_owned();
    to.push(name);
    let to = PathBuf::from(to);
    copy(data, &to);
    to
}

/// Copies a folder with all that is in it, but for the maintenance socket.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the temporary folder can be written");
    for entry in std::fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("the file is there");
        if kind.is_dir() {
            copy(&from, &to);
        } else if kind.is_file() {
            std::fs::copy(&from, &to).expect("the temporary folder can be written");
        }
    }
}

/// Replaces a data folder by a copy of another.
fn replace(data: &Path, by: Option<&Path>) {
    std::fs::remove_dir_all(data).expect("the folder is the test's");
    if let Some(by) = by {
        copy(by, data);
    }
}
