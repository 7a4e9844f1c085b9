//! `cargo xtask oracle`: the scripts of `tests/oracle/` against Helenus, and against the real Cassandra that they were recorded from.
//!
//! This starts the servers and calls the runner, which is part of a test target: `tests/oracle/mod.rs`.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::drivers::sample::Sample;
use crate::peers::cassandra::{self, Cassandra, CassandraRing, Purpose};
use crate::peers::port::free_port;
use crate::report::Passed;
use crate::stalls::{self, STALLS_TO};
use crate::tests::{BUILD_TIME, Effort, build_product, environment};
use crate::{access, built, process, reference, sstables, workspace};

/// Both configurations; the first one's answers are those that Helenus must give.
const CONFIGURATIONS: [Purpose; 2] = [Purpose::AnswersOfNone, Purpose::AnswersOfDefaults];
/// The configuration whose clients log in.
const GUARDED: [Purpose; 1] = [Purpose::AnswersOfGuarded];
/// How many of a hundred scripts a change asks the real servers again.
const SAMPLE_PERCENT: &str = "10";

/// The random statements that a change asks: how many, and the course that they begin with. It is the same for each change, so that a
/// change that is refused here is one that did it; a soak begins with another one each time.
const RANDOM_STATEMENTS: &str = "2000";
const RANDOM_SEED: &str = "1";

/// How many a soak asks.
const RANDOM_STATEMENTS_OF_SOAK: &str = "200000";

/// How many of a hundred scripts of rings a change replays; a soak replays all.
const RING_SAMPLE_PERCENT: &str = "20";

/// `cargo xtask oracle [record | check [SEED] | settle | mark WHY | deviate NAME WORDS] [PATH…]`, `cargo xtask oracle random [SEED [STATEMENTS]]`.
pub fn run(arguments: &[String]) -> Result<(), String> {
    const TIME: Duration = Duration::from_secs(3600);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = match &words[..] {
        ["ring", rest @ ..] => return ring(rest, TIME),
        ["guarded", rest @ ..] => return guarded(rest, TIME),
        ["record", paths @ ..] => {
            let servers = start_servers(&CONFIGURATIONS)?;
            runner("record", &[], &named(&servers), paths, None, TIME)?
        }
        ["check", rest @ ..] => {
            let seed = rest.first().map_or_else(seed, |seed| (*seed).to_string());
            let paths = rest.get(1..).unwrap_or_default();
            let servers = start_servers(&CONFIGURATIONS)?;
            runner("check", &[&seed, SAMPLE_PERCENT], &named(&servers), paths, None, TIME)?
        }
        ["random", rest @ ..] => {
            build_product(TIME)?;
            let own = seed();
            let (seed, statements) = match rest {
                [] => (own.as_str(), RANDOM_STATEMENTS),
                [seed] => (*seed, RANDOM_STATEMENTS),
                [seed, statements, ..] => (*seed, *statements),
            };
            let servers = start_servers(&CONFIGURATIONS[..1])?;
            runner("random", &[seed, statements], &named(&servers), &[], None, TIME)?
        }
        [command @ ("settle" | "mark" | "deviate"), rest @ ..] => {
            build_product(TIME)?;
            runner(command, &[], &[], rest, None, TIME)?
        }
        paths => {
            build_product(TIME)?;
            runner("replay", &[], &[], paths, None, TIME)?
        }
    };
    if matches!(words[..], ["record" | "settle", ..]) {
        reference::write()?;
    }
    if output.success { Ok(()) } else { Err(String::new()) }
}

/// `cargo xtask oracle guarded [record | check [SEED] | settle | mark WHY | deviate NAME WORDS] [PATH…]`: scripts of clients that log in.
fn guarded(words: &[&str], budget: Duration) -> Result<(), String> {
    let output = match words {
        ["record", paths @ ..] => {
            let servers = start_servers(&GUARDED)?;
            runner("guarded", &["record"], &named(&servers), paths, None, budget)?
        }
        ["check", rest @ ..] => {
            let seed = rest.first().map_or_else(seed, |seed| (*seed).to_string());
            let paths = rest.get(1..).unwrap_or_default();
            let servers = start_servers(&GUARDED)?;
            runner("guarded", &["check", &seed, SAMPLE_PERCENT], &named(&servers), paths, None, budget)?
        }
        [command @ ("settle" | "mark" | "deviate"), rest @ ..] => {
            build_product(budget)?;
            runner("guarded", &[command], &[], rest, None, budget)?
        }
        paths => {
            build_product(budget)?;
            runner("guarded", &["replay"], &[], paths, None, budget)?
        }
    };
    if output.success { Ok(()) } else { Err(String::new()) }
}

/// `cargo xtask oracle ring [record | check [SEED] | settle | mark WHY | deviate NAME WORDS] [PATH…]`: scripts of rings.
fn ring(words: &[&str], budget: Duration) -> Result<(), String> {
    let output = match words {
        ["record", paths @ ..] => return on_rings(&["record"], paths, budget),
        ["check", rest @ ..] => {
            let seed = rest.first().map_or_else(seed, |seed| (*seed).to_string());
            let paths = rest.get(1..).unwrap_or_default();
            return on_rings(&["check", &seed, SAMPLE_PERCENT], paths, budget);
        }
        [command @ ("settle" | "mark" | "deviate"), rest @ ..] => {
            build_product(budget)?;
            runner("ring", &[command], &[], rest, None, budget)?
        }
        paths => {
            build_product(budget)?;
            runner("ring", &["replay", "0", "100"], &[], paths, None, budget)?
        }
    };
    if output.success { Ok(()) } else { Err(String::new()) }
}

