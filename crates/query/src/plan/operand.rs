//! Where a value in a statement comes from, and how it is had when the statement runs.

use cql_protocol::Value;
use cql_types::comparable::DECIMAL_BYTES_MAX;
use cql_types::{CqlType, LongValue};
use stdx::Reader;

use super::insert_json::JSON_NULL;
use crate::error::{QueryError, invalid};

/// A value's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// The bind marker with this index.
    Bound(u16),
    /// A component of the tuple that the bind marker `marker` is bound to.
    Component {
        /// The marker.
        marker: u16,
        /// Which of the tuple's components.
        index: u16,
    },
    /// What a bound JSON text says about a column.
    Json {
        /// The marker that the text is bound to.
        marker: u16,
        /// The column's index in the table.
        index: u16,
    },
    /// A literal, encoded.
    Constant(Vec<u8>),
    /// A literal of many bytes, as they are.
    Long(LongValue),
    /// NULL.
    Null,
    /// Nothing, where something must be.
    Unset,
    /// What [`super::Generator`] with this index gives for this execution.
    Generated(u16),
    /// What the call that is the generator with this index gives for this execution: behind a byte, or null if there is
    /// none.
    Called(u16),
}

impl Source {
    /// The value, if it is a constant other than null.
    pub(super) fn constant(&self) -> Option<&[u8]> {
        match self {
            Source::Constant(bytes) => Some(bytes),
            _ => None,
        }
    }
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
    /// Texts among the values that are longer than [`LONG_TEXT_MIN`] were checked before, with pauses.
    pub(crate) long_texts_checked: bool,
}

/// A text of more bytes is checked piece by piece, once.
pub(crate) const LONG_TEXT_MIN: usize = 64 << 10;

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
                    self.check(bytes, binds)?;
                }
                Ok(value)
            }
            Source::Component { marker, index } => {
                let value = component(binds, *marker, *index);
                if let (Value::Bytes(bytes), true) = (value, self.needs_check) {
                    self.check(bytes, binds)?;
                }
                Ok(value)
            }
            Source::Json { marker, index } => {
                let value = of_json(binds, *marker, *index);
                if let (Value::Bytes(bytes), true) = (value, self.needs_check) {
                    self.check(bytes, binds)?;
                }
                Ok(value)
            }
            Source::Constant(bytes) => Ok(Value::Bytes(bytes)),
            Source::Long(value) => Ok(Value::Bytes(value.bytes())),
            Source::Null => Ok(Value::Null),
            Source::Unset => Ok(Value::Unset),
            Source::Generated(index) => {
                Ok(binds.generated.get(usize::from(*index)).map_or(Value::Null, |bytes| Value::Bytes(bytes)))
            }
            Source::Called(index) => {
                let called = binds.generated.get(usize::from(*index)).and_then(|bytes| bytes.get(1..));
                Ok(called.map_or(Value::Null, Value::Bytes))
            }
        }
    }

    /// The value as it was given, which whoever takes it checks.
    pub(crate) fn given<'a>(&'a self, binds: &Binds<'a>) -> Result<Value<'a>, QueryError> {
        match &self.source {
            Source::Bound(index) => Ok(binds.values.get(usize::from(*index)).copied().unwrap_or(Value::Unset)),
            _ => self.value(binds),
        }
    }

    /// The value as it was given, before it is checked: whether it is too long to be worth checking.
    pub(crate) fn unchecked<'a>(&'a self, binds: &Binds<'a>) -> Option<&'a [u8]> {
        match &self.source {
            Source::Bound(index) => binds.values.get(usize::from(*index))?.bytes(),
            Source::Component { marker, index } => component(binds, *marker, *index).bytes(),
            Source::Json { marker, index } => of_json(binds, *marker, *index).bytes(),
            Source::Constant(bytes) => Some(bytes),
            Source::Long(value) => Some(value.bytes()),
            Source::Null | Source::Unset | Source::Generated(_) | Source::Called(_) => None,
        }
    }

    #[inline]
    fn check(&self, bytes: &[u8], binds: &Binds<'_>) -> Result<(), QueryError> {
        if bytes.len() > LONG_TEXT_MIN && binds.long_texts_checked && self.ty == CqlType::Text {
            return Ok(());
        }
        cql_types::validate(&self.ty, bytes).map_err(|error| invalid(error.to_string()))
    }

    /// The value, which must be one: that of the key column `name`.
    #[inline]
    pub(crate) fn key_value<'a>(&'a self, name: &str, binds: &Binds<'a>) -> Result<&'a [u8], QueryError> {
        match self.value(binds)? {
            Value::Bytes(bytes) if bytes.len() > DECIMAL_BYTES_MAX && self.ty == CqlType::Decimal => {
                Err(long_decimal(name, bytes.len()))
            }
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
            Source::Long(value) => value.bytes().len(),
            _ => 0,
        }
    }
}

/// A component of a bound tuple. Those that are missing at its end are null.
fn component<'a>(binds: &Binds<'a>, marker: u16, index: u16) -> Value<'a> {
    match binds.values.get(usize::from(marker)) {
        Some(Value::Bytes(tuple)) => {
            let field = cql_types::fields_of(tuple).nth(usize::from(index)).flatten();
            field.map_or(Value::Null, Value::Bytes)
        }
        Some(Value::Null) => Value::Null,
        Some(Value::Unset) | None => Value::Unset,
    }
}

/// What a bound JSON text, whose marker's value was taken apart, says about a column.
fn of_json<'a>(binds: &Binds<'a>, marker: u16, index: u16) -> Value<'a> {
    let Some(Value::Bytes(values)) = binds.values.get(usize::from(marker)) else { return Value::Unset };
    let mut reader = Reader::new(values);
    for column in 0..=index {
        let length = match reader.i32() {
            Ok(JSON_NULL) if column == index => return Value::Null,
            Ok(length) => length,
            Err(_) => return Value::Unset,
        };
        if length < 0 && column == index {
            return Value::Unset;
        }
        match reader.bytes(usize::try_from(length).unwrap_or(0)) {
            Ok(bytes) if column == index => return Value::Bytes(bytes),
            Ok(_) => {}
            Err(_) => return Value::Unset,
        }
    }
    Value::Unset
}

#[cold]
pub(crate) fn long_decimal(name: &str, length: usize) -> QueryError {
    invalid(format!(
        "A decimal in a key or a condition has at most {DECIMAL_BYTES_MAX} bytes, that for column {name} has {length}"
    ))
}
