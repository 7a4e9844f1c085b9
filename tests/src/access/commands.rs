//! Commands of the matrix: record it, and hold a server against it.

use super::cells::WAYS;
use super::matrix::{Matrix, Row, Verdicts};
use super::run;
use crate::oracle::{Peer, Suite, recorded_by};

/// Under which Helenus is tried: reactor and shard count.
const SUBJECTS: [(&str, u16); 2] = [("uring", 1), ("epoll", 2)];
/// Features that Helenus lacks; rows that need one are not tried on it.
const LACKS: [&str; 6] = ["views", "functions", "masks", "indexes", "triggers", "system-replication"];
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
    let verdicts = run::run(&peer.address, &matrix, &rows, &[])?;
    let cells: usize = verdicts.iter().map(|verdicts| verdicts.cells).sum();
    println!("recorded {} statements in {cells} cells", rows.len());
    for (row, verdicts) in matrix.rows.iter_mut().filter(|row| is_named(row)).zip(verdicts) {
        row.answers = Some(verdicts);
    }
    matrix.recorded = recorded;
    matrix.write()?;
    Ok(true)
}

/// Holds Helenus against the recorded verdicts, with those of the rows that are a sample's. True if they are the same.
pub fn check(sample: &str) -> Result<bool, String> {
    let matrix = Matrix::read()?;
    let third: Option<usize> = match sample {
        "all" => None,
        number => Some(number.parse().map_err(|_| format!("`{number}` is no sample"))?),
    };
    let is_of_sample = |at: usize| third.is_none_or(|third| at % 3 == third % 3);
    let is_lacked = |row: &Row| row.key("needs").is_some_and(|feature| LACKS.contains(&feature));
    let all = matrix.rows.iter().enumerate();
    let rows: Vec<&Row> = all.filter(|(at, row)| is_of_sample(*at) && !is_lacked(row)).map(|(_, row)| row).collect();
    let mut is_right = true;
    for (reactor, shards) in SUBJECTS {
        let server = Suite::Guarded.helenus(reactor, shards).start();
        let verdicts = run::run(&server.address(), &matrix, &rows, &LACKS)?;
        let cells: usize = verdicts.iter().map(|verdicts| verdicts.cells).sum();
        let wrong = rows.iter().zip(&verdicts).filter(|(row, verdicts)| !is_as_recorded(row, verdicts)).count();
        println!("Helenus on {reactor} with {shards} shards: {} statements in {cells} cells", rows.len());
        let outcome = if wrong == 0 { "ok" } else { "FAILED" };
        println!("test result: {outcome}. {} passed; {wrong} failed", rows.len() - wrong);
        let complaints = server.complaints();
        complaints.iter().for_each(|complaint| println!("Helenus complained: {complaint}"));
        is_right &= wrong == 0 && complaints.is_empty();
    }
    Ok(is_right)
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
