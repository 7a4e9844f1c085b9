//! Names and patterns of MBeans: `domain:key=value,key=value,*`, by the rules of `javax.management.ObjectName`.

use std::collections::BTreeMap;

/// The canonical form: keys ascend, `*` stands last. Refused in Cassandra's words.
pub(super) fn canonical(name: &str, must_be_pattern: bool) -> Result<String, String> {
    match name {
        "" => return Err("Empty JMX object name supplied".to_owned()),
        "*:*" => return Err("Please use ALL MBEANS instead of wildcard pattern".to_owned()),
        _ => {}
    }
    let parsed = ObjectName::parse(name).ok_or_else(|| format!("{name} is not a valid JMX object name"))?;
    match must_be_pattern && !parsed.is_pattern {
        true => Err(format!("Plural form used, but non-pattern JMX object name specified ({name})")),
        false => Ok(parsed.canonical()),
    }
}

struct ObjectName<'a> {
    domain: &'a str,
    properties: BTreeMap<&'a str, &'a str>,
    /// True if `*` stands for more properties.
    is_open: bool,
    /// True with a wildcard anywhere.
    is_pattern: bool,
}

impl<'a> ObjectName<'a> {
    fn parse(name: &'a str) -> Option<ObjectName<'a>> {
        let (domain, mut rest) = name.split_once(':')?;
        if domain.contains('\n') || rest.is_empty() {
            return None;
        }
        let mut parsed =
            ObjectName { domain, properties: BTreeMap::new(), is_open: false, is_pattern: domain.contains(['*', '?']) };
        loop {
            let star = rest.strip_prefix('*');
            rest = match star {
                Some(_) if parsed.is_open => return None,
                Some(after) => {
                    (parsed.is_open, parsed.is_pattern) = (true, true);
                    after
                }
                None => parsed.property(rest)?,
            };
            if rest.is_empty() {
                return Some(parsed);
            }
            rest = rest.strip_prefix(',')?;
            // In Java a comma may end the name after `*`, and only there.
            if rest.is_empty() {
                return star.map(|_| parsed);
            }
        }
    }

    /// Reads `key=value`. Gives the rest.
    fn property(&mut self, text: &'a str) -> Option<&'a str> {
        let (key, after) = text.split_once('=')?;
        if key.is_empty() || key.contains(['*', '?', ',', ':', '\n']) {
            return None;
        }
        let length = match after.starts_with('"') {
            true => quoted_length(after)?,
            false => after.find(',').unwrap_or(after.len()),
        };
        let (value, rest) = after.split_at(length);
        if !value.starts_with('"') && value.contains(['=', ':', '"', '\n']) {
            return None;
        }
        self.is_pattern |= has_wildcard(value);
        // A key has one value.
        self.properties.insert(key, value).is_none().then_some(rest)
    }

    fn canonical(&self) -> String {
        let properties = self.properties.iter().map(|(key, value)| format!("{key}={value}"));
        let all: Vec<String> = properties.chain(self.is_open.then(|| "*".to_owned())).collect();
        format!("{}:{}", self.domain, all.join(","))
    }
}

/// The length of a quoted value, in which a backslash stands before quotes, backslashes, wildcards and `n`.
fn quoted_length(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some(at + 1),
            '\n' => return None,
            '\\' => match letters.next()?.1 {
                '\\' | '"' | '?' | '*' | 'n' => {}
                _ => return None,
            },
            _ => {}
        }
    }
    None
}

/// True with a wildcard that no backslash of a quoted value stands before.
fn has_wildcard(value: &str) -> bool {
    let is_quoted = value.starts_with('"');
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' | '?' => return true,
            '\\' if is_quoted => drop(letters.next()),
            _ => {}
        }
    }
    false
}
