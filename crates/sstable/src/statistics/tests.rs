//! Statistics.db from hostile bytes, and the pieces that are gathered.

use proptest::prelude::*;

use super::*;
use crate::header::EncodingStats;

fn header() -> Header {
    let ty = |text: &str| cql_types::CqlType::parse(text).expect("a type");
    Header {
        encoding: EncodingStats::EPOCH,
        partition_key: vec![ty("int")],
        clustering: vec![
            crate::marshal::ClusteringType { ty: ty("text"), is_reversed: false },
            crate::marshal::ClusteringType { ty: ty("int"), is_reversed: true },
        ],
        statics: Vec::new(),
        regulars: vec![crate::header::HeaderColumn { name: "v".to_owned(), ty: ty("map<text, frozen<list<int>>>") }],
    }
}

const FACTS: FileFacts = FileFacts {
    bloom_filter_fp_chance: 0.01,
    compression_ratio: 0.5,
    host: [9; 16],
    token_space_coverage: Some(0.25),
    level: 3,
    repaired_at: 7,
};

fn clustering(text: &str, number: i32) -> Vec<u8> {
    let mut out = vec![2, u8::try_from(text.len()).expect("short")];
    out.extend_from_slice(text.as_bytes());
    out.push(4);
    out.extend_from_slice(&number.to_be_bytes());
    out
}

fn statistics() -> Statistics {
    statistics_of(1000)
}

fn statistics_of(partitions: i32) -> Statistics {
    let mut collector = StatisticsCollector::new(&header());
    for key in 0..partitions {
        collector.partition(&key.to_be_bytes(), None);
        collector
            .deletion(mutation::Deletion { timestamp: i64::from(key), local_deletion_time: key.unsigned_abs() * 600 });
        for number in [key + 1, key] {
            collector.place(mutation::ClusteringRef::trusted(&clustering("a", number)));
        }
        collector.end_partition(100);
    }
    collector.finish(&FACTS)
}

#[test]
fn what_is_gathered_is_read_again() {
    let statistics = statistics();
    assert_eq!(Statistics::read(Version::DA, &statistics.write()).as_ref(), Ok(&statistics));
    assert_eq!(Statistics::read(Version::OA, &statistics.write()), Ok(statistics));
}

#[test]
fn bounds_span_all_partitions() {
    let stats = statistics().stats;
    let (start, end) = stats.covered_clustering.expect("there are rows");
    // The second column is reversed: the greatest number comes first.
    assert_eq!((start.prefix().bytes(), start.after), (&clustering("a", 1000)[..], false));
    assert_eq!((end.prefix().bytes(), end.after), (&clustering("a", 0)[..], true));
    assert_eq!((stats.timestamp_min, stats.timestamp_max), (0, 999));
    assert_eq!(stats.local_deletion_time_max, Some(999 * 600));
    assert_eq!(stats.partition_sizes.count(), 1000);
    assert_eq!(stats.partition_sizes.percentile(0.5), 103);
}

#[test]
fn tombstones_times_are_gathered_in_few_bins() {
    let histogram = statistics().stats.tombstone_drop_times;
    let counts: u64 = histogram.bins().iter().map(|(_, count)| u64::from(*count)).sum();
    assert_eq!(counts, 1000);
    assert!(histogram.bins().len() <= 100);
    assert!(histogram.bins().is_sorted());
    assert_eq!(histogram.count_until(i64::MAX), 1000);
    let half = histogram.count_until(500 * 600);
    assert!((400..=600).contains(&half), "{half}");
}

#[test]
fn nothing_is_covered_by_an_sstable_without_rows() {
    let statistics = StatisticsCollector::new(&header()).finish(&FACTS);
    let (start, end) = statistics.stats.covered_clustering.clone().expect("it is known");
    assert!(start.after && !end.after && start.prefix().is_empty() && end.prefix().is_empty());
    assert_eq!(Statistics::read(Version::DA, &statistics.write()), Ok(statistics));
}

/// The parts with another type of the first clustering column in one of them.
#[test]
fn bounds_of_other_types_than_the_headers_are_refused() {
    let mut statistics = statistics_of(3);
    let written = statistics.write();
    statistics.header.clustering[0].ty = cql_types::CqlType::Uuid;
    let parts = Parts::read(Version::DA, &written, |_| true).unwrap();
    let mut header = Vec::new();
    statistics.header.write(&mut header);
    let part = |kind| (kind, parts.get(kind, "part").unwrap().1.to_vec());
    let joined = join(&[part(VALIDATION), part(COMPACTION), part(STATS), (HEADER, header)]);
    let error = Statistics::read(Version::DA, &joined).unwrap_err();
    assert!(error.what.contains("differs from the header"), "{error}");
}

#[test]
fn every_flipped_byte_is_found() {
    let bytes = statistics_of(3).write();
    for at in 0..bytes.len() {
        let mut broken = bytes.clone();
        broken[at] ^= 0x10;
        assert!(Statistics::read(Version::DA, &broken).is_err(), "at {at}");
    }
}

/// ScyllaDB's list of parts is in the order of a hash table.
#[test]
fn parts_are_listed_in_any_order() {
    let mut bytes = statistics_of(3).write();
    let entries = 8..40;
    let mut list: Vec<[u8; 8]> = bytes[entries.clone()].chunks(8).map(|entry| entry.try_into().unwrap()).collect();
    list.swap(0, 3);
    list.swap(1, 2);
    bytes[entries.clone()].copy_from_slice(&list.concat());
    let crc = crc_of(&[&bytes[..4], &bytes[entries]]).to_be_bytes();
    bytes[40..44].copy_from_slice(&crc);
    assert_eq!(Statistics::read(Version::DA, &bytes), Ok(statistics_of(3)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Parts that are wrong and whose checksums are right.
    #[test]
    fn wrong_parts_do_no_harm(
        which in 0..4_usize,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let bytes = statistics_of(3).write();
        let parts = Parts::read(Version::DA, &bytes, |_| true).unwrap();
        let mut parts: Vec<(u32, Vec<u8>)> =
            parts.found.iter().map(|(kind, start, end)| (*kind, bytes[*start..*end].to_vec())).collect();
        let part = &mut parts[which].1;
        for (at, byte) in flips {
            let at = at.index(part.len());
            part[at] = byte;
        }
        if let Some(cut) = cut {
            part.truncate(cut.index(part.len()));
        }
        let broken = join(&parts);
        for version in Version::READ {
            // What could be read can be written.
            if let Ok(statistics) = Statistics::read(version, &broken) {
                statistics.write();
            }
        }
    }

    /// The list of parts itself, in a version without checksums.
    #[test]
    fn wrong_lists_do_no_harm(at in 0..64_usize, byte: u8) {
        let mut bytes = statistics_of(3).write();
        bytes[at] = byte;
        for version in Version::READ {
            let _ = Statistics::read(version, &bytes);
        }
    }
}
