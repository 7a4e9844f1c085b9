//! The words of a command line, grouped as cassandra-stress groups them: the command and what follows it, then each `-option` and
//! what follows it.
//!
//! Within a group words are told apart by what they begin with, in any case. Each may stand once. What nobody asked for when all is
//! read is refused by name: nothing is passed over in silence.

use crate::StressError;

/// An error about the command line.
pub(crate) fn refusal(reason: impl Into<String>) -> StressError {
    StressError::Arguments { reason: reason.into() }
}

/// One option and the words behind it.
#[derive(Debug)]
pub(crate) struct Group {
    /// As it was written: `write`, `-rate`.
    name: String,
    /// Those that nobody has asked for yet.
    words: Vec<String>,
}

/// All groups of a command line.
#[derive(Debug)]
pub(crate) struct Groups {
    groups: Vec<Group>,
}

impl Groups {
    /// Groups the words. A shell that takes backslashes for its own splits `replication\(strategy=S, dc1=1\)` at the space, so words are first
    /// joined around commas, equals signs and parentheses.
    pub(crate) fn of(words: &[String]) -> Result<Groups, StressError> {
        let mut groups: Vec<Group> = Vec::new();
        for word in repaired(words).split_ascii_whitespace() {
            match groups.last_mut() {
                Some(last) if !word.starts_with('-') => last.words.push(word.to_owned()),
                _ => {
                    let name = word.to_ascii_lowercase();
                    if groups.iter().any(|group| group.name == name) {
                        return Err(refusal(format!("duplicate {name}")));
                    }
                    groups.push(Group { name, words: Vec::new() });
                }
            }
        }
        Ok(Groups { groups })
    }

    /// The first group: the command.
    pub(crate) fn command(&mut self) -> Result<Group, StressError> {
        match self.groups.first() {
            Some(_) => Ok(self.groups.remove(0)),
            None => Err(refusal("no command: write, read, mixed, counter_write or counter_read")),
        }
    }

    /// An option's group, an empty one if it is not said.
    pub(crate) fn take(&mut self, name: &str) -> Group {
        match self.groups.iter().position(|group| group.name == name) {
            Some(at) => self.groups.remove(at),
            None => Group { name: name.to_owned(), words: Vec::new() },
        }
    }

    /// Whether an option is said.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.groups.iter().any(|group| group.name == name)
    }

    /// Refuses an option that is left.
    pub(crate) fn finish(self) -> Result<(), StressError> {
        match self.groups.first() {
            None => Ok(()),
            Some(Group { name, .. }) => Err(refusal(format!("unknown option {name}"))),
        }
    }
}

/// The words as one text, without spaces that only a shell has put there.
fn repaired(words: &[String]) -> String {
    let mut out = String::new();
    for word in words.iter().flat_map(|word| word.split_ascii_whitespace()) {
        let joins = word.starts_with([',', '=', '(', ')']) || out.ends_with([',', '=', '(']);
        if !joins && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

impl Group {
    /// How it was called.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What stands behind `prefix`, such as `n=`.
    pub(crate) fn value(&mut self, prefix: &str) -> Result<Option<String>, StressError> {
        let word = self.only(|word| has_prefix(word, prefix), prefix)?;
        Ok(word.map(|word| word[prefix.len()..].to_owned()))
    }

    /// What stands behind `prefix`, as whatever `parse` makes of it; `form` says what that is.
    pub(crate) fn parsed<T>(
        &mut self,
        prefix: &str,
        form: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, StressError> {
        let Some(text) = self.value(prefix)? else { return Ok(None) };
        match parse(&text) {
            Some(value) => Ok(Some(value)),
            None => Err(refusal(format!("{} {prefix}{text}: must be {form}", self.name))),
        }
    }

    /// Whether the word stands there.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, StressError> {
        Ok(self.only(|word| word.eq_ignore_ascii_case(name), name)?.is_some())
    }

    /// What stands between the parentheses of `name(…)`, cut at commas.
    pub(crate) fn call(&mut self, name: &str) -> Result<Option<Vec<String>>, StressError> {
        let prefix = format!("{name}(");
        let Some(word) = self.only(|word| has_prefix(word, &prefix), name)? else { return Ok(None) };
        match word[prefix.len()..].strip_suffix(')') {
            Some(inside) => Ok(Some(inside.split(',').map(str::to_owned).collect())),
            None => Err(refusal(format!("{} {word}: the parenthesis is not closed", self.name))),
        }
    }

    /// The one word that is neither a value nor a call, such as a list of addresses.
    pub(crate) fn bare(&mut self) -> Result<Option<String>, StressError> {
        self.only(|word| !word.contains(['=', '(']), "a single word")
    }

    /// Refuses words of cassandra-stress that are not supported here, each a prefix with its reason.
    pub(crate) fn refuse(&self, unsupported: &[(&str, &str)]) -> Result<(), StressError> {
        for (prefix, reason) in unsupported {
            if let Some(word) = self.words.iter().find(|word| has_prefix(word, prefix)) {
                return Err(refusal(format!("{} {word} is not supported: {reason}", self.name)));
            }
        }
        Ok(())
    }

    /// Refuses what is left.
    pub(crate) fn finish(self) -> Result<(), StressError> {
        match self.words.first() {
            None => Ok(()),
            Some(word) => Err(refusal(format!("{} does not take {word}", self.name))),
        }
    }

    fn only(&mut self, is_it: impl Fn(&str) -> bool, name: &str) -> Result<Option<String>, StressError> {
        let Some(at) = self.words.iter().position(|word| is_it(word)) else { return Ok(None) };
        let word = self.words.remove(at);
        if self.words.iter().any(|word| is_it(word)) {
            return Err(refusal(format!("{}: duplicate {name}", self.name)));
        }
        Ok(Some(word))
    }
}

fn has_prefix(word: &str, prefix: &str) -> bool {
    word.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(line: &[&str]) -> Groups {
        let words: Vec<String> = line.iter().map(|word| (*word).to_owned()).collect();
        Groups::of(&words).expect("is grouped")
    }

    #[test]
    fn what_a_shell_has_split_is_joined() {
        let mut groups = groups(&["write", "-schema", "replication(strategy=S,", "dc1=1", ")", "keyspace", "=", "k s"]);
        assert_eq!(groups.command().unwrap().name(), "write");
        let mut schema = groups.take("-schema");
        assert_eq!(schema.call("replication").unwrap().unwrap(), ["strategy=S", "dc1=1"]);
        assert_eq!(schema.value("KEYSPACE=").unwrap().as_deref(), Some("k"));
        assert_eq!(schema.finish().unwrap_err().to_string(), "-schema does not take s");
        groups.finish().unwrap();
    }

    #[test]
    fn what_is_twice_or_unknown_or_open_is_refused() {
        let words = ["write", "-rate", "-RATE"].map(str::to_owned);
        assert_eq!(Groups::of(&words).unwrap_err().to_string(), "duplicate -rate");
        let mut groups = groups(&["write", "n=1", "N=2", "ratio(read=1", "-what"]);
        let mut write = groups.command().unwrap();
        assert!(write.value("n=").unwrap_err().to_string().contains("duplicate"));
        assert!(write.call("ratio").unwrap_err().to_string().contains("not closed"));
        assert_eq!(groups.finish().unwrap_err().to_string(), "unknown option -what");
    }
}
