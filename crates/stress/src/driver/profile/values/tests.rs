//! Values follow from their seed, are of their type, and are as many as the population says.

use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::CellWriter;

use super::*;

const NATIVE: [(NativeType, ValueType); 19] = [
    (NativeType::Ascii, ValueType::Ascii),
    (NativeType::BigInt, ValueType::BigInt),
    (NativeType::Blob, ValueType::Blob),
    (NativeType::Boolean, ValueType::Boolean),
    (NativeType::Counter, ValueType::Counter),
    (NativeType::Date, ValueType::Date),
    (NativeType::Decimal, ValueType::Decimal),
    (NativeType::Double, ValueType::Double),
    (NativeType::Float, ValueType::Float),
    (NativeType::Inet, ValueType::Inet),
    (NativeType::Int, ValueType::Int),
    (NativeType::SmallInt, ValueType::SmallInt),
    (NativeType::Text, ValueType::Text),
    (NativeType::Time, ValueType::Time),
    (NativeType::Timestamp, ValueType::Timestamp),
    (NativeType::Timeuuid, ValueType::Timeuuid),
    (NativeType::TinyInt, ValueType::TinyInt),
    (NativeType::Uuid, ValueType::Uuid),
    (NativeType::Varint, ValueType::Varint),
];

fn generator(name: &str, of_type: ValueType, size: Option<&str>, population: Option<&str>) -> Generator {
    let parse = |text: &str| text.parse().unwrap();
    let spec = ColumnSpec { size: size.map(parse), population: population.map(parse), cluster: None };
    Generator::new(name, of_type, &spec)
}

/// The value as the driver sends it to a column of the type.
fn sent(value: &CqlValue, column: &ColumnType<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.serialize(column, CellWriter::new(&mut bytes)).unwrap_or_else(|error| panic!("{column:?}: {error}"));
    bytes
}

#[test]
fn values_of_all_types_follow_from_their_seed() {
    let fillers = Fillers::new();
    for (native, of_type) in NATIVE {
        let element = || Box::new(ColumnType::Native(native.clone()));
        let collection = |typ| ColumnType::Collection { frozen: false, typ };
        for column in [
            ColumnType::Native(native.clone()),
            collection(CollectionType::List(element())),
            collection(CollectionType::Set(element())),
        ] {
            let taken = ValueType::of(&column).unwrap();
            assert!(!matches!(column, ColumnType::Native(_)) || taken == of_type);
            let (one, again) = (generator("c", taken.clone(), None, None), generator("c", taken, None, None));
            let mut met = std::collections::BTreeSet::new();
            for seed in 0..200 {
                let value = one.value(seed, &fillers);
                assert_eq!(value, again.value(seed, &fillers), "{column:?}");
                assert_eq!(fold(7, &value), fold(7, &again.value(seed, &fillers)));
                met.insert(sent(&value, &column));
            }
            let least = if column == ColumnType::Native(NativeType::Boolean) { 2 } else { 50 };
            assert!(met.len() >= least, "{column:?}: only {} values", met.len());
        }
    }
    assert_eq!(ValueType::of(&ColumnType::Native(NativeType::Duration)), None);
    let element = Box::new(ColumnType::Native(NativeType::Int));
    let map = CollectionType::Map(element.clone(), element.clone());
    assert_eq!(ValueType::of(&ColumnType::Collection { frozen: true, typ: map }), None);
    let list = ColumnType::Collection { frozen: true, typ: CollectionType::List(element) };
    let lists = CollectionType::List(Box::new(list));
    assert_eq!(ValueType::of(&ColumnType::Collection { frozen: true, typ: lists }), None);
}

#[test]
fn there_are_as_many_values_as_the_population_has() {
    let fillers = Fillers::new();
    let texts = generator("c", ValueType::Text, Some("FIXED(20)"), Some("UNIFORM(1..10)"));
    let met: std::collections::BTreeSet<u64> = (0..1_000).map(|seed| fold(0, &texts.value(seed, &fillers))).collect();
    assert_eq!(met.len(), 10);
    let other = generator("d", ValueType::Text, Some("FIXED(20)"), Some("UNIFORM(1..10)"));
    assert_ne!(texts.value(3, &fillers), other.value(3, &fillers), "columns differ");
    let sequence = generator("c", ValueType::Int, None, Some("SEQ(5..7)"));
    let values: Vec<CqlValue> = (0..4).map(|seed| sequence.value(seed, &fillers)).collect();
    assert_eq!(values, [5, 6, 7, 5].map(CqlValue::Int));
}

#[test]
fn sizes_are_those_that_are_said() {
    let fillers = Fillers::new();
    let sizes = |of_type: ValueType| {
        let generator = generator("c", of_type, Some("UNIFORM(3..6)"), None);
        let size = |seed| match generator.value(seed, &fillers) {
            CqlValue::Text(text) => text.len(),
            CqlValue::Blob(bytes) => bytes.len(),
            CqlValue::List(values) | CqlValue::Set(values) => values.len(),
            other => panic!("{other:?}"),
        };
        (0..500).map(size).collect::<std::collections::BTreeSet<usize>>()
    };
    for of_type in [ValueType::Text, ValueType::Blob, ValueType::List(Box::new(ValueType::Int))] {
        assert_eq!(sizes(of_type).into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }
    let fixed = generator("c", ValueType::Set(Box::new(ValueType::BigInt)), Some("FIXED(5)"), None);
    assert!((0..100).all(|seed| matches!(fixed.value(seed, &fillers), CqlValue::Set(values) if values.len() == 5)));
}

#[test]
fn numbers_that_are_made_of_bytes_have_no_more_than_they_take() {
    for (number, bytes) in [
        (0, vec![0]),
        (5, vec![5]),
        (127, vec![127]),
        (128, vec![0, 128]),
        (256, vec![1, 0]),
        (100_000_000_000, vec![0x17, 0x48, 0x76, 0xe8, 0x00]),
        (u64::MAX >> 1, vec![127, 255, 255, 255, 255, 255, 255, 255]),
    ] {
        assert_eq!(shortest(number), bytes, "{number}");
    }
}

#[test]
fn uuids_have_their_version_and_time() {
    let time = timeuuid(1_700_000_000_000, 9);
    let bytes = time.as_bytes();
    assert_eq!((bytes[6] >> 4, bytes[8] >> 6), (1, 0b10));
    let low = u64::from(u32::from_be_bytes(bytes[..4].try_into().unwrap()));
    let middle = u64::from(u16::from_be_bytes(bytes[4..6].try_into().unwrap()));
    let high = u64::from(u16::from_be_bytes(bytes[6..8].try_into().unwrap()) & 0xfff);
    assert_eq!(((high << 48 | middle << 32 | low) - UUID_EPOCH) / 10_000, 1_700_000_000_000);
    let random = uuid(u64::MAX, u64::MAX, 4);
    assert_eq!((random.as_bytes()[6] >> 4, random.as_bytes()[8] >> 6), (4, 0b10));
}
