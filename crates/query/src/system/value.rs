//! Values of system tables and descriptions in the native protocol's form.

use std::collections::BTreeMap;
use std::net::IpAddr;

/// A value that a row may lack.
pub(crate) type Value = Option<Vec<u8>>;

pub(crate) fn text(value: &str) -> Value {
    Some(value.as_bytes().to_vec())
}

pub(crate) fn boolean(value: bool) -> Value {
    Some(vec![u8::from(value)])
}

pub(super) fn int(value: i32) -> Value {
    Some(value.to_be_bytes().to_vec())
}

/// A count as an int; what does not fit is the largest int.
pub(super) fn count(value: u32) -> Value {
    int(i32::try_from(value).unwrap_or(i32::MAX))
}

pub(super) fn bigint(value: i64) -> Value {
    Some(value.to_be_bytes().to_vec())
}

pub(super) fn double(value: f64) -> Value {
    Some(value.to_be_bytes().to_vec())
}

/// Milliseconds since 1970.
pub(super) fn timestamp(millis: i64) -> Value {
    Some(millis.to_be_bytes().to_vec())
}

pub(super) fn uuid(value: [u8; 16]) -> Value {
    Some(value.to_vec())
}

pub(super) fn inet(address: IpAddr) -> Value {
    Some(match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    })
}

/// A set or list of texts in the given order; a set's must be sorted.
pub(crate) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> Value {
    let mut out = vec![0; 4];
    let mut length = 0i32;
    for value in values {
        push(&mut out, value.as_bytes());
        length += 1;
    }
    out[..4].copy_from_slice(&length.to_be_bytes());
    Some(out)
}

/// A list of booleans.
pub(super) fn booleans(values: impl ExactSizeIterator<Item = bool>) -> Value {
    let mut out = count(u32::try_from(values.len()).unwrap_or(u32::MAX))?;
    values.for_each(|value| push(&mut out, &[u8::from(value)]));
    Some(out)
}

/// A map of texts.
pub(crate) fn text_map(entries: &BTreeMap<String, String>) -> Value {
    blob_map(entries.iter().map(|(key, value)| (key.as_str(), value.as_bytes())))
}

/// A map of texts to blobs, with keys ascending.
pub(crate) fn blob_map<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Value {
    let mut out = vec![0; 4];
    let mut length = 0i32;
    for (key, value) in entries {
        push(&mut out, key.as_bytes());
        push(&mut out, value);
        length += 1;
    }
    out[..4].copy_from_slice(&length.to_be_bytes());
    Some(out)
}

/// A set or list of values in the given order; a set's must be sorted.
pub(super) fn blobs(values: impl IntoIterator<Item = Vec<u8>>) -> Value {
    let mut out = vec![0; 4];
    let mut length = 0i32;
    for value in values {
        push(&mut out, &value);
        length += 1;
    }
    out[..4].copy_from_slice(&length.to_be_bytes());
    Some(out)
}

/// A tuple of these values.
pub(super) fn tuple<const N: usize>(values: [&[u8]; N]) -> Vec<u8> {
    let mut out = Vec::new();
    values.iter().for_each(|value| push(&mut out, value));
    out
}

fn push(out: &mut Vec<u8>, element: &[u8]) {
    let length = i32::try_from(element.len()).expect("a system table's values are short");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(element);
}
