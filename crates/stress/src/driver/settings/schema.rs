//! `-schema`: the keyspace and the options of its tables, as statements.

use super::command::{CommandSettings, LoadSettings};
use super::rows::ColumnSettings;
use super::words::{Group, refusal};
use crate::StressError;

/// What the keyspace and the tables are made with, if they are not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchemaSettings {
    pub(crate) keyspace: String,
    /// The strategy's class first, then its options.
    replication: Options,
    /// The same of the tables' compaction; none is the server's own.
    compaction: Options,
    /// The class that compresses; none is none, as cassandra-stress has it.
    compression: Option<String>,
}

impl SchemaSettings {
    pub(super) fn of(mut group: Group, command: &CommandSettings) -> Result<SchemaSettings, StressError> {
        let keyspace = if matches!(command.load, LoadSettings::Ycsb(_)) { "ycsb" } else { "keyspace1" };
        let compaction = match group.call("compaction")? {
            Some(words) => options("compaction", &words)?.1,
            None => Vec::new(),
        };
        let settings = SchemaSettings {
            keyspace: group.value("keyspace=")?.unwrap_or_else(|| keyspace.to_owned()),
            replication: replication(group.call("replication")?)?,
            compaction,
            compression: group.value("compression=")?,
        };
        group.finish()?;
        Ok(settings)
    }

    /// The statement that makes the keyspace.
    pub(crate) fn create_keyspace(&self) -> String {
        format!(
            "CREATE KEYSPACE IF NOT EXISTS {} WITH replication = {} AND durable_writes = true",
            quoted(&self.keyspace),
            map(&self.replication),
        )
    }

    /// The statement that makes a table of `columns` of one type.
    pub(crate) fn create_table(&self, table: &str, columns: &ColumnSettings, of_type: &str) -> String {
        // What is not said of compression is none.
        let compression: Vec<_> = self.compression.iter().map(|class| ("class".to_owned(), class.clone())).collect();
        self.create(table, "key blob", &columns.names, of_type, Some(compression))
    }

    /// The statement that makes a table of texts, with a text as its key. What is not said of compression is the server's own.
    pub(crate) fn create_texts(&self, table: &str, key: &str, columns: &[String]) -> String {
        let compression = self.compression.as_ref().map(|class| vec![("class".to_owned(), class.clone())]);
        self.create(table, &format!("{key} varchar"), columns, "varchar", compression)
    }

    fn create(
        &self,
        table: &str,
        key: &str,
        columns: &[String],
        of_type: &str,
        compression: Option<Options>,
    ) -> String {
        let columns: String = columns.iter().map(|name| format!(", {} {of_type}", quoted(name))).collect();
        let mut text = format!("CREATE TABLE IF NOT EXISTS {} ({key} PRIMARY KEY{columns})", self.table(table));
        let compaction = Some(&self.compaction).filter(|options| !options.is_empty());
        let options = [("compression", compression.as_ref()), ("compaction", compaction)];
        let said = options.iter().filter_map(|(name, options)| options.map(|options| (name, options)));
        for (number, (name, options)) in said.enumerate() {
            let word = if number == 0 { "WITH" } else { "AND" };
            text.push_str(&format!(" {word} {name} = {}", map(options)));
        }
        text
    }

    /// A table's full name.
    pub(crate) fn table(&self, table: &str) -> String {
        format!("{}.{}", quoted(&self.keyspace), quoted(table))
    }
}

/// Names with their values.
type Options = Vec<(String, String)>;

/// `strategy=…` as the class, and the other options as they are said; and `factor=…` by itself.
fn options(of: &str, words: &[String]) -> Result<(Option<String>, Options), StressError> {
    let mut options = Options::new();
    let mut factor = None;
    for word in words {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => (name, value.to_owned()),
            _ => {
                return Err(refusal(format!(
                    "-schema {of}({word}): invalid option, for example {of}(strategy=Class,option=value)"
                )));
            }
        };
        let name = if name.eq_ignore_ascii_case("strategy") { "class" } else { name };
        if name.eq_ignore_ascii_case("factor") && of == "replication" {
            factor = Some(value);
        } else if options.iter().any(|(other, _)| other == name) {
            return Err(refusal(format!("-schema {of}: duplicate {name}")));
        } else if name == "class" {
            options.insert(0, (name.to_owned(), value));
        } else {
            options.push((name.to_owned(), value));
        }
    }
    match of != "replication" && options.first().is_none_or(|(name, _)| name != "class") {
        true => Err(refusal(format!("-schema {of}: strategy= is missing"))),
        false => Ok((factor, options)),
    }
}

/// The simple strategy with one replica, unless it is said otherwise.
fn replication(words: Option<Vec<String>>) -> Result<Options, StressError> {
    let (factor, mut options) = match words {
        Some(words) => options("replication", &words)?,
        None => (None, Vec::new()),
    };
    if options.first().is_none_or(|(name, _)| name != "class") {
        options.insert(0, ("class".to_owned(), "SimpleStrategy".to_owned()));
    }
    let is_simple = options[0].1.ends_with("SimpleStrategy");
    let has_factor = options.iter().any(|(name, _)| name == "replication_factor");
    if !has_factor && (is_simple || factor.is_some() || options.len() == 1) {
        options.push(("replication_factor".to_owned(), factor.unwrap_or_else(|| "1".to_owned())));
    }
    Ok(options)
}

/// A name that keeps its case.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn map(entries: &[(String, String)]) -> String {
    let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let entries: Vec<String> = entries.iter().map(|(name, value)| format!("{}: {}", text(name), text(value))).collect();
    format!("{{{}}}", entries.join(", "))
}
