//! A script's file: comments, directives, statements, and below each what was answered.
//!
//! Reading a file and writing it out again gives the same bytes, so that a recording changes answers only.

use std::path::{Path, PathBuf};

/// What an answer's lines begin with.
const ANSWER: &str = ">";
/// An answer under the second configuration, where it is another one.
const ANSWER_OF_DEFAULTS: &str = ">>";
/// Helenus's answer, where it deviates on purpose.
const ANSWER_OF_HELENUS: &str = "<";
const RECORDED: &str = "-- recorded: ";

/// Where the scripts of one node lie, those of one that clients log in to, and those of rings.
pub const FOLDER: &str = "tests/oracle";
pub const GUARDED_FOLDER: &str = "tests/oracle-guarded";
pub const RING_FOLDER: &str = "tests/oracle-ring";

/// A script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its file.
    pub path: PathBuf,
    /// The first lines, which say what it is about.
    pub about: Vec<String>,
    /// By whom it was answered: `Cassandra 5.0.6, configuration hash, …`. Empty before the first recording.
    pub recorded: String,
    /// Statements with their answers, and comments between them.
    pub blocks: Vec<Block>,
}

/// A statement with its directives above and its answers below; or comments alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Comments, directives and the statement, as written.
    pub head: Vec<String>,
    /// What the real one answered.
    pub answer: Vec<String>,
    /// What it answered with its default configuration, if that is something else.
    pub answer_of_defaults: Option<Vec<String>>,
    /// What Helenus answers, where it deviates.
    pub answer_of_helenus: Option<Vec<String>>,
}

impl Script {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Script, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Script::parse(path, &text).map_err(|message| format!("{}: {message}", path.display()))
    }

    pub(super) fn parse(path: &Path, text: &str) -> Result<Script, String> {
        let mut pieces = text.split("\n\n").map(|piece| piece.trim_matches('\n')).filter(|piece| !piece.is_empty());
        let mut about: Vec<String> = pieces.next().unwrap_or_default().lines().map(String::from).collect();
        if about.is_empty() || about.iter().any(|line| !line.starts_with("-- ")) {
            return Err("a script begins with a comment that says what it is about".into());
        }
        let recorded = match about.pop_if(|line| line.starts_with(RECORDED)) {
            Some(line) => line[RECORDED.len()..].to_string(),
            None => String::new(),
        };
        let blocks = pieces.map(Block::parse).collect::<Result<_, _>>()?;
        Ok(Script { path: path.to_path_buf(), about, recorded, blocks })
    }

    /// Writes it back.
    pub fn write(&self) -> Result<(), String> {
        self.write_to(&self.path)
    }

    /// Writes it to another place.
    pub fn write_to(&self, path: &Path) -> Result<(), String> {
        std::fs::write(path, self.print()).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn print(&self) -> String {
        let mut about = self.about.clone();
        if !self.recorded.is_empty() {
            about.push(format!("{RECORDED}{}", self.recorded));
        }
        let blocks = self.blocks.iter().map(Block::print);
        std::iter::once(about.join("\n")).chain(blocks).collect::<Vec<_>>().join("\n\n") + "\n"
    }

    /// Topic and name, as messages call it.
    pub fn name(&self) -> String {
        let folders = [FOLDER, GUARDED_FOLDER, RING_FOLDER].map(|folder| super::root().join(folder));
        let short = folders.iter().find_map(|folder| self.path.strip_prefix(folder).ok());
        short.unwrap_or(&self.path).display().to_string()
    }
}

impl Block {
    pub fn parse(piece: &str) -> Result<Block, String> {
        let mut block = Block::default();
        for line in piece.lines() {
            let (marker, rest) = line.split_once(' ').unwrap_or((line, ""));
            match marker {
                ANSWER => block.answer.push(rest.into()),
                ANSWER_OF_DEFAULTS => block.answer_of_defaults.get_or_insert_default().push(rest.into()),
                ANSWER_OF_HELENUS => block.answer_of_helenus.get_or_insert_default().push(rest.into()),
                _ if block.answer.is_empty() => block.head.push(line.into()),
                _ => return Err(format!("`{line}` follows an answer: leave a line free between statements")),
            }
        }
        if block.statements().is_empty() && !block.is_comment() && block.directive("login").is_none() {
            return Err(format!("no statement in:\n{piece}"));
        }
        if block.directive("deviation").is_some() != block.answer_of_helenus.is_some() {
            return Err(format!("`@deviation` and lines with `<` come together:\n{piece}"));
        }
        Ok(block)
    }

    fn print(&self) -> String {
        let lines = |marker: &str, lines: &[String]| -> Vec<String> {
            lines.iter().map(|line| format!("{marker} {line}").trim_end().to_string()).collect()
        };
        let mut all = self.head.clone();
        all.extend(lines(ANSWER, &self.answer));
        all.extend(self.answer_of_defaults.iter().flat_map(|answer| lines(ANSWER_OF_DEFAULTS, answer)));
        all.extend(self.answer_of_helenus.iter().flat_map(|answer| lines(ANSWER_OF_HELENUS, answer)));
        all.join("\n")
    }

