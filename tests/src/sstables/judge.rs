//! What Helenus wrote, judged by a real Cassandra: its tools, and the answers that it gives when it serves the files itself.

use std::collections::BTreeMap;
use std::path::Path;

use crate::oracle::{Session, is_answered_alike};
use crate::sstables::Writer;
use crate::sstables::corpus::{Chapter, chapters, chapters_of};
use crate::sstables::dump::{self, Dumps};
use crate::sstables::fixtures::write_tables;
use crate::sstables::folders;
use crate::sstables::snapshots;
use crate::sstables::subject::Subject;
use crate::sstables::tools::{Job, Tools};

/// Under which Helenus serves what others wrote: reactor and shard count.
const SUBJECTS: [(&str, u16); 2] = [("uring", 1), ("epoll", 2)];

/// Counters have the server's clock and its host id, so that no two dumps of them are alike; nor are they statements with timestamps, which an
/// import would have to send.
const COUNTERS: &str = "counters";

/// Has the server and Helenus write the chapters, compares what `sstabledump` prints of either's files, has the server make the tables of Helenus's
/// snapshots, and then serve Helenus's files in place of its own. Its tables are flushed at the end, so that `verify` may follow when it has ended.
pub fn ours(jars: &Path, server: &Writer, names: &[&str]) -> Result<bool, String> {
    let tools = Tools::new(jars, &server.folder.join("tools"))?;
    let recorded = chapters(names)?;
    let mut tally = Tally::default();
    let mut real = recorded.clone();
    write_tables(&tools, server, &mut real)?;
    let mut subject = Subject::start("uring", 1);
    let mut given = recorded.clone();
    subject.write(&mut given)?;
    for ((recorded, real), given) in recorded.iter().zip(&real).zip(&given) {
        let judged = [(real, "Cassandra"), (given, "Helenus")];
        for (given, who) in judged {
            let what = format!("{}, {who}", given.keyspace);
            tally.count(is_answered_alike(&recorded.script, &given.script, &what));
        }
    }
    // The folder goes with its builder.
    let (files, _builder) = subject.stop();
    for chapter in &recorded {
        for table in folders::tables(&files.join(&chapter.keyspace))? {
            let (asked, named) = (chapter.compressor_of(&table.name), table.compressors()?);
            let is_right = !named.is_empty() && named.iter().all(|named| *named == asked);
            if !is_right {
                println!("{}.{}: {asked:?} is asked for, {named:?} wrote", chapter.keyspace, table.name);
            }
            tally.count(is_right);
        }
    }
    // What the real one compacted says the same in other files.
    let is_alike =
        |chapter: &&Chapter| !chapter.is_compacted() && chapter.can_be_dumped() && chapter.keyspace != COUNTERS;
    let flushed: Vec<Chapter> = recorded.iter().filter(is_alike).cloned().collect();
    let dumped = dumps(&tools, &flushed, &[&server.data(), &files])?;
    compare(&dumped[0], &dumped[1], &mut tally);
    snapshots::replay(server, &recorded, &mut tally)?;
    serve(&tools, server, &recorded, &files, &mut tally)?;
    Ok(tally.report("what Helenus wrote"))
}

/// Has `sstableverify` read every table of a server that has ended, and then a table of which one bit was turned over, which it must refuse.
pub fn verify(jars: &Path, reader: &Writer, names: &[&str]) -> Result<bool, String> {
    let tools = Tools::new(jars, &reader.folder.join("tools"))?;
    let mut tally = Tally::default();
    let mut tables = Vec::new();
    for chapter in chapters(names)? {
        let found = folders::tables(&reader.data().join(&chapter.keyspace))?;
        tables.extend(found.into_iter().map(|table| (chapter.keyspace.clone(), table)));
    }
    let outcomes = tools.verify(&reader.storage(), &tables)?;
    for ((keyspace, table), outcome) in tables.iter().zip(&outcomes) {
        if !outcome.is_good {
            println!("sstableverify {keyspace}.{}: {}", table.name, outcome.said);
        }
        tally.count(outcome.is_good);
    }
    // A judge that accepts anything proves nothing.
    let (keyspace, table) = tables.first().ok_or("there is no table to verify")?;
    let broken = folders::break_a_bit(table)?;
    let outcome = tools.verify(&reader.storage(), &[(keyspace.clone(), table.clone())])?;
    if outcome[0].is_good {
        println!("sstableverify accepts {} with a bit turned over", broken.display());
    }
    tally.count(!outcome[0].is_good);
    Ok(tally.report("sstableverify"))
}

