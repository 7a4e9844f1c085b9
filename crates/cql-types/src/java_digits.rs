//! The digits of floating-point numbers as Java up to 18 prints them, which Cassandra 5.0 runs on.
//!
//! Mostly they are the shortest that tell a number from its neighbours. But `Double.toString` and `Float.toString` of these versions give
//! now and then a digit more or another last digit (JDK-4511638, mended in Java 19), and who compares texts sees it. The way is that of Steele and White,
//! "How to print floating-point numbers accurately" (1990): digits are taken from a quotient until what is left is within half of the distance to a
//! neighbour. Where Java departs from it is said below.

use std::cmp::Ordering;

use num_bigint::BigUint;

/// Digits in front of a power of ten: 0.d₁d₂d₃… × 10^`exponent`.
struct Digits {
    digits: Vec<u8>,
    exponent: i32,
}

/// A number as `0b1.… × 2^exponent`.
struct Binary {
    /// 53 bits, of which the first is set.
    significand: u64,
    exponent: i32,
    /// How many of the bits count: 53, or 24 of a number of 32 bits, fewer of subnormal ones.
    precision: i32,
}

/// Bits behind the first of a significand.
const FRACTION_BITS: i32 = 52;

/// The number with an exponent, such as `-1.25E-7` or `3E5`. It is finite.
pub fn scientific_f64(number: f64) -> String {
    let bits = number.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    scientific(number.is_sign_negative(), binary(exponent, 1023, fraction, 53))
}

/// The same of 32 bits.
pub fn scientific_f32(number: f32) -> String {
    let bits = u64::from(number.to_bits());
    let (exponent, fraction) = ((bits >> 23 & 0xff) as i32, (bits & ((1 << 23) - 1)) << 29);
    scientific(number.is_sign_negative(), binary(exponent, 127, fraction, 24))
}

/// From the fields of the number; none is zero.
fn binary(exponent: i32, bias: i32, fraction: u64, precision: i32) -> Option<Binary> {
    if exponent > 0 {
        return Some(Binary { significand: fraction | 1 << FRACTION_BITS, exponent: exponent - bias, precision });
    }
    let shift = (fraction.leading_zeros() as i32) - (63 - FRACTION_BITS);
    (fraction > 0).then(|| Binary {
        significand: fraction << shift,
        exponent: 1 - shift - bias,
        precision: precision - shift,
    })
}

fn scientific(is_negative: bool, number: Option<Binary>) -> String {
    let sign = if is_negative { "-" } else { "" };
    let Some(number) = number else { return format!("{sign}0E0") };
    let Digits { digits, exponent } = digits(&number);
    let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
    let (first, rest) = text.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}E{}", exponent - 1)
}

fn digits(number: &Binary) -> Digits {
    let zeros = number.significand.trailing_zeros() as i32;
    let fraction_bits = FRACTION_BITS + 1 - zeros;
    // Bits behind the binary point.
    let tiny_bits = (fraction_bits - number.exponent - 1).max(0);
    if tiny_bits == 0 && number.exponent < 63 {
        return whole_digits(number);
    }
    let scale = Scale::of(number, fraction_bits, tiny_bits);
    let significand = number.significand >> zeros;
    match scale.width {
        Width::Any => quotient_digits(&mut Scaled::<BigUint>::of(&scale, significand)),
        Width::Bits32 | Width::Bits64 => quotient_digits(&mut Scaled::<u128>::of(&scale, significand)),
    }
}

fn quotient_digits<N: Number>(scaled: &mut Scaled<N>) -> Digits {
    let mut digits = Vec::new();
    let first = scaled.next();
    let mut ends = scaled.ends();
    let mut exponent = scaled.exponent;
    // A digit that is zero comes of an estimate that is one too high.
    if first == 0 && !ends.high {
        exponent -= 1;
    } else {
        digits.push(first);
    }
    // With an exponent there are at least two digits.
    if !(-3..8).contains(&exponent) {
        ends = Ends::default();
    }
    while !ends.low && !ends.high {
        digits.push(scaled.next());
        ends = scaled.ends();
    }
    let rounds_up = ends.high
        && match (ends.low, scaled.rest_beside_half()) {
            (true, Ordering::Less) => false,
            (true, Ordering::Equal) => digits.last().is_some_and(|digit| digit % 2 == 1),
            _ => true,
        };
    let mut digits = Digits { digits, exponent: exponent + 1 };
    if rounds_up {
        digits.round_up();
    }
    digits
}

