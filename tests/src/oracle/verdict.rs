//! Whether an answer is the one that a block says.

use crate::oracle::compat::Deviations;
use crate::oracle::script::Block;

/// What an answer amounts to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As Cassandra, or as COMPAT.md explains.
    Right,
    /// Otherwise, as the script's mark says.
    Pending(String),
    /// Neither. The message says why, with what was expected below.
    Wrong(String),
}

/// Judges what Helenus answered.
pub fn of_helenus(block: &Block, given: &[String], deviations: &Deviations) -> Verdict {
    let is_same = is_same(&block.answer, given);
    if let Some(why) = block.directive("pending") {
        return match is_same {
            false => Verdict::Pending(why.into()),
            true => Verdict::Wrong("is right now: take `@pending` away (`cargo xtask oracle settle`)".into()),
        };
    }
    let Some(expected) = &block.answer_of_helenus else {
        return if is_same { Verdict::Right } else { wrong(&block.answer, given) };
    };
    let name = block.directive("deviation").unwrap_or_default();
    if !deviations.holds(name) {
        Verdict::Wrong(format!("COMPAT.md has no line `{name}`"))
    } else if is_same {
        Verdict::Wrong("deviates no longer: take `@deviation` and the lines with `<` away".into())
    } else if expected == given {
        Verdict::Right
    } else {
        wrong(expected, given)
    }
}

/// Whether a server fell over a statement.
pub fn is_stumble(answer: &[String]) -> bool {
    const STUMBLES: [&str; 3] = ["error ServerError", "error ReadFailure", "error WriteFailure"];
    answer.iter().any(|line| STUMBLES.iter().any(|kind| line.starts_with(kind)))
}

/// Deviations of which the real server is not always guilty. A function of a `timeuuid` is made at its first call, for the first of two equal types
/// that asks: which one that is depends on the statements before.
const VARYING: [&str; 1] = ["functions of a `timeuuid`"];

/// Judges what a real server answered, under the first configuration or the second.
pub fn of_peer(block: &Block, given: &[String], is_first: bool) -> Verdict {
    let expected = match &block.answer_of_defaults {
        Some(answer) if !is_first => answer,
        _ => &block.answer,
    };
    let varies = block.directive("deviation").is_some_and(|name| VARYING.contains(&name));
    let is_as_helenus = varies && block.answer_of_helenus.as_ref().is_some_and(|answer| is_same(answer, given));
    if is_as_helenus || is_same(expected, given) { Verdict::Right } else { wrong(expected, given) }
}

fn wrong(expected: &[String], given: &[String]) -> Verdict {
    let shown = |title: &str, lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("      {line}")).collect();
        format!("    {title}\n{}", lines.join("\n"))
    };
    Verdict::Wrong(format!("answered otherwise\n{}\n{}", shown("expected", expected), shown("given", given)))
}

/// Whether Helenus's answer is the recorded one, but for the words of syntax errors and the order of functions' signatures.
pub fn is_same(recorded: &[String], given: &[String]) -> bool {
    recorded == given
        || (recorded.len() == given.len()
            && recorded.iter().zip(given).all(|(recorded, given)| {
                recorded == given
                    || is_place(recorded) && is_place(given)
                    || signatures(recorded).is_some_and(|recorded| signatures(given) == Some(recorded))
            }))
}

/// An error that lists the functions that a call might have been of: what stands before them, the functions in alphabetical order, and what
/// stands behind. The real server lists them in the order of a hash table, which is another one with each start.
fn signatures(line: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (before, rest) = line.split_once(" signatures: ")?;
    let (listed, behind) = rest.rsplit_once(')')?;
    let starts: Vec<usize> =
        std::iter::once(0).chain(listed.match_indices(", system.").map(|(at, _)| at + ", ".len())).collect();
    let ends = starts.iter().skip(1).map(|start| start - ", ".len()).chain([listed.len()]);
    let mut all: Vec<&str> = starts.iter().zip(ends).map(|(start, end)| &listed[*start..end]).collect();
    all.sort_unstable();
    Some((before, all, behind))
}

/// Whether the line is a syntax error that names a place in the text: the parser generator's words, which only people read.
fn is_place(line: &str) -> bool {
    line.starts_with("error SyntaxError: line ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str) -> Vec<String> {
        vec![line.to_string()]
    }

    #[test]
    fn a_syntax_errors_words_are_compared_where_they_are_no_place() {
        let recorded = lines("error SyntaxError: line 1:7 mismatched input 'x' (SELECT [x]...)");
        assert!(is_same(&recorded, &lines("error SyntaxError: line 1:7 no viable alternative at input 'x'")));
        assert!(!is_same(&recorded, &lines("error Invalid: line 1:7 mismatched input 'x'")));
        let other = lines("error SyntaxError: Multiple incompatible setting of column m");
        assert!(!is_same(&other, &lines("error SyntaxError: Multiple settings")));
        assert!(!is_same(&other, &recorded));
    }

    #[test]
    fn what_varies_may_be_as_helenus_answers_it() {
        let of = |name: &str, given: &str| {
            let block = Block::parse(&format!("@deviation {name}\nSELECT 1;\n> one\n< other")).expect("a block");
            of_peer(&block, &lines(given), true)
        };
        assert_eq!([of(VARYING[0], "one"), of(VARYING[0], "other")], [Verdict::Right, Verdict::Right]);
        assert!(matches!(of("x", "other"), Verdict::Wrong(_)) && matches!(of(VARYING[0], "third"), Verdict::Wrong(_)));
    }

    #[test]
    fn signatures_are_compared_in_any_order() {
        let recorded =
            lines("error Invalid: … (known type signatures: system.f : (int) -> int, system.f : (int, text) -> int)");
        let other =
            lines("error Invalid: … (known type signatures: system.f : (int, text) -> int, system.f : (int) -> int)");
        assert!(is_same(&recorded, &other));
        assert!(!is_same(&recorded, &lines("error Invalid: … (known type signatures: system.f : (int) -> int)")));
        assert!(!is_same(&recorded, &lines(&other[0].replace("f : (int) -> int)", "f : (int) -> text)"))));
    }

    #[test]
    fn a_mark_that_is_no_longer_true_is_wrong() {
        let deviations = Deviations::of("| the name | a | b |\n");
        let mut block = Block { head: lines("SELECT 1;"), answer: lines("1"), ..Block::default() };
        assert_eq!(of_helenus(&block, &lines("1"), &deviations), Verdict::Right);
        assert!(matches!(of_helenus(&block, &lines("2"), &deviations), Verdict::Wrong(_)));
        block.head.insert(0, "@pending more".into());
        assert!(matches!(of_helenus(&block, &lines("1"), &deviations), Verdict::Wrong(_)));
        assert_eq!(of_helenus(&block, &lines("2"), &deviations), Verdict::Pending("more".into()));
        block.head[0] = "@deviation the name".into();
        block.answer_of_helenus = Some(lines("2"));
        assert_eq!(of_helenus(&block, &lines("2"), &deviations), Verdict::Right);
        assert!(matches!(of_helenus(&block, &lines("1"), &deviations), Verdict::Wrong(_)));
        block.head[0] = "@deviation no such name".into();
        assert!(matches!(of_helenus(&block, &lines("2"), &deviations), Verdict::Wrong(_)));
    }
}
