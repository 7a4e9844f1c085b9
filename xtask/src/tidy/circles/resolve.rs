//! From a name to the file that defines it, through the re-exports of facades.

use super::imports::{Binding, Imports};
use crate::tidy::modules::Crate;

/// More re-exports after one another than any name has.
const STEPS_MAX: usize = 16;

/// A crate and what each of its files names.
pub struct Names<'a> {
    whole: &'a Crate<'a>,
    imports: Vec<Imports<'a>>,
}

/// A file that another one imports.
pub struct Import {
    pub from: usize,
    pub to: usize,
    pub line: usize,
}

/// Where a path leads.
#[derive(Clone, Copy)]
enum Place {
    /// A module as such; which files are used shows where its name is.
    Module(usize),
    /// Something that the module's file defines.
    Item(usize),
}

impl<'a> Names<'a> {
    pub fn of(whole: &'a Crate<'a>) -> Names<'a> {
        let imports = whole.modules.iter().map(|module| Imports::of(&module.tokens)).collect();
        Names { whole, imports }
    }

    /// Every import of the crate, the same ones more than once.
    pub fn imports(&self) -> Vec<Import> {
        let mut found = Vec::new();
        for (from, imports) in self.imports.iter().enumerate() {
            let mut add = |place, line, is_public| {
                let to = match place {
                    Some(Place::Item(to)) => to,
                    _ => return,
                };
                // A facade re-exports what its own modules define, which is no import.
                if to != from && !(is_public && self.whole.is_below(to, from)) {
                    found.push(Import { from, to, line });
                }
            };
            for binding in imports.bindings.values() {
                add(self.resolve(from, &binding.path, 0), binding.line, binding.is_public);
            }
            for glob in &imports.globs {
                let place = self.resolve(from, &glob.path, 0);
                let place = place.map(|place| match place {
                    Place::Module(module) | Place::Item(module) => Place::Item(module),
                });
                add(place, glob.line, glob.is_public);
            }
            for (path, line) in &imports.paths {
                add(self.resolve(from, path, 0), *line, false);
            }
        }
        found
    }

    /// Follows a path as the module `at` reads it; nothing where it leads out of the crate.
    fn resolve(&self, at: usize, path: &[&str], steps: usize) -> Option<Place> {
        if steps > STEPS_MAX {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut place = match *first {
            "crate" => Place::Module(0),
            "self" => Place::Module(at),
            "super" => Place::Module(self.whole.modules[at].parent?),
            name => self.member(at, name, steps)?,
        };
        while let (Place::Module(module), Some((name, more))) = (place, rest.split_first()) {
            place = match *name {
                "super" => Place::Module(self.whole.modules[module].parent?),
                "self" => place,
                // What is neither a module nor a re-export is an item of the module itself.
                name if self.is_external(module, name) => return None,
                name => self.member(module, name, steps).unwrap_or(Place::Item(module)),
            };
            rest = more;
        }
        Some(place)
    }

    /// The meaning of `name` in a module: its child, an import of that name, or an item of a module that it imports with `*`.
    fn member(&self, module: usize, name: &str, steps: usize) -> Option<Place> {
        if let Some(child) = self.whole.child(module, name) {
            return Some(Place::Module(child));
        }
        let imports = &self.imports[module];
        if let Some(binding) = imports.bindings.get(name)
            && !is_itself(binding, name)
        {
            return self.resolve(module, &binding.path, steps + 1);
        }
        if imports.items.contains(name) {
            return None;
        }
        imports.globs.iter().find_map(|glob| match self.resolve(module, &glob.path, steps + 1)? {
            Place::Module(other) if self.imports[other].items.contains(name) => Some(Place::Item(other)),
            Place::Module(other) if other != module => self.member(other, name, steps + 1),
            _ => None,
        })
    }

    /// True if the module imports the name from another crate.
    fn is_external(&self, module: usize, name: &str) -> bool {
        self.whole.child(module, name).is_none()
            && self.imports[module]
                .bindings
                .get(name)
                .is_some_and(|binding| !is_itself(binding, name) && self.resolve(module, &binding.path, 1).is_none())
    }
}

/// True for `use name;`, which names another crate.
fn is_itself(binding: &Binding, name: &str) -> bool {
    binding.path == [name]
}
