//! Aggregates: count, min, max, sum and avg.
//!
//! Sums of whole numbers wrap around in their type, as in Cassandra; their averages do not, and are cut to whole numbers. Sums
//! of floating-point numbers are Kahan's.

use std::cmp::Ordering;

use cql_types::CqlType;
use num_bigint::BigInt;

use crate::decimal::{ArithmeticError, Decimal, Rounding};
use crate::number::{NUMERIC_TYPES, Number, check_length};
use crate::parameter::{self, Parameter};
use crate::resolve::{check_arguments, choose_types};
use crate::{Argument, FunctionError, ResolveError};

/// The state of an aggregate over the rows of one group.
pub trait Aggregate {
    /// Takes in a row's arguments. Nulls are passed over, as in Cassandra.
    fn add(&mut self, arguments: &[Option<&[u8]>]) -> Result<(), FunctionError>;
    /// Appends the value to `out`; `Ok(false)`: it is null.
    fn finish(&self, out: &mut Vec<u8>) -> Result<bool, FunctionError>;
}

/// Which aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    CountRows,
    Count,
    Min,
    Max,
    Sum,
    Avg,
}

/// An aggregate whose argument type is chosen.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    name: String,
    kind: Kind,
    arguments: Vec<CqlType>,
    returns: CqlType,
}

impl AggregateCall {
    /// Its name with its keyspace, `system.max`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The chosen types of its arguments; none for `count_rows()`.
    pub fn arguments(&self) -> &[CqlType] {
        &self.arguments
    }

    /// The type of its value.
    pub fn returns(&self) -> &CqlType {
        &self.returns
    }

    /// The name of a result's column that shows it: `system.max(v)`, and `count` for `count(*)`.
    pub fn column_name(&self, arguments: &[&str]) -> String {
        match self.kind {
            Kind::CountRows => "count".to_owned(),
            _ => format!("{}({})", self.name, arguments.join(", ")),
        }
    }

    /// The state before any row.
    pub fn start(&self) -> Box<dyn Aggregate> {
        let ty = self.arguments.first().cloned().unwrap_or(CqlType::Blob);
        Box::new(State::new(self.kind, &ty))
    }
}

/// Whether a function of that name is an aggregate. `keyspace` is the one written before the name.
pub fn is_aggregate(keyspace: Option<&str>, name: &str) -> bool {
    keyspace.is_none_or(|keyspace| keyspace == "system") && kind(name).is_some()
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "countRows" | "count_rows" => Kind::CountRows,
        "count" => Kind::Count,
        "min" => Kind::Min,
        "max" => Kind::Max,
        "sum" => Kind::Sum,
        "avg" => Kind::Avg,
        _ => return None,
    })
}

