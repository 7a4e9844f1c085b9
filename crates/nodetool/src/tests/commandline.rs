//! What clap is told fits together.

use std::ffi::OsString;

use clap::CommandFactory;
use proptest::prelude::*;

#[test]
fn the_arguments_are_sound() {
    crate::arguments::Arguments::command().debug_assert();
}

/// The commands that `nodetool help` of Cassandra 5.0.6 lists, and the two old names that it hides.
const CASSANDRAS: &str = "\
    assassinate bootstrap checktokenmetadata cidrfilteringstats cleanup clearsnapshot clientstats compact \
    compactionhistory compactionstats datapaths decommission describecluster describering disableauditlog \
    disableautocompaction disablebackup disablebinary disablefullquerylog disablegossip disablehandoff \
    disablehintsfordc disableoldprotocolversions drain dropcidrgroup enableauditlog enableautocompaction enablebackup \
    enablebinary enablefullquerylog enablegossip enablehandoff enablehintsfordc enableoldprotocolversions \
    failuredetector flush forcecompact garbagecollect gcstats getauditlog getauthcacheconfig getbatchlogreplaythrottle \
    getcidrgroupsofip getcolumnindexsize getcompactionthreshold getcompactionthroughput getconcurrency \
    getconcurrentcompactors getconcurrentviewbuilders getdefaultrf getendpoints getfullquerylog getguardrailsconfig \
    getinterdcstreamthroughput getlogginglevels getmaxhintwindow getseeds getsnapshotthrottle getsstables \
    getstreamthroughput gettimeout gettraceprobability gossipinfo help import info invalidatecidrpermissionscache \
    invalidatecountercache invalidatecredentialscache invalidatejmxpermissionscache invalidatekeycache \
    invalidatenetworkpermissionscache invalidatepermissionscache invalidaterolescache invalidaterowcache join \
    listcidrgroups listpendinghints listsnapshots move netstats pausehandoff profileload proxyhistograms \
    rangekeysample rebuild rebuild_index recompress_sstables refresh refreshsizeestimates reloadcidrgroupscache \
    reloadlocalschema reloadseeds reloadssl reloadtriggers relocatesstables removenode repair repair_admin \
    replaybatchlog resetfullquerylog resetlocalschema resumehandoff ring scrub setauthcacheconfig \
    setbatchlogreplaythrottle setcachecapacity setcachekeystosave setcolumnindexsize setcompactionthreshold \
    setcompactionthroughput setconcurrency setconcurrentcompactors setconcurrentviewbuilders setdefaultrf \
    setguardrailsconfig sethintedhandoffthrottlekb setinterdcstreamthroughput setlogginglevel setmaxhintwindow \
    setsnapshotthrottle setstreamthroughput settimeout settraceprobability sjk snapshot status statusautocompaction \
    statusbackup statusbinary statusgossip statushandoff stop stopdaemon tablehistograms tablestats toppartitions \
    tpstats truncatehints updatecidrgroup upgradesstables verify version viewbuildstatus \
    cfhistograms cfstats";

#[test]
fn every_command_of_cassandra_is_known() {
    let command = crate::arguments::Arguments::command();
    let missing: Vec<&str> = CASSANDRAS
        .split_whitespace()
        .filter(|name| command.find_subcommand(name).is_none() && *name != "help")
        .collect();
    assert!(missing.is_empty(), "{missing:?} would be called misspelt");
}

#[test]
fn what_is_not_supported_says_why_in_a_sentence() {
    for row in crate::arguments::UNSUPPORTED {
        assert!(
            CASSANDRAS.split_whitespace().any(|name| name == row.name),
            "{} is no command of Cassandra's",
            row.name
        );
        for line in [row.name.to_owned(), format!("-p 7 {} -x --any thing", row.name)] {
            let words = line.split(' ').map(OsString::from).collect();
            let arguments = crate::parsed(words).expect("any arguments are taken");
            let mut told = crate::Told::default();
            assert_eq!(crate::answered(&arguments, &mut Always("null".to_owned()), &mut told), 1, "{line}");
            let sentence = told.errors.trim_end();
            assert!(
                sentence.starts_with(&format!("nodetool: {}: ", row.name)) && !sentence.contains('\n'),
                "{sentence}"
            );
        }
    }
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

const COMMANDS: [&str; 24] = [
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
    "clientstats --all",
    "clientstats --by-protocol",
    "clientstats --client-options",
    "datapaths",
    "getcompactionthreshold k t",
    "statusbinary",
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
        list(
            r#"{"columns": [{"name": "address"}, {"name": "client_options"}], "rows": [[null, "$1"], ["'", $2]], "more": true, "page": "00", "error": null}"#
        ),
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
