//! Numbers of every numeric type, and how one becomes another: as Java's `Number` does it.

use cql_types::CqlType;
use num_bigint::BigInt;

use crate::FunctionError;
use crate::decimal::{ArithmeticError, Decimal, low_64_bits};

/// The numeric types, in the order in which functions are declared for them.
pub(crate) const NUMERIC_TYPES: [CqlType; 9] = [
    CqlType::Tinyint,
    CqlType::Smallint,
    CqlType::Int,
    CqlType::Bigint,
    CqlType::Float,
    CqlType::Double,
    CqlType::Decimal,
    CqlType::Varint,
    CqlType::Counter,
];

/// The longest varint or decimal that is computed with: what is done with digits takes the square of their count.
const BYTES_MAX: usize = 8 << 10;

/// Refuses a number that is too long to be computed with.
pub(crate) fn check_length(ty: &CqlType, value: &[u8]) -> Result<(), FunctionError> {
    if value.len() > BYTES_MAX && matches!(ty, CqlType::Varint | CqlType::Decimal) {
        return Err(FunctionError::invalid(format!(
            "A {ty} that a function takes has at most {BYTES_MAX} bytes, this one has {}",
            value.len()
        )));
    }
    Ok(())
}

/// Whether a type's values are numbers.
pub(crate) fn is_numeric(ty: &CqlType) -> bool {
    NUMERIC_TYPES.contains(ty)
}

/// A number of some numeric type. A counter's value is a [`Number::Long`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Number {
    Byte(i8),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Varint(BigInt),
    Decimal(Decimal),
}

impl Number {
    /// The number that a value of the type is; `None` of an empty one, and of bytes that are none.
    pub(crate) fn read(ty: &CqlType, value: &[u8]) -> Option<Number> {
        Some(match ty {
            CqlType::Tinyint => Number::Byte(i8::from_be_bytes(value.try_into().ok()?)),
            CqlType::Smallint => Number::Short(i16::from_be_bytes(value.try_into().ok()?)),
            CqlType::Int => Number::Int(i32::from_be_bytes(value.try_into().ok()?)),
            CqlType::Bigint | CqlType::Counter => Number::Long(i64::from_be_bytes(value.try_into().ok()?)),
            CqlType::Float => Number::Float(f32::from_be_bytes(value.try_into().ok()?)),
            CqlType::Double => Number::Double(f64::from_be_bytes(value.try_into().ok()?)),
            CqlType::Varint if !value.is_empty() => Number::Varint(BigInt::from_signed_bytes_be(value)),
            CqlType::Decimal => Number::Decimal(Decimal::read(value)?),
            _ => return None,
        })
    }

