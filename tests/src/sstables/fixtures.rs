//! Folders of SSTables that a real Cassandra wrote, with what it says of them.

use std::path::{Path, PathBuf};

use crate::oracle::{Session, is_answered_alike};
use crate::sstables::Writer;
use crate::sstables::corpus::{Chapter, chapters, chapters_of, major};
use crate::sstables::folders;
use crate::sstables::tools::{Job, Tools};

/// The version whose server's answers are written into the scripts; the others must give the same.
const RECORDED: &str = "da";
/// Dumps of more bytes are not kept.
const DUMP_BYTES_MAX: u64 = 16 * 1024;

/// How much of what is said of the files is kept beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// What the repository holds: the schema, and small dumps of one version.
    Little,
    /// All dumps, and each keyspace's script with its answers.
    All,
}

/// Has a server write the chapters, and copies its tables' folders to `folder/version/keyspace/table`, each with what `sstabledump` prints of
/// its files (`….json`); in the keyspace's folder lies its schema (`schema.cql`).
pub fn fixtures(jars: &Path, folder: &Path, kept: Kept, writer: &Writer, names: &[&str]) -> Result<bool, String> {
    let tools = Tools::new(jars, &writer.folder.join("tools"))?;
    let is_writable = |chapter: &Chapter| chapter.can_be_dumped() || major(&writer.version) > 3;
    let scripts: Vec<Chapter> = chapters(names)?.into_iter().filter(is_writable).collect();
    let mut given = scripts.clone();
    if writer.is_serving() {
        write_tables(&tools, writer, &mut given)?;
    }
    let (mut jobs, mut is_right) = (Vec::new(), true);
    for (recorded, given) in scripts.iter().zip(&given) {
        let target = folder.join(&writer.version).join(&given.keyspace);
        if target.exists() {
            std::fs::remove_dir_all(&target).map_err(|error| format!("cannot empty {}: {error}", target.display()))?;
        }
        let dumps = copy_keyspace(&writer.data().join(&given.keyspace), &target)?;
        jobs.extend(if given.can_be_dumped() { dumps } else { Vec::new() });
        write(&target.join("schema.cql"), &(given.known_to(&writer.version).schema().join("\n\n") + "\n"))?;
        if kept == Kept::All {
            given.script.write_to(&target.join("script.cql"))?;
        }
        if writer.version == RECORDED {
            given.script.write()?;
        } else {
            let what = format!("{}, {}", given.keyspace, writer.version);
            is_right &= is_answered_alike(&recorded.script, &given.script, &what);
        }
    }
    for (job, ended) in jobs.iter().zip(tools.run(&jobs, None)?) {
        if ended.code != 0 {
            println!("sstabledump {}: code {}: {}", job.arguments[0], ended.code, ended.errors);
            is_right = false;
        }
        let bytes = std::fs::metadata(&job.output).map_or(0, |metadata| metadata.len());
        if kept == Kept::Little && (writer.version != RECORDED || bytes > DUMP_BYTES_MAX) {
            std::fs::remove_file(&job.output).map_err(|error| format!("{}: {error}", job.output.display()))?;
        }
    }
    println!("{}: {} files of {} keyspaces", writer.version, jobs.len(), given.len());
    Ok(is_right)
}

/// Writes to `folder/keyspace.txt` what is to be written by a Cassandra 3, which is not asked over a socket.
pub fn statements(folder: &Path) -> Result<bool, String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    for chapter in chapters_of("me", &[])? {
        write(&folder.join(format!("{}.txt", chapter.keyspace)), &chapter.writes()?)?;
    }
    Ok(true)
}

/// Runs the chapters on the server, one flush after each of their phases, and keeps its answers in them.
pub(super) fn write_tables(tools: &Tools, writer: &Writer, chapters: &mut [Chapter]) -> Result<(), String> {
    let mut sessions: Vec<Session> = chapters.iter().map(|_| Session::new(&writer.address())).collect();
    for (chapter, session) in chapters.iter().zip(&mut sessions) {
        session.begin_in(&chapter.keyspace)?;
    }
    let phases = chapters.iter().map(|chapter| chapter.phases().len()).max().unwrap_or(0);
    for phase in 0..phases {
        for (chapter, session) in chapters.iter_mut().zip(&mut sessions) {
            chapter.run_phase(session, phase)?;
        }
        if phase + 1 < phases {
            tools.flush(writer.port + 1)?;
        }
        for chapter in chapters.iter().filter(|chapter| chapter.is_compacted_before(phase + 1)) {
            tools.compact(writer.port + 1, &chapter.keyspace)?;
        }
    }
    Ok(())
}

/// Copies each table's files, and gives the calls that dump them.
fn copy_keyspace(source: &Path, target: &Path) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for table in folders::tables(source)? {
        for copy in table.copy_to(&target.join(&table.name))? {
            let name = copy.display().to_string();
            if let Some(sstable) = name.strip_suffix("-Data.db") {
                let output = PathBuf::from(format!("{sstable}.json"));
                jobs.push(Job { class: "SSTableExport", arguments: vec![name], output });
            }
        }
    }
    Ok(jobs)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