    /// Whether it only speaks to the reader.
    pub fn is_comment(&self) -> bool {
        self.head.iter().all(|line| line.starts_with("--"))
    }

    /// The text after `@name `, if there is such a directive.
    pub fn directive(&self, name: &str) -> Option<&str> {
        self.directives().find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Directives with their values, in order.
    pub fn directives(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.iter().filter_map(|line| {
            let line = line.strip_prefix('@')?;
            Some(line.split_once(' ').unwrap_or((line, "")))
        })
    }

    /// The statements, each with the directives `@bind` and `@values` right above it: one, or those of a BATCH message.
    pub fn statements(&self) -> Vec<Statement<'_>> {
        let is_batch = self.directive("batch").is_some();
        let mut statements: Vec<Statement<'_>> = Vec::new();
        let (mut open, mut given) = (false, None);
        for line in self.head.iter().filter(|line| !line.starts_with("--")) {
            if let Some(directive) = line.strip_prefix('@') {
                let (name, value) = directive.split_once(' ').unwrap_or((directive, ""));
                given = match name {
                    "bind" => Some(Given::Bound(value)),
                    "values" => Some(Given::Typed(value)),
                    _ => given,
                };
                continue;
            }
            match statements.last_mut() {
                Some(statement) if open => {
                    statement.text.push('\n');
                    statement.text.push_str(line);
                }
                _ => statements.push(Statement { text: line.clone(), given: given.take() }),
            }
            open = !(is_batch && line.trim_end().ends_with(';'));
        }
        for statement in &mut statements {
            if statement.text.ends_with(';') {
                statement.text.pop();
            }
        }
        statements
    }

    /// Adds or takes away the directive that says what Helenus lacks.
    pub fn set_pending(&mut self, why: Option<&str>) {
        self.head.retain(|line| !line.starts_with("@pending"));
        if let Some(why) = why {
            self.insert(format!("@pending {why}"));
        }
    }

    /// Adds the directive that names why Helenus answers otherwise.
    pub fn set_deviation(&mut self, name: &str) {
        self.insert(format!("@deviation {name}"));
    }

    fn insert(&mut self, directive: String) {
        let at = self.head.iter().position(|line| !line.starts_with("--")).unwrap_or(0);
        self.head.insert(at, directive);
    }
}

/// A statement, and values for its markers.
#[derive(Clone, Debug)]
pub struct Statement<'a> {
    /// The text without the semicolon at its end.
    pub text: String,
    /// The values, as written.
    pub given: Option<Given<'a>>,
}

/// Where the types of a statement's values are known from.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// The statement is prepared, which tells them.
    Bound(&'a str),
    /// They stand before the values.
    Typed(&'a str),
}

/// The scripts in a folder of the repository below the paths, or all.
pub fn find_in(folder: &str, paths: &[&str]) -> Result<Vec<Script>, String> {
    let folder = super::root().join(folder);
    let mut files = Vec::new();
    if paths.is_empty() {
        walk(&folder, &mut files)?;
    }
    for path in paths {
        // From the folder in which the command was given, the root, or the scripts' folder.
        let places = [PathBuf::from(path), super::root().join(path), folder.join(path)];
        let place = places.iter().find(|place| place.exists()).ok_or_else(|| format!("there is no script {path}"))?;
        walk(&place.canonicalize().map_err(|error| format!("cannot find {path}: {error}"))?, &mut files)?;
    }
    files.sort();
    files.dedup();
    if files.is_empty() {
        return Err("there are no scripts".into());
    }
    files.iter().map(|file| Script::read(file)).collect()
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let unreadable = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            walk(&entry.map_err(unreadable)?.path(), files)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "cql") {
        files.push(path.to_path_buf());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "-- About it.\n-- recorded: by whom\n\n-- A remark.\n\n@page 2\nSELECT *\nFROM t;\n> a int\n>\n> 0 rows\n>> other\n";

    #[test]
    fn a_script_that_is_written_again_is_the_same() {
        let script = Script::parse(Path::new("x.cql"), TEXT).expect("a script");
        assert_eq!(script.print(), TEXT);
        assert_eq!(script.recorded, "by whom");
        let block = &script.blocks[1];
        assert_eq!(block.statements()[0].text, "SELECT *\nFROM t");
        assert_eq!(block.directive("page"), Some("2"));
        assert_eq!(block.answer, ["a int", "", "0 rows"]);
    }

    #[test]
    fn a_batch_has_a_statement_for_each_semicolon() {
        let block = Block::parse("@batch logged\n@bind 1\nINSERT 1\n  more;\nDELETE 2;").expect("a block");
        let statements = block.statements();
        assert_eq!(statements.len(), 2);
        assert_eq!(statements[0].text, "INSERT 1\n  more");
        assert!(matches!(statements[0].given, Some(Given::Bound("1"))));
        assert!(statements[1].given.is_none());
    }

    #[test]
    fn what_is_no_script_is_refused() {
        assert!(Script::parse(Path::new("x.cql"), "SELECT 1;\n").is_err());
        assert!(Block::parse("@page 2").is_err());
        assert!(Block::parse("SELECT 1;\n> 1\nSELECT 2;").is_err());
        assert!(Block::parse("@deviation x\nSELECT 1;\n> 1").is_err());
    }
}
