//! The nearest known name of a misspelt one.

/// The candidate with the smallest edit distance to `name`, unless even that is so far off that naming it would mislead:
/// at most a third of the name's length may differ.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    candidates
        .map(|candidate| (distance(&lower, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= (name.len() / 3).max(2))
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance between two names, in bytes: insertions, deletions and replacements.
fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.bytes().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, r) in right.bytes().enumerate() {
            let replaced = diagonal + usize::from(l != r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn nearest_name() {
        let names = ["commitlog_sync", "commitlog_sync_period", "rpc_address"];
        assert_eq!(nearest("comitlog_sync", names.into_iter()), Some("commitlog_sync"));
        assert_eq!(nearest("rpc-address", names.into_iter()), Some("rpc_address"));
        assert_eq!(nearest("RPC_Adress", names.into_iter()), Some("rpc_address"));
        assert_eq!(nearest("colour", names.into_iter()), None);
    }
}