/// The aggregate that a call of that name is.
pub fn resolve_aggregate(name: &str, arguments: &[Argument<'_>]) -> Result<AggregateCall, ResolveError> {
    let kind = kind(name).ok_or_else(|| ResolveError::Unknown { name: name.to_owned() })?;
    let shown = format!("system.{name}");
    let (arguments, returns) = match kind {
        Kind::CountRows => {
            check_arguments(&shown, &[], arguments)?;
            (vec![], CqlType::Bigint)
        }
        // Everything can be taken for a blob.
        Kind::Count => {
            check_arguments(&shown, &[CqlType::Blob], arguments)?;
            (vec![CqlType::Blob], CqlType::Bigint)
        }
        Kind::Min | Kind::Max => {
            let types = parameter::infer(name, &[Parameter::Any { from_receiver: false }], arguments, None)?;
            let returns = types[0].clone();
            (types, returns)
        }
        Kind::Sum | Kind::Avg => {
            let ty = choose_types(name, &NUMERIC_TYPES, arguments)?;
            (vec![ty.clone()], ty)
        }
    };
    Ok(AggregateCall { name: shown, kind, arguments, returns })
}

/// The state of any aggregate.
#[derive(Debug)]
pub(crate) struct State {
    kind: Kind,
    ty: CqlType,
    count: i64,
    /// The least or largest value so far.
    bound: Option<Vec<u8>>,
    sum: Sum,
}

/// What was added up.
#[derive(Debug)]
enum Sum {
    /// Whole numbers, in full.
    Whole(i128),
    Varint(BigInt),
    Decimal(Decimal),
    /// The mean so far, of decimals.
    Mean(Decimal),
    Float(FloatSum),
}

impl State {
    pub(crate) fn new(kind: Kind, ty: &CqlType) -> State {
        let sum = match ty {
            CqlType::Varint => Sum::Varint(BigInt::ZERO),
            CqlType::Decimal if kind == Kind::Avg => Sum::Mean(Decimal::zero()),
            CqlType::Decimal => Sum::Decimal(Decimal::zero()),
            CqlType::Float | CqlType::Double => Sum::Float(FloatSum::default()),
            _ => Sum::Whole(0),
        };
        State { kind, ty: ty.clone(), count: 0, bound: None, sum }
    }

    /// Takes in a value. An empty one of a type whose empty value means nothing is a null to sums and averages.
    pub(crate) fn add(&mut self, value: Option<&[u8]>) -> Result<(), FunctionError> {
        if self.kind == Kind::CountRows {
            self.count += 1;
            return Ok(());
        }
        let Some(value) = value else { return Ok(()) };
        match self.kind {
            Kind::CountRows | Kind::Count => self.count += 1,
            Kind::Min => self.keep(value, Ordering::Less),
            Kind::Max => self.keep(value, Ordering::Greater),
            Kind::Sum | Kind::Avg => {
                check_length(&self.ty, value)?;
                let is_number = self.sum.add(&self.ty, value, self.count + 1).map_err(arithmetic)?;
                self.count += i64::from(is_number);
            }
        }
        Ok(())
    }

    /// Keeps the value if it is less, or greater, than what is kept.
    fn keep(&mut self, value: &[u8], if_it_is: Ordering) {
        let is_better = match &self.bound {
            Some(bound) => cql_types::compare(&self.ty, value, bound) == if_it_is,
            None => true,
        };
        if is_better {
            let bound = self.bound.get_or_insert_default();
            bound.clear();
            bound.extend_from_slice(value);
        }
    }

    pub(crate) fn finish(&self, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        match self.kind {
            Kind::CountRows | Kind::Count => out.extend_from_slice(&self.count.to_be_bytes()),
            Kind::Min | Kind::Max => match &self.bound {
                Some(bound) => out.extend_from_slice(bound),
                None => return Ok(false),
            },
            Kind::Sum => self.sum.total(&self.ty).write(out),
            Kind::Avg => self.sum.mean(&self.ty, self.count).map_err(arithmetic)?.write(out),
        }
        Ok(true)
    }
}

fn arithmetic(error: ArithmeticError) -> FunctionError {
    FunctionError::server(format!("java.lang.ArithmeticException: {}", error.0))
}

impl Aggregate for State {
    fn add(&mut self, arguments: &[Option<&[u8]>]) -> Result<(), FunctionError> {
        State::add(self, arguments.first().copied().flatten())
    }

    fn finish(&self, out: &mut Vec<u8>) -> Result<bool, FunctionError> {
        State::finish(self, out)
    }
}

impl Sum {
    /// Adds the number that a value of the type is, as the `count`-th; `Ok(false)`: it is none.
    fn add(&mut self, ty: &CqlType, value: &[u8], count: i64) -> Result<bool, ArithmeticError> {
        let read = || Number::read(ty, value);
        match self {
            Sum::Whole(sum) => {
                let Some(number) = Number::read_whole(ty, value) else { return Ok(false) };
                *sum += i128::from(number);
            }
            Sum::Varint(sum) => {
                let Some(number) = read() else { return Ok(false) };
                *sum += number.to_varint();
            }
            Sum::Decimal(sum) => {
                let Some(number) = read() else { return Ok(false) };
                *sum = sum.add(&number.to_decimal()?)?;
            }
            Sum::Mean(mean) => {
                let Some(number) = read() else { return Ok(false) };
                // Each step has the scale of its difference, so that the digits are those of the numbers.
                let difference = number.to_decimal()?.subtract(mean)?;
                let places = difference.scale.into();
                let step = difference.divide_to(&Decimal::integer(count.into()), places, Rounding::HalfEven)?;
                *mean = mean.add(&step)?;
            }
            Sum::Float(sum) => {
                let Some(number) = read() else { return Ok(false) };
                sum.add(number.to_f64());
            }
        }
        Ok(true)
    }

    /// The sum, in the type of its parts.
    fn total(&self, ty: &CqlType) -> Number {
        match self {
            Sum::Whole(sum) => of_whole(ty, *sum as i64),
            Sum::Varint(sum) => Number::Varint(sum.clone()),
            Sum::Decimal(sum) | Sum::Mean(sum) => Number::Decimal(sum.clone()),
            Sum::Float(sum) => of_float(ty, sum.total()),
        }
    }

    fn mean(&self, ty: &CqlType, count: i64) -> Result<Number, ArithmeticError> {
        Ok(match self {
            Sum::Whole(_) | Sum::Varint(_) | Sum::Float(_) if count == 0 => return Ok(self.total(ty)),
            Sum::Whole(sum) => of_whole(ty, (*sum / i128::from(count)) as i64),
            Sum::Varint(sum) => Number::Varint(sum / count),
            Sum::Decimal(mean) | Sum::Mean(mean) => Number::Decimal(mean.clone()),
            Sum::Float(sum) => of_float(ty, sum.mean(count)?),
        })
    }
}

/// The lowest bits of a number, as many as the type has.
fn of_whole(ty: &CqlType, number: i64) -> Number {
    match ty {
        CqlType::Tinyint => Number::Byte(number as i8),
        CqlType::Smallint => Number::Short(number as i16),
        CqlType::Int => Number::Int(number as i32),
        _ => Number::Long(number),
    }
}

fn of_float(ty: &CqlType, number: f64) -> Number {
    match ty {
        CqlType::Float => Number::Float(number as f32),
        _ => Number::Double(number),
    }
}

/// Kahan's sum of floating-point numbers. What it lost is added at the end, not taken off, as in Cassandra.
#[derive(Debug, Default)]
struct FloatSum {
    sum: f64,
    compensation: f64,
    /// The plain sum, which tells infinities from what Kahan's makes of them.
    simple: f64,
    /// What was added since the sum of finite numbers became too large.
    beyond: Option<Decimal>,
}

impl FloatSum {
    fn add(&mut self, number: f64) {
        self.simple += number;
        let previous = self.sum;
        let lessened = number - self.compensation;
        let rounded = self.sum + lessened;
        self.compensation = (rounded - self.sum) - lessened;
        self.sum = rounded;
        // Only averages look at what is beyond.
        let finite = |number: f64| if number.is_finite() { Decimal::of_f64(number) } else { Decimal::zero() };
        match &mut self.beyond {
            Some(beyond) => {
                if let Ok(sum) = beyond.add(&finite(number)) {
                    *beyond = sum;
                }
            }
            None if self.sum.is_infinite() && number.is_finite() && previous.is_finite() => {
                self.beyond = finite(previous).add(&finite(number)).ok();
            }
            None => {}
        }
    }

    fn total(&self) -> f64 {
        let total = self.sum + self.compensation;
        if total.is_nan() && self.simple.is_infinite() { self.simple } else { total }
    }

    fn mean(&self, count: i64) -> Result<f64, ArithmeticError> {
        match &self.beyond {
            Some(beyond) => {
                let places = beyond.scale.into();
                Ok(beyond.divide_to(&Decimal::integer(count.into()), places, Rounding::HalfEven)?.to_f64())
            }
            None => Ok(self.total() / count as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{printed, value};

    fn over(name: &str, ty: &str, values: &[&str]) -> String {
        let given = CqlType::parse(ty).unwrap();
        let call = resolve_aggregate(name, &[Argument::Typed(&given)]).unwrap();
        let mut state = call.start();
        for text in values {
            let value = (*text != "null").then(|| value(ty, text).1);
            state.add(&[value.as_deref()]).unwrap();
        }
        let mut out = Vec::new();
        let is_there = state.finish(&mut out).unwrap();
        printed(call.returns(), is_there.then_some(&out))
    }

    #[test]
    fn aggregates_over_values_and_nulls() {
        for (name, ty, values, expected) in [
            ("count", "text", &["a", "null", "b"][..], "2"),
            ("min", "int", &["10", "-3", "null"], "-3"),
            ("max", "text", &["b", "a"], "'b'"),
            ("max", "list<int>", &[], "null"),
            ("sum", "int", &["10", "-3"], "7"),
            ("sum", "tinyint", &["100", "100"], "-56"),
            ("sum", "bigint", &["9223372036854775807", "1"], "-9223372036854775808"),
            ("avg", "int", &["10", "-3"], "3"),
            ("avg", "int", &["-3", "-4"], "-3"),
            ("avg", "bigint", &["9223372036854775807", "9223372036854775807"], "9223372036854775807"),
            ("avg", "varint", &["5", "500000000000000000000"], "250000000000000000002"),
            ("avg", "double", &["1.5", "-2.5"], "-0.5"),
            ("avg", "double", &["1.7976931348623157E308", "1.7976931348623157E308"], "1.7976931348623157E308"),
            ("sum", "double", &["1.7976931348623157E308", "1.7976931348623157E308"], "Infinity"),
            ("sum", "double", &["Infinity", "1", "1"], "Infinity"),
            ("sum", "double", &["Infinity", "-Infinity"], "NaN"),
            ("sum", "float", &["0.1", "0.2"], "0.3"),
            ("avg", "decimal", &["1", "2"], "1"),
            ("avg", "decimal", &["1.0", "2.0"], "1.5"),
            ("sum", "decimal", &["1.50", "2"], "3.50"),
            ("sum", "int", &[], "0"),
            ("avg", "double", &[], "0.0"),
            ("avg", "decimal", &[], "0"),
        ] {
            assert_eq!(over(name, ty, values), expected, "{name} of {ty}");
        }
    }

    #[test]
    fn rows_are_counted_without_arguments() {
        let call = resolve_aggregate("count_rows", &[]).unwrap();
        assert!(resolve_aggregate("count", &[]).is_err(), "count takes one");
        let mut state = call.start();
        state.add(&[]).unwrap();
        state.add(&[]).unwrap();
        let mut out = Vec::new();
        assert_eq!(state.finish(&mut out), Ok(true));
        assert_eq!(out, 2_i64.to_be_bytes());
        assert_eq!((call.column_name(&[]), call.returns()), ("count".to_owned(), &CqlType::Bigint));
    }

    #[test]
    fn sums_are_of_numbers() {
        let error = resolve_aggregate("sum", &[Argument::Typed(&CqlType::Text)]).unwrap_err();
        let words = error.message(&|_| "x".to_owned());
        assert!(words.starts_with("Invalid call to function sum, none of its type signatures match"), "{words}");
    }
}
