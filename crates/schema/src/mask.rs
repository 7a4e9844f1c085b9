//! A column's mask: the function that makes of a value what a client without UNMASK reads in its place.

use std::fmt;

use cql_types::CqlType;
use functions::{Argument, Call};

/// The most arguments of a mask.
pub const MASK_ARGUMENTS_MAX: usize = 16;

/// A native masking function, applied to a column's values with these arguments after each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMask {
    /// Its name, without `system.`.
    pub function: String,
    /// Its arguments but the first, which is the column's value.
    pub arguments: Vec<MaskArgument>,
}

/// An argument of a mask, which is a constant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskArgument {
    /// The type that the function takes there.
    pub ty: CqlType,
    /// Its value; `None`: null.
    pub value: Option<Vec<u8>>,
}

impl ColumnMask {
    /// The function for values of the type `masked`. `None` if there is no such mask of that type, which a damaged log may say: whoever reads the
    /// column must then give no value at all.
    pub fn call(&self, masked: &CqlType) -> Option<Call> {
        if !functions::is_mask(&self.function) {
            return None;
        }
        let types = std::iter::once(masked).chain(self.arguments.iter().map(|argument| &argument.ty));
        let arguments: Vec<Argument<'_>> = types.map(Argument::Typed).collect();
        let call = functions::resolve(Some("system"), &self.function, &arguments, Some(masked)).ok()?;
        (call.returns() == masked).then_some(call)
    }

    /// The same mask with `change` done to the types of its arguments.
    pub(crate) fn with_types(&self, change: impl Fn(CqlType) -> CqlType) -> Self {
        let changed = |of: &MaskArgument| MaskArgument { ty: change(of.ty.clone()), value: of.value.clone() };
        ColumnMask { function: self.function.clone(), arguments: self.arguments.iter().map(changed).collect() }
    }
}

/// The call without its first argument, as DESCRIBE shows it: `system.mask_inner(1, null, '#')`.
impl fmt::Display for ColumnMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "system.{}(", self.function)?;
        for (index, MaskArgument { ty, value }) in self.arguments.iter().enumerate() {
            let text = value.as_ref().map_or_else(|| "null".to_owned(), |value| cql_types::print(ty, value));
            write!(f, "{}{text}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(")")
    }
}
