//! One door to the outside world, and nothing shared between shards.
//!
//! Product crates reach files, sockets, clocks, randomness and threads through `runtime` alone, so that the same code runs on a
//! simulated one; and hold no state that two simulated shards in one thread would share. clippy's `disallowed-methods`
//! says the same of resolved paths; this check also sees macros, statics, imports and types.

use super::Finding;
use crate::source::{SourceFile, Tree, has_word};

struct Ban {
    words: &'static [&'static str],
    instead: &'static str,
}

const BANS: [Ban; 9] = [
    Ban {
        words: &["Instant::now", "SystemTime::now", "SystemTime", "std::time::Instant"],
        instead: "ask the Runtime handle for the time",
    },
    Ban {
        words: &["std::fs", "fs::File", "File::open(", "File::create("],
        instead: "open files through the Runtime handle",
    },
    Ban {
        words: &[
            "std::net::TcpListener",
            "std::net::TcpStream",
            "std::net::UdpSocket",
            "TcpListener::bind(",
            "TcpStream::connect(\"",
        ],
        instead: "listen and connect through the Runtime handle",
    },
    Ban {
        words: &["std::thread", "thread::spawn", "thread::sleep", "thread::park"],
        instead: "spawn and sleep through the Runtime handle",
    },
    Ban {
        words: &["thread_local!", "static mut", "OnceLock", "LazyLock", "lazy_static!"],
        instead: "pass the value: simulated shards share a thread",
    },
    Ban {
        words: &[
            "RandomState",
            "HashMap::new(",
            "HashSet::new(",
            "HashMap::with_capacity(",
            "HashSet::with_capacity(",
            "HashMap::from(",
            "HashSet::from(",
        ],
        instead: "a BTreeMap, or a HashMap with an explicit BuildHasherDefault: iteration order must not depend on a random seed",
    },
    Ban {
        words: &[
            "Arc",
            "Mutex",
            "RwLock",
            "Condvar",
            "std::sync::atomic",
            "AtomicBool",
            "AtomicU8",
            "AtomicU16",
            "AtomicU32",
            "AtomicU64",
            "AtomicUsize",
            "AtomicI64",
            "std::sync::mpsc",
        ],
        instead: "Rc and Cell within a shard, a mesh between shards",
    },
    Ban {
        words: &["thread_rng", "rand::", "getrandom", "ThreadRng"],
        instead: "ask the Runtime handle for random numbers",
    },
    Ban { words: &["std::process::exit", "process::exit", "process::abort"], instead: "return an error to main" },
];

/// A place that may use some of the words, and why.
struct Allowed {
    path: &'static str,
    words: &'static [&'static str],
    reason: &'static str,
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    check_with(tree, &ALLOWED)
}

fn check_with(tree: &Tree, allowed: &[Allowed]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used = vec![false; allowed.len()];
    for file in tree.rust().filter(|file| file.is_product()) {
        check_file(file, allowed, &mut used, &mut findings);
    }
    for (entry, used) in allowed.iter().zip(used) {
        if !used && tree.paths.iter().any(|path| path.starts_with("crates/")) {
            findings.push(Finding::new(
                "xtask/src/tidy/banned_calls.rs",
                0,
                format!("`{}` no longer needs its exemption ({}): take it out", entry.path, entry.reason),
            ));
        }
    }
    findings
}

fn check_file(file: &SourceFile, allowed: &[Allowed], used: &mut [bool], findings: &mut Vec<Finding>) {
    for (index, line) in file.product_code().lines().enumerate() {
        for ban in &BANS {
            let Some(word) =
                ban.words.iter().find(|word| has_word(line, word)).copied().or_else(|| default_map(line, ban))
            else {
                continue;
            };
            let exemption = allowed
                .iter()
                .position(|entry| file.path.starts_with(entry.path) && entry.words.contains(&ban.words[0]));
            match exemption {
                Some(entry) => used[entry] = true,
                None => findings.push(Finding::new(&file.path, index + 1, format!("`{word}`: {}", ban.instead))),
            }
        }
    }
}

/// A map or set type that leaves its hasher to the default, which is randomly seeded.
fn default_map(line: &str, ban: &Ban) -> Option<&'static str> {
    let hashers = ban.words[0] == "RandomState";
    let found = |name: &str, parameters: usize| {
        has_word(line, name)
            && line.match_indices(name).any(|(at, _)| type_parameters(&line[at + name.len() - 1..]) == Some(parameters))
    };
    (hashers && (found("HashMap<", 2) || found("HashSet<", 1))).then_some("a map with the default hasher")
}

/// The number of parameters of the list that `text` begins with, when it ends on the same line.
fn type_parameters(text: &str) -> Option<usize> {
    let (mut depth, mut count) = (0_usize, 1);
    for character in text.chars() {
        match character {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(count);
                }
            }
            ',' if depth == 1 => count += 1,
            _ => {}
        }
    }
    None
}

