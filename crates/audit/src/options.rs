//! Settings of the audit log, by Cassandra's names (`audit_logging_options`), and the filters that they make.

use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::kind::{Categories, Category};

/// The loggers of Cassandra that are accepted; all mean the one that there is.
const LOGGERS: [&str; 2] = ["BinAuditLogger", "FileAuditLogger"];
/// The least room for files: one file has an eighth of it.
const LOG_SIZE_MIN: u64 = 16 << 10;
/// The categories where none is named: what changes rights and schema, and what fails.
const CATEGORIES: [Category; 4] = [Category::Auth, Category::Dcl, Category::Ddl, Category::Error];
/// The most bytes of one file.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The least part of `max_log_size` that a file may have.
const FILE_PART: u64 = 8;

/// Why an option is refused.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum OptionError {
    /// There is no such option.
    #[error("{name} is not an option of the audit log")]
    Unknown {
        /// The name.
        name: String,
    },
    /// The value is not one that the option may have.
    #[error("{name}: '{value}' {reason}")]
    Value {
        /// The option.
        name: &'static str,
        /// Its value.
        value: String,
        /// The rest of the sentence.
        reason: String,
    },
}

/// Names that are audited: the included ones, or all if there are none, but for the excluded ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Those that are audited; none: all.
    pub included: Vec<String>,
    /// Those that are not, whatever the others say.
    pub excluded: Vec<String>,
}

impl Names {
    /// True if entries of this name are written.
    pub fn passes(&self, name: &str) -> bool {
        let has = |names: &[String]| names.iter().any(|one| one == name);
        !has(&self.excluded) && (self.included.is_empty() || has(&self.included))
    }
}

/// How often a file gives way to a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollCycle {
    name: &'static str,
    minutes: i64,
}

impl RollCycle {
    /// Chronicle's cycles by their times. A size that it has in some names (`LARGE_DAILY`) means nothing here.
    const ALL: [RollCycle; 11] = [
        RollCycle { name: "MINUTELY", minutes: 1 },
        RollCycle { name: "FIVE_MINUTELY", minutes: 5 },
        RollCycle { name: "TEN_MINUTELY", minutes: 10 },
        RollCycle { name: "TWENTY_MINUTELY", minutes: 20 },
        RollCycle { name: "HALF_HOURLY", minutes: 30 },
        RollCycle { name: "HOURLY", minutes: 60 },
        RollCycle { name: "TWO_HOURLY", minutes: 120 },
        RollCycle { name: "FOUR_HOURLY", minutes: 240 },
        RollCycle { name: "SIX_HOURLY", minutes: 360 },
        RollCycle { name: "DAILY", minutes: 1440 },
        RollCycle { name: "WEEKLY", minutes: 10_080 },
    ];
    const SIZES: [&str; 6] = ["FAST_", "SMALL_", "LARGE_", "XLARGE_", "HUGE_", "XSMALL_"];

    /// The cycle with this name, in letters of either case.
    pub fn named(name: &str) -> Option<RollCycle> {
        let name = name.to_ascii_uppercase();
        let time = RollCycle::SIZES.iter().find_map(|size| name.strip_prefix(size)).unwrap_or(&name);
        RollCycle::ALL.into_iter().find(|cycle| cycle.name == time)
    }

    /// The number of the period that a moment is in, milliseconds since 1970.
    pub(crate) fn period(self, ms: i64) -> i64 {
        ms.div_euclid(self.minutes * 60_000)
    }
}

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// True if the node audits from its start on.
    pub enabled: bool,
    /// The folder of the files.
    pub dir: PathBuf,
    /// How often files roll.
    pub roll_cycle: RollCycle,
    /// True: a connection whose entry fills the queue is not read until there is room. False: entries that find it full are dropped.
    pub block: bool,
    /// Bytes that wait to be written, and are being written.
    pub max_queue_weight: u64,
    /// Bytes of all files together.
    pub max_log_size: u64,
    /// Keyspaces.
    pub keyspaces: Names,
    /// Names of categories.
    pub categories: Names,
    /// Users.
    pub users: Names,
    logger: String,
}

