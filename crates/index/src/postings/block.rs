//! A block of postings; its layout is at the head of `postings.rs`.

use sstable::Corrupt;
use stdx::{ReadError, Reader, varint};

use super::bits::{WIDTH_MAX, get, pack, packed_len, width_of};
use super::{BLOCK_POSTINGS, Posting};

/// The longest block, bytes: count, token head, two varints, widths, and all deltas as wide as they can be.
pub(super) const LENGTH_MAX: usize = 1 + 4 + 2 * varint::LENGTH_MAX + 3 + (BLOCK_POSTINGS - 1) * (4 + 8 + 8);

/// Appends 1 to [`BLOCK_POSTINGS`] postings, which ascend.
pub(super) fn encode(postings: &[Posting], out: &mut Vec<u8>) {
    let first = &postings[0];
    out.push((postings.len() - 1) as u8);
    out.extend_from_slice(&first.token_head.to_be_bytes());
    varint::encode(first.partition, out);
    varint::encode(first.row, out);
    if postings.len() == 1 {
        return;
    }
    let pairs = || postings.windows(2).map(|pair| (&pair[0], &pair[1]));
    let heads = || pairs().map(|(before, posting)| u64::from(posting.token_head - before.token_head));
    let partitions = || pairs().map(|(before, posting)| posting.partition - before.partition);
    let rows = || {
        pairs().map(|(before, posting)| {
            let base = if posting.partition == before.partition { before.row } else { 0 };
            posting.row - base
        })
    };
    let widths = [widest(heads()), widest(partitions()), widest(rows())];
    out.extend(widths.iter().map(|&width| width as u8));
    pack(heads(), widths[0], out);
    pack(partitions(), widths[1], out);
    pack(rows(), widths[2], out);
}

fn widest(values: impl Iterator<Item = u64>) -> u32 {
    width_of(values.fold(0, |all, value| all | value))
}

/// Appends the postings of the block at the beginning of `bytes`, of which byte 0 is at `offset` of the file. Returns the block's length, bytes.
pub(super) fn decode(bytes: &[u8], offset: u64, out: &mut Vec<Posting>) -> Result<usize, Corrupt> {
    let wrong = |error: ReadError| Corrupt::new(offset, format!("a block of postings: {error}"));
    let damaged = |what: &str| Corrupt::new(offset, format!("a block of postings: {what}"));
    let mut reader = Reader::new(bytes);
    let deltas = usize::from(reader.u8().map_err(wrong)?);
    if deltas >= BLOCK_POSTINGS {
        return Err(damaged("there are too many"));
    }
    let token_head = reader.u32().map_err(wrong)?;
    let partition = reader.varint().map_err(wrong)?;
    let mut last = Posting { partition, row: reader.varint().map_err(wrong)?, token_head };
    out.push(last);
    if deltas == 0 {
        return Ok(bytes.len() - reader.remaining());
    }
    let widths = reader.array::<3>().map_err(wrong)?.map(u32::from);
    if widths[0] > 32 || widths.iter().any(|&width| width > WIDTH_MAX) {
        return Err(damaged("a width is out of range"));
    }
    let mut packed = |width| reader.bytes(packed_len(deltas, width)).map_err(wrong);
    let (heads, partitions, rows) = (packed(widths[0])?, packed(widths[1])?, packed(widths[2])?);
    for index in 0..deltas {
        let delta = get(partitions, index, widths[1]);
        let row = get(rows, index, widths[2]);
        if delta == 0 && row == 0 {
            return Err(damaged("they do not ascend"));
        }
        let base = if delta == 0 { last.row } else { 0 };
        let head = u64::from(last.token_head) + get(heads, index, widths[0]);
        let (Some(partition), Some(row), Ok(token_head)) =
            (last.partition.checked_add(delta), base.checked_add(row), u32::try_from(head))
        else {
            return Err(damaged("a place is out of range"));
        };
        last = Posting { partition, row, token_head };
        out.push(last);
    }
    Ok(bytes.len() - reader.remaining())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(postings: &[Posting]) -> usize {
        let mut bytes = Vec::new();
        encode(postings, &mut bytes);
        let length = bytes.len();
        assert!(length <= LENGTH_MAX);
        bytes.extend_from_slice(&[0xff; 20]);
        let mut found = Vec::new();
        assert_eq!(decode(&bytes, 0, &mut found), Ok(length));
        assert_eq!(found, postings);
        for shorter in 0..length {
            assert!(decode(&bytes[..shorter], 0, &mut Vec::new()).is_err());
        }
        length
    }

    #[test]
    fn blocks_round_trip_and_are_short() {
        let wide: Vec<Posting> =
            (0..128).map(|row| Posting { partition: 1 << 40, row: row * 30, token_head: 7 }).collect();
        assert_eq!(round_trip(&wide), 1 + 4 + 6 + 1 + 3 + (127 * 5_usize).div_ceil(8));
        let narrow: Vec<Posting> = (0..100_u64)
            .map(|n| Posting { partition: n * 200 + n % 3, row: 20 + n % 5, token_head: n as u32 * 4000 })
            .collect();
        assert!(round_trip(&narrow) < 100 * 4);
        round_trip(&narrow[..1]);
        let last = Posting { partition: u64::MAX, row: u64::MAX, token_head: u32::MAX };
        round_trip(&[Posting { partition: 0, row: 0, token_head: 0 }, last]);
        round_trip(&[Posting { row: 0, ..last }, last]);
    }

    #[test]
    fn postings_that_do_not_ascend_and_overflow_are_damage() {
        let postings = [1, 2].map(|partition| Posting { partition, row: 0, token_head: 0 });
        let mut bytes = Vec::new();
        encode(&postings, &mut bytes);
        // Widths 0, 1, 0 and one byte for the delta.
        assert_eq!(bytes, [1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1]);
        for (at, byte) in [(0, 128), (0, 255), (10, 0), (7, 33), (8, 65), (9, 65)] {
            let mut damaged = bytes.clone();
            damaged[at] = byte;
            damaged.resize(4000, 0);
            assert!(decode(&damaged, 0, &mut Vec::new()).is_err(), "{at} {byte}");
        }
    }
}
