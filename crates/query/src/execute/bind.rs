//! From a request's values to a plan's markers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cql_protocol::{Value, Values};
use cql_types::CqlType;

use crate::clock::TimestampClock;
use crate::error::{QueryError, invalid};
use crate::plan::{Binds, Calling, Composition, Generator, Marker, Plan};

/// Values up to this many are bound on the stack.
const STACK_VALUES: usize = 16;

/// Calls `run` with the values in the order of `markers`. Most statements bind few values and then nothing is allocated.
#[inline]
pub(crate) fn with_values<'a, R>(
    markers: &[Marker],
    values: Values<'a>,
    run: impl FnOnce(&[Value<'a>]) -> Result<R, QueryError>,
) -> Result<R, QueryError> {
    if values.is_named() && !values.is_empty() {
        return run(&by_name(markers, values)?);
    }
    if values.len() != markers.len() {
        return Err(count_mismatch(markers.len(), values.len()));
    }
    if values.len() > STACK_VALUES {
        return run(&values.iter().collect::<Vec<_>>());
    }
    let mut stack = [Value::Unset; STACK_VALUES];
    for (place, value) in stack.iter_mut().zip(values.iter()) {
        *place = value;
    }
    run(&stack[..values.len()])
}

#[cold]
fn count_mismatch(markers: usize, values: usize) -> QueryError {
    invalid(format!("there were {markers} markers(?) in CQL but {values} bound variables"))
}

/// Refuses a statement of a BATCH message that comes with more or fewer values than it has markers, in the words for that.
pub(crate) fn check_count_in_batch(markers: &[Marker], values: Values<'_>) -> Result<(), QueryError> {
    match values.len() == markers.len() {
        true => Ok(()),
        false => {
            let (markers, values) = (markers.len(), values.len());
            Err(invalid(format!("There were {markers} markers(?) in CQL but {values} bound variables")))
        }
    }
}

/// Refuses a text that comes with more or fewer values than it has markers, in the words for what was not prepared.
pub(crate) fn check_count_of_text(markers: &[Marker], values: Values<'_>) -> Result<(), QueryError> {
    let is_same = match values.is_named() && !values.is_empty() {
        true => by_name(markers, values).is_ok(),
        false => values.len() == markers.len(),
    };
    if is_same { Ok(()) } else { Err(invalid("Invalid amount of bind variables")) }
}

fn by_name<'a>(markers: &[Marker], values: Values<'a>) -> Result<Vec<Value<'a>>, QueryError> {
    // A map, since a client may send 65,535 names for as many markers.
    let mut given = BTreeMap::new();
    for (name, value) in values.names().into_iter().flatten().zip(values.iter()) {
        given.entry(name).or_insert(value);
    }
    let ordered: Vec<Value<'a>> =
        markers.iter().filter_map(|marker| given.get(marker.name.as_str()).copied()).collect();
    match ordered.len() == markers.len() {
        true => Ok(ordered),
        false => Err(count_mismatch(markers.len(), ordered.len())),
    }
}

