//! `failuredetector`: this node's judgement of each other node, and what it rests on.
//!
//! The first two columns are Cassandra's. Phi is the silence in terms of the limit: a node is down when it reaches `phi_convict_threshold`.

use serde::Serialize;

use crate::answers::{Life, Node};
use crate::error::ToolError;
use crate::layout::or_unknown;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct FailureDetector {
    nodes: Vec<OfNode>,
}

#[derive(Serialize)]
struct OfNode {
    address: String,
    phi: f64,
    #[serde(flatten)]
    rest: Rest,
}

/// Columns that Cassandra does not print.
#[derive(Serialize)]
struct Rest {
    /// Milliseconds since its last answer; none without a connection.
    silence_ms: Option<u64>,
    /// The silence after which it is down.
    limit_ms: u64,
    /// The longest time between two answers in the last ten minutes.
    longest_gap_ms: Option<u64>,
    verdict: String,
    /// Its wall clock less this node's, and the most by which that is wrong.
    clock_offset_us: Option<i64>,
    clock_error_us: Option<i64>,
}

pub(super) fn run(node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let all: Vec<Node> = node.get(Request::get("/helenus/nodes"))?;
    let others = all.into_iter().filter(|node| !node.is_local);
    let nodes = others.filter_map(|node| Some(of_node(node.endpoint, node.life?))).collect();
    Ok(Answer::of(&FailureDetector { nodes }))
}

fn of_node(address: String, life: Life) -> OfNode {
    let rest = Rest {
        silence_ms: life.silence_ms,
        limit_ms: life.limit_ms,
        longest_gap_ms: life.longest_gap_ms,
        verdict: life.verdict,
        clock_offset_us: life.clock_offset_us,
        clock_error_us: life.clock_error_us,
    };
    OfNode { address, phi: life.phi, rest }
}

impl Report for FailureDetector {
    fn text(&self) -> String {
        let beside = ["Silence", "Limit", "Longest gap", "Verdict", "Clock offset"].map(|name| format!(",{name:>14}"));
        let mut text = format!("{:>10},{:>16}{}\n", "Endpoint", "Phi", beside.concat());
        for OfNode { address, phi, rest } in &self.nodes {
            let millis = |count: Option<u64>| or_unknown(count.map(|count| format!("{count} ms")));
            let signed = |micros: i64| format!("{:+.3} ms", micros as f64 / 1e3);
            let beside = [
                millis(rest.silence_ms),
                millis(Some(rest.limit_ms)),
                millis(rest.longest_gap_ms),
                rest.verdict.clone(),
                or_unknown(rest.clock_offset_us.map(signed)),
            ];
            let beside = beside.map(|value| format!(",{value:>14}")).concat();
            text += &format!("{:>10},{phi:>16.8}{beside}\n", format!("/{address}"));
        }
        text
    }
}
