//! Where the text goes: to standard output and, to a file too if `-log` names one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::StressError;

/// Takes lines.
#[derive(Debug)]
pub(crate) struct Output {
    file: Option<(PathBuf, File)>,
    /// The first failure of the file: it is told at the end, not for each line.
    failure: Option<StressError>,
}

/// Makes a file, over an older one.
pub(crate) fn create(path: &Path) -> Result<File, StressError> {
    File::create(path).map_err(|source| StressError::Report { path: path.to_owned(), source })
}

impl Output {
    pub(crate) fn new(path: Option<&Path>) -> Result<Output, StressError> {
        let file = path.map(|path| create(path).map(|file| (path.to_owned(), file))).transpose()?;
        Ok(Output { file, failure: None })
    }

    /// Writes a line. A closed terminal is nobody to tell.
    pub(crate) fn line(&mut self, text: &str) {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
        let Some((path, file)) = &mut self.file else { return };
        if let Err(source) = writeln!(file, "{text}") {
            self.failure.get_or_insert(StressError::Report { path: path.clone(), source });
            self.file = None;
        }
    }

    /// Fails if the file could not be written.
    pub(crate) fn finish(self) -> Result<(), StressError> {
        self.failure.map_or(Ok(()), Err)
    }
}
