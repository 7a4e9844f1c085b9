//! DESCRIBE.

/// `DESCRIBE …` or `DESC …`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Describe {
    /// What.
    pub target: DescribeTarget,
    /// WITH INTERNALS.
    pub with_internals: bool,
}

/// A kind of schema element that DESCRIBE lists or shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescribeKind {
    /// A keyspace.
    Keyspace,
    /// A table.
    Table,
    /// A user-defined type.
    Type,
    /// A function.
    Function,
    /// An aggregate.
    Aggregate,
    /// An index.
    Index,
    /// A materialized view.
    MaterializedView,
}

/// What DESCRIBE shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DescribeTarget {
    /// CLUSTER.
    Cluster,
    /// SCHEMA, or FULL SCHEMA with the system's keyspaces.
    Schema {
        /// FULL.
        full: bool,
    },
    /// KEYSPACES, TABLES, TYPES, FUNCTIONS, AGGREGATES: names only. (`INDEX` and views have no list.)
    List(DescribeKind),
    /// ONLY KEYSPACE.
    OnlyKeyspace(Option<String>),
    /// KEYSPACE k, TABLE t and so on; a keyspace without a name is the session's.
    Element {
        /// Its kind.
        kind: DescribeKind,
        /// The keyspace of anything but a keyspace, if given.
        keyspace: Option<String>,
        /// Its name.
        name: Option<String>,
    },
    /// A bare name: a keyspace, table, view or index.
    Any {
        /// The keyspace, if given.
        keyspace: Option<String>,
        /// Its name.
        name: String,
    },
}
