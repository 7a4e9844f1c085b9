//! *counter-clock-back*: an addition is in the memory of its leader and not on its disk, and a read at ALL is sent, which must not show it: it would repair the other
//! replicas with it. The leader loses its power, and starts with a wall clock ten minutes late. What it then counts must not have a lower clock than what the
//! others have of it: the later addition, which is acknowledged, would be lost.

use std::time::Duration;

use cql_protocol::Consistency;
use planted::Planted;
use runtime::Runtime;
use runtime::sim::{DiskSpeed, Keep};

use super::course::{self, Course, create_keyspace};
use crate::client::{Client, ClientError, Row, Statement};
use crate::site::Site;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS s.n (k int PRIMARY KEY, n counter)";
const ADD: &str = "UPDATE s.n SET n = n + ? WHERE k = 1";
const SELECT: &str = "SELECT n FROM s.n WHERE k = 1";
const SCAN: &str = "SELECT n FROM s.n";
/// Long enough for some reads before a group is synced.
const SLOW: DiskSpeed = DiskSpeed { latency_min_nanos: 300_000_000, latency_max_nanos: 400_000_000 };
/// The reads are sent and judged within one disk operation.
const READ_AT_MOST: Duration = Duration::from_millis(250);
/// Ten minutes, microseconds.
const BEHIND: i64 = -600_000_000;
const FIRST: i64 = 1;
const LOST: i64 = 10;
const LATER: i64 = 100;

pub(crate) fn run(seed: u64, planted: Planted) -> Result<Vec<String>, String> {
    course::run((seed, planted), &[3], |course| {
        course.form()?;
        course.change_works(0, &create_keyspace("s", 3), "at the beginning")?;
        course.change_works(0, CREATE, "at the beginning")?;
        let leader = course.below(3) as usize;
        let reader = course.below(3) as usize;
        let text = if course.below(2) == 0 { SELECT } else { SCAN };
        course.run_at(leader, Consistency::All, &[add(FIRST)])?;
        let host = course.host(leader);
        course.site.world().set_disk_speed(host, SLOW);
        let address = course.site.native_address(leader);
        let adding = course.begin(async move |runtime: Runtime| -> Result<(), ClientError> {
            Client::connect(&runtime, address).await?.run(&add(LOST), None).await.map(drop)
        });
        let began = course.now();
        // A read that no other replica answers shows what is in memory.
        while count(course, leader, Consistency::One)? != FIRST + LOST {
            if course.now() - began > READ_AT_MOST {
                return Err("the leader does not show the addition while it is synced".to_owned());
            }
        }
        let address = course.site.native_address(reader);
        let reading = course.begin(async move |runtime: Runtime| -> Result<Vec<Row>, ClientError> {
            let mut client = Client::connect(&runtime, address).await?;
            client.consistency = Consistency::All;
            client.execute(text).await
        });
        let left = READ_AT_MOST.saturating_sub(course.now() - began);
        course.site.world().run_until(|_| reading.is_over(), left);
        if adding.is_over() {
            return Err("the addition was synced before the power was cut: it shows nothing".to_owned());
        }
        let shown = reading.take_outputs();
        course.must(shown.is_none(), || format!("a read at ALL gives {shown:?} while an addition is not synced"));
        course.site.world().crash(host, Keep::Nothing);
        course.site.world().set_disk_speed(host, DiskSpeed::default());
        course.site.world().set_wall_clock_skew(host, BEHIND);
        course.start(&[leader]);
        course.ready(&[0, 1, 2], "after the power cut")?;
        course.run_at(leader, Consistency::Quorum, &[add(LATER)])?;

        let count = count(course, (leader + 1) % 3, Consistency::All)?;
        // The one whose client had no answer may be in it or not. A try of the later one that was not answered may have counted too.
        let has_later =
            (0..2).any(|lost| count >= FIRST + lost * LOST + LATER && (count - FIRST - lost * LOST) % LATER == 0);
        course.must(has_later, || format!("an addition of {LATER} was acknowledged, and the count is {count}"));
        Ok(())
    })
}

fn add(amount: i64) -> Statement {
    Statement { text: ADD, values: vec![amount.to_be_bytes().to_vec()] }
}

/// The count that a node gives at a level.
fn count(course: &mut Course, node: usize, level: Consistency) -> Result<i64, String> {
    let rows = course.rows_at(node, level, SELECT)?;
    let bytes = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
    let count = bytes.and_then(|bytes| bytes.try_into().ok()).map(i64::from_be_bytes);
    count.ok_or_else(|| "there is no such counter".to_owned())
}
