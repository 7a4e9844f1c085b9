//! The values of a column: which there are, and how they follow from a seed.
//!
//! As in cassandra-stress a value is made in two steps. A number, its identity, is drawn from the column's population; the value follows from the
//! identity alone. So a column has as many values as its population has numbers (or its type values), and the same ones in each partition.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use scylla::cluster::metadata::{CollectionType, ColumnType, NativeType};
use scylla::value::{Counter, CqlDate, CqlDecimal, CqlTime, CqlTimestamp, CqlTimeuuid, CqlValue, CqlVarint};

use super::super::filler::Filler;
use super::super::settings::ColumnSpec;
use crate::distribution::Distribution;
use crate::random::{fraction, mix};

/// Milliseconds of fifty years, from which times are drawn unless it is said otherwise.
const FIFTY_YEARS_MS: u64 = 50 * 365 * 86_400_000;
/// Nanoseconds of a day.
const DAY_NANOS: u64 = 86_400_000_000_000;
/// When the time of UUIDs begins, before 1970, in units of 100 ns (RFC 9562).
const UUID_EPOCH: u64 = 0x01b2_1dd2_1381_4000;

/// A type that values can be made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueType {
    Ascii,
    BigInt,
    Blob,
    Boolean,
    Counter,
    Date,
    Decimal,
    Double,
    Float,
    Inet,
    Int,
    SmallInt,
    Text,
    Time,
    Timestamp,
    Timeuuid,
    TinyInt,
    Uuid,
    Varint,
    List(Box<ValueType>),
    Set(Box<ValueType>),
}

impl ValueType {
    /// The type of a column; none if it is one that values cannot be made of.
    pub(crate) fn of(column: &ColumnType<'_>) -> Option<ValueType> {
        match column {
            ColumnType::Native(native) => ValueType::of_native(native),
            ColumnType::Collection { typ: CollectionType::List(element), .. } => {
                Some(ValueType::List(Box::new(ValueType::of_element(element)?)))
            }
            ColumnType::Collection { typ: CollectionType::Set(element), .. } => {
                Some(ValueType::Set(Box::new(ValueType::of_element(element)?)))
            }
            _ => None,
        }
    }

    fn of_element(element: &ColumnType<'_>) -> Option<ValueType> {
        match element {
            ColumnType::Native(native) => ValueType::of_native(native),
            _ => None,
        }
    }

    fn of_native(native: &NativeType) -> Option<ValueType> {
        Some(match native {
            NativeType::Ascii => ValueType::Ascii,
            NativeType::BigInt => ValueType::BigInt,
            NativeType::Blob => ValueType::Blob,
            NativeType::Boolean => ValueType::Boolean,
            NativeType::Counter => ValueType::Counter,
            NativeType::Date => ValueType::Date,
            NativeType::Decimal => ValueType::Decimal,
            NativeType::Double => ValueType::Double,
            NativeType::Float => ValueType::Float,
            NativeType::Inet => ValueType::Inet,
            NativeType::Int => ValueType::Int,
            NativeType::SmallInt => ValueType::SmallInt,
            NativeType::Text => ValueType::Text,
            NativeType::Time => ValueType::Time,
            NativeType::Timestamp => ValueType::Timestamp,
            NativeType::Timeuuid => ValueType::Timeuuid,
            NativeType::TinyInt => ValueType::TinyInt,
            NativeType::Uuid => ValueType::Uuid,
            NativeType::Varint => ValueType::Varint,
            _ => return None,
        })
    }

    /// Which values there are, unless it is said.
    fn population(&self) -> Distribution {
        let most = match self {
            ValueType::Timestamp | ValueType::Timeuuid => FIFTY_YEARS_MS,
            ValueType::List(element) | ValueType::Set(element) => return element.population(),
            _ => 100_000_000_000,
        };
        format!("UNIFORM(1..{most})").parse().expect("is a distribution")
    }
}

/// What makes a column's values.
#[derive(Debug)]
pub(crate) struct Generator {
    of_type: ValueType,
    /// The column's own randomness.
    salt: u64,
    population: Distribution,
    size: Distribution,
    cluster: Distribution,
}

