//! Tables' folders: `keyspace/table-id` with an SSTable's components in it.

use std::path::{Path, PathBuf};

/// A table's folder.
#[derive(Clone, Debug)]
pub struct Table {
    /// The table.
    pub name: String,
    /// Where its files lie.
    pub folder: PathBuf,
}

impl Table {
    /// Its SSTables, each by its data file.
    pub fn data_files(&self) -> Result<Vec<PathBuf>, String> {
        let files = entries(&self.folder)?.into_iter();
        Ok(files.filter(|file| file.to_string_lossy().ends_with("-Data.db")).collect())
    }

    /// The compressor that each of its SSTables names; `None`: the data is not compressed.
    pub fn compressors(&self) -> Result<Vec<Option<String>>, String> {
        let named = |data: PathBuf| {
            let info = data.display().to_string().replace("-Data.db", "-CompressionInfo.db");
            let bytes = match std::fs::read(&info) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(format!("{info}: {error}")),
            };
            // It begins with the name, behind two bytes of its length.
            let length = bytes.first_chunk::<2>().map_or(0, |length| usize::from(u16::from_be_bytes(*length)));
            Ok(bytes.get(2..2 + length).map(|name| String::from_utf8_lossy(name).into_owned()))
        };
        self.data_files()?.into_iter().map(named).collect()
    }

    /// Copies its files, but no folders below it.
    pub fn copy_to(&self, target: &Path) -> Result<Vec<PathBuf>, String> {
        std::fs::create_dir_all(target).map_err(|error| format!("cannot make {}: {error}", target.display()))?;
        let mut copies = Vec::new();
        for file in entries(&self.folder)?.into_iter().filter(|file| file.is_file()) {
            let copy = target.join(file.file_name().unwrap_or_default());
            std::fs::copy(&file, &copy).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
            copies.push(copy);
        }
        Ok(copies)
    }
}

/// The tables of a keyspace's folder. A folder's name is the table's, and where it is a server's a hyphen and the id without hyphens.
pub fn tables(keyspace: &Path) -> Result<Vec<Table>, String> {
    let folders = entries(keyspace)?.into_iter().filter(|entry| entry.is_dir());
    Ok(folders
        .map(|folder| {
            let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let name = name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name).to_string();
            Table { name, folder }
        })
        .collect())
}

/// What lies in the folder, in order.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let found = std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut entries: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    Ok(entries)
}

/// Turns over a bit in the middle of a table's first data file, and gives its path.
pub fn break_a_bit(table: &Table) -> Result<PathBuf, String> {
    let data = table.data_files()?.into_iter().next().ok_or_else(|| format!("{} has no data", table.name))?;
    let failed = |error| format!("{}: {error}", data.display());
    let mut bytes = std::fs::read(&data).map_err(failed)?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&data, bytes).map_err(failed)?;
    Ok(data)
}
