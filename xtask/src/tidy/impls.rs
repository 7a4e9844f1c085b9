//! No type with more than 40 methods of its own, nor with inherent impls in more than 4 files, but for those on record, which only shrink.
//!
//! A type whose methods lie in many files is one object cut in slices: each slice sees all fields. Parts that own their fields are smaller.
//! Impls of traits and test modules do not count. Types of the same name in one crate are kept apart by the file that declares them: the one
//! nearest to the impl.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::modules::{Crate, Token, crates};
use super::records::{Counts, Record};
use crate::source::Tree;

const METHODS_MAX: usize = 40;
const FILES_MAX: usize = 4;

pub const RECORD: Record = Record {
    path: "xtask/impls.txt",
    head: "\
# Types with more than 40 methods of their own, or with inherent impls in more than 4 files: methods, files; a number within its limit stands as
# the limit. The numbers only fall: `cargo xtask tidy --record` lowers them.
",
    limits: Some(&[METHODS_MAX, FILES_MAX]),
};

/// The inherent impls of one type.
#[derive(Default)]
struct Methods<'a> {
    count: usize,
    /// The files, each with the line of its first impl.
    files: BTreeMap<&'a str, usize>,
}

/// An inherent impl.
struct Impl<'a> {
    type_name: &'a str,
    methods: usize,
    line: usize,
}

pub fn check(tree: &Tree) -> Vec<Finding> {
    let crates = crates(tree);
    let types = types(&crates);
    RECORD.compare(tree, &counts(&types), |name, _, recorded| {
        let files = &types[name].files;
        let added = files.iter().find(|(path, _)| tree.added.touches(path));
        let (path, line) = added.or_else(|| files.iter().next()).expect("a type is counted by its impls");
        let message = format!(
            "`{name}` has {} methods of its own in {} files, and may have {} in {}: give a part its fields and a type of its own",
            types[name].count, files.len(), recorded[0], recorded[1]
        );
        vec![Finding::new(path, *line, message)]
    })
}

/// The record with each number lowered to what is counted now.
pub fn recorded(tree: &Tree) -> Result<String, Finding> {
    RECORD.lowered(tree, &counts(&types(&crates(tree))))
}

/// Types over a limit; the number that is within its limit stands as that.
fn counts(types: &BTreeMap<String, Methods>) -> Counts {
    let over = types.iter().filter(|(_, methods)| methods.count > METHODS_MAX || methods.files.len() > FILES_MAX);
    over.map(|(name, methods)| (name.clone(), vec![methods.count.max(METHODS_MAX), methods.files.len().max(FILES_MAX)]))
        .collect()
}

fn types<'a>(crates: &[Crate<'a>]) -> BTreeMap<String, Methods<'a>> {
    let mut types: BTreeMap<String, Methods> = BTreeMap::new();
    for whole in crates {
        let declared = declarations(whole);
        for (index, module) in whole.modules.iter().enumerate() {
            for each in impls(&module.tokens) {
                let owner = declared.get(each.type_name).and_then(|owners| nearest(whole, owners, index));
                let owner = owner.unwrap_or(index);
                let name = format!("{}::{}", whole.path(owner), each.type_name);
                let methods = types.entry(name).or_default();
                methods.count += each.methods;
                methods.files.entry(&module.file.path).or_insert(each.line);
            }
        }
    }
    types
}

/// Which modules declare a type, by its name.
fn declarations<'a>(whole: &Crate<'a>) -> BTreeMap<&'a str, BTreeSet<usize>> {
    let mut declared: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, module) in whole.modules.iter().enumerate() {
        for pair in module.tokens.windows(2).filter(|pair| matches!(pair[0].text, "struct" | "enum" | "union")) {
            declared.entry(pair[1].text).or_default().insert(index);
        }
    }
    declared
}

/// The module among these that shares the longest path with `at`.
fn nearest(whole: &Crate, owners: &BTreeSet<usize>, at: usize) -> Option<usize> {
    let shared = |owner: usize| {
        let (owner, at) = (whole.path(owner), whole.path(at));
        owner.split("::").zip(at.split("::")).take_while(|(a, b)| a == b).count()
    };
    owners.iter().copied().max_by_key(|&owner| shared(owner))
}

