//! SSTables that a person laid into the folder `upload/` of a table's folder: Cassandra's, or those of a snapshot, also of this very table.
//!
//! A file of a snapshot cannot be laid back under its own name: the manifest may know that name as gone, and what lies there then is what a
//! removal has left. So a start that is told to take files in first moves what lies in `upload/` into the table's folder, under
//! generations that nothing ever had, and from there on they are foreign files ([`super::foreign_files`]). Shard 0 does so before
//! any shard is opened.
//!
//! ```text
//! look     which sets are complete, and whether they are as their checksums say; their contents and names are synced
//! list     what is moved, and to what: written, synced, named                       from here on a start that is told to goes on with it
//! move     the components, but for TOC.txt and Helenus.db; contents and names synced
//! TOC.txt  written anew, synced: from here on the file is a complete one
//! clear    what is left of it in `upload/`, then the list
//! ```
//!
//! So each file is taken in once, whatever comes between. Helenus.db stays behind: it says that a file is ours.

use std::io;
use std::path::{Path, PathBuf};

use runtime::{AlignedBuf, OpenOptions, Runtime};
use schema::{Schema, Table};
use sstable::checksum::decode_digest;
use sstable::own::OwnComponent;
use sstable::{Component, Descriptor, toc};

use crate::commitlog::io_error;
use crate::discard::{DATA, not_found_is_fine, table_folder};
use crate::error::OpenError;
use crate::generation::Generations;
use crate::recovery::foreign_files::{complete_sets, sync_components};

/// The folder in a table's folder, as ScyllaDB has it.
const UPLOAD: &str = "upload";
/// What is being moved out of it.
const LIST: &str = "being-taken-in.txt";
/// What the list's name ends in until it is whole.
const NEW: &str = ".new";
/// The last line of a list.
const END: &str = "end";
/// What is read at once of a component whose checksum is compared.
const READ_BYTES: usize = 256 << 10;

/// One SSTable on its way.
#[derive(Debug, PartialEq, Eq)]
struct Move {
    from: Descriptor,
    to: Descriptor,
    /// Those that are moved.
    components: Vec<Component>,
}

/// One table's.
struct Upload<'u> {
    runtime: &'u Runtime,
    table: &'u Table,
    folder: PathBuf,
    upload: PathBuf,
}

/// Moves the complete SSTables in all tables' `upload/` to where a start that takes in foreign files finds them. `dir` is the node's data
/// folder, of which no shard is open. How many.
pub async fn bring_in_uploads(runtime: &Runtime, dir: &Path, schema: &Schema) -> Result<u64, OpenError> {
    let generations = Generations::default();
    let mut count = 0;
    for table in schema.tables() {
        let folder = dir.join(DATA).join(table_folder(table));
        let upload = folder.join(UPLOAD);
        if !runtime.exists(&upload).await.map_err(io_error(&upload))? {
            continue;
        }
        let upload = Upload { runtime, table, folder, upload };
        if let Some(moves) = upload.read_list().await? {
            stdx::sometimes!("upload gone on with");
            count += upload.carry_out(&moves).await?;
        }
        let moves = upload.choose(&generations).await?;
        if !moves.is_empty() {
            stdx::sometimes!("upload brought in");
            upload.write_list(&moves).await?;
            count += upload.carry_out(&moves).await?;
        }
    }
    Ok(count)
}

