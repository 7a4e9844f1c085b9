//! Constants as CQL text writes them, before their type is known.

/// What a constant looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiteralKind {
    /// `'text'` or `$$text$$`.
    String,
    /// `-12`
    Integer,
    /// `1.5e3`, `NaN`, `-Infinity`
    Float,
    /// `true`, `false`
    Boolean,
    /// `123e4567-e89b-12d3-a456-426614174000`
    Uuid,
    /// `0xcafe`
    Hex,
    /// `1h30m`, `P1DT2H`
    Duration,
}

/// A constant: its looks, and its text without quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Literal {
    /// What it looks like.
    pub kind: LiteralKind,
    /// Its text; of a string, the content.
    pub text: String,
}
