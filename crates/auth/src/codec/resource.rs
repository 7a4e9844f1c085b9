//! The bytes of resources and ranges of addresses.

use std::net::IpAddr;

use stdx::{Reader, varint};

use super::read::{count, invalid, text};
use super::{DecodeError, encode_text};
use crate::bounds::RESOURCE_BYTES_MAX;
use crate::networks::Cidr;
use crate::resource::Resource;

const ALL_KEYSPACES: u8 = 1;
const KEYSPACE: u8 = 2;
const ALL_TABLES: u8 = 3;
const TABLE: u8 = 4;
const ALL_ROLES: u8 = 5;
const ROLE: u8 = 6;
const ALL_FUNCTIONS: u8 = 7;
const KEYSPACE_FUNCTIONS: u8 = 8;
const FUNCTION: u8 = 9;
const ALL_MBEANS: u8 = 10;
const MBEAN: u8 = 11;

const V4_BYTES: u8 = 4;
const V6_BYTES: u8 = 16;

pub(super) fn encode(resource: &Resource, out: &mut Vec<u8>) {
    let (form, texts): (u8, &[&String]) = match resource {
        Resource::AllKeyspaces => (ALL_KEYSPACES, &[]),
        Resource::Keyspace(keyspace) => (KEYSPACE, &[keyspace]),
        Resource::AllTables(keyspace) => (ALL_TABLES, &[keyspace]),
        Resource::Table(keyspace, table) => (TABLE, &[keyspace, table]),
        Resource::AllRoles => (ALL_ROLES, &[]),
        Resource::Role(role) => (ROLE, &[role]),
        Resource::AllFunctions => (ALL_FUNCTIONS, &[]),
        Resource::KeyspaceFunctions(keyspace) => (KEYSPACE_FUNCTIONS, &[keyspace]),
        Resource::Function { keyspace, name, .. } => (FUNCTION, &[keyspace, name]),
        Resource::AllMBeans => (ALL_MBEANS, &[]),
        Resource::MBean(name) => (MBEAN, &[name]),
    };
    out.push(form);
    texts.iter().for_each(|text| encode_text(text, out));
    if let Resource::Function { arguments, .. } = resource {
        varint::encode(arguments.len() as u64, out);
        arguments.iter().for_each(|class| encode_text(class, out));
    }
}

/// A resource. Its name makes the same one again: what no name stands for is refused.
pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Resource, DecodeError> {
    let resource = match reader.u8()? {
        ALL_KEYSPACES => Resource::AllKeyspaces,
        KEYSPACE => Resource::Keyspace(part(reader)?),
        ALL_TABLES => Resource::AllTables(part(reader)?),
        TABLE => Resource::Table(part(reader)?, part(reader)?),
        ALL_ROLES => Resource::AllRoles,
        ROLE => Resource::Role(part(reader)?),
        ALL_FUNCTIONS => Resource::AllFunctions,
        KEYSPACE_FUNCTIONS => Resource::KeyspaceFunctions(part(reader)?),
        FUNCTION => decode_function(reader)?,
        ALL_MBEANS => Resource::AllMBeans,
        MBEAN => Resource::MBean(part(reader)?),
        form => return Err(invalid(format!("resources of form {form} are unknown"))),
    };
    let name = resource.name();
    match name.len() <= RESOURCE_BYTES_MAX && Resource::of_name(&name).as_ref() == Ok(&resource) {
        true => Ok(resource),
        false => Err(invalid("a resource has no name")),
    }
}

fn decode_function(reader: &mut Reader<'_>) -> Result<Resource, DecodeError> {
    let (keyspace, name) = (part(reader)?, part(reader)?);
    let count = count(reader, 2, RESOURCE_BYTES_MAX, "arguments")?;
    let arguments = (0..count).map(|_| part(reader)).collect::<Result<_, _>>()?;
    Ok(Resource::Function { keyspace, name, arguments })
}

fn part(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    text(reader, RESOURCE_BYTES_MAX)
}

pub(super) fn encode_cidr(cidr: &Cidr, out: &mut Vec<u8>) {
    out.push(cidr.prefix_length());
    match cidr.first() {
        IpAddr::V4(address) => {
            out.push(V4_BYTES);
            out.extend_from_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.push(V6_BYTES);
            out.extend_from_slice(&address.octets());
        }
    }
}

pub(super) fn decode_cidr(reader: &mut Reader<'_>) -> Result<Cidr, DecodeError> {
    let prefix_length = reader.u8()?;
    let address: IpAddr = match reader.u8()? {
        V4_BYTES => reader.array::<4>()?.into(),
        V6_BYTES => reader.array::<16>()?.into(),
        bytes => return Err(invalid(format!("an address of {bytes} bytes"))),
    };
    let cidr = Cidr::new(address, prefix_length).filter(|cidr| cidr.first() == address);
    cidr.ok_or_else(|| invalid(format!("{address}/{prefix_length} is no range")))
}
