//! abs, exp, log, log10 and round: each gives a number of its argument's type.

use cql_types::CqlType;
use num_bigint::BigInt;

use crate::call::Body;
use crate::decimal::{self, ArithmeticError, Decimal, Rounding};
use crate::number::{NUMERIC_TYPES, Number, nan_of};
use crate::{Call, Context, FunctionError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Abs,
    Exp,
    Log,
    Log10,
    Round,
}

/// The functions of a name.
pub(crate) fn overloads(name: &str) -> Option<Vec<Call>> {
    let function = match name {
        "abs" => Function::Abs,
        "exp" => Function::Exp,
        "log" => Function::Log,
        "log10" => Function::Log10,
        "round" => Function::Round,
        _ => return None,
    };
    let of = |ty: &CqlType| Call::new(name, vec![ty.clone()], ty.clone(), Math { function, ty: ty.clone() });
    Some(NUMERIC_TYPES.iter().map(of).collect())
}

#[derive(Debug)]
struct Math {
    function: Function,
    ty: CqlType,
}

impl Body for Math {
    fn evaluate(
        &self,
        arguments: &[Option<&[u8]>],
        _: &mut dyn Context,
        out: &mut Vec<u8>,
    ) -> Result<bool, FunctionError> {
        let Some(number) = arguments.first().copied().flatten().and_then(|value| Number::read(&self.ty, value)) else {
            return Ok(false);
        };
        let result = apply(self.function, number);
        result
            .map_err(|error| FunctionError::server(format!("java.lang.ArithmeticException: {}", error.0)))?
            .write(out);
        Ok(true)
    }
}

fn apply(function: Function, number: Number) -> Result<Number, ArithmeticError> {
    Ok(match (function, number) {
        (Function::Abs, number) => abs(number),
        (Function::Round, Number::Float(number)) => Number::Float(round_f32(number) as f32),
        (Function::Round, Number::Double(number)) => Number::Double(round_f64(number) as f64),
        (Function::Round, Number::Decimal(number)) => Number::Decimal(number.with_scale(0, Rounding::HalfUp)?),
        (Function::Round, number) => number,
        (function, Number::Decimal(number)) => Number::Decimal(of_decimal(function, &number)?),
        (function, Number::Varint(number)) => Number::Varint(whole(&of_decimal(function, &Decimal::integer(number))?)?),
        (function, number) => {
            let argument = number.to_f64();
            let result = match function {
                Function::Exp => argument.exp(),
                Function::Log => argument.ln(),
                _ => argument.log10(),
            };
            let result = Number::Double(if result.is_nan() { nan_of(&[argument]) } else { result });
            match number {
                Number::Byte(_) => Number::Byte(result.to_i8()),
                Number::Short(_) => Number::Short(result.to_i16()),
                Number::Int(_) => Number::Int(result.to_i32()),
                Number::Long(_) => Number::Long(result.to_i64()),
                Number::Float(_) => Number::Float(result.to_f32()),
                _ => result,
            }
        }
    })
}

fn whole(number: &Decimal) -> Result<BigInt, ArithmeticError> {
    number.to_integer()
}

fn of_decimal(function: Function, number: &Decimal) -> Result<Decimal, ArithmeticError> {
    match function {
        Function::Exp => decimal::exp(number),
        Function::Log => decimal::log(number),
        _ => decimal::log10(number),
    }
}

/// The smallest whole number stays as it is.
fn abs(number: Number) -> Number {
    match number {
        Number::Byte(number) => Number::Byte(number.wrapping_abs()),
        Number::Short(number) => Number::Short(number.wrapping_abs()),
        Number::Int(number) => Number::Int(number.wrapping_abs()),
        Number::Long(number) => Number::Long(number.wrapping_abs()),
        Number::Float(number) => Number::Float(number.abs()),
        Number::Double(number) => Number::Double(number.abs()),
        Number::Varint(number) => Number::Varint(BigInt::from(number.magnitude().clone())),
        Number::Decimal(number) => Number::Decimal(number.abs()),
    }
}

/// The nearest whole number, from the middle upwards, within 64 bits; 0 of NaN.
fn round_f64(number: f64) -> i64 {
    let floor = number.floor();
    if number - floor >= 0.5 { (floor + 1.0) as i64 } else { floor as i64 }
}

/// The same within 32 bits.
fn round_f32(number: f32) -> i32 {
    let floor = number.floor();
    if number - floor >= 0.5 { (floor + 1.0) as i32 } else { floor as i32 }
}

#[cfg(test)]
mod tests {
    use crate::tests::evaluated;

    #[test]
    fn each_gives_its_arguments_type() {
        for (name, ty, argument, expected) in [
            ("abs", "int", "-5", "5"),
            ("abs", "tinyint", "-128", "-128"),
            ("abs", "varint", "-500000000000000000000", "500000000000000000000"),
            ("abs", "decimal", "-1.50", "1.50"),
            ("exp", "int", "2", "7"),
            ("exp", "tinyint", "100", "-1"),
            ("exp", "bigint", "100", "9223372036854775807"),
            ("exp", "double", "0", "1.0"),
            ("exp", "varint", "10", "22026"),
            ("exp", "decimal", "1", "2.7182818284590452353602874713527"),
            ("log", "int", "0", "-2147483648"),
            ("log", "double", "0", "-Infinity"),
            ("log", "double", "-1", "NaN"),
            ("log", "varint", "100", "4"),
            ("log10", "int", "999", "2"),
            ("log10", "varint", "1000", "3"),
            ("round", "double", "2.5", "3.0"),
            ("round", "double", "-2.5", "-2.0"),
            ("round", "double", "0.49999999999999994", "0.0"),
            ("round", "double", "NaN", "0.0"),
            ("round", "float", "1e20", "2.14748365E9"),
            ("round", "decimal", "2.5", "3"),
            ("round", "decimal", "-2.5", "-3"),
            ("round", "int", "7", "7"),
        ] {
            assert_eq!(evaluated(name, &[(ty, argument)]).unwrap(), expected, "{name}({argument}) of {ty}");
        }
    }

    #[test]
    fn logarithms_of_nothing_fail() {
        let error = evaluated("log", &[("decimal", "0")]).unwrap_err();
        assert!(error.to_string().ends_with("Natural log of number zero or less"), "{error}");
    }
}
