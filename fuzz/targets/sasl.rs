//! A client's answer to AUTHENTICATE: a name and a password, or words that are none. And texts that are to be hashes of passwords, which are parsed and not computed.

use auth::{PasswordHash, parse_plain};

/// Runs one input.
pub fn run(data: &[u8]) {
    match parse_plain(data) {
        Ok(credentials) => {
            assert!(!credentials.name.is_empty() && !credentials.password.is_empty());
            assert!(!credentials.name.contains('\0') && !credentials.password.contains('\0'));
            // Bytes that are no UTF-8 are replaced, by three bytes at most each.
            assert!(credentials.name.len() + credentials.password.len() <= 3 * data.len());
            let shown = format!("{credentials:?}");
            assert!(shown.ends_with("*******)"), "{shown}");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(hash) = PasswordHash::parse(text)
    {
        assert_eq!(hash.as_str(), text);
    }
}
