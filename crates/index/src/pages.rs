//! Bytes of a component through its pages: borrowed where they lie in one, copied where they lie in several.
//!
//! `sstable` has the same for its own indexes and keeps it to itself.

use sstable::{Corrupt, LookupError, PAGE_LENGTH, Pages};

/// The `length` bytes at `offset`; `scratch` has room for those that lie in several pages.
pub(crate) fn bytes<'a>(
    pages: &'a (impl Pages + ?Sized),
    offset: u64,
    length: usize,
    scratch: &'a mut Vec<u8>,
) -> Result<&'a [u8], LookupError> {
    let within = (offset % PAGE_LENGTH as u64) as usize;
    if within + length <= PAGE_LENGTH {
        let page = pages.page(number_of(offset)?)?;
        return page.get(within..within + length).ok_or_else(|| ends_at(offset));
    }
    scratch.clear();
    let mut at = offset;
    while scratch.len() < length {
        let page = pages.page(number_of(at)?)?;
        let rest = page.get((at % PAGE_LENGTH as u64) as usize..).unwrap_or_default();
        if rest.is_empty() {
            return Err(ends_at(at));
        }
        let taken = rest.len().min(length - scratch.len());
        scratch.extend_from_slice(&rest[..taken]);
        at += taken as u64;
    }
    Ok(scratch)
}

fn number_of(offset: u64) -> Result<u32, LookupError> {
    let number = u32::try_from(offset / PAGE_LENGTH as u64);
    number.map_err(|_| Corrupt::new(offset, "no component is that long").into())
}

fn ends_at(offset: u64) -> LookupError {
    Corrupt::new(offset, "the component ends here").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_one_page_and_of_several_are_those_of_the_file() {
        let file: Vec<u8> = (0..3 * PAGE_LENGTH + 100).map(|n| (n % 251) as u8).collect();
        let mut scratch = Vec::new();
        for (offset, length) in [(0, 10), (4090, 6), (4090, 7), (4000, 8388), (12288, 100)] {
            let found = bytes(&file[..], offset as u64, length, &mut scratch);
            assert_eq!(found.expect("is there"), &file[offset..offset + length]);
        }
        for (offset, length) in [(12288, 101), (8192, 5000), (1 << 50, 1)] {
            assert!(matches!(bytes(&file[..], offset, length, &mut scratch), Err(LookupError::Corrupt(_))));
        }
    }
}
