//! exp, log and log10 of decimals, to as many digits as asked for.
//!
//! All is done on integers that stand for numbers with a fixed count of digits behind the point, twenty more than are asked
//! for, so that the result, rounded half to even, is the nearest one but for inputs that lie next to a middle.

use num_bigint::{BigInt, Sign};

use super::{ArithmeticError, Decimal, OVERFLOW, Rounding, power_of_ten};

/// The fewest digits of a result.
const DIGITS_MIN: u64 = 32;
/// The most digits that a result is computed to; Cassandra goes to 10,000, which takes it minutes.
const DIGITS_MAX: u64 = 1_000;
/// Digits beyond those that are asked for.
const GUARD: u64 = 20;
/// exp of more has more digits before the point than a scale can say, or takes long for nothing.
const EXPONENT_MAX: i64 = 10_000_000;

fn precision_of(number: &Decimal) -> u64 {
    number.precision().clamp(DIGITS_MIN, DIGITS_MAX)
}

/// e to the power of a number.
pub(crate) fn exp(number: &Decimal) -> Result<Decimal, ArithmeticError> {
    if number.is_zero() {
        return Ok(Decimal::integer(BigInt::from(1)));
    }
    let precision = precision_of(number);
    let whole = number.to_integer()?;
    let whole = i64::try_from(whole).ok().filter(|whole| whole.abs() <= EXPONENT_MAX).ok_or(OVERFLOW)?;
    // e^x = 10^k · e^(x - k ln 10)
    let k = (whole as f64 / std::f64::consts::LN_10).round() as i64;
    let places = precision + GUARD;
    // ln 10 is multiplied by up to 10^7.
    let wide = places + 10;
    let x = fixed(number, wide);
    let rest = (x - ln_10(wide) * k) / power_of_ten(wide - places);
    let value = exp_fixed(&rest, places);
    let scale = i64::try_from(places).unwrap_or(i64::MAX) - k;
    let scale = i32::try_from(scale).map_err(|_| OVERFLOW)?;
    Decimal { unscaled: value, scale }.rounded(precision, Rounding::HalfEven)
}

/// The natural logarithm of a number that is greater than zero.
pub(crate) fn log(number: &Decimal) -> Result<Decimal, ArithmeticError> {
    if !number.is_positive() {
        return Err(ArithmeticError("Natural log of number zero or less"));
    }
    let precision = precision_of(number);
    if let Some(one) = logarithm_of_one(number) {
        return Ok(one);
    }
    let places = precision + GUARD + lost_near_one(number);
    let value = log_fixed(number, places);
    rounded(value, places, precision)
}

/// The logarithm to base ten of a number that is greater than zero.
pub(crate) fn log10(number: &Decimal) -> Result<Decimal, ArithmeticError> {
    if !number.is_positive() {
        return Err(ArithmeticError("Log10 of number zero or less"));
    }
    let precision = precision_of(number);
    if logarithm_of_one(number).is_some() {
        // Cassandra divides a zero by the logarithm of ten, which has so many digits behind the point.
        let scale = -i32::try_from(precision + 1).unwrap_or(i32::MAX);
        return Ok(Decimal { unscaled: BigInt::ZERO, scale });
    }
    let places = precision + GUARD + lost_near_one(number);
    let value = log_fixed(number, places) * power_of_ten(places) / ln_10(places);
    rounded(value, places, precision)
}

fn rounded(value: BigInt, places: u64, precision: u64) -> Result<Decimal, ArithmeticError> {
    let scale = i32::try_from(places).map_err(|_| OVERFLOW)?;
    Decimal { unscaled: value, scale }.rounded(precision, Rounding::HalfEven)
}

fn logarithm_of_one(number: &Decimal) -> Option<Decimal> {
    (number.clone().stripped() == Decimal::integer(BigInt::from(1))).then(Decimal::zero)
}

/// A logarithm of a number next to one is small: as many digits more are needed as it has zeros behind the point.
fn lost_near_one(number: &Decimal) -> u64 {
    match number.subtract(&Decimal::integer(BigInt::from(1))) {
        Ok(difference) => (i64::from(difference.scale) - difference.precision() as i64).max(0) as u64,
        Err(_) => 0,
    }
}

/// The number as an integer of so many digits behind the point; more are cut.
fn fixed(number: &Decimal, places: u64) -> BigInt {
    let shift = places as i64 - i64::from(number.scale);
    if shift >= 0 {
        return &number.unscaled * power_of_ten(shift as u64);
    }
    if shift.unsigned_abs() > number.precision() {
        return BigInt::ZERO;
    }
    &number.unscaled / power_of_ten(shift.unsigned_abs())
}

/// e to the power of a number not far from zero.
fn exp_fixed(x: &BigInt, places: u64) -> BigInt {
    // e^x = (e^(x / 2^s))^(2^s): the smaller the number, the sooner the series ends.
    const HALVINGS: u64 = 12;
    let one = power_of_ten(places + GUARD);
    let small: BigInt = (x * power_of_ten(GUARD)) >> HALVINGS;
    let (mut sum, mut term) = (one.clone(), one.clone());
    for n in 1_u32.. {
        term = term * &small / &one / n;
        // Shifted right, what is below zero ends at -1.
        if term.bits() <= 1 {
            break;
        }
        sum += &term;
    }
    for _ in 0..HALVINGS {
        sum = &sum * &sum / &one;
    }
    sum / power_of_ten(GUARD)
}

/// The natural logarithm of a number greater than zero.
fn log_fixed(number: &Decimal, places: u64) -> BigInt {
    let wide = places + GUARD;
    let one = power_of_ten(wide);
    // x = m · 10^k with m from about 0.3 to 3.
    let digits = number.precision() as i64;
    let mut k = digits - 1 - i64::from(number.scale);
    let mut mantissa = fixed(&Decimal { unscaled: number.unscaled.clone(), scale: (digits - 1) as i32 }, wide);
    if mantissa > &one * 3 {
        mantissa /= 10;
        k += 1;
    }
    let ln_mantissa = log_near_one(&mantissa, wide);
    (ln_mantissa + ln_10(wide) * k) / power_of_ten(GUARD)
}

fn ln_10(places: u64) -> BigInt {
    // ln 10 = 3 ln 2 + ln 1.25, and of 2 and 1.25 the series ends soon.
    let wide = places + GUARD;
    let one = power_of_ten(wide);
    let sum = artanh_series(&(&one / 3), wide) * 6 + artanh_series(&(&one / 9), wide) * 2;
    sum / power_of_ten(GUARD)
}

/// The natural logarithm of m, from roots that come next to one.
fn log_near_one(m: &BigInt, places: u64) -> BigInt {
    const ROOTS: u32 = 6;
    let one = power_of_ten(places);
    let mut root = m.clone();
    for _ in 0..ROOTS {
        root = (root * &one).sqrt();
    }
    // ln y = 2 artanh((y - 1) / (y + 1))
    let ratio = (&root - &one) * &one / (&root + &one);
    artanh_series(&ratio, places) << (ROOTS + 1)
}

/// x + x³/3 + x⁵/5 + …
fn artanh_series(x: &BigInt, places: u64) -> BigInt {
    let one = power_of_ten(places);
    let square = x * x / &one;
    let (mut sum, mut power) = (x.clone(), x.clone());
    for n in (3_u32..).step_by(2) {
        power = power * &square / &one;
        if power.sign() == Sign::NoSign {
            break;
        }
        sum += &power / n;
    }
    sum
}
