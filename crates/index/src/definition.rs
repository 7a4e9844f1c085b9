//! The definition of an index, as far as its terms depend on it: what is indexed, of which type, and what is made of a text first.

mod analysis;
mod options;

use cql_types::CqlType;
use topology::murmur3;

pub use analysis::{Analysis, Analyzer, Case, Mode};
pub use options::OptionError;

/// The part of a column that is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The value of a column that has one cell.
    Column,
    /// The keys of a map.
    Keys,
    /// The elements of a list or set, the values of a map.
    Values,
    /// The entries of a map, each as a key with its value.
    Entries,
    /// A frozen collection as one value.
    Full,
}

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    target: Target,
    ty: CqlType,
    analysis: Analysis,
}

/// A target or an analysis does not fit the column's type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The column has no such part.
    #[error("{target:?} of the type {ty} cannot be indexed")]
    Target {
        /// The part.
        target: Target,
        /// The column's type.
        ty: String,
    },
    /// The target is no text.
    #[error("CQL type {ty} cannot be analyzed.")]
    NoText {
        /// The type of what is indexed.
        ty: String,
    },
}

impl Definition {
    /// A definition for a column of the type `ty`.
    ///
    /// # Errors
    ///
    /// If the type has no such target, or a text's analysis is wanted for another type.
    pub fn new(target: Target, ty: CqlType, analysis: Analysis) -> Result<Definition, DefinitionError> {
        let is_fit = match target {
            Target::Column => !ty.is_multi_cell(),
            Target::Keys | Target::Entries => matches!(ty, CqlType::Map { frozen: false, .. }),
            Target::Values => ty.is_collection() && ty.is_multi_cell(),
            Target::Full => ty.is_collection() && ty.is_frozen(),
        };
        if !is_fit || ty.refers_to_duration() {
            return Err(DefinitionError::Target { target, ty: ty.to_string() });
        }
        let definition = Definition { target, ty, analysis };
        if definition.analysis.needs_text() && !definition.is_text() {
            return Err(DefinitionError::NoText { ty: definition.ty.to_string() });
        }
        Ok(definition)
    }

    /// The part of the column that is indexed.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The column's type.
    pub fn ty(&self) -> &CqlType {
        &self.ty
    }

    /// The steps from a text to its terms.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }

    /// A hash of all of it: an index with another one has other terms for the same rows. It stands in files, so it does not change.
    pub fn digest(&self) -> u64 {
        let mut bytes = vec![match self.target {
            Target::Column => 0,
            Target::Keys => 1,
            Target::Values => 2,
            Target::Entries => 3,
            Target::Full => 4,
        }];
        self.analysis.push_digest(&mut bytes);
        // A user-defined type's name is enough: fields that are added leave the forms of old values as they are.
        bytes.extend_from_slice(self.ty.to_string().as_bytes());
        murmur3::hash(&bytes).cast_unsigned()
    }

    /// The type of what becomes a term; of [`Target::Entries`] of its last part.
    pub(crate) fn term_type(&self) -> &CqlType {
        match (self.target, &self.ty) {
            (Target::Keys, CqlType::Map { key, .. }) => key,
            (Target::Values | Target::Entries, CqlType::Map { value, .. }) => value,
            (Target::Values, CqlType::List { element, .. } | CqlType::Set { element, .. }) => element,
            (_, ty) => ty,
        }
    }

    /// True if the terms are texts, which are analyzed and not encoded.
    pub(crate) fn is_text(&self) -> bool {
        self.target != Target::Entries && matches!(self.term_type(), CqlType::Text | CqlType::Ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str) -> CqlType {
        CqlType::parse(text).expect("a type")
    }

    #[test]
    fn targets_fit_their_types() {
        let fits = |target, text| Definition::new(target, ty(text), Analysis::None).is_ok();
        assert!(fits(Target::Column, "int") && fits(Target::Column, "frozen<set<int>>"));
        assert!(!fits(Target::Column, "set<int>") && !fits(Target::Column, "duration"));
        assert!(fits(Target::Keys, "map<int, text>") && !fits(Target::Keys, "set<int>"));
        assert!(fits(Target::Entries, "map<int, text>") && !fits(Target::Entries, "frozen<map<int, text>>"));
        assert!(fits(Target::Values, "list<int>") && !fits(Target::Values, "frozen<list<int>>"));
        assert!(fits(Target::Full, "frozen<list<int>>") && !fits(Target::Full, "int"));
        let lower = Analysis::Sai { case_sensitive: false, normalize: false, ascii: false };
        let error = Definition::new(Target::Column, ty("int"), lower.clone()).expect_err("an int is no text");
        assert_eq!(error.to_string(), "CQL type int cannot be analyzed.");
        assert!(Definition::new(Target::Values, ty("set<text>"), lower).is_ok());
    }

    #[test]
    fn digests_are_kept_and_differ() {
        let digest = |target, text, analysis| Definition::new(target, ty(text), analysis).expect("it fits").digest();
        let lower = Analysis::Sai { case_sensitive: false, normalize: false, ascii: false };
        let words = Analysis::Sasi { mode: Mode::Contains, analyzer: Analyzer::Standard { case: Case::Lower } };
        let all = [
            digest(Target::Column, "text", Analysis::None),
            digest(Target::Column, "int", Analysis::None),
            digest(Target::Keys, "map<text, text>", Analysis::None),
            digest(Target::Values, "map<text, text>", Analysis::None),
            digest(Target::Column, "text", lower),
            digest(Target::Column, "text", words),
        ];
        let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
        assert_eq!(distinct.len(), all.len());
        // They stand in files.
        assert_eq!(all.map(|digest| digest >> 48), [24386, 7459, 25977, 59693, 26769, 62504]);
    }
}
