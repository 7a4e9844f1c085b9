//! A course that was answered differently, made as short as it can be and still shows that.

use crate::oracle::random::Answers;
use crate::oracle::script::Script;
use crate::oracle::session::Session;

/// More runs are not worth their time.
const RUNS_MAX: usize = 150;

/// Leaves out blocks, half of them first and single ones at last, as long as the last one is answered differently.
pub fn shrink(
    script: &Script,
    answers: Answers,
    helenus: &mut Session,
    peer: &mut Session,
) -> Result<(Script, Answers), String> {
    let mut shortest = (script.clone(), answers);
    cut(&mut shortest);
    let mut runs = 0;
    let mut length = shortest.0.blocks.len() / 2;
    while length > 0 && runs < RUNS_MAX {
        let mut start = 0;
        while start + 1 < shortest.0.blocks.len() && runs < RUNS_MAX {
            let end = (start + length).min(shortest.0.blocks.len() - 1);
            let mut shorter = shortest.0.clone();
            shorter.blocks.drain(start..end);
            runs += 1;
            let answers = Answers::of(&shorter, helenus, peer)?;
            if answers.difference().is_some() {
                shortest = (shorter, answers);
                cut(&mut shortest);
            } else {
                start = end;
            }
        }
        length /= 2;
    }
    Ok(shortest)
}

/// Nothing behind the first difference is needed.
fn cut((script, answers): &mut (Script, Answers)) {
    let end = answers.difference().map_or(script.blocks.len(), |at| at + 1);
    script.blocks.truncate(end);
    answers.helenus.truncate(end);
    answers.peer.truncate(end);
}
