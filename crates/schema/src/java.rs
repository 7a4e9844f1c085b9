//! Numbers in the words of Java, where clients compare text: DESCRIBE and error messages.

use cql_types::{CqlType, print};

/// A double as `Double.toString` prints it.
pub fn double(value: f64) -> String {
    print(&CqlType::Double, &value.to_be_bytes())
}

#[cfg(test)]
mod tests {
    #[test]
    fn doubles_print_as_in_java() {
        for (value, text) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.01, "0.01"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (6.71e-5, "6.71E-5"),
            (9_999_999.0, "9999999.0"),
            (1e7, "1.0E7"),
            (-2.5, "-2.5"),
        ] {
            assert_eq!(super::double(value), text);
        }
    }
}
