//! `/proc/self/limits`: what the kernel grants this process.

/// A limit; none is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) soft: Option<u64>,
    pub(crate) hard: Option<u64>,
}

/// The limit with that name, as `Max open files`.
pub(crate) fn limit(text: &str, name: &str) -> Option<Limit> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut words = rest.split_whitespace();
    let mut next = || match words.next()? {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(Limit { soft: next()?, hard: next()? })
}

/// The value as the kernel writes it.
pub(crate) fn print_limit(value: Option<u64>) -> String {
    value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string())
}
