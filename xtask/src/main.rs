//! The project's own tasks: `cargo xtask <task>`.
//!
//! No dependencies from outside on purpose: this is the first thing that a clean clone builds, and every other task waits for it.

#![allow(clippy::disallowed_methods, reason = "a build tool reads files, clocks and processes directly")]

mod added;
mod bench;
mod built;
mod ci;
mod drivers;
mod fixtures;
mod fuzz;
mod oracle;
mod pace;
mod peers;
mod planted;
mod process;
mod reference;
mod report;
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

  ci [--only PHASE…] everything that must hold before a change lands, within 25 minutes on 2 cores, or some phases of it
  soak [--only PHASE…]
                     the same tests on the shipped build (profile dist) with long settings, and what only a clock can judge
  tidy [--record]    the house rules that no compiler checks; --record lowers the numbers that may only fall
  unit               the tests beside the code
  drivers            real drivers of five languages, and cqlsh, against the release binary
  hostile            hostile bytes on the socket
  operators          REST, metrics and nodetool as operators ask, and the console
  console            the console alone, in headless Chromium; HELENUS_IMAGES=FOLDER keeps pictures of it
  crash              loads with kills, power cuts and restarts, every acknowledged row read back
  power              the power cuts alone
  planted [NAME…]    plant one bug after the other; its witness must fail, or its whole suite (--whole: both)
  simulation         nodes on simulated machines: crash images, failing disk calls, random seeds; --soak for long
  fuzz [SECONDS]     build the fuzz targets and run each so long (default 30)
  bench [--only NAME,NAME] [--rounds N]
                     the ready studies, small: beside Cassandra 5.0.6 and MariaDB, under our own generator, latte and, where it is there, cassandra-stress
  bench --quick [--only echo,periodic,group] [--rounds N]
                     cost of a request: echo server and Helenus in turn on the same core
  bench --large [ROWS]
                     more data than memory: 20,000,000 rows with 1 GiB on two shards, memory and disk reads watched
  bench --foreground [ROWS]
                     reads from the row cache beside a full scan, and reads of files beside a major compaction
  bench --updates [COUNT] [--no-cassandra] [--only ucs,cassandra-ucs,stcs,cassandra-stcs,lcs,twcs]
                     random updates under each compaction strategy, the rows that are left compared with a model's
  bench --statements [--no-cassandra] [--rounds N]
                     conditional insertions, counters, slices, groups and JSON: CPU per operation, beside Cassandra
  bench --instructions [--record] [--profile dist]
                     instructions of the server for a request, by callgrind, beside those on record
  oracle [PATH…]     scripts whose answers a real Cassandra gave, against Helenus
  oracle record [PATH…]
                     ask the real one again and write its answers into the scripts
  oracle check [SEED] ask it again for a random tenth; its answers must be the same
  oracle settle [PATH…]
                     take the marks away from what Helenus no longer lacks; `mark WHY [PATH…]` sets them
  oracle random [SEED [STATEMENTS]]
                     random statements, asked of Helenus and of the real one; what differs is shrunk to a script
  oracle reference   make docs/cql-coverage.md anew: what of CQL the scripts show
  oracle --sstables [ours | theirs | peers] [NAME…]
                     SSTables of Helenus before a real Cassandra and its tools, and the real one's before Helenus
  fixtures [--all FOLDER] [VERSION…] [NAME…]
                     have a real Cassandra write the SSTables that tests read: da, oa, nb, me; --all: with dumps and answers
  cassandra [PORT] [--commitlog-sync periodic|batch|group] [--heap SIZE] [--folder FOLDER]
                     run a real Cassandra 5.0.6 in the foreground, to hold tests against it
  mariadb [PORT] [--synced] [--folder FOLDER]
                     run Debian's MariaDB in the foreground, empty, for studies beside it
  latte WORDS…       run latte, another load generator, built the first time
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
        Some("hostile") => tests::run_alone(tests::hostile, rest),
        Some("console") => tests::run_alone(tests::console, rest),
        Some("operators") => tests::run_alone(tests::operators, rest),
        Some("power") => tests::run_alone(tests::power, rest),
        Some("crash") => tests::run_alone(tests::crash, rest),
        Some("planted") => planted::run(rest),
        Some("simulation") => tests::run_without_product(tests::simulation, rest),
        Some("unit") => tests::run_without_product(tests::unit, rest),
        Some("fuzz") => fuzz::run_alone(rest),
        Some("bench") => bench::run(rest),
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
        _ => Err(format!("say which task:\n\n{HELP}")),
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
