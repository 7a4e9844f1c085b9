//! A start of a node: its record, and its part in a group as the log restores it.
//!
//! A start of a node that is of a group writes one record, Boot. A node that asks to join one writes identity and Boot before, and the group's with its answer.
//! A node that is of none founds one, alone, in the same write: a new node, and one whose log
//! is from before there were groups, whose state becomes the group's first snapshot. Truncations that were decided and not carried out are one more.

use std::collections::BTreeMap;

use planted::Planted;
use raft::Index;
use topology::HostId;

use crate::cluster::{ClusterState, Domains};
use crate::error::MetadataError;
use crate::file::{LogState, MetadataLog, Opened, Record};
use crate::group::{GroupId, GroupRecord, Member, MemberOptions, Snapshot, founding, node_id};
use crate::local::{Fact, LocalState, Mark, TableKey, Truncation};

/// A start, as its record states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The node.
    pub host_id: HostId,
    /// The number of the start.
    pub boot: u64,
    /// Random bits, for the id of a group that is founded.
    pub group: u128,
    /// Settings of the consensus core.
    pub options: raft::Options,
    /// Settings of the member.
    pub member: MemberOptions,
}

impl Start {
    /// A start with the usual settings.
    pub fn new(host_id: HostId, boot: u64, group: u128) -> Start {
        Start { host_id, boot, group, options: raft::Options::default(), member: MemberOptions::default() }
    }

    /// The same of a node that is not the only one of its group: as the only voter it begins a term.
    #[must_use]
    pub fn among_others(mut self, has_others: bool) -> Start {
        self.options.keeps_term = !has_others;
        self
    }

    /// The same with a bug that was planted on purpose.
    #[must_use]
    pub fn planted(mut self, planted: Planted) -> Start {
        (self.options.planted, self.member.planted) = (planted, planted);
        self
    }
}

/// The log and the member that it restored: what shard 0 changes the cluster's state with.
pub struct MetadataParts {
    /// The log.
    pub log: MetadataLog,
    /// The node's part in its group.
    pub member: Member,
    /// The last truncation of each table that this node has carried out.
    pub truncated: BTreeMap<TableKey, Mark>,
}

/// A node that has started.
pub struct Started {
    /// For the one who proposes changes.
    pub parts: MetadataParts,
    /// Facts of this node from before the start.
    pub local: LocalState,
    /// The cluster's state, as far as this node knows it to be committed.
    pub cluster: ClusterState,
}

/// A node's way into its group.
pub enum Way {
    /// The one that its log names, or else one that it founds.
    OwnOrFounded,
    /// One that a member has accepted it to, with the state as that member has it.
    Joined(GroupId, Snapshot),
    /// The next incarnation of its own, which it begins alone: a majority of the voters is lost for good. With random bits for its name.
    Recovered(u64),
}

impl Opened {
    /// The group that the log names, unless the node may leave it for another: it is alone there, and `is_empty` says that the state has nothing of a user's.
    pub fn group_to_keep(&self, is_empty: impl FnOnce(&ClusterState) -> bool) -> Option<GroupId> {
        let LogState { local, cluster, group, .. } = &self.state;
        let is_alone = local.host_id.is_some_and(|host_id| group.is_alone(node_id(host_id)));
        group.group.filter(|_| !(is_alone && is_empty(cluster)))
    }

    /// Makes the node's identity and the start's number durable, before the node asks a group to register them: a node that dies before it has the group's
    /// answer is the same one at its next start, and not a wiped one at its own address.
    pub async fn count_start(&self, host_id: HostId, boot: u64) -> Result<(), MetadataError> {
        if self.is_counted.replace(true) {
            return Ok(());
        }
        let host_id = self.state.local.host_id.is_none().then_some(Fact::HostId(host_id));
        let facts = host_id.into_iter().chain([Fact::Boot(boot)]).map(Record::Local).collect();
        self.log.append(&one(facts)).await
    }

    /// Writes the start's record, and restores the node's part in its group.
    pub async fn start(self, start: Start, way: Way, domains: &Domains) -> Result<Started, MetadataError> {
        let Opened { log, state: LogState { local, cluster, mut group, entries, group_state }, is_counted } = self;
        let node = node_id(start.host_id);
        let mut records = Vec::new();
        if local.host_id.is_none() && !is_counted.get() {
            records.push(Fact::HostId(start.host_id).into());
        }
        let beginning = match way {
            Way::Joined(id, snapshot) => Some([GroupRecord::Group(id), GroupRecord::Snapshot(snapshot)]),
            Way::Recovered(incarnation) => {
                group.recovery(node, incarnation, domains).map_err(|error| log.damaged(&error))?
            }
            Way::OwnOrFounded if group.group.is_none() || group_state.is_none() => {
                let id = GroupId { id: start.group, incarnation: 0 };
                tracing::info!(group = %id, "founding a metadata group of one node");
                // Index 0 would be no place of a log.
                Some(founding(id, node, Index(entries.max(1)), &cluster))
            }
            Way::OwnOrFounded => None,
        };
        for record in beginning.into_iter().flatten() {
            record.check(domains).and_then(|()| group.push(record.clone())).map_err(|error| log.damaged(&error))?;
            records.push(Record::Group(record));
        }
        if !is_counted.get() {
            records.push(Fact::Boot(start.boot).into());
        }
        if !records.is_empty() {
            log.append(&one(records)).await?;
        }
        let id = group.group.expect("it was founded, joined or found");
        let restored = group.restore(node, start.options, domains).map_err(|error| log.damaged(&error))?;
        let restored = restored.expect("a group begins with a snapshot");
        let member = Member::new(id, restored, domains.clone(), start.member);
        let cluster = member.state().cluster().clone();
        let truncated = local.truncations().filter_map(|of| Some((of.table, of.mark?))).collect();
        Ok(Started { parts: MetadataParts { log, member, truncated }, local, cluster })
    }
}

impl Started {
    /// Makes truncations durable that the cluster's state has decided and this node has not carried out: their positions are this node's facts from
    /// here on. To be called before its data is read.
    pub async fn truncate(&mut self, truncations: Vec<Truncation>) -> Result<(), MetadataError> {
        let facts = || truncations.iter().cloned().map(Fact::Truncated);
        if truncations.is_empty() {
            return Ok(());
        }
        self.parts.log.append(&one(facts().map(Record::Local).collect())).await?;
        facts().for_each(|fact| self.local.push(fact));
        let marks = truncations.iter().filter_map(|of| Some((of.table, of.mark?)));
        self.parts.truncated.extend(marks);
        Ok(())
    }
}

/// Records, at least one, that count together.
fn one(mut records: Vec<Record>) -> Record {
    if records.len() == 1 { records.remove(0) } else { Record::Several(records) }
}
