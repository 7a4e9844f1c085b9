//! The ranges that an operation moves, of all replication settings in use.

use std::collections::BTreeSet;

use super::operation::{Operation, Target};
use super::placements::Placements;
use super::range_move::RangeMove;
use super::rings::RingChange;
use crate::ring::{NodeIndex, Ring};
use crate::strategy::{OptionsError, ReplicationStrategy, Strategies};

impl Operation {
    /// The ranges that move, or that a node copies again, under one replication setting that keyspaces have. `present` has all nodes, joining ones without tokens.
    /// Nodes that an operator has given up are no sources of them. Fails where the setting's rules are not known here.
    ///
    /// An operation of replication moves the ranges of its own keyspace, whatever `setting` is.
    ///
    /// # Panics
    /// As [`RingChange::new`].
    pub fn moves(
        &self,
        present: &Ring,
        setting: &ReplicationStrategy,
        strategies: &Strategies,
    ) -> Result<Vec<RangeMove>, OptionsError> {
        let rules = strategies.rules(setting)?;
        let moves = match &self.target {
            Target::Tokens(tokens) => Placements::new(&RingChange::new(present, tokens), &*rules, &*rules).moves(),
            Target::Replication { before, after, .. } => {
                let (before, after) = (strategies.rules(before)?, strategies.rules(after)?);
                Placements::new(&RingChange::none(present), &*before, &*after).moves()
            }
            Target::Copy { node, datacenter } => {
                let placements = Placements::new(&RingChange::none(present), &*rules, &*rules);
                let nodes = (0u16..).map(NodeIndex).zip(present.nodes());
                let mut node = nodes.filter(|(_, of)| of.host_id == *node).map(|(index, _)| index);
                node.next().map(|node| placements.renewals(node, datacenter.as_deref())).unwrap_or_default()
            }
        };
        let nodes = (0u16..).map(NodeIndex).zip(present.nodes());
        let lost = nodes.filter(|(_, node)| self.lost.contains(&node.host_id)).map(|(index, _)| index);
        let lost: BTreeSet<NodeIndex> = lost.collect();
        Ok(moves.into_iter().map(|moved| moved.without(&lost)).collect())
    }
}
