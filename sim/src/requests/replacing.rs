//! The order to replace a node: it is killed, and a node with an empty disk takes its place, at its address or at another one.
//!
//! | the node that joins | then |
//! |---|---|
//! | is refused, since the leader has not noticed the end of the other | it is started again |
//! | is ready | the other is of the cluster no more |
//! | is removed, since its operation was aborted | the other comes back; where its disk is gone, its place is taken once more |

use std::time::Duration;

use membership::Replaced;

use super::operating::{Replacement, Standing};
use super::operations::{NEVER_AGAIN, Operators};
use crate::site::Site;

/// Between two tries of a node that was refused.
const AGAIN: Duration = Duration::from_millis(300);
/// Members without which a disk may be the only one with the group's log: of two nodes one has a vote.
const VOTERS_MIN: usize = 3;
/// In the sentence of a node that is to replace one that is not known to be down.
const ALIVE: &str = "cannot replace a live node";

impl Operators<'_, '_> {
    /// Kills a member whose ranges have other replicas, and starts one in its place.
    pub(super) fn replace(&mut self) -> bool {
        let ready = self.all_ready();
        let nodes = 0..self.course.site.nodes().len();
        let staying = nodes.filter(|node| self.course.operating.standing(*node) == Standing::Member).count();
        if self.course.operating.altering.is_some() || staying < VOTERS_MIN {
            return false;
        }
        let fewest = |node: usize| self.course.operating.factor_bounds(self.course.site.datacenter(node)).0;
        let may_be_lost = |node: &usize| fewest(*node) > 1 && self.course.operating.host_ids.contains_key(node);
        let among: Vec<usize> = ready.into_iter().filter(may_be_lost).collect();
        let count = among.len() as u64;
        if count < 2 {
            return false;
        }
        let gone = among[self.course.below(count) as usize];
        let Some(host_id) = self.host_id(gone).cloned() else { return false };
        self.end(gone);
        let spares = 0..self.course.site.nodes().len();
        let mut spares = spares.filter(|node| self.course.operating.standing(*node) == Standing::Spare);
        let spare = spares.find(|node| self.course.site.is_same_place(*node, gone));
        let joining = spare.filter(|_| self.course.below(2) == 0).unwrap_or(gone);
        self.course.operating.log.push(format!("node {gone} is killed, and replaced by node {joining}"));
        let replaced = match joining == gone {
            true => {
                stdx::sometimes!("node replaced at its address");
                Replaced::At(self.course.site.internode_address(gone).into())
            }
            false => {
                stdx::sometimes!("node replaced at another address");
                self.course.operating.standing[gone] = Standing::Replaced;
                let bytes = stdx::parse_uuid(&host_id).expect("operators are shown host ids");
                Replaced::Host(topology::HostId(bytes))
            }
        };
        self.course.site.set_replaces(joining, Some(replaced));
        self.course.operating.replacements.insert(joining, Replacement { gone, host_id });
        self.begin_to_replace(joining);
        true
    }

    /// Starts the node that takes the place of another on an empty disk.
    fn begin_to_replace(&mut self, joining: usize) {
        let seeds: Vec<usize> = self.all_ready().into_iter().filter(|node| *node != joining).take(2).collect();
        if !seeds.is_empty() {
            self.course.site.set_seeds(joining, &seeds);
        }
        let host = self.course.site.nodes()[joining];
        let empty = self.course.site.empty_disk();
        self.course.site.world().exchange_disk(host, empty);
        self.course.ends.disk_lost(joining);
        self.course.operating.down.remove(&joining);
        self.course.operating.standing[joining] = Standing::Joining;
        self.course.site.begin_start(joining);
    }

    /// A node that was to take another's place is ready.
    pub(super) fn has_replaced(&mut self, joining: usize) {
        let Some(Replacement { gone, .. }) = self.course.operating.replacements.remove(&joining) else { return };
        self.course.site.set_replaces(joining, None);
        if gone != joining {
            self.course.operating.standing[gone] = Standing::Gone;
            self.course.ends.disk_lost(gone);
        }
    }

    /// A node that was to take another's place has ended by itself. True if that is as it should be.
    pub(super) fn has_not_replaced(&mut self, joining: usize, sentence: Option<&str>) -> bool {
        let (Some(replacement), Some(sentence)) = (self.course.operating.replacements.get(&joining).cloned(), sentence)
        else {
            return false;
        };
        self.course.operating.log.push(format!("node {joining}, which replaces another, says {sentence}"));
        if sentence.contains(ALIVE) {
            self.course.operating.down.insert(joining);
            let at = self.course.site.world().now() + AGAIN;
            self.course.operating.starts.push((at, joining));
            return true;
        }
        if !sentence.contains(NEVER_AGAIN) || !self.course.operating.has_aborted {
            return false;
        }
        if replacement.gone == joining {
            // Each of its starts since then has said so.
            while let Some(sentence) = self.course.site.take_refusal(joining) {
                if !sentence.contains(NEVER_AGAIN) {
                    self.course.note_sentence(joining, "before it is replaced again", &sentence);
                }
            }
            self.begin_to_replace(joining);
            return true;
        }
        self.course.operating.replacements.remove(&joining);
        self.course.operating.standing[joining] = Standing::Gone;
        self.course.operating.standing[replacement.gone] = Standing::Member;
        self.start_again(replacement.gone);
        true
    }
}
