//! What an operator asks before the first start, and when a node is slow: is this host fit for it (`helenus doctor`), and how large must a
//! cluster be (`helenus doctor size`).
//!
//! It only looks: what it would change it prints as a command. No shard runs here, so it reads `/proc` and `/sys` itself, through one
//! seam, [`Host`], behind which a test puts a folder.

// The bans of clippy.toml bind the product's code; tests beside it reach files and clocks as they like.
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod arguments;
mod checks;
mod error;
mod finding;
mod host;
mod procfs;
mod report;
mod size;
mod units;

use std::process::ExitCode;

pub use arguments::{Arguments, Command, SizeArguments};
pub use checks::examine;
pub use error::DoctorError;
pub use finding::{Area, Finding, Verdict};
pub use host::{Answers, Host};
pub use report::{json, text};

/// Does what the arguments say and prints it. The exit code is 1 if a problem was found, and only then.
pub fn run(arguments: &Arguments) -> Result<ExitCode, DoctorError> {
    match &arguments.command {
        Some(Command::Size(size)) => {
            let sizing = size::reckon(&size::Load::of(size)?)?;
            print(&if size.json { size::json(&sizing) } else { size::text(&sizing) });
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let findings = examine(&Host::this(&arguments.data_folder));
            print(&if arguments.json { json(&findings) } else { text(&findings, arguments.all) });
            Ok(exit_code(&findings))
        }
    }
}

/// 1 if there is a problem, else 0: a script stops where a node must not run, not where it could run better.
pub fn exit_code(findings: &[Finding]) -> ExitCode {
    let has_problem = findings.iter().any(|finding| finding.verdict == Verdict::Problem);
    if has_problem { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn print(text: &str) {
    use std::io::Write;
    // A reader that has seen enough closes the pipe, which is no failure.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
