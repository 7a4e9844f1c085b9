//! What the oracle can be told to do.

use std::collections::BTreeMap;

use crate::oracle::Peer;
use crate::oracle::compat::Deviations;
use crate::oracle::script::Script;
use crate::oracle::suite::Suite;
use crate::oracle::verdict::{self, Verdict};
use crate::{Part, Random};

/// Under which Helenus is replayed: reactor and shard count.
const SUBJECTS: [(&str, u16); 2] = [("uring", 1), ("epoll", 2)];
/// The version that is the oracle; the jars are pinned to it.
pub(super) const VERSION: &str = "Cassandra 5.0.6";

/// What a run over scripts came to.
#[derive(Default)]
pub(super) struct Tally {
    statements: usize,
    deviations: usize,
    pending: BTreeMap<String, usize>,
    wrong_scripts: usize,
    right_scripts: usize,
}

/// Replays a part of the scripts against Helenus. True if all is as it should be.
pub fn replay(suite: Suite, part: Part, paths: &[&str]) -> Result<bool, String> {
    let scripts: Vec<Script> = part.of(suite.scripts(paths)?).collect();
    let deviations = Deviations::read()?;
    let mut is_right = true;
    for (reactor, shards) in SUBJECTS {
        let subject = format!("Helenus on {reactor} with {shards} shards");
        let server = suite.helenus(reactor, shards).start();
        let mut session = suite.session(&server.address());
        let tally = run_all(
            &scripts,
            |script| session.run(script),
            |script, at, given| {
                if script.recorded.is_empty() {
                    return Verdict::Wrong("was never recorded (`cargo xtask oracle record`)".into());
                }
                verdict::of_helenus(&script.blocks[at], given, &deviations)
            },
        )?;
        is_right &= tally.report(&subject);
        for complaint in server.complaints() {
            println!("{subject} complained: {complaint}");
            is_right = false;
        }
    }
    Ok(is_right)
}

/// Asks real servers again, on so many of a hundred scripts. Whether they answer as they did.
pub fn check(suite: Suite, seed: &str, percent: &str, peers: &[Peer], paths: &[&str]) -> Result<bool, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let (seed, percent) = (number(seed)?, number(percent)?);
    let scripts = sample(suite.scripts(paths)?, seed, percent);
    println!("re-recording {} scripts, chosen by seed {seed}", scripts.len());
    for script in &scripts {
        if script.recorded != recorded_by(peers) {
            return Err(format!(
                "{} was recorded from `{}`; the servers now are `{}`",
                script.name(),
                script.recorded,
                recorded_by(peers)
            ));
        }
    }
    let tallies = in_parallel(peers, |at, peer| {
        let mut session = suite.session(&peer.address);
        let ask = |script: &Script| {
            for _ in 1..TIMES_ASKED_MAX {
                let answers = session.run(script)?;
                if !has_stumbled(script, &answers) {
                    return Ok(answers);
                }
                println!("{}: asked once more, for the real server stumbled over it", script.name());
            }
            session.run(script)
        };
        run_all(&scripts, ask, |script, block, given| verdict::of_peer(&script.blocks[block], given, at == 0))
    })?;
    let mut is_right = true;
    for (tally, peer) in tallies.iter().zip(peers) {
        is_right &= tally.report(&format!("{VERSION}, {}", peer.configuration));
    }
    Ok(is_right)
}

/// How often a real server is asked a script that it stumbles over.
const TIMES_ASKED_MAX: usize = 6;

/// Whether a real server fell over a statement that it is known to answer: a read right behind a schema change sees a half of it at times.
fn has_stumbled(script: &Script, answers: &[Vec<String>]) -> bool {
    let mut both = script.blocks.iter().zip(answers);
    both.any(|(block, given)| verdict::is_stumble(given) && !verdict::is_stumble(&block.answer))
}

