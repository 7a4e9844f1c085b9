//! The `helenus` binary.

fn main() {}
