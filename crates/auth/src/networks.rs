//! Network rules: the datacenters whose nodes a role may use, and the addresses that it may connect from.
//!
//! Rules of a role are its own, and are not inherited. A superuser has none, but that addresses are checked for superusers too if
//! `cidr_checks_for_superusers` says so. A role that may not log in has access to nothing.

mod cidr;
#[cfg(test)]
mod tests;
mod unenforced;

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::error::{AccessError, unauthorized};
use crate::snapshot::Access;

pub use cidr::{Cidr, CidrError};
pub use unenforced::{ensure_enforced, leave_out_unenforced};

/// Handling of addresses: `cidr_authorizer` and its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CidrMode {
    /// `AllowAllCIDRAuthorizer`: nothing.
    #[default]
    Off,
    /// `MONITOR`: a refusal is logged, not made.
    Monitor,
    /// `ENFORCE`: a refusal is made.
    Enforce,
}

/// Verdict on an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CidrVerdict {
    /// The role may connect from there.
    Accepted,
    /// It may not, and does, since addresses are only monitored.
    Monitored,
    /// It may not.
    Refused,
}

/// The network rules that a node enforces: `network_authorizer`, `cidr_authorizer` and its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NetworkRules {
    /// True if roles are restricted to datacenters.
    pub checks_datacenters: bool,
    /// Handling of addresses.
    pub cidr_mode: CidrMode,
    /// `cidr_checks_for_superusers`.
    pub cidr_checks_superusers: bool,
}

impl NetworkRules {
    /// True if no role is refused by them.
    pub fn are_off(self) -> bool {
        !self.checks_datacenters && self.cidr_mode == CidrMode::Off
    }
}

impl Access {
    /// Refuses a role that may not use this node's datacenter, then one that may not connect from its address, if that is known.
    pub fn check_network(
        &self,
        role: &str,
        (datacenter, address): (&str, Option<IpAddr>),
        rules: NetworkRules,
    ) -> Result<CidrVerdict, AccessError> {
        if rules.checks_datacenters && !self.may_use_datacenter(role, datacenter) {
            return Err(wrong_datacenter(datacenter));
        }
        let Some(address) = address else { return Ok(CidrVerdict::Accepted) };
        match self.cidr_verdict(role, address, rules.cidr_mode, rules.cidr_checks_superusers) {
            CidrVerdict::Refused => Err(wrong_address(address)),
            verdict => Ok(verdict),
        }
    }

    /// True if a role may use the nodes of a datacenter.
    pub fn may_use_datacenter(&self, role: &str, datacenter: &str) -> bool {
        let restricted_to = self.role(role).map(|role| &role.datacenters);
        self.may_log_in(role)
            && (self.is_superuser(role)
                || restricted_to.is_some_and(|names| names.is_empty() || names.contains(datacenter)))
    }

    /// The CIDR groups of an address: those that have the longest of the ranges that it is in.
    pub fn cidr_groups_of(&self, address: IpAddr) -> BTreeSet<&str> {
        let address = address.to_canonical();
        let longest = |cidrs: &BTreeSet<Cidr>| {
            let around = cidrs.iter().filter(|cidr| cidr.contains(address));
            around.map(Cidr::prefix_length).max()
        };
        let found: Vec<(&str, u8)> =
            self.cidr_groups().filter_map(|(name, cidrs)| Some((name, longest(cidrs)?))).collect();
        let most = found.iter().map(|(_, length)| *length).max();
        found.into_iter().filter(|(_, length)| Some(*length) == most).map(|(name, _)| name).collect()
    }

    /// The verdict on a role that connects from an address. `checks_superusers` is `cidr_checks_for_superusers`.
    pub fn cidr_verdict(&self, role: &str, address: IpAddr, mode: CidrMode, checks_superusers: bool) -> CidrVerdict {
        if mode == CidrMode::Off || self.may_connect_from(role, address, checks_superusers) {
            return CidrVerdict::Accepted;
        }
        match mode {
            CidrMode::Monitor => CidrVerdict::Monitored,
            _ => CidrVerdict::Refused,
        }
    }

    fn may_connect_from(&self, name: &str, address: IpAddr, checks_superusers: bool) -> bool {
        let Some(role) = self.role(name).filter(|role| role.attributes.may_log_in) else { return false };
        if role.cidr_groups.is_empty() || (!checks_superusers && self.is_superuser(name)) {
            return true;
        }
        self.cidr_groups_of(address).into_iter().any(|group| role.cidr_groups.contains(group))
    }
}

/// Refusal of a role that may not use this node's datacenter.
pub fn wrong_datacenter(datacenter: &str) -> AccessError {
    unauthorized(format!("You do not have access to this datacenter ({datacenter})"))
}

/// Refusal of a role that may not connect from this address.
pub fn wrong_address(address: IpAddr) -> AccessError {
    unauthorized(format!("You do not have access from this IP {address}"))
}
