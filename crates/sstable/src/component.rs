//! Names: which file is which component of which SSTable.

use std::fmt;

use crate::version::{Format, Version};

/// A part of an SSTable, a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The partitions, compressed or not.
    Data,
    /// `bti`: the trie of partition keys.
    Partitions,
    /// `bti`: the tries of rows of wide partitions.
    Rows,
    /// `big`: the sorted index of partition keys.
    Index,
    /// `big`: a sample of the index.
    Summary,
    /// The Bloom filter of partition keys.
    Filter,
    /// Where compressed chunks begin, and how they are compressed.
    CompressionInfo,
    /// Checksums of the chunks of uncompressed data.
    Crc,
    /// Counts, bounds, histograms, the serialization header.
    Statistics,
    /// The checksum of the whole data file.
    Digest,
    /// The list of components.
    Toc,
    /// Ours: checksums of the indexes, who wrote it and what of the log it holds.
    Helenus,
}

impl Component {
    /// All of them.
    pub const ALL: [Component; 12] = [
        Component::Data,
        Component::Partitions,
        Component::Rows,
        Component::Index,
        Component::Summary,
        Component::Filter,
        Component::CompressionInfo,
        Component::Crc,
        Component::Statistics,
        Component::Digest,
        Component::Toc,
        Component::Helenus,
    ];

    /// The end of its file's name, which TOC.txt lists.
    pub fn name(self) -> &'static str {
        match self {
            Component::Data => "Data.db",
            Component::Partitions => "Partitions.db",
            Component::Rows => "Rows.db",
            Component::Index => "Index.db",
            Component::Summary => "Summary.db",
            Component::Filter => "Filter.db",
            Component::CompressionInfo => "CompressionInfo.db",
            Component::Crc => "CRC.db",
            Component::Statistics => "Statistics.db",
            Component::Digest => "Digest.crc32",
            Component::Toc => "TOC.txt",
            Component::Helenus => "Helenus.db",
        }
    }

    /// The component of that name.
    pub fn parse(name: &str) -> Option<Component> {
        Self::ALL.into_iter().find(|component| component.name() == name)
    }
}

/// What tells SSTables of one table and version apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// A number, as all versions have it unless told otherwise.
    Number(u64),
    /// A time-based UUID in Cassandra's short form (`3gw5_0lzc_1cb5c2ghfzwy2irqxx`), as it stands in the name.
    Unique(String),
}

impl Generation {
    fn parse(text: &str) -> Option<Generation> {
        let is_made_of = |allowed: fn(u8) -> bool| !text.is_empty() && text.bytes().all(allowed);
        if is_made_of(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().map(Generation::Number);
        }
        let is_unique = is_made_of(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        is_unique.then(|| Generation::Unique(text.to_owned()))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Generation::Number(number) => write!(f, "{number}"),
            Generation::Unique(name) => f.write_str(name),
        }
    }
}

/// Which SSTable of a table's folder it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Descriptor {
    /// The format's version.
    pub version: Version,
    /// Which one of that version.
    pub generation: Generation,
}

impl Descriptor {
    /// The name of one of its files: `da-3gw5_0lzc_1cb5c2ghfzwy2irqxx-bti-Data.db`.
    pub fn file_name(&self, component: Component) -> String {
        format!("{self}-{}", component.name())
    }

    /// The SSTable and the component that a file's name speaks of; `None`: it is no file of an SSTable that can be read.
    pub fn parse(file_name: &str) -> Option<(Descriptor, Component)> {
        let mut parts = file_name.splitn(4, '-');
        let version = Version::parse(parts.next()?)?;
        let generation = Generation::parse(parts.next()?)?;
        let format = parts.next()?;
        let component = Component::parse(parts.next()?)?;
        (format == version.format().name()).then_some((Descriptor { version, generation }, component))
    }

    /// True if the name is that of an SSTable's data in a version or format that cannot be read: `la-1-big-Data.db`, `ks-t-ka-1-Data.db`.
    pub fn is_unreadable_data(file_name: &str) -> bool {
        let is_data = file_name.strip_suffix(Component::Data.name()).is_some_and(|before| before.ends_with('-'));
        is_data && Descriptor::parse(file_name).is_none()
    }

    /// How partitions are found in it.
    pub fn format(&self) -> Format {
        self.version.format()
    }
}

impl fmt::Display for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.version, self.generation, self.format().name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for name in [
            "da-3gw5_0lzc_1cb5c2ghfzwy2irqxx-bti-Data.db",
            "nb-12-big-CompressionInfo.db",
            "me-1-big-Summary.db",
            "oa-7-big-Digest.crc32",
        ] {
            let (descriptor, component) = Descriptor::parse(name).expect(name);
            assert_eq!(descriptor.file_name(component), name);
        }
    }

    #[test]
    fn data_of_other_versions_is_known_as_such() {
        for name in ["la-1-big-Data.db", "ks-t-ka-1-Data.db", "da-1-big-Data.db", "ms-3-big-Data.db"] {
            assert!(Descriptor::is_unreadable_data(name), "{name}");
        }
        for name in ["nb-1-big-Data.db", "la-1-big-Index.db", "Data.db", "notes.txt"] {
            assert!(!Descriptor::is_unreadable_data(name), "{name}");
        }
    }

    #[test]
    fn other_names_are_no_sstables() {
        for name in [
            "da-1-big-Data.db",
            "nb-1-bti-Data.db",
            "zz-1-big-Data.db",
            "nb-x!-big-Data.db",
            "nb-1-big-Other.db",
            "manifest.json",
            "nb--big-Data.db",
        ] {
            assert_eq!(Descriptor::parse(name), None, "{name}");
        }
    }
}