/// Named by the first word of the ban that is lifted.
const ALLOWED: [Allowed; 16] = [
    Allowed {
        path: "crates/runtime/",
        words: &["Instant::now", "std::fs", "std::net::TcpListener", "std::thread", "Arc", "thread_rng"],
        reason: "the one door: this is where the outside world is touched",
    },
    Allowed {
        path: "crates/stdx/src/spsc",
        words: &["Arc"],
        reason: "the ring between two shards is the one thing that they share",
    },
    Allowed {
        path: "crates/stdx/src/marks.rs",
        words: &["thread_local!"],
        reason: "marks are counted per world, and a world is a thread; product builds have neither",
    },
    Allowed {
        path: "crates/tls/src/",
        words: &["Arc"],
        reason: "rustls holds its settings by Arc; a session takes one when it begins, and none on the way of a request",
    },
    Allowed {
        path: "crates/admin/",
        words: &["std::net::TcpListener", "Arc", "Instant::now"],
        reason: "operators are answered by tokio on a thread of its own, beside the shards: no simulated shard is there",
    },
    Allowed {
        path: "crates/helenus/src/logging.rs",
        words: &["Arc"],
        reason: "the level of the process' log is asked for and changed from that thread",
    },
    Allowed {
        path: "crates/helenus/src/config/",
        words: &["std::fs"],
        reason: "the configuration and what the machine has are read before any shard runs",
    },
    Allowed {
        path: "crates/audit/src/folder.rs",
        words: &["std::fs"],
        reason: "a thread beside the shards writes these files; no simulated shard is there",
    },
    Allowed {
        path: "crates/audit/src/threads.rs",
        words: &["Instant::now"],
        reason: "the same thread names its files by the wall clock",
    },
    Allowed {
        path: "crates/doctor/src/host/",
        words: &["Instant::now", "std::fs"],
        reason: "the doctor looks at a host; no shard runs in it, and nothing of it is simulated",
    },
    Allowed {
        path: "crates/nodetool/src/http.rs",
        words: &["Instant::now"],
        reason: "a client on no shard, whose snapshots are named by the time",
    },
    Allowed {
        path: "crates/nodetool/src/access.rs",
        words: &["std::fs", "Arc"],
        reason: "a client on no shard, whose certificates and password are read before it connects",
    },
    Allowed {
        path: "crates/shell/src/",
        words: &["Instant::now", "std::fs", "std::net::TcpListener", "std::thread", "Arc"],
        reason: "a client on no shard, which waits for its user or for its server and does nothing beside that",
    },
    Allowed {
        path: "crates/stress/src/driver/",
        words: &["Instant::now", "std::fs", "std::thread", "Arc"],
        reason: "loads through a driver run on tokio, as a user's client does; no shard runs in them, and nothing of them is simulated",
    },
    Allowed {
        path: "crates/study/src/",
        words: &["Instant::now", "SystemTime", "SystemTime::now", "std::fs", "std::thread", "std::net::TcpListener"],
        reason: "a study starts servers and waits for them; no shard runs in it, and nothing of it is simulated",
    },
    Allowed {
        path: "crates/local-cluster/src/",
        words: &["Instant::now", "std::fs", "std::thread", "std::net::TcpListener"],
        reason: "it starts nodes and waits for them; no shard runs in it, and nothing of it is simulated",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, line: &str) -> usize {
        check_with(&Tree::of(&[(path, line)]), &[]).len()
    }

    #[test]
    fn each_ban_bites() {
        for line in [
            "let t = Instant::now();",
            "use std::fs::File;",
            "std::net::TcpListener::bind(a)",
            "std::thread::spawn(f)",
            "thread_local! { }",
            "static mut X: u8 = 0;",
            "static X: OnceLock<u8> = OnceLock::new();",
            "let m: HashMap<u8, Vec<(u8, u8)>> = HashMap::default();",
            "let m = HashMap::new();",
            "let s: HashSet<u8> = x;",
            "use std::sync::Arc;",
            "x: AtomicU64,",
            "rand::random()",
        ] {
            assert_eq!(found("crates/query/src/plan.rs", line), 1, "{line}");
        }
    }

    #[test]
    fn tests_comments_and_own_hashers_pass() {
        assert_eq!(
            found(
                "crates/query/src/plan.rs",
                "// Instant::now\nlet m: HashMap<u8, u8, Hasher> = x; let a = \"std::fs\";"
            ),
            0
        );
        assert_eq!(found("crates/query/src/plan.rs", "#[cfg(test)]\nmod tests { use std::fs; }"), 0);
        assert_eq!(found("crates/query/src/plan/tests.rs", "use std::fs;"), 0);
        assert_eq!(found("xtask/src/main.rs", "use std::fs;"), 0);
    }

    #[test]
    fn an_exemption_lifts_its_ban_only_and_must_be_needed() {
        let allowed = [Allowed { path: "crates/runtime/", words: &["std::fs"], reason: "" }];
        let tree = Tree::of(&[("crates/runtime/src/file.rs", "use std::fs;\nuse std::sync::Arc;")]);
        assert_eq!(check_with(&tree, &allowed).len(), 1);
        let tree = Tree::of(&[("crates/runtime/src/file.rs", "use std::io;")]);
        assert_eq!(check_with(&tree, &allowed).len(), 1);
    }
}