/// Of whole numbers below 2^63: their decimal digits, but for those that a power of two of their size has too many.
fn whole_digits(number: &Binary) -> Digits {
    let shift = number.exponent - FRACTION_BITS;
    let mut value = if shift >= 0 { number.significand << shift } else { number.significand >> -shift };
    let surplus = number.exponent - number.precision - 1;
    let dropped = if surplus > 1 { (f64::from(surplus) * std::f64::consts::LOG10_2) as u32 } else { 0 };
    let power = 10u64.pow(dropped);
    let rest = value % power;
    value /= power;
    if dropped > 0 && rest >= power / 2 {
        value += 1;
    }
    let text = value.to_string();
    let exponent = (text.len() + dropped as usize) as i32;
    let kept = text.trim_end_matches('0');
    let kept = if kept.is_empty() { "0" } else { kept };
    Digits { digits: kept.bytes().map(|digit| digit - b'0').collect(), exponent }
}

impl Digits {
    fn round_up(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits[0] = 1;
        self.exponent += 1;
    }
}

/// Whether the digits so far are enough: what is left below them, or what is missing above, is within half of the distance to a neighbour.
#[derive(Debug, Clone, Copy, Default)]
struct Ends {
    low: bool,
    high: bool,
}

/// The arithmetic that Java chooses by size. It matters where it overflows, and how it compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Bits32,
    Bits64,
    Any,
}

/// Powers of five and two by which a number becomes a quotient of whole numbers below ten, or below a hundred.
struct Scale {
    /// Of the first digit, or one more.
    exponent: i32,
    rest: (i32, i32),
    divisor: (i32, i32),
    half: (i32, i32),
    width: Width,
}

impl Scale {
    fn of(number: &Binary, fraction_bits: i32, tiny_bits: i32) -> Scale {
        let exponent = estimate(number);
        let (fives, divisor_fives) = ((-exponent).max(0), exponent.max(0));
        let mut twos = fives + tiny_bits + number.exponent;
        let mut divisor_twos = divisor_fives + tiny_bits;
        let mut half_twos = twos - number.precision;
        twos -= fraction_bits - 1;
        let common = twos.min(divisor_twos);
        twos -= common;
        divisor_twos -= common;
        half_twos -= common;
        // The neighbour below a power of two is nearer.
        if fraction_bits == 1 {
            half_twos -= 1;
        }
        if half_twos < 0 {
            twos -= half_twos;
            divisor_twos -= half_twos;
            half_twos = 0;
        }
        let bits = fraction_bits + twos + bits_of_power(fives);
        let divisor_bits = divisor_twos + 1 + bits_of_power(divisor_fives + 1);
        let width = match bits.max(divisor_bits) {
            ..32 => Width::Bits32,
            32..64 => Width::Bits64,
            _ => Width::Any,
        };
        Scale { exponent, rest: (fives, twos), divisor: (divisor_fives, divisor_twos), half: (fives, half_twos), width }
    }
}

/// Whole numbers that are long enough.
trait Number: Ord + Sized {
    fn power(fives: i32, twos: i32) -> Self;
    fn times(self, by: u64) -> Self;
    fn plus(&self, other: &Self) -> Self;
    fn doubled(&self) -> Self;
    /// A quotient of one digit, and what is left.
    fn divided(&self, by: &Self) -> (u8, Self);
    fn bit_count(&self) -> u64;
    /// What an integer of 64 bits has of it.
    fn low_bits(&self) -> i64;
}

impl Number for u128 {
    fn power(fives: i32, twos: i32) -> Self {
        5u128.pow(fives as u32) << twos
    }

    fn times(self, by: u64) -> Self {
        self * u128::from(by)
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn doubled(&self) -> Self {
        self * 2
    }

    fn divided(&self, by: &Self) -> (u8, Self) {
        ((self / by) as u8, self % by)
    }

    fn bit_count(&self) -> u64 {
        u64::from(u128::BITS - self.leading_zeros())
    }

    fn low_bits(&self) -> i64 {
        *self as i64
    }
}

impl Number for BigUint {
    fn power(fives: i32, twos: i32) -> Self {
        BigUint::from(5u8).pow(fives as u32) << twos as usize
    }

    fn times(self, by: u64) -> Self {
        self * by
    }

    fn plus(&self, other: &Self) -> Self {
        self + other
    }

    fn doubled(&self) -> Self {
        self * 2u8
    }

    fn divided(&self, by: &Self) -> (u8, Self) {
        let digit = (self / by).iter_u32_digits().next().unwrap_or(0);
        (digit as u8, self % by)
    }

    fn bit_count(&self) -> u64 {
        self.bits()
    }

    fn low_bits(&self) -> i64 {
        self.iter_u64_digits().next().unwrap_or(0).cast_signed()
    }
}

/// A number as a quotient, with half of the distance to its neighbours on the same scale.
struct Scaled<N> {
    rest: N,
    divisor: N,
    /// Ten divisors.
    ten: N,
    half: N,
    exponent: i32,
    width: Width,
    has_overflowed: bool,
}

impl<N: Number> Scaled<N> {
    fn of(scale: &Scale, significand: u64) -> Self {
        let power = |(fives, twos): (i32, i32)| N::power(fives, twos);
        Scaled {
            rest: power(scale.rest).times(significand),
            divisor: power(scale.divisor),
            ten: power(scale.divisor).times(10),
            half: power(scale.half),
            exponent: scale.exponent,
            width: scale.width,
            has_overflowed: false,
        }
    }

