//! Types and values that the property tests draw from.

use proptest::collection::{SizeRange, vec};
use proptest::prelude::*;

use crate::{CqlType, Duration};

/// Every native type, and some of each other kind.
pub(crate) const TYPES: [&str; 29] = [
    "ascii",
    "bigint",
    "blob",
    "boolean",
    "counter",
    "date",
    "decimal",
    "double",
    "duration",
    "float",
    "inet",
    "int",
    "smallint",
    "text",
    "time",
    "timestamp",
    "timeuuid",
    "tinyint",
    "uuid",
    "varint",
    "frozen<list<int>>",
    "frozen<set<text>>",
    "frozen<map<int, text>>",
    "frozen<list<frozen<list<varint>>>>",
    "tuple<int, text>",
    "tuple<decimal, frozen<set<tinyint>>>",
    "vector<float, 2>",
    "vector<text, 2>",
    "vector<smallint, 2>",
];

/// A type and two of its values, which are often near each other or equal.
pub(crate) fn type_and_values() -> impl Strategy<Value = (CqlType, Vec<u8>, Vec<u8>)> {
    (0..TYPES.len()).prop_flat_map(|which| {
        let ty = CqlType::parse(TYPES[which]).unwrap();
        (Just(ty.clone()), value(&ty), value(&ty))
    })
}

/// Bytes that [`crate::validate`] accepts.
pub(crate) fn value(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    match ty {
        CqlType::Ascii | CqlType::Text => vec(prop_oneof![Just('\0'), Just('a'), Just('b'), Just('\u{7f}')], 0..4)
            .prop_map(|characters| characters.into_iter().collect::<String>().into_bytes())
            .boxed(),
        CqlType::Boolean => prop_oneof![Just(vec![]), Just(vec![0]), Just(vec![1])].boxed(),
        CqlType::Inet => prop_oneof![Just(0_usize), Just(4), Just(16)].prop_flat_map(bytes).boxed(),
        CqlType::Varint => bytes(0..4),
        CqlType::Decimal => (any::<bool>(), -3_i32..3, bytes(1..4))
            .prop_map(|(empty, scale, unscaled)| match empty {
                true => Vec::new(),
                false => [&scale.to_be_bytes()[..], &unscaled].concat(),
            })
            .boxed(),
        CqlType::Duration => (any::<bool>(), 0..30_i32, 0..40_i32, 0..i64::MAX)
            .prop_map(|(negative, months, days, nanos)| {
                let sign = if negative { -1 } else { 1 };
                let mut out = Vec::new();
                Duration { months: sign * months, days: sign * days, nanos: i64::from(sign) * nanos }.encode(&mut out);
                out
            })
            .boxed(),
        CqlType::Timeuuid => bytes(16)
            .prop_map(|mut uuid| {
                uuid[6] = 0x10 | uuid[6] & 0x0f;
                uuid
            })
            .boxed(),
        // A time of day, as Cassandra's drivers send it; a longer one has no text.
        CqlType::Time => (0..86_400_000_000_000_i64).prop_map(|nanos| nanos.to_be_bytes().to_vec()).boxed(),
        // A year of at most nine digits.
        CqlType::Timestamp => {
            (-9_000_000_000_000_000_i64..9_000_000_000_000_000).prop_map(|millis| millis.to_be_bytes().to_vec()).boxed()
        }
        CqlType::List { element, .. } | CqlType::Set { element, .. } => {
            vec(value(element), 0..3).prop_map(|items| counted(items.len(), &items)).boxed()
        }
        CqlType::Map { key, value: of, .. } => vec((value(key), value(of)), 0..3)
            .prop_map(|entries| {
                let items: Vec<_> = entries.iter().flat_map(|(key, value)| [key.clone(), value.clone()]).collect();
                counted(entries.len(), &items)
            })
            .boxed(),
        CqlType::Tuple(elements) => elements
            .iter()
            .map(|element| proptest::option::of(value(element)).boxed())
            .collect::<Vec<_>>()
            .prop_map(|items| items.iter().flat_map(|item| with_length(item.as_deref())).collect())
            .boxed(),
        CqlType::Vector { element, dimension } => {
            let fixed = element.vector_element_len();
            vec(value(element).prop_filter("empty", |item| !item.is_empty()), usize::from(*dimension))
                .prop_map(move |items| {
                    let mut out = Vec::new();
                    for item in items {
                        if fixed.is_none() {
                            stdx::varint::encode(item.len() as u64, &mut out);
                        }
                        out.extend(item);
                    }
                    out
                })
                .boxed()
        }
        other => match other.fixed_len() {
            Some(length) => bytes(length),
            None => bytes(0..4),
        },
    }
}

/// Bytes of which many are at the edges of signs and lengths.
fn bytes(length: impl Into<SizeRange>) -> BoxedStrategy<Vec<u8>> {
    vec(prop_oneof![Just(0_u8), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()], length).boxed()
}

fn counted(count: usize, items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = (count as i32).to_be_bytes().to_vec();
    out.extend(items.iter().flat_map(|item| with_length(Some(item))));
    out
}

fn with_length(item: Option<&[u8]>) -> Vec<u8> {
    match item {
        Some(item) => [&(item.len() as i32).to_be_bytes()[..], item].concat(),
        None => (-1_i32).to_be_bytes().to_vec(),
    }
}
