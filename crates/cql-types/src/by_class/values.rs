//! The components of composite values: taken apart and validated. Errors are in Cassandra's words.

use std::borrow::Cow;

use stdx::Reader;

use super::{ByClass, Component};
use crate::{ValueError, class_name};

/// How a value of `CompositeType` begins that Thrift called static.
pub const STATIC: [u8; 2] = [0xff, 0xff];

/// Set in the first two bytes of a component that names its type by an alias, which is the second byte.
pub(crate) const ALIAS: u16 = 0x8000;

/// A component's type and value.
pub type Part<'t, 'v> = (Cow<'t, Component>, &'v [u8]);

/// Reads the components of a composite's value one by one.
#[derive(Debug)]
pub struct Parts<'t, 'v> {
    of: &'t ByClass,
    reader: Reader<'v>,
    index: usize,
    /// True if it begins with [`STATIC`].
    pub is_static: bool,
}

impl<'t, 'v> Parts<'t, 'v> {
    /// The components of `value`.
    pub fn new(of: &'t ByClass, value: &'v [u8]) -> Self {
        let is_static = matches!(of, ByClass::Composite(_)) && value.starts_with(&STATIC);
        let reader = Reader::new(if is_static { &value[STATIC.len()..] } else { value });
        Parts { of, reader, index: 0, is_static }
    }

    /// The next component's type and value, after which [`Parts::end`] must be asked; `None` at the end.
    pub fn read(&mut self) -> Result<Option<Part<'t, 'v>>, ValueError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let index = self.index;
        let component = self.component()?;
        let short =
            |what: &str| ValueError::malformed(format!("Not enough bytes to read value{what} of component {index}"));
        let length = self.reader.u16().map_err(|_| short(" size"))?;
        let value = self.reader.bytes(usize::from(length)).map_err(|_| short(""))?;
        Ok(Some((component, value)))
    }

    /// The byte at the end of the component that was just given.
    pub fn end(&mut self) -> Result<u8, ValueError> {
        let index = self.index;
        self.index += 1;
        let missing = |_| {
            ValueError::malformed(format!("Not enough bytes to read the end-of-component byte of component{index}"))
        };
        let end = self.reader.u8().map_err(missing)?;
        if end != 0 && !self.reader.is_empty() {
            let reason = format!("Invalid bytes remaining after an end-of-component at component{index}");
            return Err(ValueError::malformed(reason));
        }
        Ok(end)
    }

    /// The bytes that were not read yet.
    pub(crate) fn rest(&self) -> &'v [u8] {
        self.reader.peek()
    }

    fn component(&mut self) -> Result<Cow<'t, Component>, ValueError> {
        let index = self.index;
        let aliases = match self.of {
            ByClass::Composite(components) => {
                let component = components.get(index).map(Cow::Borrowed);
                return component.ok_or_else(|| ValueError::malformed("Too many bytes for comparator"));
            }
            ByClass::DynamicComposite(aliases) => aliases,
            ByClass::LexicalUuid => return Err(ValueError::malformed("a UUID has no components")),
        };
        let short = |what: &str| ValueError::malformed(format!("Not enough bytes to {what} of component {index}"));
        let header = self.reader.u16().map_err(|_| short("header of the comparator part"))?;
        let unknown = || ValueError::malformed(format!("Cannot find comparator for component {index}"));
        if header & ALIAS != 0 {
            let alias = header.to_be_bytes()[1];
            let known = aliases.iter().find(|(known, _)| *known == alias);
            return known.map(|(_, component)| Cow::Borrowed(component)).ok_or_else(unknown);
        }
        let name = self.reader.bytes(usize::from(header)).map_err(|_| short("read comparator name"))?;
        let name = std::str::from_utf8(name).map_err(|_| unknown())?;
        class_name::component(name).map(Cow::Owned).map_err(|_| unknown())
    }
}

/// Refuses bytes that are no value of the class.
pub(crate) fn validate(
    of: &ByClass,
    value: &[u8],
    validate_component: impl Fn(&Component, &[u8]) -> Result<(), ValueError>,
) -> Result<(), ValueError> {
    if *of == ByClass::LexicalUuid {
        return match value.len() {
            0 | 16 => Ok(()),
            actual => Err(ValueError::malformed(format!("UUID should be 16 or 0 bytes ({actual})"))),
        };
    }
    let mut parts = Parts::new(of, value);
    while let Some((component, value)) = parts.read()? {
        validate_component(&component, value)?;
        parts.end()?;
    }
    Ok(())
}

/// Appends a component's length and value, without what stands before and after them. `None`: the value is too long.
pub(crate) fn push_value(value: &[u8], out: &mut Vec<u8>) -> Option<()> {
    out.extend_from_slice(&u16::try_from(value.len()).ok()?.to_be_bytes());
    out.extend_from_slice(value);
    Some(())
}

/// Appends how a dynamic composite names a component's type. `None`: the class's name is too long.
pub(crate) fn push_class(of: &ByClass, component: &Component, out: &mut Vec<u8>) -> Option<()> {
    match of.alias_of(component) {
        Some(alias) => out.extend_from_slice(&(ALIAS | u16::from(alias)).to_be_bytes()),
        None => {
            let name = component.class_name();
            let length = u16::try_from(name.len()).ok().filter(|length| length & ALIAS == 0)?;
            out.extend_from_slice(&length.to_be_bytes());
            out.extend_from_slice(name.as_bytes());
        }
    }
    Some(())
}
