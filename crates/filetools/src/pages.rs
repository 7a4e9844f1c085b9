//! An index as single pages, loaded when a lookup asks for them.

use std::collections::BTreeMap;

use runtime::{File, OpenOptions, Runtime};
use sstable::checksum::crc32;
use sstable::{Component, Corrupt, LookupError, NeedPage, PAGE_LENGTH, Pages};
use stdx::AlignedBuf;

use crate::error::ToolError;
use crate::files::Files;

/// So many pages of a file are held.
const PAGES_MAX: usize = 4096;

/// The pages of a file, loaded as they are asked for.
pub(crate) struct PagedFile {
    files: Files,
    component: Component,
    file: File,
    pub(crate) length: u64,
    /// The checksums that pages must have, if any are known.
    sums: Option<Vec<u32>>,
    pages: BTreeMap<u32, AlignedBuf>,
}

impl Pages for PagedFile {
    fn page(&self, number: u32) -> Result<&[u8], NeedPage> {
        if u64::from(number) * PAGE_LENGTH as u64 >= self.length {
            return Ok(&[]);
        }
        self.pages.get(&number).map(|page| &page[..]).ok_or(NeedPage(number))
    }
}

impl PagedFile {
    pub(crate) async fn open(runtime: &Runtime, files: &Files, component: Component) -> Result<PagedFile, ToolError> {
        let path = files.path(component);
        let options = OpenOptions { read: true, ..OpenOptions::default() };
        let file = runtime.open(&path, options).await.map_err(ToolError::read(&path))?;
        let length = file.len().await.map_err(ToolError::read(&path))?;
        Ok(PagedFile { files: files.clone(), component, file, length, sums: None, pages: BTreeMap::new() })
    }

    /// The same file; pages that do not have these checksums are errors.
    pub(crate) fn with_sums(self, sums: Option<Vec<u32>>) -> PagedFile {
        PagedFile { sums, ..self }
    }

    /// Asks until all pages are there.
    pub(crate) async fn look<T>(
        &mut self,
        mut ask: impl FnMut(&PagedFile) -> Result<T, LookupError>,
    ) -> Result<T, ToolError> {
        let path = self.files.path(self.component);
        loop {
            match ask(self) {
                Ok(found) => return Ok(found),
                Err(LookupError::Corrupt(corrupt)) => return Err(ToolError::corrupt(&path)(corrupt)),
                Err(LookupError::Need(number)) => {
                    if self.pages.len() >= PAGES_MAX {
                        self.pages.clear();
                    }
                    let buffer = AlignedBuf::with_capacity(PAGE_LENGTH);
                    let (result, mut page) = self.file.read_at(buffer, u64::from(number) * PAGE_LENGTH as u64).await;
                    result.map_err(ToolError::read(&path))?;
                    page.truncate(PAGE_LENGTH);
                    let sum = self.sums.as_ref().map(|sums| sums.get(number as usize).copied());
                    if sum.is_some_and(|sum| sum != Some(crc32(&page))) {
                        let offset = u64::from(number) * PAGE_LENGTH as u64;
                        return Err(self.wrong(offset, "page checksum in Helenus.db does not match"));
                    }
                    self.pages.insert(number, page);
                }
            }
        }
    }

    pub(crate) fn wrong(&self, offset: u64, what: impl Into<String>) -> ToolError {
        ToolError::corrupt(&self.files.path(self.component))(Corrupt::new(offset, what))
    }
}
