//! The role of a client that has proven itself by a certificate: by its SPIFFE identity, as Cassandra has it, or by queries of its names, as ScyllaDB has them.
//!
//! Pure: the names are those of a verified certificate, which is the caller's to see to.

use auth::{Access, LoginError, bounds, login_forbidden};
use regex_lite::Regex;
use tls::CertificateNames;

/// The most queries, and the most bytes of one: each login may try them all.
const QUERIES_MAX: usize = 64;
const QUERY_BYTES_MAX: usize = 1024;

/// How a certificate names its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificates {
    /// By its SPIFFE URI, an identity that ADD IDENTITY gives a role.
    Spiffe,
    /// By the first of these that matches.
    Queries(RoleQueries),
}

/// Queries of a certificate's names for a role: at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleQueries(Vec<RoleQuery>);

/// The names that a query looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleSource {
    /// The subject's text.
    Subject,
    /// The text of the subject alternative names.
    AlternativeNames,
}

/// A regular expression whose one group is a role's name.
#[derive(Debug, Clone)]
pub struct RoleQuery {
    source: RoleSource,
    pattern: Regex,
}

/// Why a query is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The expression cannot be parsed.
    #[error("'{query}' is no regular expression: {reason}")]
    Malformed {
        /// The expression.
        query: String,
        /// The parser's words.
        reason: String,
    },
    /// It has no group, or several.
    #[error("'{query}' has {groups} groups; one is needed, the role's name")]
    Groups {
        /// The expression.
        query: String,
        /// How many it has.
        groups: usize,
    },
    /// It is longer than it may be.
    #[error("a query may have {QUERY_BYTES_MAX} bytes at most")]
    TooLong,
    /// There are none.
    #[error("at least one query is needed")]
    None,
    /// There are more than there may be.
    #[error("{QUERIES_MAX} queries are the most")]
    TooMany,
}

impl RoleQuery {
    /// A query of these names.
    pub fn new(source: RoleSource, query: &str) -> Result<RoleQuery, QueryError> {
        if query.len() > QUERY_BYTES_MAX {
            return Err(QueryError::TooLong);
        }
        let malformed = |error: regex_lite::Error| {
            let reason = error.to_string();
            QueryError::Malformed { query: query.to_owned(), reason }
        };
        let pattern = Regex::new(query).map_err(malformed)?;
        // The whole match is the first.
        match pattern.captures_len() - 1 {
            1 => Ok(RoleQuery { source, pattern }),
            groups => Err(QueryError::Groups { query: query.to_owned(), groups }),
        }
    }

    /// The names that it looks at.
    pub fn source(&self) -> RoleSource {
        self.source
    }

    /// The expression.
    pub fn query(&self) -> &str {
        self.pattern.as_str()
    }

    /// The text of the group, if the query matches.
    fn find<'n>(&self, subject: &'n str, alternatives: &'n str) -> Option<&'n str> {
        let text = match self.source {
            RoleSource::Subject => subject,
            RoleSource::AlternativeNames => alternatives,
        };
        // A group that a match leaves out is empty, as in ScyllaDB.
        self.pattern.captures(text).map(|found| found.get(1).map_or("", |group| group.as_str()))
    }
}

impl PartialEq for RoleQuery {
    fn eq(&self, other: &RoleQuery) -> bool {
        self.source == other.source && self.query() == other.query()
    }
}

impl Eq for RoleQuery {}

impl RoleQueries {
    /// The queries in the order in which they are tried.
    pub fn new(queries: Vec<RoleQuery>) -> Result<RoleQueries, QueryError> {
        match queries.len() {
            0 => Err(QueryError::None),
            1..=QUERIES_MAX => Ok(RoleQueries(queries)),
            _ => Err(QueryError::TooMany),
        }
    }

    /// The queries, in their order.
    pub fn all(&self) -> &[RoleQuery] {
        &self.0
    }

    /// The text that the first query that matches has found.
    fn find(&self, names: &CertificateNames) -> Option<String> {
        let alternatives = names.alternatives_text();
        self.0.iter().find_map(|query| query.find(names.subject(), &alternatives)).map(str::to_owned)
    }
}

impl Certificates {
    /// The role that the client with this certificate logs in as: it exists, and may log in. Fails with the words for the client.
    pub fn log_in(&self, names: &CertificateNames, access: &Access) -> Result<String, LoginError> {
        match self {
            Certificates::Spiffe => {
                let identity = names.spiffe();
                let identity =
                    identity.ok_or_else(|| LoginError("Unable to extract Spiffe from the certificate".to_owned()))?;
                access.log_in_by_identity(identity).map(str::to_owned)
            }
            Certificates::Queries(queries) => {
                let role = queries.find(names);
                let role = role.filter(|role| (1..=bounds::NAME_BYTES_MAX).contains(&role.len()));
                let words = "No query of auth_certificate_role_queries finds a role in the certificate";
                let role = role.ok_or_else(|| LoginError(words.to_owned()))?;
                match access.may_log_in(&role) {
                    true => Ok(role),
                    false => Err(LoginError(login_forbidden(&role))),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
