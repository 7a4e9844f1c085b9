//! `all-peers-restart`: a node comes back on yesterday's image of its disk, with the next boot number, after all others have restarted. The image lacks
//! changes of the cluster, or rows.

use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::sim::Keep;

use super::course::{self, Course, KEYSPACES, create_keyspace, create_table};
use crate::site::Site;

/// Longer than a node takes to keep what the others have reported.
const KEPT: Duration = Duration::from_secs(12);
/// By then a node with an older disk has been found out.
const NOTED_AT_MOST: Duration = Duration::from_secs(60);
const NOTED: &str = "this node is noted as regressed";
const ALL: [usize; 3] = [0, 1, 2];

/// The node is found out and noted as regressed; changes go on, and it follows them.
pub(crate) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, &create_table("t"), "at the beginning")?;
        course.write(0, Consistency::All, &[1])?;
        course.run_for(KEPT);
        let restored = course.below(3) as usize;
        let host = course.host(restored);
        let image = course.site.world().fork_disk(host);
        let lacks_rows = course.below(2) == 0;
        if lacks_rows {
            stdx::sometimes!("image lacks rows");
            course.write(0, Consistency::All, &[2, 3])?;
        } else {
            stdx::sometimes!("image lacks changes");
            course.change_works(1, &create_keyspace("later", 1), "after the image")?;
        }
        course.run_for(KEPT);
        restart(course, restored)?;
        course.site.world().exchange_disk(host, image.after_power_cut(Keep::Everything));
        course.start(&[restored]);
        course.ready(&ALL, "after the image was put back")?;
        let is_noted = course.run_until_said(NOTED, NOTED_AT_MOST);
        course.must(is_noted || !course.said(&[NOTED]).is_empty(), || {
            format!("the older disk of node {restored} is not found out")
        });
        course.change_works((restored + 1) % 3, &create_keyspace("last", 1), "beside the regressed node")?;
        let of_one = course.names((restored + 1) % 3, KEYSPACES)?;
        course.all_give(&ALL, KEYSPACES, &of_one, "in the end");
        Ok(())
    })
}

/// Ends all nodes, in any way, and starts all but one again.
fn restart(course: &mut Course, but: usize) -> Result<(), String> {
    let others: Vec<usize> = ALL.into_iter().filter(|node| *node != but).collect();
    ALL.into_iter().for_each(|node| course.cut_power(node));
    course.start(&others);
    course.ready(&others, "after all have ended")
}
