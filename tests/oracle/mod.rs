//! The oracle's command; `cargo xtask oracle` calls it with the servers that it started.
//!
//! - `replay [PATH…]`: Helenus must answer as the files say
//! - `record SERVER SERVER [PATH…]`: writes the answers of the real servers into the files
//! - `check SEED PERCENT SERVER SERVER [PATH…]`: the real servers must answer as the files say, on a random part of the scripts
//! - `settle [PATH…]`: takes away the marks of what Helenus no longer lacks
//! - `random SEED STATEMENTS SERVER…`: asks Helenus and the first real server so many random statements
//! - `deviate NAME WORDS [PATH…]`: notes Helenus's answers where those recorded have such words, as what that line of COMPAT.md explains
//! - `mark WHY [PATH…]`: marks what Helenus answers otherwise as pending
//!
//! A SERVER is `configuration=hash@address`; the first one's answers are those that Helenus must give.

use std::process::ExitCode;

use helenus_tests::oracle::{self, Peer};

/// Carries out one command.
pub fn run(arguments: &[String]) -> ExitCode {
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(command, rest)| (command.as_str(), rest));
    let peers: Vec<Peer> = rest.iter().filter_map(|argument| Peer::parse(argument)).collect();
    let words: Vec<&str> = rest.iter().filter(|argument| Peer::parse(argument).is_none()).map(String::as_str).collect();
    let outcome = match (command, &words[..]) {
        ("replay", paths) => oracle::replay(paths),
        ("record", paths) => oracle::record(&peers, paths),
        ("check", [seed, percent, paths @ ..]) => oracle::check(seed, percent, &peers, paths),
        ("random", [seed, statements]) => oracle::random(seed, statements, &peers),
        ("deviate", [name, words, paths @ ..]) => oracle::deviate(name, words, paths),
        ("settle", paths) => oracle::settle(paths),
        ("mark", [why, paths @ ..]) => oracle::mark(why, paths),
        _ => Err(format!("`{command}` is no command of the oracle")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
