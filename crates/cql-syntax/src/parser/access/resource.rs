//! The resources of GRANT, REVOKE and LIST.
//!
//! `all`, `role`, `function` and `mbean` are names of tables too: the next token decides.

use super::super::{Parser, Result, marker_as_name};
use super::{object_name, role_name, string};
use crate::ast::AccessResource;
use crate::error::Failure;
use crate::lexer::{Token, TokenKind};

/// The resource of GRANT, REVOKE or LIST.
pub(super) fn resource(parser: &mut Parser<'_>) -> Result<AccessResource> {
    let second = parser.peek_second()?;
    if parser.token.is_keyword("ALL")
        && let Some(all) = all_of(parser, second)?
    {
        return Ok(all);
    }
    if parser.take_keyword("KEYSPACE")? {
        return Ok(AccessResource::Keyspace(parser.keyspace_name()?));
    }
    if parser.token.is_keyword("ROLE") && (is_name(parser, second) || second.kind == TokenKind::String) {
        parser.advance()?;
        return Ok(AccessResource::Role(role_name(parser)?));
    }
    if parser.token.is_keyword("FUNCTION") && (is_name(parser, second) || second.is_keyword("TOKEN")) {
        parser.advance()?;
        return function_resource(parser);
    }
    let is_plural = parser.token.is_keyword("MBEANS");
    if (is_plural || parser.token.is_keyword("MBEAN")) && second.kind == TokenKind::String {
        parser.advance()?;
        let name = string(parser)?;
        return object_name::canonical(&name, is_plural).map(AccessResource::MBean).map_err(Failure::without_place);
    }
    if parser.token.is_keyword("TABLE") || parser.token.is_keyword("COLUMNFAMILY") {
        parser.advance()?;
    }
    Ok(AccessResource::Table(parser.table_name()?))
}

/// `ALL things`, or `None` where `all` is a name.
fn all_of(parser: &mut Parser<'_>, second: Token<'_>) -> Result<Option<AccessResource>> {
    let Some(things) =
        ["KEYSPACES", "TABLES", "ROLES", "FUNCTIONS", "MBEANS"].into_iter().find(|things| second.is_keyword(things))
    else {
        return Ok(None);
    };
    parser.advance()?;
    parser.advance()?;
    Ok(Some(match things {
        "KEYSPACES" => AccessResource::AllKeyspaces,
        "ROLES" => AccessResource::AllRoles,
        "MBEANS" => AccessResource::AllMBeans,
        "FUNCTIONS" if !parser.token.is_keyword("IN") => AccessResource::AllFunctions,
        "FUNCTIONS" => AccessResource::KeyspaceFunctions(in_keyspace(parser)?),
        _ => AccessResource::AllTables(in_keyspace(parser)?),
    }))
}

fn in_keyspace(parser: &mut Parser<'_>) -> Result<String> {
    parser.expect_keyword("IN")?;
    parser.expect_keyword("KEYSPACE")?;
    parser.keyspace_name()
}

/// True if the token is a name, or a marker in the place of one.
fn is_name(parser: &Parser<'_>, token: Token<'_>) -> bool {
    Parser { token, ..*parser }.at_name() || token.is_symbol("?")
}

/// `keyspace.name(type, …)`
fn function_resource(parser: &mut Parser<'_>) -> Result<AccessResource> {
    if parser.token.is_symbol("?") {
        return Err(marker_as_name("keyspace"));
    }
    let mut keyspace = None;
    let mut name = function_name(parser)?;
    if parser.take_symbol(".")? {
        keyspace = Some(std::mem::replace(&mut name, function_name(parser)?));
    }
    let arguments = parser.argument_types()?.ok_or_else(|| parser.mismatch("'('"))?;
    // Cassandra's sentence.
    let words = "In this context function name must be explictly qualified by a keyspace";
    let keyspace = keyspace.ok_or_else(|| Failure::invalid(words))?;
    Ok(AccessResource::Function { keyspace, name, arguments })
}

/// A name. `token` is a reserved word and a function.
fn function_name(parser: &mut Parser<'_>) -> Result<String> {
    if parser.take_keyword("TOKEN")? { Ok("token".to_owned()) } else { parser.name() }
}
