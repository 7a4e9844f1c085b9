//! How a result describes a type: a code, and what the code needs. (Source: `native_protocol_v5.spec`, 4.2.5.2.)
//!
//! A type without a code in the version at hand is "custom", named by Cassandra's Java class, from which drivers know it:
//! vectors in all versions, durations before version 5, dates, times and the short integers in version 3.

use cql_types::{CqlType, Field, NESTING_DEPTH_MAX};
use stdx::Reader;

use crate::{DecodeError, Version, class_name, notation};

const CUSTOM: u16 = 0x00;
const LIST: u16 = 0x20;
const MAP: u16 = 0x21;
const SET: u16 = 0x22;
const UDT: u16 = 0x30;
const TUPLE: u16 = 0x31;

/// Appends a type. Whether it is frozen is not told: clients need not know.
pub fn write_type(out: &mut Vec<u8>, version: Version, ty: &CqlType) {
    if !has_code(version, ty) {
        return write_class(out, &class_name::of(ty));
    }
    match ty {
        CqlType::Custom(class) => write_class(out, class),
        CqlType::Vector { .. } | CqlType::ByClass(_) | CqlType::Empty => write_class(out, &class_name::of(ty)),
        CqlType::List { element, .. } => {
            write_code(out, LIST);
            write_type(out, version, element);
        }
        CqlType::Set { element, .. } => {
            write_code(out, SET);
            write_type(out, version, element);
        }
        CqlType::Map { key, value, .. } => {
            write_code(out, MAP);
            write_type(out, version, key);
            write_type(out, version, value);
        }
        CqlType::Tuple(elements) => {
            write_code(out, TUPLE);
            write_count(out, elements.len());
            for element in elements {
                write_type(out, version, element);
            }
        }
        CqlType::Udt { keyspace, name, fields, .. } => {
            write_code(out, UDT);
            notation::write_string(out, keyspace);
            notation::write_string(out, name);
            write_count(out, fields.len());
            for field in fields {
                notation::write_string(out, &field.name);
                write_type(out, version, &field.ty);
            }
        }
        native => write_code(out, native.protocol_code()),
    }
}

/// Whether the version has a code for a native type.
fn has_code(version: Version, ty: &CqlType) -> bool {
    match ty {
        CqlType::Duration => version >= Version::V5,
        CqlType::Date | CqlType::Time | CqlType::Smallint | CqlType::Tinyint => version >= Version::V4,
        _ => true,
    }
}

fn write_code(out: &mut Vec<u8>, code: u16) {
    out.extend_from_slice(&code.to_be_bytes());
}

fn write_count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).expect("tuples and user-defined types have at most 65,535 fields");
    out.extend_from_slice(&count.to_be_bytes());
}

fn write_class(out: &mut Vec<u8>, class: &str) {
    write_code(out, CUSTOM);
    notation::write_string(out, class);
}

/// Reads a type. Collections and user-defined types come out as not frozen, since that is not told.
pub fn read_type(reader: &mut Reader<'_>, _version: Version) -> Result<CqlType, DecodeError> {
    read_nested(reader, 0)
}

fn read_nested(reader: &mut Reader<'_>, depth: usize) -> Result<CqlType, DecodeError> {
    if depth > NESTING_DEPTH_MAX {
        return Err(DecodeError::TypeTooDeep { limit: NESTING_DEPTH_MAX });
    }
    let inner = |reader: &mut Reader<'_>| read_nested(reader, depth + 1);
    Ok(match reader.u16()? {
        CUSTOM => class_name::parse(notation::read_string(reader)?),
        LIST => CqlType::List { element: Box::new(inner(reader)?), frozen: false },
        SET => CqlType::Set { element: Box::new(inner(reader)?), frozen: false },
        MAP => CqlType::Map { key: Box::new(inner(reader)?), value: Box::new(inner(reader)?), frozen: false },
        TUPLE => {
            let count = reader.u16()?;
            CqlType::Tuple((0..count).map(|_| inner(reader)).collect::<Result<_, _>>()?)
        }
        UDT => {
            let keyspace = notation::read_string(reader)?.to_owned();
            let name = notation::read_string(reader)?.to_owned();
            let count = reader.u16()?;
            let field = |reader: &mut Reader<'_>| {
                Ok::<_, DecodeError>(Field { name: notation::read_string(reader)?.to_owned(), ty: inner(reader)? })
            };
            let fields = (0..count).map(|_| field(reader)).collect::<Result<_, _>>()?;
            CqlType::Udt { keyspace, name, fields, frozen: false }
        }
        code => {
            let unknown = DecodeError::UnknownCode { what: "a type", code: u32::from(code) };
            CqlType::from_protocol_code(code).ok_or(unknown)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(text: &str, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        write_type(&mut out, version, &CqlType::parse(text).unwrap());
        out
    }

    #[test]
    fn codes_are_the_protocols() {
        assert_eq!(bytes_of("text", Version::V4), [0, 0x0d]);
        assert_eq!(bytes_of("map<int, frozen<list<blob>>>", Version::V5), [0, 0x21, 0, 9, 0, 0x20, 0, 3]);
        assert_eq!(bytes_of("tuple<tinyint, date>", Version::V5), [0, 0x31, 0, 2, 0, 0x14, 0, 0x11]);
        assert_eq!(bytes_of("duration", Version::V5), [0, 0x15]);
        let custom = bytes_of("duration", Version::V4);
        assert_eq!(custom[..4], [0, 0, 0, 44]);
        assert_eq!(custom[4..], *b"org.apache.cassandra.db.marshal.DurationType");
    }

    #[test]
    fn types_round_trip() {
        let address = CqlType::Udt {
            keyspace: "ks".into(),
            name: "address".into(),
            fields: vec![Field { name: "street".into(), ty: CqlType::Text }],
            frozen: false,
        };
        let mut types = vec![address, CqlType::Custom("org.example.Odd".into())];
        let texts = [
            "date",
            "frozen<tuple<time, smallint>>",
            "tinyint",
            "set<uuid>",
            "tuple<int, map<text, set<inet>>>",
            "vector<float, 1536>",
            "duration",
            "counter",
        ];
        types.extend(texts.map(|text| CqlType::parse(text).unwrap()));
        for version in Version::ALL {
            for ty in &types {
                let mut out = Vec::new();
                write_type(&mut out, version, ty);
                let mut reader = Reader::new(&out);
                assert_eq!(read_type(&mut reader, version).as_ref(), Ok(ty));
                assert!(reader.is_empty());
                for cut in 0..out.len() {
                    assert!(read_type(&mut Reader::new(&out[..cut]), version).is_err(), "{ty} cut at {cut}");
                }
            }
        }
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let bytes = [0u8, 0x20].repeat(1_000_000);
        assert_eq!(
            read_type(&mut Reader::new(&bytes), Version::V4),
            Err(DecodeError::TypeTooDeep { limit: NESTING_DEPTH_MAX })
        );
        let bytes = [0u8, 0x31, 0, 1].repeat(1_000_000);
        assert!(read_type(&mut Reader::new(&bytes), Version::V4).is_err());
    }
}
