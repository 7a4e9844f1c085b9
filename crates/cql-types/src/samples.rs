//! Types and values that the property tests draw from, of this crate and of those that stand on it (feature `samples`).
//!
//! ```text
//! type_and_values ─► a type of TYPES, or a random one of `nested`, with two values that `validate` accepts: `value`
//! type_and_constant ─► a random type, with a value that a constant of it has: `constant`
//! ```
//!
//! A *constant* is a value in the one form that text has for it. Others are values too, but no text gives them back: numbers with zeros
//! before them, sets out of order, the empty values of types whose constants have no empty form.

use num_bigint::BigInt;
use proptest::collection::{SizeRange, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::class_name::PACKAGE;
use crate::{ByClass, CqlType, Duration, Field, compose};

/// A marshal class's name as Cassandra writes it in full, from one without its package: `ListType(Int32Type)`.
pub fn full_class_name(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_uppercase()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |length| at + length);
        out.push_str(&rest[..at]);
        out.push_str(PACKAGE);
        out.push_str(&rest[at..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// Every native type but counters, which stand in no other type.
pub const NATIVES: [&str; 19] = [
    "ascii",
    "bigint",
    "blob",
    "boolean",
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
];

/// Types of one cell that are put together of others: some of each kind.
pub const FROZEN: [&str; 12] = [
    "frozen<list<int>>",
    "frozen<set<text>>",
    "frozen<map<int, text>>",
    "frozen<list<frozen<list<varint>>>>",
    "tuple<int, text>",
    "tuple<decimal, frozen<set<tinyint>>>",
    "vector<float, 2>",
    "vector<text, 2>",
    "vector<smallint, 2>",
    "'LexicalUUIDType'",
    "'CompositeType(UTF8Type,ReversedType(Int32Type),LexicalUUIDType)'",
    "'DynamicCompositeType(s=>UTF8Type,i=>Int32Type,R=>ReversedType(Int32Type))'",
];

/// How deep random types nest: a native type stands at most so deep in them.
pub const DEPTH_MAX: u32 = 4;

/// One of [`NATIVES`], of [`FROZEN`], or a counter.
pub fn listed_type() -> impl Strategy<Value = CqlType> {
    let all: Vec<&str> = NATIVES.iter().chain(&FROZEN).chain(&["counter"]).copied().collect();
    select(all).prop_map(|text| CqlType::parse(text).expect("the list has types"))
}

/// Random types: collections, tuples, user-defined types and vectors of each other, frozen inside and maybe outside.
pub fn nested_type() -> impl Strategy<Value = CqlType> {
    let native = select(&NATIVES[..]).prop_map(|text| CqlType::parse(text).expect("the list has types"));
    let nested = native.prop_recursive(DEPTH_MAX, 16, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let names = Just(["a", "b_2", "Third", "the \"4th\""]);
        prop_oneof![
            boxed.clone().prop_map(|element| CqlType::List { element, frozen: true }),
            boxed.clone().prop_map(|element| CqlType::Set { element, frozen: true }),
            (boxed.clone(), boxed.clone()).prop_map(|(key, value)| CqlType::Map { key, value, frozen: true }),
            vec(inner.clone(), 1..4).prop_map(CqlType::Tuple),
            (names.prop_shuffle(), vec(inner, 1..4)).prop_map(|(names, types)| {
                let fields = names.iter().zip(types).map(|(name, ty)| Field { name: (*name).to_owned(), ty });
                let (keyspace, name) = ("ks".to_owned(), "sample".to_owned());
                CqlType::Udt { keyspace, name, fields: fields.collect(), frozen: true }
            }),
            (boxed, 1_u32..4).prop_map(|(element, dimension)| CqlType::Vector { element, dimension }),
        ]
    });
    (nested, any::<bool>()).prop_map(|(mut ty, is_frozen)| {
        if let CqlType::List { frozen, .. }
        | CqlType::Set { frozen, .. }
        | CqlType::Map { frozen, .. }
        | CqlType::Udt { frozen, .. } = &mut ty
        {
            *frozen = is_frozen;
        }
        ty
    })
}

/// A type and two of its values, which are often near each other or equal.
pub fn type_and_values() -> impl Strategy<Value = (CqlType, Vec<u8>, Vec<u8>)> {
    prop_oneof![2 => listed_type().boxed(), 1 => nested_type().boxed()].prop_flat_map(|ty| {
        let (a, b) = (value(&ty), value(&ty));
        (Just(ty), a, b)
    })
}

/// A random type and one of its constants.
pub fn type_and_constant() -> impl Strategy<Value = (CqlType, Vec<u8>)> {
    nested_type().prop_flat_map(|ty| {
        let constant = constant(&ty);
        (Just(ty), constant)
    })
}

/// Values that a constant of the type has, in the form that it gives them.
pub fn constant(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    let composed = |parts: BoxedStrategy<Vec<Option<Vec<u8>>>>| {
        let ty = ty.clone();
        let compose = move |parts: Vec<Option<Vec<u8>>>| {
            let parts: Vec<Option<&[u8]>> = parts.iter().map(Option::as_deref).collect();
            compose(&ty, &parts).expect("the parts are of the type")
        };
        parts.prop_map(compose).boxed()
    };
    match ty {
        CqlType::List { element, .. } | CqlType::Set { element, .. } => {
            composed(vec(constant(element).prop_map(Some), 0..4).boxed())
        }
        CqlType::Map { key, value, .. } => {
            let entries = vec((constant(key), constant(value)), 0..4);
            composed(
                entries.prop_map(|of| of.into_iter().flat_map(|(key, of)| [Some(key), Some(of)]).collect()).boxed(),
            )
        }
        CqlType::Tuple(types) => composed(types.iter().map(|ty| option::of(constant(ty))).collect::<Vec<_>>().boxed()),
        CqlType::Udt { fields, .. } => {
            composed(fields.iter().map(|field| option::of(constant(&field.ty))).collect::<Vec<_>>().boxed())
        }
        CqlType::Vector { element, dimension } => {
            composed(vec(constant(element).prop_map(Some), *dimension as usize).boxed())
        }
        native => native_constant(native),
    }
}

/// Constants of native types, of which many are at the edges.
fn native_constant(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
    let digits = || any::<i128>().prop_map(|number| BigInt::from(number).to_signed_bytes_be());
    // Of all that is no number there is one constant.
    let number = |bytes: &[u8], is_number: bool, nan: &[u8]| if is_number { bytes.to_vec() } else { nan.to_vec() };
    match ty {
        CqlType::Text => "[ -~\0é漢😀]{0,6}".prop_map(String::into_bytes).boxed(),
        CqlType::Ascii => "[ -~\0]{0,6}".prop_map(String::into_bytes).boxed(),
        CqlType::Boolean => any::<bool>().prop_map(|truth| vec![u8::from(truth)]).boxed(),
        CqlType::Float => any::<u32>()
            .prop_map(f32::from_bits)
            .prop_map(move |float| number(&float.to_be_bytes(), !float.is_nan(), &f32::NAN.to_be_bytes()))
            .boxed(),
        CqlType::Double => any::<u64>()
            .prop_map(f64::from_bits)
            .prop_map(move |double| number(&double.to_be_bytes(), !double.is_nan(), &f64::NAN.to_be_bytes()))
            .boxed(),
        CqlType::Varint => digits().boxed(),
        CqlType::Decimal => {
            (-400_i32..400, digits()).prop_map(|(scale, digits)| [&scale.to_be_bytes()[..], &digits].concat()).boxed()
        }
        // An IPv4 address in IPv6's form becomes one of IPv4: these begin otherwise.
        CqlType::Inet => prop_oneof![bytes(4), bytes(15).prop_map(|rest| [&[0x20][..], &rest].concat())].boxed(),
        // Years of four digits.
        CqlType::Timestamp => {
            (-62_135_596_800_000_i64..253_402_300_800_000).prop_map(|millis| millis.to_be_bytes().to_vec()).boxed()
        }
        // What has one form is what `value` gives.
        ty => value(ty).prop_filter("an empty value has no constant", |value| !value.is_empty()).boxed(),
    }
}

/// Bytes that [`crate::validate`] accepts.
pub fn value(ty: &CqlType) -> BoxedStrategy<Vec<u8>> {
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
        CqlType::Tuple(elements) => fields(elements.iter()),
        CqlType::Udt { fields: of, .. } => fields(of.iter().map(|field| &field.ty)),
        CqlType::Vector { element, dimension } => {
            let fixed = element.vector_element_len();
            vec(value(element).prop_filter("empty", |item| !item.is_empty()), *dimension as usize)
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
        CqlType::ByClass(class) if **class != ByClass::LexicalUuid => composite(class),
        other => match other.fixed_len() {
            Some(length) => bytes(length),
            None => bytes(0..4),
        },
    }
}

/// Values of a composite, with fewer components than it has types too, and with classes by name.
fn composite(class: &ByClass) -> BoxedStrategy<Vec<u8>> {
    let part = |header: Vec<u8>, ty: &CqlType| {
        value(ty)
            .prop_map(move |value| [&header[..], &(value.len() as u16).to_be_bytes(), &value, &[0]].concat())
            .boxed()
    };
    let parts = match class {
        ByClass::LexicalUuid => return bytes(16),
        ByClass::Composite(components) => {
            let parts: Vec<_> = components.iter().map(|component| part(Vec::new(), &component.ty)).collect();
            let count = parts.len();
            (parts, 0..=count).prop_map(|(parts, count)| parts[..count].to_vec()).boxed()
        }
        ByClass::DynamicComposite(aliases) => {
            let named = aliases.iter().flat_map(|(alias, component)| {
                let name = component.class_name();
                let by_name = [&(name.len() as u16).to_be_bytes()[..], name.as_bytes()].concat();
                [part(vec![0x80, *alias], &component.ty), part(by_name, &component.ty)]
            });
            vec(proptest::strategy::Union::new(named.collect::<Vec<_>>()), 0..3).boxed()
        }
    };
    (parts, select(&[0_u8, 1, 0xff][..]))
        .prop_map(|(parts, end)| {
            let mut value = parts.concat();
            if let Some(last) = value.last_mut() {
                *last = end;
            }
            value
        })
        .boxed()
}

fn fields<'t>(types: impl Iterator<Item = &'t CqlType>) -> BoxedStrategy<Vec<u8>> {
    types
        .map(|ty| option::of(value(ty)).boxed())
        .collect::<Vec<_>>()
        .prop_map(|items| items.iter().flat_map(|item| with_length(item.as_deref())).collect())
        .boxed()
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
