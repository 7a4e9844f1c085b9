//! Parts of columns: elements, slices and fields of their values, and when those were written.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use cql_protocol::Value;
use cql_types::{CollectionWriter, CqlType, compare, fields_of, parts_of_collection, push_field};

use crate::error::{QueryError, invalid};
use crate::plan::{Binds, Operand, PartOf, Select, Step};

/// The parts that a SELECT takes, with one execution's keys.
pub(crate) struct BoundParts<'a> {
    parts: Vec<Vec<BoundStep<'a>>>,
}

enum BoundStep<'a> {
    Element { collection: &'a CqlType, key: &'a [u8] },
    Slice { collection: &'a CqlType, from: Option<&'a [u8]>, to: Option<&'a [u8]> },
    Field(u16),
}

/// When a cell was written, and the seconds it has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) timestamp: i64,
    pub(super) seconds_left: Option<u32>,
}

/// When a value was written: all at once, or element by element. `None`: not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Times {
    One(Option<Written>),
    Many(Vec<Option<Written>>),
}

/// Which elements or fields of a value a step leads to.
enum Place {
    Nowhere,
    One(usize),
    Many(Range<usize>),
}

impl<'a> BoundParts<'a> {
    pub(crate) fn new(select: &'a Select, binds: &Binds<'a>) -> Result<Self, QueryError> {
        let step = |step: &'a Step| bound(step, binds);
        let parts = select.parts.iter().map(|part| part.steps.iter().map(step).collect());
        Ok(BoundParts { parts: parts.collect::<Result<_, QueryError>>()? })
    }

    /// The part with that index of a column's value.
    pub(crate) fn value<'v>(&self, index: u16, value: &'v [u8]) -> Option<Cow<'v, [u8]>> {
        let mut value = Cow::Borrowed(value);
        for step in self.steps(index) {
            value = match value {
                Cow::Borrowed(whole) => step.take(whole).1?,
                Cow::Owned(whole) => Cow::Owned(step.take(&whole).1?.into_owned()),
            };
        }
        Some(value)
    }

    /// When the part with that index of a column's value was written.
    pub(super) fn times(&self, index: u16, value: &[u8], mut times: Times) -> Times {
        let mut value = Cow::Borrowed(value);
        for step in self.steps(index) {
            let (place, part) = step.take(&value);
            let Some(part) = part else { return Times::One(None) };
            times = times.at(place);
            value = Cow::Owned(part.into_owned());
        }
        times
    }

    fn steps(&self, index: u16) -> &[BoundStep<'a>] {
        self.parts.get(usize::from(index)).map_or(&[], Vec::as_slice)
    }
}

fn bound<'a>(step: &'a Step, binds: &Binds<'a>) -> Result<BoundStep<'a>, QueryError> {
    match step {
        Step::Element { collection, key, of } => match key.value(binds)? {
            Value::Bytes(key) => Ok(BoundStep::Element { collection, key }),
            Value::Null => Err(invalid(format!("Invalid null value for element selection on {of}"))),
            Value::Unset => Err(invalid(format!("Invalid unset value for element selection on {of}"))),
        },
        Step::Slice { collection, from, to, of } => {
            let end = |end: &'a Option<Operand>| match end.as_ref().map(|end| end.value(binds)).transpose()? {
                Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
                Some(Value::Null) => Err(invalid(format!("Invalid null value for slice selection on {of}"))),
                // An end that is not set is none.
                None | Some(Value::Unset) => Ok(None),
            };
            Ok(BoundStep::Slice { collection, from: end(from)?, to: end(to)? })
        }
        Step::Field(index) => Ok(BoundStep::Field(*index)),
    }
}

