//! A native function whose arguments' types are chosen.

use std::fmt;
use std::rc::Rc;

use cql_types::CqlType;

use crate::number::check_length;
use crate::{Context, FunctionError};

/// What a function does with its arguments' bytes.
pub(crate) trait Body: fmt::Debug {
    /// As [`Call::evaluate`]; values that are empty were made null unless the call keeps them.
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        context: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError>;
}

/// The first argument as it is.
#[derive(Debug)]
pub(crate) struct AsItIs;

impl Body for AsItIs {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(value) = arguments.first().copied().flatten() else { return Ok(false) };
        out.extend_from_slice(value);
        Ok(true)
    }
}

/// How a result's column is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// `system.abs(v)`
    Call,
    /// `a + b`
    Operator(char),
    /// `-a`
    Negation,
    /// `cast(a as text)`
    Cast,
}

/// What becomes of arguments that are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// One that is null, or an empty value of a type that has a meaningless empty one, makes the result null.
    Contagious,
    /// The function looks at them itself.
    Seen,
}

/// A native function whose argument types are chosen.
#[derive(Debug, Clone)]
pub struct Call {
    name: String,
    arguments: Vec<CqlType>,
    returns: CqlType,
    is_pure: bool,
    nulls: Nulls,
    shown: Shown,
    body: Rc<dyn Body>,
}

impl Call {
    pub(crate) fn new(name: &str, arguments: Vec<CqlType>, returns: CqlType, body: impl Body + 'static) -> Self {
        Call {
            name: format!("system.{name}"),
            arguments,
            returns,
            is_pure: true,
            nulls: Nulls::Contagious,
            shown: Shown::Call,
            body: Rc::new(body),
        }
    }

    pub(crate) fn impure(mut self) -> Self {
        self.is_pure = false;
        self
    }

    pub(crate) fn seeing_nulls(mut self) -> Self {
        self.nulls = Nulls::Seen;
        self
    }

    pub(crate) fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }

    /// Its name with its keyspace, `system.abs`, as markers' names and messages show it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The chosen types of its arguments.
    pub fn arguments(&self) -> &[CqlType] {
        &self.arguments
    }

    /// The type of its value.
    pub fn returns(&self) -> &CqlType {
        &self.returns
    }

    /// Whether the same arguments always give the same value; now() does not.
    pub fn is_pure(&self) -> bool {
        self.is_pure
    }

    /// The name of a result's column that shows it, of its arguments' names: `system.abs(v)`, `a + b`, `-a`, `cast(a as text)`.
    pub fn column_name(&self, arguments: &[&str]) -> String {
        let at = |index: usize| arguments.get(index).copied().unwrap_or_default();
        match self.shown {
            Shown::Call => format!("{}({})", self.name, arguments.join(", ")),
            Shown::Operator(symbol) => format!("{} {symbol} {}", at(0), at(1)),
            Shown::Negation => format!("-{}", at(0)),
            Shown::Cast => format!("cast({} as {})", at(0), self.returns),
        }
    }

    /// The refusal of an argument that is bound to nothing.
    pub fn unset(&self) -> FunctionError {
        let name = self.name.strip_prefix("system.").unwrap_or(&self.name);
        FunctionError::invalid(format!("Invalid unset value for argument in call to function {name}"))
    }

    /// Appends the value to `out`; `Ok(false)`: it is null, and nothing was appended. The arguments are values of the chosen
    /// types, or of types that can be taken for them.
    pub fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        context: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        if self.nulls == Nulls::Contagious {
            let is_null = |(argument, ty): (&Option<&[u8]>, &CqlType)| match argument {
                None => true,
                Some(bytes) => bytes.is_empty() && ty.has_meaningless_empty(),
            };
            if arguments.iter().zip(&self.arguments).any(is_null) {
                return Ok(false);
            }
            // What leaves values as they are looks at its nulls itself.
            for (argument, ty) in arguments.iter().zip(&self.arguments) {
                check_length(ty, argument.unwrap_or_default())?;
            }
        }
        let start = out.len();
        let is_there = self.body.evaluate(arguments, context, out)?;
        debug_assert!(is_there || out.len() == start, "a null appends nothing");
        Ok(is_there)
    }
}
