//! `cargo xtask bench --guesses`: how many instructions a client's requests cost beside 64 clients that guess passwords in a closed loop, and which thread computes the hashes.
//!
//! One shard serves all of them, and callgrind counts each thread by itself, in windows on one server after a warm-up: the client's requests alone, the guesses alone, and both.
//!
//! The guesses are executed on the same thread, and their instructions are not the client's. They cannot be taken off by their number: a guess that has a turn of the loop for itself
//! takes several times what one takes beside requests. So the functions that the window of guesses never entered are compared: all that they execute is the requests', with guesses and
//! without. The rest of a request (the loop, sockets, frames, and what the standard library shares) is in functions that both enter, and is not judged; the part that is judged is said.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::{fs, path::Path};

use super::callgrind::{Counted, Dump};
use super::load::{self, Workload};
use super::subject::Server;
use crate::report::Passed;
use crate::workspace;

/// Clients that guess, all of one host.
const GUESSERS: u32 = 64;
/// A request beside them may take so many times the instructions that it takes alone.
const GROWTH_MAX: f64 = 1.05;
const WORKLOADS: [Workload; 2] = [Workload::Write, Workload::Read];
const OPERATIONS: u64 = 20_000;
/// Guesses of the window without requests.
const GUESSES: u64 = 2_000;
/// A part of the name of each function that computes a hash.
const HASHES: [&str; 2] = ["bcrypt", "blowfish"];
/// The script that guesses, and its host.
const SCRIPT: &str = "tests/logins/strangers.py";
const HOST: &str = "127.0.0.2";

/// `cargo xtask bench --guesses`.
pub fn run() -> Result<(), String> {
    check().map(|words| println!("{words}"))
}

/// Within the phase of a soak.
pub fn gate() -> Result<Passed, String> {
    check().map(|note| Passed { note, ..Passed::held() })
}

/// A window's instructions of the shard's thread, and the guesses in it.
struct Window {
    dump: Dump,
    guesses: u64,
}

/// A request's instructions alone and beside guesses.
#[derive(Debug, PartialEq)]
struct Verdict {
    /// All of them, alone.
    alone: f64,
    /// The part of them in functions that no guess enters.
    part: f64,
    /// Growth of that part beside guesses: times as many.
    growth: f64,
    /// Guesses answered per request.
    guesses: f64,
}

fn check() -> Result<String, String> {
    let counted = Counted::start("guesses", true, &["--authenticator", "PasswordAuthenticator"])?;
    let client = Client::of(&counted)?;
    // Uncounted: what happens only once, the rows that the reads find, and the one hash of the client's password.
    WORKLOADS.into_iter().try_for_each(|workload| client.ask(&counted.server, workload))?;
    counted.begin()?;
    let mut alone = Vec::new();
    for workload in WORKLOADS {
        counted.zero()?;
        client.ask(&counted.server, workload)?;
        alone.push(busiest(counted.dump()?)?);
    }
    let shard = alone[0].thread;
    let mut guessers = Guessers::start(&counted.server)?;
    let (guesses, others) = guessers.window(&counted, shard, |guessers, from| guessers.reach(from + GUESSES))?;
    let mut is_hashed = hashes_elsewhere(&guesses.dump, &others)?;
    let mut words = Vec::new();
    let mut holds = true;
    for (workload, alone) in WORKLOADS.into_iter().zip(&alone) {
        let (beside, others) = guessers.window(&counted, shard, |_, _| client.ask(&counted.server, workload))?;
        is_hashed |= hashes_elsewhere(&beside.dump, &others)?;
        let verdict = judged(alone, &guesses.dump, &beside);
        let Verdict { alone, part, growth, guesses } = verdict;
        holds &= growth <= GROWTH_MAX;
        words.push(format!(
            "{} {alone:.0} instructions alone, {:.0} % of them in functions that no guess enters: {growth:.3} times as many beside {GUESSERS} clients that guess, with {guesses:.2} guesses a request",
            workload.name(),
            part * 100.0
        ));
    }
    if !is_hashed {
        return Err("no thread computed a hash while passwords were guessed".to_owned());
    }
    let words = format!("{}; all hashes on another thread", words.join("; "));
    match holds {
        true => Ok(words),
        false => Err(format!("{words}; at most {GROWTH_MAX} times")),
    }
}

/// The thread with the most instructions: with requests and without guesses, the shard's.
fn busiest(dumps: Vec<Dump>) -> Result<Dump, String> {
    dumps.into_iter().max_by_key(|dump| dump.total).ok_or_else(|| "no thread has executed anything".to_owned())
}

fn judged(alone: &Dump, guesses: &Dump, beside: &Window) -> Verdict {
    let entered: BTreeSet<&String> = guesses.functions.keys().collect();
    let own = |dump: &Dump| {
        let functions = dump.functions.iter().filter(|(name, _)| !entered.contains(name));
        functions.map(|(_, count)| *count).sum::<u64>() as f64
    };
    let requests = OPERATIONS as f64;
    Verdict {
        alone: alone.total as f64 / requests,
        part: own(alone) / (alone.total as f64).max(1.0),
        growth: own(&beside.dump) / own(alone).max(1.0),
        guesses: beside.guesses as f64 / requests,
    }
}

/// True if another thread than the shard computed hashes in a window. A window may have none: a host that has guessed often waits seconds for its next hash, and its other guesses are refused
/// without one.
///
/// # Errors
///
/// If the shard computed one.
fn hashes_elsewhere(shard: &Dump, others: &[Dump]) -> Result<bool, String> {
    let hashes = |dump: &Dump| {
        let of_hashes = |name: &&String| HASHES.iter().any(|part| name.contains(part));
        dump.functions.keys().find(of_hashes).cloned()
    };
    match hashes(shard) {
        Some(name) => Err(format!("the shard's thread computes hashes: {name}")),
        None => Ok(others.iter().any(|dump| hashes(dump).is_some())),
    }
}

