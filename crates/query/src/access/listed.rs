//! The answers to LIST ROLES, LIST USERS and LIST PERMISSIONS. (Source: Cassandra's statements of these names, which give the results' columns.)

use auth::{Listed, PermissionRow, RoleRow};
use cql_protocol::response::{ColumnSpec, RowsHead, Specs};
use cql_protocol::{FrameHeader, RowsWriter, write_void};
use cql_types::CqlType;

use crate::system::value::{self, Value};

/// Appends the answer: without rows it is void, as in Cassandra. But for LIST USERS, whose roles may be there and not log in.
pub(crate) fn write_listed(listed: &Listed, header: &FrameHeader, out: &mut Vec<u8>) {
    let options = CqlType::Map { key: Box::new(CqlType::Text), value: Box::new(CqlType::Text), frozen: false };
    let (text, boolean) = (&CqlType::Text, &CqlType::Boolean);
    match listed {
        Listed::Roles(rows) if rows.is_empty() => write_void(out, header.version, header.stream),
        Listed::Permissions(rows) if rows.is_empty() => write_void(out, header.version, header.stream),
        Listed::Roles(rows) => {
            let columns =
                [("role", text), ("super", boolean), ("login", boolean), ("options", &options), ("datacenters", text)];
            write_rows("roles", columns, rows.iter().map(role), header, out);
        }
        Listed::Users(rows) => {
            let columns = [("name", text), ("super", boolean), ("datacenters", text)];
            write_rows("users", columns, rows.iter().map(user), header, out);
        }
        Listed::Permissions(rows) => {
            let columns = [("role", text), ("username", text), ("resource", text), ("permission", text)];
            write_rows("permissions", columns, rows.iter().map(permission), header, out);
        }
    }
}

fn role(row: &RoleRow) -> [Value; 5] {
    [
        value::text(&row.role),
        value::boolean(row.is_superuser),
        value::boolean(row.may_log_in),
        value::text_map(&row.options),
        value::text(&row.datacenters),
    ]
}

fn user(row: &RoleRow) -> [Value; 3] {
    [value::text(&row.role), value::boolean(row.is_superuser), value::text(&row.datacenters)]
}

fn permission(row: &PermissionRow) -> [Value; 4] {
    [value::text(&row.role), value::text(&row.role), value::text(&row.resource), value::text(row.permission.name())]
}

fn write_rows<const N: usize>(
    table: &str,
    columns: [(&str, &CqlType); N],
    rows: impl Iterator<Item = [Value; N]>,
    header: &FrameHeader,
    out: &mut Vec<u8>,
) {
    let specs = columns.map(|(name, ty)| ColumnSpec { keyspace: "system_auth", table, name, ty });
    let head = RowsHead { columns: Specs::Columns(&specs), new_metadata_id: None };
    let mut writer = RowsWriter::begin(out, header.version, header.stream, &head);
    for row in rows {
        row.iter().for_each(|value| writer.value(out, value.as_deref()));
        writer.end_row();
    }
    writer.finish(out, None);
}
