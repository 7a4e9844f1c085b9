//! Which fuzz targets there are, what each covers, and which of them a run gives new inputs.
//!
//! Every run executes every seed of every target. New inputs cost minutes, so a run of `ci` gives them to the targets whose decoders
//! changed lately, and to two more that the commit's hash chooses, so that none is left out for long. "Lately" needs nothing from outside the
//! repository: since the newest commit that is two days older than the last one. Changes land at most once a day and are made within a day.
//! A window that is too wide costs nothing but a share of the seconds.

use std::process::Command;

use crate::{process, workspace};

/// A fuzz target: `fuzz/targets/<name>.rs`.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// The name of its file and its seeds.
    pub name: &'static str,
    /// Files and folders whose code it runs, from the repository's root.
    covers: &'static [&'static str],
}

/// Every target. Which files a decoder consists of is known here alone; a test holds that no file of the formats' crates is forgotten.
pub const TARGETS: [Target; 18] = [
    Target {
        name: "access_entry",
        covers: &[
            "crates/auth/src/codec.rs",
            "crates/auth/src/codec",
            "crates/auth/src/change.rs",
            "crates/auth/src/domain.rs",
            "crates/auth/src/resource.rs",
            "crates/auth/src/resource",
            "crates/auth/src/snapshot.rs",
            "crates/auth/src/snapshot",
        ],
    },
    Target { name: "client_hello", covers: &["crates/tls/src/session.rs", "crates/tls/src/server.rs"] },
    Target { name: "cql_text", covers: &["crates/cql-syntax/src"] },
    Target {
        name: "decompression",
        covers: &["crates/cql-protocol/src/compression.rs", "crates/cql-protocol/src/compression", LIBRARIES],
    },
    Target { name: "group_messages", covers: &["crates/metadata/src/group"] },
    Target {
        name: "identity",
        covers: &["crates/tls/src/names.rs", "crates/login/src/certificates.rs", "crates/auth/src/login.rs", LIBRARIES],
    },
    Target {
        name: "index_component",
        covers: &[
            "crates/index/src/component.rs",
            "crates/index/src/component",
            "crates/index/src/heap.rs",
            "crates/index/src/pages.rs",
            "crates/index/src/postings.rs",
            "crates/index/src/postings",
            "crates/index/src/search.rs",
            "crates/index/src/search",
        ],
    },
    Target {
        name: "internode",
        covers: &[
            "crates/internode/src/frame.rs",
            "crates/internode/src/handshake.rs",
            "crates/internode/src/handshake",
            "crates/cluster/src/paxos/table.rs",
            "crates/cluster/src/replica",
            "crates/storage/src/reader/data_page.rs",
            "crates/mutation/src",
        ],
    },
    Target {
        name: "log_records",
        covers: &[
            "crates/storage/src/commitlog/format.rs",
            "crates/membership/src/request.rs",
            "crates/metadata/src/cluster/entry.rs",
            "crates/metadata/src/file",
            "crates/metadata/src/group",
            "crates/metadata/src/local",
            "crates/schema/src/codec.rs",
            "crates/schema/src/domain.rs",
            "crates/topology/src/nodes",
            "crates/mutation/src",
        ],
    },
    Target { name: "mutations", covers: &["crates/mutation/src"] },
    Target { name: "requests", covers: &["crates/cql-protocol/src"] },
    Target { name: "responses", covers: &["crates/cql-protocol/src"] },
    Target { name: "sasl", covers: &["crates/auth/src/sasl.rs", "crates/auth/src/hash.rs"] },
    Target {
        name: "segments",
        covers: &[
            "crates/cql-protocol/src/segment.rs",
            "crates/cql-protocol/src/crc.rs",
            "crates/cql-protocol/src/compression.rs",
            "crates/cql-protocol/src/compression",
        ],
    },
    Target {
        name: "sstable_data",
        covers: &[
            "crates/sstable/src/data.rs",
            "crates/sstable/src/data",
            "crates/sstable/src/deletion.rs",
            "crates/sstable/src/header.rs",
            "crates/sstable/src/marker.rs",
            "crates/sstable/src/marshal.rs",
            "crates/sstable/src/version.rs",
            "crates/mutation/src/row.rs",
            "crates/mutation/src/row",
            "crates/mutation/src/clustering.rs",
        ],
    },
    Target {
        name: "sstable_files",
        covers: &[
            "crates/sstable/src/checksum.rs",
            "crates/sstable/src/component.rs",
            "crates/sstable/src/compression.rs",
            "crates/sstable/src/compression",
            "crates/sstable/src/helenus_component.rs",
            "crates/sstable/src/toc.rs",
            "crates/sstable/src/version.rs",
            LIBRARIES,
        ],
    },
    Target {
        name: "sstable_index",
        covers: &[
            "crates/sstable/src/big.rs",
            "crates/sstable/src/big",
            "crates/sstable/src/blocks.rs",
            "crates/sstable/src/bloom.rs",
            "crates/sstable/src/bti.rs",
            "crates/sstable/src/bti",
            "crates/sstable/src/byte_comparable.rs",
            "crates/sstable/src/byte_comparable",
            "crates/sstable/src/pages.rs",
            "crates/cql-types/src/comparable.rs",
            "crates/cql-types/src/comparable",
        ],
    },
    Target {
        name: "sstable_statistics",
        covers: &[
            "crates/sstable/src/statistics.rs",
            "crates/sstable/src/statistics",
            "crates/sstable/src/header.rs",
            "crates/sstable/src/marshal.rs",
            "crates/sstable/src/version.rs",
        ],
    },
];

