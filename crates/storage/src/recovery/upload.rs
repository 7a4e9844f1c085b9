//! SSTables that a person laid into the folder `upload/` of a table's folder: Cassandra's, or those of a snapshot, also of this very table.
//!
//! A file of a snapshot cannot be laid back under its own name: the manifest may know that name as gone, and what lies there then is what a
//! removal has left. So a start that imports files first moves what lies in `upload/` into the table's folder, under
//! generations that nothing ever had, and from there on they are foreign files ([`super::foreign_files`]). Shard 0 does so before
//! any shard is opened. What is refused is not moved.
//!
//! ```text
//! look     which sets can be read, and are as their checksums, their indexes and the table say; their contents and names are synced
//! list     what is moved, and to what: written, synced, named                       from here on a start that is told to goes on with it
//! move     the components, but for TOC.txt and Helenus.db; contents and names synced
//! TOC.txt  written anew, synced: from here on the file is a complete one
//! clear    what is left of it in `upload/`, then the list
//! ```
//!
//! So each file is taken in once, whatever comes between. Helenus.db stays behind: it says that a file is ours.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use runtime::{AlignedBuf, OpenOptions, Runtime};
use schema::Table;
use sstable::checksum::decode_digest;
use sstable::helenus_component::HelenusComponent;
use sstable::{Component, Descriptor, toc};

use crate::commitlog::io_error;
use crate::discard::{DATA, not_found_is_fine, table_folder};
use crate::error::OpenError;
use crate::generation::Generations;
use crate::recovery::foreign_files::{OtherReplicas, check};
use crate::recovery::list;
use crate::recovery::sets::{self, Set, Sets, sync_components};
use crate::sstable::PageCache;

/// The folder in a table's folder, as ScyllaDB has it.
const UPLOAD: &str = "upload";
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
    pages: &'u Rc<PageCache>,
    table: &'u Rc<Table>,
    others: &'u OtherReplicas<'u>,
    folder: PathBuf,
    upload: PathBuf,
}

/// What came of looking into `upload/`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Brought {
    /// The names that the files have which were moved.
    pub(super) moved: Vec<Descriptor>,
    /// Those that were not, each in a sentence.
    pub(super) left_alone: Vec<String>,
}

/// Moves the SSTables in a table's `upload/` that can be imported to where foreign files are found. `dir` is the node's data folder. Nothing else
/// imports files of the table meanwhile.
pub(super) async fn bring_in_upload(
    runtime: &Runtime,
    dir: &Path,
    pages: &Rc<PageCache>,
    table: &Rc<Table>,
    generations: &Generations,
    others: &OtherReplicas<'_>,
) -> Result<Brought, OpenError> {
    let folder = dir.join(DATA).join(table_folder(table));
    let upload = folder.join(UPLOAD);
    let mut brought = Brought::default();
    if !runtime.exists(&upload).await.map_err(io_error(&upload))? {
        return Ok(brought);
    }
    let upload = Upload { runtime, pages, table, others, folder, upload };
    if let Some(moves) = list::read(runtime, &upload.upload, parse_move).await? {
        stdx::sometimes!("upload gone on with");
        upload.carry_out(&moves, &mut brought).await?;
    }
    let moves = upload.choose(generations, &mut brought).await?;
    if !moves.is_empty() {
        stdx::sometimes!("upload brought in");
        upload.sync(&upload.upload).await?;
        list::write(runtime, &upload.upload, moves.iter().map(move_text)).await?;
        upload.carry_out(&moves, &mut brought).await?;
    }
    Ok(brought)
}

