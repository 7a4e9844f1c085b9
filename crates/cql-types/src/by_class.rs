//! Types that no name of CQL stands for, so that statements and results name them by their Java classes.
//!
//! ```text
//! LexicalUUIDType        16 bytes, in the order of two signed 64-bit integers
//! CompositeType          [ffff of what Thrift called static] │ (length: u16 │ value │ end)*
//! DynamicCompositeType   (80 alias, or length: u16 │ class │ length: u16 │ value │ end)*
//! ```
//!
//! A component's *end* is 0 but of the last one, where −1 and 1 stand for the places before and after all that begin so. (Source: Cassandra's
//! `LexicalUUIDType`, `AbstractCompositeType` and its two heirs.)

use crate::CqlType;

pub(crate) mod text;
pub mod values;

/// The class of a type that has no name in CQL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ByClass {
    /// A UUID in the order of its halves as signed integers.
    LexicalUuid,
    /// Components of these types, of which a value may have fewer.
    Composite(Vec<Component>),
    /// Components that each name their type, by an alias or by its class. In the order that [`ordered_aliases`] gives.
    DynamicComposite(Vec<(u8, Component)>),
}

/// The type of a composite's component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Component {
    /// The type of its values.
    pub ty: CqlType,
    /// The greatest comes first.
    pub is_reversed: bool,
    /// The class that it was named by, without its package, if that is another than its type's: `DateType`.
    pub(crate) alias_class: Option<&'static str>,
}

impl ByClass {
    /// The name of the class, without its package and parameters.
    pub fn simple_name(&self) -> &'static str {
        match self {
            ByClass::LexicalUuid => "LexicalUUIDType",
            ByClass::Composite(_) => "CompositeType",
            ByClass::DynamicComposite(_) => "DynamicCompositeType",
        }
    }

    /// The alias under which a dynamic composite knows the component's type.
    pub(crate) fn alias_of(&self, of: &Component) -> Option<u8> {
        let ByClass::DynamicComposite(aliases) = self else { return None };
        aliases.iter().rev().find(|(_, component)| component == of).map(|(alias, _)| *alias)
    }
}

impl Component {
    /// The type of that class, which is no other class than the type's own.
    pub fn new(ty: CqlType, is_reversed: bool) -> Self {
        Component { ty, is_reversed, alias_class: None }
    }
}

/// Aliases in the order in which a Java `HashMap` that they were put into one by one gives them; of one alias twice the first's place and the
/// last's type stay. That order is part of the name by which everything calls the type.
pub fn ordered_aliases(given: Vec<(u8, Component)>) -> Vec<(u8, Component)> {
    let mut aliases: Vec<(u8, Component)> = Vec::with_capacity(given.len());
    for (alias, component) in given {
        match aliases.iter_mut().find(|(known, _)| *known == alias) {
            Some((_, known)) => *known = component,
            None => aliases.push((alias, component)),
        }
    }
    // Buckets double whenever more than three quarters as many entries are there; a byte's hash is itself.
    let mut buckets = 16;
    while aliases.len() > buckets * 3 / 4 {
        buckets *= 2;
    }
    aliases.sort_by_key(|(alias, _)| usize::from(*alias) % buckets);
    aliases
}

#[cfg(test)]
mod tests;
