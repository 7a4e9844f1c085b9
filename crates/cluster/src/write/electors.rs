//! The answers that the commit of another's proposal needs: those of the electorate that has chosen it, as long as its replicas are the same.

use topology::{Epoch, HostId, ReplicationStrategy, Required, Token};

use crate::plan::{ReplicaPlan, Replication};

/// The electorate of a plan.
#[derive(Debug)]
pub(crate) struct Electors {
    ring: Epoch,
    strategy: ReplicationStrategy,
    /// The token's replicas, ascending.
    hosts: Vec<HostId>,
    is_moving: bool,
    needs: Required,
}

impl Electors {
    /// Those of a plan for `token`.
    pub(crate) fn of(plan: &ReplicaPlan<'_>, token: Token) -> Electors {
        Electors {
            ring: plan.epoch(),
            strategy: plan.replication.strategy().clone(),
            hosts: hosts(plan.replication, token),
            is_moving: plan.replication.is_moving(token),
            needs: plan.needs.clone(),
        }
    }

    /// The answers that a commit needs by a replication of now: as many as the electorate did; if the token has other replicas, or moves, a majority of each
    /// datacenter's, which is at least as many.
    pub(super) fn needs(&self, now: &Replication, token: Token) -> Required {
        let is_same_ring = self.ring == now.epoch();
        let stays = || !self.is_moving && !now.is_moving(token) && self.hosts == hosts(now, token);
        match self.strategy == *now.strategy() && (is_same_ring || stays()) {
            true => self.needs.clone(),
            false => now.majority_of_each(token),
        }
    }
}

fn hosts(replication: &Replication, token: Token) -> Vec<HostId> {
    let ring = replication.ring();
    let mut hosts: Vec<HostId> = replication.replicas(token).iter().map(|&node| ring.node(node).host_id).collect();
    hosts.sort_unstable();
    hosts
}