/// Dumps of tables by keyspace and table.
type Dumped = BTreeMap<(String, String), Dumps>;

/// Dumps of the chapters' tables below each of the folders. `sstabledump` must accept all of them.
fn dumps(tools: &Tools, chapters: &[Chapter], folders: &[&Path]) -> Result<Vec<Dumped>, String> {
    let scratch = tools.scratch("dumps")?;
    let (mut jobs, mut of_table) = (Vec::new(), Vec::new());
    let mut dumped: Vec<Dumped> = folders.iter().map(|_| Dumped::new()).collect();
    for ((place, folder), chapter) in
        folders.iter().enumerate().flat_map(|at| chapters.iter().map(move |one| (at, one)))
    {
        for table in folders::tables(&folder.join(&chapter.keyspace))? {
            let reversed = chapter.reversed(&table.name);
            let name = (chapter.keyspace.clone(), table.name.clone());
            dumped[place].insert(name.clone(), Dumps::default());
            for data in table.data_files()? {
                let output = scratch.join(format!("{}.json", jobs.len()));
                jobs.push(Job { class: "SSTableExport", arguments: vec![data.display().to_string()], output });
                of_table.push((place, name.clone(), reversed.clone()));
            }
        }
    }
    // All in one call: most of a call's time is the start of its JVM.
    for ((job, (place, name, reversed)), ended) in jobs.iter().zip(of_table).zip(tools.run(&jobs, None)?) {
        if ended.code != 0 {
            return Err(format!("sstabledump refuses {}: code {}: {}", job.arguments[0], ended.code, ended.errors));
        }
        let text =
            std::fs::read_to_string(&job.output).map_err(|error| format!("{}: {error}", job.output.display()))?;
        dumped[place].entry(name).or_default().push(&text, &reversed)?;
    }
    Ok(dumped)
}

/// Whether each table's dumps say the same.
fn compare(real: &Dumped, ours: &Dumped, tally: &mut Tally) {
    for ((keyspace, table), real) in real {
        let difference = match ours.get(&(keyspace.clone(), table.clone())) {
            Some(ours) => dump::difference(real, ours),
            None => Some("Helenus has no folder for it".into()),
        };
        if let Some(difference) = &difference {
            println!("the dump of {keyspace}.{table} is another one: {difference}\n");
        }
        tally.count(difference.is_none());
    }
}

/// Has the server serve the files, and compares its answers.
fn serve(tools: &Tools, reader: &Writer, expected: &[Chapter], files: &Path, tally: &mut Tally) -> Result<(), String> {
    let mut refreshed = Vec::new();
    let mut sessions = Vec::new();
    for chapter in expected {
        let mut session = Session::new(&reader.address());
        session.begin_in(&chapter.keyspace)?;
        chapter.run_schema(&mut session)?;
        let targets = folders::tables(&reader.data().join(&chapter.keyspace))?;
        for table in folders::tables(&files.join(&chapter.keyspace))? {
            let target = targets.iter().find(|target| target.name == table.name);
            let target = target.ok_or_else(|| format!("no folder for {}.{}", chapter.keyspace, table.name))?;
            table.copy_to(&target.folder)?;
            refreshed.push((chapter.keyspace.clone(), table.name));
        }
        sessions.push(session);
    }
    for ((keyspace, table), ended) in refreshed.iter().zip(tools.refresh(reader.port + 1, &refreshed)?) {
        if ended.code != 0 {
            println!("nodetool refresh {keyspace} {table}: {}", ended.errors);
        }
        tally.count(ended.code == 0);
    }
    for (chapter, session) in expected.iter().zip(&mut sessions) {
        let mut given = chapter.clone();
        given.run_phase(session, given.phases().len() - 1)?;
        let what = format!("{}, Cassandra with these files", chapter.keyspace);
        tally.count(is_answered_alike(&chapter.script, &given.script, &what));
    }
    tools.flush(reader.port + 1)
}