impl Options {
    /// The defaults, which are off, with files in this folder.
    pub fn new(dir: PathBuf) -> Options {
        let excluded = ["system", "system_schema", "system_virtual_schema"].map(str::to_owned).to_vec();
        Options {
            enabled: false,
            dir,
            roll_cycle: RollCycle { name: "HOURLY", minutes: 60 },
            block: true,
            max_queue_weight: 256 << 20,
            max_log_size: 16 << 30,
            keyspaces: Names { included: Vec::new(), excluded },
            categories: Names::default(),
            users: Names::default(),
            logger: LOGGERS[0].to_owned(),
        }
    }

    /// Sets one option.
    ///
    /// # Errors
    /// If there is none of this name, or it may not have this value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "enabled" => self.enabled = flag("enabled", value)?,
            "logger" => self.logger = logger(value)?,
            "audit_logs_dir" => self.dir = PathBuf::from(value),
            "roll_cycle" => {
                let cycle = RollCycle::named(value);
                let names = RollCycle::ALL.map(|cycle| cycle.name).join(", ");
                self.roll_cycle = cycle.ok_or_else(|| wrong("roll_cycle", value, format!("is none of {names}")))?;
            }
            "block" => self.block = flag("block", value)?,
            "max_queue_weight" => self.max_queue_weight = at_least("max_queue_weight", value, 1)?,
            "max_log_size" => self.max_log_size = at_least("max_log_size", value, LOG_SIZE_MIN)?,
            "included_keyspaces" => self.keyspaces.included = names(value),
            "excluded_keyspaces" => self.keyspaces.excluded = names(value),
            "included_categories" => self.categories.included = categories("included_categories", value)?,
            "excluded_categories" => self.categories.excluded = categories("excluded_categories", value)?,
            "included_users" => self.users.included = names(value),
            "excluded_users" => self.users.excluded = names(value),
            "archive_command" if !value.trim().is_empty() => {
                return Err(wrong(
                    "archive_command",
                    value,
                    "is not supported: copy the files that are not the newest",
                ));
            }
            "allow_nodetool_archive_command" if flag("allow_nodetool_archive_command", value)? => {
                return Err(wrong("allow_nodetool_archive_command", value, "is not supported, only false"));
            }
            // There are no commands to repeat, and a line is JSON.
            "archive_command"
            | "allow_nodetool_archive_command"
            | "max_archive_retries"
            | "key_value_separator"
            | "field_separator" => {}
            _ => return Err(OptionError::Unknown { name: name.to_owned() }),
        }
        Ok(())
    }

    /// The options as `nodetool getauditlog` shows them, in its order.
    pub fn shown(&self) -> Vec<(&'static str, String)> {
        vec![
            ("logger", self.logger.clone()),
            ("audit_logs_dir", self.dir.display().to_string()),
            ("archive_command", String::new()),
            ("roll_cycle", self.roll_cycle.name.to_owned()),
            ("block", self.block.to_string()),
            ("max_log_size", self.max_log_size.to_string()),
            ("max_queue_weight", self.max_queue_weight.to_string()),
            ("max_archive_retries", "10".to_owned()),
            ("included_keyspaces", self.keyspaces.included.join(",")),
            ("excluded_keyspaces", self.keyspaces.excluded.join(",")),
            ("included_categories", self.categories.included.join(",")),
            ("excluded_categories", self.categories.excluded.join(",")),
            ("included_users", self.users.included.join(",")),
            ("excluded_users", self.users.excluded.join(",")),
        ]
    }

    /// The categories that are audited.
    pub fn audited(&self) -> Categories {
        let Names { included, excluded } = &self.categories;
        if included.is_empty() && excluded.is_empty() {
            return Categories::of(CATEGORIES);
        }
        Categories::of(Category::ALL.into_iter().filter(|category| self.categories.passes(category.name())))
    }

    /// Bytes after which a file rolls.
    pub(crate) fn file_bytes_max(&self) -> u64 {
        (self.max_log_size / FILE_PART).min(FILE_BYTES_MAX)
    }
}

