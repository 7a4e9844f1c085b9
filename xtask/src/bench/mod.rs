//! `cargo xtask bench`: what things cost, in figures. Alone it runs the ready studies, small; each flag is a measurement of its own.
//!
//! The server under test has core 0 for itself and the generator core 1. Servers take turns, round by round.

pub mod above_echo;
mod callgrind;
mod cores;
mod files;
mod foreground;
pub mod guesses;
pub mod instructions;
mod large;
mod load;
mod operators;
mod statements;
mod studies;
mod subject;
mod table;
mod updates;
mod verdict;

use crate::tests::{BUILD_TIME, build_measured};
use crate::tools::{self, TASKSET};
use crate::workspace::{self, Profile};

/// What may be said behind `bench`.
const FLAGS: [&str; 12] = [
    "--quick",
    "--no-cassandra",
    "--only",
    "--rounds",
    "--large",
    "--foreground",
    "--updates",
    "--statements",
    "--instructions",
    "--guesses",
    "--record",
    "--profile",
];

/// `cargo xtask bench`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    // A whole bench takes minutes, which nobody wants for a word mistyped.
    if let Some(word) = arguments.iter().find(|word| word.starts_with('-') && !FLAGS.contains(&word.as_str())) {
        return Err(format!("bench: `{word}` is not one of {}; see `cargo xtask help`", FLAGS.join(" ")));
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let behind = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let count = |flag: &str| behind(flag).and_then(|count| count.parse().ok());
    let only = behind("--only");
    if has("--only") && only.is_none() {
        return Err("--only wants names, separated by commas".to_owned());
    }
    let rounds: Option<usize> = match has("--rounds") {
        true => Some(count("--rounds").filter(|rounds| *rounds > 0).ok_or("--rounds wants a number")? as usize),
        false => None,
    };
    if has("--no-cassandra") && !has("--updates") && !has("--statements") {
        return Err(
            "--no-cassandra is for --updates and --statements; `--only echo` takes a study without it".to_owned()
        );
    }
    tools::require(&[TASKSET])?;
    workspace::choose(match (behind("--profile"), has("--instructions") || has("--guesses")) {
        (None, true) | (Some("release"), _) => Profile::Release,
        (None, false) | (Some("dist"), _) => Profile::Dist,
        (Some(other), _) => return Err(format!("--profile {other}: there are release and dist")),
    });
    build_measured(BUILD_TIME)?;
    if has("--large") {
        return large::run(count("--large"));
    }
    if has("--foreground") {
        return foreground::run(count("--foreground"));
    }
    if has("--updates") {
        let is_wanted = |name: &str| {
            only.is_none_or(|names| names.split(',').any(|one| one == name))
                && !(has("--no-cassandra") && name.starts_with("cassandra"))
        };
        return updates::run(count("--updates"), &is_wanted);
    }
    if has("--instructions") {
        return instructions::run(has("--record"));
    }
    if has("--guesses") {
        return guesses::run();
    }
    if has("--statements") {
        return statements::run(rounds, !has("--no-cassandra"));
    }
    if has("--quick") {
        return above_echo::run(only, rounds);
    }
    studies::run(only, rounds)
}
