//! CQL types and values: wire encoding, comparison, printing, parsing.
