//! The types: their names in CQL, and the codes that the native protocol gives them.

use crate::by_class::ByClass;

/// How deep types may nest. Cassandra has no such bound; a type from outside that nests deeper is refused here, so that
/// no recursion over a type overflows the stack.
pub const NESTING_DEPTH_MAX: usize = 64;

/// The most elements that a vector may have. (Source: Cassandra keeps the number in an `int`.)
pub const DIMENSION_MAX: u32 = i32::MAX as u32;

/// A type of CQL. Owned and `Send`, since schema changes travel between shards.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CqlType {
    /// US-ASCII text.
    Ascii,
    /// 64-bit integer.
    Bigint,
    /// Any bytes.
    Blob,
    /// True or false.
    Boolean,
    /// A distributed 64-bit counter.
    Counter,
    /// Days, with the epoch at 2³¹.
    Date,
    /// Arbitrary-precision decimal: an i32 scale and a varint.
    Decimal,
    /// IEEE 754 binary64.
    Double,
    /// Months, days and nanoseconds.
    Duration,
    /// IEEE 754 binary32.
    Float,
    /// An IPv4 or IPv6 address.
    Inet,
    /// 32-bit integer.
    Int,
    /// 16-bit integer.
    Smallint,
    /// UTF-8 text; `varchar` is the same type.
    Text,
    /// Nanoseconds of the day.
    Time,
    /// Milliseconds since the Unix epoch.
    Timestamp,
    /// A version-1 UUID.
    Timeuuid,
    /// 8-bit integer.
    Tinyint,
    /// A UUID of any version.
    Uuid,
    /// Arbitrary-precision integer, two's complement.
    Varint,
    /// `list<element>`.
    List {
        /// What it holds.
        element: Box<CqlType>,
        /// Whether it is one value instead of a cell per element.
        frozen: bool,
    },
    /// `set<element>`.
    Set {
        /// What it holds.
        element: Box<CqlType>,
        /// Whether it is one value instead of a cell per element.
        frozen: bool,
    },
    /// `map<key, value>`.
    Map {
        /// The keys' type.
        key: Box<CqlType>,
        /// The values' type.
        value: Box<CqlType>,
        /// Whether it is one value instead of a cell per entry.
        frozen: bool,
    },
    /// `tuple<…>`, which is always frozen.
    Tuple(Vec<CqlType>),
    /// A user-defined type.
    Udt {
        /// Its keyspace; empty in a type that was only parsed.
        keyspace: String,
        /// Its name.
        name: String,
        /// Its fields, in order; empty in a type that was only parsed.
        fields: Vec<Field>,
        /// Whether it is one value instead of a cell per field.
        frozen: bool,
    },
    /// `vector<element, dimension>`.
    Vector {
        /// What it holds.
        element: Box<CqlType>,
        /// How many: up to [`DIMENSION_MAX`].
        dimension: u32,
    },
    /// A type without any value but the empty one: Cassandra's `EmptyType`, which statements can name by its class alone.
    Empty,
    /// A type that no name stands for, so that it goes by its Java class.
    ByClass(Box<ByClass>),
    /// A class of which nothing is known but its name: one that is not Cassandra's.
    Custom(String),
}

/// A field of a user-defined type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
}

/// Text that names no type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// The text does not have a type's form.
    #[error("'{text}' is not a type: {reason}")]
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The type nests too deep.
    #[error("a type may nest {NESTING_DEPTH_MAX} deep at most")]
    TooDeep,
}

/// What a native type is called.
struct Native {
    ty: CqlType,
    /// In CQL.
    name: &'static str,
    /// By the native protocol (`[option]` in the specification).
    code: u16,
    /// By Cassandra's Java class, without its package.
    class: &'static str,
}

