//! The values that a request binds to its statement's markers.

use stdx::Reader;

use crate::{DecodeError, notation};

/// The length that stands for null.
const NULL: i32 = -1;
/// The length that stands for a value that is not set.
const UNSET: i32 = -2;

/// One bound value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// Null: a write deletes the cell.
    Null,
    /// Not set: a write leaves the cell as it is.
    Unset,
    /// The value, in its type's encoding.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The bytes, if it has any.
    #[inline]
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Null | Value::Unset => None,
        }
    }

    #[inline]
    fn read(reader: &mut Reader<'a>, is_lenient: bool) -> Result<Value<'a>, DecodeError> {
        let length = reader.i32()?;
        match usize::try_from(length) {
            Ok(length) => Ok(Value::Bytes(reader.bytes(length)?)),
            Err(_) if length == NULL || is_lenient => Ok(Value::Null),
            Err(_) if length == UNSET => Ok(Value::Unset),
            Err(_) => Err(DecodeError::InvalidValueLength { length }),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Value::Bytes(bytes) => notation::write_bytes(out, Some(bytes)),
            Value::Null => out.extend_from_slice(&NULL.to_be_bytes()),
            Value::Unset => out.extend_from_slice(&UNSET.to_be_bytes()),
        }
    }
}

/// Bound values, checked as a whole when the request was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Values<'a> {
    count: u16,
    named: bool,
    /// Every length below zero stands for null: they came in version 3, which knows no values that are not set.
    is_lenient: bool,
    bytes: &'a [u8],
}

impl<'a> Values<'a> {
    /// No values.
    pub const NONE: Values<'static> = Values { count: 0, named: false, is_lenient: false, bytes: &[] };

    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether each value comes with its marker's name.
    #[inline]
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// The values, in the order sent.
    #[inline]
    pub fn iter(&self) -> ValueIter<'a> {
        ValueIter { left: self.count, named: self.named, is_lenient: self.is_lenient, reader: Reader::new(self.bytes) }
    }

    /// The markers' names in the order of [`Values::iter`], or `None` if the values come without.
    pub fn names(&self) -> Option<ValueNames<'a>> {
        self.named.then(|| ValueNames { left: self.count, reader: Reader::new(self.bytes) })
    }

    /// Reads a u16 count and the values.
    #[inline]
    pub(crate) fn read(reader: &mut Reader<'a>, named: bool, is_lenient: bool) -> Result<Values<'a>, DecodeError> {
        let count = reader.u16()?;
        let bytes = reader.peek();
        for _ in 0..count {
            if named {
                notation::read_string(reader)?;
            }
            Value::read(reader, is_lenient)?;
        }
        Ok(Values { count, named, is_lenient, bytes: &bytes[..bytes.len() - reader.remaining()] })
    }

    /// Writes a u16 count and the values.
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.count.to_be_bytes());
        out.extend_from_slice(self.bytes);
    }
}

impl<'a> IntoIterator for Values<'a> {
    type Item = Value<'a>;
    type IntoIter = ValueIter<'a>;

    #[inline]
    fn into_iter(self) -> ValueIter<'a> {
        self.iter()
    }
}

/// Walks [`Values`].
#[derive(Debug, Clone)]
pub struct ValueIter<'a> {
    left: u16,
    named: bool,
    is_lenient: bool,
    reader: Reader<'a>,
}

impl<'a> ValueIter<'a> {
    /// A name is skipped by its length alone: it was found to be UTF-8 when the request was decoded.
    #[inline]
    fn read(&mut self) -> Result<Value<'a>, DecodeError> {
        if self.named {
            notation::read_short_bytes(&mut self.reader)?;
        }
        Value::read(&mut self.reader, self.is_lenient)
    }
}

impl<'a> Iterator for ValueIter<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.read().ok()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for ValueIter<'_> {}

/// Walks the names of [`Values`].
#[derive(Debug, Clone)]
pub struct ValueNames<'a> {
    left: u16,
    reader: Reader<'a>,
}

impl<'a> ValueNames<'a> {
    fn read(&mut self) -> Result<&'a str, DecodeError> {
        let name = notation::read_string(&mut self.reader)?;
        // What is below zero has no bytes whatever it stands for.
        Value::read(&mut self.reader, true)?;
        Ok(name)
    }
}

impl<'a> Iterator for ValueNames<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.left = self.left.checked_sub(1)?;
        self.read().ok()
    }
}

/// Values that are being laid down by a client.
#[derive(Debug, Clone, Default)]
pub struct ValuesBuffer {
    count: u16,
    named: bool,
    bytes: Vec<u8>,
}

/// More values than a request can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a request binds at most 65,535 values")]
pub struct TooManyValues;

impl ValuesBuffer {
    /// No values yet, to be bound by position.
    pub fn new() -> ValuesBuffer {
        ValuesBuffer::default()
    }

    /// No values yet, to be bound by name.
    pub fn named() -> ValuesBuffer {
        ValuesBuffer { named: true, ..ValuesBuffer::default() }
    }

    /// Appends a value. In a named buffer it gets the empty name.
    pub fn push(&mut self, value: Value<'_>) -> Result<(), TooManyValues> {
        self.push_named("", value)
    }

    /// Appends a value; the name is left out if the buffer is not a named one.
    pub fn push_named(&mut self, name: &str, value: Value<'_>) -> Result<(), TooManyValues> {
        self.count = self.count.checked_add(1).ok_or(TooManyValues)?;
        if self.named {
            notation::write_string(&mut self.bytes, name);
        }
        value.write(&mut self.bytes);
        Ok(())
    }

    /// The values so far.
    pub fn values(&self) -> Values<'_> {
        Values { count: self.count, named: self.named, is_lenient: false, bytes: &self.bytes }
    }
}
