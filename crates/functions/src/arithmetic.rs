//! What operators do: with numbers, with times and durations, with texts.

use cql_types::{CqlType, Duration};
use num_bigint::Sign;

use crate::call::{Body, Shown};
use crate::decimal::ArithmeticError;
use crate::number::{Number, nan_of};
use crate::{Call, Context, FunctionError, Operator, temporal};

/// The types that operators take, the numeric ones first and in their order.
pub(crate) const OPERAND_TYPES: [CqlType; 14] = [
    CqlType::Tinyint,
    CqlType::Smallint,
    CqlType::Int,
    CqlType::Bigint,
    CqlType::Float,
    CqlType::Double,
    CqlType::Decimal,
    CqlType::Varint,
    CqlType::Counter,
    CqlType::Timestamp,
    CqlType::Date,
    CqlType::Duration,
    CqlType::Text,
    CqlType::Ascii,
];

// Indices of the types above that are results.
const TINYINT: usize = 0;
const SMALLINT: usize = 1;
const INT: usize = 2;
const BIGINT: usize = 3;
const FLOAT: usize = 4;
const DOUBLE: usize = 5;
const DECIMAL: usize = 6;
const VARINT: usize = 7;
const COUNTER: usize = 8;
const TIMESTAMP: usize = 9;
const DATE: usize = 10;
const DURATION: usize = 11;
const TEXT: usize = 12;
const ASCII: usize = 13;

/// The bytes of a number of each numeric type; of those without a bound, more than any other.
const SIZES: [u8; 9] = [1, 2, 4, 8, 4, 8, u8::MAX, u8::MAX, 8];

/// The type of an operation on numbers of two types: floating-point if one of them is, as wide as the wider of them.
fn result_type(left: usize, right: usize) -> usize {
    let is_float = |ty: usize| (FLOAT..=DECIMAL).contains(&ty);
    match (is_float(left) || is_float(right), SIZES[left].max(SIZES[right])) {
        (false, 1) => TINYINT,
        (false, 2) => SMALLINT,
        (false, 4) => INT,
        (false, 8) => BIGINT,
        (false, _) => VARINT,
        (true, 4) => FLOAT,
        (true, 8) => DOUBLE,
        (true, _) => DECIMAL,
    }
}

/// The type that an operator gives between values of two types, all by their index in [`OPERAND_TYPES`]; `None`: there is no
/// such operation.
pub(crate) fn returns(op: Operator, left: usize, right: usize) -> Option<usize> {
    match (op, left, right) {
        (_, ..=COUNTER, ..=COUNTER) => Some(result_type(left, right)),
        (Operator::Add | Operator::Subtract, TIMESTAMP | DATE, DURATION) => Some(left),
        (Operator::Add, ASCII, ASCII) => Some(ASCII),
        (Operator::Add, TEXT | ASCII, TEXT | ASCII) => Some(TEXT),
        _ => None,
    }
}

/// The call of an operator between values of two types that have it.
pub(crate) fn call(op: Operator, left: usize, right: usize) -> Option<Call> {
    let returns = OPERAND_TYPES[returns(op, left, right)?].clone();
    let (left, right) = (OPERAND_TYPES[left].clone(), OPERAND_TYPES[right].clone());
    let body = Operation { op, left: left.clone(), right: right.clone(), returns: returns.clone() };
    Some(Call::new(op.function(), vec![left, right], returns, body).shown(Shown::Operator(op.symbol())))
}

/// The call of a minus before a number.
pub(crate) fn negation(ty: CqlType) -> Call {
    Call::new("_negate", vec![ty.clone()], ty.clone(), Negation { ty }).shown(Shown::Negation)
}

#[derive(Debug)]
struct Operation {
    op: Operator,
    left: CqlType,
    right: CqlType,
    returns: CqlType,
}

impl Operation {
    fn failed(&self, reason: impl std::fmt::Display) -> FunctionError {
        FunctionError::Failed {
            function: self.op.function().to_owned(),
            arguments: vec![self.left.clone(), self.right.clone()],
            message: format!("the operation '{} {} {}' failed: {reason}", self.left, self.op.symbol(), self.right),
        }
    }
}

