//! The arithmetic against sums made by hand, and laws that hold for any load.

use clap::Parser;
use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};
use proptest::strategy::Strategy as Generator;

use super::*;
use crate::arguments::{SizeArguments, Strategy};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: SizeArguments,
}

fn load(line: &str) -> Result<Load, String> {
    let words = std::iter::once("size").chain(line.split_whitespace());
    let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
    Load::of(&line.arguments).map_err(|error| error.to_string())
}

fn sizing(line: &str) -> Sizing {
    reckon(&load(line).expect("a load")).expect("it fits")
}

fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= expected.abs() * 1e-9
}

/// One node, one copy, nothing compressed or stale: each number can be made by hand.
#[test]
fn one_node_by_hand() {
    let answer = sizing(
        "--rows 20M --row-bytes 310 --ops 100k --read-share 0.5 --replication 1 --compression-ratio 1 --overhead 0 --utilisation 0.5 --node-cores 64",
    );
    assert_eq!(answer.nodes, 1);
    let node = answer.node;
    // 50,000 × (3.0 + 1.74) + 50,000 × (3.0 + 1.48 + 0.42 + 20 × 1.01) µs = 0.237 + 1.255 s
    assert!(is_near(node.busy_share * node.cores as f64, 0.237 + 1.255), "{node:?}");
    assert_eq!(node.cores, 3, "1.492 at 50 %");
    // 20M × (310 + 22 + 9.4 + 1.25)
    assert_eq!(node.data_bytes, 6_853_000_000);
    assert_eq!(node.compaction_room_bytes, node.data_bytes, "size-tiered: as much again");
    // 3 shards of 1 GiB; the index's pages would want 4 × 188 MB.
    assert_eq!(node.memory_flag_bytes, 3 << 30);
    assert_eq!(node.memory_bytes, 6 << 30);
    assert_eq!(node.commit_log_bytes, 3 << 30);
    assert_eq!(node.disk_bytes, 2 * 6_853_000_000 + (3 << 30));
    assert!(is_near(node.disk_reads_per_second, 50_500.0));
    assert!(is_near(node.disk_read_bytes_per_second, 50_500.0 * (332.0 + 4_096.0)));
    // A shard has 20M × 332 / 3 = 2.2 GB and flushes 1 GiB / 4 / 1.16 = 231 MB: 9.6 of them, which two tiers of four hold.
    assert!(is_near(node.rewrites, 2.0));
    assert!(is_near(node.compaction_bytes_per_second, 50_000.0 * 332.0 * 2.0));
    assert!(is_near(node.disk_write_bytes_per_second, 50_000.0 * 332.0 * 4.0));
    assert!(is_near(node.network_bits_per_second, 50_000.0 * 310.0 * 8.0));
    assert_eq!(node.busy_share_one_away, None);
    assert!(answer.notes.is_empty(), "{:?}", answer.notes);
}

#[test]
fn copies_cost_what_they_cost() {
    let one = sizing("--rows 1M --row-bytes 300 --ops 100k --read-share 0 --replication 1").node;
    let three = sizing("--rows 1M --row-bytes 300 --ops 100k --read-share 0 --replication 3");
    assert_eq!(three.nodes, 3);
    // Three nodes with a copy each: each has all the data and all the writes, and a third of the clients' network.
    assert_eq!(three.node.data_bytes, one.data_bytes);
    assert!(is_near(one.busy_share * one.cores as f64, 0.1 * (3.0 + 1.74)));
    assert!(is_near(three.node.busy_share * three.node.cores as f64, 0.1 * (3.0 / 3.0 + 1.74)));
    assert!(
        is_near(three.node.network_bits_per_second, 100_000.0 * 300.0 * 8.0),
        "1 from clients and 2 between nodes, over 3"
    );
    let away = three.node.busy_share_one_away.expect("there are others");
    assert!(is_near(away, three.node.busy_share * 1.5));
}

#[test]
fn an_index_that_is_not_in_memory_costs_reads() {
    let line = "--rows 1G --row-bytes 310 --ops 10k --read-share 1 --replication 1 --compression-ratio 1 --overhead 0 --node-disk 9TB";
    let all = sizing(line).node;
    let half = sizing(&format!("{line} --index-in-memory 50%")).node;
    // A quarter of --memory holds 9.4 GB of index, or half of it.
    assert_eq!(all.memory_flag_bytes, 37_600_000_000);
    assert_eq!(half.memory_flag_bytes, 18_800_000_000);
    assert!(is_near(all.disk_reads_per_second, 10_100.0));
    assert!(is_near(half.disk_reads_per_second, 15_100.0));
    assert!(is_near(half.disk_read_bytes_per_second - all.disk_read_bytes_per_second, 5_000.0 * 4_096.0));
    assert!(half.busy_share * half.cores as f64 > all.busy_share * all.cores as f64);
    // 1.25 bytes of filter, and a sum of 4 bytes for each 4 KiB of 332 bytes a row
    assert!(is_near(all.filters_and_places_bytes as f64, 1_250_000_000.0 + 332_000_000_000.0 / 1_024.0));
}

