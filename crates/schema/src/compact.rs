//! Tables WITH COMPACT STORAGE, as Cassandra keeps what its Thrift interface made.
//!
//! | | clustering columns | what a row is | what Cassandra has beside it |
//! |---|---|---|---|
//! | sparse | none | there while one of its columns lives | columns are static; a clustering column and a value that nobody sees |
//! | dense | some | its one value, or nothing but its key | if it is nothing but its key, an empty value that nobody sees |
//!
//! A row of these tables has no mark of its own, but where there is nothing else to tell that it is there. What is hidden cannot be read or
//! written: it has a name, which others may not take, and stands in the schema's tables.

use std::collections::BTreeSet;

use crate::column::{Column, ColumnKind};
use crate::table::Table;

/// A column of a table WITH COMPACT STORAGE that only the schema's tables tell of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenColumn {
    /// Its name: one that no column of the table has, or had.
    pub name: String,
    /// Its part in the table: clustering or regular. There is never another clustering column.
    pub kind: ColumnKind,
    /// Its type, as the schema's tables name it.
    pub ty: &'static str,
}

impl Table {
    /// Whether it is WITH COMPACT STORAGE and has no clustering columns: each partition is one row, whose columns Cassandra calls static.
    pub fn is_sparse(&self) -> bool {
        self.options.compact_storage && self.clustering().is_empty()
    }

    /// Whether it is WITH COMPACT STORAGE and has clustering columns.
    pub fn is_dense(&self) -> bool {
        self.options.compact_storage && !self.clustering().is_empty()
    }

    /// True if a write may name a row by the first of several clustering columns alone: the others are null. Counters may not, since Cassandra does
    /// not come back from such a write.
    pub fn has_rows_of_prefixes(&self) -> bool {
        self.is_dense() && self.clustering().len() > 1 && !self.is_counter()
    }

    /// Whether an INSERT says that there is a row beside what it writes to the row. Of a table WITH COMPACT STORAGE that has columns outside
    /// of its key it does not: there a row is what lives in it.
    pub fn marks_rows(&self) -> bool {
        !self.options.compact_storage || (self.is_dense() && self.regulars().is_empty())
    }

    /// What the table has beside its columns: a clustering column and a value if it is sparse, a value if it is dense and has none.
    pub fn hidden_columns(&self) -> Vec<HiddenColumn> {
        let value = |ty| HiddenColumn { name: self.free_name("value", 0), kind: ColumnKind::Regular, ty };
        if self.is_sparse() {
            let clustering =
                HiddenColumn { name: self.free_name("column", 1), kind: ColumnKind::Clustering, ty: "text" };
            return vec![clustering, value(if self.is_counter() { "counter" } else { "blob" })];
        }
        match self.is_dense() && self.regulars().is_empty() {
            true => vec![value("empty")],
            false => Vec::new(),
        }
    }

    /// The clustering column that it hides, if it is sparse.
    pub fn hidden_clustering(&self) -> Option<HiddenColumn> {
        self.hidden_columns().into_iter().find(|hidden| hidden.kind == ColumnKind::Clustering)
    }

    /// Whether one of its hidden columns is called `name`.
    pub fn hides_name(&self, name: &str) -> bool {
        self.options.compact_storage && self.hidden_columns().iter().any(|hidden| hidden.name == name)
    }

    /// The part that the schema's tables say one of its columns, or of those that were dropped, plays.
    pub fn shown_kind(&self, column: &Column) -> ColumnKind {
        match self.is_sparse() && column.kind == ColumnKind::Regular {
            true => ColumnKind::Static,
            false => column.kind,
        }
    }

    /// What `system_schema.tables` says of its kind, in the order of a set.
    pub fn flags(&self) -> Vec<&'static str> {
        let is_compound = !self.options.compact_storage || self.clustering().len() > 1;
        let flags = [("compound", is_compound), ("counter", self.is_counter()), ("dense", self.is_dense())];
        flags.into_iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| flag).collect()
    }

    /// The first of `stem`, counted from `first` and without its number at 0, that no column is or was called. (Source: Cassandra's
    /// `CompactTables.defaultNameGenerator`.)
    fn free_name(&self, stem: &str, first: u32) -> String {
        let names = self.columns().iter().map(|column| column.name.as_str());
        let taken: BTreeSet<&str> = names.chain(self.dropped.keys().map(String::as_str)).collect();
        let name = |number| if number == 0 { stem.to_owned() } else { format!("{stem}{number}") };
        let mut names = (first..).map(name);
        names.find(|name| !taken.contains(name.as_str())).expect("a table has fewer columns than there are numbers")
    }
}

#[cfg(test)]
mod tests;
