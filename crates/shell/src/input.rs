//! Typed text, cut into statements. Pure.
//!
//! Text is collected line by line until its last statement is whole: a CQL statement ends with `;`, a shell command also with its line, and a batch with the `;` after APPLY BATCH.
//! All statements of a whole text run in turn. The rules are cqlsh's, so that its scripts mean the same here.

mod lexer;
mod statements;

pub(crate) use lexer::{NoToken, Token, TokenKind, tokens};
#[cfg(test)]
pub(crate) use statements::split;
pub(crate) use statements::{Input, Statement, Unreadable, Whole};

#[cfg(test)]
mod tests;
