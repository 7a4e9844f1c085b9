//! The crates of the tree, each as its modules: the files that `mod` declarations reach from its root, test modules left out.

use std::collections::HashMap;

use crate::source::{SourceFile, Tree};

/// A crate's product modules.
pub struct Crate<'a> {
    /// The folder's name: `storage`.
    pub name: &'a str,
    /// The root first.
    pub modules: Vec<Module<'a>>,
}

/// A module that is a file.
pub struct Module<'a> {
    pub name: &'a str,
    pub file: &'a SourceFile,
    pub tokens: Vec<Token<'a>>,
    /// The module that declares it; none at the root.
    pub parent: Option<usize>,
    pub children: Vec<usize>,
}

/// A word of code, `::`, or another character.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    pub text: &'a str,
    /// From one.
    pub line: usize,
}

impl Token<'_> {
    pub fn is_word(&self) -> bool {
        self.text.starts_with(|first: char| first.is_alphanumeric() || first == '_')
    }
}

/// All crates whose code is not tests: a root is `lib.rs`, or `main.rs` where there is none.
pub fn crates(tree: &Tree) -> Vec<Crate<'_>> {
    let files: HashMap<&str, &SourceFile> = tree.rust().map(|file| (file.path.as_str(), file)).collect();
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        let (folder, is_root) = match file.path.rsplit_once("/src/") {
            Some((folder, "lib.rs")) => (folder, true),
            Some((folder, "main.rs")) => (folder, !files.contains_key(format!("{folder}/src/lib.rs").as_str())),
            _ => continue,
        };
        if is_root {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            let mut whole = Crate { name, modules: Vec::new() };
            whole.add("", file, None, &files);
            found.push(whole);
        }
    }
    found
}

impl<'a> Crate<'a> {
    fn add(
        &mut self,
        name: &'a str,
        file: &'a SourceFile,
        parent: Option<usize>,
        files: &HashMap<&str, &'a SourceFile>,
    ) -> usize {
        let tokens = tokens(file.product_code());
        let index = self.modules.len();
        let declared = declared(&tokens);
        self.modules.push(Module { name, file, tokens, parent, children: Vec::new() });
        let folder = folder(&file.path);
        for child in declared {
            let paths = [format!("{folder}/{child}.rs"), format!("{folder}/{child}/mod.rs")];
            if let Some(file) = paths.iter().find_map(|path| files.get(path.as_str())) {
                let child = self.add(child, file, Some(index), files);
                self.modules[index].children.push(child);
            }
        }
        index
    }

    /// The module's path: `storage::shard`.
    pub fn path(&self, module: usize) -> String {
        match self.modules[module].parent {
            Some(parent) => format!("{}::{}", self.path(parent), self.modules[module].name),
            None => self.name.to_string(),
        }
    }

    /// The child of that name.
    pub fn child(&self, module: usize, name: &str) -> Option<usize> {
        self.modules[module].children.iter().copied().find(|&child| self.modules[child].name == name)
    }

    /// True if `module` lies below `above`.
    pub fn is_below(&self, module: usize, above: usize) -> bool {
        std::iter::successors(self.modules[module].parent, |&at| self.modules[at].parent).any(|at| at == above)
    }
}

/// The folder in which a file's child modules lie.
fn folder(path: &str) -> &str {
    let is_in_its_folder = ["/lib.rs", "/main.rs", "/mod.rs"].iter().any(|name| path.ends_with(name));
    if is_in_its_folder { path.rsplit_once('/').map_or("", |(folder, _)| folder) } else { path.trim_end_matches(".rs") }
}

/// Names of `mod name;`.
fn declared<'a>(tokens: &[Token<'a>]) -> Vec<&'a str> {
    let declarations = tokens.windows(3).filter(|window| window[0].text == "mod" && window[2].text == ";");
    declarations.map(|window| window[1].text).collect()
}

/// The tokens of code in which comments and strings are blank.
fn tokens(code: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    for (index, text) in code.lines().enumerate() {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let word = rest.iter().take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'_').count();
            let length = match rest[0] {
                _ if word > 0 => word,
                b':' if rest.get(1) == Some(&b':') => 2,
                _ => text[at..].chars().next().map_or(1, char::len_utf8),
            };
            if rest[0] != b' ' {
                found.push(Token { text: &text[at..at + length], line: index + 1 });
            }
            at += length;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_what_declarations_reach_without_tests() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod one;\npub mod two;\n#[cfg(test)]\nmod twins;\nmod inline { fn f() {} }"),
            ("crates/a/src/one.rs", "mod part;"),
            ("crates/a/src/one/part.rs", ""),
            ("crates/a/src/two/mod.rs", "mod part;"),
            ("crates/a/src/two/part.rs", ""),
            ("crates/a/src/twins.rs", ""),
            ("crates/a/src/main.rs", "mod other;"),
            ("tests/src/lib.rs", "mod one;"),
        ]);
        let crates = crates(&tree);
        assert_eq!(crates.len(), 1);
        let paths: Vec<&str> =
            crates[0].modules.iter().map(|module| &module.file.path["crates/a/src/".len()..]).collect();
        assert_eq!(paths, ["lib.rs", "one.rs", "one/part.rs", "two/mod.rs", "two/part.rs"]);
        let part = crates[0].child(3, "part").expect("a child");
        assert!(crates[0].is_below(part, 3) && crates[0].is_below(part, 0) && !crates[0].is_below(part, 1));
    }

    #[test]
    fn tokens_are_words_paths_and_marks() {
        let found: Vec<&str> = tokens("use a_1::{B};\n  é->x").iter().map(|token| token.text).collect();
        assert_eq!(found, ["use", "a_1", "::", "{", "B", "}", ";", "é", "-", ">", "x"]);
    }
}
