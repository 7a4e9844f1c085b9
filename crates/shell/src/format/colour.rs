//! The colours of a terminal, and what has which.

/// A colour, as cqlsh has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    White,
    DarkMagenta,
}

/// The end of a colour.
pub(crate) const RESET: &str = "\x1b[0m";

impl Colour {
    /// The null.
    pub(crate) const NULL: Colour = Colour::Red;
    /// Text.
    pub(crate) const TEXT: Colour = Colour::Yellow;
    /// Blobs, and escapes within text.
    pub(crate) const BLOB: Colour = Colour::DarkMagenta;
    /// Numbers, times and all other scalars.
    pub(crate) const SCALAR: Colour = Colour::Green;
    /// The brackets of collections.
    pub(crate) const BRACKET: Colour = Colour::Blue;

    /// The sequence that begins it.
    pub(crate) fn sequence(self) -> &'static str {
        match self {
            Colour::Red => "\x1b[0;1;31m",
            Colour::Green => "\x1b[0;1;32m",
            Colour::Yellow => "\x1b[0;1;33m",
            Colour::Blue => "\x1b[0;1;34m",
            Colour::Magenta => "\x1b[0;1;35m",
            Colour::Cyan => "\x1b[0;1;36m",
            Colour::White => "\x1b[0;1;37m",
            Colour::DarkMagenta => "\x1b[0;35m",
        }
    }
}

/// Text in a colour, or as it is.
pub(crate) fn painted(text: &str, colour: Option<Colour>) -> String {
    match colour {
        Some(colour) => format!("{}{text}{RESET}", colour.sequence()),
        None => text.to_owned(),
    }
}
