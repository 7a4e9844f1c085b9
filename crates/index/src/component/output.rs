//! Bytes of a component in the order of the file, and the checksums of its pages.

use sstable::PAGE_LENGTH;

/// Bytes that were written and not yet handed to the caller.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Bytes before those that are held.
    handed_over: u64,
    /// The bytes that are held: who writes appends to them.
    pub(crate) bytes: Vec<u8>,
    sums: Vec<u32>,
    page: crc32fast::Hasher,
    page_len: usize,
}

impl Output {
    /// Where the next byte will stand.
    pub(crate) fn position(&self) -> u64 {
        self.handed_over + self.bytes.len() as u64
    }

    /// Moves what is held to `out`.
    pub(crate) fn hand_over(&mut self, out: &mut Vec<u8>) {
        let mut bytes = std::mem::take(&mut self.bytes);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min(PAGE_LENGTH - self.page_len));
            self.page.update(part);
            self.page_len += part.len();
            if self.page_len == PAGE_LENGTH {
                self.end_page();
            }
            rest = after;
        }
        self.handed_over += bytes.len() as u64;
        out.append(&mut bytes);
        // Empty now, and its memory is for the next bytes.
        self.bytes = bytes;
    }

    /// The checksums of all pages, the last of which ends here. Everything was handed over.
    pub(crate) fn sums(&mut self) -> Vec<u32> {
        if self.page_len > 0 {
            self.end_page();
        }
        std::mem::take(&mut self.sums)
    }

    fn end_page(&mut self) {
        self.sums.push(std::mem::take(&mut self.page).finalize());
        self.page_len = 0;
    }
}