#[test]
fn reads_ask_a_majority_unless_told() {
    assert_eq!(load("--rows 1 --row-bytes 1 --ops 1").expect("a load").read_copies, 2);
    assert_eq!(load("--rows 1 --row-bytes 1 --ops 1 --replication 5").expect("a load").read_copies, 3);
    assert_eq!(load("--rows 1 --row-bytes 1 --ops 1 --replication 1").expect("a load").read_copies, 1);
    assert_eq!(load("--rows 1 --row-bytes 1 --ops 1 --read-copies 1").expect("a load").read_copies, 1);
}

#[test]
fn a_retention_is_rows() {
    let load = load("--retention 1d --row-bytes 100 --ops 10k --read-share 75%").expect("a load");
    assert_eq!(load.rows, 2_500 * 86_400);
}

#[test]
fn nodes_are_added_for_disks_and_for_cores() {
    let small = sizing("--rows 10G --row-bytes 300 --ops 1k --node-disk 4TB");
    let smaller = sizing("--rows 10G --row-bytes 300 --ops 1k --node-disk 1TB");
    assert!(smaller.nodes > small.nodes && small.nodes > 3, "{} and {}", smaller.nodes, small.nodes);
    for sizing in [&small, &smaller] {
        assert!(sizing.node.disk_bytes <= sizing.load.node_disk_bytes);
        let fewer = Node::of(&sizing.load, sizing.nodes - 1);
        assert!(fewer.disk_bytes > sizing.load.node_disk_bytes, "one node less would have done");
    }
    let busy = sizing("--rows 1M --row-bytes 300 --ops 3M --node-cores 8");
    assert!(busy.nodes > 3 && busy.node.cores <= 8);
    assert!(Node::of(&busy.load, busy.nodes - 1).cores > 8, "one node less would have done");
}

#[test]
fn strategies_differ_as_they_should() {
    let of = |strategy: &str| {
        sizing(&format!("--rows 1G --row-bytes 300 --ops 10k --node-disk 20TB --strategy {strategy}")).node
    };
    let [tiered, leveled, unified, windows] = ["size-tiered", "leveled", "unified", "time-window"].map(of);
    assert!(leveled.compaction_room_bytes < tiered.compaction_room_bytes);
    assert_eq!(tiered.compaction_room_bytes, tiered.data_bytes);
    assert_eq!(unified.compaction_room_bytes, (tiered.data_bytes as f64 / 4.0).ceil() as u64);
    assert!(
        leveled.rewrites > tiered.rewrites,
        "levels are written again and again: {} {}",
        leveled.rewrites,
        tiered.rewrites
    );
    assert!(windows.rewrites <= tiered.rewrites);
}

#[test]
fn notes_are_made_when_they_are_due() {
    let writes = sizing("--rows 1G --row-bytes 1000 --ops 500k --read-share 0");
    assert!(writes.notes.iter().any(|note| note.contains("compaction_throughput")), "{:?}", writes.notes);
    let two = sizing("--rows 1M --row-bytes 100 --ops 1k --replication 2");
    assert!(two.notes.iter().any(|note| note.contains("fewer than three copies")), "{:?}", two.notes);
}

#[test]
fn bad_input_is_refused_in_words() {
    for (line, part) in [
        ("--row-bytes 300 --ops 1k", "required"),
        ("--rows 1M --retention 1d --row-bytes 300 --ops 1k", "cannot be used with"),
        ("--rows 1M --ops 1k", "--row-bytes"),
        ("--rows many --row-bytes 300 --ops 1k", "'many' is not a count"),
        ("--rows 1M --row-bytes 300 --ops 1k --read-share 1.5", "not a share"),
        ("--rows 0 --row-bytes 300 --ops 1k", "--rows: there must be at least 1 row"),
        ("--rows 2000T --row-bytes 300 --ops 1k", "--rows: 2000000000000000 rows"),
        ("--retention 1d --row-bytes 300 --ops 1k --read-share 1", "--retention: there must be at least 1 row"),
        ("--rows 1M --row-bytes 0 --ops 1k", "--row-bytes: from 1"),
        ("--rows 1M --row-bytes 300 --ops 1k --replication 0", "--replication: from 1"),
        ("--rows 1M --row-bytes 300 --ops 1k --read-copies 4", "--read-copies: from 1 to the 3 copies"),
        ("--rows 1M --row-bytes 300 --ops 1k --compression-ratio 0", "--compression-ratio: at least"),
        ("--rows 1M --row-bytes 300 --ops 1k --utilisation 0", "--utilisation: at least"),
        ("--rows 1M --row-bytes 300 --ops 1k --node-cores 0", "--node-cores: at least 1"),
        ("--rows 1M --row-bytes 300 --ops 1k --partition-rows 0", "--partition-rows: at least 1"),
        ("--rows 1M --row-bytes 300 --ops 1k --strategy none", "size-tiered"),
    ] {
        let refusal = load(line).expect_err(line);
        assert!(refusal.contains(part), "{line}: {refusal}");
    }
}

