//! Answers as text: all that a client can see of them, and nothing that differs from run to run.

use cql_protocol::response::{DecodedSpec, ErrorKind, Rows, SchemaTarget};
use cql_protocol::{ErrorBody, Failures, Prepared, Response, ResultBody};
use cql_types::CqlType;

use crate::oracle::client::Reply;
use crate::oracle::value;

/// Columns whose values are other ones in each run.
#[derive(Clone, Default)]
pub struct Mask<'a>(Vec<&'a str>);

impl<'a> Mask<'a> {
    /// Their names with commas between.
    pub fn of(names: &'a str) -> Mask<'a> {
        Mask(names.split(',').map(str::trim).collect())
    }
}

/// Whether a prepared statement is shown with the columns of its result; the rows tell them anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// With them.
    Shown,
    /// Without.
    LeftOut,
}

/// The lines of a response.
pub fn reply(reply: &Reply, mask: &Mask<'_>) -> Result<Vec<String>, String> {
    let (prefix, response) = reply.response()?;
    let warnings = prefix.warnings.iter().filter(|warning| !names_an_operation(warning));
    let mut lines: Vec<String> = warnings.map(|warning| format!("warning: {warning}")).collect();
    match response {
        Response::Error(body) => lines.push(error(&body)),
        Response::Result(ResultBody::Void) => lines.push("done".into()),
        Response::Result(ResultBody::SetKeyspace(keyspace)) => lines.push(format!("using {keyspace}")),
        Response::Result(ResultBody::SchemaChange(change)) => {
            let kind = format!("{:?}", change.kind).to_lowercase();
            let keyspace = &change.keyspace;
            lines.push(match change.target {
                SchemaTarget::Keyspace => format!("{kind} keyspace {keyspace}"),
                SchemaTarget::Table { name } => format!("{kind} table {keyspace}.{name}"),
                SchemaTarget::Type { name } => format!("{kind} type {keyspace}.{name}"),
                other => format!("{kind} in {keyspace}: {other:?}"),
            });
        }
        Response::Result(ResultBody::Rows(found)) => lines.extend(rows(&found, mask)),
        other => return Err(format!("an answer that no statement has: {other:?}")),
    }
    // Text of several lines, as DESCRIBE gives, goes on on lines of its own.
    Ok(lines.iter().flat_map(|line| line.split('\n')).map(|line| line.trim_end().to_string()).collect())
}

/// A warning that Cassandra does not have (COMPAT.md: "ALTER KEYSPACE of the replication"), and whose number differs from run to run.
fn names_an_operation(warning: &str) -> bool {
    warning.starts_with("Operation ") && warning.contains(" copies the data of keyspace ")
}

/// The lines that tell what PREPARE has told.
pub fn prepared(prepared: &Prepared, columns: Columns) -> Vec<String> {
    let key: Vec<String> = prepared.partition_key.iter().map(u16::to_string).collect();
    let key = if key.is_empty() { String::new() } else { format!("; partition key {}", key.join(", ")) };
    let mut lines = vec![format!("markers: {}{key}", specs(&prepared.markers))];
    if columns == Columns::Shown {
        lines.push(format!("columns: {}", specs(&prepared.columns)));
    }
    lines
}

fn specs(specs: &[DecodedSpec]) -> String {
    let shown: Vec<String> = specs.iter().map(|spec| format!("{} {}", spec.name, type_name(&spec.ty))).collect();
    if shown.is_empty() { "none".into() } else { shown.join(", ") }
}

fn error(body: &ErrorBody) -> String {
    let more = match &body.kind {
        ErrorKind::Unavailable { consistency, required, alive } => {
            format!(" [{} required {required} alive {alive}]", consistency.name())
        }
        ErrorKind::AlreadyExists { keyspace, table } => format!(" [{keyspace} {table}]"),
        ErrorKind::FunctionFailure { keyspace, function, arguments } => {
            format!(" [{keyspace}.{function}({})]", arguments.join(", "))
        }
        ErrorKind::WriteTimeout { .. }
        | ErrorKind::ReadTimeout { .. }
        | ErrorKind::ReadFailure { .. }
        | ErrorKind::WriteFailure { .. }
        | ErrorKind::CasWriteUnknown { .. } => format!(" {:?}", ordered(body.kind.clone())),
        _ => String::new(),
    };
    // A failed read names where the server listens.
    let (message, rest) =
        body.message.split_once(" from /127.0.0.1:").map_or((&*body.message, ""), |(message, rest)| {
            (message, rest.trim_start_matches(|character: char| character.is_ascii_digit()))
        });
    format!("error {:?}: {message}{rest}{more}", body.code())
}

/// The same with refusals in the order of their nodes: they come in the order of a hash table.
fn ordered(mut kind: ErrorKind) -> ErrorKind {
    if let ErrorKind::ReadFailure { failures: Failures::Reasons(reasons), .. }
    | ErrorKind::WriteFailure { failures: Failures::Reasons(reasons), .. } = &mut kind
    {
        reasons.sort_unstable();
    }
    kind
}

fn rows(rows: &Rows<'_>, mask: &Mask<'_>) -> Vec<String> {
    let names: Vec<String> =
        rows.columns.iter().map(|column| format!("{} {}", column.name, type_name(&column.ty))).collect();
    let mut lines = vec![names.join(" | ")];
    for row in rows.iter() {
        let values = rows.columns.iter().zip(row).map(|(column, given)| match given {
            _ if mask.0.contains(&column.name.as_str()) => "*".into(),
            given => value::show(&column.ty, given),
        });
        lines.push(values.collect::<Vec<_>>().join(" | "));
    }
    lines.push(match rows.row_count {
        1 => "1 row".into(),
        count => format!("{count} rows"),
    });
    lines
}

/// A type as clients see it: on the wire nothing is frozen, and a user-defined type has its fields.
fn type_name(ty: &CqlType) -> String {
    match ty {
        CqlType::List { element, .. } => format!("list<{}>", type_name(element)),
        CqlType::Set { element, .. } => format!("set<{}>", type_name(element)),
        CqlType::Map { key, value, .. } => format!("map<{}, {}>", type_name(key), type_name(value)),
        CqlType::Tuple(elements) => {
            format!("tuple<{}>", elements.iter().map(type_name).collect::<Vec<_>>().join(", "))
        }
        CqlType::Udt { keyspace, name, fields, .. } => {
            let fields: Vec<String> =
                fields.iter().map(|field| format!("{} {}", field.name, type_name(&field.ty))).collect();
            format!("{keyspace}.{name}{{{}}}", fields.join(", "))
        }
        CqlType::Vector { element, dimension } => format!("vector<{}, {dimension}>", type_name(element)),
        other => other.to_string(),
    }
}
