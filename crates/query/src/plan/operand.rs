//! Where a value in a statement comes from, and how it is had when the statement runs.

use cql_protocol::Value;
use cql_types::CqlType;

use crate::error::{QueryError, invalid};

/// A value's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The bind marker with this index.
    Bound(u16),
    /// A literal, encoded.
    Constant(Vec<u8>),
    /// NULL.
    Null,
    /// What [`super::Generator`] with this index gives for this execution.
    Generated(u16),
}

/// A value's source with the type that it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operand {
    /// The source.
    pub(crate) source: Source,
    /// The type.
    pub(crate) ty: CqlType,
    /// Whether a bound value needs a look: any bytes are a blob.
    needs_check: bool,
}

/// The values of one execution.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binds<'a> {
    /// The bound values by marker.
    pub(crate) values: &'a [Value<'a>],
    /// What functions such as now() gave, by [`Source::Generated`]'s index.
    pub(crate) generated: &'a [Vec<u8>],
}

impl Operand {
    pub(crate) fn new(source: Source, ty: CqlType) -> Self {
        let needs_check = ty != CqlType::Blob;
        Operand { source, ty, needs_check }
    }

    /// The value, checked.
    #[inline]
    pub(crate) fn value<'a>(&'a self, binds: &Binds<'a>) -> Result<Value<'a>, QueryError> {
        match &self.source {
            Source::Bound(index) => {
                let value = binds.values.get(usize::from(*index)).copied().unwrap_or(Value::Unset);
                if let (Value::Bytes(bytes), true) = (value, self.needs_check) {
                    self.check(bytes)?;
                }
                Ok(value)
            }
            Source::Constant(bytes) => Ok(Value::Bytes(bytes)),
            Source::Null => Ok(Value::Null),
            Source::Generated(index) => {
                Ok(binds.generated.get(usize::from(*index)).map_or(Value::Null, |bytes| Value::Bytes(bytes)))
            }
        }
    }

    #[inline]
    fn check(&self, bytes: &[u8]) -> Result<(), QueryError> {
        cql_types::validate(&self.ty, bytes).map_err(|error| invalid(error.to_string()))
    }

    /// The value, which must be one: that of the key column `name`.
    #[inline]
    pub(crate) fn key_value<'a>(&'a self, name: &str, binds: &Binds<'a>) -> Result<&'a [u8], QueryError> {
        match self.value(binds)? {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Null => Err(invalid(format!("Invalid null value in condition for column {name}"))),
            Value::Unset => Err(invalid(format!("Invalid unset value for column {name}"))),
        }
    }

    /// The marker's index, if the value is bound.
    pub(crate) fn marker(&self) -> Option<u16> {
        match self.source {
            Source::Bound(index) => Some(index),
            _ => None,
        }
    }

    /// About what it takes in memory beyond its own size.
    pub(crate) fn bytes(&self) -> usize {
        match &self.source {
            Source::Constant(bytes) => bytes.len(),
            _ => 0,
        }
    }
}