    /// The same of the types of whole numbers that fit in 64 bits, at less cost.
    #[inline]
    pub(crate) fn read_whole(ty: &CqlType, value: &[u8]) -> Option<i64> {
        Some(match ty {
            CqlType::Bigint | CqlType::Counter => i64::from_be_bytes(value.try_into().ok()?),
            CqlType::Int => i32::from_be_bytes(value.try_into().ok()?).into(),
            CqlType::Smallint => i16::from_be_bytes(value.try_into().ok()?).into(),
            CqlType::Tinyint => i8::from_be_bytes(value.try_into().ok()?).into(),
            _ => return None,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Number::Byte(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Short(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Int(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Long(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Float(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Double(number) => out.extend_from_slice(&number.to_be_bytes()),
            Number::Varint(number) => out.extend_from_slice(&number.to_signed_bytes_be()),
            Number::Decimal(number) => number.write(out),
        }
    }

    /// The whole number that it is, cut to 64 bits; a floating-point one beyond them becomes the nearest.
    pub(crate) fn to_i64(&self) -> i64 {
        match self {
            Number::Byte(number) => i64::from(*number),
            Number::Short(number) => i64::from(*number),
            Number::Int(number) => i64::from(*number),
            Number::Long(number) => *number,
            Number::Float(number) => *number as i64,
            Number::Double(number) => *number as i64,
            Number::Varint(number) => low_64_bits(number),
            Number::Decimal(number) => number.to_i64(),
        }
    }

    /// The same for 32 bits.
    pub(crate) fn to_i32(&self) -> i32 {
        match self {
            Number::Float(number) => *number as i32,
            Number::Double(number) => *number as i32,
            other => other.to_i64() as i32,
        }
    }

    pub(crate) fn to_i16(&self) -> i16 {
        self.to_i32() as i16
    }

    pub(crate) fn to_i8(&self) -> i8 {
        self.to_i32() as i8
    }

    pub(crate) fn to_f64(&self) -> f64 {
        match self {
            Number::Float(number) => f64::from(*number),
            Number::Double(number) => *number,
            Number::Varint(number) => Decimal::integer(number.clone()).to_f64(),
            Number::Decimal(number) => number.to_f64(),
            other => other.to_i64() as f64,
        }
    }

    pub(crate) fn to_f32(&self) -> f32 {
        match self {
            Number::Float(number) => *number,
            Number::Double(number) => *number as f32,
            Number::Varint(number) => Decimal::integer(number.clone()).to_f32(),
            Number::Decimal(number) => number.to_f32(),
            other => other.to_i64() as f32,
        }
    }

    /// As an operand beside a varint.
    pub(crate) fn to_varint(&self) -> BigInt {
        match self {
            Number::Varint(number) => number.clone(),
            other => BigInt::from(other.to_i64()),
        }
    }

    /// As an operand beside a decimal: anything but a varint goes through a floating-point number of 64 bits.
    pub(crate) fn to_decimal(&self) -> Result<Decimal, ArithmeticError> {
        match self {
            Number::Decimal(number) => Ok(number.clone()),
            Number::Varint(number) => Ok(Decimal::integer(number.clone())),
            other => {
                let number = other.to_f64();
                if number.is_nan() {
                    return Err(ArithmeticError("A NaN cannot be converted into a decimal"));
                }
                if number.is_infinite() {
                    return Err(ArithmeticError("An infinite number cannot be converted into a decimal"));
                }
                Ok(Decimal::of_f64(number))
            }
        }
    }

    /// The number as one of that numeric type.
    pub(crate) fn into_type(self, ty: &CqlType) -> Result<Number, ArithmeticError> {
        Ok(match ty {
            CqlType::Tinyint => Number::Byte(self.to_i8()),
            CqlType::Smallint => Number::Short(self.to_i16()),
            CqlType::Int => Number::Int(self.to_i32()),
            CqlType::Float => Number::Float(self.to_f32()),
            CqlType::Double => Number::Double(self.to_f64()),
            CqlType::Varint => Number::Varint(self.to_varint()),
            CqlType::Decimal => Number::Decimal(self.to_decimal()?),
            _ => Number::Long(self.to_i64()),
        })
    }
}

/// The NaN that an operation gives, as the processors do that Cassandra runs on: that of an operand, or else one with the sign.
pub(crate) fn nan_of(operands: &[f64]) -> f64 {
    let made = f64::from_bits(0xfff8_0000_0000_0000);
    operands.iter().copied().find(|operand| operand.is_nan()).unwrap_or(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_as_java_cuts_them() {
        assert_eq!(Number::Int(300).to_i8(), 44);
        assert_eq!(Number::Double(1e20).to_i64(), i64::MAX);
        assert_eq!(Number::Double(1e20).to_i16(), -1, "by way of 32 bits");
        assert_eq!(Number::Float(f32::NAN).to_i32(), 0);
        assert_eq!(Number::Long(1 << 40).to_i32(), 0);
        assert_eq!(Number::Varint(BigInt::from(1) << 70_u32).to_i64(), 0);
        assert_eq!(Number::Varint(BigInt::from(10).pow(400)).to_f64(), f64::INFINITY);
        assert_eq!(Number::Long(i64::MAX).to_decimal().unwrap(), Decimal::of_f64(9.223372036854776E18));
        assert!(Number::Double(f64::NAN).to_decimal().is_err());
    }

    #[test]
    fn long_numbers_are_refused() {
        assert!(check_length(&CqlType::Varint, &[1; BYTES_MAX]).is_ok());
        assert!(check_length(&CqlType::Varint, &[1; BYTES_MAX + 1]).is_err());
        assert!(check_length(&CqlType::Text, &[1; BYTES_MAX + 1]).is_ok());
    }

    #[test]
    fn values_are_read_and_written() {
        for ty in NUMERIC_TYPES {
            let number = Number::Int(-7).into_type(&ty).unwrap();
            let mut bytes = Vec::new();
            number.write(&mut bytes);
            assert_eq!(cql_types::validate(&ty, &bytes), Ok(()));
            assert_eq!(Number::read(&ty, &bytes), Some(number));
            assert_eq!(Number::read(&ty, &[]), None);
        }
    }
}
