//! The oracle's command; `cargo xtask oracle` calls it with the servers that it started.
//!
//! - `replay [PATH…]`: Helenus must answer as the files say
//! - `replay-part PART`: the same on a part of the scripts: `number/count`, or `all`
//! - `record SERVER SERVER [PATH…]`: writes the answers of the real servers into the files
//! - `check SEED PERCENT SERVER SERVER [PATH…]`: the real servers must answer as the files say, on a random part of the scripts
//! - `settle [PATH…]`: takes away the marks of what Helenus no longer lacks
//! - `random SEED STATEMENTS SERVER…`: asks Helenus and the first real server so many random statements
//! - `deviate NAME WORDS [PATH…]`: notes Helenus's answers where those recorded have such words, as what that line of COMPAT.md explains
//! - `mark WHY [PATH…]`: marks what Helenus answers otherwise as pending
//! - `guarded replay`, `guarded record SERVER` and so on: the same with the scripts of clients that log in; there is one SERVER
//! - `ring replay SEED PERCENT [PATH…]`, `ring record RING… [PATH…]`, `ring check SEED PERCENT RING… [PATH…]`, `ring settle`, `ring mark`,
//!   `ring deviate`: the same with the scripts of rings
//!
//! A SERVER is `configuration=hash@address`; the first one's answers are those that Helenus must give. A RING is
//! `ring:topology=hash@address/process,…`, whose processes are stopped and killed as the scripts say.

use std::process::ExitCode;

use helenus_tests::Part;
use helenus_tests::oracle::{self, Peer, Ring, Suite};

/// Carries out one command.
pub fn run(arguments: &[String]) -> ExitCode {
    match arguments.split_first() {
        Some((first, rest)) if first == "ring" => exit(run_ring(rest)),
        Some((first, rest)) if first == "guarded" => exit(run_suite(Suite::Guarded, rest)),
        _ => exit(run_suite(Suite::Open, arguments)),
    }
}

/// Carries out one command about scripts of one node.
fn run_suite(suite: Suite, arguments: &[String]) -> Result<bool, String> {
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(command, rest)| (command.as_str(), rest));
    let peers: Vec<Peer> = rest.iter().filter_map(|argument| Peer::parse(argument)).collect();
    let words: Vec<&str> = rest.iter().filter(|argument| Peer::parse(argument).is_none()).map(String::as_str).collect();
    match (command, &words[..]) {
        ("replay", paths) => oracle::replay(suite, Part::ALL, paths),
        ("replay-part", [part]) => Part::parse(part).and_then(|part| oracle::replay(suite, part, &[])),
        ("record", paths) => oracle::record(suite, &peers, paths),
        ("check", [seed, percent, paths @ ..]) => oracle::check(suite, seed, percent, &peers, paths),
        ("random", [seed, statements]) if suite == Suite::Open => oracle::random(seed, statements, &peers),
        ("deviate", [name, words, paths @ ..]) => oracle::deviate(suite, name, words, paths),
        ("settle", paths) => oracle::settle(suite, paths),
        ("mark", [why, paths @ ..]) => oracle::mark(suite, why, paths),
        _ => Err(format!("`{command}` is no command of the oracle")),
    }
}

/// Carries out one command about rings.
fn run_ring(arguments: &[String]) -> Result<bool, String> {
    let (command, rest) = arguments.split_first().map_or(("", &[][..]), |(command, rest)| (command.as_str(), rest));
    let rings: Vec<Ring> = rest.iter().filter_map(|argument| Ring::parse(argument)).collect();
    let words: Vec<&str> = rest.iter().filter(|argument| Ring::parse(argument).is_none()).map(String::as_str).collect();
    match (command, &words[..]) {
        ("replay", [seed, percent, paths @ ..]) => oracle::replay_ring(seed, percent, paths),
        ("record", paths) => oracle::record_ring(&rings, paths),
        ("check", [seed, percent, paths @ ..]) => oracle::check_ring(seed, percent, &rings, paths),
        ("deviate", [name, words, paths @ ..]) => oracle::deviate_ring(name, words, paths),
        ("settle", paths) => oracle::settle_ring(paths),
        ("mark", [why, paths @ ..]) => oracle::mark_ring(why, paths),
        _ => Err(format!("`ring {command}` is no command of the oracle")),
    }
}

fn exit(outcome: Result<bool, String>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
