//! Disks that are not what the cluster knows of them: wiped ones, restored ones, copied ones.

use std::path::{Path, PathBuf};

use helenus_tests::{Builder, Server};

use super::nodes::{Net, REGISTERED};

/// Of two nodes, of which the founder alone votes: with and without a leader.
#[test]
fn a_wiped_node_at_the_address_of_a_member_is_refused_and_its_message_names_replace() {
    let net = Net::new();
    let builders = [net.node(1, &[1, 2]), net.node(2, &[1, 2])];
    let mut servers = builders.each_ref().map(|node| Some(node.launch()));
    servers.iter_mut().flatten().for_each(Server::wait_until_ready);
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
    let copy = copy_of(&builder.data(), "-copy");
    let copied = net.node_at(3, Builder::new("auto", 1).with_data_in(copy.clone()), &[1]).start();
    let said = second.lines_after_failure().join("\n");
    assert!(said.contains(OLD_DISK), "{said}");
    copied.stop();
    std::fs::remove_dir_all(&copy).expect("the folder is the test's");
    first.stop();
}

/// Copies a data folder to one that no other test has.
fn copy_of(data: &Path, name: &str) -> PathBuf {
    let mut to = data.as_os_str().to_owned();
    to.push(name);
    let to = PathBuf::from(to);
    copy(data, &to);
    to
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the temporary folder can be written");
    for entry in std::fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => _ = std::fs::copy(&from, &to).expect("the temporary folder can be written"),
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
