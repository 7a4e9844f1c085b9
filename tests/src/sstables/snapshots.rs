//! Snapshots of Helenus, whose `schema.cql` must make their tables again: on a real Cassandra, and on another Helenus.

use std::collections::BTreeMap;

use crate::oracle::{Block, Session, run_block};
use crate::sstables::Writer;
use crate::sstables::corpus::Chapter;
use crate::sstables::folders;
use crate::sstables::judge::Tally;
use crate::{Builder, http};

/// The snapshots' name.
const TAG: &str = "replayed";
/// The keyspace that has more of user-defined types than the chapters.
const KEYSPACE: &str = "replayed";

/// Types of types, in a column of each kind, and in dropped columns whose types are gone.
const STATEMENTS: [&str; 14] = [
    "CREATE TYPE z (a int)",
    "CREATE TYPE \"M m\" (z frozen<z>, l list<int>)",
    "CREATE TYPE a (m frozen<\"M m\">, v vector<frozen<z>, 2>)",
    "CREATE TYPE nowhere (a int)",
    "CREATE TYPE gone (a int, b text)",
    "CREATE TYPE \"Gone\" (g frozen<gone>, l list<frozen<gone>>)",
    "CREATE TABLE of_types (k frozen<z>, c tuple<int, frozen<a>>, a frozen<a>, l list<frozen<\"M m\">>, n a, s a static, \
     v vector<frozen<z>, 2>, d int, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER BY (c DESC) AND comment = 'it''s'",
    "CREATE TABLE dropped (k int, c int, f frozen<\"Gone\">, l list<frozen<gone>>, m frozen<map<frozen<gone>, frozen<\"Gone\">>>, \
     t tuple<int, frozen<gone>>, v vector<frozen<gone>, 2>, s frozen<gone> static, n int, PRIMARY KEY (k, c))",
    "ALTER TABLE dropped DROP (f, l, m, t, v, s, n) USING TIMESTAMP 1000",
    "DROP TYPE \"Gone\"",
    "DROP TYPE gone",
    "ALTER TABLE dropped ADD l list<frozen<tuple<int, text>>>",
    "ALTER TABLE dropped ADD n int",
    "CREATE TABLE \"Plain\" (\"K k\" int PRIMARY KEY)",
];

/// Each table's `schema.cql` and description, by keyspace and table.
type Kept = BTreeMap<(String, String), (String, Vec<String>)>;

/// Takes snapshots of the chapters' tables and of more, and has either server make them again. The server's keyspaces of these names are
/// lost.
pub fn replay(server: &Writer, chapters: &[Chapter], tally: &mut Tally) -> Result<(), String> {
    let kept = kept(chapters)?;
    let other = Builder::new("uring", 1).start();
    for (address, who) in [(server.address(), "Cassandra"), (other.address(), "Helenus")] {
        let mut keyspace = "";
        let mut session = Session::new(&address);
        for ((of, table), (statements, description)) in &kept {
            if keyspace != of {
                session.begin_in(of)?;
                keyspace = of;
            }
            let made = make(&mut session, statements).and_then(|()| described(&mut session, of, table));
            let is_right = made.as_ref() == Ok(description);
            if !is_right {
                println!(
                    "{of}.{table}, made again by {who}: {made:#?}\ninstead of {description:#?}, by\n{statements}\n"
                );
            }
            tally.count(is_right);
        }
    }
    Ok(())
}

/// Has a Helenus take the snapshots.
fn kept(chapters: &[Chapter]) -> Result<Kept, String> {
    let builder = Builder::new("epoll", 2).for_operators();
    let server = builder.start();
    let mut session = Session::new(&server.address());
    for chapter in chapters {
        session.begin_in(&chapter.keyspace)?;
        chapter.run_schema(&mut session)?;
    }
    session.begin_in(KEYSPACE)?;
    for statement in STATEMENTS {
        must(&mut session, statement)?;
    }
    let mut kept = Kept::new();
    for keyspace in chapters.iter().map(|chapter| chapter.keyspace.as_str()).chain([KEYSPACE]) {
        let target = format!("/storage_service/snapshots?tag={TAG}&kn={keyspace}");
        let answer = http(server.api_port, "POST", &target).map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{target}: {}", answer.body));
        }
        for table in folders::tables(&builder.data().join("data").join(keyspace))? {
            let path = table.folder.join("snapshots").join(TAG).join("schema.cql");
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let description = described(&mut session, keyspace, &table.name)?;
            kept.insert((keyspace.to_owned(), table.name), (text, description));
        }
    }
    Ok(kept)
}

/// Runs the statements of a `schema.cql`. What makes something is run again, and must find it.
fn make(session: &mut Session, text: &str) -> Result<(), String> {
    let statements: Vec<&str> = text.trim_end().split(";\n").map(|statement| statement.trim_end_matches(';')).collect();
    let creating = statements.iter().filter(|statement| statement.starts_with("CREATE "));
    for statement in statements.iter().chain(creating) {
        must(session, statement)?;
    }
    Ok(())
}

/// The lines of a table's description, sorted: the real one has dropped columns in the order of a hash table.
fn described(session: &mut Session, keyspace: &str, table: &str) -> Result<Vec<String>, String> {
    let answer = must(session, &format!("DESCRIBE TABLE \"{keyspace}\".\"{table}\" WITH INTERNALS"))?;
    // A comma or the quote at the text's end is no part of what a line says.
    let mut lines: Vec<String> = answer.iter().map(|line| line.trim_end_matches([',', '\'']).to_owned()).collect();
    lines.sort();
    Ok(lines)
}

fn must(session: &mut Session, statement: &str) -> Result<Vec<String>, String> {
    let block = Block { head: statement.lines().map(String::from).collect(), ..Block::default() };
    let answer = run_block(session, &block)?;
    match answer.iter().find(|line| line.starts_with("error ")) {
        Some(error) => Err(format!("{statement}: {error}")),
        None => Ok(answer),
    }
}
