//! Helenus beside a real Cassandra: `peers oracle COMMAND …` for statements, `peers access COMMAND …` for permissions, `peers sstables COMMAND …` for files.
//!
//! Commands and no test harness: their counts are scripts and tables, and they record too.

mod access;
mod oracle;
mod sstables;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((judge, rest)) if judge == "oracle" => oracle::run(rest),
        Some((judge, rest)) if judge == "access" => access::run(rest),
        Some((judge, rest)) if judge == "sstables" => sstables::run(rest),
        _ => {
            eprintln!("the first word is `oracle`, `access` or `sstables`");
            ExitCode::FAILURE
        }
    }
}
