//! The order of the house: a crate's manifest names only crates below it.
//!
//! The order is that of ARCHITECTURE.md's map, which begins at the ground floor and must be the same. Some crates are narrower than the order
//! says: what the map calls "knows nothing of" is a list of its own here; of the clients `stress` and `shell` have lists of all that they may see, `study` another,
//! and `doctor`, `nodetool` and `local-cluster` see none.

use super::Finding;
use crate::source::Tree;

/// From the bottom of the house to its roof.
const ORDER: [&str; 35] = [
    "planted",
    "stdx",
    "topology",
    "raft",
    "runtime",
    "tls",
    "client",
    "internode",
    "metadata",
    "membership",
    "cql-types",
    "functions",
    "cql-syntax",
    "cql-protocol",
    "cql-client",
    "schema",
    "auth",
    "login",
    "audit",
    "mutation",
    "sstable",
    "index",
    "storage",
    "cluster",
    "query",
    "server",
    "admin",
    "shell",
    "stress",
    "filetools",
    "doctor",
    "nodetool",
    "study",
    "local-cluster",
    "helenus",
];

/// Crates that lie below another, which must not know them all the same.
const FORBIDDEN: [(&str, &[&str], &str); 18] = [
    ("runtime", &["topology"], "the runtime knows nothing of databases"),
    ("tls", &["planted", "topology", "raft"], "a TLS session knows nothing of who uses it"),
    ("client", &["planted", "topology", "raft"], "a tool's access is a name and certificates, whatever is spoken"),
    (
        "internode",
        &["cql-types", "schema", "mutation", "storage"],
        "nodes exchange verbs and bytes, of whatever they speak",
    ),
    ("cql-types", &["runtime"], "values do no I/O"),
    ("functions", &["runtime"], "functions do no I/O and have no clock"),
    ("cql-syntax", &["runtime", "cql-protocol"], "the parser does no I/O"),
    ("cql-protocol", &["runtime", "cql-syntax"], "frames are bytes, not sockets"),
    ("schema", &["runtime", "metadata", "cql-protocol"], "a schema change is a pure function"),
    ("auth", &["runtime", "metadata", "cql-protocol"], "a change of access is a pure function"),
    ("login", &["metadata", "cql-protocol", "schema"], "a hash is computed for a name and a password, whoever asks"),
    ("index", &["runtime", "metadata", "cql-syntax", "cql-protocol"], "terms and postings are bytes and values"),
    (
        "audit",
        &["metadata", "cql-protocol", "schema", "login"],
        "an entry is a text and a name, whoever answers the request",
    ),
    (
        "storage",
        &["metadata", "cql-syntax", "cql-protocol"],
        "the engine knows neither CQL text nor frames, and is given what the metadata log says",
    ),
    ("cluster", &["cql-syntax", "cql-protocol"], "replicas exchange mutations, not CQL"),
    ("server", &["cql-syntax", "mutation", "storage", "cluster"], "the server carries requests and plans none"),
    ("admin", &["storage", "cluster", "query", "server"], "what operators ask knows nothing of the shards' insides"),
    (
        "filetools",
        &["cluster", "query", "server"],
        "the file tools write files as the engine does, and need no server, or see one as a client does",
    ),
];

/// All that the load generator may see: a client's view, and the floor it runs on.
const STRESS_SEES: [&str; 6] = ["stdx", "runtime", "tls", "client", "cql-types", "cql-protocol"];

/// All that the shell may see: what a client sees, and the words of the language for completion and history.
const SHELL_SEES: [&str; 7] = ["stdx", "tls", "client", "cql-types", "cql-syntax", "cql-protocol", "cql-client"];

/// All that studies may see: how a host is examined, how a date is written, and how a process' account is read.
const STUDY_SEES: [&str; 3] = ["stdx", "cql-types", "doctor"];

/// The page with the map.
const MAP: &str = "ARCHITECTURE.md";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = tree.file(MAP).and_then(|map| wrong_map(&map.text)).into_iter().collect::<Vec<_>>();
    for file in &tree.files {
        let Some(name) = file.path.strip_prefix("crates/").and_then(|path| path.strip_suffix("/Cargo.toml")) else {
            continue;
        };
        // Tests that are a package of their own may see what they like.
        if name.ends_with("/tests") {
            continue;
        }
        let Some(place) = ORDER.iter().position(|entry| *entry == name) else {
            findings.push(Finding::new(
                &file.path,
                0,
                format!("crate `{name}` has no place in the house: add it to tidy's order and to ARCHITECTURE.md"),
            ));
            continue;
        };
        for (line, dependency) in dependencies(&file.text) {
            if let Some(reason) = refusal(name, place, dependency) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("`{name}` must not depend on `{dependency}`: {reason}"),
                ));
            }
        }
    }
    findings
}