/// Writes what real servers answer into the files. A second server's answers are kept where they are others. A script that cannot be run
/// stays as it is, and the others are recorded.
pub fn record(suite: Suite, peers: &[Peer], paths: &[&str]) -> Result<bool, String> {
    let mut scripts = suite.scripts(paths)?;
    let answers = in_parallel(peers, |_, peer| {
        let mut session = suite.session(&peer.address);
        Ok(scripts.iter().map(|script| session.run(script)).collect::<Vec<_>>())
    })?;
    let (first, second) = match &answers[..] {
        [only] if suite == Suite::Guarded => (only, only),
        [first, second] if suite == Suite::Open => (first, second),
        _ => return Err("one server for each configuration is needed".into()),
    };
    let (mut recorded, mut differing) = (0, 0);
    for ((script, first), second) in scripts.iter_mut().zip(first).zip(second) {
        let (first, second) = match (first, second) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(message), _) | (_, Err(message)) => {
                println!("not recorded: {message}\n");
                continue;
            }
        };
        script.recorded = recorded_by(peers);
        for ((block, first), second) in script.blocks.iter_mut().zip(first).zip(second) {
            block.answer.clone_from(first);
            block.answer_of_defaults = (first != second).then(|| second.clone());
            differing += usize::from(first != second);
        }
        script.write()?;
        recorded += 1;
    }
    println!("recorded {recorded} scripts of {}; {differing} answers depend on the configuration", scripts.len());
    Ok(recorded == scripts.len())
}

/// Takes the mark away from each statement that Helenus answers right by now.
pub fn settle(suite: Suite, paths: &[&str]) -> Result<bool, String> {
    rewrite_marks(suite, paths, |is_right, pending| if is_right { None } else { pending.map(String::from) })
}

/// Marks each statement that Helenus answers otherwise and that has no mark yet.
pub fn mark(suite: Suite, why: &str, paths: &[&str]) -> Result<bool, String> {
    rewrite_marks(suite, paths, |is_right, pending| {
        if is_right { None } else { Some(pending.map_or_else(|| why.to_string(), String::from)) }
    })
}

/// Notes that Helenus answers otherwise on purpose, for each statement whose recorded answer has `words` in it and that Helenus answers
/// otherwise: its answer, and the line of COMPAT.md that explains it.
pub fn deviate(suite: Suite, name: &str, words: &str, paths: &[&str]) -> Result<bool, String> {
    let mut scripts = suite.scripts(paths)?;
    let deviations = Deviations::read()?;
    if !deviations.holds(name) {
        return Err(format!("COMPAT.md has no line `{name}`"));
    }
    let server = suite.helenus(SUBJECTS[0].0, SUBJECTS[0].1).start();
    let mut session = suite.session(&server.address());
    for script in &mut scripts {
        let before = script.clone();
        let answers = session.run(script)?;
        note_deviations(script, answers, name, words);
        if *script != before {
            println!("rewrote {}", script.name());
            script.write()?;
        }
    }
    Ok(true)
}

/// Gives each statement the mark that `choose` makes of whether it is right and of the mark that it has.
fn rewrite_marks(
    suite: Suite,
    paths: &[&str],
    choose: impl Fn(bool, Option<&str>) -> Option<String>,
) -> Result<bool, String> {
    let mut scripts = suite.scripts(paths)?;
    let deviations = Deviations::read()?;
    let server = suite.helenus(SUBJECTS[0].0, SUBJECTS[0].1).start();
    let mut session = suite.session(&server.address());
    for script in &mut scripts {
        let before = script.clone();
        let answers = session.run(script)?;
        remark(script, &answers, &deviations, &choose);
        if *script != before {
            println!("rewrote {}", script.name());
            script.write()?;
        }
    }
    Ok(true)
}

