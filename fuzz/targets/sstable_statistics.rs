//! Statistics.db of every version, with the serialization header in it.

use sstable::Version;
use sstable::statistics::Statistics;

fn read(version: Version, bytes: &[u8]) {
    let Ok(statistics) = Statistics::read(version, bytes) else { return };
    // What is written is as `da` has it, whatever it was read from.
    let written = statistics.write();
    let again = Statistics::read(Version::DA, &written).expect("what is written can be read");
    assert_eq!(again.write(), written);
    if let Some((start, end)) = again.stats.covered_clustering {
        assert!(start.prefix().components().count() + end.prefix().components().count() <= 2 * bytes.len());
    }
}

/// The same bytes as four parts whose checksums are right, each with a length of two bytes before it.
fn sealed(mut bytes: &[u8]) -> Vec<u8> {
    let mut parts = Vec::new();
    while parts.len() < 4 {
        let Some((length, rest)) = bytes.split_first_chunk::<2>() else { break };
        let (part, rest) = rest.split_at(usize::from(u16::from_be_bytes(*length)).min(rest.len()));
        parts.push(part);
        bytes = rest;
    }
    let mut list = (parts.len() as u32).to_be_bytes().to_vec();
    let count_crc = crc32fast::hash(&list);
    let mut position = 12 + 8 * parts.len() as u32;
    for (kind, part) in (0_u32..).zip(&parts) {
        list.extend(kind.to_be_bytes());
        list.extend(position.to_be_bytes());
        position += part.len() as u32 + 4;
    }
    let list_crc = crc32fast::hash(&list);
    let mut out = list[..4].to_vec();
    out.extend(count_crc.to_be_bytes());
    out.extend(&list[4..]);
    out.extend(list_crc.to_be_bytes());
    for part in parts {
        out.extend(part);
        out.extend(crc32fast::hash(part).to_be_bytes());
    }
    out
}

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let version = Version::READ[usize::from(first) % Version::READ.len()];
    read(version, data);
    read(version, &sealed(data));
}
