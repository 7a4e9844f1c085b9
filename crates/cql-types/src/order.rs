//! Sets and maps in order: what a client may send in any order, and with repetitions, is kept in one form. As in Cassandra, which takes apart
//! what it is sent only where it must: the bytes of tuples and user-defined types stay as they were sent wherever they are, and those of a
//! vector that is not inside of a collection.

use std::borrow::Cow;

use stdx::{Reader, varint};

use crate::{CqlType, compare, compose, parts_of_collection};

/// True if a value of the type may hold a set or a map that is put in order.
pub fn has_order(ty: &CqlType) -> bool {
    ty.is_collection() && has_ordered_parts(ty)
}

/// The same of a type that is itself taken apart.
fn has_ordered_parts(ty: &CqlType) -> bool {
    match ty {
        CqlType::Set { .. } | CqlType::Map { .. } => true,
        CqlType::List { element, .. } | CqlType::Vector { element, .. } => has_ordered_parts(element),
        _ => false,
    }
}

/// The value, which [`crate::validate`] has accepted, with the sets and maps that Cassandra takes apart in the order of their elements or
/// keys, each once. Most are so already; then nothing is copied.
pub fn ordered<'v>(ty: &CqlType, value: &'v [u8]) -> Cow<'v, [u8]> {
    if has_order(ty) { with_ordered_parts(ty, value) } else { Cow::Borrowed(value) }
}

/// The same of a value that is itself taken apart.
fn with_ordered_parts<'v>(ty: &CqlType, value: &'v [u8]) -> Cow<'v, [u8]> {
    if !has_ordered_parts(ty) {
        return Cow::Borrowed(value);
    }
    match ty {
        CqlType::List { element, .. } => {
            let parts: Vec<_> = parts_of_collection(ty, value).map(|part| with_ordered_parts(element, part)).collect();
            composed(ty, value, &parts, is_changed(&parts))
        }
        CqlType::Set { element, .. } => {
            let parts: Vec<_> = parts_of_collection(ty, value).map(|part| with_ordered_parts(element, part)).collect();
            let is_sorted = parts.is_sorted_by(|a, b| compare(element, a, b).is_lt());
            composed(ty, value, &parts, !is_sorted || is_changed(&parts))
        }
        CqlType::Map { key, value: of, .. } => {
            let types = [key, of].into_iter().cycle();
            let parts = parts_of_collection(ty, value).zip(types).map(|(part, ty)| with_ordered_parts(ty, part));
            let parts: Vec<_> = parts.collect();
            let is_sorted = parts.chunks(2).is_sorted_by(|a, b| compare(key, &a[0], &b[0]).is_lt());
            composed(ty, value, &parts, !is_sorted || is_changed(&parts))
        }
        CqlType::Vector { element, .. } => {
            let mut reader = Reader::new(value);
            let parts = std::iter::from_fn(|| reader.varint_bytes().ok());
            let parts: Vec<_> = parts.map(|part| with_ordered_parts(element, part)).collect();
            if !is_changed(&parts) {
                return Cow::Borrowed(value);
            }
            let mut out = Vec::with_capacity(value.len());
            for part in parts {
                varint::encode(part.len() as u64, &mut out);
                out.extend_from_slice(&part);
            }
            Cow::Owned(out)
        }
        _ => Cow::Borrowed(value),
    }
}

fn is_changed(parts: &[Cow<'_, [u8]>]) -> bool {
    parts.iter().any(|part| matches!(part, Cow::Owned(_)))
}

fn composed<'v>(ty: &CqlType, value: &'v [u8], parts: &[Cow<'_, [u8]>], is_changed: bool) -> Cow<'v, [u8]> {
    if !is_changed {
        return Cow::Borrowed(value);
    }
    let parts: Vec<Option<&[u8]>> = parts.iter().map(|part| Some(&**part)).collect();
    // What was taken from one value is not too long for another, and has no nulls.
    compose(ty, &parts).map_or(Cow::Borrowed(value), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push_field;
    use proptest::prelude::*;

    proptest! {
        /// What was put in order is valid, stays as it is, and prints as what it was but for order and repetitions.
        #[test]
        fn to_put_in_order_twice_is_to_do_it_once((ty, value, _) in crate::samples::type_and_values()) {
            let once = ordered(&ty, &value).into_owned();
            prop_assert_eq!(crate::validate(&ty, &once), Ok(()));
            let twice = ordered(&ty, &once);
            prop_assert!(matches!(twice, Cow::Borrowed(_)), "{} {:?}", ty, once);
            if !has_order(&ty) {
                prop_assert_eq!(&once, &value);
            }
        }
    }

    #[test]
    fn sets_and_maps_are_put_in_order_wherever_they_are() {
        let parts = |parts: &[&[u8]]| {
            let ty = CqlType::parse("list<blob>").unwrap();
            compose(&ty, &parts.iter().map(|part| Some(*part)).collect::<Vec<_>>()).unwrap()
        };
        let set = parts(&[b"b", b"a", b"b"]);
        let show = |ty: &str, value: &[u8]| {
            let ty = CqlType::parse(ty).unwrap();
            crate::print(&ty, &ordered(&ty, value))
        };
        assert_eq!(show("frozen<set<ascii>>", &set), "{'a', 'b'}");
        let sets = parts(&[&set, &parts(&[b"c"])]);
        assert_eq!(show("list<frozen<set<ascii>>>", &sets), "[{'a', 'b'}, {'c'}]");
        // Of one key's values the last stays.
        let mut map = parts(&[b"b", b"1", b"a", b"2", b"b", b"3"]);
        map[..4].copy_from_slice(&3_i32.to_be_bytes());
        assert_eq!(show("map<ascii, ascii>", &map), "{'a': '2', 'b': '3'}");
        let mut tuple = Vec::new();
        push_field(None, &mut tuple);
        push_field(Some(&set), &mut tuple);
        assert_eq!(show("tuple<int, frozen<set<ascii>>>", &tuple), "(null, {'b', 'a', 'b'})", "a tuple's bytes stay");
        let mut vector = vec![u8::try_from(set.len()).unwrap()];
        vector.extend_from_slice(&set);
        assert_eq!(show("vector<frozen<set<ascii>>, 1>", &vector), "[{'b', 'a', 'b'}]", "a vector's bytes stay");
        let list = parts(&[&vector]);
        assert_eq!(show("list<vector<frozen<set<ascii>>, 1>>", &list), "[[{'a', 'b'}]]", "but inside of a collection");
        let list = parts(&[&tuple]);
        assert_eq!(show("list<tuple<int, frozen<set<ascii>>>>", &list), "[(null, {'b', 'a', 'b'})]");
    }
}
