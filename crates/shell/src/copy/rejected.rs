//! The file of records that COPY FROM could not import.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use cql_types::CqlType;

use crate::files;
use crate::format::{self, Style};

/// The file of records that were not imported; it is made with the first of them.
pub(super) struct Rejected {
    pub(super) path: PathBuf,
    file: Option<File>,
    pub(super) rows: u64,
}

impl Rejected {
    /// The file of an import that begins. One of an earlier import is kept under another name: its rows may be in no table yet.
    pub(super) fn at(path: &str) -> io::Result<Rejected> {
        let path = files::expanded(Path::new(path));
        if path.is_file() {
            std::fs::rename(&path, kept(&path))?;
        }
        Ok(Rejected { path, file: None, rows: 0 })
    }

    pub(super) fn write(&mut self, record: &[u8]) -> io::Result<()> {
        self.rows += 1;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(OpenOptions::new().create(true).append(true).open(&self.path)?),
        };
        file.write_all(record)
    }
}

/// A name with the time in UTC that no file has yet.
fn kept(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let style = Style { time_format: ".%Y%m%d_%H%M%S".to_owned(), ..Style::default() };
    let millis = i64::try_from(now.as_millis()).unwrap_or_default().to_be_bytes();
    let time = format::value(&CqlType::Timestamp, &millis, &style).text(false).to_owned();
    let named = |end: &str| PathBuf::from(format!("{}{time}{end}", path.display()));
    let numbered = (1..).map(|number| named(&format!("_{number}")));
    std::iter::once(named("")).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| named(""))
}