impl Body for Operation {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let [Some(left), Some(right)] = arguments else { return Ok(false) };
        match self.returns {
            CqlType::Text | CqlType::Ascii => {
                out.extend_from_slice(left);
                out.extend_from_slice(right);
            }
            CqlType::Timestamp | CqlType::Date => {
                let Ok(duration) = Duration::decode(right) else { return Ok(false) };
                let subtracts = self.op == Operator::Subtract;
                let sum = temporal::add(&self.returns, left, duration, subtracts);
                match sum.map_err(|reason| self.failed(reason))? {
                    Some(sum) => out.extend_from_slice(&sum),
                    None => return Ok(false),
                }
            }
            _ => {
                let (left, right) = (Number::read(&self.left, left), Number::read(&self.right, right));
                let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
                let number = operate(self.op, &self.returns, &left, &right);
                number.map_err(|error| self.failed(error.0))?.write(out);
            }
        }
        Ok(true)
    }
}

#[derive(Debug)]
struct Negation {
    ty: CqlType,
}

impl Body for Negation {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(number) = arguments.first().copied().flatten().and_then(|value| Number::read(&self.ty, value)) else {
            return Ok(false);
        };
        match number {
            Number::Byte(number) => Number::Byte(number.wrapping_neg()),
            Number::Short(number) => Number::Short(number.wrapping_neg()),
            Number::Int(number) => Number::Int(number.wrapping_neg()),
            Number::Long(number) => Number::Long(number.wrapping_neg()),
            Number::Float(number) => Number::Float(-number),
            Number::Double(number) => Number::Double(-number),
            Number::Varint(number) => Number::Varint(-number),
            Number::Decimal(number) => Number::Decimal(number.negated()),
        }
        .write(out);
        Ok(true)
    }
}

const BY_ZERO: ArithmeticError = ArithmeticError("/ by zero");

/// Whole numbers wrap around; the smallest divided by -1 is itself.
macro_rules! whole {
    ($op:expr, $left:expr, $right:expr) => {{
        let (left, right) = ($left, $right);
        match $op {
            Operator::Add => left.wrapping_add(right),
            Operator::Subtract => left.wrapping_sub(right),
            Operator::Multiply => left.wrapping_mul(right),
            Operator::Divide | Operator::Modulo if right == 0 => return Err(BY_ZERO),
            Operator::Divide => left.wrapping_div(right),
            Operator::Modulo => left.wrapping_rem(right),
        }
    }};
}

macro_rules! floating {
    ($op:expr, $left:expr, $right:expr) => {{
        let (left, right) = ($left, $right);
        match $op {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
            Operator::Modulo => left % right,
        }
    }};
}

fn operate(op: Operator, returns: &CqlType, left: &Number, right: &Number) -> Result<Number, ArithmeticError> {
    Ok(match returns {
        CqlType::Tinyint => Number::Byte(whole!(op, left.to_i8(), right.to_i8())),
        CqlType::Smallint => Number::Short(whole!(op, left.to_i16(), right.to_i16())),
        CqlType::Int => Number::Int(whole!(op, left.to_i32(), right.to_i32())),
        CqlType::Float => {
            let (left, right) = (left.to_f32(), right.to_f32());
            let result = floating!(op, left, right);
            Number::Float(if result.is_nan() { nan_of(&[left.into(), right.into()]) as f32 } else { result })
        }
        CqlType::Double => {
            let (left, right) = (left.to_f64(), right.to_f64());
            let result = floating!(op, left, right);
            Number::Double(if result.is_nan() { nan_of(&[left, right]) } else { result })
        }
        CqlType::Varint => {
            let (left, right) = (left.to_varint(), right.to_varint());
            Number::Varint(match op {
                Operator::Add => left + right,
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide | Operator::Modulo if right.sign() == Sign::NoSign => {
                    return Err(ArithmeticError("BigInteger divide by zero"));
                }
                Operator::Divide => left / right,
                Operator::Modulo => left % right,
            })
        }
        CqlType::Decimal => {
            let (left, right) = (left.to_decimal()?, right.to_decimal()?);
            Number::Decimal(match op {
                Operator::Add => left.add(&right)?,
                Operator::Subtract => left.subtract(&right)?,
                Operator::Multiply => left.multiply(&right)?,
                Operator::Divide => left.divide(&right)?,
                Operator::Modulo => left.remainder(&right)?,
            })
        }
        _ => Number::Long(whole!(op, left.to_i64(), right.to_i64())),
    })
}

#[cfg(test)]
mod tests;
