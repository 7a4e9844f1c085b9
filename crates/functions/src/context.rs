//! What functions take from their surroundings.

/// What a call may ask for that is not in its arguments. Whoever evaluates gives it; functions that are pure never ask.
pub trait Context {
    /// The wall clock, in microseconds since 1970.
    fn now_micros(&mut self) -> i64;
    /// A version 1 UUID of now, which no other call gets.
    fn time_uuid(&mut self) -> [u8; 16];
    /// A version 4 UUID.
    fn random_uuid(&mut self) -> [u8; 16];
    /// The token of a partition key's bytes. It is pure; it stands here because the ring's hash is another crate's.
    fn token(&mut self, key: &[u8]) -> i64;
}
