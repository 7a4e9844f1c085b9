//! Restrictions of a role that the asked node does not enforce: answered as by Cassandra 5.0.6, never silently.
//!
//! | | `AllowAllNetworkAuthorizer`, datacenters | `AllowAllCIDRAuthorizer`, CIDR groups |
//! |---|---|---|
//! | CREATE ROLE | left out; a warning | kept; a warning |
//! | ALTER ROLE | refused, after all other refusals, whatever the restriction | kept; a warning |
//!
//! Groups are kept so that they are there when addresses begin to be checked. Warnings are not Cassandra's, which answers as if it restricted the role. All of
//! it depends on the statement alone, not on the state: a statement is proposed without what is left out, and its leader needs no word of these rules.

use cql_syntax::{AccessStatement, Restriction, RoleOptions};

use super::{CidrMode, NetworkRules};
use crate::error::{AccessError, invalid};

/// Refuses ALTER ROLE of datacenters where roles are not restricted to any.
pub fn ensure_enforced(statement: &AccessStatement, rules: NetworkRules) -> Result<(), AccessError> {
    match statement {
        AccessStatement::AlterRole { options: RoleOptions { datacenters: Some(_), .. }, .. }
            if !rules.checks_datacenters =>
        {
            Err(invalid("ACCESS TO DATACENTERS operations not supported by AllowAllNetworkAuthorizer"))
        }
        _ => Ok(()),
    }
}

/// Takes the datacenters out of a CREATE ROLE where roles are not restricted to any. Gives the warnings about restrictions that are not enforced.
pub fn leave_out_unenforced(statement: &mut AccessStatement, rules: NetworkRules) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_created = matches!(statement, AccessStatement::CreateRole { .. });
    let (AccessStatement::CreateRole { options, .. } | AccessStatement::AlterRole { options, .. }) = statement else {
        return warnings;
    };
    if is_created && !rules.checks_datacenters && matches!(options.datacenters.take(), Some(Restriction::Only(_))) {
        let words = "network_authorizer is AllowAllNetworkAuthorizer, and the role may use all datacenters";
        warnings.push(format!("ACCESS TO DATACENTERS has no effect: {words}"));
    }
    if rules.cidr_mode == CidrMode::Off && matches!(options.cidr_groups, Some(Restriction::Only(_))) {
        let words = "cidr_authorizer is AllowAllCIDRAuthorizer, and the role may connect from all addresses";
        warnings.push(format!("ACCESS FROM CIDRS is not enforced: {words}"));
    }
    warnings
}