/// The native types.
static NATIVES: [Native; 20] = [
    Native { ty: CqlType::Ascii, name: "ascii", code: 0x01, class: "AsciiType" },
    Native { ty: CqlType::Bigint, name: "bigint", code: 0x02, class: "LongType" },
    Native { ty: CqlType::Blob, name: "blob", code: 0x03, class: "BytesType" },
    Native { ty: CqlType::Boolean, name: "boolean", code: 0x04, class: "BooleanType" },
    Native { ty: CqlType::Counter, name: "counter", code: 0x05, class: "CounterColumnType" },
    Native { ty: CqlType::Decimal, name: "decimal", code: 0x06, class: "DecimalType" },
    Native { ty: CqlType::Double, name: "double", code: 0x07, class: "DoubleType" },
    Native { ty: CqlType::Float, name: "float", code: 0x08, class: "FloatType" },
    Native { ty: CqlType::Int, name: "int", code: 0x09, class: "Int32Type" },
    Native { ty: CqlType::Timestamp, name: "timestamp", code: 0x0b, class: "TimestampType" },
    Native { ty: CqlType::Uuid, name: "uuid", code: 0x0c, class: "UUIDType" },
    Native { ty: CqlType::Text, name: "text", code: 0x0d, class: "UTF8Type" },
    Native { ty: CqlType::Varint, name: "varint", code: 0x0e, class: "IntegerType" },
    Native { ty: CqlType::Timeuuid, name: "timeuuid", code: 0x0f, class: "TimeUUIDType" },
    Native { ty: CqlType::Inet, name: "inet", code: 0x10, class: "InetAddressType" },
    Native { ty: CqlType::Date, name: "date", code: 0x11, class: "SimpleDateType" },
    Native { ty: CqlType::Time, name: "time", code: 0x12, class: "TimeType" },
    Native { ty: CqlType::Smallint, name: "smallint", code: 0x13, class: "ShortType" },
    Native { ty: CqlType::Tinyint, name: "tinyint", code: 0x14, class: "ByteType" },
    Native { ty: CqlType::Duration, name: "duration", code: 0x15, class: "DurationType" },
];

impl CqlType {
    /// The native type of that name, in any case; `varchar` is [`CqlType::Text`].
    pub fn native(name: &str) -> Option<CqlType> {
        if name.eq_ignore_ascii_case("varchar") {
            return Some(CqlType::Text);
        }
        NATIVES.iter().find(|native| native.name.eq_ignore_ascii_case(name)).map(|native| native.ty.clone())
    }

    /// The native type of that protocol code. `0x0a`, the `text` of protocol 2, is [`CqlType::Text`] too.
    pub fn from_protocol_code(code: u16) -> Option<CqlType> {
        if code == 0x0a {
            return Some(CqlType::Text);
        }
        NATIVES.iter().find(|native| native.code == code).map(|native| native.ty.clone())
    }

    /// The native type of that Java class of Cassandra's, which is named without its package.
    pub fn of_class(class: &str) -> Option<CqlType> {
        NATIVES.iter().find(|native| native.class == class).map(|native| native.ty.clone())
    }

