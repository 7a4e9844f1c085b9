//! Analysis: the steps from a value to its terms.

/// By the kind of index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Analysis {
    /// Nothing: a secondary index.
    None,
    /// Of a storage-attached index. Without any of the three it is nothing, too.
    Sai {
        /// False: texts are lower-cased.
        case_sensitive: bool,
        /// True: texts are in the Unicode normalization form C.
        normalize: bool,
        /// True: letters, digits and symbols that have an ASCII equivalent become it.
        ascii: bool,
    },
    /// Of a SASI index.
    Sasi {
        /// Which parts of a text can be found.
        mode: Mode,
        /// Of a text.
        analyzer: Analyzer,
    },
}

/// Which parts of a text a SASI index finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Its beginning.
    Prefix,
    /// Any.
    Contains,
    /// For numbers of which few rows have the same: as [`Mode::Prefix`].
    Sparse,
}

/// Parts of a text that a SASI index makes terms of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Analyzer {
    /// Nothing.
    NoOp,
    /// One term: the text in the normalization form C.
    NonTokenizing {
        /// Its letters.
        case: Case,
    },
    /// The parts between delimiters, as they are. Empty ones are left out.
    Delimiter(char),
    /// The words (UAX #29) in the normalization form C; those of more than 255 UTF-16 units are left out.
    Standard {
        /// Their letters.
        case: Case,
    },
}

/// The case of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// As they are.
    Kept,
    /// Lower.
    Lower,
    /// Upper.
    Upper,
}

impl Analysis {
    /// True if only texts have it.
    pub(super) fn needs_text(&self) -> bool {
        match self {
            Analysis::None => false,
            Analysis::Sai { case_sensitive, normalize, ascii } => !case_sensitive || *normalize || *ascii,
            Analysis::Sasi { analyzer, .. } => *analyzer != Analyzer::NoOp,
        }
    }

    /// Appends bytes that no other analysis has; they are part of a digest that stands in files.
    pub(super) fn push_digest(&self, out: &mut Vec<u8>) {
        match self {
            Analysis::None => out.push(0),
            Analysis::Sai { case_sensitive, normalize, ascii } => {
                out.extend_from_slice(&[1, u8::from(*case_sensitive), u8::from(*normalize), u8::from(*ascii)]);
            }
            Analysis::Sasi { mode, analyzer } => {
                let mode = match mode {
                    Mode::Prefix => 0,
                    Mode::Contains => 1,
                    Mode::Sparse => 2,
                };
                let (kind, option) = match analyzer {
                    Analyzer::NoOp => (0, 0),
                    Analyzer::NonTokenizing { case } => (1, case.number()),
                    Analyzer::Delimiter(delimiter) => (2, u32::from(*delimiter)),
                    Analyzer::Standard { case } => (3, case.number()),
                };
                out.extend_from_slice(&[2, mode, kind]);
                out.extend_from_slice(&option.to_be_bytes());
            }
        }
    }
}

impl Case {
    fn number(self) -> u32 {
        match self {
            Case::Kept => 0,
            Case::Lower => 1,
            Case::Upper => 2,
        }
    }
}
