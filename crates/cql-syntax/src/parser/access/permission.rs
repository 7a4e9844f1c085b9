//! Lists of permissions.

use super::super::{Parser, Result};
use crate::ast::{PermissionName, Permissions};

/// `ALL [PERMISSIONS]` or `permission [PERMISSION], …`; `None` at the name of a role.
pub(super) fn permissions(parser: &mut Parser<'_>) -> Result<Option<Permissions>> {
    if at_role(parser)? {
        return Ok(None);
    }
    if parser.token.is_keyword("ALL") {
        parser.advance()?;
        if parser.token.is_symbol(",") || parser.token.is_keyword("PERMISSION") {
            return Err(parser.unexpected());
        }
        parser.take_keyword("PERMISSIONS")?;
        return Ok(Some(Permissions::All));
    }
    parser.comma_separated(permission).map(|listed| Some(Permissions::Listed(listed)))
}

/// True where no permission begins, and where a permission's name is that of a role.
fn at_role(parser: &Parser<'_>) -> Result<bool> {
    let is_all = parser.token.is_keyword("ALL");
    if !is_all && at_permission(parser).is_none() {
        return Ok(true);
    }
    let second = parser.peek_second()?;
    Ok(parser.at_name() && (second.is_keyword("TO") || second.is_keyword("FROM")))
}

fn at_permission(parser: &Parser<'_>) -> Option<PermissionName> {
    PermissionName::ALL.into_iter().find(|permission| parser.token.is_keyword(permission.as_str()))
}

fn permission(parser: &mut Parser<'_>) -> Result<PermissionName> {
    let permission = at_permission(parser).ok_or_else(|| parser.unexpected())?;
    parser.advance()?;
    parser.take_keyword("PERMISSION")?;
    Ok(permission)
}