/// Calls `run` with the values in which sets and maps are in order: what is kept, compared and hashed to a token has one form.
#[inline]
pub(crate) fn with_ordered<R>(
    plan: &Plan,
    values: &[Value<'_>],
    run: impl FnOnce(&[Value<'_>]) -> Result<R, QueryError>,
) -> Result<R, QueryError> {
    if !plan.has_order {
        return run(values);
    }
    let replaced = replaced(plan, values)?;
    run(&with_replaced(values, &replaced))
}

/// What takes the place of values: those that are not in order, in order, and JSON texts as the columns' values.
pub(crate) fn replaced(plan: &Plan, values: &[Value<'_>]) -> Result<Vec<(usize, Vec<u8>)>, QueryError> {
    if !plan.has_order {
        return Ok(Vec::new());
    }
    let mut replaced = ordered(&plan.markers, values);
    for json in &plan.json {
        let place = usize::from(json.marker);
        let text = match values.get(place) {
            Some(Value::Unset) => Some(&[][..]),
            value => value.and_then(|value| value.bytes()),
        };
        replaced.push((place, json.values(text)?));
    }
    Ok(replaced)
}

/// The values that are not in order, in order, with their places. What is not of its type is left to be refused.
fn ordered(markers: &[Marker], values: &[Value<'_>]) -> Vec<(usize, Vec<u8>)> {
    let mut ordered = Vec::new();
    for (place, (marker, value)) in markers.iter().zip(values).enumerate() {
        if let Value::Bytes(bytes) = value
            && cql_types::has_order(&marker.ty)
            && cql_types::validate(&marker.ty, bytes).is_ok()
            && let Cow::Owned(value) = cql_types::ordered(&marker.ty, bytes)
        {
            ordered.push((place, value));
        }
    }
    ordered
}

/// The values with some of them replaced.
pub(crate) fn with_replaced<'a>(values: &[Value<'a>], replaced: &'a [(usize, Vec<u8>)]) -> Vec<Value<'a>> {
    let mut values = values.to_vec();
    for (place, value) in replaced {
        values[*place] = Value::Bytes(value);
    }
    values
}

/// What the plan's functions, and its literals with parts that are not constant, give in this execution.
pub(crate) fn generate(
    generators: &[Generator],
    values: &[Value<'_>],
    clock: &TimestampClock,
) -> Result<Vec<Vec<u8>>, QueryError> {
    let mut generated = Vec::with_capacity(generators.len());
    for generator in generators {
        let one = match generator {
            Generator::Composed(composition) => {
                let binds = Binds { values, generated: &generated, long_texts_checked: false };
                compose(composition, &binds)?
            }
            Generator::Call(calling) => {
                let binds = Binds { values, generated: &generated, long_texts_checked: false };
                evaluate(calling, &binds, clock)?
            }
            Generator::TimeUuid => clock.time_uuid().to_vec(),
        };
        generated.push(one);
    }
    Ok(generated)
}

fn compose(composition: &Composition, binds: &Binds<'_>) -> Result<Vec<u8>, QueryError> {
    let mut parts = Vec::with_capacity(composition.operands.len());
    for (index, operand) in composition.operands.iter().enumerate() {
        parts.push(match operand.value(binds)? {
            Value::Bytes(bytes) => Some(bytes),
            Value::Null => None,
            Value::Unset => return Err(unset_part(&composition.ty, index)),
        });
    }
    cql_types::compose(&composition.ty, &parts).map_err(|error| invalid(error.to_string()))
}

fn unset_part(ty: &CqlType, index: usize) -> QueryError {
    match ty {
        CqlType::Udt { name, fields, .. } => {
            let field = fields.get(index).map_or("", |field| field.name.as_str());
            invalid(format!("Invalid unset value for field '{field}' of user defined type {name}"))
        }
        CqlType::Tuple(_) => invalid(format!("Invalid unset value for tuple field number {index}")),
        CqlType::Vector { .. } => invalid("null is not supported inside vectors"),
        _ => invalid("unset value is not supported inside collections"),
    }
}

/// What a call gives: behind a byte, or nothing if it is null.
fn evaluate(calling: &Calling, binds: &Binds<'_>, clock: &TimestampClock) -> Result<Vec<u8>, QueryError> {
    let mut arguments = Vec::with_capacity(calling.operands.len());
    for operand in &calling.operands {
        arguments.push(match operand.value(binds)? {
            Value::Bytes(bytes) => Some(bytes),
            Value::Null => None,
            Value::Unset => return Err(calling.call.unset().into()),
        });
    }
    let mut out = vec![1];
    match calling.call.evaluate(&arguments, &mut Surroundings(clock), &mut out)? {
        true => Ok(out),
        false => Ok(Vec::new()),
    }
}

/// What functions take from the shard that runs them.
pub(crate) struct Surroundings<'c>(pub(crate) &'c TimestampClock);

impl functions::Context for Surroundings<'_> {
    fn now_micros(&mut self) -> i64 {
        self.0.wall_micros()
    }

    fn time_uuid(&mut self) -> [u8; 16] {
        self.0.time_uuid()
    }

    fn random_uuid(&mut self) -> [u8; 16] {
        self.0.random_uuid()
    }

    fn token(&mut self, key: &[u8]) -> i64 {
        topology::token_of(key).0
    }
}
