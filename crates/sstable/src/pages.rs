//! The seam between an index and the cache that holds its pages: lookups ask for pages by number and stop where one is
//! not there. The caller loads it and asks again, from the start; nothing here waits or reads.

use crate::Corrupt;

/// The bytes of a page of an index. Cassandra's tries are packed for it: no node crosses a page's end.
pub const PAGE_LENGTH: usize = 4096;

/// The pages of one file.
pub trait Pages {
    /// The bytes of page `number`: [`PAGE_LENGTH`], fewer in the file's last page, none behind it.
    fn page(&self, number: u32) -> Result<&[u8], NeedPage>;
}

/// A page that is not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedPage(pub u32);

/// A lookup did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// This page has to be loaded before the lookup is tried again.
    #[error("page {0} is not in memory")]
    Need(u32),
    /// The file does not hold what it should.
    #[error("{0}")]
    Corrupt(#[from] Corrupt),
}

impl From<NeedPage> for LookupError {
    #[inline]
    fn from(NeedPage(number): NeedPage) -> Self {
        LookupError::Need(number)
    }
}

/// A whole file in memory.
impl Pages for [u8] {
    #[inline]
    fn page(&self, number: u32) -> Result<&[u8], NeedPage> {
        let start = (number as usize).saturating_mul(PAGE_LENGTH).min(self.len());
        let end = start.saturating_add(PAGE_LENGTH).min(self.len());
        Ok(&self[start..end])
    }
}

/// Appends the `length` bytes at `offset` to `out`, which may lie in several pages.
pub(crate) fn read(
    pages: &(impl Pages + ?Sized),
    offset: u64,
    length: usize,
    out: &mut Vec<u8>,
) -> Result<(), LookupError> {
    let (mut at, mut left) = (offset, length);
    while left > 0 {
        let number = u32::try_from(at / PAGE_LENGTH as u64).map_err(|_| too_far(at))?;
        let page = pages.page(number)?;
        let rest = page.get((at % PAGE_LENGTH as u64) as usize..).unwrap_or_default();
        if rest.is_empty() {
            return Err(Corrupt::new(at, "the file ends here").into());
        }
        let taken = rest.len().min(left);
        out.extend_from_slice(&rest[..taken]);
        at += taken as u64;
        left -= taken;
    }
    Ok(())
}

/// Fills `buffer` from `offset` on, as far as the file goes.
pub(crate) fn read_some<'b>(
    pages: &(impl Pages + ?Sized),
    offset: u64,
    buffer: &'b mut [u8],
) -> Result<&'b [u8], LookupError> {
    let mut filled = 0;
    while filled < buffer.len() {
        let at = offset.saturating_add(filled as u64);
        let number = u32::try_from(at / PAGE_LENGTH as u64).map_err(|_| too_far(at))?;
        let page = pages.page(number)?;
        let rest = page.get((at % PAGE_LENGTH as u64) as usize..).unwrap_or_default();
        if rest.is_empty() {
            break;
        }
        let taken = rest.len().min(buffer.len() - filled);
        buffer[filled..filled + taken].copy_from_slice(&rest[..taken]);
        filled += taken;
    }
    Ok(&buffer[..filled])
}

pub(crate) fn too_far(offset: u64) -> Corrupt {
    Corrupt::new(offset, "no index is that long")
}
