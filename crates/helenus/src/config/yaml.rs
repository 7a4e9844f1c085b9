//! A configuration file as a list of keys, each with its line and a value of any shape.
//!
//! Values are taken without a schema first, so that a key that Helenus does not act on may hold whatever the server it was
//! written for wants there.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A value of a configuration file.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing after the colon, or `null`.
    Nothing,
    /// A scalar, as text: `32MiB`, `9042`, `true`.
    Text(String),
    /// A sequence.
    List(Vec<Node>),
    /// A nested mapping.
    Map(Vec<(String, Node)>),
}

/// One key of the file's top level.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Line in the file, from 1.
    pub line: u64,
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Node,
}

/// Reads the text of a file. The error is the reader's own sentence, with line and column.
pub fn parse(text: &str) -> Result<Vec<Entry>, String> {
    // A file in which everything is commented out has no document at all, which is as good as an empty mapping.
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Vec::new());
    }
    match serde_saphyr::from_str::<Option<Entries>>(text) {
        Ok(entries) => Ok(entries.map_or_else(Vec::new, |entries| entries.0)),
        // The reader adds a drawing of the place; one line is enough here.
        Err(error) => Err(error.to_string().lines().next().unwrap_or("not YAML").to_owned()),
    }
}

struct Entries(Vec<Entry>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of configuration keys")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<Spanned<String>, Node>()? {
                    entries.push(Entry { line: key.referenced.line(), key: key.value, value });
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeVisitor;
        impl<'de> Visitor<'de> for NodeVisitor {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
                Ok(Node::Text(value.to_string()))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
                Ok(Node::Text(value.to_string()))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
                Ok(Node::Text(value.to_string()))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
                Ok(Node::Text(value.to_string()))
            }
            fn visit_str<E>(self, value: &str) -> Result<Node, E> {
                Ok(Node::Text(value.to_owned()))
            }
            fn visit_unit<E>(self) -> Result<Node, E> {
                Ok(Node::Nothing)
            }
            fn visit_none<E>(self) -> Result<Node, E> {
                Ok(Node::Nothing)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
                Node::deserialize(deserializer)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
                let mut list = Vec::new();
                while let Some(node) = seq.next_element()? {
                    list.push(node);
                }
                Ok(Node::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Node::Map(entries))
            }
        }
        deserializer.deserialize_any(NodeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> Node {
        Node::Text(value.to_owned())
    }

    #[test]
    fn shapes_of_values() {
        let file = "# a comment\ncluster_name: 'Test Cluster'\nport: 9042\non: true\nnone:\nlist:\n  - a\n  - 2\n\
                    nested:\n  class_name: X\n  parameters:\n    - seeds: \"127.0.0.1\"\nratio: 0.5\nsize: 32MiB\n";
        let entries = parse(file).unwrap();
        let of =
            |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| (entry.line, entry.value.clone()));
        assert_eq!(of("cluster_name"), Some((2, text("Test Cluster"))));
        assert_eq!(of("port"), Some((3, text("9042"))));
        assert_eq!(of("on"), Some((4, text("true"))));
        assert_eq!(of("none"), Some((5, Node::Nothing)));
        assert_eq!(of("list"), Some((6, Node::List(vec![text("a"), text("2")]))));
        assert_eq!(of("ratio"), Some((13, text("0.5"))));
        assert_eq!(of("size"), Some((14, text("32MiB"))));
        assert!(matches!(of("nested"), Some((9, Node::Map(_)))));
    }

    #[test]
    fn empty_files() {
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("# only\n\n# comments\n"), Ok(vec![]));
    }

    #[test]
    fn not_yaml() {
        assert!(parse("a: [1, 2").is_err());
        assert!(parse("- just\n- a list\n").is_err());
        assert!(parse("a: 1\na: 2\n").is_err(), "a key given twice is a mistake");
    }
}