/// The client whose requests count: the first superuser.
struct Client {
    password_file: String,
}

impl Client {
    fn of(counted: &Counted) -> Result<Client, String> {
        let folder = counted.folder();
        let written = folder.join("data/initial-superuser");
        let text =
            fs::read_to_string(&written).map_err(|error| format!("cannot read {}: {error}", written.display()))?;
        let password = text.lines().find_map(|line| line.strip_prefix("password: "));
        let password = password.ok_or("the first superuser's file has no password")?;
        let file = folder.join("password");
        workspace::write(&file, password)?;
        Ok(Client { password_file: file.display().to_string() })
    }

    fn ask(&self, server: &Server, workload: Workload) -> Result<(), String> {
        let count = OPERATIONS.to_string();
        let mut arguments = vec![workload.name(), "--connections", "1", "--depth", "128", "--rows", &count];
        arguments.extend(["--operations", &count, "--username", "cassandra", "--password-file", &self.password_file]);
        load::generate(&server.address, server.child.id(), &arguments).map(drop)
    }
}

/// Clients of another host that send wrong passwords, each the next one when it has its answer.
struct Guessers {
    script: Child,
    orders: Option<ChildStdin>,
    said: BufReader<ChildStdout>,
}

impl Guessers {
    /// Starts them, and waits until each has had an answer.
    fn start(server: &Server) -> Result<Guessers, String> {
        let (ip, port) = server.address.rsplit_once(':').ok_or("the server's address has no port")?;
        let mut command = Command::new("python3");
        command.arg(workspace::root().join(Path::new(SCRIPT)));
        command.args([ip, port, "guess", &GUESSERS.to_string(), HOST]);
        let mut script = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {command:?}: {error}"))?;
        let (orders, said) = (script.stdin.take(), BufReader::new(script.stdout.take().expect("piped above")));
        let mut guessers = Guessers { script, orders, said };
        let answered = guessers.line()?;
        if answered.iter().sum::<u64>() != u64::from(GUESSERS) {
            return Err(format!("of {GUESSERS} clients that guess {answered:?} had an answer"));
        }
        Ok(guessers)
    }

    /// Counts what happens during `work`, which has the number of guesses before it.
    fn window(
        &mut self,
        counted: &Counted,
        shard: u32,
        work: impl FnOnce(&mut Guessers, u64) -> Result<(), String>,
    ) -> Result<(Window, Vec<Dump>), String> {
        counted.zero()?;
        let before = self.guesses()?;
        work(self, before)?;
        let guesses = self.guesses()? - before;
        let (mut of_shard, others): (Vec<Dump>, Vec<Dump>) =
            counted.dump()?.into_iter().partition(|dump| dump.thread == shard);
        let dump = of_shard.pop().ok_or("the shard's thread has executed nothing")?;
        Ok((Window { dump, guesses }, others))
    }

    /// Waits until so many guesses were answered.
    fn reach(&mut self, count: u64) -> Result<(), String> {
        while self.guesses()? < count {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        Ok(())
    }

    /// Guesses that were answered so far.
    fn guesses(&mut self) -> Result<u64, String> {
        let orders = self.orders.as_mut().ok_or("the clients that guess have ended")?;
        writeln!(orders, "count").map_err(|error| format!("the clients that guess have ended: {error}"))?;
        Ok(self.line()?.iter().sum())
    }

    /// The numbers of the next line.
    fn line(&mut self) -> Result<Vec<u64>, String> {
        let mut line = String::new();
        self.said.read_line(&mut line).map_err(|error| format!("the clients that guess say nothing: {error}"))?;
        let numbers: Option<Vec<u64>> = line.split_whitespace().map(|number| number.parse().ok()).collect();
        numbers.filter(|numbers| !numbers.is_empty()).ok_or_else(|| format!("the clients that guess say '{line}'"))
    }
}

impl Drop for Guessers {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(functions: &[(&str, u64)]) -> Dump {
        let functions: std::collections::BTreeMap<String, u64> =
            functions.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Dump { thread: 2, total: functions.values().sum(), functions }
    }

    #[test]
    fn functions_that_no_guess_enters_are_compared() {
        let requests = OPERATIONS;
        let alone = dump(&[("turn", 1000 * requests), ("execute", 4000 * requests)]);
        let guesses = dump(&[("turn", 500_000), ("login", 1_500_000)]);
        let beside = |execute| Window {
            dump: dump(&[("turn", 1250 * requests), ("login", 750 * requests), ("execute", execute * requests)]),
            guesses: requests / 2,
        };
        let verdict = judged(&alone, &guesses, &beside(4000));
        assert_eq!(verdict, Verdict { alone: 5000.0, part: 0.8, growth: 1.0, guesses: 0.5 });
        assert_eq!(judged(&alone, &guesses, &beside(4400)).growth, 1.1);
    }

    #[test]
    fn a_hash_on_the_shard_is_an_error() {
        let (shard, passwords) = (dump(&[("turn", 9)]), dump(&[("<bcrypt::Blowfish>::expand", 9)]));
        assert_eq!(hashes_elsewhere(&shard, std::slice::from_ref(&passwords)), Ok(true));
        assert_eq!(hashes_elsewhere(&shard, std::slice::from_ref(&shard)), Ok(false));
        assert!(hashes_elsewhere(&passwords, std::slice::from_ref(&passwords)).is_err());
    }
}
