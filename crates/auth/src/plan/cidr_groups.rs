//! Changes of CIDR groups, which operators ask for by nodetool.

use std::collections::BTreeSet;

use super::ensure_length;
use crate::bounds;
use crate::change::AccessChange;
use crate::error::{AccessError, invalid};
use crate::networks::Cidr;
use crate::snapshot::Access;

/// The changes that give a group these ranges, in place of those that it had.
pub fn put_cidr_group(access: &Access, group: &str, ranges: &[&str]) -> Result<Vec<AccessChange>, AccessError> {
    let parse = |range: &&str| range.parse().map_err(|error: crate::networks::CidrError| invalid(error.to_string()));
    ensure_group(access, group, ranges.len())?;
    let cidrs = ranges.iter().map(parse).collect::<Result<BTreeSet<Cidr>, _>>()?;
    if access.bytes() > bounds::STATE_BYTES_MAX {
        return Err(super::too_large());
    }
    Ok(vec![AccessChange::PutCidrGroup(group.to_owned(), cidrs)])
}

/// Refuses a group without a name, or beyond what the state keeps, with so many ranges.
pub(super) fn ensure_group(access: &Access, group: &str, ranges: usize) -> Result<(), AccessError> {
    if group.is_empty() || ranges == 0 {
        return Err(invalid("a CIDR group has a name and a range"));
    }
    ensure_length("a CIDR group's name", group, bounds::NAME_BYTES_MAX)?;
    if ranges > bounds::CIDRS_MAX {
        return Err(invalid(format!("a CIDR group may have {} ranges at most", bounds::CIDRS_MAX)));
    }
    match access.cidr_group(group).is_none() && access.cidr_groups().len() >= bounds::CIDR_GROUPS_MAX {
        true => Err(invalid(format!("a cluster may have {} CIDR groups at most", bounds::CIDR_GROUPS_MAX))),
        false => Ok(()),
    }
}

/// The changes that drop a group. Roles that are restricted to it stay so, as in Cassandra: they may connect from nowhere else.
pub fn drop_cidr_group(access: &Access, group: &str) -> Result<Vec<AccessChange>, AccessError> {
    match access.cidr_group(group) {
        Some(_) => Ok(vec![AccessChange::PutCidrGroup(group.to_owned(), BTreeSet::new())]),
        // The words are Cassandra's.
        None => Err(invalid(format!("CIDR group '{group}' doesn't exists"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_put_and_dropped() {
        let access = Access::default();
        let changes = put_cidr_group(&access, "office", &["10.1.2.3/8", "10.0.0.0/8", "::1/128"]).expect("ranges");
        let access = access.with_all(&changes);
        let ranges = access.cidr_group("office").expect("it is there").iter().map(Cidr::to_string);
        assert_eq!(ranges.collect::<Vec<_>>(), ["10.0.0.0/8", "0:0:0:0:0:0:0:1/128"]);
        let replaced = access.with_all(&put_cidr_group(&access, "office", &["10.1.0.0/16"]).expect("a range"));
        assert_eq!(replaced.cidr_group("office").map(BTreeSet::len), Some(1));
        let dropped = replaced.with_all(&drop_cidr_group(&replaced, "office").expect("it is there"));
        assert_eq!(dropped, Access::default());
    }

    #[test]
    fn groups_are_refused_in_words() {
        let words = |refused: Result<_, AccessError>| refused.expect_err("it is refused").to_string();
        let access = Access::default();
        assert_eq!(words(put_cidr_group(&access, "g", &["10/8"])), "10/8 is not a valid CIDR String");
        assert_eq!(words(put_cidr_group(&access, "g", &[])), "a CIDR group has a name and a range");
        assert_eq!(words(put_cidr_group(&access, "", &["::1/128"])), "a CIDR group has a name and a range");
        assert_eq!(words(drop_cidr_group(&access, "g")), "CIDR group 'g' doesn't exists");
        let full: Vec<_> = (0..bounds::CIDR_GROUPS_MAX)
            .flat_map(|at| put_cidr_group(&access, &at.to_string(), &["::1/128"]).expect("a range"))
            .collect();
        let full = access.with_all(&full);
        assert_eq!(words(put_cidr_group(&full, "g", &["::1/128"])), "a cluster may have 1000 CIDR groups at most");
        assert!(put_cidr_group(&full, "7", &["::2/128"]).is_ok());
    }
}
