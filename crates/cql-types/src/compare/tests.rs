//! Orders of values, and that the comparable forms have them.

use super::*;
use crate::{Literal, LiteralKind, parse_literal};
use proptest::prelude::*;

fn value(ty: &CqlType, kind: LiteralKind, text: &str) -> Vec<u8> {
    parse_literal(ty, &Literal::new(kind, text)).unwrap()
}

/// Each list is in ascending order.
#[test]
fn orders_are_cassandras() {
    use LiteralKind::{Float, Integer, String, Uuid};
    for (ty, kind, texts) in [
        (CqlType::Int, Integer, &["-2147483648", "-1", "0", "1", "2147483647"][..]),
        (CqlType::Tinyint, Integer, &["-128", "-1", "0", "127"]),
        (CqlType::Varint, Integer, &["-70000", "-256", "-255", "-1", "0", "1", "127", "128", "255", "256", "70000"]),
        (
            CqlType::Decimal,
            Float,
            &["-1e5", "-10.5", "-1.2", "-1.1", "-0.1", "0", "1e-5", "0.1", "1", "1.01", "9", "10"],
        ),
        (CqlType::Double, Float, &["-Infinity", "-1.5", "-0.0", "0.0", "1e-300", "2.5", "Infinity", "NaN"]),
        (CqlType::Float, Float, &["-Infinity", "-1.5", "-0.0", "0.0", "2.5", "Infinity", "NaN"]),
        (CqlType::Text, String, &["", "a", "aa", "ab", "b"]),
        (CqlType::Timestamp, String, &["1960-01-01", "1970-01-01", "2020-01-01"]),
        (CqlType::Date, String, &["1960-01-01", "1970-01-01", "2020-01-01"]),
        (
            CqlType::Uuid,
            Uuid,
            &[
                "00000000-0000-0000-ffff-000000000000",
                "ffffffff-0000-1000-8000-000000000000",
                "00000000-0001-1000-8000-000000000000",
                "00000000-0000-4000-8000-000000000000",
            ],
        ),
        (
            CqlType::Timeuuid,
            Uuid,
            &[
                "ffffffff-0000-1000-8000-000000000000",
                "00000000-0001-1000-8000-000000000000",
                "00000000-0001-1000-8000-000000000001",
                "00000000-0001-1000-0000-000000000000",
            ],
        ),
    ] {
        let values: Vec<_> = texts.iter().map(|text| value(&ty, kind, text)).collect();
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(compare(&ty, a, b), i.cmp(&j), "{ty}: {} and {}", texts[i], texts[j]);
            }
        }
    }
}

#[test]
fn equal_decimals_of_different_scales_are_equal() {
    let one = value(&CqlType::Decimal, LiteralKind::Float, "1");
    let also = value(&CqlType::Decimal, LiteralKind::Float, "1.000");
    assert_ne!(one, also);
    assert_eq!(compare(&CqlType::Decimal, &one, &also), Ordering::Equal);
}

