//! Types that a dropped column may come back with: values of the type that it had may still be held.
//!
//! Three relations, as Cassandra's `AbstractType` has them. A column's cells are of another type if its values are, are written in as
//! many bytes, and are as many cells ([`takes_cells`]). A value is of another type ([`takes_values`]) whatever its length: a `varint`
//! takes an `int`. Where values order something, as keys and elements of sets do, both types must order them alike ([`sorts_alike`]).
//!
//! The old type is a dropped column's, so it names no user-defined type: those are spelt out as tuples.

use cql_types::CqlType;

use crate::user_type::recorded;

/// True if a column of type `ty` can show what was written to one of type `old`. (Source: Cassandra's
/// `AbstractType.isSerializationCompatibleWith`.)
pub(super) fn takes_cells(ty: &CqlType, old: &CqlType) -> bool {
    use CqlType as T;
    let lengths_are_equal = ty.vector_element_len() == old.vector_element_len();
    if ty.is_multi_cell() != old.is_multi_cell() || !lengths_are_equal || !takes_values(ty, old) {
        return false;
    }
    // A collection's values are checked for their lengths too, a tuple's elements are not.
    match (ty, old) {
        (T::List { element: value, .. }, T::List { element: old, .. })
        | (T::Map { value, .. }, T::Map { value: old, .. }) => takes_cells(value, old),
        _ => true,
    }
}

/// True if a value of `old` is one of `ty`. (Source: Cassandra's `AbstractType.isValueCompatibleWith`.)
fn takes_values(ty: &CqlType, old: &CqlType) -> bool {
    use CqlType as T;
    match (ty, old) {
        (T::List { element, frozen: true }, T::List { element: old, frozen: true }) => takes_values(element, old),
        (T::Map { key, value, frozen: true }, T::Map { key: old_key, value: old, frozen: true }) => {
            sorts_alike(key, old_key) && takes_values(value, old)
        }
        (T::Tuple(types), T::Tuple(olds)) => all_fit(types.iter(), olds, takes_values),
        // Cassandra names user-defined types in a vector; those that are spelt out here are none of another type for that.
        (T::Udt { frozen: false, .. }, T::Udt { .. }) | (T::Vector { .. }, T::Vector { .. }) => {
            recorded(ty.clone()) == *old
        }
        // The elements of a set are in an order, and so are the cells of what has several.
        (T::List { .. } | T::Set { .. } | T::Map { .. }, _) => sorts_alike(ty, old),
        _ => ty.takes_values_of(old),
    }
}

/// True if both types order the values of `old`, and alike. (Source: Cassandra's `AbstractType.isCompatibleWith`.)
fn sorts_alike(ty: &CqlType, old: &CqlType) -> bool {
    use CqlType as T;
    match (ty, old) {
        (T::Blob, T::Ascii | T::Text) | (T::Text, T::Ascii) => true,
        // What has several cells is sorted by its keys; its values are only read.
        (T::List { element, frozen: false }, T::List { element: old, frozen: false }) => takes_cells(element, old),
        (T::Map { key, value, frozen: false }, T::Map { key: old_key, value: old, frozen: false }) => {
            sorts_alike(key, old_key) && takes_cells(value, old)
        }
        (T::List { element, frozen }, T::List { element: old, frozen: old_frozen })
        | (T::Set { element, frozen }, T::Set { element: old, frozen: old_frozen }) => {
            frozen == old_frozen && sorts_alike(element, old)
        }
        (T::Map { key, value, frozen: true }, T::Map { key: old_key, value: old, frozen: true }) => {
            sorts_alike(key, old_key) && sorts_alike(value, old)
        }
        (T::Tuple(types), T::Tuple(olds)) => all_fit(types.iter(), olds, sorts_alike),
        (T::Udt { fields, .. }, T::Tuple(olds)) => all_fit(fields.iter().map(|field| &field.ty), olds, sorts_alike),
        (T::Vector { .. }, T::Vector { .. }) => recorded(ty.clone()) == *old,
        _ => ty == old,
    }
}

/// A tuple may have become longer, and each of its elements must fit.
fn all_fit<'t>(
    types: impl ExactSizeIterator<Item = &'t CqlType>,
    olds: &[CqlType],
    fits: fn(&CqlType, &CqlType) -> bool,
) -> bool {
    types.len() >= olds.len() && types.zip(olds).all(|(ty, old)| fits(ty, old))
}
