//! Decimal numbers of any size: an integer and how many of its digits stand behind the point.
//!
//! The rules for scales and roundings are those of Java's `BigDecimal`, which Cassandra's answers show. Nothing takes more than
//! [`DIGITS_MAX`] digits: where Java would go on until its memory ends, an error says so.

mod series;

use std::cmp::Ordering;

use cql_types::java_digits;
use num_bigint::{BigInt, Sign};

pub(crate) use series::{exp, log, log10};

/// The digits that a sum, difference or product is rounded to.
const PRECISION: u64 = 10_000;
/// The digits that any number on the way may have.
const DIGITS_MAX: u64 = 25_000;
/// The least and the most digits behind the point of a quotient.
const QUOTIENT_SCALES: (i64, i64) = (32, 1_000);

/// Which way a number goes that lies between two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearer; from the middle away from zero.
    HalfUp,
    /// To the nearer; from the middle to the even one.
    HalfEven,
}

/// `unscaled` · 10⁻ˢᶜᵃˡᵉ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) unscaled: BigInt,
    pub(crate) scale: i32,
}

/// An operation that has no result, in Java's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArithmeticError(pub(crate) &'static str);

const OVERFLOW: ArithmeticError = ArithmeticError("Overflow");
const UNDERFLOW: ArithmeticError = ArithmeticError("Underflow");

impl Decimal {
    pub(crate) fn zero() -> Self {
        Decimal { unscaled: BigInt::ZERO, scale: 0 }
    }

    pub(crate) fn integer(unscaled: BigInt) -> Self {
        Decimal { unscaled, scale: 0 }
    }

