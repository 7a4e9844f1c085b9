//! COPY's options: those of the command before those of the settings' file.

use std::path::Path;

use crate::command::{Copy, Direction};
use crate::cqlshrc::Sections;
use crate::files;
use crate::format::Style;
use crate::session::Session;

/// Options that are accepted and have no effect: they are about cqlsh's processes.
const IGNORED: [&str; 14] = [
    "numprocesses",
    "reportfrequency",
    "ratefile",
    "maxrequests",
    "pagetimeout",
    "chunksize",
    "maxbatchsize",
    "minbatchsize",
    "preparedstatements",
    "maxinflightmessages",
    "maxbackoffattempts",
    "maxpendingchunks",
    "requesttimeout",
    "childtimeout",
];

/// The characters of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: char,
    pub(super) quote: char,
    /// `None`: a quote within a quoted field is doubled.
    pub(super) escape: Option<char>,
}

/// All options.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Options {
    pub(super) dialect: Dialect,
    pub(super) has_header: bool,
    /// How values are written, and what stands for a null.
    pub(super) style: Style,
    pub(super) page_rows: i32,
    pub(super) begin_token: Option<i64>,
    pub(super) end_token: Option<i64>,
    /// Rows a second.
    pub(super) ingest_rate: u64,
    pub(super) rows_max: Option<u64>,
    pub(super) rows_skipped: u64,
    pub(super) columns_skipped: Vec<String>,
    pub(super) parse_errors_max: Option<u64>,
    pub(super) insert_errors_max: Option<u64>,
    pub(super) attempts_max: u32,
    /// The file of rows that could not be imported.
    pub(super) error_file: String,
    pub(super) ttl: Option<i32>,
    /// A file of COPY TO has no more rows; those after them go to others.
    pub(super) file_rows_max: Option<u64>,
}

