//! What arithmetic comes to, at the edges of each type.

use super::*;
use crate::number::NUMERIC_TYPES;
use crate::tests::{Nothing, printed, value};

fn result(op: Operator, left: (&str, &str), right: (&str, &str)) -> Result<String, FunctionError> {
    let (left_type, left) = value(left.0, left.1);
    let (right_type, right) = value(right.0, right.1);
    let call = call(op, index(&left_type), index(&right_type)).unwrap();
    let mut out = Vec::new();
    let is_there = call.evaluate(&[Some(&left), Some(&right)], &mut Nothing, &mut out)?;
    Ok(format!("{} {}", call.returns(), printed(call.returns(), is_there.then_some(&out))))
}

fn index(ty: &CqlType) -> usize {
    OPERAND_TYPES.iter().position(|operand| operand == ty).unwrap()
}

#[test]
fn indices_are_those_of_the_types() {
    assert_eq!(OPERAND_TYPES[..=COUNTER], NUMERIC_TYPES);
    let named = [TIMESTAMP, DATE, DURATION, TEXT, ASCII].map(|index| OPERAND_TYPES[index].to_string());
    assert_eq!(named, ["timestamp", "date", "duration", "text", "ascii"]);
}

#[test]
fn types_are_promoted() {
    use Operator::{Add, Divide, Modulo, Multiply, Subtract};
    for (op, left, right, expected) in [
        (Add, ("tinyint", "1"), ("int", "2"), "int 3"),
        (Add, ("tinyint", "100"), ("tinyint", "100"), "tinyint -56"),
        (Add, ("int", "2147483647"), ("int", "1"), "int -2147483648"),
        (Subtract, ("bigint", "1"), ("smallint", "2"), "bigint -1"),
        (Multiply, ("bigint", "9223372036854775807"), ("int", "2"), "bigint -2"),
        (Add, ("float", "1.5"), ("int", "1"), "float 2.5"),
        (Add, ("float", "1.5"), ("bigint", "1"), "double 2.5"),
        (Add, ("float", "1.5"), ("varint", "1"), "decimal 2.5"),
        (Add, ("double", "1.5"), ("decimal", "1"), "decimal 2.5"),
        (Add, ("varint", "1"), ("bigint", "1"), "varint 2"),
        (Divide, ("int", "7"), ("int", "-2"), "int -3"),
        (Divide, ("int", "-2147483648"), ("int", "-1"), "int -2147483648"),
        (Modulo, ("int", "-7"), ("int", "2"), "int -1"),
        (Modulo, ("double", "-7.5"), ("double", "2"), "double -1.5"),
        (Divide, ("double", "1"), ("double", "0"), "double Infinity"),
        (Divide, ("double", "0"), ("double", "0"), "double NaN"),
        (Divide, ("decimal", "1"), ("decimal", "8"), "decimal 0.125"),
        (Add, ("text", "a"), ("ascii", "b"), "text 'ab'"),
        (Add, ("ascii", "a"), ("ascii", ""), "ascii 'a'"),
    ] {
        assert_eq!(result(op, left, right).unwrap(), expected, "{left:?} {op:?} {right:?}");
    }
}

#[test]
fn what_has_no_result_fails() {
    let message = |op, left, right| result(op, left, right).unwrap_err().to_string();
    assert_eq!(message(Operator::Divide, ("int", "1"), ("int", "0")), "the operation 'int / int' failed: / by zero");
    assert_eq!(
        message(Operator::Modulo, ("varint", "1"), ("bigint", "0")),
        "the operation 'varint % bigint' failed: BigInteger divide by zero"
    );
    assert_eq!(
        message(Operator::Add, ("double", "NaN"), ("decimal", "1")),
        "the operation 'double + decimal' failed: A NaN cannot be converted into a decimal"
    );
}

#[test]
fn an_empty_number_is_no_number() {
    let call = call(Operator::Add, INT, INT).unwrap();
    let one = 1_i32.to_be_bytes();
    for arguments in [[Some(&one[..]), Some(&[][..])], [None, Some(&one[..])]] {
        assert_eq!(call.evaluate(&arguments, &mut Nothing, &mut Vec::new()), Ok(false));
    }
}

#[test]
fn signs_turn() {
    for ty in NUMERIC_TYPES {
        let call = negation(ty.clone());
        let mut seven = Vec::new();
        Number::Int(7).into_type(&ty).unwrap().write(&mut seven);
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        assert_eq!(call.evaluate(&[Some(&seven)], &mut Nothing, &mut once), Ok(true));
        assert_eq!(call.evaluate(&[Some(&once)], &mut Nothing, &mut twice), Ok(true));
        assert_ne!(once, seven);
        assert_eq!(twice, seven, "{ty}");
    }
}
