//! Tables with columns of all kinds and types.

use cql_types::{CqlType, Field};

use crate::Random;
use crate::oracle::random::chance;

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of the partition key.
    PartitionKey,
    /// Of the clustering key; whether it descends.
    Clustering(bool),
    /// Once in a partition.
    Static,
    /// Of a row.
    Regular,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub ty: CqlType,
    pub kind: Kind,
}

/// A table of the keyspace in use.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: &'static str,
    pub columns: Vec<Column>,
}

/// The types that a key may have and that compare.
const IN_KEYS: [CqlType; 18] = [
    CqlType::Int,
    CqlType::Text,
    CqlType::Bigint,
    CqlType::Timeuuid,
    CqlType::Uuid,
    CqlType::Timestamp,
    CqlType::Date,
    CqlType::Time,
    CqlType::Boolean,
    CqlType::Blob,
    CqlType::Ascii,
    CqlType::Decimal,
    CqlType::Varint,
    CqlType::Double,
    CqlType::Float,
    CqlType::Inet,
    CqlType::Smallint,
    CqlType::Tinyint,
];

/// The user-defined type that each course has.
pub fn user_type() -> CqlType {
    let field = |name: &str, ty: CqlType| Field { name: name.into(), ty };
    let set = CqlType::Set { element: Box::new(CqlType::Text), frozen: true };
    CqlType::Udt {
        keyspace: "ks".into(),
        name: "u".into(),
        fields: vec![field("a", CqlType::Int), field("b", CqlType::Text), field("c", set)],
        frozen: false,
    }
}

/// The statement that makes it.
pub const CREATE_TYPE: &str = "CREATE TYPE u (a int, b text, c frozen<set<text>>);";

impl Table {
    /// A random one.
    pub fn generate(random: &mut Random, name: &'static str) -> Table {
        let mut columns = Vec::new();
        let mut add = |name: String, ty: CqlType, kind: Kind| columns.push(Column { name, ty, kind });
        for at in 0..=random.below(2) {
            add(format!("p{at}"), key_type(random), Kind::PartitionKey);
        }
        let clustering = *random.choose(&[0, 1, 1, 2, 2, 3]);
        let descends = chance(random, 3);
        for at in 0..clustering {
            // Orders are mostly the same.
            let descends = if chance(random, 4) { !descends } else { descends };
            add(format!("c{at}"), key_type(random), Kind::Clustering(descends));
        }
        if clustering > 0 && chance(random, 2) {
            for at in 0..=random.below(2) {
                add(format!("s{at}"), value_type(random), Kind::Static);
            }
        }
        for at in 0..random.below(5) {
            add(format!("v{at}"), value_type(random), Kind::Regular);
        }
        Table { name, columns }
    }

    /// The statement that makes it.
    pub fn create(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for column in &self.columns {
            let suffix = if column.kind == Kind::Static { " static" } else { "" };
            parts.push(format!("{} {}{suffix}", column.name, declared(&column.ty)));
        }
        let names = |is: fn(&Kind) -> bool| {
            let names = self.columns.iter().filter(|column| is(&column.kind)).map(|column| column.name.as_str());
            names.collect::<Vec<_>>()
        };
        let partition = names(|kind| *kind == Kind::PartitionKey).join(", ");
        let clustering = names(|kind| matches!(kind, Kind::Clustering(_)));
        let key = std::iter::once(format!("({partition})")).chain(clustering.iter().map(|name| (*name).to_string()));
        parts.push(format!("PRIMARY KEY ({})", key.collect::<Vec<_>>().join(", ")));
        let order: Vec<String> = self
            .columns
            .iter()
            .filter_map(|column| match column.kind {
                Kind::Clustering(descends) => {
                    Some(format!("{} {}", column.name, if descends { "DESC" } else { "ASC" }))
                }
                _ => None,
            })
            .collect();
        let order = match order.iter().any(|order| order.ends_with("DESC")) {
            true => format!(" WITH CLUSTERING ORDER BY ({})", order.join(", ")),
            false => String::new(),
        };
        format!("CREATE TABLE {} ({}){order};", self.name, parts.join(", "))
    }

    /// The columns of that kind.
    pub fn of(&self, is: impl Fn(Kind) -> bool) -> Vec<&Column> {
        self.columns.iter().filter(|column| is(column.kind)).collect()
    }

    /// The partition key's.
    pub fn partition_key(&self) -> Vec<&Column> {
        self.of(|kind| kind == Kind::PartitionKey)
    }

    /// The clustering key's.
    pub fn clustering(&self) -> Vec<&Column> {
        self.of(|kind| matches!(kind, Kind::Clustering(_)))
    }

    /// Those that hold values.
    pub fn values(&self) -> Vec<&Column> {
        self.of(|kind| matches!(kind, Kind::Static | Kind::Regular))
    }
}

fn key_type(random: &mut Random) -> CqlType {
    if chance(random, 8) {
        return frozen(compound(random));
    }
    // Int and text are what keys mostly are.
    if chance(random, 2) { random.choose(&IN_KEYS[..2]).clone() } else { random.choose(&IN_KEYS).clone() }
}

fn value_type(random: &mut Random) -> CqlType {
    match random.below(8) {
        0 | 1 => CqlType::Int,
        2 => random.choose(&IN_KEYS).clone(),
        3 => CqlType::Text,
        4 => frozen(compound(random)),
        5 if chance(random, 4) => CqlType::Duration,
        5 if chance(random, 3) => CqlType::Vector { element: Box::new(CqlType::Float), dimension: 2 },
        _ => compound(random),
    }
}

/// A type of several parts.
fn compound(random: &mut Random) -> CqlType {
    let element = Box::new(random.choose(&IN_KEYS[..4]).clone());
    match random.below(6) {
        0 => CqlType::List { element, frozen: false },
        1 | 2 => CqlType::Set { element, frozen: false },
        3 => {
            let value = Box::new(random.choose(&IN_KEYS[..3]).clone());
            CqlType::Map { key: element, value, frozen: false }
        }
        4 => CqlType::Tuple(vec![CqlType::Int, *element]),
        _ => user_type(),
    }
}

fn frozen(ty: CqlType) -> CqlType {
    match ty {
        CqlType::List { element, .. } => CqlType::List { element, frozen: true },
        CqlType::Set { element, .. } => CqlType::Set { element, frozen: true },
        CqlType::Map { key, value, .. } => CqlType::Map { key, value, frozen: true },
        CqlType::Udt { keyspace, name, fields, .. } => CqlType::Udt { keyspace, name, fields, frozen: true },
        other => other,
    }
}

/// A type as CREATE TABLE takes it.
pub fn declared(ty: &CqlType) -> String {
    let (text, is_frozen) = match ty {
        CqlType::List { element, frozen } => (format!("list<{}>", declared(element)), *frozen),
        CqlType::Set { element, frozen } => (format!("set<{}>", declared(element)), *frozen),
        CqlType::Map { key, value, frozen } => (format!("map<{}, {}>", declared(key), declared(value)), *frozen),
        CqlType::Udt { name, frozen, .. } => (name.clone(), *frozen),
        CqlType::Tuple(types) => {
            (format!("tuple<{}>", types.iter().map(declared).collect::<Vec<_>>().join(", ")), false)
        }
        CqlType::Vector { element, dimension } => (format!("vector<{}, {dimension}>", declared(element)), false),
        other => (other.to_string(), false),
    };
    if is_frozen { format!("frozen<{text}>") } else { text }
}
