//! Patterns of MBeans' names: which names one applies to, by the rules of `javax.management.ObjectName.apply`.
//!
//! A grant keeps a pattern in its canonical form: `domain:key=value,…,*`. `*` stands for any letters and `?` for one, in the domain and in values; as the
//! last property `*` stands for more properties. Not here: the check of a name's form, which the parser of statements makes.

use std::collections::BTreeMap;

/// A name or pattern in its parts.
struct Parts<'a> {
    domain: &'a str,
    properties: BTreeMap<&'a str, &'a str>,
    /// True if `*` stands for more properties.
    is_open: bool,
}

/// True if the pattern applies to the name. A name applies to itself, and a text that is no name to nothing.
pub(crate) fn applies(pattern: &str, name: &str) -> bool {
    let (Some(pattern), Some(name)) = (Parts::of(pattern), Parts::of(name)) else { return false };
    let is_value = |(key, value): (&&str, &&str)| name.properties.get(key).is_some_and(|known| matches(value, known));
    matches(pattern.domain, name.domain)
        && (pattern.is_open || pattern.properties.len() == name.properties.len())
        && pattern.properties.iter().all(is_value)
}

impl<'a> Parts<'a> {
    fn of(name: &'a str) -> Option<Parts<'a>> {
        let (domain, mut rest) = name.split_once(':')?;
        let mut parts = Parts { domain, properties: BTreeMap::new(), is_open: false };
        while !rest.is_empty() {
            let length = match rest.split_once("=\"") {
                Some((key, quoted)) if !key.contains(',') => key.len() + 2 + quoted_length(quoted)?,
                _ => rest.find(',').unwrap_or(rest.len()),
            };
            let (property, after) = rest.split_at(length);
            match property.split_once('=') {
                Some((key, value)) => drop(parts.properties.insert(key, value)),
                None if property == "*" => parts.is_open = true,
                None => return None,
            }
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        Some(parts)
    }
}

/// The length of a quoted value after its first quote, the last one included.
fn quoted_length(text: &str) -> Option<usize> {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some(at + 1),
            '\\' => drop(letters.next()),
            _ => {}
        }
    }
    None
}

/// True if the wildcards of the pattern can stand for what the text has. In a quoted value a backslash takes a wildcard's meaning, in pattern and name
/// alike.
fn matches(pattern: &str, text: &str) -> bool {
    let is_quoted = pattern.starts_with('"');
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Of the last `*` the place after it, and the text's letter from which on the rest is tried. An earlier one need not be tried again.
    let mut star: Option<(usize, usize)> = None;
    while of < text.len() {
        let escaped = is_quoted && pattern.get(at) == Some(&'\\');
        if escaped && pattern.get(at..at + 2).is_some_and(|pair| text.get(of..of + 2) == Some(pair)) {
            (at, of) = (at + 2, of + 2);
        } else if !escaped && pattern.get(at) == Some(&'*') {
            star = Some((at + 1, of));
            at += 1;
        } else if !escaped && pattern.get(at).is_some_and(|letter| *letter == '?' || *letter == text[of]) {
            (at, of) = (at + 1, of + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, of) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_apply_to_the_names_that_java_applies_them_to() {
        let service = "org.apache.cassandra.db:type=StorageService";
        let table = "org.apache.cassandra.db:keyspace=ks,table=t,type=Tables";
        for (pattern, name) in [
            (service, service),
            ("org.apache.cassandra.db:*", service),
            ("org.apache.cassandra.*:*", service),
            ("*:type=Storage*", service),
            ("org.apache.cassandra.d?:type=*", service),
            ("*:type=StorageService,*", service),
            ("*:type=?torage*ce", service),
            ("org.apache.cassandra.db:keyspace=ks,*", table),
            ("org.apache.cassandra.db:keyspace=*,table=t,type=Tables", table),
            ("*:type=T*,*", table),
            ("d:a=\"x,*\",b=1", "d:a=\"x,y=z\",b=1"),
            ("d:a=\"\\**\"", "d:a=\"\\*x\""),
        ] {
            assert!(applies(pattern, name), "{pattern} on {name}");
        }
        for (pattern, name) in [
            ("org.apache.cassandra.net:*", service),
            ("org.apache.cassandra:*", service),
            ("org.apache.cassandra.db?:*", service),
            ("*:type=storage*", service),
            ("*:type=StorageService?", service),
            ("*:type=*", table),
            ("*:type=Tables,scope=*,*", table),
            ("*:key*=ks,*", table),
            ("d:a=\"\\*\"", "d:a=\"x\""),
            ("d:a=\"\\**\"", "d:a=\"x\\*\""),
            ("no name", service),
            ("", service),
            ("*:*", "no name"),
        ] {
            assert!(!applies(pattern, name), "{pattern} on {name}");
        }
    }

    #[test]
    fn many_wildcards_take_no_long_time() {
        let name = format!("d:a={}", "x".repeat(1000));
        assert!(!applies(&format!("d:a={}y", "*x".repeat(400)), &name));
    }
}
