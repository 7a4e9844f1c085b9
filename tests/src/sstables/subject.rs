//! Helenus, as it writes the chapters and as it serves what others wrote.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::oracle::Session;
use crate::sstables::corpus::Chapter;
use crate::sstables::folders::{self, Table};
use crate::{Builder, Server};

/// A server. It flushes when it ends, so that each flush is a restart.
pub struct Subject {
    builder: Builder,
    server: Option<Server>,
}

impl Subject {
    /// With an empty folder. With one shard each flush leaves one file, as a real Cassandra's does.
    pub fn start(reactor: &str, shards: u16) -> Subject {
        let builder = Builder::new(reactor, shards).with(&["--flush-on-drain", "--import-sstables"]);
        let server = Some(builder.start());
        Subject { builder, server }
    }

    /// Runs the chapters, a flush after each of their phases but the last, and keeps the answers.
    pub fn write(&mut self, chapters: &mut [Chapter]) -> Result<(), String> {
        for chapter in &*chapters {
            Session::new(&self.address()).begin_in(&chapter.keyspace)?;
        }
        let phases = chapters.iter().map(|chapter| chapter.phases().len()).max().unwrap_or(0);
        for phase in 0..phases {
            for chapter in &mut *chapters {
                let mut session = Session::of_keyspace(&self.address(), &chapter.keyspace);
                chapter.run_phase(&mut session, phase)?;
            }
            if phase + 1 < phases {
                self.restart_after(|_| Ok(()))?;
            }
        }
        Ok(())
    }

    /// Makes the chapters' tables, as they are in the end.
    pub fn make(&mut self, chapters: &[Chapter]) -> Result<(), String> {
        for chapter in chapters {
            let mut session = Session::new(&self.address());
            session.begin_in(&chapter.keyspace)?;
            chapter.run_schema(&mut session)?;
        }
        Ok(())
    }

    /// Asks a chapter's questions, and keeps the answers.
    pub fn ask(&mut self, chapter: &mut Chapter) -> Result<(), String> {
        let last = chapter.phases().len() - 1;
        chapter.run_phase(&mut Session::of_keyspace(&self.address(), &chapter.keyspace), last)
    }

    /// Puts the files of the keyspaces' folders in `fixtures` into the tables' folders while the server is down.
    pub fn take_in(&mut self, fixtures: &Path, chapters: &[Chapter]) -> Result<(), String> {
        self.restart_after(|data| {
            for chapter in chapters {
                for table in folders::tables(&fixtures.join(&chapter.keyspace))? {
                    let id = chapter.id_of(&table.name)?;
                    table.copy_to(&data.join(&chapter.keyspace).join(format!("{}-{id}", table.name)))?;
                }
            }
            Ok(())
        })
    }

    /// Sends a table's folder to it.
    pub fn import(&self, keyspace: &str, table: &Table) -> Result<(), String> {
        let mut command = Command::new(Builder::binary());
        command.args(["sstable", "import", "--node", &self.address(), "--keyspace", keyspace, "--table", &table.name]);
        let output = command.arg(&table.folder).output().map_err(|error| format!("cannot start: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Ends it, and says where its tables' folders lie.
    pub fn stop(mut self) -> (PathBuf, Builder) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        (self.data(), self.builder)
    }

    fn restart_after(&mut self, work: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        work(&self.data())?;
        self.server = Some(self.builder.start());
        Ok(())
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        self.server.as_ref().expect("it runs but while it is restarted").address()
    }

    fn data(&self) -> PathBuf {
        self.builder.data().join("data")
    }
}
