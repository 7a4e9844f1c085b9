//! Partition keys from bound values.

use cql_protocol::Value;
use cql_types::CqlType;
use cql_types::comparable::DECIMAL_BYTES_MAX;
use schema::{Column, Table};
use stdx::Reader;

use crate::error::{QueryError, invalid};
use crate::plan::{Binds, ClusteringChoice, InList, KeyChoice, Operand, long_decimal};

/// The longest key, in bytes, and the most that a row's clustering columns have together: Cassandra writes their lengths in sixteen bits.
const KEY_LENGTH_MAX: usize = 65_535;

/// How many partitions one statement may name by IN, and how many rows: what it takes in memory is bounded by this.
pub(crate) const COMBINATIONS_MAX: usize = 10_000;

/// How many bytes those combinations may have in all: each repeats the values that it is made of.
const COMBINATION_BYTES_MAX: usize = 16 << 20;

/// The key of a statement that names one partition. It is borrowed from the bound value where there is one column.
#[inline]
pub(crate) fn single_key<'s, 'a: 's>(
    table: &Table,
    choices: &'a [KeyChoice],
    binds: &Binds<'a>,
    scratch: &'s mut Vec<u8>,
) -> Result<&'s [u8], QueryError> {
    let columns = table.partition_key();
    if let ([KeyChoice::One(operand)], [column]) = (choices, columns) {
        return checked(operand.key_value(&column.name, binds)?);
    }
    scratch.clear();
    let mut length = 0_usize;
    for (choice, column) in choices.iter().zip(columns) {
        let KeyChoice::One(operand) = choice else { panic!("the plan says that there is a single key") };
        let component = operand.key_value(&column.name, binds)?;
        length = length.saturating_add(component.len());
        if length <= KEY_LENGTH_MAX {
            push_component(component, scratch);
        }
    }
    check_length(length)?;
    checked(scratch)
}

/// Appends a component of a composite key, whose length was checked: length, bytes, and a byte that ends it. (Source: Cassandra's
/// `CompositeType`.)
fn push_component(component: &[u8], key: &mut Vec<u8>) {
    let length = u16::try_from(component.len()).expect("the components' lengths were checked");
    key.extend_from_slice(&length.to_be_bytes());
    key.extend_from_slice(component);
    key.push(0);
}

/// Refuses values whose lengths together are more than a key's. Cassandra checks this sum first, then the length of the key that is made of
/// them, and has one sentence for both.
#[inline]
pub(super) fn check_length(length: usize) -> Result<(), QueryError> {
    if length > KEY_LENGTH_MAX { Err(too_long(length)) } else { Ok(()) }
}

/// A component of a composite key.
pub(crate) fn component(key: &[u8], position: usize) -> Option<&[u8]> {
    let mut reader = Reader::new(key);
    let mut component = None;
    for _ in 0..=position {
        let length = reader.u16().ok()?;
        component = Some(reader.bytes(usize::from(length)).ok()?);
        reader.u8().ok()?;
    }
    component
}

/// The value of a clustering column, or its beginning, which is ordered alike beside all values that a row can have: none is as long, so that
/// none equals it. So the end of a range takes no more memory than that of a row.
#[inline]
pub(super) fn cut<'v>(ty: &CqlType, value: &'v [u8]) -> &'v [u8] {
    if value.len() <= KEY_LENGTH_MAX || !matches!(ty, CqlType::Ascii | CqlType::Text | CqlType::Blob) {
        return value;
    }
    // A character of a text stays whole: it continues with bytes that begin with 10.
    let is_inside = |byte: &u8| *ty == CqlType::Text && *byte & 0xc0 == 0x80;
    let end = KEY_LENGTH_MAX + 1;
    let rest = value.get(end..).unwrap_or_default().iter().take_while(|byte| is_inside(byte)).count();
    value.get(..end + rest).unwrap_or(value)
}

/// The bytes that the token of a key is made of, which may be longer than any partition's key.
pub(crate) fn key_of_token(components: &[&[u8]]) -> Result<Vec<u8>, QueryError> {
    if let [component] = components {
        return Ok(component.to_vec());
    }
    let mut key = Vec::new();
    for component in components {
        check_length(component.len())?;
        push_component(component, &mut key);
    }
    Ok(key)
}

#[inline]
fn checked(key: &[u8]) -> Result<&[u8], QueryError> {
    match key.len() {
        0 => Err(invalid("Key may not be empty")),
        length if length > KEY_LENGTH_MAX => Err(too_long(length)),
        _ => Ok(key),
    }
}

#[cold]
fn too_long(length: usize) -> QueryError {
    invalid(format!("Key length of {length} is longer than maximum of {KEY_LENGTH_MAX}"))
}