    /// Reads a value that is not empty.
    pub(crate) fn read(value: &[u8]) -> Option<Self> {
        let (scale, digits) = value.split_first_chunk::<4>()?;
        Some(Decimal { unscaled: BigInt::from_signed_bytes_be(digits), scale: i32::from_be_bytes(*scale) })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.scale.to_be_bytes());
        out.extend_from_slice(&self.unscaled.to_signed_bytes_be());
    }

    /// Of a finite number the decimal that it is printed as.
    pub(crate) fn of_f64(number: f64) -> Self {
        Decimal::of_printed(&java_digits::scientific_f64(number))
    }

    /// The same of 32 bits.
    pub(crate) fn of_f32(number: f32) -> Self {
        Decimal::of_printed(&java_digits::scientific_f32(number))
    }

    /// Of digits with an exponent. Java prints a digit behind the point at least, and plain numbers from a thousandth to ten
    /// millions, so that 100.0 has a scale of 1 and 1.0E10 one of -9.
    fn of_printed(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('E').unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let unscaled: BigInt = format!("{whole}{fraction}").parse().unwrap_or(BigInt::ZERO);
        let digits_behind = i32::try_from(fraction.len()).unwrap_or(0);
        let scale = digits_behind - exponent;
        let printed = match exponent {
            -3..7 => scale.max(1),
            _ => digits_behind.max(1) - exponent,
        };
        let added = u64::try_from(printed - scale).unwrap_or(0);
        Decimal { unscaled: unscaled * power_of_ten(added), scale: printed }
    }

    /// The nearest number of 64 bits.
    pub(crate) fn to_f64(&self) -> f64 {
        let exponent = -i64::from(self.scale);
        format!("{}e{exponent}", self.unscaled).parse().unwrap_or(f64::NAN)
    }

    /// The same for 32 bits: rounding twice could give another one.
    pub(crate) fn to_f32(&self) -> f32 {
        let exponent = -i64::from(self.scale);
        format!("{}e{exponent}", self.unscaled).parse().unwrap_or(f32::NAN)
    }

    /// What stands before the point, of which the lowest 64 bits are kept.
    pub(crate) fn to_i64(&self) -> i64 {
        // A power of ten from 64 on has no lower bits.
        if self.is_zero() || self.scale <= -64 || i64::from(self.scale) > self.precision() as i64 {
            return 0;
        }
        low_64_bits(&self.truncated())
    }

    /// What stands before the point. The scale is at least -64.
    fn truncated(&self) -> BigInt {
        match self.scale {
            ..=0 => &self.unscaled * power_of_ten(u64::from(self.scale.unsigned_abs())),
            _ => &self.unscaled / power_of_ten(u64::from(self.scale.unsigned_abs())),
        }
    }

    /// What stands before the point.
    pub(crate) fn to_integer(&self) -> Result<BigInt, ArithmeticError> {
        if self.scale > 0 && i64::from(self.scale) > self.precision() as i64 {
            return Ok(BigInt::ZERO);
        }
        self.check_digits(-i64::from(self.scale))?;
        Ok(self.truncated())
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.unscaled.sign() == Sign::NoSign
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.unscaled.sign() == Sign::Plus
    }

    pub(crate) fn negated(&self) -> Self {
        Decimal { unscaled: -&self.unscaled, scale: self.scale }
    }

    pub(crate) fn abs(&self) -> Self {
        Decimal { unscaled: BigInt::from(self.unscaled.magnitude().clone()), scale: self.scale }
    }

    /// How many digits it has; zero has one.
    pub(crate) fn precision(&self) -> u64 {
        digits(&self.unscaled)
    }

    /// Refuses to add so many digits.
    fn check_digits(&self, added: i64) -> Result<(), ArithmeticError> {
        let digits = added.max(0) as u64 + self.precision();
        if digits > DIGITS_MAX { Err(OVERFLOW) } else { Ok(()) }
    }

    pub(crate) fn add(&self, other: &Decimal) -> Result<Decimal, ArithmeticError> {
        if self.is_zero() || other.is_zero() {
            return self.add_zero(other);
        }
        let (mut left, mut right) = (self.clone(), other.clone());
        if left.scale != right.scale {
            let (big, small) = if left.scale < right.scale { (&left, &mut right) } else { (&right, &mut left) };
            // What lies so far below the other's last digit that is kept counts as next to nothing.
            let last_kept = i64::from(big.scale) - big.precision() as i64 + PRECISION as i64;
            let first_of_small = i64::from(small.scale) - small.precision() as i64 + 1;
            if first_of_small > i64::from(big.scale) + 2 && first_of_small > last_kept + 2 {
                let sign = if small.is_positive() { 1 } else { -1 };
                *small = Decimal { unscaled: BigInt::from(sign), scale: scale(last_kept.max(big.scale.into()) + 3)? };
            }
        }
        let common = left.scale.max(right.scale);
        let sum = left.with_scale_added(common)? + right.with_scale_added(common)?;
        Decimal { unscaled: sum, scale: common }.rounded(PRECISION, Rounding::HalfUp)
    }

    /// The sum of which a part is zero: it has the larger scale, as far as the digits go.
    fn add_zero(&self, other: &Decimal) -> Result<Decimal, ArithmeticError> {
        let preferred = self.scale.max(other.scale);
        let result = match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ok(Decimal { unscaled: BigInt::ZERO, scale: preferred }),
            (true, false) => other.clone(),
            _ => self.clone(),
        };
        let result = result.rounded(PRECISION, Rounding::HalfUp)?;
        if result.scale > preferred {
            return Ok(result.stripped_to(preferred.into()));
        }
        let room = PRECISION.saturating_sub(result.precision()) as i64;
        let added = (i64::from(preferred) - i64::from(result.scale)).min(room);
        let scale = scale(i64::from(result.scale) + added)?;
        Ok(Decimal { unscaled: result.with_scale_added(scale)?, scale })
    }

    /// The integer that it is with a scale that is not smaller than its own.
    fn with_scale_added(&self, scale: i32) -> Result<BigInt, ArithmeticError> {
        let added = i64::from(scale) - i64::from(self.scale);
        self.check_digits(added)?;
        Ok(&self.unscaled * power_of_ten(added as u64))
    }

    pub(crate) fn subtract(&self, other: &Decimal) -> Result<Decimal, ArithmeticError> {
        self.add(&other.negated())
    }

    pub(crate) fn multiply(&self, other: &Decimal) -> Result<Decimal, ArithmeticError> {
        let sum = i64::from(self.scale) + i64::from(other.scale);
        let product = &self.unscaled * &other.unscaled;
        let scale = match product.sign() {
            // A zero takes the nearest scale that there is.
            Sign::NoSign => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            _ => scale(sum)?,
        };
        Decimal { unscaled: product, scale }.rounded(PRECISION, Rounding::HalfUp)
    }

    /// The quotient of an operator, with as many digits as Cassandra gives it.
    pub(crate) fn divide(&self, divisor: &Decimal) -> Result<Decimal, ArithmeticError> {
        // About the place of the quotient's first digit.
        let place = |number: &Decimal| number.precision() as i64 - i64::from(number.scale);
        let (least, most) = QUOTIENT_SCALES;
        let scale = least - (place(self) - place(divisor));
        let scale = scale.max(self.scale.into()).max(divisor.scale.into()).max(least).min(most);
        Ok(self.divide_to(divisor, scale, Rounding::HalfUp)?.stripped())
    }

    /// The quotient with so many digits behind the point.
    pub(crate) fn divide_to(
        &self,
        divisor: &Decimal,
        places: i64,
        rounding: Rounding,
    ) -> Result<Decimal, ArithmeticError> {
        if divisor.is_zero() {
            return Err(ArithmeticError("BigInteger divide by zero"));
        }
        let result_scale = scale(places)?;
        // unscaled / divisor's unscaled · 10^(places - scale + divisor's scale)
        let shift = places - i64::from(self.scale) + i64::from(divisor.scale);
        let (dividend, divisor) = if shift >= 0 {
            self.check_digits(shift)?;
            (&self.unscaled * power_of_ten(shift as u64), divisor.unscaled.clone())
        } else {
            // So far below the last digit that it is nothing.
            if -shift > self.precision() as i64 + 1 {
                return Ok(Decimal { unscaled: BigInt::ZERO, scale: result_scale });
            }
            divisor.check_digits(-shift)?;
            (self.unscaled.clone(), &divisor.unscaled * power_of_ten(shift.unsigned_abs()))
        };
        Ok(Decimal { unscaled: divide_rounded(&dividend, &divisor, rounding), scale: result_scale })
    }

    /// What is left of it behind whole divisors, with its sign.
    pub(crate) fn remainder(&self, divisor: &Decimal) -> Result<Decimal, ArithmeticError> {
        if divisor.is_zero() {
            return Err(ArithmeticError(if self.is_zero() { "Division undefined" } else { "Division by zero" }));
        }
        // Java takes the whole quotient with the scale nearest to the difference of the scales, its product, and the rest.
        let common = self.scale.max(divisor.scale);
        let (left, right) = (self.with_scale_added(common)?, divisor.with_scale_added(common)?);
        let quotient = Decimal::integer(&left / &right).preferring(i64::from(self.scale) - i64::from(divisor.scale))?;
        let product_scale = scale(i64::from(quotient.scale) + i64::from(divisor.scale))?;
        let rest = Decimal { unscaled: left % right, scale: common };
        // The rest has the larger of the two scales that are subtracted.
        let wanted = self.scale.max(product_scale);
        Ok(match wanted.cmp(&rest.scale) {
            Ordering::Less => rest.stripped_to(wanted.into()),
            Ordering::Equal => rest,
            Ordering::Greater => Decimal { unscaled: rest.with_scale_added(wanted)?, scale: wanted },
        })
    }

    /// The same number with the scale that is wished for, as near as its digits allow.
    fn preferring(self, wished: i64) -> Result<Decimal, ArithmeticError> {
        let wished = wished.clamp(i32::MIN.into(), i32::MAX.into());
        if wished >= i64::from(self.scale) {
            if self.is_zero() {
                return Ok(Decimal { unscaled: BigInt::ZERO, scale: wished as i32 });
            }
            return Ok(Decimal { unscaled: self.with_scale_added(wished as i32)?, scale: wished as i32 });
        }
        Ok(self.stripped_to(wished))
    }

    /// The nearest number with so many digits behind the point.
    pub(crate) fn with_scale(&self, wanted: i32, rounding: Rounding) -> Result<Decimal, ArithmeticError> {
        if wanted >= self.scale {
            return Ok(Decimal { unscaled: self.with_scale_added(wanted)?, scale: wanted });
        }
        let dropped = i64::from(self.scale) - i64::from(wanted);
        if dropped > self.precision() as i64 + 1 {
            return Ok(Decimal { unscaled: BigInt::ZERO, scale: wanted });
        }
        let unscaled = divide_rounded(&self.unscaled, &power_of_ten(dropped as u64), rounding);
        Ok(Decimal { unscaled, scale: wanted })
    }

    /// The nearest number of at most so many digits.
    pub(crate) fn rounded(self, precision: u64, rounding: Rounding) -> Result<Decimal, ArithmeticError> {
        let mut number = self;
        // Rounding 99… up adds a digit once.
        loop {
            let dropped = number.precision().saturating_sub(precision);
            if dropped == 0 {
                return Ok(number);
            }
            let scale = scale(i64::from(number.scale) - dropped as i64)?;
            number = Decimal { unscaled: divide_rounded(&number.unscaled, &power_of_ten(dropped), rounding), scale };
        }
    }

    /// Without zeros at its end; zero itself becomes 0.
    pub(crate) fn stripped(self) -> Decimal {
        if self.is_zero() { Decimal::zero() } else { self.stripped_to(i32::MIN.into()) }
    }

    /// Without zeros at its end, but with this scale at least.
    fn stripped_to(self, least: i64) -> Decimal {
        let Decimal { mut unscaled, mut scale } = self;
        if unscaled.sign() == Sign::NoSign {
            return Decimal { unscaled, scale: least.clamp(i32::MIN.into(), scale.into()) as i32 };
        }
        // In steps that halve, so that many zeros cost few divisions.
        let mut step = 4096_u32;
        while step > 0 {
            let power = power_of_ten(step.into());
            while i64::from(scale) - i64::from(step) >= least {
                let (quotient, rest) = (&unscaled / &power, &unscaled % &power);
                if rest.sign() != Sign::NoSign {
                    break;
                }
                unscaled = quotient;
                scale -= step as i32;
            }
            step /= 2;
        }
        Decimal { unscaled, scale }
    }
}

