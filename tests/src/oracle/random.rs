//! Random statements: a schema, data and questions made of a seed, asked of Helenus and of a real server, and compared.
//!
//! A **course** is a script like any other, so what was answered differently is shrunk and written as a script, which `record` and
//! `replay` take as they are. The same seed makes the same course.

mod constant;
mod course;
mod expression;
mod modify;
mod select;
mod shrink;
mod table;

use std::path::PathBuf;

use crate::oracle::script::Script;
use crate::oracle::session::Session;
use crate::oracle::{Peer, root, verdict};
use crate::{Builder, Random};

/// Under which Helenus is asked: reactor and shard count, in turn.
const SUBJECTS: [(&str, u16); 2] = [("uring", 2), ("epoll", 1)];
/// More different answers than these are not looked into: they are likely one bug.
const DIFFERENCES_MAX: usize = 8;

/// Both servers' answers to a course, block by block.
struct Answers {
    helenus: Vec<Vec<String>>,
    peer: Vec<Vec<String>>,
}

impl Answers {
    /// Asks both.
    fn of(script: &Script, helenus: &mut Session, peer: &mut Session) -> Result<Answers, String> {
        Ok(Answers { helenus: helenus.run(script)?, peer: peer.run(script)? })
    }

    /// The first block that was answered differently. Where the real one stumbled over a statement the course is over: it may have done
    /// a part of it.
    fn difference(&self) -> Option<usize> {
        // What it says to the second page of groups of a table without clustering columns.
        const NO_PAGE: &str = "error ProtocolError: Invalid value for the paging state";
        let stumbled =
            |answer: &[String]| verdict::is_stumble(answer) || answer.iter().any(|line| line.starts_with(NO_PAGE));
        let end = self.peer.iter().position(|answer| stumbled(answer)).unwrap_or(self.peer.len());
        let mut both = self.peer[..end].iter().zip(&self.helenus);
        both.position(|(peer, helenus)| !is_same(peer, helenus))
    }
}

/// Whether two answers are the same but for the sign of a NaN: a sum of two NaNs has that of one or the other, as Java interprets
/// or compiles the addition.
fn is_same(peer: &[String], helenus: &[String]) -> bool {
    let unsigned = |answer: &[String]| -> Vec<String> {
        let unsigned =
            |line: &String| line.replace("NaN (0xfff8000000000000)", "NaN").replace("NaN (0xffc00000)", "NaN");
        answer.iter().map(unsigned).collect()
    };
    verdict::is_same(peer, helenus) || verdict::is_same(&unsigned(peer), &unsigned(helenus))
}

/// Runs courses until there were so many statements. Whether all were answered alike.
pub fn random(seed: &str, statements: &str, peers: &[Peer]) -> Result<bool, String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
    let (seed, statements) = (number(seed)?, number(statements)?);
    let [peer, ..] = peers else { return Err("a real server is needed".into()) };
    println!("{statements} random statements, beginning with course {seed}");
    let (mut asked, mut course, mut refused, mut differences) = (0, seed, 0, Vec::new());
    let mut peer = Session::new(&peer.address);
    let mut complaints = Vec::new();
    for at in 0_usize.. {
        if asked >= statements || differences.len() >= DIFFERENCES_MAX {
            break;
        }
        // Each part of the way is made by a server of its own, so that one that fell over does not end the run.
        let (reactor, shards) = SUBJECTS[at % SUBJECTS.len()];
        let server = Builder::new(reactor, shards).start();
        let mut helenus = Session::new(&server.address());
        let part = asked + (statements / 2).clamp(1, 5_000);
        while asked < part.min(statements) && differences.len() < DIFFERENCES_MAX {
            let script = course::generate(course);
            let answers = Answers::of(&script, &mut helenus, &mut peer)?;
            asked += script.blocks.len() as u64;
            refused +=
                answers.peer.iter().filter(|answer| answer.iter().any(|line| line.starts_with("error "))).count();
            if answers.difference().is_some() {
                let (script, answers) = shrink::shrink(&script, answers, &mut helenus, &mut peer)?;
                println!("course {course}: {}", report(&script, &answers)?);
                differences.push(course);
            }
            course += 1;
        }
        complaints.extend(server.complaints());
        println!("{asked} statements asked, {} courses answered differently", differences.len());
    }
    for complaint in &complaints {
        println!("Helenus complained: {complaint}");
    }
    println!("{asked} statements in {} courses, of which Cassandra refused {refused}", course - seed);
    let is_right = differences.is_empty() && complaints.is_empty();
    let verdict = if is_right { "ok" } else { "FAILED" };
    println!(
        "test result: {verdict}. {} passed; {} failed",
        course - seed - differences.len() as u64,
        differences.len() + complaints.len()
    );
    Ok(is_right)
}

/// Writes a shrunk course as a script, and says in words what it shows.
fn report(script: &Script, answers: &Answers) -> Result<String, String> {
    let mut written = script.clone();
    for (block, answer) in written.blocks.iter_mut().zip(&answers.peer) {
        block.answer.clone_from(answer);
    }
    let folder = found_folder();
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    written.write_to(&folder.join(&script.path))?;
    let mut text = format!("answered differently; {} has it as a script\n", folder.join(&script.path).display());
    for (at, block) in script.blocks.iter().enumerate() {
        block.head.iter().for_each(|line| text.push_str(&format!("    {line}\n")));
        if !is_same(&answers.peer[at], &answers.helenus[at]) {
            answers.peer[at].iter().for_each(|line| text.push_str(&format!("    > {line}\n")));
            answers.helenus[at].iter().for_each(|line| text.push_str(&format!("    < {line}\n")));
        }
    }
    Ok(text)
}

/// Where scripts of what was found are laid.
fn found_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("oracle-random")
}

/// Whether one of so many chances comes true.
fn chance(random: &mut Random, one_in: usize) -> bool {
    random.below(one_in) == 0
}
