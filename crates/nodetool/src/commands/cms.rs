//! `cms`: the metadata group, in the lines of Cassandra 6's Cluster Metadata Service.

use serde::Serialize;

use crate::answers::MetadataGroup;
use crate::arguments::{Cms as Arguments, CmsCommand};
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

const NO_RECONFIGURATION: &str = "the cluster chooses the voters of its metadata group itself, by datacenter and rack, and changes them when nodes are down: there is nothing to reconfigure";

#[derive(Serialize)]
struct Cms {
    members: Vec<String>,
    leader: Option<String>,
    is_member: bool,
    /// The members are being changed.
    is_changing: bool,
    epoch: u64,
    /// Changes that not all shards of the node have applied.
    pending: u64,
    /// Nodes that are not known to have applied the epoch.
    lagging: usize,
    group: String,
    incarnation: u64,
    term: u64,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    if let Some(CmsCommand::Reconfigure(_)) = arguments.command {
        return Err(ToolError::usage(NO_RECONFIGURATION));
    }
    let group: MetadataGroup = node.get(Request::get("/helenus/metadata_group"))?;
    Ok(Answer::of(&Cms {
        members: group.voters,
        leader: group.leader,
        is_member: group.is_voter,
        is_changing: group.is_changing,
        epoch: group.epoch,
        pending: group.pending,
        lagging: group.lagging,
        group: group.id,
        incarnation: group.incarnation,
        term: group.term,
    }))
}

impl Report for Cms {
    fn text(&self) -> String {
        let slash = |address: &String| format!("/{address}");
        let members: Vec<String> = self.members.iter().map(slash).collect();
        let leader = self.leader.as_ref().map_or_else(|| "none".to_owned(), slash);
        let state = if self.is_member { "LOCAL" } else { "REMOTE" };
        let mut text = String::from("Cluster Metadata Service:\n");
        for (name, value) in [
            ("Members", members.join(",")),
            ("Needs reconfiguration", self.is_changing.to_string()),
            ("Is Member", self.is_member.to_string()),
            ("Service State", state.to_owned()),
            ("Is Migrating", "false".to_owned()),
            ("Epoch", self.epoch.to_string()),
            ("Local Pending Count", self.pending.to_string()),
            ("Commits Paused", "false".to_owned()),
            ("Replication factor", self.members.len().to_string()),
            ("Leader", leader),
            ("Term", self.term.to_string()),
            ("Lagging nodes", self.lagging.to_string()),
            ("Group", format!("{} (incarnation {})", self.group, self.incarnation)),
        ] {
            text += &format!("{name}: {value}\n");
        }
        text
    }
}