    /// Takes a digit.
    fn next(&mut self) -> u8 {
        let (digit, rest) = self.rest.divided(&self.divisor);
        self.rest = rest.times(10);
        // Beyond what Java has room for it does not grow any more: it is the end.
        if !self.has_overflowed {
            self.half = std::mem::replace(&mut self.half, N::power(0, 0)).times(10);
        }
        let most = match self.width {
            Width::Bits32 => 31,
            Width::Bits64 => 63,
            Width::Any => u64::MAX,
        };
        self.has_overflowed |= self.half.bit_count() > most;
        digit
    }

    fn ends(&self) -> Ends {
        if self.has_overflowed {
            return Ends { low: true, high: true };
        }
        let sum = self.rest.plus(&self.half);
        let high = match self.width {
            Width::Bits32 => sum.low_bits() as i32 > self.ten.low_bits() as i32,
            Width::Bits64 => sum.low_bits() > self.ten.low_bits(),
            Width::Any => sum >= self.ten,
        };
        Ends { low: self.rest < self.half, high }
    }

    /// What is left beside half a digit.
    fn rest_beside_half(&self) -> Ordering {
        self.rest.doubled().cmp(&self.ten)
    }
}

/// The decimal exponent, sometimes one too high.
#[expect(clippy::approx_constant, reason = "Java's logarithm of 2 has no more digits")]
fn estimate(number: &Binary) -> i32 {
    let fraction = number.significand & ((1 << FRACTION_BITS) - 1);
    let mantissa = f64::from_bits(fraction | 1023 << FRACTION_BITS);
    let exponent =
        (mantissa - 1.5) * 0.289_529_654 + 0.176_091_259 + f64::from(number.exponent) * 0.301_029_995_663_981;
    exponent.floor() as i32
}

/// The bits of a power of five, or as many as it may have.
fn bits_of_power(exponent: i32) -> i32 {
    match exponent {
        0 => 0,
        1..27 => (f64::from(exponent) * std::f64::consts::LOG2_10 - f64::from(exponent)).floor() as i32 + 1,
        _ => exponent * 3,
    }
}

#[cfg(test)]
mod tests {
    use crate::{CqlType, print};

    /// What Java 17 prints. With two million more, drawn at random, it was the same on 2026-11-23.
    #[test]
    fn doubles_are_printed_as_by_java() {
        for (bits, text) in [
            (0x0000_0000_0000_0000, "0.0"),
            (0x8000_0000_0000_0000, "-0.0"),
            (0x3ff0_0000_0000_0000, "1.0"),
            (0x3fb9_9999_9999_999a, "0.1"),
            (0x4024_0000_0000_0000, "10.0"),
            (0x4163_12d0_0000_0000, "1.0E7"),
            (0x3ee4_f8b5_88e3_68f1, "1.0E-5"),
            (0x44b5_2d02_c7e1_4af6, "9.999999999999999E22"),
            (0x0000_0000_0000_0001, "4.9E-324"),
            (0x0010_0000_0000_0000, "2.2250738585072014E-308"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157E308"),
            (0xfff0_0000_0000_0000, "-Infinity"),
            (0x7ff8_0000_0000_0000, "NaN"),
            // A digit more than would do, or another last one.
            (0x43d0_0000_0000_0000, "4.6116860184273879E18"),
            (0xc3d0_58ba_1de0_d44c, "-4.7115837601848484E18"),
            (0x43bd_ec1f_2d35_4cec, "2.15613260063184794E18"),
            (0xc3ba_4866_ed85_14c1, "-1.89387681363530573E18"),
            // Where sums of 64 bits overflow.
            (0xc53f_96d9_1488_5d09, "-3.8189059803482716E25"),
            (0x4539_931b_e154_4332, "3.0917847662113995E25"),
        ] {
            assert_eq!(print(&CqlType::Double, &u64::to_be_bytes(bits)), text, "{bits:x}");
        }
    }

    #[test]
    fn floats_are_printed_as_by_java() {
        for (bits, text) in [
            (0x0000_0001, "1.4E-45"),
            (0x3dcc_cccd, "0.1"),
            (0x3f80_0000, "1.0"),
            (0x7f7f_ffff, "3.4028235E38"),
            (0x4f00_0000, "2.14748365E9"),
            (0xcf00_0000, "-2.14748365E9"),
            (0x6a70_045c, "7.2540695E25"),
            (0x6a7e_cade, "7.7006292E25"),
        ] {
            assert_eq!(print(&CqlType::Float, &u32::to_be_bytes(bits)), text, "{bits:x}");
        }
    }
}