/// An option that cannot be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OptionError {
    #[error("Unrecognized COPY {direction} options: {names}")]
    Unknown { direction: &'static str, names: String },
    #[error("COPY option {name}: '{value}' is not {expected}")]
    Value { name: String, value: String, expected: &'static str },
    #[error("Begin token {begin} must be smaller than end token {end}")]
    Tokens { begin: i64, end: i64 },
    #[error("COPY option configfile: cannot read {path}: {reason}")]
    ConfigFile { path: String, reason: String },
}

/// The values that were given and not taken yet.
struct Given(Vec<(String, String)>);

impl Given {
    fn take(&mut self, name: &str) -> Option<String> {
        let mut taken = None;
        self.0.retain(|(given, value)| {
            let is_it = given == name;
            if is_it {
                taken = Some(value.clone());
            }
            !is_it
        });
        taken
    }

    fn text(&mut self, name: &str, default: &str) -> String {
        self.take(name).unwrap_or_else(|| default.to_owned())
    }

    fn number<T: std::str::FromStr>(&mut self, name: &str, default: T) -> Result<T, OptionError> {
        let Some(value) = self.take(name).filter(|value| !value.is_empty()) else { return Ok(default) };
        value.parse().map_err(|_| OptionError::Value { name: name.to_owned(), value, expected: "a number" })
    }

    /// A bound of which -1 is none.
    fn bound(&mut self, name: &str, default: i64) -> Result<Option<u64>, OptionError> {
        Ok(u64::try_from(self.number(name, default)?).ok())
    }

    fn character(&mut self, name: &str, default: char) -> Result<char, OptionError> {
        let Some(value) = self.take(name) else { return Ok(default) };
        // As users write a tabulator.
        let written = if value == "\\t" { "\t".to_owned() } else { value.clone() };
        let mut characters = written.chars();
        match (characters.next(), characters.next()) {
            (Some(character), None) => Ok(character),
            _ => Err(OptionError::Value { name: name.to_owned(), value, expected: "one character" }),
        }
    }
}

impl Options {
    pub(super) fn of(keyspace: &str, table: &str, copy: &Copy, session: &Session) -> Result<Options, OptionError> {
        let way = if copy.direction == Direction::From { "from" } else { "to" };
        let sections = [
            "copy".to_owned(),
            format!("copy-{way}"),
            format!("copy:{keyspace}.{table}"),
            format!("copy-{way}:{keyspace}.{table}"),
        ];
        let (files, own): (Vec<_>, Vec<_>) = copy.options.iter().cloned().partition(|(name, _)| name == "configfile");
        let named = files.last().filter(|(_, path)| !path.is_empty()).map(|(_, path)| sections_of(path)).transpose()?;
        let file = named.as_ref().unwrap_or(&session.sections);
        let mut given = Vec::new();
        for section in &sections {
            given.extend(file.section(section).map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        given.extend(own);
        Options::read(given, copy.direction, &format!("import_{keyspace}_{table}.err"), &session.style)
    }

    /// Reads names and values, of which the last of a name counts.
    pub(super) fn read(
        given: Vec<(String, String)>,
        direction: Direction,
        error_file: &str,
        display: &Style,
    ) -> Result<Options, OptionError> {
        let mut given = Given(given);
        let (quote, escape) = (given.character("quote", '"')?, given.character("escape", '\\')?);
        let dialect = Dialect {
            delimiter: given.character("delimiter", ',')?,
            quote,
            escape: (quote != escape).then_some(escape),
        };
        let booleans = given.text("boolstyle", "True,False");
        let style = Style {
            is_coloured: false,
            null: given.text("null", ""),
            time_format: given.text("datetimeformat", &display.time_format),
            has_millis: true,
            float_precision: given.number("floatprecision", 5)?,
            double_precision: given.number("doubleprecision", 12)?,
            decimal_separator: given.text("decimalsep", "."),
            thousands_separator: given.text("thousandssep", ""),
            booleans: two(&booleans).ok_or_else(|| OptionError::Value {
                name: "boolstyle".to_owned(),
                value: booleans.clone(),
                expected: "two different words with a comma between them",
            })?,
            is_raw: true,
        };
        let encoding = given.text("encoding", "utf8");
        if !matches!(encoding.to_ascii_lowercase().as_str(), "utf8" | "utf-8") {
            return Err(OptionError::Value { name: "encoding".to_owned(), value: encoding, expected: "utf8" });
        }
        let token = |given: &mut Given, name: &str| -> Result<Option<i64>, OptionError> {
            let Some(value) = given.take(name).filter(|value| !value.is_empty()) else { return Ok(None) };
            let expected = "a token";
            value.parse().map(Some).map_err(|_| OptionError::Value { name: name.to_owned(), value, expected })
        };
        let options = Options {
            dialect,
            has_header: given.text("header", "false").eq_ignore_ascii_case("true"),
            style,
            page_rows: given.number("pagesize", 1000)?,
            begin_token: token(&mut given, "begintoken")?,
            end_token: token(&mut given, "endtoken")?,
            ingest_rate: given.number("ingestrate", 100_000)?,
            rows_max: given.bound("maxrows", -1)?,
            rows_skipped: given.number("skiprows", 0)?,
            columns_skipped: given
                .text("skipcols", "")
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            parse_errors_max: given.bound("maxparseerrors", -1)?,
            insert_errors_max: given.bound("maxinserterrors", 1000)?,
            attempts_max: given.number("maxattempts", 5)?,
            error_file: given.text("errfile", error_file),
            file_rows_max: given.bound("maxoutputsize", -1)?.filter(|rows| *rows > 0),
            ttl: i32::try_from(given.number("ttl", -1_i64)?).ok().filter(|ttl| *ttl >= 0),
        };
        let name = if direction == Direction::From { "FROM" } else { "TO" };
        for ignored in IGNORED {
            given.take(ignored);
        }
        if let (Some(begin), Some(end)) = (options.begin_token, options.end_token)
            && begin > end
        {
            return Err(OptionError::Tokens { begin, end });
        }
        match given.0.is_empty() {
            true => Ok(options),
            false => {
                let names = given.0.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
                Err(OptionError::Unknown { direction: name, names })
            }
        }
    }
}

/// The sections of a file that the command names.
fn sections_of(path: &str) -> Result<Sections, OptionError> {
    match files::bytes(&files::expanded(Path::new(path)), files::SETTINGS_BYTES_MAX) {
        Ok(bytes) => Ok(Sections::parse(&String::from_utf8_lossy(&bytes))),
        Err(error) => Err(OptionError::ConfigFile { path: path.to_owned(), reason: error.to_string() }),
    }
}

fn two(styles: &str) -> Option<(String, String)> {
    let (yes, no) = styles.split_once(',')?;
    let (yes, no) = (yes.trim(), no.trim());
    (!yes.is_empty() && !no.is_empty() && yes != no && !no.contains(',')).then(|| (yes.to_owned(), no.to_owned()))
}
