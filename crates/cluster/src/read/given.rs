//! Reads whose first pages are there: a majority has sent them with its promises.

use mutation::ReadCommand;
use runtime::Instant;
use schema::Table;
use storage::RowSink;
use storage::reader::{Page, ReadDone};
use topology::NodeIndex;

use super::lanes::{Asking, Extent, LaneEnd, lane_limits};
use super::reads::Reads;
use super::round::{Course, Pages, Round};
use crate::outcome::{Failure, Refusal};
use crate::plan::{ReplicaPlan, order};
use crate::replica::PageLimits;

/// The limits of each replica's page. All have the same rows: so each is asked for all that the read takes, and pages that are read later are few.
pub(crate) fn limits_of_each(limits: PageLimits) -> PageLimits {
    lane_limits(limits, 1)
}

impl Reads {
    /// Reconciles the first pages of replicas of a partition and what follows them, for the sink. No other reader goes on where one fails, and nothing is repaired: what was
    /// chosen is at a majority, and the rest is for reads at other levels.
    pub(crate) async fn read_given(
        &self,
        plan: &ReplicaPlan<'_>,
        (table, command, limits): (&Table, ReadCommand<'_>, PageLimits),
        given: Vec<(NodeIndex, Page)>,
        until: Instant,
        sink: &mut impl RowSink,
    ) -> Result<ReadDone, Failure> {
        let (shards, nodes) = (std::rc::Rc::clone(&self.shards), std::rc::Rc::clone(plan.nodes));
        let extent = Extent::Owner(plan.shard);
        let times = self.times.of(table, false, shards.runtime.now());
        let (order, course) = (order(plan.nodes, plan.replicas), Course::after(Vec::new()));
        let limits = limits_of_each(limits);
        let origin = |node| extent.origins(&shards, &nodes, node).into_iter().next();
        let pages: Vec<(NodeIndex, Pages)> =
            given.into_iter().filter_map(|(node, page)| Some((node, vec![(origin(node)?, page)]))).collect();
        let received = u32::try_from(pages.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let round = Round {
            asking: Asking { shards: shards.clone(), nodes: nodes.clone(), command, limits, until },
            needs: plan.needs,
            order: &order,
            course: &course,
            extent,
            table,
            compares: false,
            times: &times,
            counters: &self.counters,
        };
        let merging = self.merge_lanes(&round, pages, None, &mut None, sink).await;
        merging.map_err(|end| match end {
            LaneEnd::Failed(failure) => failure,
            LaneEnd::Differ => unreachable!("no digests are compared"),
            LaneEnd::Reader(_, error) if error.is_stale() => Failure::Refused(error),
            LaneEnd::Reader(node, error) => {
                let refusal = Refusal { node: nodes.ring().node(node).internode.ip(), error };
                Failure::Failed { received, refusals: vec![refusal] }
            }
        })
    }
}
