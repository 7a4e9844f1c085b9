//! The scripts: statements that write a keyspace's tables in phases with flushes between, then ask them.
//!
//! A script is one of the oracle's with more directives. `@flush` stands above the first statement behind a flush, and `@compact` beside it
//! has a real server compact its tables then, each to one file. `@repeat N` runs a
//! statement N times, with `{i}` counting from 0; `{i*7%100}` computes from left to right, `{i:03}` and `{i:08x}` fill with zeros.
//! `@digest` shows an answer by a hash of its rows. `@since 5` marks what a major version brought.
//! What a script does not say of timestamps and of now is filled in, so that each run writes the same; `@plain` leaves it.

use std::path::PathBuf;

use crate::oracle::{Block, Script, Session, run_block};

/// The first statement's timestamp in microseconds; each further one's is a millisecond later.
const TIMESTAMP: i64 = 1_700_000_000_000_000;
/// What time it is for every statement that writes and says nothing else, in seconds.
const NOW: i64 = 1_700_000_000;
/// The same for one that reads: later than any clock with which files are written, and sooner than what must not expire.
const NOW_READING: i64 = 1_900_000_000;

/// A script and the keyspace that it fills.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// The keyspace; the script's name.
    pub keyspace: String,
    /// The script.
    pub script: Script,
}

/// All chapters, or those of these names.
pub fn chapters(names: &[&str]) -> Result<Vec<Chapter>, String> {
    let folder = folder();
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut chapters = Vec::new();
    for file in files {
        let keyspace = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if names.is_empty() || names.contains(&keyspace.as_str()) {
            chapters.push(Chapter { keyspace, script: Script::read(&file)? });
        }
    }
    if chapters.is_empty() { Err("there are no such scripts".into()) } else { Ok(chapters) }
}

/// The same as a Cassandra of that version writes them, without those that it cannot: the writer of version 3 knows no constants of composites, and
/// names rows by all of their clustering.
pub fn chapters_of(version: &str, names: &[&str]) -> Result<Vec<Chapter>, String> {
    let written = chapters(names)?.into_iter().filter(|chapter| chapter.can_be_dumped() || major(version) > 3);
    Ok(written.map(|chapter| chapter.known_to(version)).collect())
}

fn folder() -> PathBuf {
    crate::oracle::root().join("tests/sstables/scripts")
}

impl Chapter {
    /// The statements that change the schema, in order.
    pub fn schema(&self) -> Vec<String> {
        let statements = self.script.blocks.iter().flat_map(Block::statements).map(|statement| statement.text);
        statements.filter(|text| is_of_schema(text)).map(|text| text + ";").collect()
    }

    /// False if its files have what `sstabledump` throws at: it knows no JSON of composites, and none of nulls in a clustering.
    pub fn can_be_dumped(&self) -> bool {
        !["composites", "prefixes"].contains(&self.keyspace.as_str())
    }

    /// The id that a table is made with, without its hyphens.
    pub fn id_of(&self, table: &str) -> Result<String, String> {
        let begin = format!("CREATE TABLE {table} (");
        let made = self.schema().into_iter().find(|text| text.starts_with(&begin));
        let id = made.as_deref().and_then(|text| Some(text.split_once(" id = ")?.1));
        let id = id.ok_or_else(|| format!("{}.{table} is not made with an id", self.keyspace))?;
        Ok(id.chars().filter(char::is_ascii_hexdigit).collect())
    }

    /// The compressor that a table asks for, by its class; `None`: it asks for none.
    pub fn compressor_of(&self, table: &str) -> Option<String> {
        let begin = format!("CREATE TABLE {table} (");
        let made = self.schema().into_iter().find(|text| text.starts_with(&begin)).unwrap_or_default();
        let Some((_, options)) = made.split_once("compression = {") else { return Some("LZ4Compressor".into()) };
        let class = options.split_once("'class': '").and_then(|(_, rest)| rest.split_once('\''));
        class.map(|(class, _)| class.to_string())
    }

    /// Which of a table's clustering columns are reversed, as far as it says.
    pub fn reversed(&self, table: &str) -> Vec<bool> {
        let begin = format!("CREATE TABLE {table} (");
        let made = self.schema().into_iter().find(|text| text.starts_with(&begin)).unwrap_or_default();
        let order = made.split_once("CLUSTERING ORDER BY (").and_then(|(_, rest)| rest.split_once(')'));
        let columns = order.map_or("", |(columns, _)| columns);
        columns.split(", ").map(|column| column.ends_with("DESC")).collect()
    }