/// All keys that a statement names, in the order of their values, each once.
pub(crate) fn keys(table: &Table, choices: &[KeyChoice], binds: &Binds<'_>) -> Result<Vec<Vec<u8>>, QueryError> {
    let keys = unchecked_keys(table, choices, binds)?;
    check_keys(&keys)?;
    Ok(keys)
}

/// Refuses keys that no partition can have.
pub(crate) fn check_keys(keys: &[Vec<u8>]) -> Result<(), QueryError> {
    keys.iter().try_for_each(|key| checked(key).map(drop))
}

/// The same as [`keys`], among them perhaps some that no partition can have. Behind an IN without values nothing is looked at.
pub(crate) fn unchecked_keys(
    table: &Table,
    choices: &[KeyChoice],
    binds: &Binds<'_>,
) -> Result<Vec<Vec<u8>>, QueryError> {
    let columns = table.partition_key();
    let mut combinations: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
    for (choice, column) in choices.iter().zip(columns) {
        let values = match choice {
            KeyChoice::One(operand) => vec![operand.key_value(&column.name, binds)?.to_vec()],
            KeyChoice::In(list) => in_values(list, column, binds)?,
        };
        combinations = product(combinations, &values)?;
        if combinations.is_empty() {
            return Ok(Vec::new());
        }
    }
    let mut keys = Vec::with_capacity(combinations.len());
    for components in combinations {
        check_length(components.iter().map(Vec::len).sum())?;
        let key = match components.as_slice() {
            [component] => component.clone(),
            components => {
                let mut key = Vec::new();
                components.iter().for_each(|component| push_component(component, &mut key));
                key
            }
        };
        keys.push(key);
    }
    Ok(keys)
}

/// How many combinations the values of columns come to, after each column.
pub(crate) fn combination_counts(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut product = 1_usize;
    counts
        .map(|count| {
            product = product.saturating_mul(count);
            product
        })
        .collect()
}

/// How many elements a bound list says it has.
fn bound_count(list: &Operand, binds: &Binds<'_>) -> usize {
    let count = list.unchecked(binds).and_then(<[u8]>::first_chunk).map_or(0, |bytes| i32::from_be_bytes(*bytes));
    usize::try_from(count).unwrap_or(0)
}

impl KeyChoice {
    /// How many values there are, repetitions included.
    pub(crate) fn count(&self, binds: &Binds<'_>) -> usize {
        match self {
            KeyChoice::One(_) => 1,
            KeyChoice::In(list) => list.count(binds),
        }
    }
}

impl InList {
    /// How many values there are, repetitions included.
    fn count(&self, binds: &Binds<'_>) -> usize {
        match self {
            InList::Operands(operands) => operands.len(),
            InList::Marker(list) => bound_count(list, binds),
        }
    }
}

impl ClusteringChoice {
    /// How many values or tuples there are, repetitions included.
    pub(crate) fn count(&self, binds: &Binds<'_>) -> usize {
        match self {
            ClusteringChoice::One(_) => 1,
            ClusteringChoice::In(list) => list.count(binds),
            ClusteringChoice::Tuples { tuples, .. } => tuples.len(),
            ClusteringChoice::TupleList { list, .. } => bound_count(list, binds),
        }
    }
}

/// Every combination so far with every value.
pub(crate) fn product(combinations: Vec<Vec<Vec<u8>>>, values: &[Vec<u8>]) -> Result<Vec<Vec<Vec<u8>>>, QueryError> {
    check_combinations(&combinations, values.len(), values.iter().map(Vec::len).sum())?;
    let mut grown = Vec::with_capacity(combinations.len() * values.len());
    for combination in &combinations {
        for value in values {
            let mut longer = combination.clone();
            longer.push(value.clone());
            grown.push(longer);
        }
    }
    Ok(grown)
}

/// Whether `combinations`, each with each of `count` further values of `bytes` in all, are few enough.
pub(crate) fn check_combinations(combinations: &[Vec<Vec<u8>>], count: usize, bytes: usize) -> Result<(), QueryError> {
    let known: usize = combinations.iter().flatten().map(Vec::len).sum();
    let bytes = known.saturating_mul(count).saturating_add(bytes.saturating_mul(combinations.len()));
    if combinations.len().saturating_mul(count) > COMBINATIONS_MAX || bytes > COMBINATION_BYTES_MAX {
        return Err(invalid(format!(
            "The IN relations of the statement name more than {COMBINATIONS_MAX} combinations of values, or more than {COMBINATION_BYTES_MAX} bytes of them"
        )));
    }
    Ok(())
}