/// The map's first crate that stands elsewhere than in the order here.
fn wrong_map(map: &str) -> Option<Finding> {
    let rows = map.lines().enumerate().filter_map(|(index, line)| {
        let (name, rest) = line.strip_prefix("| [`")?.split_once("`](crates/")?;
        rest.starts_with(&format!("{name})")).then_some((index + 1, name))
    });
    let mut order = ORDER.iter().copied();
    for (line, name) in rows {
        let expected = order.next();
        if expected != Some(name) {
            let expected = expected.unwrap_or("nothing");
            return Some(Finding::new(
                MAP,
                line,
                format!("`{name}` stands where the order of the crates has `{expected}`"),
            ));
        }
    }
    order.next().map(|missing| Finding::new(MAP, 0, format!("the map lacks `{missing}`")))
}

fn refusal(name: &str, place: usize, dependency: &str) -> Option<String> {
    let other = ORDER.iter().position(|entry| *entry == dependency)?;
    if other >= place {
        return Some("dependencies point down the house only".into());
    }
    if name == "stress" && !STRESS_SEES.contains(&dependency) {
        return Some("the load generator sees what a client sees".into());
    }
    if name == "shell" && !SHELL_SEES.contains(&dependency) {
        return Some("the shell sees what a client sees".into());
    }
    if name == "doctor" {
        return Some("the doctor looks at a host, and no part of a node is needed for that".into());
    }
    if name == "nodetool" {
        return Some("nodetool knows a node by its HTTP alone".into());
    }
    if name == "study" && !STUDY_SEES.contains(&dependency) {
        return Some("a study knows a server by its answers and a load by its report".into());
    }
    if name == "local-cluster" {
        return Some("a cluster on one machine knows a node by its command line and its HTTP alone".into());
    }
    let (_, _, reason) = FORBIDDEN.iter().find(|(who, what, _)| *who == name && what.contains(&dependency))?;
    Some((*reason).to_string())
}

/// Names under `[dependencies]`, with their lines. A crate's tests may look anywhere, so `[dev-dependencies]` are left out.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            inside = section == "dependencies" || section.ends_with(".dependencies");
            if let Some((before, name)) = section.rsplit_once("dependencies.")
                && (before.is_empty() || before.ends_with('.'))
            {
                found.push((index + 1, normal(name)));
            }
        } else if inside && !line.starts_with('#') {
            let end = line.find(['.', '=', ' ']).unwrap_or(0);
            if end > 0 {
                found.push((index + 1, normal(&line[..end])));
            }
        }
    }
    found
}

/// The crate's noun, whether a manifest names it by noun or by package.
fn normal(name: &str) -> &str {
    let name = name.trim_matches('"');
    name.strip_prefix("helenus-").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(manifest: (&str, &str)) -> Vec<String> {
        check(&Tree::of(&[manifest])).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_dependency_up_the_house_is_found() {
        let found = messages((
            "crates/storage/Cargo.toml",
            "[dependencies]\nruntime.workspace = true\nquery = { path = \"../query\" }\n",
        ));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("`query`"), "{found:?}");
    }

    #[test]
    fn forbidden_pairs_and_whole_sections_are_found() {
        assert_eq!(messages(("crates/server/Cargo.toml", "[dependencies]\nstorage.workspace = true\n")).len(), 1);
        assert_eq!(messages(("crates/stress/Cargo.toml", "[dependencies.schema]\nworkspace = true\n")).len(), 1);
        assert_eq!(messages(("crates/doctor/Cargo.toml", "[dependencies]\nstdx.workspace = true\n")).len(), 1);
        assert_eq!(messages(("crates/nodetool/Cargo.toml", "[dependencies]\nstdx.workspace = true\n")).len(), 1);
        assert_eq!(
            messages(("crates/local-cluster/Cargo.toml", "[dependencies]\nnodetool.workspace = true\n")).len(),
            1
        );
        assert_eq!(
            messages(("crates/stdx/Cargo.toml", "[target.'cfg(unix)'.dependencies]\nhelenus-runtime = \"1\"\n")).len(),
            1
        );
    }

    #[test]
    fn a_map_in_another_order_is_found() {
        let row = |name: &str| format!("| [`{name}`](crates/{name}) | room | nothing |\n");
        let map = ORDER.map(row).concat() + "| [`uPlot`](crates/admin/console) | charts |\n";
        let found = |map: &str| messages((MAP, map));
        assert_eq!(found(&map), Vec::<String>::new());
        assert!(found(&map.replace(&row("helenus"), ""))[0].contains("lacks `helenus`"));
        let swapped = map.replace(&row("raft"), "").replace(&row("runtime"), &(row("runtime") + &row("raft")));
        assert!(found(&swapped)[0].contains("`runtime` stands where the order of the crates has `raft`"));
    }

    #[test]
    fn an_unknown_crate_is_found_and_tests_may_look_anywhere() {
        assert_eq!(messages(("crates/utils/Cargo.toml", "")).len(), 1);
        assert!(messages(("crates/stdx/Cargo.toml", "[dev-dependencies]\nserver.workspace = true\n")).is_empty());
    }
}