    /// The blocks up to each flush: what must be flushed stands in all parts but the last, which asks.
    pub fn phases(&self) -> Vec<&[Block]> {
        let blocks = &self.script.blocks;
        let flushes = (0..blocks.len()).filter(|&at| blocks[at].directive("flush").is_some());
        let ends: Vec<usize> = flushes.chain([blocks.len()]).collect();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        begins.zip(&ends).map(|(begin, &end)| &blocks[begin..end]).collect()
    }

    /// Whether the tables are compacted before that phase.
    pub fn is_compacted_before(&self, phase: usize) -> bool {
        let first = self.phases().get(phase).and_then(|blocks| blocks.first().cloned());
        first.is_some_and(|block| block.directive("compact").is_some())
    }

    /// Whether a real server's files are not those of its flushes.
    pub fn is_compacted(&self) -> bool {
        (0..self.phases().len()).any(|phase| self.is_compacted_before(phase))
    }

    /// What writes: a line for each statement with its timestamp and its now before it and tabs between, and `flush` or `compact`.
    pub fn writes(&self) -> Result<String, String> {
        let mut lines = String::new();
        for (at, block) in self.script.blocks.iter().enumerate() {
            if block.directive("flush").is_some() {
                lines.push_str("flush\n");
            }
            if block.directive("compact").is_some() {
                lines.push_str("compact\n");
            }
            for block in repeated(block)? {
                let block = with_times(block, at);
                let directive = |name: &str| block.directive(name).unwrap_or_default();
                for statement in block.statements().iter().filter(|statement| !statement.text.starts_with("SELECT ")) {
                    let text = statement.text.replace('\n', " ");
                    lines.push_str(&format!("{}\t{}\t{text}\n", directive("timestamp"), directive("now")));
                }
            }
        }
        Ok(lines)
    }

    /// The chapter as far as what writes that version of SSTables understands it.
    pub fn known_to(&self, version: &str) -> Chapter {
        let mut known = self.clone();
        let major = major(version);
        // What stays keeps its place, of which its timestamp is made.
        for block in known.script.blocks.iter_mut().filter(|block| since(block).is_ok_and(|since| since > major)) {
            *block = Block { head: vec!["-- not known".into()], ..Block::default() };
        }
        known
    }

    /// Runs the statements that change the schema.
    pub fn run_schema(&self, session: &mut Session) -> Result<(), String> {
        let is_of_it = |block: &&Block| block.statements().iter().any(|statement| is_of_schema(&statement.text));
        for block in self.script.blocks.iter().filter(is_of_it) {
            self.run(session, 0, std::slice::from_ref(block))?;
        }
        Ok(())
    }

    /// Runs one of the phases and keeps its answers.
    pub fn run_phase(&mut self, session: &mut Session, phase: usize) -> Result<(), String> {
        let phases = self.phases();
        let Some(&blocks) = phases.get(phase) else { return Ok(()) };
        let first = phases[..phase].iter().map(|blocks| blocks.len()).sum();
        let answers = self.run(session, first, blocks)?;
        for (block, answer) in self.script.blocks[first..].iter_mut().zip(answers) {
            block.answer = answer;
        }
        Ok(())
    }

    /// Runs these blocks and gives their answers. `first` is the place of the first of them in the script.
    fn run(&self, session: &mut Session, first: usize, blocks: &[Block]) -> Result<Vec<Vec<String>>, String> {
        let mut answers = Vec::with_capacity(blocks.len());
        for (at, block) in blocks.iter().enumerate() {
            let mut answer = Vec::new();
            for block in repeated(block).map_err(|message| format!("{}: {message}", self.keyspace))? {
                let block = with_times(block, first + at);
                let given = run_block(session, &block)
                    .map_err(|message| format!("{}: {message}\nafter:\n{}", self.keyspace, block.head.join("\n")))?;
                let is_refused = given.iter().any(|line| line.starts_with("error "));
                if is_refused || !answer.is_empty() && answer != given {
                    return Err(format!("{}: {given:?} to\n{}", self.keyspace, block.head.join("\n")));
                }
                answer = given;
            }
            answers.push(if block.directive("digest").is_some() { digest(&answer) } else { answer });
        }
        Ok(answers)
    }
}

