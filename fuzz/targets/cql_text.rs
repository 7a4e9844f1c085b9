//! CQL text: any bytes; and what parses is printed such that it parses to the same again.

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(statement) = cql_syntax::parse(text) else { return };
    let printed = statement.to_string();
    match cql_syntax::parse(&printed) {
        Ok(again) => assert_eq!(again, statement, "{text:?} was printed as {printed:?}, which is another statement"),
        Err(error) => panic!("{text:?} was printed as {printed:?}, which does not parse: {error}"),
    }
}