/// What long values are made of.
#[derive(Debug)]
pub(crate) struct Fillers {
    bytes: Filler,
    text: Filler,
}

impl Fillers {
    pub(crate) fn new() -> Fillers {
        Fillers { bytes: Filler::bytes(), text: Filler::text() }
    }
}

impl Generator {
    pub(crate) fn new(name: &str, of_type: ValueType, spec: &ColumnSpec) -> Generator {
        let default = |text: &str| text.parse().expect("is a distribution");
        Generator {
            salt: name.bytes().fold(0x7072_6f66, |salt, byte| mix(salt ^ u64::from(byte))),
            population: spec.population.clone().unwrap_or_else(|| of_type.population()),
            size: spec.size.clone().unwrap_or_else(|| default("UNIFORM(4..8)")),
            cluster: spec.cluster.clone().unwrap_or_else(|| default("FIXED(1)")),
            of_type,
        }
    }

    /// How many values a clustering column has at least and at most for each of those before it.
    pub(crate) fn cluster_range(&self) -> (u64, u64) {
        self.cluster.range()
    }

    /// How many values a clustering column tries to have below this seed: some may be the same.
    pub(crate) fn cluster_size(&self, seed: u64) -> u64 {
        self.cluster.draw(self.salted(seed ^ 0x636c_7573))
    }

    /// The value of a seed.
    pub(crate) fn value(&self, seed: u64, fillers: &Fillers) -> CqlValue {
        self.nth(seed, 0, fillers)
    }

    /// The value of that number, from 0, of those below a seed.
    pub(crate) fn nth(&self, seed: u64, number: u64, fillers: &Fillers) -> CqlValue {
        let first = if self.population.is_sequence() { seed } else { self.salted(seed) };
        let identity = self.population.draw(first.wrapping_add(number));
        match &self.of_type {
            ValueType::List(element) => {
                let elements = self.elements(seed, number);
                CqlValue::List(elements.map(|identity| self.of_identity(element, identity, fillers)).collect())
            }
            ValueType::Set(element) => {
                let elements: BTreeSet<u64> = self.elements(seed, number).collect();
                let values = elements.into_iter().map(|identity| self.of_identity(element, identity, fillers));
                CqlValue::Set(values.collect())
            }
            of_type => self.of_identity(of_type, identity, fillers),
        }
    }

    fn salted(&self, seed: u64) -> u64 {
        mix(seed ^ self.salt)
    }

    /// The identities of a collection's elements.
    fn elements(&self, seed: u64, number: u64) -> impl Iterator<Item = u64> {
        let own = self.salted(mix(seed).wrapping_add(number));
        (0..self.size.draw(own)).map(move |element| self.population.draw(own.wrapping_add(element)))
    }

    fn of_identity(&self, of_type: &ValueType, identity: u64, fillers: &Fillers) -> CqlValue {
        let own = self.salted(mix(identity));
        let size = || self.size.draw(own) as usize;
        match of_type {
            ValueType::Ascii => CqlValue::Ascii(fillers.text.string(own, size())),
            ValueType::Text => CqlValue::Text(fillers.text.string(own, size())),
            ValueType::Blob => {
                let mut bytes = Vec::new();
                fillers.bytes.fill(own, size(), &mut bytes);
                CqlValue::Blob(bytes)
            }
            ValueType::BigInt => CqlValue::BigInt(identity as i64),
            ValueType::Counter => CqlValue::Counter(Counter(identity as i64)),
            // What a narrow type cannot hold loses its upper bits.
            ValueType::Int => CqlValue::Int(identity as i32),
            ValueType::SmallInt => CqlValue::SmallInt(identity as i16),
            ValueType::TinyInt => CqlValue::TinyInt(identity as i8),
            ValueType::Varint => CqlValue::Varint(CqlVarint::from_signed_bytes_be(shortest(identity))),
            ValueType::Decimal => {
                CqlValue::Decimal(CqlDecimal::from_signed_be_bytes_and_exponent(shortest(identity), 0))
            }
            ValueType::Boolean => CqlValue::Boolean(identity.is_multiple_of(2)),
            ValueType::Double => CqlValue::Double(self.fractional(identity)),
            ValueType::Float => CqlValue::Float(self.fractional(identity) as f32),
            ValueType::Date => CqlValue::Date(CqlDate((identity as u32).wrapping_add(1 << 31))),
            ValueType::Time => CqlValue::Time(CqlTime((identity % DAY_NANOS) as i64)),
            ValueType::Timestamp => CqlValue::Timestamp(CqlTimestamp(identity as i64)),
            ValueType::Inet => CqlValue::Inet(IpAddr::V4(Ipv4Addr::from(identity as u32))),
            ValueType::Uuid => CqlValue::Uuid(uuid(mix(identity), own, 4).into()),
            ValueType::Timeuuid => CqlValue::Timeuuid(timeuuid(identity, self.salt)),
            ValueType::List(_) | ValueType::Set(_) => unreachable!("nested collections are not supported"),
        }
    }

