//! CREATE, ALTER and DROP of roles and users, GRANT, REVOKE and LIST, ADD and DROP IDENTITY.

mod object_name;
mod options;
mod permission;
mod resource;

use options::role_options;
use permission::permissions;
use resource::resource;

use super::{Parser, Result, marker_as_name};
use crate::ast::{AccessStatement, RolePassword};
use crate::error::Failure;
use crate::identifier::is_unreserved_keyword;
use crate::lexer::TokenKind;

/// The rest of CREATE ROLE or CREATE USER, if it is one.
pub(super) fn create_role(parser: &mut Parser<'_>) -> Result<Option<AccessStatement>> {
    if parser.take_keyword("ROLE")? {
        let (if_not_exists, role) = (parser.if_not_exists()?, role_name(parser)?);
        let options = role_options(parser)?;
        return Ok(Some(AccessStatement::CreateRole { role, if_not_exists, options }));
    }
    if parser.take_keyword("USER")? {
        let (if_not_exists, user) = (parser.if_not_exists()?, user_name(parser)?);
        let (password, superuser) = user_options(parser)?;
        return Ok(Some(AccessStatement::CreateUser { user, if_not_exists, password, superuser }));
    }
    Ok(None)
}

/// The rest of ALTER ROLE or ALTER USER, if it is one.
pub(super) fn alter_role(parser: &mut Parser<'_>) -> Result<Option<AccessStatement>> {
    if parser.take_keyword("ROLE")? {
        let (if_exists, role) = (parser.if_exists()?, role_name(parser)?);
        let options = role_options(parser)?;
        return Ok(Some(AccessStatement::AlterRole { role, if_exists, options }));
    }
    if parser.take_keyword("USER")? {
        let (if_exists, user) = (parser.if_exists()?, user_name(parser)?);
        let (password, superuser) = user_options(parser)?;
        return Ok(Some(AccessStatement::AlterUser { user, if_exists, password, superuser }));
    }
    Ok(None)
}

/// The rest of DROP ROLE, DROP USER or DROP IDENTITY, if it is one.
pub(super) fn drop_role(parser: &mut Parser<'_>) -> Result<Option<AccessStatement>> {
    if parser.take_keyword("ROLE")? {
        let (if_exists, role) = (parser.if_exists()?, role_name(parser)?);
        return Ok(Some(AccessStatement::DropRole { role, if_exists }));
    }
    if parser.take_keyword("USER")? {
        let (if_exists, user) = (parser.if_exists()?, user_name(parser)?);
        return Ok(Some(AccessStatement::DropUser { user, if_exists }));
    }
    if parser.take_keyword("IDENTITY")? {
        let (if_exists, identity) = (parser.if_exists()?, identity_name(parser)?);
        return Ok(Some(AccessStatement::DropIdentity { identity, if_exists }));
    }
    Ok(None)
}

/// The rest of GRANT.
pub(super) fn grant(parser: &mut Parser<'_>) -> Result<AccessStatement> {
    if let Some(permissions) = permissions(parser)? {
        parser.expect_keyword("ON")?;
        let on = resource(parser)?;
        parser.expect_keyword("TO")?;
        return Ok(AccessStatement::Grant { permissions, on, grantee: role_name(parser)? });
    }
    let role = role_name(parser)?;
    parser.expect_keyword("TO")?;
    Ok(AccessStatement::GrantRole { role, grantee: role_name(parser)? })
}

/// The rest of REVOKE.
pub(super) fn revoke(parser: &mut Parser<'_>) -> Result<AccessStatement> {
    if let Some(permissions) = permissions(parser)? {
        parser.expect_keyword("ON")?;
        let on = resource(parser)?;
        parser.expect_keyword("FROM")?;
        return Ok(AccessStatement::Revoke { permissions, on, revokee: role_name(parser)? });
    }
    let role = role_name(parser)?;
    parser.expect_keyword("FROM")?;
    Ok(AccessStatement::RevokeRole { role, revokee: role_name(parser)? })
}

