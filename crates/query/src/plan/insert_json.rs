//! INSERT JSON: the values of all columns from one text, which is a constant or what a marker is bound to.

use cql_syntax::{InsertJson, Term};
use cql_types::json::{Json, from_json, parse_object};
use cql_types::{CqlType, ValueError};
use schema::{Column, Table};

use super::terms::{Markers, Receiver};
use super::{Operand, Source};
use crate::error::{QueryError, invalid};

/// A marker that is bound to a JSON text. When the statement runs its value becomes that of all columns, one after the other:
/// a length and the bytes each, [`JSON_NULL`] and [`JSON_UNSET`] being lengths too.
#[derive(Debug)]
pub(crate) struct JsonMarker {
    /// The marker.
    pub(crate) marker: u16,
    /// The table's columns.
    pub(crate) columns: Vec<(String, CqlType)>,
    /// Whether columns that the text does not name are left as they are.
    pub(crate) default_unset: bool,
}

/// The length that stands for a null.
pub(super) const JSON_NULL: i32 = -1;
/// The length that stands for a value that is not set.
pub(super) const JSON_UNSET: i32 = -2;

/// What a text says about a column.
enum Given {
    Value(Vec<u8>),
    Null,
    Nothing,
}

/// The operands of all columns that are written.
pub(super) fn operands<'t>(
    json: &InsertJson,
    table: &'t Table,
    markers: &mut Markers,
) -> Result<Vec<(&'t Column, Operand)>, QueryError> {
    let columns = table.columns();
    let operand = |column: &'t Column, source| (column, Operand::new(source, column.ty.clone()));
    if let Term::Marker(marker) = &json.value {
        let receiver = Receiver::new(table, "[json]", CqlType::Text);
        let Source::Bound(marker) = markers.marker(marker, &receiver)? else { panic!("a marker is bound") };
        let named = columns.iter().map(|column| (column.name.clone(), column.ty.clone())).collect();
        markers.json.push(JsonMarker { marker, columns: named, default_unset: json.default_unset });
        let of_column = |(index, column)| operand(column, Source::Json { marker, index });
        return Ok((0u16..).zip(columns).map(of_column).collect());
    }
    let Term::Literal(text) = &json.value else { return Err(invalid("INSERT JSON takes a text or a marker")) };
    let named = columns.iter().map(|column| (column.name.as_str(), &column.ty));
    let given = given(&text.text, named)?;
    let source = |given| match given {
        Given::Value(value) => Some(Source::Constant(value)),
        Given::Null => Some(Source::Null),
        Given::Nothing if json.default_unset => None,
        Given::Nothing => Some(Source::Null),
    };
    let mut operands = Vec::with_capacity(columns.len());
    for (column, given) in columns.iter().zip(given) {
        match source(given) {
            Some(source) => operands.push(operand(column, source)),
            // A key must be there, and is refused when the statement runs.
            // So is the value of a row that is nothing else: nothing is not no value.
            None if column.kind.is_key() || table.options.compact_storage => {
                operands.push(operand(column, Source::Unset))
            }
            None => {}
        }
    }
    Ok(operands)
}

impl JsonMarker {
    /// The columns' values in a text that is bound.
    pub(crate) fn values(&self, text: Option<&[u8]>) -> Result<Vec<u8>, QueryError> {
        let text = text.ok_or_else(|| invalid("Got null for INSERT JSON values"))?;
        let text = std::str::from_utf8(text).map_err(|_| invalid("String didn't validate."))?;
        let columns = self.columns.iter().map(|(name, ty)| (name.as_str(), ty));
        let mut out = Vec::with_capacity(text.len());
        for given in given(text, columns)? {
            match given {
                Given::Value(value) => {
                    let length = i32::try_from(value.len()).map_err(|_| invalid("A value is longer than 2 GiB"))?;
                    out.extend_from_slice(&length.to_be_bytes());
                    out.extend_from_slice(&value);
                }
                Given::Nothing if self.default_unset => out.extend_from_slice(&JSON_UNSET.to_be_bytes()),
                Given::Null | Given::Nothing => out.extend_from_slice(&JSON_NULL.to_be_bytes()),
            }
        }
        Ok(out)
    }
}

/// What the text says about each of the columns. It may say nothing about others.
fn given<'c>(text: &str, columns: impl Iterator<Item = (&'c str, &'c CqlType)>) -> Result<Vec<Given>, QueryError> {
    let entries = parse_object(text).map_err(|error| {
        invalid(format!("Could not decode JSON string as a map: {}. (String was: {text})", error.with_class()))
    })?;
    let entries = entries.ok_or_else(|| invalid("Got null for INSERT JSON values"))?;
    let places: std::collections::BTreeMap<&str, usize> =
        entries.iter().enumerate().map(|(index, (name, _))| (name.as_str(), index)).collect();
    let mut is_known = vec![false; entries.len()];
    let mut all = Vec::new();
    for (name, ty) in columns {
        let Some(&place) = places.get(name) else {
            all.push(Given::Nothing);
            continue;
        };
        is_known[place] = true;
        all.push(match &entries[place].1 {
            Json::Null => Given::Null,
            json => Given::Value(from_json(ty, json).map_err(|error| match error {
                ValueError::Request { reason } => invalid(reason),
                error => invalid(format!("Error decoding JSON value for {name}: {error}")),
            })?),
        });
    }
    match is_known.iter().position(|known| !known) {
        Some(place) => Err(invalid(format!("JSON values map contains unrecognized column: {}", entries[place].0))),
        None => Ok(all),
    }
}