/// Runs the scripts one after the other, judges each answer and prints what is wrong.
pub(super) fn run_all(
    scripts: &[Script],
    mut ask: impl FnMut(&Script) -> Result<Vec<Vec<String>>, String>,
    judge: impl Fn(&Script, usize, &[String]) -> Verdict,
) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for script in scripts {
        let answers = ask(script)?;
        let mut is_right = true;
        for (at, given) in answers.iter().enumerate().filter(|(at, _)| !script.blocks[*at].is_comment()) {
            tally.statements += 1;
            match judge(script, at, given) {
                Verdict::Right => tally.deviations += usize::from(script.blocks[at].answer_of_helenus.is_some()),
                Verdict::Pending(why) => *tally.pending.entry(why).or_default() += 1,
                Verdict::Wrong(message) => {
                    is_right = false;
                    println!("{}: {message}\n    {}\n", script.name(), script.blocks[at].head.join("\n    "));
                }
            }
        }
        if is_right {
            tally.right_scripts += 1;
        } else {
            tally.wrong_scripts += 1;
        }
    }
    Ok(tally)
}

impl Tally {
    /// Prints the sums; whether nothing was wrong. The last line is what the runner of the phases counts.
    pub(super) fn report(&self, subject: &str) -> bool {
        let pending: usize = self.pending.values().sum();
        println!(
            "{subject}: {} statements, of which {} deviate as COMPAT.md says and {pending} are pending",
            self.statements, self.deviations
        );
        for (why, count) in &self.pending {
            println!("  pending: {count:4}  {why}");
        }
        let verdict = if self.wrong_scripts == 0 { "ok" } else { "FAILED" };
        println!("test result: {verdict}. {} passed; {} failed", self.right_scripts, self.wrong_scripts);
        self.wrong_scripts == 0
    }
}

/// What a file's header says of its servers.
pub fn recorded_by(peers: &[Peer]) -> String {
    let peers = peers.iter().map(|peer| format!("{} {}", peer.configuration, peer.hash));
    std::iter::once(VERSION.to_string()).chain(peers).collect::<Vec<_>>().join(", ")
}

/// So many of a hundred scripts, at least one.
pub(super) fn sample(mut scripts: Vec<Script>, seed: u64, percent: u64) -> Vec<Script> {
    let mut random = Random::new(seed);
    let all = scripts.len();
    let wanted = (all * usize::try_from(percent).expect("a percentage")).div_ceil(100).max(1);
    while scripts.len() > wanted {
        scripts.swap_remove(random.below(scripts.len()));
    }
    scripts.sort_by(|a, b| a.path.cmp(&b.path));
    scripts
}

/// Gives each statement that Helenus was asked the mark that `choose` makes of whether it is right and of the mark that it has.
pub(super) fn remark(
    script: &mut Script,
    answers: &[Vec<String>],
    deviations: &Deviations,
    choose: impl Fn(bool, Option<&str>) -> Option<String>,
) {
    for (block, given) in script.blocks.iter_mut().zip(answers).filter(|(block, _)| !block.is_comment()) {
        let pending = block.directive("pending").map(String::from);
        block.set_pending(None);
        let is_right = verdict::of_helenus(block, given, deviations) == Verdict::Right;
        let chosen = choose(is_right, pending.as_deref());
        block.set_pending(chosen.as_deref());
    }
}

/// Notes Helenus's answer to each statement whose recorded answer has `words` in it and that Helenus answers otherwise.
pub(super) fn note_deviations(script: &mut Script, answers: Vec<Vec<String>>, name: &str, words: &str) {
    for (block, given) in script.blocks.iter_mut().zip(answers).filter(|(block, _)| !block.is_comment()) {
        let is_meant = block.answer.iter().any(|line| line.contains(words)) && block.answer_of_helenus.is_none();
        if is_meant && !verdict::is_same(&block.answer, &given) {
            block.set_pending(None);
            block.set_deviation(name);
            block.answer_of_helenus = Some(given);
        }
    }
}

/// Lets each server work on a thread of its own.
fn in_parallel<T: Send>(
    peers: &[Peer],
    work: impl Fn(usize, &Peer) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = peers.iter().enumerate().map(|(at, peer)| scope.spawn(move || work(at, peer))).collect();
        threads.into_iter().map(|thread| thread.join().map_err(|_| "a thread panicked".to_string())?).collect()
    })
}