/// Every decoder stands on these.
const BELOW_ALL: [&str; 2] = ["crates/stdx/src/reader.rs", "crates/stdx/src/varint.rs"];
/// The compressors' versions.
const LIBRARIES: &str = "fuzz/Cargo.lock";

/// How many targets the commit's hash adds.
const TURNS: usize = 2;
/// How far back a change counts as made since the last landing.
const WINDOW_SECONDS: u64 = 48 * 3600;

impl Target {
    fn covers(&self, file: &str) -> bool {
        let own = format!("fuzz/targets/{}.rs", self.name);
        let is_below =
            |path: &&str| file.strip_prefix(*path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        file == own || self.covers.iter().chain(&BELOW_ALL).any(is_below)
    }
}

/// The targets that get new inputs for this work tree; all of them where git cannot say what changed.
pub fn due() -> Vec<&'static Target> {
    match changed_files().and_then(|changed| Ok((changed, workspace::commit_hash()?))) {
        Ok((changed, hash)) => due_for(&changed, hash),
        Err(message) => {
            println!("every fuzz target gets new inputs: {message}");
            TARGETS.iter().collect()
        }
    }
}

/// Targets that cover a changed file, and some of the others by the hash.
fn due_for(changed: &[String], hash: u64) -> Vec<&'static Target> {
    let (mut due, others): (Vec<_>, Vec<_>) =
        TARGETS.iter().partition(|target| changed.iter().any(|file| target.covers(file)));
    let first = (hash % others.len().max(1) as u64) as usize;
    due.extend(others.iter().cycle().skip(first).take(TURNS.min(others.len())));
    due
}

/// The files that differ from what they were two days before the last commit, what is not committed included.
fn changed_files() -> Result<Vec<String>, String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        process::quiet(command.args(arguments).current_dir(workspace::root()))
    };
    if git(&["rev-parse", "--is-shallow-repository"])?.trim() != "false" {
        return Err("the clone has no whole history".into());
    }
    let time = git(&["log", "-1", "--format=%ct"])?;
    let time: u64 = time.trim().parse().map_err(|_| format!("`{}` is no commit's time", time.trim()))?;
    let before = format!("--before={}", time.saturating_sub(WINDOW_SECONDS));
    // Along first parents: what a merge brought counts as of the merge.
    let base = git(&["rev-list", "-1", "--first-parent", &before, "HEAD"])?;
    if base.trim().is_empty() {
        return Err("the history is younger than two days".into());
    }
    let changed = git(&["diff", "--name-only", "--no-renames", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::source::Tree;

    fn names(targets: &[&Target]) -> BTreeSet<&'static str> {
        targets.iter().map(|target| target.name).collect()
    }

    #[test]
    fn every_file_of_targets_is_listed_and_every_path_exists() {
        let folder = std::fs::read_dir(workspace::root().join("fuzz/targets")).expect("is there");
        let files: BTreeSet<String> =
            folder.map(|entry| entry.expect("is read").file_name().to_string_lossy().into_owned()).collect();
        assert_eq!(files, TARGETS.iter().map(|target| format!("{}.rs", target.name)).collect());
        for path in TARGETS.iter().flat_map(|target| target.covers).chain(&BELOW_ALL) {
            assert!(workspace::root().join(path).exists(), "{path} is covered and does not exist");
        }
    }

    #[test]
    fn every_file_of_a_format_is_covered() {
        // Files without a decoder.
        const NO_DECODER: [&str; 2] = ["crates/sstable/src/error.rs", "crates/sstable/src/lib.rs"];
        let formats = ["cql-protocol", "cql-syntax", "mutation", "sstable"].map(|name| format!("crates/{name}/src/"));
        let tree = Tree::read(&workspace::root()).expect("the work tree is read");
        let of_formats =
            tree.rust().filter(|file| !file.is_test() && formats.iter().any(|folder| file.path.starts_with(folder)));
        for file in of_formats.filter(|file| !NO_DECODER.contains(&file.path.as_str())) {
            assert!(TARGETS.iter().any(|target| target.covers(&file.path)), "no fuzz target covers {}", file.path);
        }
    }

    #[test]
    fn a_changed_decoder_gets_new_inputs_and_two_others_take_turns() {
        let changed = ["crates/sstable/src/data/reader.rs", "docs/glossary.md"].map(String::from);
        let mut seen = BTreeSet::new();
        for hash in 0..TARGETS.len() as u64 {
            let due = due_for(&changed, hash);
            assert_eq!(due.len(), 1 + TURNS);
            assert_eq!(due[0].name, "sstable_data");
            seen.extend(names(&due));
        }
        assert_eq!(seen.len(), TARGETS.len(), "each has its turn");
    }

    #[test]
    fn some_are_due_for_this_work_tree_each_once() {
        let due = due();
        println!("{:?}", names(&due));
        assert!(due.len() >= TURNS && names(&due).len() == due.len());
    }

    #[test]
    fn what_lies_below_all_is_covered_by_all() {
        let due = due_for(&["crates/stdx/src/varint.rs".to_owned()], 5);
        assert_eq!(due.len(), TARGETS.len());
    }

    #[test]
    fn a_path_covers_itself_and_what_is_in_it_but_no_longer_name() {
        let due = due_for(&["crates/sstable/src/datalog.rs".to_owned()], 0);
        assert_eq!(due.len(), TURNS);
        let due = due_for(&["fuzz/targets/segments.rs".to_owned()], 0);
        assert_eq!(due[0].name, "segments");
    }
}