impl BoundStep<'_> {
    /// The part that the step leads to, if there is one, and its place.
    fn take<'v>(&self, value: &'v [u8]) -> (Place, Option<Cow<'v, [u8]>>) {
        match self {
            BoundStep::Field(index) => {
                let index = usize::from(*index);
                match fields_of(value).nth(index).flatten() {
                    Some(field) => (Place::One(index), Some(Cow::Borrowed(field))),
                    None => (Place::Nowhere, None),
                }
            }
            BoundStep::Element { collection, key } => {
                for (index, (one, shown)) in entries(collection, value).enumerate() {
                    if compare(key_type(collection), one, key) == Ordering::Equal {
                        return (Place::One(index), Some(Cow::Borrowed(shown)));
                    }
                }
                (Place::Nowhere, None)
            }
            BoundStep::Slice { collection, from, to } => slice(collection, value, *from, *to),
        }
    }
}

fn slice<'v>(
    collection: &CqlType,
    value: &'v [u8],
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) -> (Place, Option<Cow<'v, [u8]>>) {
    let ty = key_type(collection);
    let mut out = Vec::new();
    let mut writer = CollectionWriter::begin(&mut out);
    let (mut first, mut count) = (0, 0);
    for (index, (key, shown)) in entries(collection, value).enumerate() {
        let is_inside =
            from.is_none_or(|from| compare(ty, key, from).is_ge()) && to.is_none_or(|to| compare(ty, key, to).is_le());
        if !is_inside {
            continue;
        }
        if count == 0 {
            first = index;
        }
        count += 1;
        writer.entry();
        writer.part(key, &mut out);
        if matches!(collection, CqlType::Map { .. }) {
            writer.part(shown, &mut out);
        }
    }
    writer.finish(&mut out);
    match (count, collection.is_multi_cell()) {
        (0, true) => (Place::Nowhere, None),
        (0, false) => (Place::Nowhere, Some(Cow::Owned(out))),
        (count, _) => (Place::Many(first..first + count), Some(Cow::Owned(out))),
    }
}

/// A set's elements, twice, or a map's keys and values.
fn entries<'v>(collection: &CqlType, value: &'v [u8]) -> impl Iterator<Item = (&'v [u8], &'v [u8])> {
    let is_map = matches!(collection, CqlType::Map { .. });
    let mut parts = parts_of_collection(collection, value);
    std::iter::from_fn(move || {
        let key = parts.next()?;
        Some((key, if is_map { parts.next()? } else { key }))
    })
}

fn key_type(collection: &CqlType) -> &CqlType {
    match collection {
        CqlType::Map { key, .. } => key,
        CqlType::Set { element, .. } => element,
        other => panic!("{other} has no elements that are selected"),
    }
}

impl Times {
    fn at(self, place: Place) -> Times {
        match (self, place) {
            (_, Place::Nowhere) => Times::One(None),
            (Times::One(written), _) => Times::One(written),
            (Times::Many(all), Place::One(index)) => Times::One(all.get(index).copied().flatten()),
            (Times::Many(all), Place::Many(range)) => Times::Many(all.get(range).unwrap_or_default().to_vec()),
        }
    }

    /// Appends what a function makes of the times; false: it is null.
    pub(super) fn write(&self, what: PartOf, out: &mut Vec<u8>) -> bool {
        let one = |written: &Option<Written>| -> Option<Vec<u8>> {
            let written = (*written)?;
            match what {
                PartOf::Ttl => Some(written.seconds_left?.to_be_bytes().to_vec()),
                _ => Some(written.timestamp.to_be_bytes().to_vec()),
            }
        };
        let single = match (self, what) {
            (Times::One(written), _) => one(written),
            (Times::Many(all), PartOf::MaxWriteTime) => {
                one(&all.iter().flatten().max_by_key(|written| written.timestamp).copied())
            }
            (Times::Many(all), _) => {
                if all.is_empty() {
                    return false;
                }
                let count = i32::try_from(all.len()).expect("a row has fewer cells");
                out.extend_from_slice(&count.to_be_bytes());
                all.iter().for_each(|written| push_field(one(written).as_deref(), out));
                return true;
            }
        };
        match single {
            Some(bytes) => {
                out.extend_from_slice(&bytes);
                true
            }
            None => false,
        }
    }
}
