//! The matrix's file: statements, what each is tried with, and the verdicts.
//!
//! Reading it and writing it gives the same bytes, so that a recording changes verdicts alone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::cells::{Grant, WAYS};

/// Begins a section.
const SECTION: &str = "= ";
/// The section of the statements that make what the others are about.
const SETUP: &str = "setup";
const RECORDED: &str = "# recorded: ";
/// Begins a verdict of the real server, and one of Helenus where it differs on purpose.
const ANSWER: &str = "> ";
const ANSWER_OF_HELENUS: &str = "< ";

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    about: Vec<String>,
    /// The real server that the verdicts are of, with the hash of its configuration.
    pub recorded: String,
    /// Statements before all others, each with the feature that it needs, if that may be missing.
    pub setup: Vec<(Option<String>, String)>,
    /// The statements.
    pub rows: Vec<Row>,
}

/// A statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its text; `{n}` stands for a number that differs from cell to cell.
    pub text: String,
    /// The lines below, as `key: value`.
    keys: Vec<(String, String)>,
    /// The verdicts.
    pub answers: Option<Verdicts>,
    /// Helenus's, where it closes a hole; the key `closes` says which.
    pub answers_of_helenus: Option<Verdicts>,
}

/// The verdicts of a row's cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// The number of cells that were tried.
    pub cells: usize,
    /// Without any grant beside those that are held.
    pub none: String,
    /// Of a superuser.
    pub superuser: String,
    /// By way and grant, where the verdict is another than without a grant.
    pub others: BTreeMap<(usize, Grant), String>,
}

impl Matrix {
    /// Where it lies.
    pub fn path() -> PathBuf {
        crate::oracle::root().join("tests/access/matrix.txt")
    }

    /// Reads the file.
    pub fn read() -> Result<Matrix, String> {
        let path = Matrix::path();
        let text =
            std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Matrix::parse(&text)
    }

    /// Writes it back.
    pub fn write(&self) -> Result<(), String> {
        let path = Matrix::path();
        std::fs::write(&path, self.print()).map_err(|error| format!("cannot write {}: {error}", path.display()))
    }

    fn parse(text: &str) -> Result<Matrix, String> {
        let mut sections = text.split("\n\n").map(|section| section.trim_matches('\n'));
        let head = sections.next().unwrap_or_default();
        let mut about: Vec<String> = head.lines().map(String::from).collect();
        let recorded = about.pop_if(|line| line.starts_with(RECORDED));
        let recorded = recorded.map_or_else(String::new, |line| line[RECORDED.len()..].to_string());
        let mut matrix = Matrix { about, recorded, setup: Vec::new(), rows: Vec::new() };
        for section in sections.filter(|section| !section.is_empty()) {
            let (title, rest) = section.split_once('\n').ok_or_else(|| format!("`{section}` has no statement"))?;
            let name = title.strip_prefix(SECTION).ok_or_else(|| format!("`{title}` begins no section"))?;
            if name == SETUP {
                matrix.setup = rest.lines().map(setup_line).collect();
            } else {
                matrix.rows.push(Row::parse(name, rest).map_err(|message| format!("{name}: {message}"))?);
            }
        }
        Ok(matrix)
    }

    fn print(&self) -> String {
        let mut about = self.about.clone();
        if !self.recorded.is_empty() {
            about.push(format!("{RECORDED}{}", self.recorded));
        }
        let mut setup = vec![format!("{SECTION}{SETUP}")];
        setup.extend(self.setup.iter().map(|(feature, text)| match feature {
            Some(feature) => format!("{feature}: {text}"),
            None => text.clone(),
        }));
        let mut sections = vec![about.join("\n"), setup.join("\n")];
        sections.extend(self.rows.iter().map(Row::print));
        sections.join("\n\n") + "\n"
    }
}

/// A statement of the setup: `feature: text`, or the text alone, which begins with a word in capitals.
fn setup_line(line: &str) -> (Option<String>, String) {
    match line.split_once(": ").filter(|(feature, _)| feature.chars().all(|c| c.is_ascii_lowercase())) {
        Some((feature, text)) => (Some(feature.into()), text.into()),
        None => (None, line.into()),
    }
}

impl Row {
    fn parse(name: &str, rest: &str) -> Result<Row, String> {
        let mut lines = rest.lines();
        let text = lines.next().unwrap_or_default().to_string();
        let mut row = Row { name: name.into(), text, ..Row::default() };
        for line in lines {
            if let Some(verdict) = line.strip_prefix(ANSWER) {
                row.answers.get_or_insert_default().add(verdict)?;
            } else if let Some(verdict) = line.strip_prefix(ANSWER_OF_HELENUS) {
                row.answers_of_helenus.get_or_insert_default().add(verdict)?;
            } else {
                let (key, value) = line.split_once(": ").ok_or_else(|| format!("`{line}` is no `key: value`"))?;
                row.keys.push((key.into(), value.into()));
            }
        }
        if row.answers_of_helenus.is_some() != row.key("closes").is_some() {
            return Err("`closes` and lines with `<` come together".into());
        }
        Ok(row)
    }

