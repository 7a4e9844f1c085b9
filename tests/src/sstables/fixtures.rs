//! Folders of SSTables that a real Cassandra wrote, with what it says of them.

use std::path::{Path, PathBuf};

use crate::oracle::{Session, is_answered_alike};
use crate::sstables::Writer;
use crate::sstables::corpus::{Chapter, chapters};
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
    let scripts = chapters(names)?;
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
        jobs.extend(copy_keyspace(&writer.data().join(&given.keyspace), &target)?);
        write(&target.join("schema.cql"), &(given.schema(writer.major()).join("\n\n") + "\n"))?;
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
    for chapter in chapters(&[])? {
        write(&folder.join(format!("{}.txt", chapter.keyspace)), &chapter.writes(3)?)?;
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
            let parts = chapter.phases();
            let Some(part) = parts.get(phase) else { continue };
            let first = parts[..phase].iter().map(|part| part.len()).sum();
            let answers = chapter.run(session, first, part)?;
            for (block, answer) in chapter.script.blocks[first..].iter_mut().zip(answers) {
                block.answer = answer;
            }
        }
        if phase + 1 < phases {
            tools.flush(writer.port + 1)?;
        }
    }
    Ok(())
}

/// Copies each table's files, and gives the calls that dump them.
fn copy_keyspace(source: &Path, target: &Path) -> Result<Vec<Job>, String> {
    let mut jobs = Vec::new();
    for table in entries(source)? {
        let name = table.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // A table's folder is its name, a hyphen and its id without hyphens.
        let folder = target.join(name.rsplit_once('-').map_or(name.as_str(), |(name, _)| name));
        std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        for file in entries(&table)?.into_iter().filter(|file| file.is_file()) {
            let copy = folder.join(file.file_name().unwrap_or_default());
            std::fs::copy(&file, &copy).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
            if copy.to_string_lossy().ends_with("-Data.db") {
                let output = PathBuf::from(copy.to_string_lossy().replace("-Data.db", ".json"));
                jobs.push(Job { class: "SSTableExport", arguments: vec![copy.display().to_string()], output });
            }
        }
    }
    Ok(jobs)
}

/// What lies in the folder, in order.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let found = std::fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut entries: Vec<PathBuf> = found.filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    Ok(entries)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
