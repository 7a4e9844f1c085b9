//! What clap is told fits together.

use std::ffi::OsString;

use clap::CommandFactory;
use proptest::prelude::*;

#[test]
fn the_arguments_are_sound() {
    crate::arguments::Arguments::command().debug_assert();
}

proptest! {
    #[test]
    fn no_command_line_panics(words in proptest::collection::vec("(status|snapshot|compact|-[a-zA-Z]{1,3}|--|[a-z.,%-]{0,4})", 0..6)) {
        let _ = crate::parsed(words.into_iter().map(OsString::from).collect());
    }

    /// Whatever a node answers, each command says something of it or that it is not understood.
    #[test]
    fn no_answer_panics(answer in answers(), command in proptest::sample::select(COMMANDS.to_vec())) {
        let mut node = Always(answer);
        let arguments = crate::parsed(command.split(' ').map(OsString::from).collect()).expect("a command line");
        let mut told = crate::Told::default();
        let code = crate::answered(&arguments, &mut node, &mut told);
        prop_assert_eq!(code == 0, told.errors.is_empty());
    }
}

const COMMANDS: [&str; 18] = [
    "status",
    "status k",
    "ring",
    "info",
    "describecluster",
    "version -v",
    "compactionstats",
    "compactionstats -V -H",
    "getcompactionthroughput",
    "statusautocompaction -a",
    "listsnapshots",
    "tablestats",
    "tablehistograms k t",
    "proxyhistograms",
    "tpstats -F yaml",
    "getlogginglevels",
    "toppartitions k t 5",
    "compactionhistory",
];

/// A node that answers one thing.
struct Always(String);

impl crate::surroundings::Surroundings for Always {
    fn ask(&mut self, _: &crate::surroundings::Request) -> Result<String, crate::ToolError> {
        Ok(self.0.clone())
    }

    fn roles_in(&mut self, _: &std::path::Path) -> Result<String, crate::ToolError> {
        Ok("{}".to_owned())
    }

    fn show(&mut self, _line: &str) {}

    fn now_ms(&self) -> u64 {
        0
    }

    fn name_of(&self, _: std::net::IpAddr) -> Option<String> {
        None
    }
}

/// JSON of the fields that are looked for with extreme values, and what is no JSON.
fn answers() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just("0".to_owned()),
        Just(u64::MAX.to_string()),
        Just("-1".to_owned()),
        Just("1e308".to_owned()),
        Just("null".to_owned()),
        Just("\"é\\n\"".to_owned()),
    ];
    let list = |of: &'static str| {
        (number.clone(), number.clone()).prop_map(move |(a, b)| of.replace("$1", &a).replace("$2", &b))
    };
    prop_oneof![
        number.clone(),
        ".{0,20}",
        list(r#"[{"key": "a", "value": $1}, {"key": "b", "value": $2}]"#),
        list(r#"[$1, $2]"#),
        list(r#"{"buckets": [$1, $2, $2], "bucket_offsets": [$2, $1]}"#),
        list(
            r#"{"partition_size": {"buckets": [$1, $2], "bucket_offsets": [$2, $1]}, "resident": $1, "budget": $2, "helenus": "x"}"#
        ),
        list(
            r#"[{"keyspace": "k", "table": "t", "sstables": $1, "bytes_live": $2, "reads": $1, "writes": $2, "read_latency_us_mean": $2, "compression_ratio": $1, "sstables_per_level": [$1, $2], "is_autocompaction_on": true}]"#
        ),
        list(
            r#"[{"ks": "k", "cf": "t", "task": $1, "task_type": "x", "completed": $1, "total": $2, "unit": "bytes"}]"#
        ),
        list(r#"[{"name": "n", "active": $1, "completed": $2}]"#),
        list(r#"{"read": [{"partition": "p", "count": $1, "error": $2}]}"#),
        list(r#"[{"key": "s", "value": [{"ks": "k", "cf": "t", "total": $1, "live": $2}]}]"#),
    ]
}
