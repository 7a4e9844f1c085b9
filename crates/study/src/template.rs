//! Lines with variables: `{name}`, `{name*3}`, `{name/4}`, `{name*other}`.
//!
//! A brace that no name follows is a brace, so that CQL's maps need no escapes.

use std::collections::BTreeMap;

use crate::StudyError;

/// A value may hold variables of its own, this deep.
const DEPTH_MAX: usize = 8;

/// What names stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Variables {
    values: BTreeMap<String, String>,
}

impl Variables {
    pub(crate) fn of(values: BTreeMap<String, String>) -> Variables {
        Variables { values }
    }

    /// The same, and one more.
    pub(crate) fn with(&self, name: &str, value: impl ToString) -> Variables {
        let mut more = self.clone();
        more.values.insert(name.to_owned(), value.to_string());
        more
    }

    /// The line with each variable's value.
    pub(crate) fn fill(&self, line: &str) -> Result<String, StudyError> {
        self.fill_within(line, DEPTH_MAX).map_err(|reason| StudyError::Variable { line: line.to_owned(), reason })
    }

    /// Whether a line, or the value of a variable in it, has that variable.
    pub(crate) fn mentions(&self, line: &str, name: &str) -> bool {
        self.mentions_within(line, name, DEPTH_MAX)
    }

    fn mentions_within(&self, line: &str, name: &str, depth: usize) -> bool {
        let terms = line.split('{').skip(1).filter_map(variable).map(|(term, _)| term);
        let mut names = terms.flat_map(|term| [Some(term.name), term.factor.map(|(_, factor)| factor)]).flatten();
        names.any(|found| {
            let inside = self.values.get(found).filter(|_| depth > 0);
            found == name || inside.is_some_and(|value| self.mentions_within(value, name, depth - 1))
        })
    }

    fn fill_within(&self, line: &str, depth: usize) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            match variable(after) {
                Some((term, behind)) => {
                    out.push_str(&self.value(&term, depth)?);
                    rest = behind;
                }
                None => {
                    out.push('{');
                    rest = after;
                }
            }
        }
        Ok(out + rest)
    }

    fn value(&self, term: &Term<'_>, depth: usize) -> Result<String, String> {
        let Some((sign, factor)) = term.factor else { return self.value_of(term.name, depth) };
        let number = self.number(term.name, depth)?;
        let factor = match is_name(factor) {
            true => self.number(factor, depth)?,
            false => factor.parse().expect("what is no name was found to be a number"),
        };
        match sign {
            '*' => Ok((number * factor).to_string()),
            _ if factor == 0.0 => Err(format!("{{{}/0}}", term.name)),
            _ => Ok((number / factor).floor().to_string()),
        }
    }

    fn number(&self, name: &str, depth: usize) -> Result<f64, String> {
        let value = self.value_of(name, depth)?;
        value.parse().map_err(|_| format!("{{{name}}} is `{value}`, not a number"))
    }

    fn value_of(&self, name: &str, depth: usize) -> Result<String, String> {
        let Some(value) = self.values.get(name) else {
            return Err(format!("{{{name}}} has no value; set it with --set {name}=…"));
        };
        if depth == 0 {
            return Err(format!("{{{name}}} refers to itself"));
        }
        self.fill_within(value, depth - 1)
    }
}

/// What stands between two braces.
struct Term<'a> {
    name: &'a str,
    /// What its value is multiplied or divided by: a number, or the name of another variable.
    factor: Option<(char, &'a str)>,
}

/// The variable behind an opening brace, and what is behind it.
fn variable(text: &str) -> Option<(Term<'_>, &str)> {
    let (inside, behind) = text.split_once('}')?;
    let end = inside.find(['*', '/']).unwrap_or(inside.len());
    let (name, rest) = inside.split_at(end);
    if !is_name(name) {
        return None;
    }
    let mut letters = rest.chars();
    let factor = letters.next().map(|sign| (sign, letters.as_str()));
    let is_factor = |factor: &str| is_name(factor) || factor.parse::<f64>().is_ok();
    factor.is_none_or(|(_, factor)| is_factor(factor)).then_some((Term { name, factor }, behind))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(line: &str) -> Result<String, String> {
        let pairs = [("level", "12"), ("stress", "{helenus} stress"), ("helenus", "/bin/h"), ("circle", "{circle}")];
        let values = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Variables::of(values.into()).fill(line).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_filled_and_other_braces_stay() {
        assert_eq!(filled("{stress} n={level*1000} -rate {level}").unwrap(), "/bin/h stress n=12000 -rate 12");
        assert_eq!(filled("{level/5} {level*0.5} {level*level}").unwrap(), "2 6 144");
        let cql = "--with \"compaction = {'class': 'X'}\" {} {a b} { \\(range\\)";
        assert_eq!(filled(cql).unwrap(), cql);
    }

    #[test]
    fn what_a_line_mentions_is_found_in_values_too() {
        let values = [("load", "--node {node} {measure}"), ("circle", "{circle}")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = Variables::of(values.into());
        assert!(variables.mentions("x {load}", "measure") && variables.mentions("{level*5}", "level"));
        assert!(variables.mentions("{level*load}", "measure"));
        assert!(!variables.mentions("x {load}", "level") && !variables.mentions("{circle}", "measure"));
    }

    #[test]
    fn what_has_no_value_is_an_error() {
        assert!(filled("{nothing}").unwrap_err().contains("--set nothing="));
        assert!(filled("{circle}").unwrap_err().contains("refers to itself"));
        assert!(filled("{helenus*2}").unwrap_err().contains("not a number"));
        assert!(filled("{level*helenus}").unwrap_err().contains("{helenus} is"));
        assert!(filled("{level/nothing}").unwrap_err().contains("--set nothing="));
        assert!(filled("{level/0}").is_err());
    }
}
