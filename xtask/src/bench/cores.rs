//! The cores of a measurement.

/// Core of the server under test.
pub const SERVER_CORE: usize = 0;
/// Core of the generator.
pub const GENERATOR_CORE: usize = 1;
