//! Tests of which a change runs a third, by its commit's hash: all of them are long, and of one kind. A soak runs all.
//!
//! Those of the other samples are left out by the test runner, so that its counts say what ran.

use std::collections::BTreeSet;

use crate::built::TestBinary;
use crate::drivers::sample::Sample;
use crate::process;

/// Test binaries, and prefixes of their long tests, which are dealt out to the samples in turn.
const SAMPLED: [(&str, &[&str]); 3] = [
    // The phase `simulation` looks at more images of each course in every run.
    ("sim suites", &["images_"]),
    ("sim sequences", &[""]),
    ("tests recovery", &["clusters::jepsen::", "clusters::operations::", "clusters::replication::"]),
];

/// Arguments for the runner of a binary, which leave out the long tests of other samples.
pub fn arguments(binary: &TestBinary, sample: Sample) -> Result<Vec<String>, String> {
    let name = binary.name();
    let (Some((_, prefixes)), Sample::Third(_)) = (SAMPLED.iter().find(|(of, _)| *of == name), sample) else {
        return Ok(Vec::new());
    };
    let listed = process::quiet(binary.command().args(["--list", "--format=terse"]))?;
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    let left_out = left_out(&tests, prefixes, sample).map_err(|message| format!("{name}: {message}"))?;
    Ok(left_out.into_iter().flat_map(|test| ["--skip".to_owned(), test.to_owned()]).collect())
}

/// The tests of other samples.
fn left_out<'t>(tests: &[&'t str], prefixes: &[&str], sample: Sample) -> Result<BTreeSet<&'t str>, String> {
    let mut left_out = BTreeSet::new();
    for prefix in prefixes {
        let long = tests.iter().copied().filter(|test| test.starts_with(prefix));
        let (others, own): (Vec<_>, Vec<_>) = long.zip(0..).partition(|(_, place)| !sample.has(*place));
        if own.is_empty() {
            return Err(format!("no test of this sample begins with `{prefix}`"));
        }
        left_out.extend(others.into_iter().map(|(test, _)| test));
    }
    // The runner leaves out each test whose name holds one that is to be left out.
    let is_lost = |test: &&&str| !left_out.contains(**test) && left_out.iter().any(|other| test.contains(other));
    match tests.iter().find(is_lost) {
        Some(test) => Err(format!("the name of {test} holds the name of another test")),
        None => Ok(left_out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TESTS: [&str; 6] = ["a::five", "a::four", "a::one", "a::three", "a::two", "b::one"];

    #[test]
    fn three_samples_have_each_long_test_once_and_each_other_test_always() {
        let runs = |number| {
            let left_out = left_out(&TESTS, &["a::"], Sample::Third(number)).expect("they can be dealt out");
            TESTS.into_iter().filter(|test| !left_out.contains(test)).collect::<Vec<_>>()
        };
        assert_eq!(runs(0), ["a::five", "a::three", "b::one"]);
        assert_eq!(runs(1), ["a::four", "a::two", "b::one"]);
        assert_eq!(runs(2), ["a::one", "b::one"]);
        assert_eq!(left_out(&TESTS, &["a::"], Sample::All), Ok(BTreeSet::new()));
    }

    #[test]
    fn a_prefix_without_tests_is_refused() {
        assert!(left_out(&TESTS, &["c::"], Sample::Third(0)).is_err());
    }

    #[test]
    fn a_test_that_the_runner_would_leave_out_by_its_name_is_refused() {
        let tests = ["a::set", "a::set_of_two"];
        assert!(left_out(&tests, &["a::"], Sample::Third(0)).is_ok());
        assert!(left_out(&tests, &["a::"], Sample::Third(1)).expect_err("loses one").contains("a::set_of_two"));
    }
}
