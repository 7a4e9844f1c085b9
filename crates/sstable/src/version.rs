//! Versions of the format: two letters in every file's name, which say what is in the components.

use std::fmt;

/// How partitions are found: by a sorted index with a summary, or by tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `big`: Index.db and Summary.db.
    Big,
    /// `bti`: Partitions.db and Rows.db.
    Bti,
}

impl Format {
    /// Its name in a file's name.
    pub fn name(self) -> &'static str {
        match self {
            Format::Big => "big",
            Format::Bti => "bti",
        }
    }
}

/// A version that can be read. Later ones compare greater within a format. (Source: Cassandra's `BigFormat` and
/// `BtiFormat`, whose comments list what each version brought.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version([u8; 2]);

impl Version {
    /// What is written: Cassandra 5.0's trie-indexed files.
    pub const DA: Version = Version(*b"da");
    /// Cassandra 5.0's files with a sorted index.
    pub const OA: Version = Version(*b"oa");
    /// The first of Cassandra 4.0's.
    pub const NA: Version = Version(*b"na");
    /// Cassandra 4.0's.
    pub const NB: Version = Version(*b"nb");
    /// All that can be read, oldest first.
    pub const READ: [Version; 9] = [
        Version(*b"ma"),
        Version(*b"mb"),
        Version(*b"mc"),
        Version(*b"md"),
        Version(*b"me"),
        Version::NA,
        Version::NB,
        Version::OA,
        Version::DA,
    ];

    /// The version of that name; `None`: it cannot be read.
    pub fn parse(name: &str) -> Option<Version> {
        Self::READ.into_iter().find(|version| version.name() == name)
    }

    /// Its two letters.
    pub fn name(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a version's name is two letters")
    }

    /// How partitions are found in files of this version.
    pub fn format(self) -> Format {
        if self == Version::DA { Format::Bti } else { Format::Big }
    }

    /// Whether it is this version of 3.x, 4.x or 5.x or a later one. `da`'s components are as those of `oa`.
    pub(crate) fn is_from(self, first: &[u8; 2]) -> bool {
        let comparable = if self == Version::DA { Version::OA } else { self };
        comparable.0 >= *first
    }

    /// Whether a partition that is not deleted says so with one byte, and local deletion times are unsigned.
    pub(crate) fn has_marked_live_partitions(self) -> bool {
        self.is_from(b"oa")
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