/// The rest of LIST.
pub(super) fn list(parser: &mut Parser<'_>) -> Result<AccessStatement> {
    if parser.take_keyword("ROLES")? {
        let of = list_of(parser)?;
        return Ok(AccessStatement::ListRoles { of, is_recursive: !parser.take_keyword("NORECURSIVE")? });
    }
    if parser.take_keyword("USERS")? {
        return Ok(AccessStatement::ListUsers);
    }
    let permissions = permissions(parser)?.ok_or_else(|| parser.unexpected())?;
    let on = if parser.take_keyword("ON")? { Some(resource(parser)?) } else { None };
    let of = list_of(parser)?;
    Ok(AccessStatement::ListPermissions { permissions, on, of, is_recursive: !parser.take_keyword("NORECURSIVE")? })
}

fn list_of(parser: &mut Parser<'_>) -> Result<Option<String>> {
    if parser.take_keyword("OF")? { role_name(parser).map(Some) } else { Ok(None) }
}

/// The rest of ADD IDENTITY.
pub(super) fn add_identity(parser: &mut Parser<'_>) -> Result<AccessStatement> {
    parser.expect_keyword("IDENTITY")?;
    let (if_not_exists, identity) = (parser.if_not_exists()?, identity_name(parser)?);
    parser.expect_keyword("TO")?;
    parser.expect_keyword("ROLE")?;
    Ok(AccessStatement::AddIdentity { identity, role: identity_name(parser)?, if_not_exists })
}

/// A role: a name or a string.
fn role_name(parser: &mut Parser<'_>) -> Result<String> {
    match parser.token.kind {
        TokenKind::String => Ok(parser.advance()?.content().into_owned()),
        _ if parser.token.is_symbol("?") => Err(marker_as_name("role")),
        _ => parser.name(),
    }
}

/// A user, in Cassandra's older form.
fn user_name(parser: &mut Parser<'_>) -> Result<String> {
    let words = "user names and USER is deprecated, please use ROLE";
    word_or_string(parser, words)
}

/// An identity, or the role that it is added to.
fn identity_name(parser: &mut Parser<'_>) -> Result<String> {
    word_or_string(parser, "identity")
}

/// A string, or a word that is no keyword. Letters keep their case.
fn word_or_string(parser: &mut Parser<'_>, what: &str) -> Result<String> {
    let token = parser.token;
    match token.kind {
        TokenKind::String => Ok(parser.advance()?.content().into_owned()),
        TokenKind::Word if parser.at_name() && !is_unreserved_keyword(token.text) => {
            parser.advance()?;
            Ok(token.text.to_owned())
        }
        // Cassandra's sentence has the word twice.
        TokenKind::QuotedName if token.text.len() > 2 => {
            Err(Failure::without_place(format!("Quoted strings are are not supported for {what}")))
        }
        _ => Err(parser.unexpected()),
    }
}

/// A string constant, whose content is a value and no name.
fn string(parser: &mut Parser<'_>) -> Result<String> {
    match parser.token.kind {
        TokenKind::String => Ok(parser.advance()?.content().into_owned()),
        _ => Err(parser.mismatch("STRING_LITERAL")),
    }
}

/// `PASSWORD`, `HASHED PASSWORD` or `GENERATED PASSWORD`, if it stands there, with what `assign` lets stand before the value.
fn password_option(
    parser: &mut Parser<'_>,
    assign: impl FnOnce(&mut Parser<'_>) -> Result<()>,
) -> Result<Option<RolePassword>> {
    if parser.take_keyword("PASSWORD")? {
        assign(parser)?;
        return Ok(Some(RolePassword::Plain(string(parser)?)));
    }
    if parser.take_keyword("HASHED")? {
        parser.expect_keyword("PASSWORD")?;
        assign(parser)?;
        return Ok(Some(RolePassword::Hashed(string(parser)?)));
    }
    if parser.take_keyword("GENERATED")? {
        parser.expect_keyword("PASSWORD")?;
        return Ok(Some(RolePassword::Generated));
    }
    Ok(None)
}

/// `[WITH PASSWORD 'x'] [SUPERUSER | NOSUPERUSER]`
fn user_options(parser: &mut Parser<'_>) -> Result<(Option<RolePassword>, Option<bool>)> {
    let mut password = None;
    if parser.take_keyword("WITH")? {
        password = Some(password_option(parser, |_| Ok(()))?.ok_or_else(|| parser.unexpected())?);
    }
    let superuser = match () {
        () if parser.take_keyword("SUPERUSER")? => Some(true),
        () if parser.take_keyword("NOSUPERUSER")? => Some(false),
        () => None,
    };
    Ok((password, superuser))
}

#[cfg(test)]
mod tests;