/// Calls the runner for each topology that the paths name, or for each, with a ring of real servers: one ring runs at a time.
fn on_rings(words: &[&str], paths: &[&str], budget: Duration) -> Result<(), String> {
    // Before the rings start, which would wait for the compiler.
    built::test("tests", "peers", BUILD_TIME)?;
    let mut is_right = true;
    for topology in cassandra::topologies()? {
        let mut of_ring: Vec<&str> = paths.iter().copied().filter(|path| path.contains(&topology)).collect();
        if paths.is_empty() {
            of_ring.push(&topology);
        }
        if !of_ring.is_empty() {
            let ring = CassandraRing::start(&topology, free_port)?;
            is_right &= runner("ring", words, &[ring.argument()], &of_ring, None, budget)?.success;
        }
    }
    if is_right { Ok(()) } else { Err(String::new()) }
}

/// The phase of the CI: all scripts against Helenus, of those of clients that log in a third, and of those of rings a fifth; some of them against the real
/// servers again; random statements asked of both, and SSTables both ways.
pub fn phase(budget: Duration, effort: Effort) -> Result<Passed, String> {
    let began = Instant::now();
    let left = || budget.saturating_sub(began.elapsed());
    // The real ones start while Helenus answers.
    let mut servers = spawn_servers(&CONFIGURATIONS)?;
    let replay = stalls::watched("oracle", effort, |file| {
        Ok(Passed::of(&runner("replay", &[], &[], &[], Some(file), left())?))
    })?;
    let replay = replay.and(guarded_part(effort, left())?);
    let rings = rings(effort, left())?;
    let matrix = access::phase(left(), effort)?;
    let seed = seed();
    wait_for(&mut servers)?;
    let check = runner("check", &[&seed, SAMPLE_PERCENT], &named(&servers), &[], None, left())?;
    if replay.success && replay.counts.passed == 0 {
        return Err("the runner ran no script".into());
    }
    let guarded = start_servers(&GUARDED)?;
    let of_guarded = runner("guarded", &["check", &seed, SAMPLE_PERCENT], &named(&guarded), &[], None, left())?;
    drop(guarded);
    let scripts = replay.and(rings).and(Passed::of(&check)).and(Passed::of(&of_guarded)).and(matrix);
    // The first one answers as Helenus must, and writes the same version of SSTables. The others have done their part.
    servers.truncate(1);
    let statements = random(&servers, &seed, effort, left())?;
    let (_, server) = servers.remove(0);
    let note = format!("re-recorded by seed {seed}");
    Ok(Passed { note, ..scripts.and(statements).and(sstables::phase(server, effort, left())?) })
}

/// The scripts of clients that log in against Helenus, of a change those of its commit's sample.
fn guarded_part(effort: Effort, budget: Duration) -> Result<Passed, String> {
    let part = match Sample::chosen(effort)? {
        Sample::All => "all".to_owned(),
        Sample::Third(number) => format!("{number}/3"),
    };
    stalls::watched("guarded scripts", effort, |file| {
        Ok(Passed::of(&runner("guarded", &["replay-part", &part], &[], &[], Some(file), budget)?))
    })
}

/// The scripts of rings against Helenus, of a change those that its commit's hash chooses.
fn rings(effort: Effort, budget: Duration) -> Result<Passed, String> {
    let (seed, percent) = match effort {
        Effort::Ci => (workspace::commit_hash()?.to_string(), RING_SAMPLE_PERCENT),
        Effort::Soak => ("0".to_owned(), "100"),
    };
    stalls::watched("rings", effort, |file| {
        Ok(Passed::of(&runner("ring", &["replay", &seed, percent], &[], &[], Some(file), budget)?))
    })
}

/// Random statements, asked of Helenus and of the first server.
fn random(servers: &[(Purpose, Cassandra)], seed: &str, effort: Effort, budget: Duration) -> Result<Passed, String> {
    let words = match effort {
        Effort::Ci => [RANDOM_SEED, RANDOM_STATEMENTS],
        Effort::Soak => [seed, RANDOM_STATEMENTS_OF_SOAK],
    };
    stalls::watched("random statements", effort, |file| {
        Ok(Passed::of(&runner("random", &words, &named(servers), &[], Some(file), budget)?))
    })
}

/// Another part of the scripts in each run; printed, so that it can be chosen again.
fn seed() -> String {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()).to_string()
}

/// Calls the runner with the words, the servers and the scripts' paths. Without a file for stalls it fails at the first.
fn runner(
    command: &str,
    words: &[&str],
    servers: &[String],
    paths: &[&str],
    stalls: Option<&Path>,
    budget: Duration,
) -> Result<process::Output, String> {
    let mut runner = built::test("tests", "peers", BUILD_TIME)?.command();
    runner.args(["oracle", command]).args(words).args(servers).args(paths);
    environment(&mut runner, Effort::Ci).envs(stalls.map(|file| (STALLS_TO, file)));
    process::run(&mut runner, budget)
}

/// Starts a server of each configuration, side by side.
fn start_servers(configurations: &[Purpose]) -> Result<Vec<(Purpose, Cassandra)>, String> {
    let mut servers = spawn_servers(configurations)?;
    wait_for(&mut servers)?;
    Ok(servers)
}

fn spawn_servers(configurations: &[Purpose]) -> Result<Vec<(Purpose, Cassandra)>, String> {
    configurations.iter().map(|&purpose| Ok((purpose, Cassandra::spawn(purpose, free_port()?, None)?))).collect()
}

fn wait_for(servers: &mut [(Purpose, Cassandra)]) -> Result<(), String> {
    servers.iter_mut().try_for_each(|(_, server)| server.wait_until_it_listens())
}

/// How the runner is told of servers: `configuration=hash@address`.
fn named(servers: &[(Purpose, Cassandra)]) -> Vec<String> {
    servers.iter().map(|(purpose, server)| server.argument(*purpose)).collect()
}