/// The values of an IN, in their order, each once.
pub(crate) fn in_values(list: &InList, column: &Column, binds: &Binds<'_>) -> Result<Vec<Vec<u8>>, QueryError> {
    let mut values = Vec::new();
    match list {
        InList::Operands(operands) => {
            for operand in operands {
                values.push(operand.key_value(&column.name, binds)?.to_vec());
            }
        }
        InList::Marker(operand) => {
            check_count(operand.unchecked(binds))?;
            // Its elements are checked one by one: a null among them is refused in other words than in a list that is stored.
            let bytes = match operand.given(binds)? {
                Value::Bytes(bytes) => bytes,
                Value::Null => return Err(invalid(format!("Invalid null value for column {}", column.name))),
                Value::Unset => return Err(invalid(format!("Invalid unset value for column {}", column.name))),
            };
            values = list_elements(operand, bytes, column)?;
        }
    }
    sort_unique(&mut values, column);
    Ok(values)
}

/// Refuses a list of too many elements before they are looked at: the list may have millions.
fn check_count(list: Option<&[u8]>) -> Result<(), QueryError> {
    let count = list.and_then(<[u8]>::first_chunk).map_or(0, |bytes| i32::from_be_bytes(*bytes));
    match usize::try_from(count) {
        Ok(count) if count > COMBINATIONS_MAX => {
            Err(invalid(format!("an IN relation takes at most {COMBINATIONS_MAX} values")))
        }
        _ => Ok(()),
    }
}

/// Sorts values by the column's order and drops repetitions. Of values that are equal, such as 1.0 and 1.00, the first one stays, in the
/// partition key too, though there they name two partitions: so does Cassandra. What is compared is made once for each value.
fn sort_unique(values: &mut Vec<Vec<u8>>, column: &Column) {
    let form = |value: &[u8]| {
        let mut form = Vec::with_capacity(value.len() + 8);
        cql_types::comparable::encode(&column.ty, value, column.is_reversed(), &mut form);
        form
    };
    let mut formed: Vec<(Vec<u8>, Vec<u8>)> = values.drain(..).map(|value| (form(&value), value)).collect();
    formed.sort_by(|(a, _), (b, _)| a.cmp(b));
    // Of values that are equal, such as 1.0 and 1.00, the first stays: they name one row, and of partitions, whose keys are told apart by
    // their bytes, Cassandra reads no other.
    formed.dedup_by(|a, b| a.0 == b.0);
    values.extend(formed.into_iter().map(|(_, value)| value));
}

/// The elements of a bound list: a count, then each with its length.
fn list_elements(operand: &Operand, bytes: &[u8], column: &Column) -> Result<Vec<Vec<u8>>, QueryError> {
    debug_assert!(matches!(operand.ty, cql_types::CqlType::List { .. }));
    let mut reader = Reader::new(bytes);
    let malformed = |_: stdx::ReadError| invalid("Not enough bytes to read a list");
    let count = reader.i32().map_err(malformed)?;
    let mut values = Vec::new();
    for _ in 0..count.max(0) {
        let length = reader.i32().map_err(malformed)?;
        let Ok(length) = usize::try_from(length) else {
            return Err(invalid(format!("Invalid null value in condition for column {}", column.name)));
        };
        if length > DECIMAL_BYTES_MAX && column.ty == cql_types::CqlType::Decimal {
            return Err(long_decimal(&column.name, length));
        }
        let value = reader.bytes(length).map_err(malformed)?;
        cql_types::validate(&column.ty, value).map_err(|error| invalid(error.to_string()))?;
        values.push(value.to_vec());
    }
    match reader.is_empty() {
        true => Ok(values),
        false => Err(invalid("Unexpected extraneous bytes after list value")),
    }
}

/// The tuples of a list that is bound to `(a, b) IN ?`.
pub(crate) fn bound_tuples(
    list: &Operand,
    columns: &[&Column],
    binds: &Binds<'_>,
) -> Result<Vec<Vec<Vec<u8>>>, QueryError> {
    check_count(list.unchecked(binds))?;
    let names = || columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>();
    let bytes = match list.value(binds)? {
        Value::Bytes(bytes) => bytes,
        Value::Null => return Err(invalid("Invalid null value for IN restriction")),
        Value::Unset => return Err(invalid(format!("Invalid unset value for in({})", names().join(",")))),
    };
    let null = || invalid(format!("Invalid null value in condition for columns: [{}]", names().join(", ")));
    let mut tuples = Vec::new();
    for tuple in cql_types::parts_of_collection(&list.ty, bytes) {
        let mut fields = cql_types::fields_of(tuple);
        let mut values = Vec::with_capacity(columns.len());
        for column in columns {
            let value = fields.next().flatten().ok_or_else(null)?;
            if value.len() > DECIMAL_BYTES_MAX && column.ty == cql_types::CqlType::Decimal {
                return Err(long_decimal(&column.name, value.len()));
            }
            values.push(value.to_vec());
        }
        tuples.push(values);
    }
    Ok(tuples)
}