#[test]
fn what_fits_nowhere_is_refused_in_words() {
    let too_large = |line: &str| reckon(&load(line).expect("a load")).expect_err(line).to_string();
    let data = too_large("--rows 900T --row-bytes 1000 --ops 1k");
    assert_eq!(data, "even 10000 nodes are not enough for this much data; raise --node-disk");
    let operations = too_large("--rows 1M --row-bytes 1000 --ops 1T");
    assert_eq!(operations, "even 10000 nodes are not enough for this rate of operations; raise --node-cores");
}

#[test]
fn every_figure_has_a_source_and_the_report_shows_it() {
    for strategy in ["size-tiered", "leveled", "unified", "time-window"] {
        let sizing = sizing(&format!("--rows 20M --row-bytes 310 --ops 100k --strategy {strategy}"));
        let report = text(&sizing);
        for figure in &sizing.figures {
            assert!(
                !figure.source.is_empty() && report.contains(figure.what) && report.contains(figure.source),
                "{figure:?}"
            );
        }
        assert!(report.starts_with("An estimate"));
        let value: serde_json::Value = serde_json::from_str(&json(&sizing)).expect("it is JSON");
        assert_eq!(value["nodes"], 3);
        assert_eq!(value["load"]["strategy"], strategy);
        assert_eq!(value["node"]["cores"], sizing.node.cores);
        assert_eq!(value["figures"][0]["source"], figures::WRITE.source);
    }
}

fn any_load() -> impl Generator<Value = Load> {
    let strategy =
        prop::sample::select(vec![Strategy::SizeTiered, Strategy::Leveled, Strategy::TimeWindow, Strategy::Unified]);
    let numbers = (1_u64..1_000_000_000_000, 1_u64..1_000_000, 1_u64..10_000_000, 1_u64..1_000_000_000);
    (numbers, 0.0..=1.0_f64, 1_u32..6, 0.01..=2.0_f64, 0.0..=5.0_f64, strategy).prop_map(
        |(
            (rows, row_bytes, partition_rows, operations),
            read_share,
            replication,
            compression_ratio,
            overhead,
            strategy,
        )| Load {
            rows,
            row_bytes,
            partition_rows,
            operations_per_second: operations,
            read_share,
            replication,
            read_copies: replication / 2 + 1,
            compression_ratio,
            overhead,
            strategy,
            index_in_memory: 1.0,
            utilisation: 0.5,
            node_cores: 22,
            node_disk_bytes: 4_000_000_000_000,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn an_answer_is_enough_and_finite(load in any_load()) {
        if let Ok(sizing) = reckon(&load) {
            let node = &sizing.node;
            prop_assert!(sizing.nodes >= u64::from(load.replication));
            prop_assert!(node.busy_share <= load.utilisation * (1.0 + 1e-9));
            prop_assert!(node.cores <= 22 && node.disk_bytes <= load.node_disk_bytes);
            prop_assert!(node.memory_bytes >= node.memory_flag_bytes);
            // All copies have room, before anything is added to them.
            let stored = load.rows as f64 * load.row_bytes as f64 * f64::from(load.replication) * load.compression_ratio;
            prop_assert!(node.data_bytes as f64 * sizing.nodes as f64 >= stored * (1.0 - 1e-9));
            for number in [node.rewrites, node.disk_reads_per_second, node.disk_read_bytes_per_second, node.disk_write_bytes_per_second, node.network_bits_per_second] {
                prop_assert!(number.is_finite() && number >= 0.0);
            }
            let _ = (text(&sizing), json(&sizing));
        }
    }

    #[test]
    fn more_never_needs_less(load in any_load()) {
        let larger = Load { rows: load.rows * 2, ..load.clone() };
        let busier = Load { operations_per_second: load.operations_per_second * 2, ..load.clone() };
        for nodes in [5, 50, 500] {
            let (node, large, busy) = (Node::of(&load, nodes), Node::of(&larger, nodes), Node::of(&busier, nodes));
            prop_assert!(large.disk_bytes >= node.disk_bytes && large.memory_bytes >= node.memory_bytes);
            prop_assert!(busy.cores >= node.cores && busy.disk_write_bytes_per_second >= 0.0);
        }
    }
}