impl Upload<'_> {
    fn name(&self) -> String {
        format!("{}.{}", self.table.keyspace, self.table.name)
    }

    /// The sets that can be imported, each with the name that it gets.
    async fn choose(&self, generations: &Generations, brought: &mut Brought) -> Result<Vec<Move>, OpenError> {
        let mut moves = Vec::new();
        let Sets { found, unreadable } = Sets::look(self.runtime, &self.upload).await?;
        for name in unreadable {
            let sentence = format!("cannot import {name} from upload/: unsupported sstable version");
            brought.left_alone.push(sentence);
        }
        for (from, components) in found {
            let listed = sets::listed(self.runtime, &self.upload, &from).await?;
            let checked = match sets::whole(&from, components, listed) {
                Ok(set) => self.compare(&from, &set.components).await.map(|()| set),
                Err(what) => Err(what),
            };
            let Set { components, missing } = match checked {
                Ok(set) => set,
                Err(what) => {
                    brought.left_alone.push(format!("cannot import {from} from upload/: {what}"));
                    continue;
                }
            };
            if !missing.is_empty() {
                let missing: Vec<&str> = missing.iter().map(|component| component.name()).collect();
                let (table, missing) = (self.name(), missing.join(", "));
                tracing::warn!(file = %from, table, missing, "sstable in upload/ lacks components; importing it without them");
            }
            // Whoever copied the files here need not have waited until they were on the disk; and a start that goes on with a list
            // compares nothing again.
            if !sync_components(self.runtime, &self.upload, &from, &components).await? {
                brought.left_alone.push(format!("cannot import {from} from upload/: a component disappeared"));
                continue;
            }
            let generation = generations.next(self.runtime);
            let to = Descriptor { version: from.version, generation };
            let is_moved = |component: &Component| !matches!(component, Component::Toc | Component::Helenus);
            moves.push(Move { from, to, components: components.into_iter().filter(is_moved).collect() });
        }
        Ok(moves)
    }

    /// Compares the components with their checksums: of ours with those that Helenus.db has, which stays behind; of others' the data with its
    /// digest. A copy that power was cut from under has all its names, and not all its bytes. Then all of it with its indexes and its table.
    async fn compare(&self, descriptor: &Descriptor, components: &[Component]) -> Result<(), String> {
        let path = |component| self.upload.join(descriptor.file_name(component));
        let read = async |component| self.runtime.read_file(&path(component)).await.map_err(|error| error.to_string());
        if components.contains(&Component::Helenus) {
            let own = HelenusComponent::decode(&read(Component::Helenus).await?).map_err(|error| error.to_string())?;
            for sum in &own.sums {
                let name = sum.component.name();
                let found = self.sum_of(&path(sum.component)).await.map_err(|error| format!("{name}: {error}"))?;
                if found != (sum.length, sum.crc) {
                    return Err(format!("{name} does not match its checksum in Helenus.db"));
                }
            }
        } else if components.contains(&Component::Digest) {
            let digest = decode_digest(&read(Component::Digest).await?).map_err(|error| error.to_string())?;
            let found = self.sum_of(&path(Component::Data)).await.map_err(|error| error.to_string())?;
            if found.1 != digest {
                return Err("Data.db does not match its digest".to_owned());
            }
        }
        check(self.runtime, self.pages, &self.upload, descriptor, self.table, self.others).await
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

    async fn sync(&self, folder: &Path) -> Result<(), OpenError> {
        self.runtime.sync_dir(folder).await.map_err(io_error(folder))
    }

    /// Moves what the list says, as far as that is not done.
    async fn carry_out(&self, moves: &[Move], brought: &mut Brought) -> Result<(), OpenError> {
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
                let listed = [components.as_slice(), &[Component::Toc]].concat();
                let path = self.folder.join(to.file_name(Component::Toc));
                list::write_synced(self.runtime, &path, &toc::encode(&listed)).await?;
                self.sync(&self.folder).await?;
                tracing::info!(file = %from, table = self.name(), now = %to, "moved sstable from upload/");
                brought.moved.push(to.clone());
            } else {
                let sentence = format!(
                    "cannot import {from} from upload/: a component disappeared; the remaining ones are now named {to}"
                );
                brought.left_alone.push(sentence);
            }
            for component in [Component::Toc, Component::Helenus] {
                let left = self.upload.join(from.file_name(component));
                not_found_is_fine(self.runtime.remove_file(&left).await).map_err(io_error(&left))?;
            }
        }
        self.sync(&self.upload).await?;
        list::remove(self.runtime, &self.upload).await
    }
}

fn move_text(Move { from, to, components }: &Move) -> String {
    let names: Vec<&str> = components.iter().map(|component| component.name()).collect();
    format!("{from} {to} {}", names.join(","))
}

fn parse_move(line: &str) -> Option<Move> {
    let mut words = line.split(' ');
    let (from, to) = (list::descriptor(words.next()?)?, list::descriptor(words.next()?)?);
    let components = words.next()?.split(',').map(Component::parse).collect::<Option<Vec<_>>>()?;
    Some(Move { from, to, components })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_read_as_it_was_written() {
        let descriptor = |name: &str| Descriptor::parse(name).expect(name).0;
        let one = Move {
            from: descriptor("nb-12-big-Data.db"),
            to: descriptor("nb-3gw5_0lzc_1cb5c2ghfzwy2irqxx-big-Data.db"),
            components: vec![Component::Data, Component::Index, Component::Crc],
        };
        assert_eq!(parse_move(&move_text(&one)), Some(one));
        assert_eq!(parse_move("nb-12-big ../../etc Data.db"), None);
    }
}
