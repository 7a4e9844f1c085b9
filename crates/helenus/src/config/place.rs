//! A key of a configuration file with its place, and the values that may stand there.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use super::units::{self, Unit};
use super::yaml::{Entry, Node};
use super::{ConfigError, address, keys, suggest};

/// Where a key stands, for messages; `key` as the file spells it.
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) key: String,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}: {}", self.file, self.line, self.key)
    }
}

impl Place<'_> {
    /// Gives an old name its present one (and its bare number the unit the old name stood for), and refuses unknown names.
    pub(super) fn present_name(&self, mut entry: Entry) -> Result<Entry, ConfigError> {
        if let Some((present, unit)) = keys::renamed(&entry.key) {
            present.clone_into(&mut entry.key);
            if let (Node::Text(text), Some(unit)) = (&mut entry.value, unit) {
                add_unit(text, unit);
            }
        } else if !keys::is_known(&entry.key) {
            let nearest = suggest::nearest(&entry.key, keys::names()).map(str::to_owned);
            return Err(ConfigError::UnknownKey {
                file: self.file.to_owned(),
                line: self.line,
                key: entry.key,
                suggestion: nearest.map_or_else(String::new, |key| format!("; did you mean '{key}'?")),
            });
        }
        Ok(entry)
    }

    pub(super) fn wrong(&self, reason: impl ToString) -> ConfigError {
        ConfigError::FileValue {
            file: self.file.to_owned(),
            line: self.line,
            key: self.key.clone(),
            reason: reason.to_string(),
        }
    }

    pub(super) fn text<'n>(&self, node: &'n Node) -> Result<&'n str, ConfigError> {
        match node {
            Node::Text(text) => Ok(text),
            _ => Err(self.wrong("expected a single value")),
        }
    }

    pub(super) fn number<T: std::str::FromStr>(&self, node: &Node) -> Result<T, ConfigError> {
        let text = self.text(node)?;
        text.parse().map_err(|_| self.wrong(format!("'{text}' is not a whole number in range")))
    }

    pub(super) fn size(&self, node: &Node) -> Result<u64, ConfigError> {
        units::size(self.text(node)?).map_err(|error| self.wrong(error))
    }

    pub(super) fn rate(&self, node: &Node) -> Result<u64, ConfigError> {
        units::rate(self.text(node)?).map_err(|error| self.wrong(error))
    }

    /// A rate of which a bare number is megabits, as it was under the key's old name.
    pub(super) fn stream_rate(&self, node: &Node) -> Result<u64, ConfigError> {
        units::stream_rate(self.text(node)?).map_err(|error| self.wrong(error))
    }

    pub(super) fn flag(&self, node: &Node) -> Result<bool, ConfigError> {
        match self.text(node)? {
            "true" => Ok(true),
            "false" => Ok(false),
            text => Err(self.wrong(format!("'{text}' is neither true nor false"))),
        }
    }

    pub(super) fn duration(&self, node: &Node) -> Result<Duration, ConfigError> {
        units::duration(self.text(node)?).map_err(|error| self.wrong(error))
    }

    /// A duration in units of which milliseconds are the least.
    pub(super) fn whole_milliseconds(&self, node: &Node) -> Result<Duration, ConfigError> {
        units::whole_milliseconds(self.text(node)?).map_err(|error| self.wrong(error))
    }

    pub(super) fn address(&self, node: &Node) -> Result<IpAddr, ConfigError> {
        address::parse(self.text(node)?).map_err(|error| self.wrong(error))
    }

    /// The class of `authenticator: X` or `authenticator: {class_name: X}`, without its Java package.
    pub(super) fn class<'n>(&self, node: &'n Node) -> Result<&'n str, ConfigError> {
        let named = match node {
            Node::Map(entries) => {
                entries.iter().find(|(key, _)| key == "class_name").map_or(&Node::Nothing, |(_, node)| node)
            }
            other => other,
        };
        let class = self.text(named)?;
        Ok(class.rsplit('.').next().unwrap_or(class))
    }

    /// Security that was asked for and is not there must stop the start: running open instead would be a trap.
    pub(super) fn must_be_class(&self, node: &Node, only: &str) -> Result<(), ConfigError> {
        match self.class(node)? {
            class if class == only => Ok(()),
            class => Err(self.wrong(format!("{class} is not supported yet, only {only}"))),
        }
    }
}

/// Adds to a bare number the unit its old key name stood for. Values with a unit are left: Cassandra takes both.
fn add_unit(text: &mut String, unit: Unit) {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.push_str(unit.suffix());
    }
}

/// The parameters of a class: a mapping, or a list with one, as of Cassandra's ParameterizedClass; none where the class alone is named. `None`: they are neither.
pub(super) fn class_parameters(value: &Node) -> Option<&[(String, Node)]> {
    let Node::Map(entries) = value else { return Some(&[]) };
    let parameters = entries.iter().find(|(key, _)| key == "parameters").map(|(_, value)| value);
    let parameters = match parameters {
        Some(Node::List(list)) => list.first(),
        other => other,
    };
    match parameters {
        None | Some(Node::Nothing) => Some(&[]),
        Some(Node::Map(entries)) => Some(entries),
        Some(_) => None,
    }
}
