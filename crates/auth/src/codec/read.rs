//! Changes from bytes.

use std::collections::{BTreeMap, BTreeSet};

use stdx::Reader;

use super::{
    ADD_MEMBER, BOOTSTRAP_DONE, DROP_IDENTITY, DROP_ROLE, DecodeError, GRANT, HASH, LOGIN, PUT_CIDR_GROUP,
    PUT_CIDR_GROUPS, PUT_DATACENTERS, PUT_IDENTITY, PUT_ROLE, REMOVE_MEMBER, REVOKE, SUPERUSER, resource,
};
use crate::bounds::{CIDRS_MAX, GRANTS_MAX, IDENTITY_BYTES_MAX, LIST_MAX, NAME_BYTES_MAX};
use crate::change::AccessChange;
use crate::hash::PasswordHash;
use crate::networks::Cidr;
use crate::permission::PermissionSet;
use crate::resource::Resource;
use crate::role::Attributes;

/// The fewest bytes of a resource with its permissions.
const GRANT_BYTES_MIN: usize = 3;
/// The fewest bytes of a range.
const CIDR_BYTES_MIN: usize = 6;

pub(super) fn invalid(problem: impl Into<String>) -> DecodeError {
    DecodeError::Invalid { problem: problem.into() }
}

pub(super) fn change(reader: &mut Reader<'_>) -> Result<AccessChange, DecodeError> {
    Ok(match reader.u8()? {
        PUT_ROLE => AccessChange::PutRole(name(reader)?, attributes(reader)?),
        DROP_ROLE => AccessChange::DropRole(name(reader)?),
        ADD_MEMBER => AccessChange::AddMember { role: name(reader)?, member: name(reader)? },
        REMOVE_MEMBER => AccessChange::RemoveMember { role: name(reader)?, member: name(reader)? },
        GRANT => AccessChange::Grant(name(reader)?, grants(reader)?),
        REVOKE => AccessChange::Revoke(name(reader)?, grants(reader)?),
        PUT_DATACENTERS => AccessChange::PutDatacenters(name(reader)?, names(reader)?),
        PUT_CIDR_GROUPS => AccessChange::PutCidrGroups(name(reader)?, names(reader)?),
        PUT_CIDR_GROUP => AccessChange::PutCidrGroup(name(reader)?, cidrs(reader)?),
        PUT_IDENTITY => AccessChange::PutIdentity { identity: text(reader, IDENTITY_BYTES_MAX)?, role: name(reader)? },
        DROP_IDENTITY => AccessChange::DropIdentity(text(reader, IDENTITY_BYTES_MAX)?),
        BOOTSTRAP_DONE => AccessChange::BootstrapDone,
        kind => return Err(invalid(format!("changes of kind {kind} are unknown"))),
    })
}

fn attributes(reader: &mut Reader<'_>) -> Result<Attributes, DecodeError> {
    let flags = reader.u8()?;
    if flags & !(SUPERUSER | LOGIN | HASH) != 0 {
        return Err(invalid(format!("flags {flags} of a role are unknown")));
    }
    let hash = match flags & HASH {
        0 => None,
        _ => Some(hash(reader)?),
    };
    let count = count(reader, 2, LIST_MAX, "options")?;
    let mut options = BTreeMap::new();
    for _ in 0..count {
        let name = name(reader)?;
        ascends(options.last_key_value().map(|(last, _)| last), &name, "options of a role")?;
        let length = bounded_length(reader, 0, NAME_BYTES_MAX)?;
        options.insert(name, reader.str(length)?.to_owned());
    }
    Ok(Attributes { is_superuser: flags & SUPERUSER != 0, may_log_in: flags & LOGIN != 0, hash, options })
}

fn hash(reader: &mut Reader<'_>) -> Result<PasswordHash, DecodeError> {
    // The text is not shown: it may be a hash that is only damaged.
    PasswordHash::parse(&name(reader)?).map_err(|_| invalid("the hash of a password is none"))
}

fn grants(reader: &mut Reader<'_>) -> Result<Vec<(Resource, PermissionSet)>, DecodeError> {
    let count = count(reader, GRANT_BYTES_MIN, GRANTS_MAX, "grants")?;
    let mut grants: Vec<(Resource, PermissionSet)> = Vec::new();
    for _ in 0..count {
        let (of, bits) = (resource::decode(reader)?, reader.u16()?);
        ascends(grants.last().map(|(last, _)| last), &of, "resources of grants")?;
        let set = PermissionSet::of_bits(bits).filter(|set| !set.is_empty() && of.applicable().contains_all(*set));
        let set = set.ok_or_else(|| invalid(format!("permissions {bits:#x} do not apply to {of}")))?;
        grants.push((of, set));
    }
    Ok(grants)
}

fn cidrs(reader: &mut Reader<'_>) -> Result<BTreeSet<Cidr>, DecodeError> {
    let count = count(reader, CIDR_BYTES_MIN, CIDRS_MAX, "ranges")?;
    let mut cidrs = BTreeSet::new();
    for _ in 0..count {
        let cidr = resource::decode_cidr(reader)?;
        ascends(cidrs.last(), &cidr, "ranges of a CIDR group")?;
        cidrs.insert(cidr);
    }
    Ok(cidrs)
}

fn names(reader: &mut Reader<'_>) -> Result<BTreeSet<String>, DecodeError> {
    let count = count(reader, 2, LIST_MAX, "names")?;
    let mut names = BTreeSet::new();
    for _ in 0..count {
        let name = name(reader)?;
        ascends(names.last(), &name, "names")?;
        names.insert(name);
    }
    Ok(names)
}

fn name(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    text(reader, NAME_BYTES_MAX)
}

/// A text of 1 to `bytes_max` bytes.
pub(super) fn text(reader: &mut Reader<'_>, bytes_max: usize) -> Result<String, DecodeError> {
    let length = bounded_length(reader, 1, bytes_max)?;
    Ok(reader.str(length)?.to_owned())
}

fn bounded_length(reader: &mut Reader<'_>, min: usize, max: usize) -> Result<usize, DecodeError> {
    let length = reader.varint()?;
    let fits = usize::try_from(length).ok().filter(|length| (min..=max).contains(length));
    fits.ok_or_else(|| invalid(format!("a text of {length} bytes; {min} to {max} are possible")))
}

/// A count of items that take `bytes_min` each at least: no more than there can be in what is left.
pub(super) fn count(reader: &mut Reader<'_>, bytes_min: usize, max: usize, what: &str) -> Result<usize, DecodeError> {
    let (count, left) = (reader.varint()?, reader.remaining());
    let fits = usize::try_from(count).ok().filter(|count| *count <= max.min(left / bytes_min));
    fits.ok_or_else(|| invalid(format!("{count} {what} in {left} bytes")))
}

fn ascends<T: Ord>(last: Option<&T>, next: &T, what: &str) -> Result<(), DecodeError> {
    match last.is_none_or(|last| last < next) {
        true => Ok(()),
        false => Err(invalid(format!("{what} do not ascend"))),
    }
}