/// A scale, if it is one.
fn scale(scale: i64) -> Result<i32, ArithmeticError> {
    i32::try_from(scale).map_err(|_| if scale > 0 { UNDERFLOW } else { OVERFLOW })
}

pub(crate) fn power_of_ten(exponent: u64) -> BigInt {
    BigInt::from(10).pow(u32::try_from(exponent).expect("digits are bounded"))
}

/// How many decimal digits a number has; zero has one.
pub(crate) fn digits(number: &BigInt) -> u64 {
    let bits = number.bits();
    if bits == 0 {
        return 1;
    }
    // Of so many bits a number has this many digits, or one less: log₁₀ 2 from below, in 64 bits.
    let most = ((u128::from(bits) * 0x4D10_4D42_7DE7_FBCC) >> 64) as u64 + 1;
    if number.magnitude() < power_of_ten(most - 1).magnitude() { most - 1 } else { most }
}

/// The quotient, rounded.
fn divide_rounded(dividend: &BigInt, divisor: &BigInt, rounding: Rounding) -> BigInt {
    let (quotient, rest) = (dividend / divisor, dividend % divisor);
    if rest.sign() == Sign::NoSign {
        return quotient;
    }
    let twice: num_bigint::BigUint = rest.magnitude() * 2_u32;
    let away = match twice.cmp(divisor.magnitude()) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => rounding == Rounding::HalfUp || quotient.bit(0),
    };
    match (away, dividend.sign() == divisor.sign()) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    }
}

/// The lowest 64 bits of its two's complement.
pub(crate) fn low_64_bits(number: &BigInt) -> i64 {
    let low = number.iter_u64_digits().next().unwrap_or(0);
    if number.sign() == Sign::Minus { low.wrapping_neg().cast_signed() } else { low.cast_signed() }
}

#[cfg(test)]
mod tests;