/// The number of the answer's rows, and the FNV-1a of their text, whatever the pages were.
fn digest(answer: &[String]) -> Vec<String> {
    let header = answer.first();
    let is_row = |line: &&String| Some(*line) != header && !line.ends_with(" rows") && *line != "next page:";
    let rows: Vec<&String> = answer.iter().filter(is_row).collect();
    let bytes = rows.iter().flat_map(|row| row.bytes().chain([b'\n']));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    vec![format!("{} rows, digest {hash:016x}", rows.len())]
}

/// The major version of what writes such SSTables.
pub fn major(version: &str) -> u32 {
    if version.starts_with('m') { 3 } else { 5 }
}

/// Whether a statement changes the schema.
fn is_of_schema(text: &str) -> bool {
    ["CREATE ", "ALTER ", "DROP "].iter().any(|word| text.starts_with(word))
}

/// The major version that brought what the block needs.
fn since(block: &Block) -> Result<u32, String> {
    block.directive("since").map_or(Ok(0), str::parse).map_err(|_| "`@since` names no version".to_string())
}

/// The block as often as it says.
fn repeated(block: &Block) -> Result<Vec<Block>, String> {
    if block.is_comment() {
        return Ok(Vec::new());
    }
    let Some(count) = block.directive("repeat") else { return Ok(vec![block.clone()]) };
    let count: u64 = count.parse().map_err(|_| format!("`{count}` is no count"))?;
    (0..count)
        .map(|number| {
            let head = block.head.iter().map(|line| filled(line, number)).collect::<Result<_, _>>()?;
            Ok(Block { head, ..Block::default() })
        })
        .collect()
}

/// The line with each `{i…}` computed.
fn filled(line: &str, number: u64) -> Result<String, String> {
    let mut filled = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(begin) = rest.find("{i") {
        let end = begin + rest[begin..].find('}').ok_or_else(|| format!("no end of `{{i` in: {line}"))?;
        filled.push_str(&rest[..begin]);
        filled.push_str(&computed(&rest[begin + 2..end], number).ok_or_else(|| format!("not understood: {line}"))?);
        rest = &rest[end + 1..];
    }
    Ok(filled + rest)
}

/// What stands behind `{i`: operations, then perhaps how it is shown.
fn computed(text: &str, number: u64) -> Option<String> {
    let (mut operations, format) = text.split_once(':').unwrap_or((text, ""));
    let mut value = u128::from(number);
    while let Some(operation) = operations.chars().next() {
        let rest = &operations[1..];
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let operand: u128 = rest[..end].parse().ok()?;
        value = match operation {
            '+' => value.checked_add(operand)?,
            '*' => value.checked_mul(operand)?,
            '/' => value.checked_div(operand)?,
            '%' => value.checked_rem(operand)?,
            _ => return None,
        };
        operations = &rest[end..];
    }
    Some(match format.strip_suffix('x') {
        Some(width) => format!("{value:0width$x}", width = width.parse().ok()?),
        None if format.is_empty() => value.to_string(),
        None => format!("{value:0width$}", width = format.parse().ok()?),
    })
}

/// The block with a timestamp of its place and a fixed now, where it has none of its own.
fn with_times(mut block: Block, place: usize) -> Block {
    let is_plain = block.directive("plain").is_some();
    const OURS: [&str; 6] = ["@flush", "@compact", "@plain", "@digest", "@repeat", "@since"];
    block.head.retain(|line| !OURS.iter().any(|directive| line.split(' ').next() == Some(directive)));
    if is_plain || block.statements().iter().any(|statement| is_of_schema(&statement.text)) {
        return block;
    }
    if block.directive("timestamp").is_none() {
        let place = i64::try_from(place).expect("a script is short");
        block.head.insert(0, format!("@timestamp {}", TIMESTAMP + 1000 * place));
    }
    if block.directive("now").is_none() {
        let is_reading = block.statements().iter().any(|statement| statement.text.starts_with("SELECT "));
        let now = if is_reading { NOW_READING } else { NOW };
        block.head.insert(0, format!("@now {now}"));
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_filled_in() {
        assert_eq!(
            filled("a {i} {i*7%5+1} {i:04} {1: 2} {i*16:04x}", 3).expect("understood"),
            "a 3 2 0003 {1: 2} 0030"
        );
        assert!(filled("{i", 0).is_err());
        assert!(filled("{i-1}", 0).is_err());
    }

    #[test]
    fn the_scripts_are_read() {
        for chapter in chapters(&[]).expect("there are scripts") {
            assert!(chapter.phases().len() > 1, "{} flushes nothing", chapter.keyspace);
            for block in &chapter.script.blocks {
                repeated(block).expect("each block can be repeated");
            }
        }
    }
}