impl Upload<'_> {
    fn name(&self) -> String {
        format!("{}.{}", self.table.keyspace, self.table.name)
    }

    /// The complete sets of components, each with the name that it gets.
    async fn choose(&self, generations: &Generations) -> Result<Vec<Move>, OpenError> {
        let mut moves = Vec::new();
        for (from, listed) in complete_sets(self.runtime, &self.upload).await? {
            if let Err(what) = self.compare(&from, &listed).await {
                // What cannot be read is its owner's matter; it must not keep the node from starting.
                tracing::warn!(file = %from, table = self.name(), what, "a file in upload/ is damaged or not whole, and not taken in");
                continue;
            }
            // Whoever copied the files here need not have waited until they were on the disk; and a start that goes on with a list
            // compares nothing again.
            if !sync_components(self.runtime, &self.upload, &from, &listed).await? {
                continue;
            }
            let generation = generations.next(self.runtime);
            let to = Descriptor { version: from.version, generation };
            let is_moved = |component: &Component| !matches!(component, Component::Toc | Component::Helenus);
            moves.push(Move { from, to, components: listed.into_iter().filter(is_moved).collect() });
        }
        Ok(moves)
    }

    /// Compares the components with their checksums: of ours with those that Helenus.db has, which stays behind; of others' the data with its
    /// digest. A copy that power was cut from under has all its names, and not all its bytes.
    async fn compare(&self, descriptor: &Descriptor, listed: &[Component]) -> Result<(), String> {
        let path = |component| self.upload.join(descriptor.file_name(component));
        let read = async |component| self.runtime.read_file(&path(component)).await.map_err(|error| error.to_string());
        if listed.contains(&Component::Helenus) {
            let own = OwnComponent::decode(&read(Component::Helenus).await?).map_err(|error| error.to_string())?;
            for sum in &own.sums {
                let found = self.sum_of(&path(sum.component)).await.map_err(|error| error.to_string())?;
                if found != (sum.length, sum.crc) {
                    return Err(format!("{} is not as Helenus.db says", sum.component.name()));
                }
            }
        } else if listed.contains(&Component::Digest) {
            let digest = decode_digest(&read(Component::Digest).await?).map_err(|error| error.to_string())?;
            let found = self.sum_of(&path(Component::Data)).await.map_err(|error| error.to_string())?;
            if found.1 != digest {
                return Err("Data.db is not as its digest says".to_owned());
            }
        }
        Ok(())
    }

    /// A file's length and checksum.
    async fn sum_of(&self, path: &Path) -> io::Result<(u64, u32)> {
        let file = self.runtime.open(path, OpenOptions { read: true, ..OpenOptions::default() }).await?;
        let (mut crc, mut length) = (crc32fast::Hasher::new(), 0);
        let mut buffer = AlignedBuf::with_capacity(READ_BYTES);
        loop {
            buffer.clear();
            let (result, filled) = file.read_at(buffer, length).await;
            buffer = filled;
            match result? {
                0 => return Ok((length, crc.finalize())),
                read => length += read as u64,
            }
            crc.update(&buffer);
            self.runtime.maybe_yield().await;
        }
    }

    fn list_path(&self) -> PathBuf {
        self.upload.join(LIST)
    }

    /// What an earlier start was at.
    async fn read_list(&self) -> Result<Option<Vec<Move>>, OpenError> {
        let path = self.list_path();
        if !self.runtime.exists(&path).await.map_err(io_error(&path))? {
            return Ok(None);
        }
        let bytes = self.runtime.read_file(&path).await.map_err(io_error(&path))?;
        let moves = std::str::from_utf8(&bytes).ok().and_then(parse_list);
        let corrupt = || {
            let source = io::Error::new(io::ErrorKind::InvalidData, "the list of files being taken in cannot be read");
            OpenError::Io { path: path.clone(), source }
        };
        moves.map(Some).ok_or_else(corrupt)
    }

    async fn write_list(&self, moves: &[Move]) -> Result<(), OpenError> {
        let (path, new) = (self.list_path(), self.upload.join(format!("{LIST}{NEW}")));
        self.sync(&self.upload).await?;
        write_synced(self.runtime, &new, list_text(moves).as_bytes()).await?;
        self.runtime.rename(&new, &path).await.map_err(io_error(&path))?;
        self.sync(&self.upload).await
    }

    async fn sync(&self, folder: &Path) -> Result<(), OpenError> {
        self.runtime.sync_dir(folder).await.map_err(io_error(folder))
    }

    /// Moves what the list says, as far as that is not done. How many came whole.
    async fn carry_out(&self, moves: &[Move]) -> Result<u64, OpenError> {
        let mut count = 0;
        for Move { from, to, components } in moves {
            for component in components {
                let (old, new) =
                    (self.upload.join(from.file_name(*component)), self.folder.join(to.file_name(*component)));
                not_found_is_fine(self.runtime.rename(&old, &new).await).map_err(io_error(&old))?;
            }
            // The new names first: between the two both may be there, and never neither.
            self.sync(&self.folder).await?;
            self.sync(&self.upload).await?;
            if sync_components(self.runtime, &self.folder, to, components).await? {
                let list = [components.as_slice(), &[Component::Toc]].concat();
                let path = self.folder.join(to.file_name(Component::Toc));
                write_synced(self.runtime, &path, &toc::encode(&list)).await?;
                self.sync(&self.folder).await?;
                tracing::info!(file = %from, table = self.name(), now = %to, "brought in from upload/");
                count += 1;
            } else {
                tracing::warn!(file = %from, table = self.name(), now = %to, "a part of a file in upload/ is gone: it is not taken in");
            }
            for component in [Component::Toc, Component::Helenus] {
                let left = self.upload.join(from.file_name(component));
                not_found_is_fine(self.runtime.remove_file(&left).await).map_err(io_error(&left))?;
            }
        }
        self.sync(&self.upload).await?;
        let path = self.list_path();
        not_found_is_fine(self.runtime.remove_file(&path).await).map_err(io_error(&path))?;
        self.sync(&self.upload).await?;
        Ok(count)
    }
}