/// An empty tuple comes before one whose fields are null, which are as if they were missing.
#[test]
fn tuples_order_as_cassandras() {
    let ty = CqlType::parse("tuple<int, int>").unwrap();
    let (empty, null, nulls) = (&[][..], &[0xff; 4][..], &[0xff; 8][..]);
    assert_eq!(compare(&ty, empty, null), Ordering::Less);
    assert_eq!(compare(&ty, null, nulls), Ordering::Equal);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn comparable_bytes_order_as_compare_and_are_prefix_free(
        (ty, a, b) in crate::samples::type_and_values(), reversed: bool,
    ) {
        prop_assert_eq!(crate::validate(&ty, &a), Ok(()));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        comparable::encode(&ty, &a, reversed, &mut x);
        comparable::encode(&ty, &b, reversed, &mut y);
        let order = compare(&ty, &a, &b);
        prop_assert_eq!(x.cmp(&y), if reversed { order.reverse() } else { order });
        if order != Ordering::Equal {
            prop_assert!(!x.starts_with(&y) && !y.starts_with(&x));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// The value may be another that compares as equal, so it is its form that has to be the same.
    #[test]
    fn a_form_is_read_back((ty, a, b) in crate::samples::type_and_values(), reversed: bool) {
        let mut forms = Vec::new();
        comparable::encode(&ty, &a, reversed, &mut forms);
        let length = forms.len();
        comparable::encode(&ty, &b, reversed, &mut forms);
        let mut value = Vec::new();
        prop_assert_eq!(comparable::decode(&ty, &forms, reversed, &mut value), Some(length));
        prop_assert_eq!(crate::validate(&ty, &value), Ok(()));
        let mut again = Vec::new();
        comparable::encode(&ty, &value, reversed, &mut again);
        prop_assert_eq!(&again, &forms[..length]);
        prop_assert_eq!(compare(&ty, &value, &a), Ordering::Equal);
    }

    #[test]
    fn bytes_that_are_no_form_are_refused((ty, a, _) in crate::samples::type_and_values(), cut: usize, flip: u8, reversed: bool) {
        let mut form = Vec::new();
        comparable::encode(&ty, &a, reversed, &mut form);
        let cut = cut % form.len();
        prop_assert_eq!(comparable::decode(&ty, &form[..cut], reversed, &mut Vec::new()), None);
        form[cut] ^= flip;
        comparable::decode(&ty, &form, reversed, &mut Vec::new());
    }
}

#[test]
fn a_long_decimal_is_compared_without_its_digits() {
    let decimal = |length: usize, last: u8| [&[0, 0, 0, 5][..], &vec![0x5a; length], &[last]].concat();
    for length in [100, 4_000, 65_000] {
        let (a, b) = (decimal(length, 1), decimal(length, 2));
        assert_eq!(compare(&CqlType::Decimal, &a, &b), Ordering::Less);
        assert_eq!(compare(&CqlType::Decimal, &a, &a), Ordering::Equal);
    }
    assert_eq!(compare(&CqlType::Decimal, &decimal(4_000, 0), &decimal(65_000, 0)), Ordering::Less);
    // 65,000 bytes are 156,000 digits, and to find them took 44 ms.
    let mut form = Vec::new();
    comparable::encode(&CqlType::Decimal, &decimal(65_000, 1), false, &mut form);
    assert!(form.len() < 66_000, "{} bytes", form.len());
}

#[test]
fn a_type_with_more_fields_gives_shorter_values_the_same_form() {
    let (old, new) = (CqlType::parse("tuple<int, text>").unwrap(), CqlType::parse("tuple<int, text, int>").unwrap());
    let one = 1_i32.to_be_bytes();
    for parts in [vec![Some(&one[..]), Some(b"x")], vec![Some(&one[..]), None], vec![None, None]] {
        let value = crate::compose(&old, &parts).unwrap();
        let form = |ty| {
            let mut form = Vec::new();
            crate::comparable::encode(ty, &value, false, &mut form);
            form
        };
        assert_eq!(form(&old), form(&new));
        let longer = crate::compose(&new, &[parts[0], parts[1], Some(&one)]).unwrap();
        assert_eq!(compare(&new, &value, &longer), std::cmp::Ordering::Less);
    }
}

/// Without the zeros at its end such a number would need a scale that there is not.
#[test]
fn decimals_at_the_ends_of_their_scale_are_read_back() {
    for scale in [i32::MIN, i32::MIN + 1, 0, i32::MAX] {
        for unscaled in [&[0x03, 0xe8][..], &[0xfc, 0x18], &[7]] {
            let value = [&scale.to_be_bytes()[..], unscaled].concat();
            let mut form = Vec::new();
            comparable::encode(&CqlType::Decimal, &value, false, &mut form);
            let mut back = Vec::new();
            let length = comparable::decode(&CqlType::Decimal, &form, false, &mut back);
            assert_eq!(length, Some(form.len()), "{scale} {unscaled:?}");
            let mut again = Vec::new();
            comparable::encode(&CqlType::Decimal, &back, false, &mut again);
            assert_eq!(again, form, "{scale} {unscaled:?}");
        }
    }
}
