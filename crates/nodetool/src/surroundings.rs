//! What a command needs of the world: the node's answers, the time, the names of addresses.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::ToolError;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Asks.
    Get,
    /// Does something, or sets it.
    Post,
    /// Takes something away, or turns it off.
    Delete,
}

impl Method {
    /// HTTP's word.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        }
    }
}

/// How long an answer is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Patience {
    /// As long as `--timeout` says: what only looks something up.
    Short,
    /// So much longer: what is known to take its time.
    Longer(Duration),
    /// Without end, as a compaction takes what it takes.
    Endless,
}

/// One request to the node.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// Path and query, encoded.
    pub(crate) target: String,
    pub(crate) patience: Patience,
    /// JSON to be sent with it.
    pub(crate) body: Option<String>,
}

impl Request {
    /// Asks for a path.
    pub(crate) fn get(path: &str) -> Request {
        Request { method: Method::Get, target: path.to_owned(), patience: Patience::Short, body: None }
    }

    /// Does what a path says.
    pub(crate) fn post(path: &str) -> Request {
        Request { method: Method::Post, target: path.to_owned(), patience: Patience::Endless, body: None }
    }

    /// Takes away what a path says.
    pub(crate) fn delete(path: &str) -> Request {
        Request { method: Method::Delete, target: path.to_owned(), patience: Patience::Endless, body: None }
    }

    /// Adds a last part to the path. To be called before `with`.
    pub(crate) fn of(mut self, part: &str) -> Request {
        self.target.push('/');
        encode(part, &mut self.target);
        self
    }

    /// Adds a parameter.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Request {
        self.target.push(if self.target.contains('?') { '&' } else { '?' });
        encode(name, &mut self.target);
        self.target.push('=');
        encode(value, &mut self.target);
        self
    }

    /// Adds a parameter of names, unless there are none.
    pub(crate) fn with_names(self, name: &str, values: &[String]) -> Request {
        if values.is_empty() { self } else { self.with(name, &values.join(",")) }
    }

    /// Sends JSON with it.
    pub(crate) fn with_body(mut self, json: String) -> Request {
        self.body = Some(json);
        self
    }

    /// Waits so much longer.
    pub(crate) fn patient(mut self, more: Duration) -> Request {
        self.patience = Patience::Longer(more);
        self
    }

    /// The request as it is called in an error's sentence.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.method.word(), self.target)
    }
}

/// Percent-encodes all but what stands for itself in a path and in a query alike, as `:` and `,` do.
fn encode(text: &str, target: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:,".contains(&byte) {
            target.push(char::from(byte));
        } else {
            target.push_str(&format!("%{byte:02X}"));
        }
    }
}

/// All that is not this process.
pub(crate) trait Surroundings {
    /// The node's answer.
    fn ask(&mut self, request: &Request) -> Result<String, ToolError>;
    /// The roles of a Cassandra's files in a folder, as JSON for a node.
    fn roles_in(&mut self, folder: &Path) -> Result<String, ToolError>;
    /// Shows a line of a command that takes its time. With `--json` nothing is shown before the end.
    fn show(&mut self, line: &str);
    /// Milliseconds since the epoch, of this machine's clock.
    fn now_ms(&self) -> u64;
    /// The name of an address, if it has one.
    fn name_of(&self, address: IpAddr) -> Option<String>;
}

impl dyn Surroundings + '_ {
    /// The node's answer as a value.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, request: Request) -> Result<T, ToolError> {
        let body = self.ask(&request)?;
        serde_json::from_str(&body)
            .map_err(|error| ToolError::Garbled { request: request.name(), reason: error.to_string() })
    }

    /// The same of a path that not every node has.
    pub(crate) fn get_if_there<T: DeserializeOwned>(&mut self, request: Request) -> Result<Option<T>, ToolError> {
        match self.get(request) {
            Ok(value) => Ok(Some(value)),
            Err(ToolError::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Has the node do something. What it answers is of no interest, as long as it is not no.
    pub(crate) fn order(&mut self, request: Request) -> Result<(), ToolError> {
        self.ask(&request).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_operator_types_stays_one_part_of_the_path() {
        let request = Request::get("/column_family/autocompaction").of("k/../x:t?").with("cf", "a&b=c,d é");
        assert_eq!(request.target, "/column_family/autocompaction/k%2F..%2Fx:t%3F?cf=a%26b%3Dc,d%20%C3%A9");
    }
}
