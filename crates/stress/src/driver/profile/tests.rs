//! Which rows an insert is made of, and how large inserts may be.

use super::super::settings::ColumnSpec;
use super::values::{Fillers, Generator, ValueType};
use super::*;

fn partitions(cluster: &str) -> Partitions {
    let column = |name: &str, of_type, cluster: Option<&str>| {
        let spec = ColumnSpec { cluster: cluster.map(|text| text.parse().unwrap()), ..ColumnSpec::default() };
        Generator::new(name, of_type, &spec)
    };
    Partitions {
        key: vec![column("id", ValueType::BigInt, None)],
        clustering: vec![column("at", ValueType::BigInt, Some(cluster))],
        others: Vec::new(),
        fillers: Fillers::new(),
    }
}

fn selected(partition: &Partition<'_>, part: u64, parts: u64, chance: f64, random: u64) -> Vec<u64> {
    let mut rows = Vec::new();
    let mut random = random;
    select(partition, Visit { seed: 0, part, parts }, chance, &mut random, &mut |row| rows.push(row.seed));
    rows
}

#[test]
fn the_visits_to_a_partition_write_each_row_once() {
    let partitions = partitions("FIXED(10)");
    let partition = partitions.partition(3);
    let all = selected(&partition, 0, 1, 1.0, 1);
    assert_eq!(all.len(), 10);
    for parts in [2, 3, 10] {
        let by_part: Vec<u64> = (0..parts).flat_map(|part| selected(&partition, part, parts, 1.0, 1)).collect();
        assert_eq!(by_part, all, "{parts}");
    }
    assert_eq!(selected(&partition, 11, 25, 1.0, 1), [all[1]], "more visits than rows");
}

#[test]
fn rows_are_selected_by_chance_and_one_at_least() {
    let partitions = partitions("FIXED(1000)");
    let partition = partitions.partition(3);
    let share = selected(&partition, 0, 1, 0.3, 7).len();
    assert!((220..380).contains(&share), "{share}");
    assert_ne!(selected(&partition, 0, 1, 0.3, 7), selected(&partition, 0, 1, 0.3, 8));
    assert_eq!(selected(&partition, 0, 1, 0.0, 7).len(), 1);
}

#[test]
fn inserts_that_would_be_too_large_are_refused() {
    let insert = |partitions: &str, select: &str, visits: &str, batch| InsertSettings {
        partitions: partitions.parse().unwrap(),
        select: select.parse().unwrap(),
        visits: visits.parse().unwrap(),
        batch,
        ..InsertSettings::default()
    };
    let of = |insert: InsertSettings| {
        check_size(&insert, &partitions("UNIFORM(1..1000)")).map_err(|error| error.to_string())
    };
    let (logged, unlogged) = (BatchType::Logged, BatchType::Unlogged);
    of(insert("FIXED(65)", "FIXED(1)/1", "FIXED(1)", logged)).unwrap();
    let reason = of(insert("UNIFORM(1..66)", "FIXED(1)/1", "FIXED(1)", logged)).unwrap_err();
    assert!(reason.contains("66000 rows, the limit is 65535"), "{reason}");
    of(insert("FIXED(66)", "UNIFORM(1..5)/10", "FIXED(1)", logged)).unwrap();
    of(insert("FIXED(66)", "FIXED(1)/1", "UNIFORM(2..9)", logged)).unwrap();
    of(insert("FIXED(66)", "FIXED(1)/1", "FIXED(1)", unlogged)).unwrap();
    assert!(of(insert("FIXED(10001)", "FIXED(1)/1", "FIXED(1)", unlogged)).is_err());
}

#[test]
fn keyspaces_are_made_before_they_are_used() {
    assert!(words_begin("\n CREATE  keyspace x", &["create", "keyspace"]));
    assert!(
        !words_begin("CREATE TABLE keyspace", &["create", "keyspace"])
            && !words_begin("create", &["create", "keyspace"])
    );
}
