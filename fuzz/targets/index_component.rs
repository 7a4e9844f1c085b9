//! Components of indexes. The input is opened as it is, and once more after its checksums are made right, so that what no checksum finds is read as well.

use index::{Component, Count, Identity, Opened, TermRange, TermWalk, Union};
use planted::Planted;

/// Some 128 postings need 24 bytes: whatever a file says, it does not have more.
const POSTINGS_PER_BYTE: usize = 8;

/// The identity of all seeds.
pub fn identity() -> Identity {
    Identity { table: [1; 16], index: [2; 16], definition: 3, generation: "4".to_owned(), data_length: 5 }
}

/// Runs one input.
pub fn run(data: &[u8]) {
    open(data);
    let mut file = data.to_vec();
    if repair(&mut file).is_some() {
        open(&file);
    }
}

fn open(file: &[u8]) {
    let Ok(Opened::Whole(component)) = Component::open(file, file.len() as u64, &identity(), Planted::NONE) else {
        return;
    };
    assert!(component.memory_bytes() <= 8 * file.len() + 64);
    let most = POSTINGS_PER_BYTE * file.len();
    let mut terms = Vec::new();
    let mut walk = TermWalk::new(&component, TermRange::ALL);
    let mut steps = 0;
    while let Ok(true) = walk.step(file, |term, _| terms.push(term.to_vec())) {
        steps += 1;
        assert!(steps <= file.len() && terms.len() <= file.len(), "no byte belongs to two nodes");
    }
    let middle = terms.get(terms.len() / 2).cloned().unwrap_or_default();
    for range in [TermRange::ALL, TermRange::equal(&middle), TermRange::prefix(&middle[..middle.len() / 2])] {
        let _ = Count::new(&component, range.clone()).run(file);
        let mut union = Union::new(&component, range.clone());
        let mut all = Vec::new();
        while let Ok(Some(posting)) = union.next(file) {
            assert!(all.last().is_none_or(|last| *last < posting), "a union ascends");
            all.push(posting);
            assert!(all.len() <= most, "a posting takes a part of a byte");
        }
        let Some(target) = all.get(all.len() / 2) else { continue };
        let mut union = Union::new(&component, range);
        union.seek(target.partition, target.row);
        union.seek_token_head(target.token_head);
        if let Ok(Some(posting)) = union.next(file) {
            assert!(posting.place() >= target.place() && posting.token_head >= target.token_head);
        }
    }
}

/// Makes the checksums of trailer, directory and sums right, if the lengths are.
fn repair(file: &mut [u8]) -> Option<()> {
    let number = |file: &[u8], at: usize| Some(u64::from_be_bytes(*file.get(at..)?.first_chunk()?) as usize);
    let end = file.len().checked_sub(4)?;
    let length = u32::from_be_bytes(*file[end..].first_chunk()?) as usize;
    let trailer = end.checked_sub(length)?;
    // Directory, its length, sums, their number and checksum, rows, skipped rows, and the trailer's checksum.
    let fields = end.checked_sub(4 + 8 + 8 + 4 + 4 + 8 + 4 + 8)?;
    let (directory, sums) = (number(file, fields)?, number(file, fields + 12)?);
    if trailer > fields || directory.checked_add(4)? > sums || sums > trailer {
        return None;
    }
    let crc = crc32fast::hash(&file[directory..sums - 4]);
    file[sums - 4..sums].copy_from_slice(&crc.to_be_bytes());
    let crc = crc32fast::hash(&file[sums..trailer]);
    file[fields + 24..fields + 28].copy_from_slice(&crc.to_be_bytes());
    let crc = crc32fast::hash(&file[trailer..end - 4]);
    file[end - 4..end].copy_from_slice(&crc.to_be_bytes());
    Some(())
}
