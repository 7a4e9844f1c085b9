//! Decimals against what Cassandra prints of them, and against each other.

use super::*;
use proptest::prelude::*;

fn decimal(text: &str) -> Decimal {
    let (mantissa, exponent) = text.split_once('E').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = i32::try_from(fraction.len()).unwrap() - exponent.parse::<i32>().unwrap();
    Decimal { unscaled: format!("{whole}{fraction}").parse().unwrap(), scale }
}

fn shown(number: &Decimal) -> String {
    let mut bytes = Vec::new();
    number.write(&mut bytes);
    cql_types::print(&cql_types::CqlType::Decimal, &bytes)
}

#[test]
fn sums_keep_the_larger_scale() {
    let add = |a, b| shown(&decimal(a).add(&decimal(b)).unwrap());
    assert_eq!(add("1.5", "2.25"), "3.75");
    assert_eq!(add("1.50", "-1.5"), "0.00");
    assert_eq!(add("0", "1E+3"), "1000");
    assert_eq!(add("0.00", "1"), "1.00");
    assert_eq!(add("1E+3", "1"), "1001");
    // Far below the digits that are kept.
    assert_eq!(decimal("1E+2000000000").add(&decimal("1")).unwrap().precision(), 10_000);
}

#[test]
fn quotients_have_32_digits_behind_the_point_at_least() {
    let divide = |a, b| decimal(a).divide(&decimal(b)).map(|quotient| shown(&quotient));
    assert_eq!(divide("1", "3").unwrap(), "0.33333333333333333333333333333333");
    assert_eq!(divide("2", "3").unwrap(), "0.66666666666666666666666666666667");
    assert_eq!(divide("10", "4").unwrap(), "2.5");
    assert_eq!(divide("100", "1").unwrap(), "1E+2");
    assert_eq!(divide("0", "3").unwrap(), "0");
    assert_eq!(divide("1", "0"), Err(ArithmeticError("BigInteger divide by zero")));
    assert_eq!(divide("0", "0"), Err(ArithmeticError("BigInteger divide by zero")));
    assert_eq!(decimal("1").remainder(&decimal("0")), Err(ArithmeticError("Division by zero")));
    assert_eq!(decimal("0").remainder(&decimal("0")), Err(ArithmeticError("Division undefined")));
    assert_eq!(divide("1E+2000000000", "1"), Err(OVERFLOW));
}

#[test]
fn remainders_have_the_dividends_sign() {
    let remainder = |a, b| shown(&decimal(a).remainder(&decimal(b)).unwrap());
    assert_eq!(remainder("5.5", "2"), "1.5");
    assert_eq!(remainder("-5.5", "2"), "-1.5");
    assert_eq!(remainder("10", "2.5"), "0.0");
    assert_eq!(remainder("1", "3"), "1");
}

#[test]
fn roundings() {
    let scaled = |a, scale, rounding| shown(&decimal(a).with_scale(scale, rounding).unwrap());
    assert_eq!(scaled("2.5", 0, Rounding::HalfUp), "3");
    assert_eq!(scaled("-2.5", 0, Rounding::HalfUp), "-3");
    assert_eq!(scaled("2.5", 0, Rounding::HalfEven), "2");
    assert_eq!(scaled("0.001", 0, Rounding::HalfUp), "0");
    assert_eq!(scaled("1E+2", 0, Rounding::HalfUp), "100");
    assert_eq!(shown(&decimal("99999").rounded(2, Rounding::HalfUp).unwrap()), "1.0E+5");
}

#[test]
fn floats_become_what_they_are_printed_as() {
    for (number, text) in [
        (1.0, "1.0"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (1e10, "1.0E+10"),
        (1.25e-7, "1.25E-7"),
        (0.001, "0.001"),
        (0.0, "0.0"),
        (-0.0, "0.0"),
        (12_345_678.0, "12345678"),
    ] {
        assert_eq!(shown(&Decimal::of_f64(number)), text);
        assert_eq!(Decimal::of_f64(number).to_f64(), number);
    }
}

#[test]
fn whole_parts() {
    assert_eq!(decimal("12.9").to_i64(), 12);
    assert_eq!(decimal("-12.9").to_i64(), -12);
    assert_eq!(decimal("18446744073709551617").to_i64(), 1);
    assert_eq!(decimal("1E+100").to_i64(), 0);
    assert_eq!(decimal("1E-100").to_i64(), 0);
    assert_eq!(decimal("1E+2147483647").to_i64(), 0);
    assert_eq!(decimal("1E+2147483647").to_integer(), Err(OVERFLOW));
    assert_eq!(decimal("1E-2147483647").to_integer(), Ok(BigInt::ZERO));
}

/// The digits are those of tables.
#[test]
fn logarithms_and_powers_of_e() {
    let exp = |a| shown(&exp(&decimal(a)).unwrap());
    assert_eq!(exp("1"), "2.7182818284590452353602874713527");
    assert_eq!(exp("0"), "1");
    assert_eq!(exp("-1"), "0.36787944117144232159552377016146");
    assert_eq!(exp("10"), "22026.465794806716516957900645284");
    let log = |a| shown(&log(&decimal(a)).unwrap());
    assert_eq!(log("2"), "0.69314718055994530941723212145818");
    assert_eq!(log("10"), "2.3025850929940456840179914546844");
    assert_eq!(log("1.000"), "0");
    assert_eq!(log("0.5"), "-0.69314718055994530941723212145818");
    let log10 = |a| shown(&log10(&decimal(a)).unwrap());
    assert_eq!(log10("2"), "0.30102999566398119521373889472449");
    assert_eq!(log10("1000"), format!("3.{}", "0".repeat(31)));
    assert_eq!(super::log(&decimal("0")), Err(ArithmeticError("Natural log of number zero or less")));
    assert_eq!(super::log10(&decimal("-1")), Err(ArithmeticError("Log10 of number zero or less")));
    assert_eq!(super::exp(&decimal("1E+9")), Err(OVERFLOW));
}

proptest! {
    #[test]
    fn digits_are_counted(number in any::<i128>()) {
        let expected = number.unsigned_abs().to_string().len() as u64;
        prop_assert_eq!(digits(&BigInt::from(number)), expected);
    }

    #[test]
    fn sums_and_products_of_small_numbers_are_exact(a in any::<i64>(), b in any::<i64>(), p in 0_i32..20, q in 0_i32..20) {
        let (left, right) = (Decimal { unscaled: a.into(), scale: p }, Decimal { unscaled: b.into(), scale: q });
        let product = left.multiply(&right).unwrap();
        prop_assert_eq!(&product.unscaled, &(BigInt::from(a) * b));
        prop_assert_eq!(product.scale, p + q);
        let back = left.add(&right).unwrap().subtract(&right).unwrap();
        prop_assert!(back.subtract(&left).unwrap().is_zero());
    }

    #[test]
    fn low_bits_are_those_of_twos_complement(number in any::<i128>()) {
        prop_assert_eq!(low_64_bits(&BigInt::from(number)), number as i64);
    }
}
