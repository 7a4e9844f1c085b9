//! No circle of more than three files among a crate's imports, but for those on record, which only shrink.
//!
//! A file imports another if it names something that the other defines: in a `use`, or by a path outside of one. A re-export is followed to the
//! file that defines the name, and neither `mod` nor a facade's re-export of what its own modules define is an import: else each facade would
//! make one circle of all that it re-exports. Counted per crate: the files that stand in circles of more than three. Unlike the size of the largest
//! circle, that number sees a second one, and taking an import out never makes it grow.

mod graph;
mod imports;
mod resolve;

use std::collections::BTreeSet;

use self::graph::Graph;
use self::resolve::{Import, Names};
use super::Finding;
use super::modules::{Crate, crates};
use super::records::{Counts, Record};
use crate::source::Tree;

pub const RECORD: Record = Record {
    path: "xtask/circles.txt",
    head: "\
# How many files of a crate stand in import circles of more than three. The numbers only fall: `cargo xtask tidy --record` lowers them.
",
    limits: Some(&[0]),
};

/// Files in a circle that needs no line.
const FILES_MAX: usize = 3;

/// Imports that a finding names, at most.
const PLACES_MAX: usize = 5;

/// A crate's imports, and the circles that are too large.
struct Circles<'a> {
    whole: &'a Crate<'a>,
    imports: Vec<Import>,
    graph: Graph,
    found: Vec<BTreeSet<usize>>,
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let circles: Vec<Circles> = crates.iter().map(Circles::of).collect();
    RECORD.compare(tree, &counts(&circles), |name, counted, recorded| {
        let circles = circles.iter().find(|circles| circles.whole.name == name).expect("only crates are counted");
        circles.findings(tree, counted[0], recorded[0])
    })
}

/// The record with each number lowered to what is counted now.
pub fn recorded(tree: &Tree) -> Result<String, Finding> {
    let crates = crates(tree);
    let circles: Vec<Circles> = crates.iter().map(Circles::of).collect();
    RECORD.lowered(tree, &counts(&circles))
}

fn counts(circles: &[Circles]) -> Counts {
    let files = |circles: &Circles| circles.found.iter().map(BTreeSet::len).sum();
    let counts = circles.iter().map(|circles| (circles.whole.name.to_string(), vec![files(circles)]));
    counts.filter(|(_, files)| files[0] > 0).collect()
}