/// Has a server serve a version of the fixtures: whether they say what the scripts do, and whether this judge's way to have files served is one.
pub fn peers(jars: &Path, fixtures: &Path, version: &str, reader: &Writer, names: &[&str]) -> Result<bool, String> {
    let tools = Tools::new(jars, &reader.folder.join("tools"))?;
    let expected: Vec<Chapter> = chapters_of(version, names)?;
    let mut tally = Tally::default();
    serve(&tools, reader, &expected, &fixtures.join(version), &mut tally)?;
    Ok(tally.report(&format!("files of {version}, served by Cassandra")))
}

/// Has Helenus serve what real servers wrote, as the fixtures' folder holds it.
pub fn theirs(fixtures: &Path, versions: &[&str], names: &[&str]) -> Result<bool, String> {
    let mut is_right = true;
    for version in versions {
        let expected: Vec<Chapter> = chapters_of(version, names)?;
        // That version cannot write those that are asked for.
        if expected.is_empty() {
            continue;
        }
        for (reactor, shards) in SUBJECTS {
            let mut tally = Tally::default();
            let mut subject = Subject::start(reactor, shards);
            subject.make(&expected)?;
            subject.take_in(&fixtures.join(version), &expected)?;
            for chapter in &expected {
                let mut given = chapter.clone();
                subject.ask(&mut given)?;
                let what = format!("{}, Helenus with files of {version}", chapter.keyspace);
                tally.count(is_answered_alike(&chapter.script, &given.script, &what));
            }
            drop(subject.stop());
            is_right &= tally.report(&format!("files of {version}, served on {reactor} with {shards} shards"));
        }
        is_right &= imported(&fixtures.join(version), version, names)?;
    }
    Ok(is_right)
}

/// Has the file tools send what real servers wrote to a Helenus, which must answer as if it had been written there.
fn imported(fixtures: &Path, version: &str, names: &[&str]) -> Result<bool, String> {
    let mut tally = Tally::default();
    let chapters = chapters_of(version, names)?.into_iter();
    let expected: Vec<Chapter> = chapters.filter(|chapter| chapter.keyspace != COUNTERS).collect();
    let mut subject = Subject::start("epoll", 2);
    subject.make(&expected)?;
    for chapter in &expected {
        let mut is_sent = true;
        for table in folders::tables(&fixtures.join(&chapter.keyspace))? {
            if let Err(message) = subject.import(&chapter.keyspace, &table) {
                println!("import of {}.{}, {version}: {message}", chapter.keyspace, table.name);
                is_sent = false;
            }
        }
        let mut given = chapter.clone();
        subject.ask(&mut given)?;
        let what = format!("{}, Helenus after an import of {version}", chapter.keyspace);
        tally.count(is_answered_alike(&chapter.script, &given.script, &what) && is_sent);
    }
    drop(subject.stop());
    Ok(tally.report(&format!("files of {version}, imported")))
}

/// How many comparisons held.
#[derive(Default)]
pub(super) struct Tally {
    right: usize,
    wrong: usize,
}

impl Tally {
    pub(super) fn count(&mut self, is_right: bool) {
        if is_right {
            self.right += 1;
        } else {
            self.wrong += 1;
        }
    }

    /// Prints the sums in the line that the phases count; whether nothing was wrong and something right.
    fn report(&self, what: &str) -> bool {
        let is_good = self.wrong == 0 && self.right > 0;
        let verdict = if is_good { "ok" } else { "FAILED" };
        println!("{what}:\ntest result: {verdict}. {} passed; {} failed", self.right, self.wrong);
        is_good
    }
}
