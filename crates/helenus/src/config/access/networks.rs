//! `network_authorizer` and `cidr_authorizer`: the datacenters that roles may use, and the addresses that they connect from.
//!
//! All that Cassandra keeps in caches is in memory here, so the parameters of its caches have no effect. Those of a `cidr_authorizer` that checks nothing have none
//! either: they are in the warning at the start, lest `ENFORCE` beside `AllowAllCIDRAuthorizer` be taken for an effect.

use auth::networks::{CidrMode, NetworkRules};

use super::Authenticator;
use crate::config::ConfigError;
use crate::config::place::{Place, class_parameters};
use crate::config::yaml::Node;

const ALL_NETWORKS: &str = "AllowAllNetworkAuthorizer";
const NETWORKS: &str = "CassandraNetworkAuthorizer";
const ALL_CIDRS: &str = "AllowAllCIDRAuthorizer";
const CIDRS: &str = "CassandraCIDRAuthorizer";

const MODE: &str = "cidr_authorizer_mode";
const FOR_SUPERUSERS: &str = "cidr_checks_for_superusers";
/// Parameters of Cassandra's caches.
const OF_CACHES: [&str; 2] = ["cidr_groups_cache_refresh_interval", "ip_cache_max_size"];

/// The keys as they were given.
#[derive(Debug, Default)]
pub(super) struct NetworkSettings {
    rules: NetworkRules,
    /// Parameters without an effect.
    pointless: Vec<String>,
}

impl NetworkSettings {
    /// `network_authorizer`: a class, without parameters.
    pub(super) fn read_network(&mut self, place: &Place<'_>, value: &Node) -> Result<(), ConfigError> {
        self.rules.checks_datacenters = is_second(place, value, [ALL_NETWORKS, NETWORKS])?;
        match parameters(place, value)?.first() {
            Some((name, _)) => Err(not_a_parameter(place, name)),
            None => Ok(()),
        }
    }

    /// `cidr_authorizer`: a class, and its parameters. Without a mode addresses are monitored, as in Cassandra.
    pub(super) fn read_cidr(&mut self, place: &Place<'_>, value: &Node) -> Result<(), ConfigError> {
        let is_on = is_second(place, value, [ALL_CIDRS, CIDRS])?;
        let (mut mode, mut checks_superusers) = (CidrMode::Monitor, false);
        for (name, value) in parameters(place, value)? {
            match name.as_str() {
                MODE => mode = self::mode(place, place.text(value)?)?,
                FOR_SUPERUSERS => checks_superusers = place.flag(value)?,
                name if OF_CACHES.contains(&name) => {}
                name => return Err(not_a_parameter(place, name)),
            }
            if !is_on || OF_CACHES.contains(&name.as_str()) {
                self.pointless.push(format!("{}.{name}", place.key));
            }
        }
        if is_on {
            self.rules.cidr_mode = mode;
            self.rules.cidr_checks_superusers = checks_superusers;
        }
        Ok(())
    }

    /// Parameters that were given and have no effect; the log names each once.
    pub(super) fn take_pointless(&mut self) -> Vec<String> {
        std::mem::take(&mut self.pointless)
    }

    /// The rules. Fails, with the reason, where clients have no roles to which they apply.
    pub(super) fn complete(&self, authenticator: Authenticator) -> Result<NetworkRules, String> {
        let [network, cidr] = classes(self.rules);
        let on = [(self.rules.checks_datacenters, network), (self.rules.cidr_mode != CidrMode::Off, cidr)];
        match on.into_iter().find(|(is_on, _)| *is_on && !authenticator.requires_login()) {
            Some((_, class)) => Err(format!("{class} can't be used with {}", authenticator.class())),
            None => Ok(self.rules),
        }
    }
}

/// The keys with the values in effect; those with parameters as Cassandra writes them.
pub(super) fn shown(rules: NetworkRules) -> [(&'static str, String); 2] {
    let [network, cidr] = classes(rules);
    let parameters = match rules.cidr_mode {
        CidrMode::Off => String::new(),
        CidrMode::Monitor => format!("{{{MODE}=MONITOR, {FOR_SUPERUSERS}={}}}", rules.cidr_checks_superusers),
        CidrMode::Enforce => format!("{{{MODE}=ENFORCE, {FOR_SUPERUSERS}={}}}", rules.cidr_checks_superusers),
    };
    [("network_authorizer", network.to_owned()), ("cidr_authorizer", format!("{cidr}{parameters}"))]
}

/// The classes of rules: for datacenters, for addresses.
fn classes(rules: NetworkRules) -> [&'static str; 2] {
    let network = if rules.checks_datacenters { NETWORKS } else { ALL_NETWORKS };
    [network, if rules.cidr_mode == CidrMode::Off { ALL_CIDRS } else { CIDRS }]
}

/// True if it is the second class; one that is neither is refused.
fn is_second(place: &Place<'_>, value: &Node, classes: [&str; 2]) -> Result<bool, ConfigError> {
    match place.class(value)? {
        class if class == classes[0] => Ok(false),
        class if class == classes[1] => Ok(true),
        class => Err(place.wrong(super::not_supported(class, classes))),
    }
}

fn parameters<'n>(place: &Place<'_>, value: &'n Node) -> Result<&'n [(String, Node)], ConfigError> {
    class_parameters(value).ok_or_else(|| place.wrong("expected a mapping of parameters"))
}

fn mode(place: &Place<'_>, text: &str) -> Result<CidrMode, ConfigError> {
    match text.to_ascii_uppercase().as_str() {
        "MONITOR" => Ok(CidrMode::Monitor),
        "ENFORCE" => Ok(CidrMode::Enforce),
        _ => Err(place.wrong(format!("{MODE} {text} is neither MONITOR nor ENFORCE"))),
    }
}

fn not_a_parameter(place: &Place<'_>, name: &str) -> ConfigError {
    place.wrong(format!("{name} is not a supported parameter"))
}