impl<'a> Circles<'a> {
    fn of(whole: &'a Crate<'a>) -> Circles<'a> {
        let imports = Names::of(whole).imports();
        let graph = Graph::of(whole.modules.len(), imports.iter().map(|import| (import.from, import.to)));
        let mut found = graph.circles();
        found.retain(|circle| circle.len() > FILES_MAX);
        Circles { whole, imports, graph, found }
    }

    /// Names the imports that the change adds, each with a shortest way back, or a short circle of each that is too large.
    fn findings(&self, tree: &Tree, counted: usize, recorded: usize) -> Vec<Finding> {
        let within = |import: &&Import| {
            self.found.iter().any(|circle| circle.contains(&import.from) && circle.contains(&import.to))
        };
        let path = |module: usize| self.whole.modules[module].file.path.as_str();
        let mut closing: Vec<&Import> = self.imports.iter().filter(within).collect();
        closing.sort_by_key(|import| (import.from, import.to, import.line));
        let is_added = |import: &&Import| tree.added.contains(path(import.from), import.line);
        if closing.iter().any(is_added) {
            closing.retain(|import| is_added(import));
            closing.dedup_by_key(|import| (import.from, import.to));
        } else {
            closing = self.found.iter().filter_map(|circle| self.shortest(&closing, circle)).collect();
        }
        let finding = |import: &Import| {
            let way = self.graph.way(import.to, import.from).unwrap_or_default();
            let way: Vec<&str> = way.into_iter().map(path).collect();
            let message = format!(
                "{counted} files of `{}` stand in import circles of more than {FILES_MAX}, on record are {recorded}; this import closes one: {} → {}",
                self.whole.name,
                path(import.from),
                way.join(" → ")
            );
            Finding::new(path(import.from), import.line, message)
        };
        closing.into_iter().take(PLACES_MAX).map(finding).collect()
    }

    /// The import with the shortest way back among those within a circle.
    fn shortest<'i>(&self, imports: &[&'i Import], circle: &BTreeSet<usize>) -> Option<&'i Import> {
        let within = imports.iter().filter(|import| circle.contains(&import.from));
        within.copied().min_by_key(|import| self.graph.way(import.to, import.from).map_or(usize::MAX, |way| way.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A crate of these files, `lib.rs` first, as the edges between them.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let paths: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (format!("crates/a/src/{path}.rs"), *text)).collect();
        let paths: Vec<(&str, &str)> = paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let tree = Tree::of(&paths);
        let crates = crates(&tree);
        let stem = |module: usize| {
            let path = &crates[0].modules[module].file.path["crates/a/src/".len()..];
            path.trim_end_matches(".rs").to_string()
        };
        let imports = Names::of(&crates[0]).imports();
        let edges: BTreeSet<String> =
            imports.iter().map(|import| format!("{} {}", stem(import.from), stem(import.to))).collect();
        edges.into_iter().collect()
    }

    #[test]
    fn a_name_resolves_to_the_file_that_defines_it() {
        let found = edges(&[
            ("lib", "mod door;\nmod user;\npub use door::Thing;"),
            (
                "door",
                "mod thing;\nmod more;\npub use self::thing::{Thing, part as piece};\npub use more::*;\nfn own() {}",
            ),
            ("door/thing", "pub struct Thing; pub fn part() {}"),
            ("door/more", "pub fn most() {}"),
            (
                "user",
                "use crate::Thing;\nuse crate::door;\nfn f() { door::piece(); door::own(); crate::door::most(); }",
            ),
        ]);
        assert_eq!(found, ["user door", "user door/more", "user door/thing"]);
    }

    #[test]
    fn facades_and_declarations_and_other_crates_are_no_imports() {
        let found = edges(&[
            ("lib", "mod a;\npub(crate) use a::b::B;\npub use storage::Log;"),
            ("a", "pub mod b;\nuse stdx::cursor;\nfn f() { cursor::get(); std::mem::take(x); }"),
            ("a/b", "use crate::Log;\npub struct B;"),
        ]);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn parents_and_their_imports_are_followed() {
        let found = edges(&[
            ("lib", "mod a;\nmod c;"),
            ("a", "mod b;\nuse crate::c::C;\nuse b::f;\nstruct A;"),
            ("a/b", "use super::{A, C};\nuse super::super::c;\npub fn f() { c::g() }"),
            ("c", "pub struct C; pub fn g() {}"),
        ]);
        assert_eq!(found, ["a a/b", "a c", "a/b a", "a/b c"]);
    }

    const FILES: [(&str, &str); 5] = [
        ("crates/a/src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;"),
        ("crates/a/src/a.rs", "use crate::b::B;\nstruct A;"),
        ("crates/a/src/b.rs", "use crate::c::C;\nuse crate::a::A;\nstruct B;"),
        ("crates/a/src/c.rs", "use crate::d::D;\nstruct C;"),
        ("crates/a/src/d.rs", "use crate::a::A;\nstruct D;"),
    ];

    fn with_record(record: &str) -> Tree {
        let mut files = FILES.to_vec();
        files.push((RECORD.path, record));
        Tree::of(&files)
    }

    #[test]
    fn a_circle_over_three_files_is_found_unless_it_is_on_record() {
        let found = check(&with_record(""));
        assert_eq!(found.len(), 1);
        assert!(found[0].message.ends_with("crates/a/src/a.rs → crates/a/src/b.rs → crates/a/src/a.rs"), "{found:?}");
        assert_eq!(check(&with_record("a 4\n")), []);
        assert_eq!(check(&with_record("a 5\n")).len(), 1);
        assert_eq!(recorded(&with_record("a 5\n")).expect("a record").lines().last(), Some("a 4"));
        assert_eq!(check(&Tree::of(&FILES[..4])), []);
    }

    #[test]
    fn an_added_import_is_named_with_its_way_back() {
        let mut tree = with_record("");
        tree.added = crate::added::Added::of("+++ b/crates/a/src/d.rs\n@@ -0,0 +1 @@\n+x\n", "");
        let found = check(&tree);
        assert_eq!((found.len(), found[0].path.as_str(), found[0].line), (1, "crates/a/src/d.rs", 1));
        assert!(
            found[0]
                .message
                .contains("d.rs → crates/a/src/a.rs → crates/a/src/b.rs → crates/a/src/c.rs → crates/a/src/d.rs")
        );
    }
}
