//! The bytes of changes of the access state.
//!
//! ```text
//! changes     u8 version (1) · varint count · change*
//! change      u8 kind · body
//!   1 PutRole         text role · u8 flags (1 superuser, 2 may log in, 4 has a hash) · text hash if it has one · options
//!   2 DropRole        text role
//!   3 AddMember       text role · text member
//!   4 RemoveMember    text role · text member
//!   5 Grant           text role · grants
//!   6 Revoke          text role · grants
//!   7 PutDatacenters  text role · texts
//!   8 PutCidrGroups   text role · texts
//!   9 PutCidrGroup    text group · varint count · cidr*                  (ascending)
//!   10 PutIdentity    text identity · text role
//!   11 DropIdentity   text identity
//!   12 BootstrapDone
//! options     varint count · (text name · text value)*                   (names ascend)
//! grants      varint count · (resource · u16 permissions)*               (resources ascend; bit n is the n-th permission)
//! resource    u8 form
//!   1 all keyspaces   2 keyspace   text      3 all tables   text    4 table   text keyspace · text table
//!   5 all roles       6 role       text
//!   7 all functions   8 of a keyspace  text  9 function     text keyspace · text name · varint count · text class*
//!   10 all mbeans     11 mbean     text
//! cidr        u8 prefix length · u8 bytes of the address (4, 16) · address
//! texts       varint count · text*                                       (ascending)
//! text        varint length (at least 1 but for an option's value) · UTF-8
//! ```
//!
//! Integers are big-endian. Bytes that the version does not know are errors: a node that skipped a change would have another state than all others.

mod read;
mod resource;

use std::collections::{BTreeMap, BTreeSet};

use stdx::{ReadError, Reader, varint};

use crate::change::AccessChange;
use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::Attributes;
use read::invalid;

/// The version of changes that this code writes, and the newest that it reads.
pub const VERSION: u8 = 1;

const PUT_ROLE: u8 = 1;
const DROP_ROLE: u8 = 2;
const ADD_MEMBER: u8 = 3;
const REMOVE_MEMBER: u8 = 4;
const GRANT: u8 = 5;
const REVOKE: u8 = 6;
const PUT_DATACENTERS: u8 = 7;
const PUT_CIDR_GROUPS: u8 = 8;
const PUT_CIDR_GROUP: u8 = 9;
const PUT_IDENTITY: u8 = 10;
const DROP_IDENTITY: u8 = 11;
const BOOTSTRAP_DONE: u8 = 12;

const SUPERUSER: u8 = 1;
const LOGIN: u8 = 2;
const HASH: u8 = 4;

/// Error of bytes that are no changes of the access state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end early or a length is wrong.
    #[error("a change of access is truncated or damaged: {0}")]
    Bytes(#[from] ReadError),
    /// A newer Helenus wrote them.
    #[error("changes of access of format version {version}; this Helenus reads up to {supported}")]
    NewerVersion {
        /// The version found.
        version: u8,
        /// The newest version this code reads.
        supported: u8,
    },
    /// The bytes are whole but say what cannot be.
    #[error("a change of access is damaged: {problem}")]
    Invalid {
        /// The problem.
        problem: String,
    },
}

/// The bytes of changes that take effect together.
pub fn encode(changes: &[AccessChange]) -> Vec<u8> {
    let mut out = vec![VERSION];
    varint::encode(changes.len() as u64, &mut out);
    changes.iter().for_each(|change| encode_change(change, &mut out));
    out
}

/// The changes that `bytes` are, all of them.
pub fn decode(bytes: &[u8]) -> Result<Vec<AccessChange>, DecodeError> {
    let mut reader = Reader::new(bytes);
    match reader.u8()? {
        0 => return Err(invalid("format version 0")),
        VERSION => {}
        version => return Err(DecodeError::NewerVersion { version, supported: VERSION }),
    }
    let count = read::count(&mut reader, 1, usize::MAX, "changes")?;
    let mut changes = Vec::new();
    for _ in 0..count {
        changes.push(read::change(&mut reader)?);
    }
    match reader.remaining() {
        0 => Ok(changes),
        rest => Err(invalid(format!("{rest} bytes follow the last change"))),
    }
}

fn encode_change(change: &AccessChange, out: &mut Vec<u8>) {
    match change {
        AccessChange::PutRole(name, attributes) => {
            encode_start(PUT_ROLE, name, out);
            encode_attributes(attributes, out);
        }
        AccessChange::DropRole(name) => encode_start(DROP_ROLE, name, out),
        AccessChange::AddMember { role, member } => {
            encode_start(ADD_MEMBER, role, out);
            encode_text(member, out);
        }
        AccessChange::RemoveMember { role, member } => {
            encode_start(REMOVE_MEMBER, role, out);
            encode_text(member, out);
        }
        AccessChange::Grant(name, grants) => {
            encode_start(GRANT, name, out);
            encode_grants(grants, out);
        }
        AccessChange::Revoke(name, grants) => {
            encode_start(REVOKE, name, out);
            encode_grants(grants, out);
        }
        AccessChange::PutDatacenters(name, datacenters) => {
            encode_start(PUT_DATACENTERS, name, out);
            encode_texts(datacenters, out);
        }
        AccessChange::PutCidrGroups(name, groups) => {
            encode_start(PUT_CIDR_GROUPS, name, out);
            encode_texts(groups, out);
        }
        AccessChange::PutCidrGroup(name, cidrs) => {
            encode_start(PUT_CIDR_GROUP, name, out);
            varint::encode(cidrs.len() as u64, out);
            cidrs.iter().for_each(|cidr| resource::encode_cidr(cidr, out));
        }
        AccessChange::PutIdentity { identity, role } => {
            encode_start(PUT_IDENTITY, identity, out);
            encode_text(role, out);
        }
        AccessChange::DropIdentity(identity) => encode_start(DROP_IDENTITY, identity, out),
        AccessChange::BootstrapDone => out.push(BOOTSTRAP_DONE),
    }
}

fn encode_start(kind: u8, name: &str, out: &mut Vec<u8>) {
    out.push(kind);
    encode_text(name, out);
}

fn encode_attributes(attributes: &Attributes, out: &mut Vec<u8>) {
    let Attributes { is_superuser, may_log_in, hash, options } = attributes;
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    out.push(flag(*is_superuser, SUPERUSER) | flag(*may_log_in, LOGIN) | flag(hash.is_some(), HASH));
    if let Some(hash) = hash {
        encode_text(hash.as_str(), out);
    }
    encode_options(options, out);
}

fn encode_options(options: &BTreeMap<String, String>, out: &mut Vec<u8>) {
    varint::encode(options.len() as u64, out);
    for (name, value) in options {
        encode_text(name, out);
        encode_text(value, out);
    }
}

fn encode_grants(grants: &[(Resource, PermissionSet)], out: &mut Vec<u8>) {
    assert!(grants.is_sorted_by(|(one, _), (next, _)| one < next), "grants ascend by resource");
    varint::encode(grants.len() as u64, out);
    for (of, set) in grants {
        resource::encode(of, out);
        out.extend_from_slice(&set.bits().to_be_bytes());
    }
}

fn encode_texts(texts: &BTreeSet<String>, out: &mut Vec<u8>) {
    varint::encode(texts.len() as u64, out);
    texts.iter().for_each(|text| encode_text(text, out));
}

fn encode_text(text: &str, out: &mut Vec<u8>) {
    varint::encode(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests;