    /// A number between an identity and the next, within the population.
    fn fractional(&self, identity: u64) -> f64 {
        (identity as f64 + fraction(self.salted(identity))).min(self.population.range().1 as f64)
    }
}

/// The bytes of a number that is not negative, no more than it takes.
fn shortest(number: u64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let zeros = bytes[..7].iter().take_while(|byte| **byte == 0).count();
    // The first bit is the sign.
    let zeros = if bytes[zeros] & 0x80 != 0 { zeros.saturating_sub(1) } else { zeros };
    bytes[zeros..].to_vec()
}

/// A UUID of these bits, of which the version and the variant are overwritten.
fn uuid(upper: u64, lower: u64, version: u64) -> CqlTimeuuid {
    let upper = upper & !0xf000 | version << 12;
    let lower = lower & !(0b11 << 62) | 0b10 << 62;
    CqlTimeuuid::from_bytes((u128::from(upper) << 64 | u128::from(lower)).to_be_bytes())
}

/// The UUID of a time in milliseconds since 1970.
fn timeuuid(millis: u64, node: u64) -> CqlTimeuuid {
    let time = millis.wrapping_mul(10_000).wrapping_add(UUID_EPOCH);
    let upper = time << 32 | (time >> 32 & 0xffff) << 16 | (time >> 48 & 0x0fff);
    uuid(upper, node, 1)
}

/// A seed that a value is added to.
pub(crate) fn fold(seed: u64, value: &CqlValue) -> u64 {
    let number = |number: u64| mix(mix(seed) ^ number);
    let bytes = |bytes: &[u8]| bytes.iter().fold(mix(seed), |seed, byte| mix(seed ^ u64::from(*byte)));
    match value {
        CqlValue::Ascii(text) | CqlValue::Text(text) => bytes(text.as_bytes()),
        CqlValue::Blob(blob) => bytes(blob),
        CqlValue::BigInt(value) => number(*value as u64),
        CqlValue::Boolean(value) => number(u64::from(*value)),
        CqlValue::Counter(value) => number(value.0 as u64),
        CqlValue::Date(value) => number(u64::from(value.0)),
        CqlValue::Decimal(value) => bytes(value.as_signed_be_bytes_slice_and_exponent().0),
        CqlValue::Double(value) => number(value.to_bits()),
        CqlValue::Float(value) => number(u64::from(value.to_bits())),
        CqlValue::Inet(IpAddr::V4(address)) => number(u64::from(address.to_bits())),
        CqlValue::Int(value) => number(*value as u64),
        CqlValue::SmallInt(value) => number(*value as u64),
        CqlValue::Time(value) => number(value.0 as u64),
        CqlValue::Timestamp(value) => number(value.0 as u64),
        CqlValue::Timeuuid(value) => bytes(value.as_bytes()),
        CqlValue::TinyInt(value) => number(*value as u64),
        CqlValue::Uuid(value) => bytes(value.as_bytes()),
        CqlValue::Varint(value) => bytes(value.as_signed_bytes_be_slice()),
        CqlValue::List(values) | CqlValue::Set(values) => values.iter().fold(mix(seed), fold),
        _ => unreachable!("cannot generate values of this type"),
    }
}

#[cfg(test)]
mod tests;
