//! `ring`: a line for each token, by datacenter.

use serde::Serialize;

use crate::arguments::Status as Arguments;
use crate::error::ToolError;
use crate::layout::{or_unknown, size};
use crate::members::{DEPENDS, Ownership, State, members, ownership, shown};
use crate::report::{Answer, Report};
use crate::surroundings::Surroundings;

#[derive(Serialize)]
struct Ring {
    datacenters: Vec<Datacenter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Serialize)]
struct Datacenter {
    datacenter: String,
    tokens: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    address: String,
    rack: String,
    status: &'static str,
    state: &'static str,
    load_bytes: Option<f64>,
    owns: Option<f64>,
    token: String,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let ownership = ownership(node, arguments.keyspace.as_deref())?;
    let mut datacenters: Vec<Datacenter> = Vec::new();
    for member in members(node)? {
        let address = shown(node, &member.address, arguments.resolve_ip);
        let line = |token: &String| Line {
            address: address.clone(),
            rack: member.rack.clone(),
            status: match member.is_up {
                Some(true) => "Up",
                Some(false) => "Down",
                None => "?",
            },
            state: match member.state {
                State::Normal => "Normal",
                State::Leaving => "Leaving",
                State::Joining => "Joining",
                State::Moving => "Moving",
            },
            load_bytes: member.load_bytes,
            owns: ownership.of(&member),
            token: token.clone(),
        };
        let lines = member.tokens.iter().map(line);
        match datacenters.iter_mut().find(|datacenter| datacenter.datacenter == member.datacenter) {
            Some(datacenter) => datacenter.tokens.extend(lines),
            None => datacenters.push(Datacenter { datacenter: member.datacenter.clone(), tokens: lines.collect() }),
        }
    }
    datacenters.sort_by(|a, b| a.datacenter.cmp(&b.datacenter));
    for datacenter in &mut datacenters {
        // What is no number, as another partitioner's tokens are, stays in the order of its text behind those that are.
        datacenter.tokens.sort_by_key(|line| (line.token.parse::<i64>().unwrap_or(i64::MAX), line.token.clone()));
    }
    let note = matches!(ownership, Ownership::Depends).then_some(DEPENDS);
    Ok(Answer::of(&Ring { datacenters, note }))
}

impl Report for Ring {
    fn text(&self) -> String {
        let lines = || self.datacenters.iter().flat_map(|datacenter| &datacenter.tokens);
        // Room for a port, which Cassandra's widths count.
        let width = lines().map(|line| line.address.chars().count() + ":7000".len()).max().unwrap_or(0);
        let row = |[address, rack, status, state, load, owns, token]: [&str; 7]| {
            format!("{address:<width$}  {rack:<12}{status:<7}{state:<8}{load:<16}{owns:<20}{token:<44}\n")
        };
        let mut has_virtual_nodes = false;
        let mut text = String::from("\n");
        for datacenter in &self.datacenters {
            text += &format!("Datacenter: {}\n==========\n", datacenter.datacenter);
            text += &row(["Address", "Rack", "Status", "State", "Load", "Owns", "Token"]);
            let nodes: std::collections::BTreeSet<&str> =
                datacenter.tokens.iter().map(|line| line.address.as_str()).collect();
            has_virtual_nodes |= nodes.len() < datacenter.tokens.len();
            // The ring is closed: its last token stands before the first.
            match datacenter.tokens.last() {
                Some(last) if datacenter.tokens.len() > 1 => text += &row(["", "", "", "", "", "", &last.token]),
                _ => text.push('\n'),
            }
            for line in &datacenter.tokens {
                let load = or_unknown(line.load_bytes.map(size));
                let owns = or_unknown(line.owns.map(|part| format!("{:.2}%", part * 100.0)));
                text += &row([&line.address, &line.rack, line.status, line.state, &load, &owns, &line.token]);
            }
            text.push('\n');
        }
        if has_virtual_nodes {
            text += "  Warning: \"nodetool ring\" is used to output all the tokens of a node.\n";
            text += "  To view status related info of a node use \"nodetool status\" instead.\n\n";
        }
        text.push('\n');
        match self.note {
            Some(note) => text + &format!("  {note}\n"),
            None => text,
        }
    }
}
