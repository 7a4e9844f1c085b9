//! Read commands come back as they were written, and no bytes from outside panic.

use proptest::prelude::*;

use super::*;
use crate::position::Position;

fn token_bound() -> impl Strategy<Value = TokenBound<Token>> {
    prop_oneof![
        Just(TokenBound::Unbounded),
        any::<i64>().prop_map(|token| TokenBound::Included(Token(token))),
        any::<i64>().prop_map(|token| TokenBound::Excluded(Token(token))),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..12)
}

proptest! {
    #[test]
    fn commands_round_trip_and_cuts_are_refused(
        partition in prop::option::of((any::<i64>(), bytes())),
        tokens in (token_bound(), token_bound()),
        bounds in prop::collection::vec((bytes(), any::<bool>(), bytes(), any::<bool>()), 0..4),
        after in prop::option::of((any::<i64>(), bytes(), prop::option::of(bytes()))),
        reversed in any::<bool>(),
        now_in_seconds in any::<u32>(),
    ) {
        let keys = match &partition {
            Some((token, key)) => KeyRange::Partition { token: Token(*token), key },
            None => KeyRange::Tokens { start: tokens.0, end: tokens.1 },
        };
        let bound = |prefix, inclusive| Bound { prefix, inclusive };
        let slices: Vec<Slice<'_>> =
            bounds.iter().map(|(a, b, c, d)| Slice { start: bound(a, *b), end: bound(c, *d) }).collect();
        let after = after.map(|(token, key, row)| Position { token: Token(token), key, row });
        let after = after.as_ref().map(Position::as_ref);
        let command = ReadCommand { table: TableId([5; 16]), keys, slices: &slices, reversed, now_in_seconds, after };
        let mut encoded = Vec::new();
        command.encode(&mut encoded);
        let decoded = ReadCommandBuf::decode(&encoded).expect("it decodes");
        prop_assert_eq!(decoded.command(), command);
        drop(decoded);
        for length in 0..encoded.len() {
            prop_assert!(ReadCommandBuf::decode(&encoded[..length]).is_err());
        }
        encoded.push(0);
        prop_assert_eq!(ReadCommandBuf::decode(&encoded).err(), Some(DecodeError::LeftOver { count: 1 }));
    }

    #[test]
    fn any_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let _ = ReadCommandBuf::decode(&bytes);
        let _ = ReadCommandBuf::decode(&[&[1][..], &bytes].concat());
    }
}

#[test]
fn a_claimed_count_of_slices_takes_no_memory() {
    let mut bytes = Vec::new();
    ReadCommand::all(TableId([5; 16]), 1).encode(&mut bytes);
    let count_at = 1 + 16 + 4 + 1 + 1 + 18;
    bytes.splice(count_at..=count_at, [0xff; 9]);
    assert!(ReadCommandBuf::decode(&bytes).is_err());
}
