//! The commands of the oracle about rings. Rings of different topologies are run one after the other.

use super::Ring;
use super::nodes::Nodes;
use super::script::RingScript;
use super::stages::{self, Outcome};
use super::topology;
use crate::oracle::commands::{Tally, VERSION, note_deviations, remark, run_all, sample};
use crate::oracle::compat::Deviations;
use crate::oracle::script::{RING_FOLDER, Script, find_in};
use crate::oracle::verdict::{self, Verdict};

/// Replays so many of a hundred scripts of each topology against Helenus. True if all is as it should be.
pub fn replay_ring(seed: &str, percent: &str, paths: &[&str]) -> Result<bool, String> {
    let deviations = Deviations::read()?;
    let mut is_right = true;
    for (topology, scripts) in by_topology(paths)? {
        let scripts = sample(scripts, number(seed)?, number(percent)?);
        let subject = format!("Helenus, {topology}");
        println!("{subject}: {} scripts, chosen by seed {seed}", scripts.len());
        let (answers, complaints) = on_helenus(&topology, &scripts)?;
        let tally = judged(&scripts, answers, |script, at, given| {
            if script.recorded.is_empty() {
                return Verdict::Wrong("was never recorded (`cargo xtask oracle ring record`)".into());
            }
            verdict::of_helenus(&script.blocks[at], given, &deviations)
        })?;
        is_right &= tally.report(&subject);
        for complaint in complaints {
            println!("{subject} complained: {complaint}");
            is_right = false;
        }
    }
    Ok(is_right)
}

/// Writes what rings of real servers answer into the files.
pub fn record_ring(rings: &[Ring], paths: &[&str]) -> Result<bool, String> {
    let (mut recorded, mut all) = (0, 0);
    for (topology, mut scripts) in by_topology(paths)? {
        let ring = of_topology(rings, &topology)?;
        let outcomes = stages::run(&mut Nodes::of_peers(ring), &of_ring(&scripts)?)?;
        all += scripts.len();
        for (script, outcome) in scripts.iter_mut().zip(outcomes) {
            match outcome {
                Err(message) => println!("not recorded: {message}\n"),
                Ok(answers) => {
                    script.recorded = recorded_by(ring);
                    script.blocks.iter_mut().zip(answers).for_each(|(block, answer)| block.answer = answer);
                    script.write()?;
                    recorded += 1;
                }
            }
        }
    }
    println!("recorded {recorded} scripts of {all}");
    Ok(recorded == all)
}

/// Asks rings of real servers again, with so many of a hundred scripts. True if they answer as they did.
pub fn check_ring(seed: &str, percent: &str, rings: &[Ring], paths: &[&str]) -> Result<bool, String> {
    let mut is_right = true;
    for (topology, scripts) in by_topology(paths)? {
        let (ring, scripts) = (of_topology(rings, &topology)?, sample(scripts, number(seed)?, number(percent)?));
        println!("re-recording {} scripts of {topology}, chosen by seed {seed}", scripts.len());
        if let Some(script) = scripts.iter().find(|script| script.recorded != recorded_by(ring)) {
            let (name, by) = (script.name(), &script.recorded);
            return Err(format!("{name} was recorded from `{by}`; the servers now are `{}`", recorded_by(ring)));
        }
        let outcomes = stages::run(&mut Nodes::of_peers(ring), &of_ring(&scripts)?)?;
        let tally = judged(&scripts, outcomes, |script, at, given| verdict::of_peer(&script.blocks[at], given, true))?;
        is_right &= tally.report(&format!("{VERSION}, {topology}"));
    }
    Ok(is_right)
}

/// Takes the mark away from each statement that Helenus answers right by now.
pub fn settle_ring(paths: &[&str]) -> Result<bool, String> {
    let deviations = Deviations::read()?;
    rewrite(paths, |script, answers| {
        remark(
            script,
            &answers,
            &deviations,
            |is_right, pending| if is_right { None } else { pending.map(String::from) },
        );
    })
}

