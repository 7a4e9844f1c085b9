//! The properties of a WITH clause, as read from a statement and not yet understood. Whoever understands one takes it;
//! what is left at the end is unknown.

use std::collections::BTreeMap;

use crate::error::SchemaError;

/// A property's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyValue {
    /// A literal's text, without quotes.
    Text(String),
    /// A map of literals' texts.
    Map(BTreeMap<String, String>),
}

/// Properties by name, each at most once.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    entries: BTreeMap<String, PropertyValue>,
}

impl Properties {
    /// Adds a property; a second one of the same name is an error.
    pub fn add(&mut self, name: &str, value: PropertyValue) -> Result<(), SchemaError> {
        match self.entries.insert(name.to_owned(), value) {
            None => Ok(()),
            Some(_) => Err(SchemaError::syntax(format!("Multiple definitions for property '{name}'"))),
        }
    }

    /// Whether a property is given and was not taken out.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// True if a property is given, as a map.
    pub fn is_map(&self, name: &str) -> bool {
        matches!(self.entries.get(name), Some(PropertyValue::Map(_)))
    }

    /// Takes a property out, whatever its value.
    pub fn take(&mut self, name: &str) -> Option<PropertyValue> {
        self.entries.remove(name)
    }

    /// Takes a text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, SchemaError> {
        match self.entries.remove(name) {
            None => Ok(None),
            Some(PropertyValue::Text(text)) => Ok(Some(text)),
            Some(PropertyValue::Map(_)) => {
                Err(SchemaError::syntax(format!("Invalid value for property '{name}'. It should be a string")))
            }
        }
    }

    /// Takes a map.
    pub fn map(&mut self, name: &str) -> Result<Option<BTreeMap<String, String>>, SchemaError> {
        match self.entries.remove(name) {
            None => Ok(None),
            Some(PropertyValue::Map(map)) => Ok(Some(map)),
            Some(PropertyValue::Text(_)) => {
                Err(SchemaError::syntax(format!("Invalid value for property '{name}'. It should be a map.")))
            }
        }
    }

    /// Takes a boolean in any of the words that Cassandra knows for it.
    pub fn boolean(&mut self, name: &str) -> Result<Option<bool>, SchemaError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" => Ok(Some(true)),
            "0" | "false" | "no" => Ok(Some(false)),
            _ => Err(SchemaError::syntax(format!(
                "Invalid boolean value {text} for '{name}'. Positive values can be '1', 'true' or 'yes'. \
                 Negative values can be '0', 'false' or 'no'."
            ))),
        }
    }

    /// Takes a 32-bit integer.
    pub fn int(&mut self, name: &str) -> Result<Option<i32>, SchemaError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let value =
            text.parse().map_err(|_| SchemaError::syntax(format!("Invalid integer value {text} for '{name}'")))?;
        Ok(Some(value))
    }

    /// Takes a double.
    pub fn double(&mut self, name: &str) -> Result<Option<f64>, SchemaError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.trim().parse::<f64>() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(SchemaError::syntax(format!("Invalid double value {text} for '{name}'"))),
        }
    }

    /// That nothing is left.
    pub fn finish(self) -> Result<(), SchemaError> {
        match self.entries.keys().next() {
            None => Ok(()),
            Some(name) => Err(SchemaError::syntax(format!("Unknown property '{name}'"))),
        }
    }
}
