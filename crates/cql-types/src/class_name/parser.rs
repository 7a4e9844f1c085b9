//! The parser of class names, which accepts what Cassandra's accepts and fails in its words.

use super::{PACKAGE, freeze, from_hex};
use crate::by_class::{ByClass, Component, ordered_aliases};
use crate::{CqlType, DIMENSION_MAX, Field, NESTING_DEPTH_MAX};

/// Why text names no class, in Cassandra's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClassError {
    /// There is no such class.
    #[error("Unable to find abstract-type class '{class}'")]
    Unknown {
        /// Its name with its package.
        class: String,
    },
    /// There is, but no type is of it.
    #[error(
        "Invalid comparator class {class}: must define a public static instance field or a public static method \
         getInstance(TypeParser)."
    )]
    Abstract {
        /// Its name with its package.
        class: String,
    },
    /// Its parameters are not those that it takes.
    #[error("Invalid definition for comparator {class}.")]
    Definition {
        /// Its name with its package.
        class: String,
    },
    /// Parentheses of a class without parameters have no parameters' form.
    #[error("Syntax error parsing '{text}' at char {at}: {reason}")]
    Syntax {
        /// The text, or its beginning.
        text: String,
        /// The character at which it is wrong.
        at: usize,
        /// The reason.
        reason: String,
    },
}

/// Classes of Cassandra's package of which there are no types.
const ABSTRACT: [&str; 8] = [
    "AbstractCompositeType",
    "AbstractTimeUUIDType",
    "AbstractType",
    "CollectionType",
    "MultiElementType",
    "NumberType",
    "StringType",
    "TemporalType",
];

/// Classes that are other classes' like, and only in the name of a composite called by their own.
static LEGACY: [(&str, CqlType); 2] = [("DateType", CqlType::Timestamp), ("LegacyTimeUUIDType", CqlType::Timeuuid)];