/// The inherent impls of a file.
fn impls<'a>(tokens: &[Token<'a>]) -> Vec<Impl<'a>> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        // Elsewhere it is a type: `-> impl Trait`.
        let begins_item = at == 0 || matches!(tokens[at - 1].text, "}" | "{" | ";" | "]" | "unsafe");
        if token.text != "impl" || !begins_item {
            continue;
        }
        let Some((type_name, body)) = header(tokens, at + 1) else { continue };
        found.push(Impl { type_name, methods: methods(&tokens[body..]), line: token.line });
    }
    found
}

/// The type that the impl whose head begins at `at` is of, and where its body begins; nothing if it is of a trait.
fn header<'a>(tokens: &[Token<'a>], at: usize) -> Option<(&'a str, usize)> {
    let (mut depth, mut name) = (0_usize, None);
    let mut in_bounds = false;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "<" => depth += 1,
            ">" if tokens[index - 1].text != "-" => depth = depth.saturating_sub(1),
            "{" if depth == 0 => return Some((name?, index)),
            "for" if depth == 0 && !in_bounds => return None,
            "where" => in_bounds = true,
            _ if depth == 0 && !in_bounds && token.is_word() => name = Some(token.text),
            _ => {}
        }
    }
    None
}

/// How many functions stand directly in the body that `tokens` begins with.
fn methods(tokens: &[Token]) -> usize {
    let (mut depth, mut count) = (0_usize, 0);
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            "fn" if depth == 1 && tokens.get(index + 1).is_some_and(Token::is_word) => count += 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[("crates/a/src/lib.rs", code)]);
        types(&crates(&tree)).into_iter().map(|(name, methods)| (name, methods.count)).collect()
    }

    #[test]
    fn inherent_impls_are_counted_and_those_of_traits_and_tests_are_not() {
        let code = "struct A; struct B;
            impl<T: Fn() -> u8> super::A<T> where for<'a> T: 'a { fn f(&self) { fn inner() {} } pub const fn g(h: fn(u8)) {} }
            impl From<B> for A<B> { fn from(b: B) -> A { b } }
            fn free() -> impl Iterator { x }
            #[cfg(test)] impl A { fn of_tests() {} }
            impl B { fn f() {} }";
        assert_eq!(of(code), [("a::A".into(), 2), ("a::B".into(), 1)]);
    }

    #[test]
    fn types_of_one_name_are_told_apart() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;\nmod two;"),
            ("crates/a/src/one.rs", "mod part;\nstruct Reader;"),
            ("crates/a/src/one/part.rs", "impl Reader { fn f() {} }"),
            ("crates/a/src/two.rs", "struct Reader;\nimpl Reader { fn f() {} }"),
        ]);
        let names: Vec<String> = types(&crates(&tree)).into_keys().collect();
        assert_eq!(names, ["a::one::Reader", "a::two::Reader"]);
    }

    fn found(methods: usize, files: usize, record: &str) -> usize {
        let names: Vec<String> = (0..files).map(|index| format!("part{index}")).collect();
        let paths: Vec<String> = names.iter().map(|name| format!("crates/a/src/{name}.rs")).collect();
        let root = names.iter().map(|name| format!("mod {name};\n")).collect::<String>() + "struct A;\n";
        let first = format!("impl A {{ {} }}", "fn f() {}\n".repeat(methods));
        let mut all = vec![("crates/a/src/lib.rs", root.as_str()), (RECORD.path, record), (paths[0].as_str(), &first)];
        all.extend(paths[1..].iter().map(|path| (path.as_str(), "impl A {}")));
        check(&Tree::of(&all)).len()
    }

    #[test]
    fn a_giant_is_found_unless_it_is_on_record_and_the_record_must_fit() {
        assert_eq!([found(40, 4, ""), found(41, 4, ""), found(40, 5, "")], [0, 1, 1]);
        assert_eq!([found(41, 3, "a::A 41 4\n"), found(42, 3, "a::A 41 4\n"), found(41, 5, "a::A 41 4\n")], [0, 1, 1]);
        assert_eq!([found(41, 3, "a::A 42 4\n"), found(40, 4, "a::A 42 4\n")], [1, 1]);
    }
}
