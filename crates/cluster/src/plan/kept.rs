//! The token ranges whose data this node keeps. What it has of others are leftovers, which a cleanup drops. See `docs/internals/operations.md`.

use planted::Bug;
use topology::operations::{Operation, Placements, RingChange, Target};
use topology::{Factor, OptionsError, ReplicationStrategy, Ring, Strategies, TokenRanges};

use super::placement::Placement;

impl Placement {
    /// The tokens of a keyspace with this strategy in the schema, of which this node keeps what it has: see [`kept_ranges`](crate::coordinator::kept_ranges).
    pub(crate) fn kept_ranges(&self, keyspace: &str, strategy: &ReplicationStrategy) -> TokenRanges {
        let (strategies, operation, planted) = self.rules(keyspace);
        let strategy = &self.placed_by(keyspace, strategy);
        let operation = operation.filter(|_| !planted.is(Bug::CleanupOfPending));
        let kept = kept(self.nodes().ring(), operation.as_deref(), strategies, (keyspace, strategy));
        kept.unwrap_or_else(|error| {
            tracing::warn!(keyspace, %error, "unknown replication strategy; keeping all data of the keyspace");
            TokenRanges::all()
        })
    }
}

/// The tokens of a keyspace of which the ring's local node is a replica before or after an operation.
fn kept(
    ring: &Ring,
    operation: Option<&Operation>,
    strategies: &Strategies,
    (keyspace, strategy): (&str, &ReplicationStrategy),
) -> Result<TokenRanges, OptionsError> {
    let rules = strategies.rules(strategy)?;
    // A ring without tokens says of no node what it has.
    if matches!(rules.factor(), Factor::OwnNode | Factor::AllNodes) || ring.owners().is_empty() {
        return Ok(TokenRanges::all());
    }
    let none = RingChange::none(ring);
    match operation.map(|operation| &operation.target) {
        Some(Target::Tokens(tokens)) => {
            Ok(Placements::new(&RingChange::new(ring, tokens), &*rules, &*rules).kept(ring.local()))
        }
        Some(Target::Replication { keyspace: of, before, after }) if of == keyspace => {
            let (before, after) = (strategies.rules(before)?, strategies.rules(after)?);
            let is_everywhere = [&before, &after].iter().any(|rules| rules.factor() == Factor::AllNodes);
            match is_everywhere {
                true => Ok(TokenRanges::all()),
                false => Ok(Placements::new(&none, &*before, &*after).kept(ring.local())),
            }
        }
        Some(Target::Replication { .. } | Target::Copy { .. }) | None => {
            Ok(Placements::new(&none, &*rules, &*rules).kept(ring.local()))
        }
    }
}

#[cfg(test)]
mod tests;
