//! When all is quiet, each node alone gives what all together give.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Sentences about what one node gives otherwise.
pub fn differences<K: Ord + Debug, V: PartialEq + Debug>(
    all: &BTreeMap<K, V>,
    node: usize,
    own: &BTreeMap<K, V>,
) -> Vec<String> {
    let mut keys: Vec<&K> = all.keys().chain(own.keys()).collect();
    keys.sort();
    keys.dedup();
    let differs = |key: &&K| all.get(key) != own.get(key);
    let told = |key: &K| format!("{key:?}: node {node} alone gives {:?}, all give {:?}", own.get(key), all.get(key));
    keys.into_iter().filter(differs).map(told).collect()
}
