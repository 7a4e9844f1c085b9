//! Cassandra's options of several letters behind one dash, which no Unix program but Java's has: `-pw`, `-cf`.
//!
//! They are spelt out before the arguments are parsed. Only a whole argument is taken for one, and none behind `--`.

use std::ffi::OsString;

const LONG: [(&str, &str); 26] = [
    ("-pw", "--password"),
    ("-pwf", "--password-file"),
    ("-pp", "--print-port"),
    ("-cf", "--table"),
    ("--column-family", "--table"),
    ("-kt", "--kt-list"),
    ("-kc", "--kt-list"),
    ("-sf", "--skip-flush"),
    ("-st", "--start-token"),
    ("-et", "--end-token"),
    ("-nt", "--no-ttl"),
    ("-id", "--compaction-id"),
    ("-full", "--full"),
    ("-ks", "--keyspace"),
    ("-ts", "--tokens"),
    ("-pr", "--partitioner-range"),
    ("-dc", "--in-dc"),
    ("-local", "--in-local-dc"),
    ("-hosts", "--in-hosts"),
    ("-inc", "--inc"),
    ("-prv", "--preview"),
    ("-vd", "--validate"),
    ("-seq", "--sequential"),
    ("-dcpar", "--dc-parallel"),
    ("-tr", "--trace"),
    ("--partitioner-ranges", "--partitioner-range"),
];

/// The arguments with every such option spelt out.
pub(crate) fn long(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut ended = false;
    let spelt = arguments.into_iter().map(|argument| {
        ended |= argument == "--";
        match LONG.iter().find(|(short, _)| !ended && argument == *short) {
            Some((_, long)) => OsString::from(long),
            None => argument,
        }
    });
    spelt.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_arguments_are_spelt_out_up_to_the_dashes() {
        let arguments = ["-pw", "x", "snapshot", "-cf", "orders", "-t", "-pwx", "--", "-cf"].map(OsString::from);
        let expected =
            ["--password", "x", "snapshot", "--table", "orders", "-t", "-pwx", "--", "-cf"].map(OsString::from);
        assert_eq!(long(arguments.to_vec()), expected);
    }
}