fn wrong(name: &'static str, value: &str, reason: impl Into<String>) -> OptionError {
    OptionError::Value { name, value: value.to_owned(), reason: reason.into() }
}

fn flag(name: &'static str, value: &str) -> Result<bool, OptionError> {
    match value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(wrong(name, value, "is neither true nor false")),
    }
}

fn at_least(name: &'static str, value: &str, least: u64) -> Result<u64, OptionError> {
    let number = u64::from_str(value).ok().filter(|number| *number >= least);
    number.ok_or_else(|| wrong(name, value, format!("is not a number of bytes from {least} on")))
}

/// Names with commas between them.
fn names(value: &str) -> Vec<String> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn categories(name: &'static str, value: &str) -> Result<Vec<String>, OptionError> {
    let all = Category::ALL.map(Category::name).join(", ");
    let category = |given: String| {
        let known = Category::named(&given).map(|category| category.name().to_owned());
        known.ok_or_else(|| wrong(name, &given, format!("is not a category: {all}")))
    };
    names(value).into_iter().map(category).collect()
}

fn logger(value: &str) -> Result<String, OptionError> {
    let class = value.trim().rsplit('.').next().unwrap_or_default();
    match LOGGERS.contains(&class) {
        true => Ok(class.to_owned()),
        false => Err(wrong("logger", value, format!("is not supported, only {}", LOGGERS.join(" and ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(set: &[(&str, &str)]) -> Options {
        let mut options = Options::new(PathBuf::from("audit"));
        set.iter().for_each(|(name, value)| options.set(name, value).expect("it is right"));
        options
    }

    #[test]
    fn categories_are_the_named_ones_or_those_of_rights_schema_and_failures() {
        let audited = |set: &[(&str, &str)]| {
            let audited = options(set).audited();
            let names = Category::ALL.into_iter().filter(|category| audited.contains(*category)).map(Category::name);
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(audited(&[]), "DDL DCL AUTH ERROR");
        assert_eq!(audited(&[("included_categories", "query, Dml,")]), "QUERY DML");
        assert_eq!(audited(&[("excluded_categories", "QUERY,DML,DDL")]), "DCL AUTH ERROR PREPARE OTHER");
        assert_eq!(audited(&[("included_categories", "QUERY,DML"), ("excluded_categories", "DML")]), "QUERY");
    }

    #[test]
    fn what_is_excluded_is_not_audited_whatever_is_included() {
        let names = options(&[("included_users", "ada, bob"), ("excluded_users", "bob")]).users;
        assert!(names.passes("ada") && !names.passes("bob") && !names.passes("eve") && !names.passes("Ada"));
        let keyspaces = options(&[]).keyspaces;
        assert!(keyspaces.passes("shop") && !keyspaces.passes("system") && keyspaces.passes("system_auth"));
    }

    #[test]
    fn values_that_mean_nothing_are_refused() {
        for (name, value) in [
            ("included_categories", "JMX"),
            ("roll_cycle", "NEVER"),
            ("block", "maybe"),
            ("max_queue_weight", "0"),
            ("max_log_size", "100"),
            ("logger", "NoOpAuditLogger"),
            ("archive_command", "/bin/x %path"),
            ("audit_dir", "x"),
        ] {
            let error = options(&[]).set(name, value).expect_err("it is wrong");
            assert!(error.to_string().contains(name), "{error}");
        }
        let accepted = options(&[
            ("logger", "org.apache.cassandra.audit.FileAuditLogger"),
            ("roll_cycle", "large_daily"),
            ("archive_command", ""),
            ("max_archive_retries", "3"),
        ]);
        assert_eq!(accepted.roll_cycle.name, "DAILY");
        assert_eq!(accepted.shown()[0].1, "FileAuditLogger");
    }

    #[test]
    fn periods_are_of_the_clock() {
        let hourly = RollCycle::named("HOURLY").expect("it is one");
        assert_eq!(hourly.period(3_599_999), 0);
        assert_eq!(hourly.period(3_600_000), 1);
        assert_eq!(hourly.period(-1), -1);
    }
}
