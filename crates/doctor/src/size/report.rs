//! The answer as a person reads it, and as a program does.

use std::fmt::Write;

use super::Sizing;
use super::load::name;
use crate::units::{print_bytes, print_count, print_disk_bytes};

/// For people.
pub(crate) fn text(sizing: &Sizing) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_text(sizing, &mut out);
    out
}

fn write_text(sizing: &Sizing, out: &mut String) -> std::fmt::Result {
    let (load, node) = (&sizing.load, &sizing.node);
    let per_cent = |share: f64| format!("{:.0} %", share * 100.0);
    let rate = |bytes: f64| format!("{} a second", print_disk_bytes(bytes.round() as u64));
    writeln!(out, "An estimate, from what was measured and assumed below. Try your own load before you buy.\n")?;
    writeln!(
        out,
        "load: {} rows of {} bytes, {} to a partition, in {} copies; {} operations a second, {} of them reads that ask {}; {} compaction\n",
        print_count(load.rows),
        load.row_bytes,
        print_count(load.partition_rows),
        load.replication,
        print_count(load.operations_per_second),
        per_cent(load.read_share),
        if load.read_copies == 1 { "1 copy".to_owned() } else { format!("{} copies", load.read_copies) },
        name(load.strategy),
    )?;
    let mut line = |what: &str, value: String, detail: String| {
        writeln!(out, "{}", format!("{what:<14} {value:<18} {detail}").trim_end())
    };
    let nodes_why = format!(
        "as many as copies, or as cores up to {} and disks up to {} need",
        load.node_cores,
        print_disk_bytes(load.node_disk_bytes)
    );
    line("nodes", sizing.nodes.to_string(), nodes_why)?;
    line("each with", String::new(), String::new())?;
    let away = node
        .busy_share_one_away
        .map_or_else(String::new, |share| format!(", {} while one node is away", per_cent(share)));
    line("  cores", node.cores.to_string(), format!("{} busy{away}", per_cent(node.busy_share)))?;
    line(
        "  memory",
        print_bytes(node.memory_bytes),
        format!(
            "--memory {}M; filters and places of chunks take {}",
            node.memory_flag_bytes.div_ceil(1 << 20),
            print_bytes(node.filters_and_places_bytes)
        ),
    )?;
    line(
        "  disk",
        print_disk_bytes(node.disk_bytes),
        format!(
            "{} of files, {} for compactions, {} of commit log",
            print_disk_bytes(node.data_bytes),
            print_disk_bytes(node.compaction_room_bytes),
            print_disk_bytes(node.commit_log_bytes)
        ),
    )?;
    line(
        "  disk reads",
        format!("{} a second", print_count(node.disk_reads_per_second.round() as u64)),
        format!("{}, if no row that is read is in memory", rate(node.disk_read_bytes_per_second)),
    )?;
    line(
        "  disk writes",
        rate(node.disk_write_bytes_per_second),
        format!("log, flushes, and {:.0} times compacted", node.rewrites),
    )?;
    line(
        "  network",
        format!("{:.0} Mb/s", node.network_bits_per_second / 1e6),
        "of rows, in the busier direction".to_owned(),
    )?;
    for note in &sizing.notes {
        writeln!(out, "\n{note}")?;
    }
    writeln!(out, "\nestimated from")?;
    for figure in &sizing.figures {
        let value = format!("{} {}", figure.value, figure.unit);
        writeln!(out, "  {:<11} {} ({})", value.trim_end(), figure.what, figure.source)?;
    }
    writeln!(
        out,
        "  {:<11} of the cores busy at the most: the rest is for flushes, compactions and a node that is away (--utilisation)",
        per_cent(load.utilisation)
    )?;
    writeln!(out, "  {:<11} of the indexes in memory (--index-in-memory)", per_cent(load.index_in_memory))?;
    writeln!(out, "  {:<11} bytes on disk per byte of data (--compression-ratio)", load.compression_ratio)?;
    writeln!(out, "  {:<11} bytes of obsolete data per byte of live data (--overhead)", load.overhead)
}

/// For programs.
pub(crate) fn json(sizing: &Sizing) -> String {
    serde_json::to_string_pretty(sizing).expect("numbers that are finite, texts and enums are always JSON") + "\n"
}
