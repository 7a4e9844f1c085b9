//! The names of its crate that a file uses: its `use` declarations, and paths outside of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::modules::Token;

/// The names that one file uses and makes.
#[derive(Default)]
pub struct Imports<'a> {
    /// Names that `use` declarations bind.
    pub bindings: BTreeMap<&'a str, Binding<'a>>,
    /// Modules that are imported with `*`.
    pub globs: Vec<Binding<'a>>,
    /// Paths outside of `use`, with the lines where they stand.
    pub paths: Vec<(Vec<&'a str>, usize)>,
    /// Names of items.
    pub items: BTreeSet<&'a str>,
}

/// A name's path.
pub struct Binding<'a> {
    pub path: Vec<&'a str>,
    pub is_public: bool,
    pub line: usize,
}

const ITEMS: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];

impl<'a> Imports<'a> {
    pub fn of(tokens: &[Token<'a>]) -> Imports<'a> {
        let mut imports = Imports::default();
        let mut at = 0;
        while at < tokens.len() {
            let next = tokens.get(at + 1);
            if tokens[at].text == "use" && next.is_some_and(|next| next.text != "<") {
                let is_public = at > 0 && matches!(tokens[at - 1].text, "pub" | ")");
                let mut reader = UseReader { tokens, at: at + 1, is_public, imports: &mut imports };
                reader.tree(&mut Vec::new());
                at = reader.at.max(at + 1);
            } else if let Some(next) = next
                && ITEMS.contains(&tokens[at].text)
                && next.is_word()
            {
                // `const fn f`: the second word is the item's kind.
                imports.items.insert(next.text);
                at += if ITEMS.contains(&next.text) { 1 } else { 2 };
            } else if tokens[at].is_word() {
                at = imports.path(tokens, at);
            } else {
                at += 1;
            }
        }
        imports
    }

    /// Reads the path that begins at `at`; returns where it ends.
    fn path(&mut self, tokens: &[Token<'a>], at: usize) -> usize {
        let mut path = vec![tokens[at].text];
        let mut end = at + 1;
        while let [colons, word, ..] = &tokens[end..]
            && colons.text == "::"
            && word.is_word()
        {
            path.push(word.text);
            end += 2;
        }
        // `::name` and `<T>::name` go on from elsewhere, and a path that begins with a type says no more than the type's own import.
        let is_begun = at > 0 && matches!(tokens[at - 1].text, "::" | ".");
        if path.len() > 1 && !is_begun && path[0].starts_with(|first: char| first.is_lowercase()) {
            self.paths.push((path, tokens[at].line));
        }
        end
    }
}

/// Reads one `use` declaration.
struct UseReader<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    is_public: bool,
    imports: &'t mut Imports<'a>,
}

impl<'a> UseReader<'_, 'a> {
    fn text(&self) -> &'a str {
        self.tokens.get(self.at).map_or(";", |token| token.text)
    }

    /// One path, with the lists that it ends in.
    fn tree(&mut self, prefix: &mut Vec<&'a str>) {
        let depth = prefix.len();
        loop {
            match self.text() {
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(), "}" | ";") {
                        self.tree(prefix);
                        self.at += usize::from(self.text() == ",");
                    }
                    self.at += 1;
                    break;
                }
                "*" => {
                    let glob = self.binding(prefix);
                    self.imports.globs.push(glob);
                    self.at += 1;
                    break;
                }
                "::" => self.at += 1,
                ";" | "," | "}" => break,
                word => {
                    // `a::{self}` binds `a`.
                    if word != "self" || prefix.is_empty() {
                        prefix.push(word);
                    }
                    self.at += 1;
                    if self.text() != "::" {
                        self.bind(prefix);
                        break;
                    }
                }
            }
        }
        prefix.truncate(depth);
    }

    /// Binds the path's last word, or what stands after `as`.
    fn bind(&mut self, path: &[&'a str]) {
        let mut name = path.last().copied().unwrap_or_default();
        if self.text() == "as" {
            self.at += 1;
            name = self.text();
            self.at += 1;
        }
        let binding = self.binding(path);
        self.imports.bindings.insert(name, binding);
    }

    fn binding(&self, path: &[&'a str]) -> Binding<'a> {
        let line = self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.line);
        Binding { path: path.to_vec(), is_public: self.is_public, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Tree;
    use crate::tidy::modules::crates;

    #[test]
    fn lists_renamings_and_stars_are_read() {
        let code = "use crate::a::{self, B, c::{D as E, f}};\npub use self::g::*;\npub(crate) use super::H;\nuse std::io as _;";
        let tree = Tree::of(&[("crates/a/src/lib.rs", code)]);
        let crates = crates(&tree);
        let imports = Imports::of(&crates[0].modules[0].tokens);
        let of = |name: &str| imports.bindings[name].path.join("::");
        assert_eq!(
            [of("a"), of("B"), of("E"), of("f")],
            ["crate::a", "crate::a::B", "crate::a::c::D", "crate::a::c::f"]
        );
        assert!(imports.bindings["H"].is_public && !imports.bindings["B"].is_public);
        assert_eq!((imports.bindings["H"].line, imports.globs[0].path.join("::")), (3, "self::g".into()));
    }

    #[test]
    fn paths_and_items_are_read() {
        let code = "fn f(a: &crate::b::C) -> D {\n  e::g::<u8>();\n  D::new().h::<i>()\n}\nstruct J;";
        let tree = Tree::of(&[("crates/a/src/lib.rs", code)]);
        let crates = crates(&tree);
        let imports = Imports::of(&crates[0].modules[0].tokens);
        let paths: Vec<(String, usize)> = imports.paths.iter().map(|(path, line)| (path.join("::"), *line)).collect();
        assert_eq!(paths, [("crate::b::C".into(), 1), ("e::g".into(), 2)]);
        assert!(imports.items.contains("f") && imports.items.contains("J"));
    }
}
