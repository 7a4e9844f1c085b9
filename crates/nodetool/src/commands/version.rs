//! `version`: that of Cassandra which drivers are told, and with `-v` what runs.

use serde::Serialize;

use crate::answers;
use crate::arguments::Version as Arguments;
use crate::error::ToolError;
use crate::report::{Answer, Report};
use crate::surroundings::{Request, Surroundings};

#[derive(Serialize)]
struct Version {
    release_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    helenus: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cql: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    native_protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reactor: Option<String>,
}

pub(super) fn run(arguments: &Arguments, node: &mut dyn Surroundings) -> Result<Answer, ToolError> {
    let release_version = node.get(Request::get("/storage_service/release_version"))?;
    let more: Option<answers::Version> =
        if arguments.verbose { Some(node.get(Request::get("/helenus/version"))?) } else { None };
    Ok(Answer::of(&match more {
        None => {
            Version { release_version, helenus: None, cql: None, native_protocol: None, shards: None, reactor: None }
        }
        Some(answers::Version { helenus, cql, native_protocol, reactor, shards }) => {
            Version { release_version, helenus: Some(helenus), cql, native_protocol, shards, reactor }
        }
    }))
}

impl Report for Version {
    fn text(&self) -> String {
        let more = [
            ("Helenus", self.helenus.clone()),
            ("CQL", self.cql.clone()),
            ("NativeProtocol", self.native_protocol.clone()),
            ("Shards", self.shards.map(|count| count.to_string())),
            ("Reactor", self.reactor.clone()),
        ];
        let more = more.into_iter().filter_map(|(name, value)| Some(format!("{name}: {}\n", value?)));
        format!("ReleaseVersion: {}\n", self.release_version) + &more.collect::<String>()
    }
}
