//! *truncate-revoked*: the permission of a role is revoked, and links delay what the group sends to one node. Through that node, which has not heard of it, the role
//! truncates: the leader must refuse it, and the node answers as if its own check had.

use std::time::Duration;

use cql_protocol::{Consistency, ErrorCode};
use planted::Planted;
use runtime::Runtime;
use runtime::sim::Link;

use super::course::{self, Asking, Course, create_keyspace, create_table};
use crate::access::login::{PASSWORD, PASSWORD_HASH, SUPERUSER};
use crate::client::{Client, ClientError, Row};
use crate::cluster::NodeOptions;
use crate::site::Site;

/// The first node leads the group: its links are good.
const LEADER: usize = 0;
const ALL: [usize; 3] = [0, 1, 2];
const ROLE: &str = "ann";
/// A delay in milliseconds: the group commits an entry and a client is refused in far less, and no node is down after it.
const DELAY_MIN: u64 = 500;
const DELAY_MAX: u64 = 700;
/// By then the leader and the other node have the REVOKE.
const REVOKED: Duration = Duration::from_millis(200);
const REFUSAL: &str = "User ann has no MODIFY permission on <table s.t> or any of its parents";

type Answered = Result<Vec<Row>, ClientError>;

pub(crate) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    let options = NodeOptions { logins: true, planted, ..NodeOptions::default() };
    course::run_with(seed, options, &[3], |course| {
        course.form()?;
        let create_role = format!("CREATE ROLE {ROLE} WITH HASHED PASSWORD = '{PASSWORD_HASH}' AND LOGIN = true");
        let grant = format!("GRANT MODIFY ON s.t TO {ROLE}");
        for text in [&create_keyspace("s", 3), &create_table("t"), &create_role, &grant] {
            works(course, (LEADER, SUPERUSER), text)?;
        }
        let (asked, other) = if course.below(2) == 0 { (1, 2) } else { (2, 1) };
        // It may truncate so far, and the connections of the node are made.
        works(course, (asked, ROLE), "TRUNCATE s.t")?;
        works(course, (asked, ROLE), "INSERT INTO s.t (k, v) VALUES (1, 0)")?;

        let nanos = (DELAY_MIN + course.below(DELAY_MAX - DELAY_MIN)) * 1_000_000;
        let late = Link { latency_min_nanos: nanos, latency_max_nanos: nanos, ..Link::default() };
        [LEADER, other].into_iter().for_each(|from| course.link_to(from, asked, late));
        let revoking = begin(course, (LEADER, SUPERUSER), &format!("REVOKE MODIFY ON s.t FROM {ROLE}"));
        course.run_for(REVOKED);
        let began = course.now();
        let truncating = begin(course, (asked, ROLE), "TRUNCATE s.t");
        let answer = course.answer(&truncating);
        let took = course.now() - began;
        // A refusal by the node's own check would have come at once.
        if took + REVOKED < Duration::from_nanos(nanos) {
            return Err(format!("TRUNCATE was answered with {answer:?} after {took:?}: it shows nothing"));
        }
        let is_refused = match &answer {
            Some(Err(ClientError::Refused(error))) => {
                (error.code(), error.message.as_str()) == (ErrorCode::Unauthorized, REFUSAL)
            }
            _ => false,
        };
        course.must(is_refused, || format!("its permission was revoked, and a role's TRUNCATE is answered {answer:?}"));
        let revoked = course.answer(&revoking);
        if !matches!(revoked, Some(Ok(_))) {
            return Err(format!("REVOKE is answered {revoked:?}"));
        }
        [LEADER, other].into_iter().for_each(|from| course.link_to(from, asked, Link::default()));
        for node in ALL {
            let rows = works(course, (node, SUPERUSER), "SELECT k FROM s.t")?.len();
            course.must(rows == 1, || format!("a TRUNCATE was refused, and node {node} has {rows} rows of one"));
        }
        Ok(())
    })
}

/// Begins a statement of a role through a node, at ALL.
fn begin(course: &mut Course, (node, role): (usize, &'static str), text: &str) -> Asking<Answered> {
    let (address, text) = (course.site.native_address(node), text.to_owned());
    course.begin(async move |runtime: Runtime| {
        let mut client = Client::log_in(&runtime, address, role, PASSWORD).await?;
        client.consistency = Consistency::All;
        client.query(&text).await
    })
}

/// Runs a statement that must work. Its rows.
fn works(course: &mut Course, by: (usize, &'static str), text: &str) -> Result<Vec<Row>, String> {
    let asking = begin(course, by, text);
    match course.answer(&asking) {
        Some(Ok(rows)) => Ok(rows),
        answer => Err(format!("{text}, of {by:?}, is answered {answer:?}")),
    }
}