    fn print(&self) -> String {
        let mut lines = vec![format!("{SECTION}{}", self.name), self.text.clone()];
        lines.extend(self.keys.iter().map(|(key, value)| format!("{key}: {value}")));
        for (mark, verdicts) in [(ANSWER, &self.answers), (ANSWER_OF_HELENUS, &self.answers_of_helenus)] {
            lines.extend(verdicts.iter().flat_map(Verdicts::lines).map(|line| format!("{mark}{line}")));
        }
        lines.join("\n")
    }

    /// The value of a key.
    pub fn key(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(found, _)| found == key).map(|(_, value)| value.as_str())
    }

    /// The resources that it is about.
    pub fn resources(&self) -> Vec<String> {
        self.key("on").unwrap_or_default().split(' ').map(String::from).collect()
    }

    /// The grants that the user holds in each cell.
    pub fn held(&self) -> Vec<Grant> {
        let held = self.key("held").into_iter().flat_map(|held| held.split(", "));
        held.filter_map(|grant| grant.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect()
    }

    /// Statements that undo it.
    pub fn undo(&self) -> impl Iterator<Item = &str> {
        self.key("undo").into_iter().flat_map(|undo| undo.split("; "))
    }
}

impl Verdicts {
    /// Reads a line: `cells = N`, `none = VERDICT`, `superuser = VERDICT`, or `way… PERMISSION level… = VERDICT`.
    fn add(&mut self, line: &str) -> Result<(), String> {
        let (cells, verdict) = line.split_once(" = ").ok_or_else(|| format!("`{line}` is no verdict"))?;
        match cells {
            "cells" => self.cells = verdict.parse().map_err(|_| format!("`{verdict}` is no number"))?,
            "none" => self.none = verdict.into(),
            "superuser" => self.superuser = verdict.into(),
            _ => {
                let is_way = |word: &&str| WAYS.iter().any(|(way, _)| way == word);
                let ways = cells.split(' ').take_while(is_way).filter_map(|word| WAYS.iter().position(|w| w.0 == word));
                let mut words = cells.split(' ').skip_while(is_way);
                let permission = words.next().ok_or_else(|| format!("`{cells}` has no permission"))?;
                let levels: Vec<&str> = words.collect();
                for way in ways {
                    let grants = levels.iter().map(|level| (permission.to_string(), (*level).to_string()));
                    self.others.extend(grants.map(|grant| ((way, grant), verdict.to_string())));
                }
            }
        }
        Ok(())
    }

    fn lines(&self) -> Vec<String> {
        // By verdict and permission the levels of each way, then the ways that have the same ones.
        let mut levels: BTreeMap<(&str, &str, usize), Vec<&str>> = BTreeMap::new();
        for ((way, (permission, level)), verdict) in &self.others {
            levels.entry((verdict, permission, *way)).or_default().push(level);
        }
        let mut ways: BTreeMap<(&str, &str, Vec<&str>), Vec<&str>> = BTreeMap::new();
        for ((verdict, permission, way), levels) in levels {
            ways.entry((verdict, permission, levels)).or_default().push(WAYS[way].0);
        }
        let mut lines = vec![
            format!("cells = {}", self.cells),
            format!("none = {}", self.none),
            format!("superuser = {}", self.superuser),
        ];
        lines.extend(ways.iter().map(|((verdict, permission, levels), ways)| {
            format!("{} {permission} {} = {verdict}", ways.join(" "), levels.join(" "))
        }));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# About.\n# recorded: by whom\n\n= setup\nCREATE ROLE a\nviews: CREATE b: c\n\n= one\nSELECT 1\non: data/ks/t roles/a\n\
        held: SELECT data, MODIFY roles\n> cells = 3\n> none = no = no\n> superuser = allowed\n> direct role SELECT data data/ks = allowed\n";

    #[test]
    fn a_matrix_that_is_written_again_is_the_same() {
        let matrix = Matrix::parse(TEXT).expect("a matrix");
        assert_eq!(matrix.print(), TEXT);
        assert_eq!(matrix.setup[1], (Some("views".into()), "CREATE b: c".into()));
        let row = &matrix.rows[0];
        assert_eq!(row.resources(), ["data/ks/t", "roles/a"]);
        assert_eq!(row.held()[1], ("MODIFY".to_string(), "roles".to_string()));
        let verdicts = row.answers.as_ref().expect("verdicts");
        assert_eq!((verdicts.none.as_str(), verdicts.others.len()), ("no = no", 4));
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        for text in [
            "# A.\n\nSELECT 1\nx",
            "# A.\n\n= a\nSELECT 1\nx",
            "# A.\n\n= a\nSELECT 1\n> x",
            "# A.\n\n= a\nS\n< cells = 1",
        ] {
            assert!(Matrix::parse(text).is_err(), "{text}");
        }
    }
}