    /// The Java class of a native type, without its package.
    pub(crate) fn class(&self) -> Option<&'static str> {
        self.as_native().map(|native| native.class)
    }

    /// The name of a native type.
    pub(crate) fn name(&self) -> Option<&'static str> {
        self.as_native().map(|native| native.name)
    }

    fn as_native(&self) -> Option<&'static Native> {
        NATIVES.iter().find(|native| std::mem::discriminant(&native.ty) == std::mem::discriminant(self))
    }

    /// The code in the native protocol's `[option]`.
    pub fn protocol_code(&self) -> u16 {
        match self {
            CqlType::Custom(_) | CqlType::ByClass(_) | CqlType::Empty | CqlType::Vector { .. } => 0x00,
            CqlType::List { .. } => 0x20,
            CqlType::Map { .. } => 0x21,
            CqlType::Set { .. } => 0x22,
            CqlType::Udt { .. } => 0x30,
            CqlType::Tuple(_) => 0x31,
            ty => ty.as_native().map_or(0, |native| native.code),
        }
    }

    /// Whether it is a duration or holds one: then it has no order.
    pub fn refers_to_duration(&self) -> bool {
        match self {
            CqlType::Duration => true,
            CqlType::List { element, .. } | CqlType::Set { element, .. } | CqlType::Vector { element, .. } => {
                element.refers_to_duration()
            }
            CqlType::Map { key, value, .. } => key.refers_to_duration() || value.refers_to_duration(),
            CqlType::Tuple(elements) => elements.iter().any(CqlType::refers_to_duration),
            CqlType::Udt { fields, .. } => fields.iter().any(|field| field.ty.refers_to_duration()),
            _ => false,
        }
    }

    /// Whether it is one of the native scalar types.
    pub fn is_native(&self) -> bool {
        self.as_native().is_some()
    }

    /// The length of every value of the type that is not empty, if they share one.
    pub fn fixed_len(&self) -> Option<usize> {
        match self {
            CqlType::Bigint | CqlType::Counter | CqlType::Double | CqlType::Time | CqlType::Timestamp => Some(8),
            CqlType::Date | CqlType::Float | CqlType::Int => Some(4),
            CqlType::Smallint => Some(2),
            CqlType::Boolean | CqlType::Tinyint => Some(1),
            CqlType::Timeuuid | CqlType::Uuid => Some(16),
            CqlType::ByClass(class) if **class == ByClass::LexicalUuid => Some(16),
            CqlType::Empty => Some(0),
            _ => None,
        }
    }

    /// The length of an element of this type inside a vector; `None` if each has its own length before it. Cassandra 5.0
    /// counts `date`, `smallint`, `time`, `tinyint` and `counter` to the latter.
    pub fn vector_element_len(&self) -> Option<usize> {
        match self {
            CqlType::Date | CqlType::Smallint | CqlType::Time | CqlType::Tinyint | CqlType::Counter => None,
            // A loop, since vectors of vectors may be made without a bound on their depth.
            CqlType::Vector { .. } => {
                let (mut ty, mut count) = (self, 1_usize);
                while let CqlType::Vector { element, dimension } = ty {
                    count = count.checked_mul(*dimension as usize)?;
                    ty = element;
                }
                ty.vector_element_len()?.checked_mul(count)
            }
            other => other.fixed_len(),
        }
    }

    /// Whether a value of the type `given` can be taken as it is for one of this type. Source: Cassandra's
    /// `AbstractType.isValueCompatibleWith`.
    pub fn takes_values_of(&self, given: &CqlType) -> bool {
        use CqlType as T;
        match (self, given) {
            (T::Blob, _) => true,
            (T::Text, T::Ascii) | (T::Uuid, T::Timeuuid) => true,
            (T::Bigint, T::Timestamp) | (T::Timestamp | T::Time, T::Bigint) | (T::Date, T::Int) => true,
            (T::Varint, T::Int | T::Bigint | T::Timestamp) => true,
            (T::List { element, frozen }, T::List { element: other, frozen: is_frozen }) if frozen == is_frozen => {
                element.takes_values_of(other)
            }
            (T::Map { key, value, frozen }, T::Map { key: other, value: of, frozen: is_frozen })
                if frozen == is_frozen =>
            {
                key == other && value.takes_values_of(of)
            }
            (T::Tuple(types), T::Tuple(others)) => {
                types.len() >= others.len() && types.iter().zip(others).all(|(ty, other)| ty.takes_values_of(other))
            }
            _ => self == given,
        }
    }

    /// Whether an empty value of the type means nothing, so that a function takes it for null.
    pub fn has_meaningless_empty(&self) -> bool {
        match self {
            CqlType::Ascii | CqlType::Text | CqlType::Blob | CqlType::Custom(_) | CqlType::Empty => false,
            CqlType::ByClass(class) => **class == ByClass::LexicalUuid,
            _ => true,
        }
    }

    /// Whether it is a list, set or map.
    pub fn is_collection(&self) -> bool {
        matches!(self, CqlType::List { .. } | CqlType::Set { .. } | CqlType::Map { .. })
    }

    /// Whether its values may be changed in part: a collection or user-defined type that is not frozen.
    pub fn is_multi_cell(&self) -> bool {
        match self {
            CqlType::List { frozen, .. }
            | CqlType::Set { frozen, .. }
            | CqlType::Map { frozen, .. }
            | CqlType::Udt { frozen, .. } => !frozen,
            _ => false,
        }
    }

    /// Whether it is a collection or user-defined type that says `frozen`.
    pub fn is_frozen(&self) -> bool {
        match self {
            CqlType::List { frozen, .. }
            | CqlType::Set { frozen, .. }
            | CqlType::Map { frozen, .. }
            | CqlType::Udt { frozen, .. } => *frozen,
            _ => false,
        }
    }

    /// The same type, frozen, if it can be.
    pub fn into_frozen(mut self) -> CqlType {
        if let CqlType::List { frozen, .. }
        | CqlType::Set { frozen, .. }
        | CqlType::Map { frozen, .. }
        | CqlType::Udt { frozen, .. } = &mut self
        {
            *frozen = true;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for Native { ty, name, code, class } in &NATIVES {
            assert_eq!(CqlType::parse(name), Ok(ty.clone()));
            assert_eq!(ty.to_string(), *name);
            assert_eq!(CqlType::from_protocol_code(*code), Some(ty.clone()));
            assert_eq!(ty.protocol_code(), *code);
            assert_eq!((CqlType::of_class(class).as_ref(), ty.class()), (Some(ty), Some(*class)));
        }
    }
}
