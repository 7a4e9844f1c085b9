//! `audit_logging_options`: the options of the audit log, with Cassandra's names and defaults.

use std::path::Path;

use ::audit::Options;

use super::ConfigError;
use super::place::Place;
use super::yaml::Node;

/// The folder of the files in the data folder, if none is named.
const DIR: &str = "audit";

/// The options that the file gives, each checked.
#[derive(Debug, Default)]
pub struct AuditSettings(Vec<(String, String)>);

impl AuditSettings {
    /// Reads the mapping.
    pub(super) fn read(place: &Place<'_>, node: &Node) -> Result<AuditSettings, ConfigError> {
        let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping")) };
        let mut checked = Options::new(DIR.into());
        let mut given = Vec::new();
        for (name, value) in entries.iter().filter(|(_, value)| *value != Node::Nothing) {
            let text = match (name.as_str(), value) {
                // A list of one class, as Cassandra writes it.
                ("logger", Node::List(classes)) => match classes.as_slice() {
                    [class] => place.class(class)?,
                    _ => return Err(place.wrong("logger: expected one class")),
                },
                ("logger", class) => place.class(class)?,
                (_, value) => place.text(value)?,
            };
            checked.set(name, text).map_err(|error| place.wrong(error))?;
            given.push((name.clone(), text.to_owned()));
        }
        Ok(AuditSettings(given))
    }

    /// Fills the gaps.
    pub(super) fn complete(self, data_dir: &Path) -> Options {
        let mut options = Options::new(data_dir.join(DIR));
        for (name, value) in &self.0 {
            // Checked when they were read.
            let _ = options.set(name, value);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use crate::config::encryption::testing::config_of;

    #[test]
    fn the_options_are_cassandras_and_the_log_is_off_until_it_is_enabled() {
        let audit = config_of("cluster_name: x\n").expect("it is right").audit;
        assert!(!audit.enabled && audit.block && audit.dir.ends_with("audit"));
        let file = "audit_logging_options:\n  enabled: true\n  logger:\n    - class_name: BinAuditLogger\n  audit_logs_dir: /var/log/helenus/audit\n  \
                    included_keyspaces:\n  excluded_keyspaces: system\n  included_categories: DML,QUERY\n  roll_cycle: DAILY\n  block: false\n  \
                    max_queue_weight: 1000\n  max_log_size: 20000\n  max_archive_retries: 10\n";
        let audit = config_of(file).expect("it is right").audit;
        assert!(audit.enabled && !audit.block && audit.keyspaces.passes("system_schema"));
        assert_eq!(audit.dir.to_str(), Some("/var/log/helenus/audit"));
        assert_eq!((audit.max_queue_weight, audit.max_log_size), (1000, 20_000));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        for (line, expected) in [
            ("enabeld: true", "enabeld"),
            ("included_categories: DML,JMX", "JMX"),
            ("roll_cycle: NEVER", "HOURLY"),
            ("archive_command: /bin/x", "not supported"),
            ("logger: com.example.Mine", "BinAuditLogger"),
            ("max_log_size: 1GiB", "max_log_size"),
        ] {
            let error =
                config_of(&format!("audit_logging_options:\n  {line}\n")).map(|_| ()).expect_err("it is refused");
            assert!(error.contains(expected) && error.contains("audit_logging_options"), "{error}");
        }
    }
}
