//! The project's own tasks: `cargo xtask <task>`.
//!
//! No dependencies from outside on purpose: this is the first thing that a clean clone builds, and every other task waits for it.

#![allow(clippy::disallowed_methods, reason = "a build tool reads files, clocks and processes directly")]

mod access;
mod added;
mod bench;
mod built;
mod ci;
mod drivers;
mod effort;
mod fixtures;
mod fuzz;
mod oracle;
mod pace;
mod package;
mod peers;
mod planted;
mod process;
mod reference;
mod report;
mod sampled;
mod simulation;
mod source;
mod sstables;
mod stalls;
mod tests;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

use crate::tests::Effort;

const HELP: &str = "\
cargo xtask <task>

  ci [--only PHASE…] run all checks and tests that a change must pass, within 25 minutes on 2 cores, or only some phases
  soak [--only PHASE…]
                     run the same tests on the shipped build (profile dist) with long settings, and judge stalls and latencies
  tidy [--record]    check the house rules; --record lowers the recorded numbers that may only fall
  unit               run the unit tests
  drivers            test drivers of five languages, and cqlsh, against the release binary
  ring               test only the drivers on a ring of three nodes, some of which are killed and started again
  troubles           test only the drivers on a ring of which one node after the other is killed, cut off in one direction, and stopped
  package [--binary PATH] [--out DIR]
                     build the shipped binary, static if a musl compiler is installed, and pack it: tar.gz, .deb, SHA256SUMS, in
                     target/package
  packages           test only the packages, made of the binary under test
  hostile            send malformed and hostile bytes to the CQL port
  operators          test the admin API, metrics, nodetool, the console and ccm
  ccm                test only an unmodified ccm from PyPI with the install directory contrib/ccm
  console            test only the console, in headless Chromium; HELENUS_IMAGES=DIR keeps screenshots
  crash              run loads with kills, power cuts and restarts, and read back every acknowledged row
  power              run only the power cuts
  planted [NAME…]    plant one bug after the other; its witness test must fail, or its whole suite (--whole: both)
  simulation         run nodes on simulated machines: crash images, failing disk calls, random seeds; --soak for long
  fuzz [SECONDS]     build the fuzz targets and run each for SECONDS [default: 30]
  bench [--only NAME,NAME] [--rounds N]
                     run small versions of the studies: beside Cassandra 5.0.6 and MariaDB, under our own generator, latte and, if
                     installed, cassandra-stress
  bench --quick [--only echo,periodic,group] [--rounds N]
                     measure the cost of a request: echo server and Helenus in turn on the same core
  bench --large [ROWS]
                     measure memory and disk reads with more data than memory: 20,000,000 rows with 1 GiB on two shards
  bench --foreground [ROWS]
                     measure row cache reads during a full scan, and SSTable reads during a major compaction
  bench --updates [COUNT] [--no-cassandra] [--only ucs,cassandra-ucs,stcs,cassandra-stcs,lcs,twcs]
                     run random updates under each compaction strategy and compare the remaining rows with a model
  bench --statements [--no-cassandra] [--rounds N]
                     measure CPU per operation of conditional inserts, counters, slices, GROUP BY and JSON, beside Cassandra
  bench --instructions [--record] [--profile dist]
                     count server instructions per request with callgrind and compare them with the record
  bench --guesses [--profile dist]
                     count a client's instructions per request alone and beside 64 clients that guess passwords; no shard may compute a hash
  oracle [PATH…]     replay scripts recorded from a real Cassandra against Helenus
  oracle record [PATH…]
                     run scripts on the real Cassandra and record its answers
  oracle check [SEED]
                     run a random tenth on the real Cassandra; its answers must equal the recorded ones
  oracle settle [PATH…]
                     remove the marks of differences that are fixed; `mark WHY [PATH…]` sets them
  oracle random [SEED [STATEMENTS]]
                     run random statements on Helenus and the real Cassandra; differences are shrunk to a script
  oracle guarded [PATH…]
                     replay scripts of clients that log in; `guarded record`, `guarded check` and so on as above
  oracle ring [PATH…]
                     replay scripts of three nodes, recorded with all up, one down and two down; `ring record`, `ring check` and so on as above
  oracle reference   regenerate docs/cql-coverage.md: the CQL that the scripts cover
  oracle --sstables [ours | theirs | peers] [NAME…]
                     read SSTables of Helenus with a real Cassandra and its tools, and those of Cassandra with Helenus
  access matrix [--nodes 3 | --record [ROW…]]
                     check each permission on each level against the verdicts of a real Cassandra; --nodes 3: granted on one node, tried
                     on another; --record asks a real one for them (10 minutes)
  fixtures [--all FOLDER] [VERSION…] [NAME…]
                     have a real Cassandra write the SSTable fixtures of the tests: da, oa, nb, me; --all: with dumps and answers
  cassandra [PORT] [--commitlog-sync periodic|batch|group] [--heap SIZE] [--folder FOLDER] [--paxos-variant v1|v2] [--node NUMBER/COUNT]
                     run a real Cassandra 5.0.6 in the foreground, to compare with; --node: as one of a ring, at 127.0.0.NUMBER
  mariadb [PORT] [--synced] [--folder FOLDER]
                     run an empty MariaDB (Debian's) in the foreground, for studies
  latte ARGS…        run latte, another load generator, built at first use
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match arguments.first().map(String::as_str) {
        Some("ci") => ci::run(Effort::Ci, rest),
        Some("soak") => ci::run(Effort::Soak, rest),
        Some("tidy") if rest.first().is_some_and(|word| word == "--record") => tidy::record(),
        Some("tidy") => tidy::run(),
        Some("drivers") => tests::run_alone(drivers::phase, rest),
        Some("ring") => tests::run_alone(drivers::ring_alone, rest),
        Some("troubles") => tests::run_alone(drivers::troubles_alone, rest),
        Some("package") => package::run(rest),
        Some("packages") => tests::run_alone(tests::packages, rest),
        Some("hostile") => tests::run_alone(tests::hostile, rest),
        Some("ccm") => tests::run_alone(drivers::ccm, rest),
        Some("console") => tests::run_alone(tests::console, rest),
        Some("operators") => tests::run_alone(ci::operators, rest),
        Some("power") => tests::run_alone(tests::power, rest),
        Some("crash") => tests::run_alone(tests::crash, rest),
        Some("planted") => planted::run(rest),
        Some("simulation") => tests::run_without_product(simulation::phase, rest),
        Some("unit") => tests::run_without_product(tests::unit, rest),
        Some("fuzz") => fuzz::run_alone(rest),
        Some("bench") => bench::run(rest),
        Some("access") => access::run(rest),
        Some("oracle") if rest.first().is_some_and(|word| word == "--sstables") => sstables::run(&rest[1..]),
        Some("oracle") if rest.first().is_some_and(|word| word == "reference") => reference::write(),
        Some("oracle") => oracle::run(rest),
        Some("fixtures") => fixtures::run(rest),
        Some("cassandra") => peers::cassandra::run_in_foreground(rest),
        Some("mariadb") => peers::mariadb::run_in_foreground(rest),
        Some("latte") => peers::latte::run(rest),
        Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        _ => Err(format!("unknown or missing task\n\n{HELP}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // Empty where a report has said everything already, and its last line must stay the last.
            if !message.is_empty() {
                eprintln!("{message}");
            }
            ExitCode::FAILURE
        }
    }
}
