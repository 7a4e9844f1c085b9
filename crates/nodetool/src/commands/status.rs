//! `status`: a line for each node, by datacenter.

use serde::Serialize;

use crate::arguments::Status as Arguments;
use crate::error::ToolError;
use crate::layout::{Columns, or_unknown, size};
use crate::members::{DEPENDS, Member, Ownership, State, members, ownership, shown};
use crate::report::{Answer, Report};
use crate::surroundings::Surroundings;

#[derive(Serialize)]
struct Status {
    datacenters: Vec<Datacenter>,
    /// Whether `owns` counts replicas.
    ownership_is_effective: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Serialize)]
struct Datacenter {
    datacenter: String,
    nodes: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    /// Cassandra's two letters.
    state: String,
    address: String,
    load_bytes: Option<f64>,
    tokens: Vec<String>,
    owns: Option<f64>,
    host_id: Option<String>,
    rack: String,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let ownership = ownership(node, arguments.keyspace.as_deref())?;
    let members = members(node)?;
    let mut datacenters: Vec<Datacenter> = Vec::new();
    for member in members {
        let address = shown(node, &member.address, arguments.resolve_ip);
        let name = member.datacenter.clone();
        let line = line(member, address, &ownership);
        match datacenters.iter_mut().find(|datacenter| datacenter.datacenter == name) {
            Some(datacenter) => datacenter.nodes.push(line),
            None => datacenters.push(Datacenter { datacenter: name, nodes: vec![line] }),
        }
    }
    datacenters.sort_by(|a, b| a.datacenter.cmp(&b.datacenter));
    Ok(Answer::of(&Status {
        datacenters,
        ownership_is_effective: matches!(ownership, Ownership::Effective(_)),
        note: matches!(ownership, Ownership::Depends).then_some(DEPENDS),
    }))
}

fn line(member: Member, address: String, ownership: &Ownership) -> Line {
    let up = match member.is_up {
        Some(true) => 'U',
        Some(false) => 'D',
        None => '?',
    };
    let state = match member.state {
        State::Normal => 'N',
        State::Leaving => 'L',
        State::Joining => 'J',
        State::Moving => 'M',
    };
    Line {
        state: format!("{up}{state}"),
        address,
        load_bytes: member.load_bytes,
        owns: ownership.of(&member),
        tokens: member.tokens,
        host_id: member.host_id,
        rack: member.rack,
    }
}

impl Report for Status {
    fn text(&self) -> String {
        let owns = if self.ownership_is_effective { "Owns (effective)" } else { "Owns" };
        let lines = || self.datacenters.iter().flat_map(|datacenter| &datacenter.nodes);
        // A ring without virtual nodes shows the tokens themselves.
        let one_token_each = lines().all(|line| line.tokens.len() <= 1);
        // All datacenters' columns are of the same width.
        let mut columns = Columns::new("  ");
        for datacenter in &self.datacenters {
            if one_token_each {
                columns.row(["--", "Address", "Load", owns, "Host ID", "Token", "Rack"]);
            } else {
                columns.row(["--", "Address", "Load", "Tokens", owns, "Host ID", "Rack"]);
            }
            for line in &datacenter.nodes {
                let load = or_unknown(line.load_bytes.map(size));
                let part = or_unknown(line.owns.map(|part| format!("{:.1}%", part * 100.0)));
                let host_id = or_unknown(line.host_id.as_deref());
                let (state, address, rack) = (line.state.as_str(), line.address.as_str(), line.rack.as_str());
                if one_token_each {
                    let token = or_unknown(line.tokens.first());
                    columns.row([state, address, &load, &part, &host_id, &token, rack]);
                } else {
                    let count = line.tokens.len().to_string();
                    columns.row([state, address, &load, &count, &part, &host_id, rack]);
                }
            }
        }
        let mut rows = columns.lines("").into_iter();
        let mut text = String::new();
        for datacenter in &self.datacenters {
            let title = format!("Datacenter: {}", datacenter.datacenter);
            text += &format!("{title}\n{}\n", "=".repeat(title.chars().count()));
            text += "Status=Up/Down\n|/ State=Normal/Leaving/Joining/Moving\n";
            text += &rows.by_ref().take(1 + datacenter.nodes.len()).collect::<String>();
            text.push('\n');
        }
        if let Some(note) = self.note {
            text += &format!("{note}\n");
        }
        text
    }
}