pub(super) struct Parser<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
    /// True if an unknown class is kept as a [`CqlType::Custom`].
    keeps_unknown: bool,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, keeps_unknown: bool) -> Self {
        Parser { text, rest: text, depth: 0, keeps_unknown }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.trim().is_empty()
    }

    /// True if a class's name stands at the beginning.
    pub(super) fn begins_with_class(&self) -> bool {
        skip_blank(self.rest).starts_with(is_of_name)
    }

    /// A class with its parameters.
    pub(super) fn class(&mut self) -> Result<Component, ClassError> {
        self.rest = skip_blank(self.rest);
        let start = self.rest;
        let name = self.word();
        self.rest = skip_blank(self.rest);
        let class = if name.contains('.') { name.strip_prefix(PACKAGE) } else { Some(name) };
        let known = match class {
            Some(class) => self.known(class)?,
            None => None,
        };
        if let Some(component) = known {
            return Ok(component);
        }
        if self.keeps_unknown && !name.is_empty() {
            self.skip_parameters().ok_or_else(|| self.syntax("unexpected end of string"))?;
            let length = start.len() - self.rest.len();
            return Ok(Component::new(CqlType::Custom(start[..length].trim_end().to_owned()), false));
        }
        let name = full_name(name);
        let is_abstract = class.is_some_and(|class| ABSTRACT.contains(&class));
        Err(if is_abstract { ClassError::Abstract { class: name } } else { ClassError::Unknown { class: name } })
    }

    /// The type of that class of Cassandra's package, whose parameters follow; `None`: there is none.
    fn known(&mut self, class: &str) -> Result<Option<Component>, ClassError> {
        let plain = match class {
            "LexicalUUIDType" => Some(CqlType::ByClass(Box::new(ByClass::LexicalUuid))),
            "EmptyType" => Some(CqlType::Empty),
            class => CqlType::of_class(class),
        };
        if let Some(ty) = plain {
            return Ok(Some(Component::new(ty, self.default_parameters()?)));
        }
        if let Some((name, ty)) = LEGACY.iter().find(|(name, _)| *name == class) {
            let is_reversed = self.default_parameters()?;
            return Ok(Some(Component { ty: ty.clone(), is_reversed, alias_class: Some(*name) }));
        }
        // Whatever is wrong inside of its parameters is the outer class's fault.
        let is_too_deep = self.depth >= NESTING_DEPTH_MAX;
        self.depth += 1;
        let of = match class {
            _ if is_too_deep => Some(None),
            "FrozenType" => Some(self.single().map(|of| Component { ty: freeze(of.ty), ..of })),
            "ReversedType" => Some(self.single().map(|of| Component { is_reversed: true, ..of })),
            "ListType" => Some(self.boxed().map(|[element]| plain_component(CqlType::List { element, frozen: false }))),
            "SetType" => Some(self.boxed().map(|[element]| plain_component(CqlType::Set { element, frozen: false }))),
            "MapType" => {
                Some(self.boxed().map(|[key, value]| plain_component(CqlType::Map { key, value, frozen: false })))
            }
            "TupleType" => Some(self.tuple().map(plain_component)),
            "UserType" => Some(self.user_type().map(plain_component)),
            "VectorType" => Some(self.vector().map(plain_component)),
            "CompositeType" => Some(self.composite().map(plain_component)),
            "DynamicCompositeType" => Some(self.dynamic_composite().map(plain_component)),
            _ => None,
        };
        self.depth -= 1;
        match of {
            Some(Some(component)) => Ok(Some(component)),
            Some(None) => Err(ClassError::Definition { class: full_name(class) }),
            None => Ok(None),
        }
    }

    fn syntax(&self, reason: impl Into<String>) -> ClassError {
        let at = self.text[..self.text.len() - self.rest.len()].chars().count();
        ClassError::Syntax { text: self.text.chars().take(200).collect(), at, reason: reason.into() }
    }

    /// Letters of a name.
    fn word(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !is_of_name(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn skip(&mut self, symbol: &str) -> Option<()> {
        self.rest = skip_blank(self.rest).strip_prefix(symbol)?;
        Some(())
    }

    /// Goes on to what follows blanks and at most one comma; `None` at the end.
    fn next(&mut self) -> Option<()> {
        self.rest = skip_blank(self.rest);
        self.rest = skip_blank(self.rest.strip_prefix(',').unwrap_or(self.rest));
        if self.rest.is_empty() { None } else { Some(()) }
    }

    /// `(key=value, …)` after a class that takes no types, or nothing; true if they reverse it.
    fn default_parameters(&mut self) -> Result<bool, ClassError> {
        let mut is_reversed = false;
        let Some(rest) = self.rest.strip_prefix('(') else { return Ok(false) };
        self.rest = rest;
        loop {
            self.next().ok_or_else(|| self.syntax("unexpected end of string"))?;
            if self.skip(")").is_some() {
                return Ok(is_reversed);
            }
            let key = self.word();
            self.rest = skip_blank(self.rest);
            let mut value = "";
            if self.skip("=").is_some() {
                self.rest = skip_blank(self.rest);
                value = self.word();
            } else if !self.rest.starts_with([',', ')']) {
                return Err(self.syntax(match self.rest.chars().next() {
                    Some(odd) => format!("unexpected character '{odd}'"),
                    None => "unexpected end of string".to_owned(),
                }));
            }
            is_reversed = if key == "reversed" { matches!(value, "" | "true") } else { is_reversed };
        }
    }

    /// `(class, …)`; none of them where there are no parentheses.
    pub(super) fn types(&mut self) -> Result<Vec<Component>, ClassError> {
        let mut types = Vec::new();
        if self.skip("(").is_none() {
            return Ok(types);
        }
        loop {
            self.next().ok_or_else(|| self.syntax("unexpected end of string"))?;
            if self.skip(")").is_some() {
                return Ok(types);
            }
            types.push(self.class()?);
        }
    }

    fn single(&mut self) -> Option<Component> {
        let [single] = <[Component; 1]>::try_from(self.types().ok()?).ok()?;
        Some(single)
    }

    fn boxed<const N: usize>(&mut self) -> Option<[Box<CqlType>; N]> {
        let types: Vec<_> = self.types().ok()?.into_iter().map(|component| Box::new(component.ty)).collect();
        types.try_into().ok()
    }

    fn tuple(&mut self) -> Option<CqlType> {
        let types: Vec<_> = self.types().ok()?.into_iter().map(|component| freeze(component.ty)).collect();
        if types.is_empty() { None } else { Some(CqlType::Tuple(types)) }
    }

    fn composite(&mut self) -> Option<CqlType> {
        Some(CqlType::ByClass(Box::new(ByClass::Composite(self.types().ok()?))))
    }

    fn dynamic_composite(&mut self) -> Option<CqlType> {
        let mut aliases = Vec::new();
        if self.skip("(").is_some() {
            loop {
                self.next()?;
                if self.skip(")").is_some() {
                    break;
                }
                let alias = match self.word().as_bytes() {
                    [alias @ 33..=127] => *alias,
                    _ => return None,
                };
                self.skip("=>")?;
                aliases.push((alias, self.class().ok()?));
            }
        }
        Some(CqlType::ByClass(Box::new(ByClass::DynamicComposite(ordered_aliases(aliases)))))
    }

    fn user_type(&mut self) -> Option<CqlType> {
        self.skip("(")?;
        self.next()?;
        let keyspace = self.word().to_owned();
        self.next()?;
        let name = from_hex(self.word())?;
        let mut fields = Vec::new();
        loop {
            self.next()?;
            if self.skip(")").is_some() {
                return Some(CqlType::Udt { keyspace, name, fields, frozen: false });
            }
            let name = from_hex(self.word())?;
            self.skip(":")?;
            fields.push(Field { name, ty: self.class().ok()?.ty });
        }
    }

    fn vector(&mut self) -> Option<CqlType> {
        self.skip("(")?;
        let element = Box::new(self.class().ok()?.ty);
        self.next()?;
        let dimension = self.word().parse().ok().filter(|dimension| (1..=DIMENSION_MAX).contains(dimension))?;
        self.skip(")")?;
        // As many elements as are claimed would cost no byte.
        if *element == CqlType::Empty { None } else { Some(CqlType::Vector { element, dimension }) }
    }

    /// Goes past `(…)` with whatever stands in it.
    fn skip_parameters(&mut self) -> Option<()> {
        if !self.rest.starts_with('(') {
            return Some(());
        }
        let mut open = 0_usize;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' => open += 1,
                ')' => open -= 1,
                _ => {}
            }
            if open == 0 {
                self.rest = &self.rest[at + 1..];
                return Some(());
            }
        }
        None
    }
}

fn plain_component(ty: CqlType) -> Component {
    Component::new(ty, false)
}

fn full_name(class: &str) -> String {
    format!("{}{class}", if class.contains('.') { "" } else { PACKAGE })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-+._&".contains(c)
}

fn skip_blank(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\n'])
}
