//! Commands of the matrix: record it, and hold a server against it.

use std::time::Instant;

use super::cells::WAYS;
use super::matrix::{Matrix, Row, Verdicts};
use super::run;
use crate::oracle::{Peer, Suite, recorded_by};
use crate::{Builder, Net, Part, Server};

/// Under which Helenus is tried: reactor and shard count.
const SUBJECTS: [(&str, u16); 2] = [("uring", 1), ("epoll", 2)];
/// The nodes of a cluster on which it is tried.
const NODES: [u8; 3] = [1, 2, 3];
/// In the line of the node that founds a cluster, when others vote too.
const VOTERS: &str = "changing the voters of the metadata group";
/// Features that Helenus lacks; rows that need one are not tried on it.
const LACKS: [&str; 5] = ["views", "functions", "indexes", "triggers", "system-replication"];
/// Differences of one row that are shown.
const SHOWN_MAX: usize = 8;

/// Writes a real server's verdicts on the rows of these names into the file, or on all rows.
pub fn record(peer: &Peer, names: &[&str]) -> Result<bool, String> {
    let mut matrix = Matrix::read()?;
    let recorded = recorded_by(std::slice::from_ref(peer));
    if !names.is_empty() && matrix.recorded != recorded {
        return Err(format!("the other rows were recorded from `{}`; the server now is `{recorded}`", matrix.recorded));
    }
    let is_named = |row: &Row| names.is_empty() || names.contains(&row.name.as_str());
    let rows: Vec<&Row> = matrix.rows.iter().filter(|row| is_named(row)).collect();
    if let Some(name) = names.iter().find(|name| !rows.iter().any(|row| row.name == **name)) {
        return Err(format!("there is no row `{name}`"));
    }
    let outcome = run::run(std::slice::from_ref(&peer.address), &matrix, &rows, &[])?;
    println!("recorded {} statements in {} cells", rows.len(), outcome.cells());
    if let [first, ..] = &outcome.not_revoked[..] {
        return Err(format!("after REVOKE {} grants still counted: {first}", outcome.not_revoked.len()));
    }
    for (row, verdicts) in matrix.rows.iter_mut().filter(|row| is_named(row)).zip(outcome.verdicts) {
        row.answers = Some(verdicts);
    }
    matrix.recorded = recorded;
    matrix.write()?;
    Ok(true)
}

/// Holds one node against the recorded verdicts, on one shard and on two, with a part of the rows. True if they are the same.
pub fn check(part: Part) -> Result<bool, String> {
    let matrix = Matrix::read()?;
    let rows = tried(&matrix, part);
    let mut is_right = true;
    for (reactor, shards) in SUBJECTS {
        let servers = [Suite::Guarded.helenus(reactor, shards).start()];
        is_right &= hold(&format!("Helenus on {reactor} with {shards} shards"), &servers, &matrix, &rows)?;
    }
    Ok(is_right)
}

/// The same of a cluster of three nodes: each grants in turn, and the others run the statements.
pub fn check_cluster(part: Part) -> Result<bool, String> {
    let matrix = Matrix::read()?;
    let rows = tried(&matrix, part);
    let net = Net::new();
    let [first, others @ ..] = NODES.map(|number| Suite::Guarded.configure(net.node(number, &NODES[..1])));
    let mut first = first.start();
    let mut others = others.each_ref().map(Builder::launch);
    others.iter_mut().for_each(Server::wait_until_ready);
    first.wait_for_line(&[VOTERS]);
    let servers: Vec<Server> = std::iter::once(first).chain(others).collect();
    hold("Helenus on three nodes", &servers, &matrix, &rows)
}

/// The rows of a part, without those of features that Helenus lacks.
fn tried(matrix: &Matrix, part: Part) -> Vec<&Row> {
    let is_lacked = |row: &Row| row.key("needs").is_some_and(|feature| LACKS.contains(&feature));
    part.of(&matrix.rows).filter(|row| !is_lacked(row)).collect()
}

/// Tries the rows on servers that are one node or one cluster. True if each verdict is the recorded one, and none outlived its grant.
fn hold(subject: &str, servers: &[Server], matrix: &Matrix, rows: &[&Row]) -> Result<bool, String> {
    let began = Instant::now();
    let addresses: Vec<String> = servers.iter().map(Server::address).collect();
    let outcome = run::run(&addresses, matrix, rows, &LACKS)?;
    let wrong = rows.iter().zip(&outcome.verdicts).filter(|(row, verdicts)| !is_as_recorded(row, verdicts)).count();
    for message in outcome.not_revoked.iter().take(SHOWN_MAX) {
        println!("after REVOKE: {message}");
    }
    let (cells, seconds) = (outcome.cells(), began.elapsed().as_secs());
    let (revoked, late) = (outcome.after_revoke, outcome.not_revoked.len());
    println!(
        "{subject}: {} statements in {cells} cells, {revoked} of them again after REVOKE, in {seconds} s",
        rows.len()
    );
    let is_right = wrong == 0 && late == 0;
    let verdict = if is_right { "ok" } else { "FAILED" };
    println!("test result: {verdict}. {} passed; {} failed", rows.len() - wrong, wrong + usize::from(late > 0));
    let complaints: Vec<String> = servers.iter().flat_map(Server::complaints).collect();
    complaints.iter().for_each(|complaint| println!("{subject} complained: {complaint}"));
    Ok(is_right && complaints.is_empty())
}

/// True if a row's verdicts are those recorded, or those that close a hole; prints where not.
fn is_as_recorded(row: &Row, given: &Verdicts) -> bool {
    let Some(expected) = row.answers_of_helenus.as_ref().or(row.answers.as_ref()) else {
        println!("{}: was never recorded (`cargo xtask access matrix --record`)", row.name);
        return false;
    };
    let mut differences = Vec::new();
    for (cell, expected, given) in
        [("none", &expected.none, &given.none), ("superuser", &expected.superuser, &given.superuser)]
    {
        if expected != given {
            differences.push(format!("{cell}: expected `{expected}`, given `{given}`"));
        }
    }
    if expected.cells != given.cells {
        differences.push(format!("{} cells were recorded, {} tried", expected.cells, given.cells));
    }
    let cells: std::collections::BTreeSet<_> = expected.others.keys().chain(given.others.keys()).collect();
    for cell in cells {
        let expected = expected.others.get(cell).unwrap_or(&expected.none);
        let given = given.others.get(cell).unwrap_or(&given.none);
        if expected != given {
            let (way, (permission, level)) = cell;
            let way = WAYS[*way].0;
            differences.push(format!("{way} {permission} {level}: expected `{expected}`, given `{given}`"));
        }
    }
    if !differences.is_empty() {
        println!("{}: {} differences\n    {}", row.name, differences.len(), row.text);
        differences.iter().take(SHOWN_MAX).for_each(|difference| println!("      {difference}"));
    }
    differences.is_empty()
}