/// Marks each statement that Helenus answers otherwise and that has no mark yet.
pub fn mark_ring(why: &str, paths: &[&str]) -> Result<bool, String> {
    let deviations = Deviations::read()?;
    rewrite(paths, |script, answers| {
        remark(script, &answers, &deviations, |is_right, pending| {
            (!is_right).then(|| pending.unwrap_or(why).to_string())
        });
    })
}

/// Notes Helenus's answers where those recorded have such words, as what that line of COMPAT.md explains.
pub fn deviate_ring(name: &str, words: &str, paths: &[&str]) -> Result<bool, String> {
    if !Deviations::read()?.holds(name) {
        return Err(format!("COMPAT.md has no line `{name}`"));
    }
    rewrite(paths, |script, answers| note_deviations(script, answers, name, words))
}

/// Has Helenus answer all scripts, and writes those that `change` has changed.
fn rewrite(paths: &[&str], change: impl Fn(&mut Script, Vec<Vec<String>>)) -> Result<bool, String> {
    for (topology, mut scripts) in by_topology(paths)? {
        let (outcomes, _) = on_helenus(&topology, &scripts)?;
        for (script, outcome) in scripts.iter_mut().zip(outcomes) {
            let before = script.clone();
            change(script, outcome?);
            if *script != before {
                println!("rewrote {}", script.name());
                script.write()?;
            }
        }
    }
    Ok(true)
}

/// Helenus's answers, and what the nodes' logs have that they must not have.
fn on_helenus(topology: &str, scripts: &[Script]) -> Result<(Vec<Outcome>, Vec<String>), String> {
    let mut nodes = Nodes::start(topology)?;
    let outcomes = stages::run(&mut nodes, &of_ring(scripts)?)?;
    Ok((outcomes, nodes.complaints()))
}

fn judged(
    scripts: &[Script],
    outcomes: Vec<Outcome>,
    judge: impl Fn(&Script, usize, &[String]) -> Verdict,
) -> Result<Tally, String> {
    let mut outcomes = outcomes.into_iter();
    run_all(scripts, |_| outcomes.next().expect("each script has an outcome"), judge)
}

/// The scripts below the paths, or all, by the topology that they are of.
fn by_topology(paths: &[&str]) -> Result<Vec<(String, Vec<Script>)>, String> {
    let scripts = find_in(RING_FOLDER, paths)?;
    let of = |topology: &str| -> Result<Vec<Script>, String> {
        let of_ring = scripts.iter().map(|script| RingScript::of(script.clone())).collect::<Result<Vec<_>, _>>()?;
        let of_ring: Vec<_> = of_ring.into_iter().filter(|script| script.topology() == topology).collect();
        let mut keyspaces: Vec<&str> = of_ring.iter().map(|script| script.keyspace.as_str()).collect();
        keyspaces.sort_unstable();
        match keyspaces.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("{topology}: two scripts have the name {}", pair[0])),
            None => Ok(of_ring.into_iter().map(|script| script.script).collect()),
        }
    };
    let mut all = Vec::new();
    for topology in topology::names()? {
        let scripts = of(&topology)?;
        if !scripts.is_empty() {
            all.push((topology, scripts));
        }
    }
    Ok(all)
}

fn of_ring(scripts: &[Script]) -> Result<Vec<RingScript>, String> {
    scripts.iter().cloned().map(RingScript::of).collect()
}

fn of_topology<'r>(rings: &'r [Ring], topology: &str) -> Result<&'r Ring, String> {
    let found = rings.iter().find(|ring| ring.topology == topology);
    found.ok_or_else(|| format!("there is no ring of real servers for {topology}"))
}

/// The servers as a file's header names them.
fn recorded_by(ring: &Ring) -> String {
    format!("{VERSION}, {} {}", ring.topology, ring.hash)
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}
