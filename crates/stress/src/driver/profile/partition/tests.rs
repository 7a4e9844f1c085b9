//! The rows of a partition are the same each time, differ from one another, and are as many as it is said.

use std::collections::BTreeSet;

use super::super::super::settings::ColumnSpec;
use super::super::values::ValueType;
use super::*;

fn partitions(key: &str, clusters: [&str; 2]) -> Partitions {
    let column = |name: &str, of_type, population: Option<&str>, cluster: Option<&str>| {
        let parse = |text: &str| text.parse().unwrap();
        let spec = ColumnSpec { size: None, population: population.map(parse), cluster: cluster.map(parse) };
        Generator::new(name, of_type, &spec)
    };
    Partitions {
        key: vec![column("id", ValueType::BigInt, Some(key), None)],
        clustering: vec![
            column("day", ValueType::Int, None, Some(clusters[0])),
            column("at", ValueType::Timeuuid, None, Some(clusters[1])),
        ],
        others: ["a", "b", "c", "d"].map(|name| column(name, ValueType::Text, None, None)).into(),
        fillers: Fillers::new(),
    }
}

fn rows(partition: &Partition<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    let _ = partition.walk(&mut |clustering, seed| {
        rows.push(Row { clustering: clustering.to_vec(), seed });
        ControlFlow::Continue(())
    });
    rows
}

#[test]
fn a_partition_is_the_same_each_time() {
    let (one, again) = (
        partitions("UNIFORM(1..1B)", ["UNIFORM(1..4)", "UNIFORM(1..5)"]),
        partitions("UNIFORM(1..1B)", ["UNIFORM(1..4)", "UNIFORM(1..5)"]),
    );
    let mut counts = BTreeSet::new();
    for seed in 0..200 {
        let (one, again) = (one.partition(seed), again.partition(seed));
        let found = rows(&one);
        assert_eq!((&one.key, &found), (&again.key, &rows(&again)));
        assert_eq!(one.row_count(), found.len() as u64);
        counts.insert(found.len());
        for argument in [Argument::Key(0), Argument::Clustering(1), Argument::Other(2)] {
            assert_eq!(one.value(argument, &found[0], 1.0), again.value(argument, &found[0], 1.0));
        }
    }
    assert!(counts.first() == Some(&1) && counts.last() > Some(&12), "{counts:?}");
}

#[test]
fn rows_are_as_many_as_the_clustering_columns_say_and_differ() {
    let partitions = partitions("UNIFORM(1..1B)", ["FIXED(3)", "FIXED(7)"]);
    assert_eq!(partitions.rows_max(), 21);
    let found = rows(&partitions.partition(5));
    assert_eq!(found.len(), 21);
    let days: BTreeSet<u64> = found.iter().map(|row| fold(0, &row.clustering[0])).collect();
    let seeds: BTreeSet<u64> = found.iter().map(|row| row.seed).collect();
    assert_eq!((days.len(), seeds.len()), (3, 21));
    let mut random = 1;
    let drawn: Vec<Row> = (0..500).map(|_| partitions.partition(5).any_row(&mut random)).collect();
    assert!(drawn.iter().all(|row| found.contains(row)));
    assert_eq!(drawn.iter().map(|row| row.seed).collect::<BTreeSet<u64>>().len(), 21, "each is met");
}

#[test]
fn seeds_of_one_key_are_one_partition() {
    let partitions = partitions("UNIFORM(1..2)", ["UNIFORM(1..9)", "FIXED(2)"]);
    let mut met: Vec<(Vec<CqlValue>, Vec<Row>)> = Vec::new();
    for seed in 0..50 {
        let partition = partitions.partition(seed);
        let found = (partition.key.clone(), rows(&partition));
        if !met.contains(&found) {
            met.push(found);
        }
    }
    assert_eq!(met.len(), 2);
}

#[test]
fn a_share_of_the_columns_has_values() {
    let partitions = partitions("UNIFORM(1..1B)", ["FIXED(1)", "FIXED(1)"]);
    let partition = partitions.partition(1);
    let row = &rows(&partition)[0];
    let there =
        |share: f64| (0..4).map(|at| partition.value(Argument::Other(at), row, share).is_some()).collect::<Vec<_>>();
    assert_eq!(there(1.0), [true; 4]);
    assert_eq!(there(0.5), [true, true, false, false]);
    assert_eq!(there(0.0), [false; 4]);
    assert!(partition.value(Argument::Clustering(0), row, 0.0).is_some());
}
