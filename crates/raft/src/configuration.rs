//! The voters: one set, or two halves while they change.
//!
//! A configuration says which nodes make a majority, by any question that is asked of each; it has a voter. It knows neither the log that it is
//! written in nor whether it is committed.

use std::collections::BTreeSet;
use std::fmt;

use crate::entry::{Index, NodeId};

/// The voters. While they change it is *joint*: elections and commitment need a majority of each half. No half of it is empty but the outgoing one
/// of a configuration that is not joint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Configuration {
    incoming: BTreeSet<NodeId>,
    outgoing: BTreeSet<NodeId>,
}

/// No group can be made of these voters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigurationError {
    /// There is no voter.
    Empty,
    /// The voters are changing already.
    Joint,
}

impl fmt::Display for ConfigurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ConfigurationError::Empty => "a group has at least one voter",
            ConfigurationError::Joint => "the voters are changing already",
        })
    }
}

impl std::error::Error for ConfigurationError {}

impl Configuration {
    /// Those voters, without a change under way.
    pub fn new(voters: impl IntoIterator<Item = NodeId>) -> Result<Configuration, ConfigurationError> {
        Configuration::of_halves(voters, [])
    }

    /// A configuration as it was written down. It is joint if there are outgoing voters.
    pub fn of_halves(
        incoming: impl IntoIterator<Item = NodeId>,
        outgoing: impl IntoIterator<Item = NodeId>,
    ) -> Result<Configuration, ConfigurationError> {
        let (incoming, outgoing) = (BTreeSet::from_iter(incoming), BTreeSet::from_iter(outgoing));
        match incoming.is_empty() {
            true => Err(ConfigurationError::Empty),
            false => Ok(Configuration { incoming, outgoing }),
        }
    }

    /// The joint configuration on the way from this one to `voters`.
    pub fn towards(&self, voters: impl IntoIterator<Item = NodeId>) -> Result<Configuration, ConfigurationError> {
        match self.is_joint() {
            true => Err(ConfigurationError::Joint),
            false => Configuration::of_halves(voters, self.incoming.iter().copied()),
        }
    }

    /// The configuration at the end of a joint one: its incoming half alone.
    #[must_use]
    pub fn settled(&self) -> Configuration {
        Configuration { incoming: self.incoming.clone(), outgoing: BTreeSet::new() }
    }

    /// True if two halves must agree.
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// The voters, or those that a change brings.
    pub fn incoming(&self) -> &BTreeSet<NodeId> {
        &self.incoming
    }

    /// The voters before the change that is under way; else none.
    pub fn outgoing(&self) -> &BTreeSet<NodeId> {
        &self.outgoing
    }

    /// Each voter of either half, once, ascending.
    pub fn voters(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.incoming.union(&self.outgoing).copied()
    }

    /// True if the node's vote counts in a half.
    pub fn has(&self, node: NodeId) -> bool {
        self.incoming.contains(&node) || self.outgoing.contains(&node)
    }

    /// True if `node` is all there is of the group.
    pub fn is_only(&self, node: NodeId) -> bool {
        self.incoming.len() == 1 && self.incoming.contains(&node) && !self.is_joint()
    }

    /// True if those for which `says_yes` holds are a majority of each half.
    pub fn is_quorum(&self, says_yes: impl Fn(NodeId) -> bool) -> bool {
        let is_majority =
            |half: &BTreeSet<NodeId>| half.iter().filter(|node| says_yes(**node)).count() > half.len() / 2;
        is_majority(&self.incoming) && (!self.is_joint() || is_majority(&self.outgoing))
    }

    /// True if a quorum cannot come about any more without those for which `says_no` holds.
    pub fn is_lost(&self, says_no: impl Fn(NodeId) -> bool) -> bool {
        !self.is_quorum(|node| !says_no(node))
    }

    /// The highest index that a majority of each half has. `only_one_half`: as a planted bug counts it.
    pub fn matched(&self, of: impl Fn(NodeId) -> Index, only_one_half: bool) -> Index {
        let of_half = |half: &BTreeSet<NodeId>| {
            let mut matched: Vec<Index> = half.iter().map(|node| of(*node)).collect();
            matched.sort_unstable_by(|a, b| b.cmp(a));
            matched[half.len() / 2]
        };
        let incoming = of_half(&self.incoming);
        if self.is_joint() && !only_one_half { incoming.min(of_half(&self.outgoing)) } else { incoming }
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = |f: &mut fmt::Formatter<'_>, half: &BTreeSet<NodeId>| {
            half.iter().enumerate().try_for_each(|(place, node)| match place {
                0 => write!(f, "{node}"),
                _ => write!(f, " {node}"),
            })
        };
        f.write_str("(")?;
        half(f, &self.incoming)?;
        f.write_str(")")?;
        if self.is_joint() {
            f.write_str("&(")?;
            half(f, &self.outgoing)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(ids: &[u128]) -> Vec<NodeId> {
        ids.iter().copied().map(NodeId).collect()
    }

    fn halves(incoming: &[u128], outgoing: &[u128]) -> Configuration {
        Configuration::of_halves(nodes(incoming), nodes(outgoing)).expect("there are voters")
    }

    #[test]
    fn a_joint_configuration_needs_a_majority_of_each_half() {
        let joint = halves(&[3, 4, 5], &[1, 2, 3]);
        let of = |yes: &'static [u128]| joint.is_quorum(|node| yes.contains(&node.0));
        assert!(of(&[3, 4, 1]) && of(&[4, 5, 1, 2]) && !of(&[3, 4, 5]) && !of(&[1, 2, 3]));
        assert!(joint.is_lost(|node| node.0 < 3) && !joint.is_lost(|node| node.0 == 3));
        assert_eq!(joint.to_string(), "(3 4 5)&(1 2 3)");
        assert_eq!(joint.settled(), halves(&[3, 4, 5], &[]));
        assert_eq!(joint.towards(nodes(&[1])), Err(ConfigurationError::Joint));
    }

    #[test]
    fn what_is_matched_is_the_lower_of_the_halves() {
        let at = |node: NodeId| Index(u64::try_from(node.0).expect("small") * 10);
        assert_eq!(halves(&[1], &[]).matched(at, false), Index(10));
        assert_eq!(halves(&[1, 2], &[]).matched(at, false), Index(10));
        assert_eq!(halves(&[1, 2, 3], &[]).matched(at, false), Index(20));
        assert_eq!(halves(&[1, 2, 3, 4], &[]).matched(at, false), Index(20));
        assert_eq!(halves(&[3, 4, 5], &[1, 2, 3]).matched(at, false), Index(20));
        assert_eq!(halves(&[3, 4, 5], &[1, 2, 3]).matched(at, true), Index(40));
    }

    #[test]
    fn there_is_always_a_voter() {
        assert_eq!(Configuration::new([]), Err(ConfigurationError::Empty));
        assert_eq!(halves(&[1], &[]).towards([]), Err(ConfigurationError::Empty));
        assert!(halves(&[7], &[]).is_only(NodeId(7)) && !halves(&[7], &[8]).is_only(NodeId(7)));
    }
}
