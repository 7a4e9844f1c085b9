//! The parameters of a request: its query string, decoded.

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;

/// A request's parameters. Each may be given once.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    given: BTreeMap<String, String>,
}

impl Parameters {
    /// Reads a query string.
    pub(crate) fn read(query: &str) -> Result<Self, Problem> {
        let mut given = BTreeMap::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decode(name)?, decode(value)?);
            if given.contains_key(&name) {
                return Err(Problem::bad_request(format!("duplicate parameter '{name}'")));
            }
            given.insert(name, value);
        }
        Ok(Parameters { given })
    }

    /// A parameter that may be left out; an empty one is as good as none.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A parameter that may be left out, of which an empty one is not the same.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// A parameter that must be there.
    pub(crate) fn needed(&self, name: &str) -> Result<&str, Problem> {
        self.text(name).ok_or_else(|| Problem::bad_request(format!("parameter '{name}' is missing")))
    }

    /// Names separated by commas; none if it is left out.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let list = self.text(name).unwrap_or_default();
        list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Problem> {
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(default),
            Some("true" | "1") => Ok(true),
            Some("false" | "0") => Ok(false),
            Some(other) => Err(Problem::bad_request(format!("{name}: '{other}' is neither true nor false"))),
        }
    }

    /// Refuses parameters that are not among `known`: a misspelt one must not mean "all".
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        match self.given.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(Problem::bad_request(format!("unknown parameter '{name}'"))),
            None => Ok(()),
        }
    }
}

/// `%41+b` → `A b`.
fn decode(text: &str) -> Result<String, Problem> {
    let wrong = || Problem::bad_request("the query string is not percent-encoded UTF-8");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = digit().zip(digit()).ok_or_else(wrong)?;
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Parameters::read(parts.uri.query().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_is_decoded() {
        let given = Parameters::read("tag=before%20it+all&cf=a,%20b,,c&sf=TRUE&kn=").unwrap();
        assert_eq!(given.text("tag"), Some("before it all"));
        assert_eq!(given.names("cf"), ["a", "b", "c"]);
        assert_eq!(given.flag("sf", false), Ok(true));
        assert_eq!((given.text("kn"), given.text("other")), (None, None));
        assert_eq!(given.flag("other", true), Ok(true));
        assert!(given.needed("kn").is_err());
        assert_eq!(given.only(&["tag", "cf", "sf", "kn"]), Ok(()));
        assert!(given.only(&["tag", "cf", "sf"]).unwrap_err().message.contains("kn"));
    }

    #[test]
    fn what_is_no_query_string_is_refused() {
        for wrong in ["a=%", "a=%4", "a=%zz", "a=%ff", "a=1&a=2"] {
            assert!(Parameters::read(wrong).is_err(), "{wrong}");
        }
        assert!(Parameters::read("sf=maybe").unwrap().flag("sf", false).is_err());
        assert_eq!(Parameters::read("").unwrap(), Parameters::default());
    }
}
