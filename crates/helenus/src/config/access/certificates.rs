//! Logins by certificate: the validator of Cassandra's authenticators, and the queries of ScyllaDB's.

use login::{Certificates, RoleQueries, RoleQuery, RoleSource};
use tls::ClientCertificates;

use super::Authenticator;
use crate::config::ConfigError;
use crate::config::place::{Place, class_parameters};
use crate::config::yaml::Node;

/// The one validator: a certificate's identity is its SPIFFE URI.
const VALIDATOR: &str = "SpiffeCertificateValidator";
/// ScyllaDB's query where none is given.
const DEFAULT_QUERY: &str = "CN=([^,]+)";

/// The keys as they were given.
#[derive(Debug, Default)]
pub(super) struct CertificateSettings {
    /// The class that says which identity a certificate has.
    validator: Option<String>,
    queries: Option<RoleQueries>,
}

impl CertificateSettings {
    /// `parameters` of `authenticator`: a mapping, or a list with one.
    pub(super) fn read_validator(&mut self, place: &Place<'_>, value: &Node) -> Result<(), ConfigError> {
        let Some(parameters) = class_parameters(value) else {
            return Err(place.wrong("expected a mapping of parameters"));
        };
        for (name, value) in parameters.iter().filter(|(_, value)| *value != Node::Nothing) {
            match name.as_str() {
                "validator_class_name" => {
                    place.must_be_class(value, VALIDATOR)?;
                    self.validator = Some(place.class(value)?.to_owned());
                }
                name => return Err(place.wrong(format!("{name} is not a supported parameter"))),
            }
        }
        Ok(())
    }

    /// `auth_certificate_role_queries`: a list of mappings with `source` and `query`.
    pub(super) fn read_queries(&mut self, place: &Place<'_>, value: &Node) -> Result<(), ConfigError> {
        let Node::List(list) = value else { return Err(place.wrong("expected a list of source and query")) };
        let queries = list.iter().map(|node| query(place, node)).collect::<Result<Vec<_>, _>>()?;
        self.queries = Some(RoleQueries::new(queries).map_err(|error| place.wrong(error))?);
        Ok(())
    }

    /// The rule for the authenticator; `None`: it needs no certificates. Fails, with the reason, where clients would have none to log in by.
    pub(super) fn complete(
        self,
        authenticator: Authenticator,
        asked: Option<ClientCertificates>,
    ) -> Result<Option<Certificates>, String> {
        let class = authenticator.class();
        let is_required = asked == Some(ClientCertificates::Required);
        match authenticator {
            Authenticator::AllowAll | Authenticator::Password => return Ok(None),
            Authenticator::MutualTls | Authenticator::Certificate if !is_required => {
                return Err(format!(
                    "{class} requires client_encryption_options.enabled to be true & client_encryption_options.require_client_auth to be true"
                ));
            }
            Authenticator::MutualTlsWithPasswordFallback
                if !matches!(asked, Some(ClientCertificates::Required | ClientCertificates::Optional)) =>
            {
                return Err(format!(
                    "{class} requires client_encryption_options.enabled to be true & client_encryption_options.require_client_auth to be optional/true"
                ));
            }
            _ => {}
        }
        if authenticator == Authenticator::Certificate {
            let default = || {
                let query = RoleQuery::new(RoleSource::Subject, DEFAULT_QUERY)?;
                RoleQueries::new(vec![query])
            };
            let queries = self.queries.map_or_else(default, Ok);
            return queries.map(|queries| Some(Certificates::Queries(queries))).map_err(|error| error.to_string());
        }
        match self.validator {
            Some(_) => Ok(Some(Certificates::Spiffe)),
            None => Err("authenticator.parameters.validator_class_name is not set".to_owned()),
        }
    }
}

fn query(place: &Place<'_>, node: &Node) -> Result<RoleQuery, ConfigError> {
    let Node::Map(entries) = node else { return Err(place.wrong("expected a mapping of source and query")) };
    let (mut source, mut expression) = (None, None);
    for (name, value) in entries {
        match name.as_str() {
            "source" => source = Some(place.text(value)?),
            "query" => expression = Some(place.text(value)?),
            name => return Err(place.wrong(format!("{name} is not a part of a query, only source and query"))),
        }
    }
    let (Some(source), Some(expression)) = (source, expression) else {
        return Err(place.wrong("a query needs source and query"));
    };
    let source = match source.to_ascii_uppercase().as_str() {
        "SUBJECT" => RoleSource::Subject,
        "ALTNAME" => RoleSource::AlternativeNames,
        _ => return Err(place.wrong(format!("source {source} is neither SUBJECT nor ALTNAME"))),
    };
    RoleQuery::new(source, expression).map_err(|error| place.wrong(error))
}

/// The queries as they are shown, in the file's words.
pub(super) fn shown(certificates: Option<&Certificates>) -> Option<String> {
    let Some(Certificates::Queries(queries)) = certificates else { return None };
    let one = |query: &RoleQuery| {
        let source = match query.source() {
            RoleSource::Subject => "SUBJECT",
            RoleSource::AlternativeNames => "ALTNAME",
        };
        format!("{source}: {}", query.query())
    };
    Some(queries.all().iter().map(one).collect::<Vec<_>>().join("; "))
}