async fn write_synced(runtime: &Runtime, path: &Path, bytes: &[u8]) -> Result<(), OpenError> {
    let options = OpenOptions { write: true, create: true, truncate: true, ..OpenOptions::default() };
    let file = runtime.open(path, options).await.map_err(io_error(path))?;
    file.write_at(AlignedBuf::from(bytes), 0).await.0.map_err(io_error(path))?;
    file.sync_all().await.map_err(io_error(path))
}

fn list_text(moves: &[Move]) -> String {
    let line = |Move { from, to, components }: &Move| {
        let names: Vec<&str> = components.iter().map(|component| component.name()).collect();
        format!("{from} {to} {}\n", names.join(","))
    };
    moves.iter().map(line).collect::<String>() + END + "\n"
}

fn parse_list(text: &str) -> Option<Vec<Move>> {
    let descriptor = |name: &str| {
        let (descriptor, _) = Descriptor::parse(&format!("{name}-{}", Component::Toc.name()))?;
        Some(descriptor)
    };
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.pop() != Some(END) {
        return None;
    }
    let parse = |line: &str| {
        let mut words = line.split(' ');
        let (from, to) = (descriptor(words.next()?)?, descriptor(words.next()?)?);
        let components = words.next()?.split(',').map(Component::parse).collect::<Option<Vec<_>>>()?;
        Some(Move { from, to, components })
    };
    lines.into_iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_as_it_was_written() {
        let descriptor = |name: &str| Descriptor::parse(name).expect(name).0;
        let one = Move {
            from: descriptor("nb-12-big-Data.db"),
            to: descriptor("nb-3gw5_0lzc_1cb5c2ghfzwy2irqxx-big-Data.db"),
            components: vec![Component::Data, Component::Index, Component::Crc],
        };
        let text = list_text(&[one]);
        assert_eq!(list_text(&parse_list(&text).expect("it is whole")), text);
        assert_eq!(parse_list(text.trim_end_matches("end\n")), None, "its end is missing");
        assert_eq!(parse_list("nb-12-big ../../etc Data.db\nend\n"), None);
        assert_eq!(parse_list("end\n"), Some(Vec::new()));
    }
}
