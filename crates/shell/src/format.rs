//! Values and tables as text, as cqlsh prints them. Pure.
//!
//! A [`Shown`] has its plain text, the same with colours, and its width at a terminal. No control character of a value gets into either: it is shown as an escape. A [`Style`] says
//! the rest: how many digits, which form of a timestamp, what a null is.

mod colour;
mod columns;
mod float;
mod shown;
mod style;
mod table;
mod time;
mod value;

pub(crate) use colour::{Colour, painted};
pub(crate) use columns::columnize;
pub(crate) use shown::{Shown, escape_controls};
pub(crate) use style::Style;
pub(crate) use table::{expanded, table};
pub(crate) use value::{name, null, value};

#[cfg(test)]
mod tests;
