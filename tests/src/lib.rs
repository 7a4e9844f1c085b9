//! Black-box tests of the binary: drivers, crashes, hostile input.
