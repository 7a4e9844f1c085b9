//! From a token and a consistency level to a plan: who is asked, how many must answer, and whether they can.

mod choice;
mod count;
mod kept;
mod moving;
mod nodes;
mod placement;
mod replica_plan;
mod replication;
mod transition;

pub use replica_plan::{PlanPlace, ReplicaPlan, Unavailable};
pub use replication::Replication;

pub(crate) use choice::{Choice, order};
pub(crate) use count::{NEARER_MAX, brings_nearer, count_towards, is_enough};
pub(crate) use nodes::Nodes;
pub(crate) use placement::Placement;
pub(crate) use replica_plan::{check_range, plan, plan_for, plan_write};
