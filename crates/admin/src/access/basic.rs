//! HTTP's Basic scheme (RFC 7617).

use axum::http::HeaderValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The name and the password of a header; `None`: it is of another scheme, or malformed.
pub(super) fn read(value: &HeaderValue) -> Option<(String, String)> {
    let (scheme, pair) = value.to_str().ok()?.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(BASE64_STANDARD.decode(pair.trim()).ok()?).ok()?;
    let (name, password) = text.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &'static str) -> Option<(String, String)> {
        read(&HeaderValue::from_static(text))
    }

    #[test]
    fn the_name_ends_at_the_first_colon() {
        let pair = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        assert_eq!(of("Basic YWRhOnNlY3JldA=="), pair("ada", "secret"));
        assert_eq!(of("basic  YWRhOmE6Yg=="), pair("ada", "a:b"));
        assert_eq!(of("Basic YWRhOg=="), pair("ada", ""));
        for wrong in ["Basic", "Basic YWRh", "Basic !!", "Bearer YWRhOnNlY3JldA==", "Basic /w==", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
